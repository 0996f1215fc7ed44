"""Notes as rows of the index file, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from ...notes import Link, LinkedFile, Note, Tag, files_of, fold_tag, text_hash
from ...sources.base import Source, SourceConfig
from ...sqlite import IGNORE, Value, insert_rows, sqlite3
from ...text.markdown import breaks_are_soft
from ..run.language_detection import detect
from . import nearest, schema
from .metadata import LANGUAGES, get_number, json_value, set_meta
from .passages import cut, remove_passages, share_lines
from .spellings import update_spellings

# Key in meta: the highest id that a note has had.
LAST_ID = "last_note_id"


# Columns that are a note's own fields, and those derived from them.
_FIELDS = (
    *("title", "created", "modified", "pinned", "archived", "trashed", "encrypted"),
    *("todos_open", "todos_done", "has_image", "has_file", "has_code", "url", "key", "stamp"),
    *("body", "attachments"),
)
_FLAGS = ("pinned", "archived", "trashed", "encrypted", "has_image", "has_file", "has_code")
COLUMNS = (
    *_FIELDS,
    *("attachment_names", "has_link", "soft_breaks", "tags", "source", "fingerprint", "text_hash"),
    "language",
)
_field_values = attrgetter(*_FIELDS)
_json = json.JSONEncoder(ensure_ascii=False).encode  # dumps() would create one for each note

_STORED = f"select {', '.join(COLUMNS)} from notes where id = ?"


def row_values(source_name: str, note: Note) -> tuple[Value, ...]:
    """Return a note as a row of COLUMNS, without its language."""
    tags = _json([tag.name for tag in note.tags])
    hashes = note.fingerprint(), text_hash(note.title, note.body)
    names = _json(note.attachment_names)
    has_link = bool(note.links) or "://" in note.body
    is_soft = breaks_are_soft(note.body, by_default=note.soft_breaks)
    return (*_field_values(note), names, has_link, is_soft, tags, source_name, *hashes)


class StoredNote(NamedTuple):
    id: int
    fingerprint: str
    stamp: str | None


def row_of(connection: sqlite3.Connection, sql: str, note_id: int) -> tuple[Any, ...]:
    """Return the row of a query for a stored note, or raise DatabaseError."""
    row: tuple[Any, ...] | None = connection.execute(sql, [note_id]).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("an index names a row that is missing")
    return row


def stored_notes(connection: sqlite3.Connection, source_name: str) -> dict[str, StoredNote]:
    sql = "select key, id, fingerprint, stamp from notes where source = ?"
    return {key: StoredNote(*stored) for key, *stored in connection.execute(sql, [source_name])}


def stored_note(
    connection: sqlite3.Connection,
    note_id: int,
    *,
    pinned_in: Set[str],
    links: tuple[Link, ...],
    linked_files: tuple[LinkedFile, ...],
) -> Note:
    """Return a stored note as its source gave it.

    :param pinned_in: names of the tags within which it is pinned
    """
    values = dict(zip(COLUMNS, row_of(connection, _STORED, note_id)))
    fields: dict[str, Any] = {name: values[name] for name in _FIELDS}
    fields |= {name: bool(values[name]) for name in _FLAGS}
    tags = json_value(values["tags"], list)
    names = json_value(values["attachment_names"], list)
    return Note(
        **fields,
        tags=tuple(Tag(name, name in pinned_in) for name in tags),
        links=links,
        linked_files=linked_files,
        attachment_names=tuple(names),
    )


def ids_by_key(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return the ids of all notes by source and key, as far as the file can be read."""
    found: dict[tuple[str, str], int] = {}
    with suppress(sqlite3.DatabaseError):  # damaged, or from an early version
        sql = "select source, key, id from notes where id between 1 and ?"
        for source, key, note_id in connection.execute(sql, [nearest.MAX_NOTE_ID]):
            found[source, key] = note_id
    return found


