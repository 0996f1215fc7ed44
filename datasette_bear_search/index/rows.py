"""Sources as rows of the sidecar: where each is, how it is read, and how it was when it was read last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ..notes import Note, Tag, fold_tag, text_hash
from ..sources import Source
from ..sources.registry import SourceConfig
from ..sqlite import sqlite3
from . import schema, vectors
from .chunking import MAX_TOKENS, Passage, passages
from .database import get_meta, set_meta


@dataclass(frozen=True)
class StoredSource:
    """A source as the sidecar knows it."""

    config: SourceConfig
    state: str  # what the source's state() was just before it was read
    read: str | None  # when, ISO 8601 UTC
    notes: int
    skipped: tuple[str, ...]  # what that reading left out and why, for people
    version: str | None  # of the package that read it


def all_sources(connection: sqlite3.Connection) -> list[StoredSource]:
    """The sources that the sidecar was made from, the oldest first."""
    if not schema.is_current(connection):
        # An index of an older version, which the next run migrates: all that counts is what to read.
        rows = connection.execute(
            "select name, location, include_trashed, state, read, notes from sources order by rowid"
        )
        return [
            StoredSource(
                SourceConfig(name, "bear", location, include_trashed=bool(trashed)),
                state, read, notes, (), None,
            )
            for name, location, trashed, state, read, notes in rows
        ]  # fmt: skip
    rows = connection.execute(
        """
        select
          name, kind, location, options, never, include_trashed, config_file,
          state, read, notes, skipped, version
        from sources
        order by rowid
        """
    )
    return [
        StoredSource(
            SourceConfig(
                name,
                kind,
                location,
                options=json.loads(options),
                never=tuple(json.loads(never)),
                include_trashed=bool(include_trashed),
                config_file=config_file,
            ),
            state, read, notes, tuple(json.loads(skipped)), version,
        )
        for (
            name, kind, location, options, never, include_trashed, config_file,
            state, read, notes, skipped, version,
        ) in rows
    ]  # fmt: skip


def write(
    connection: sqlite3.Connection,
    stored: StoredSource,
    source: Source,
) -> None:
    """Note how a source was read. One that is known keeps its place in the order."""
    config = stored.config
    values = {
        "name": config.name,
        "kind": config.kind,
        "location": config.location,
        "options": json.dumps(config.options, ensure_ascii=False),
        "never": json.dumps(config.never, ensure_ascii=False),
        "include_trashed": config.include_trashed,
        "config_file": config.config_file,
        "app": source.app,
        "heading_link": source.heading_link,
        "state": stored.state,
        "read": stored.read,
        "notes": stored.notes,
        "skipped": json.dumps(stored.skipped, ensure_ascii=False),
        "version": stored.version,
    }
    connection.execute(
        f"""
        insert into sources ({", ".join(values)})
        values ({", ".join(f":{column}" for column in values)})
        on conflict (name) do update set
          {", ".join(f"{column} = excluded.{column}" for column in values)}
        """,
        values,
    )


def set_config_file(connection: sqlite3.Connection, config: SourceConfig) -> None:
    """Note which file names a source that isn't read again."""
    connection.execute(
        "update sources set config_file = ? where name = ? and config_file is not ?",
        [config.config_file, config.name, config.config_file],
    )


