"""Notes as rows of the sidecar: insert, update, remove. Every function runs inside its caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from .notes import Note, Tag, text_hash
from .passages import MAX_TOKENS, Passage, passages
from .sidecar import (
    PASSAGE_INDEX,
    VECTORS,
    fold_tag,
    get_meta,
    has_vector_extension,
    set_meta,
    sqlite3,
)

# Goes up when passages are cut or cleaned in another way, so that every note is cut again.
PASSAGE_VERSION = 1

_COLUMNS = (
    "title",
    "tags",
    "created",
    "modified",
    "pinned",
    "archived",
    "trashed",
    "encrypted",
    "todos_open",
    "todos_done",
    "has_image",
    "has_file",
    "has_code",
    "url",
    "source",
    "key",
    "fingerprint",
    "body",
    "attachments",
    "stamp",
    "text_hash",
)
_INSERT = f"insert into notes ({', '.join(_COLUMNS)}) values ({', '.join('?' * len(_COLUMNS))})"
_UPDATE = f"update notes set {', '.join(f'{column} = ?' for column in _COLUMNS)} where id = ?"


def fingerprints(connection: sqlite3.Connection, source_name: str) -> dict[str, tuple[int, str]]:
    """The stored notes of a source: key → (id, fingerprint)."""
    return {
        key: (note_id, fingerprint)
        for key, note_id, fingerprint in connection.execute(
            "select key, id, fingerprint from notes where source = ?", [source_name]
        )
    }


def stamps(connection: sqlite3.Connection, source_name: str) -> dict[str, str]:
    """The stored notes of a source that have a stamp: key → stamp."""
    return dict(
        connection.execute(
            "select key, stamp from notes where source = ? and stamp is not null", [source_name]
        )
    )


def ids_of(connection: sqlite3.Connection, source_names: Iterable[str]) -> list[int]:
    """Ids of the notes of these sources."""
    rows = connection.execute(
        "select id from notes where source in (select value from json_each(?))",
        [json.dumps(list(source_names))],
    )
    return [note_id for (note_id,) in rows]


def set_stamps(connection: sqlite3.Connection, stamped: Iterable[tuple[int, str | None]]) -> None:
    """Note that these notes, by id, were looked at again and are as they were."""
    connection.executemany(
        "update notes set stamp = ? where id = ?", [(stamp, note_id) for note_id, stamp in stamped]
    )


def insert(connection: sqlite3.Connection, source_name: str, note: Note) -> None:
    """Store a note that isn't in the sidecar."""
    note_id = connection.execute(_INSERT, _values(source_name, note)).lastrowid
    _write_tags(connection, note_id, note.tags)
    _write_links(connection, note_id, note)
    _insert_passages(
        connection, note_id, passages(note.title, note.body, max_tokens=max_tokens(connection))
    )


def update(connection: sqlite3.Connection, source_name: str, note_id: int, note: Note) -> None:
    """Store a note over its old version. Passages whose text is the same keep their vectors."""
    connection.execute(_UPDATE, [*_values(source_name, note), note_id])
    connection.execute("delete from note_tags where note_id = ?", [note_id])
    _write_tags(connection, note_id, note.tags)
    connection.execute("delete from links where note_id = ?", [note_id])
    _write_links(connection, note_id, note)
    _replace_passages(
        connection, note_id, passages(note.title, note.body, max_tokens=max_tokens(connection))
    )


def remove(connection: sqlite3.Connection, note_ids: Iterable[int]) -> None:
    """Take notes out of the sidecar, with everything that was made from them."""
    for note_id in note_ids:
        _remove_passages(
            connection,
            [
                row[0]
                for row in connection.execute(
                    "select id from passages where note_id = ?", [note_id]
                )
            ],
        )
        connection.execute("delete from note_tags where note_id = ?", [note_id])
        connection.execute("delete from links where note_id = ?", [note_id])
        connection.execute("update links set target_id = null where target_id = ?", [note_id])
        connection.execute("delete from notes where id = ?", [note_id])


def resolve_links(connection: sqlite3.Connection) -> None:
    """Point links at the notes that they name, now that all of them are stored."""
    connection.execute(
        """
        update links
        set target_id = (
          select target.id
          from notes as target
          join notes as origin on origin.id = links.note_id
          where target.source = origin.source and target.key = links.target_key
        )
        where target_id is null
        """
    )