def known_pages(
    connection: sqlite3.Connection, source_name: str, place: str, stamp: str
) -> list[tuple[str, str]] | None:
    """Return the name and text of each page of a PDF as stored; None if it wasn't read before."""
    sql = f"""
    select attachment_names, attachments
    from {schema.FILES} as files
    join notes on notes.id = files.note_id
    where source = ? and place = ? and files.stamp = ?
    """
    row = connection.execute(sql, [source_name, place, stamp]).fetchone()
    if row is None:
        return None
    page = f"{place.rpartition('/')[2]}, page "
    texts = files_of(row[1], json_value(row[0], list))
    return [(name, text) for name, text in texts if name.startswith(page)]


def known_keys(connection: sqlite3.Connection, source_name: str) -> set[str]:
    """Return the keys of a source's notes, as far as the file can be read."""
    return {key for source, key in ids_by_key(connection) if source == source_name}


def keys_with_tags(connection: sqlite3.Connection, config: SourceConfig) -> set[str]:
    """Return the keys of a source's notes that have a tag that is never indexed (from now on)."""
    never = tuple(f"{fold_tag(tag)}/" for tag in config.never)
    sql = """
    select key, folded
    from notes
    join note_tags on note_tags.note_id = notes.id
    join tags on tags.id = note_tags.tag_id
    where source = ?
    """
    found = connection.execute(sql, [config.name]) if never else ()
    return {key for key, folded in found if f"{folded}/".startswith(never)}


def write(
    connection: sqlite3.Connection,
    source_name: str,
    notes: Sequence[tuple[int | None, Note]],
    known_ids: Mapping[tuple[str, str], int] = {},
) -> None:
    """Store new notes and new versions of stored ones, whose passages may keep their vectors.

    :param notes: each with its id, None if it is new
    :param known_ids: earlier ids of new notes, by source and key
    """
    sql = "select title, body, language from notes where id = ?"
    stored = {note_id: row_of(connection, sql, note_id) for note_id, _ in notes if note_id}
    [last] = connection.execute("select coalesce(max(id), 0) from notes").fetchone()
    # Don't reuse the ids of removed notes: other programs may still refer to them.
    new_ids = count(max(last, int(get_number(connection, LAST_ID) or 0)) + 1)
    same_text: list[tuple[int, Note]] = []
    new_text: list[tuple[int, Note]] = []
    for known_id, note in notes:
        note_id = known_id or known_ids.get((source_name, note.key)) or next(new_ids)
        is_same = stored.get(note_id, ())[:2] == (note.title, note.body)
        (same_text if is_same else new_text).append((note_id, note))
    set_meta(connection, **{LAST_ID: next(new_ids) - 1})
    written = [*same_text, *new_text]
    # One step for all notes, then the next: what a step needs stays in the processor's caches, by
    # which all of this takes a fifth less time.
    languages = [stored[note_id][2] for note_id, _ in same_text]
    languages += detect([f"{note.title}\n{note.body}" for _, note in new_text])
    rows = [
        (note_id, *row_values(source_name, note), language)
        for (note_id, note), language in zip(written, languages)
    ]
    changes = ", ".join(f"{column} = excluded.{column}" for column in COLUMNS)
    conflict = f"on conflict (id) do update set {changes}"
    insert_rows(connection, "notes", ("id", *COLUMNS), rows, conflict)
    cut(connection, [(note_id, note.title, note.body) for note_id, note in new_text])
    for table in ("note_tags", "links", schema.FILES):
        sql = f"delete from {table} where note_id in (select value from json_each(?))"
        connection.execute(sql, [_json([*stored])])
    _write_relations(connection, written)


def remove(connection: sqlite3.Connection, note_ids: Iterable[int]) -> None:
    """Remove notes and everything derived from them."""
    ids = _json([*note_ids])
    gone = "in (select value from json_each(?))"
    rows = connection.execute(f"select id from passages where note_id {gone}", [ids])
    remove_passages(connection, [passage_id for (passage_id,) in rows.fetchall()])
    # If this run dies now, the next won't know these notes. It has to read those that link to them.
    sql = f"select note_id from links where target_id {gone}"
    connection.execute(f"update notes set stamp = '' where id in ({sql})", [ids])
    connection.execute(f"delete from notes where id {gone}", [ids])