def forget(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Forget sources; their notes have to be gone already."""
    connection.executemany("delete from sources where name = ?", [(name,) for name in names])


# The same note from two sources: which of the copies stands for all of them.
#
# Two notes of different sources are the same if they have the same id in the app that they come from, as a note of Bear's
# has in its database and in a backup, or if they say the same. The others point to that one through ``copy_of``.

# Keys of other forms, such as a file's path, name different notes in different sources.
_UUID = "-".join("[0-9A-Fa-f]" * length for length in (8, 4, 4, 4, 12))

# Notes that share an id or a text with a note of another source, the best first: one that can be opened, the one that was
# changed last, and of the same age the one whose source was there first.
_SHARED = f"""
select
  notes.id, notes.source, case when notes.key glob '{_UUID}' then notes.key end, notes.text_hash
from notes
join sources on sources.name = notes.source
where notes.id in (
  select id
  from notes as own
  where key glob '{_UUID}'
    and exists (select 1 from notes where key = own.key and source != own.source)
  union
  select id
  from notes as own
  where text_hash is not null
    and exists (select 1 from notes where text_hash = own.text_hash and source != own.source)
)
order by notes.url is null, notes.modified desc, sources.rowid, notes.id
"""


def fold(connection: sqlite3.Connection) -> None:
    """Point each copy at the note that stands for it, inside the caller's transaction."""
    stored = dict(
        connection.execute("select id, copy_of from notes where copy_of is not null").fetchall()
    )
    [sources] = connection.execute("select count(*) from sources").fetchone()
    wanted = _copies(connection) if sources > 1 else {}
    connection.executemany(
        "update notes set copy_of = ? where id = ?",
        [
            (wanted.get(note_id), note_id)
            for note_id in stored.keys() | wanted.keys()
            if stored.get(note_id) != wanted.get(note_id)
        ],
    )


def has_copies(connection: sqlite3.Connection) -> bool:
    """Whether any note is a copy of another."""
    [found] = connection.execute(
        "select exists (select 1 from notes where copy_of is not null)"
    ).fetchone()
    return bool(found)


def _copies(connection: sqlite3.Connection) -> dict[int, int]:
    """Copy → the note that stands for it. Two notes of the same source stay two, whatever they say."""
    standing: dict[str, tuple[int, str]] = {}  # id in the app, or hash of the text → note, source
    copies = {}
    for note_id, source, app_id, digest in connection.execute(_SHARED):
        marks = [mark for mark in (app_id, digest) if mark]
        best = next((standing[mark] for mark in marks if mark in standing), (note_id, source))
        if best[1] != source:
            copies[note_id] = best[0]
        for mark in marks:
            standing.setdefault(mark, best)
    return copies


# Notes as rows of the sidecar: insert, update, remove. Every function runs inside its caller's transaction.

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
_PASSAGE_COLUMNS = "note_id position heading start length content_hash embedded".split()

# Values in one statement: no SQLite since 3.32 takes less.
_MOST_VALUES = 32_000

_UPDATE = f"update notes set {', '.join(f'{column} = ?' for column in _COLUMNS)} where id = ?"


class PassageRow(NamedTuple):
    """A passage as the sidecar keeps it."""

    position: int
    heading: str
    start: int
    length: int
    content_hash: str


class Prepared(NamedTuple):
    """A note as rows, which are made without the sidecar: in another thread, while that is written to."""

    note: Note
    values: Sequence[str | int | None]
    passages: Sequence[PassageRow]


def prepared(source_name: str, note: Note, max_tokens: int) -> Prepared:
    """The rows that a note becomes. Passages have ``max_tokens`` at most."""
    cut = passages(note.title, note.body, max_tokens=max_tokens)
    return Prepared(note, _values(source_name, note), [_row(passage) for passage in cut])


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


def insert(connection: sqlite3.Connection, new: Sequence[Prepared]) -> None:
    """Store notes that aren't in the sidecar."""
    [last] = connection.execute("select coalesce(max(id), 0) from notes").fetchone()
    numbered = list(enumerate(new, start=last + 1))
    # Many notes a statement: at the end of each, FTS5 writes what it has gathered, which takes it half of all time.
    _insert_rows(
        connection, "notes", ("id", *_COLUMNS), [(id_, *item.values) for id_, item in numbered]
    )
    _write_tags(connection, [(id_, tag) for id_, item in numbered for tag in item.note.tags])
    _write_links(connection, [(id_, item.note) for id_, item in numbered if item.note.links])
    _insert_passages(connection, [(id_, row) for id_, item in numbered for row in item.passages])


def update(connection: sqlite3.Connection, note_id: int, new: Prepared) -> None:
    """Store a note over its old version. Passages whose text is the same keep their vectors."""
    connection.execute(_UPDATE, [*new.values, note_id])
    connection.execute("delete from note_tags where note_id = ?", [note_id])
    _write_tags(connection, [(note_id, tag) for tag in new.note.tags])
    connection.execute("delete from links where note_id = ?", [note_id])
    _write_links(connection, [(note_id, new.note)])
    _replace_passages(connection, note_id, new.passages)


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
        cut = passages(title, body, max_tokens=tokens)
        _replace_passages(connection, note_id, [_row(passage) for passage in cut])


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


def _write_tags(connection: sqlite3.Connection, tagged: Sequence[tuple[int, Tag]]) -> None:
    names = {tag.name: fold_tag(tag.name) for _, tag in tagged}
    _insert_rows(
        connection, "tags", ("name", "folded"), list(names.items()), verb="insert or ignore"
    )
    connection.execute(
        """
        insert or ignore into note_tags (note_id, tag_id, pinned)
        select json_extract(tagged.value, '$[0]'), tags.id, json_extract(tagged.value, '$[2]')
        from json_each(?) as tagged
        cross join tags on tags.name = json_extract(tagged.value, '$[1]')
        """,
        [json.dumps([(note_id, tag.name, tag.pinned) for note_id, tag in tagged])],
    )


def _write_links(connection: sqlite3.Connection, linking: Iterable[tuple[int, Note]]) -> None:
    rows = [(note_id, link.key, link.title) for note_id, note in linking for link in note.links]
    _insert_rows(connection, "links", ("note_id", "target_key", "title"), rows)


def _insert_passages(connection: sqlite3.Connection, cut: Iterable[tuple[int, PassageRow]]) -> None:
    rows = [(note_id, *row, 0) for note_id, row in cut]
    _insert_rows(connection, "passages", _PASSAGE_COLUMNS, rows)


def _insert_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str | int | None, ...]],
    *,
    verb: str = "insert",
) -> None:
    """Insert many rows a statement: another thread that is at work delays each statement by milliseconds."""
    row = f"({', '.join('?' * len(columns))})"
    size = _MOST_VALUES // len(columns)
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        connection.execute(
            f"{verb} into {table} ({', '.join(columns)}) values {', '.join([row] * len(some))}",
            list(chain.from_iterable(some)),
        )


def _replace_passages(
    connection: sqlite3.Connection, note_id: int, cut: Sequence[PassageRow]
) -> None:
    old: dict[str, list[int]] = {}
    for passage_id, content_hash in connection.execute(
        "select id, content_hash from passages where note_id = ? order by position", [note_id]
    ):
        old.setdefault(content_hash, []).append(passage_id)
    new = []
    for row in cut:
        if ids := old.get(row.content_hash):
            connection.execute(
                "update passages set position = ?, heading = ?, start = ?, length = ? where id = ?",
                [row.position, row.heading, row.start, row.length, ids.pop(0)],
            )
        else:
            new.append((note_id, row))
    _remove_passages(connection, [passage_id for ids in old.values() for passage_id in ids])
    _insert_passages(connection, new)


def _remove_passages(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    if not passage_ids:
        return
    rows = [(passage_id,) for passage_id in passage_ids]
    connection.executemany("delete from passages where id = ?", rows)
    vectors.remove(connection, passage_ids)


def _row(passage: Passage) -> PassageRow:
    return PassageRow(
        passage.position,
        " › ".join(passage.headings),
        passage.start,
        passage.end - passage.start,
        passage.content_hash,
    )