def remove_unused_tags(connection: sqlite3.Connection) -> None:
    """Forget the names of tags that no note has."""
    connection.execute("delete from tags where id not in (select tag_id from note_tags)")


def max_tokens(connection: sqlite3.Connection) -> int:
    """The most tokens that a passage may have, as the sidecar's model demands."""
    _, _, tokens = (get_meta(connection, "passage_settings") or "").partition("/")
    return int(tokens or MAX_TOKENS)


def cut_again(connection: sqlite3.Connection, model_tokens: int | None = None) -> None:
    """Cut all notes anew if their passages are not what this version and the model want.

    :param model_tokens: the most tokens that the model takes; None keeps what is stored
    """
    tokens = max_tokens(connection) if model_tokens is None else min(MAX_TOKENS, model_tokens)
    settings = f"{PASSAGE_VERSION}/{tokens}"
    if get_meta(connection, "passage_settings") == settings:
        return
    set_meta(connection, passage_settings=settings)
    for note_id, title, body in connection.execute("select id, title, body from notes").fetchall():
        _replace_passages(connection, note_id, passages(title, body, max_tokens=tokens))


def _values(source_name: str, note: Note) -> list[str | int | None]:
    return [
        note.title,
        json.dumps([tag.name for tag in note.tags], ensure_ascii=False),
        note.created,
        note.modified,
        note.pinned,
        note.archived,
        note.trashed,
        note.encrypted,
        note.todos_open,
        note.todos_done,
        note.has_image,
        note.has_file,
        note.has_code,
        note.url,
        source_name,
        note.key,
        note.fingerprint(),
        note.body,
        note.attachments,
        note.stamp,
        text_hash(note.title, note.body),
    ]


def _write_tags(connection: sqlite3.Connection, note_id: int, tags: Iterable[Tag]) -> None:
    for tag in tags:
        connection.execute(
            "insert or ignore into tags (name, folded) values (?, ?)",
            [tag.name, fold_tag(tag.name)],
        )
        connection.execute(
            "insert or ignore into note_tags (note_id, tag_id, pinned) "
            "select ?, id, ? from tags where name = ?",
            [note_id, tag.pinned, tag.name],
        )


def _write_links(connection: sqlite3.Connection, note_id: int, note: Note) -> None:
    connection.executemany(
        "insert into links (note_id, target_key, title) values (?, ?, ?)",
        [(note_id, link.key, link.title) for link in note.links],
    )


def _insert_passages(connection: sqlite3.Connection, note_id: int, cut: Iterable[Passage]) -> None:
    connection.executemany(
        "insert into passages (note_id, position, heading, start, length, content_hash, embedded) "
        "values (?, ?, ?, ?, ?, ?, 0)",
        [
            (note_id, passage.position, _heading(passage), passage.start, passage.end - passage.start,
             passage.content_hash)
            for passage in cut
        ],
    )  # fmt: skip


def _replace_passages(connection: sqlite3.Connection, note_id: int, cut: Sequence[Passage]) -> None:
    old: dict[str, list[int]] = {}
    for passage_id, content_hash in connection.execute(
        "select id, content_hash from passages where note_id = ? order by position", [note_id]
    ):
        old.setdefault(content_hash, []).append(passage_id)
    new = []
    for passage in cut:
        if ids := old.get(passage.content_hash):
            connection.execute(
                "update passages set position = ?, heading = ?, start = ?, length = ? where id = ?",
                [
                    passage.position,
                    _heading(passage),
                    passage.start,
                    passage.end - passage.start,
                    ids.pop(0),
                ],
            )
        else:
            new.append(passage)
    _remove_passages(connection, [passage_id for ids in old.values() for passage_id in ids])
    _insert_passages(connection, note_id, new)


def _remove_passages(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    if not passage_ids:
        return
    rows = [(passage_id,) for passage_id in passage_ids]
    connection.executemany("delete from passages where id = ?", rows)
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed > 0:
        if has_vector_extension(connection):
            connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
        else:
            # The vec0 table can't be touched now. The next run that can makes it anew from the vectors.
            set_meta(connection, passage_index_stale="yes")


def _heading(passage: Passage) -> str:
    return " › ".join(passage.headings)