def relink(connection: sqlite3.Connection, source: Source) -> None:
    """Update links to notes whose keys have changed, in notes that weren't read again."""
    renamed = getattr(source, "renamed", {})
    if not renamed:
        return
    sql = """
    with renamed as materialized (select key as old, value as new from json_each(?))
    select new, links.id, note_id
    from links join renamed on old = target_key join notes on notes.id = note_id
    where source = ?
    """
    found = connection.execute(sql, [_json(renamed), source.name]).fetchall()
    connection.executemany(
        "update links set target_key = ? where id = ?", (row[:2] for row in found)
    )
    # The new fingerprint is unknown until the note is read again.
    sql = "update notes set fingerprint = '' where id = ?"
    connection.executemany(sql, {row[2:] for row in found})


def relate(connection: sqlite3.Connection) -> None:
    """Relate all stored notes: resolve links; find languages, copies and shared lines."""
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
    connection.execute("delete from tags where id not in (select tag_id from note_tags)")
    sql = """
    select language, count(*) * 1.0 / sum(count(*)) over ()
    from notes where language is not null
    group by language order by count(*) desc, language
    """
    shares = {language: round(share, 4) for language, share in connection.execute(sql)}
    set_meta(connection, **{LANGUAGES: json.dumps(shares)})
    _deduplicate(connection)
    share_lines(connection)
    update_spellings(connection)


def _write_relations(connection: sqlite3.Connection, notes: Sequence[tuple[int, Note]]) -> None:
    names = {tag.name: fold_tag(tag.name) for _, note in notes for tag in note.tags}
    insert_rows(connection, "tags", ("name", "folded"), list(names.items()), IGNORE)
    sql = "select name, id from tags where name in (select value from json_each(?))"
    ids = dict(connection.execute(sql, [_json([*names])]).fetchall())
    rows = [(note_id, ids[tag.name], tag.pinned) for note_id, note in notes for tag in note.tags]
    columns = ("note_id", "tag_id", "pinned")
    insert_rows(connection, "note_tags", columns, rows, IGNORE)
    links = [(note_id, link.key, link.title) for note_id, note in notes for link in note.links]
    insert_rows(connection, "links", ("note_id", "target_key", "title"), links)
    files = [
        (note_id, file.target, file.place, file.stamp)
        for note_id, note in notes
        for file in note.linked_files
    ]
    insert_rows(connection, schema.FILES, ("note_id", "target", "place", "stamp"), files)


# --- deduplication
#
# Notes of different sources are the same if they have the same text or the same id in their app (as
# in Bear's database and a backup). One is the original; the others refer to it by ``copy_of``.

# Only such keys are ids in an app. Others, such as file paths, may be equal in unrelated sources.
_UUID = "-".join("[0-9A-Fa-f]" * length for length in (8, 4, 4, 4, 12))
# Notes that share an id or a text with a note of another source. The order prefers notes that can
# be opened, then the last modified ones, then those of the source that was added first.
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


def _deduplicate(connection: sqlite3.Connection) -> None:
    stored = dict(connection.execute("select id, copy_of from notes where copy_of is not null"))
    [sources] = connection.execute("select count(*) from sources").fetchone()
    best: dict[str, tuple[int, str]] = {}  # id in the app, or hash of the text → note, source
    wanted: dict[int, int] = {}  # copy → its original, from another source
    for note_id, source, *ids in connection.execute(_SHARED) if sources > 1 else ():
        identities = list(filter(None, ids))
        known = (best[identity] for identity in identities if identity in best)
        original, original_source = next(known, (note_id, source))
        if original_source != source:
            wanted[note_id] = original
        for identity in identities:
            best.setdefault(identity, (original, original_source))
    for note_id in stored.keys() | wanted.keys():
        if stored.get(note_id) != wanted.get(note_id):
            sql = "update notes set copy_of = ? where id = ?"
            connection.execute(sql, [wanted.get(note_id), note_id])


def has_copies(connection: sqlite3.Connection) -> bool:
    sql = "select 1 from notes where copy_of is not null limit 1"
    return connection.execute(sql).fetchone() is not None
