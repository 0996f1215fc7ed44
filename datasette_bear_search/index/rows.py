"""Notes, passages and sources as rows of the index file, in the caller's transaction."""

from __future__ import annotations

import json
import time
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from operator import attrgetter
from typing import Any, NamedTuple

from ..notes import Link, LinkedFile, Note, Tag, files_of, fold_tag, text_hash
from ..sources.base import Source, SourceConfig
from ..sources.text import timestamp_from_seconds
from ..sqlite import sqlite3
from . import schema, vectors
from .chunking import MAX_TOKENS, Passage, line_hashes, passages, without_shared
from .database import LANGUAGES, get_meta, get_number, json_value, number, set_meta
from .language_detection import detect
from .schema import LINES, MAX_EMBEDDED, NEVER_EMBEDDED, PENDING, SHARED_LINES

# Increase it when passages are cut or cleaned differently, so that every note is cut again.
PASSAGE_VERSION = 3
# Key in meta: the highest id that a note has had.
LAST_ID = "last_note_id"
# Key in meta: when sources with an interval or an error were last tried, and the error.
TRIES = "tries"
# What a column may hold.
Value = str | bytes | int | None
# Notes whose passages are made again in one step, so that few texts are in memory.
_NOTES_AT_A_TIME = 250
# Values in one statement. All SQLite versions since 3.32 allow this many.
_MAX_VALUES = 32_000


# --- sources


@dataclass(frozen=True)
class StoredSource:
    config: SourceConfig
    state: str  # the source's state() just before it was read
    read: str | None  # when, ISO 8601 UTC
    notes: int
    version: str | None  # of the package that read it
    skipped: tuple[str, ...]  # what was left out and why, for people
    tried: int | None = field(default=None, compare=False)  # last try, in seconds since 1970
    error: str = field(default="", compare=False)  # why that failed, for people
    missed: int | None = field(default=None, compare=False)  # when it first lost many notes

    @property
    def next_try(self) -> str | None:
        """When bear-serve and --watch will read it again, ISO 8601; None: when its files change."""
        pause = self.config.pause(has_failed=bool(self.error))
        return timestamp_from_seconds(self.tried + pause) if self.tried and pause else None

    @property
    def schedule(self) -> str:
        """Lines for people on its last error and next reading; "" if there is nothing special."""
        says = self.error
        if self.error and self.tried:
            says += f" (Tried at {timestamp_from_seconds(self.tried)}.)"
        if self.next_try:
            says += f" Read every {self.config.options['every']}, next at {self.next_try}."
        return says.strip()


def read_sources(connection: sqlite3.Connection) -> dict[str, StoredSource]:
    """Return the sources in the index by name, in the order in which they were added."""
    sql = """
    select
      state, read, notes, version, skipped,
      name, kind, location, options, never, include_trashed, config_file
    from sources
    order by rowid
    """
    sources = {}
    tries = json_value(get_meta(connection, TRIES) or "{}", dict)
    for state, read, notes, version, skipped, *config in connection.execute(sql):
        name, kind, location, options, never, trashed, file = config
        options, never = json_value(options, dict), json_value(never, list)
        source = SourceConfig(name, kind, location, options, tuple(never), bool(trashed), file)
        own = (source, state, read, notes, version, tuple(json_value(skipped, list)))
        sources[name] = StoredSource(*own, *tries.get(name, ()))
    return sources


def write_source(connection: sqlite3.Connection, stored: StoredSource, source: Source) -> None:
    """Store a source. A known source keeps its place in the order."""
    # The fields of the config and of the StoredSource are columns.
    values = {**vars(stored.config), **vars(stored)}
    for other in ("config", "tried", "error", "missed"):
        del values[other]
    values |= {"app": source.app, "heading_link": source.heading_link}
    for column in ("options", "never", "skipped"):
        values[column] = json.dumps(values[column], ensure_ascii=False)
    connection.execute(
        f"""
        insert into sources ({", ".join(values)})
        values ({", ".join(f":{column}" for column in values)})
        on conflict (name) do update set
          {", ".join(f"{column} = excluded.{column}" for column in values)}
        """,
        values,
    )


def write_tries(
    connection: sqlite3.Connection,
    configs: Iterable[SourceConfig],
    errors: Mapping[str, tuple[str, int | None]],
) -> None:
    """Store when a run tried sources that have an interval or an error, and the errors.

    :param errors: source → why it failed, and when it first lost many notes
    """
    stored = get_meta(connection, TRIES) or "{}"
    tries = json_value(stored, dict)
    for config in configs:
        tries.pop(config.name, None)
        if config.every or config.name in errors:
            tries[config.name] = [int(time.time()), *errors.get(config.name, ("", None))]
    known = {name for (name,) in connection.execute("select name from sources")}
    text = json.dumps({name: each for name, each in tries.items() if name in known})
    if text != stored:
        set_meta(connection, **{TRIES: text})


def set_config_file(connection: sqlite3.Connection, config: SourceConfig) -> None:
    connection.execute(
        "update sources set config_file = ? where name = ? and config_file is not ?",
        [config.config_file, config.name, config.config_file],
    )


def remove_sources(connection: sqlite3.Connection, names: Sequence[str]) -> int:
    """Remove sources with their notes; return the number of these notes."""
    listed = ", ".join("?" * len(names))
    rows = connection.execute(f"select id from notes where source in ({listed})", names).fetchall()
    remove(connection, [note_id for (note_id,) in rows])
    connection.execute(f"delete from sources where name in ({listed})", names)
    return len(rows)


# --- notes

# Columns that are a note's own fields, and those derived from them.
_FIELDS = (
    *("title", "created", "modified", "pinned", "archived", "trashed", "encrypted"),
    *("todos_open", "todos_done", "has_image", "has_file", "has_code", "url", "key", "stamp"),
    *("body", "attachments"),
)
_FLAGS = ("pinned", "archived", "trashed", "encrypted", "has_image", "has_file", "has_code")
COLUMNS = (
    *(*_FIELDS, "attachment_names", "has_link", "tags", "source", "fingerprint", "text_hash"),
    "language",
)
_field_values = attrgetter(*_FIELDS)
_json = json.JSONEncoder(ensure_ascii=False).encode  # dumps() would create one for each note

_STORED = f"select {', '.join(COLUMNS)} from notes where id = ?"


# Position, heading, start, length, shared, line, text, content hash, embedded.
PassageRow = tuple[int, str, int, int, bool | None, int, str | None, str, int]
# Notes with more characters are stored with the texts of their passages, because SQLite reads a
# whole note to return a part of it: half a millisecond for a million characters, each time.
LONG_NOTE = 100_000


class NoteRows(NamedTuple):
    note: Note
    values: Mapping[str, Value]  # of COLUMNS
    # Derived from title and body; None if neither has changed.
    cut: Sequence[Passage] | None = None
    lines: Collection[int] = ()  # hashes


def note_rows(source_name: str, notes: Sequence[Note], max_tokens: int | None) -> list[NoteRows]:
    """Return notes as rows.

    :param max_tokens: tokens that a passage may have; None if neither titles nor bodies changed
    """
    values = [_values(source_name, note) for note in notes]
    if max_tokens is None or not notes:
        return [*map(NoteRows, notes, values)]
    # One step for all notes, then the next: what a step needs stays in the processor's caches, by
    # which all of this takes a fifth less time.
    for each, language in zip(values, detect([f"{it.title}\n{it.body}" for it in notes])):
        each["language"] = language
    cut = [passages(note.title, note.body, max_tokens=max_tokens) for note in notes]
    lines = [line_hashes(note.title, it[:MAX_TEMPLATE]) for note, it in zip(notes, cut)]
    return [*map(NoteRows, notes, values, cut, lines)]


def _values(source_name: str, note: Note) -> dict[str, Value]:
    tags = _json([tag.name for tag in note.tags])
    hashes = note.fingerprint(), text_hash(note.title, note.body)
    names = _json(note.attachment_names)
    has_link = bool(note.links) or "://" in note.body
    fields = (*_field_values(note), names, has_link, tags, source_name, *hashes)
    return dict(zip(COLUMNS, fields))


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
        for source, key, note_id in connection.execute(sql, [vectors.MAX_NOTE_ID]):
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


def insert(
    connection: sqlite3.Connection,
    source_name: str,
    notes: Sequence[Note],
    known_ids: Mapping[tuple[str, str], int] = {},
) -> dict[int, Set[int]]:
    """Store notes that aren't in the index file yet.

    :param known_ids: earlier ids of notes, by source and key
    :returns: for ``relate``, the lines that were known as shared when each note was written
    """
    [last] = connection.execute("select coalesce(max(id), 0) from notes").fetchone()
    # Don't reuse the ids of removed notes: other programs may still refer to them.
    new_ids = count(max(last, int(get_number(connection, LAST_ID) or 0)) + 1)
    tokens = max_tokens(connection)
    new = [
        (known_ids.get((source_name, item.note.key)) or next(new_ids), item)
        for item in note_rows(source_name, notes, tokens)
    ]
    set_meta(connection, **{LAST_ID: next(new_ids) - 1})
    rows = [(note_id, *item.values.values()) for note_id, item in new]
    _insert_rows(connection, "notes", ("id", *COLUMNS), rows)
    _write_relations(connection, new)
    shared = _with_shared(connection, (item.lines for _, item in new))
    rows = [
        (note_id, *row)
        for note_id, item in new
        for row in _passage_rows(item.cut or (), shared, item.note.body)
    ]
    _insert_rows(connection, "passages", _PASSAGE_COLUMNS, rows)
    return dict.fromkeys((note_id for note_id, _ in new), shared)


def update(
    connection: sqlite3.Connection, source_name: str, notes: Sequence[tuple[int, Note]]
) -> None:
    """Replace notes by new versions. Passages with the same text keep their vectors."""
    tokens, shared = max_tokens(connection), shared_lines(connection)
    stored = {
        note_id: dict(zip(COLUMNS, row_of(connection, _STORED, note_id))) for note_id, _ in notes
    }
    same_text: list[tuple[int, Note]] = []
    new_text: list[tuple[int, Note]] = []
    for note_id, note in notes:
        old = stored[note_id]
        is_same = (note.title, note.body) == (old["title"], old["body"])
        (same_text if is_same else new_text).append((note_id, note))
    changed: list[tuple[int, NoteRows]] = []
    for some, most in ((same_text, None), (new_text, tokens)):
        made = note_rows(source_name, [note for _, note in some], most)
        changed += [(note_id, item) for (note_id, _), item in zip(some, made)]
    # Set only columns that differ, or FTS5 would index the whole text again.
    differing = {
        note_id: {it: value for it, value in new.values.items() if value != stored[note_id][it]}
        for note_id, new in changed
    }
    _update_rows(connection, differing)
    connection.executemany(
        "update or replace judgments set key = ? where source = ? and key = ?",
        (
            (values["key"], stored[note_id]["source"], stored[note_id]["key"])
            for note_id, values in differing.items()
            if "key" in values
        ),
    )
    cut = {
        note_id: _passage_rows(new.cut, shared, new.note.body)
        for note_id, new in changed
        if new.cut is not None
    }
    _replace_passages(connection, cut)
    _remove_relations(connection, [note_id for note_id, _ in changed])
    _remove_relations(connection, [*cut], [LINES])
    _write_relations(connection, changed)


def remove(connection: sqlite3.Connection, note_ids: Iterable[int]) -> None:
    """Remove notes and everything derived from them."""
    note_ids = list(note_ids)
    _remove_relations(connection, note_ids, [*_RELATIONS, LINES])
    gone = "in (select value from json_each(?))"
    rows = connection.execute(f"select id from passages where note_id {gone}", [_json(note_ids)])
    _remove_passages(connection, [passage_id for (passage_id,) in rows.fetchall()])
    # If this run dies now, the next won't know these notes. It has to read those that link to them.
    sql = f"select note_id from links where target_id {gone}"
    connection.execute(f"update notes set stamp = '' where id in ({sql})", [_json(note_ids)])
    for table, column in (("links", "target_id"), ("notes", "copy_of")):
        sql = f"update {table} set {column} = null where {column} {gone}"
        connection.execute(sql, [_json(note_ids)])
    connection.execute(f"delete from notes where id {gone}", [_json(note_ids)])


_RELATIONS = ("note_tags", "links", schema.FILES)


def _remove_relations(
    connection: sqlite3.Connection, note_ids: Sequence[int], tables: Sequence[str] = _RELATIONS
) -> None:
    for table in tables:
        sql = f"delete from {table} where note_id in (select value from json_each(?))"
        connection.execute(sql, [json.dumps(note_ids)])


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


def relate(connection: sqlite3.Connection, written: Mapping[int, Set[int]] = {}) -> None:
    """Relate all stored notes to each other: resolve links; find languages, copies, shared lines.

    :param written: what ``insert`` returned for new notes
    """
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
    _share_lines(connection, written)


def _write_relations(connection: sqlite3.Connection, new: Sequence[tuple[int, NoteRows]]) -> None:
    _write_lines(connection, ((note_id, item.lines) for note_id, item in new if item.lines))
    notes = [(note_id, item.note) for note_id, item in new]
    names = {tag.name: fold_tag(tag.name) for _, note in notes for tag in note.tags}
    _insert_rows(connection, "tags", ("name", "folded"), list(names.items()), "insert or ignore")
    sql = "select name, id from tags where name in (select value from json_each(?))"
    ids = dict(connection.execute(sql, [_json([*names])]).fetchall())
    rows = [(note_id, ids[tag.name], tag.pinned) for note_id, note in notes for tag in note.tags]
    columns = ("note_id", "tag_id", "pinned")
    _insert_rows(connection, "note_tags", columns, rows, "insert or ignore")
    links = [(note_id, link.key, link.title) for note_id, note in notes for link in note.links]
    _insert_rows(connection, "links", ("note_id", "target_key", "title"), links)
    files = [
        (note_id, file.target, file.place, file.stamp)
        for note_id, note in notes
        for file in note.linked_files
    ]
    _insert_rows(connection, schema.FILES, ("note_id", "target", "place", "stamp"), files)


def _insert_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Value, ...]],
    verb: str = "insert",
) -> None:
    for places, values in _in_statements(rows, len(columns)):
        connection.execute(f"{verb} into {table} ({', '.join(columns)}) values {places}", values)


def _update_rows(connection: sqlite3.Connection, notes: Mapping[int, Mapping[str, Value]]) -> None:
    """Set columns of notes, given by id."""
    by_columns: dict[tuple[str, ...], list[tuple[Value, ...]]] = {}
    for note_id, values in notes.items():
        by_columns.setdefault(tuple(values), []).append((note_id, *values.values()))
    by_columns.pop((), None)
    for columns, rows in by_columns.items():
        set_columns = ", ".join(f"{column} = new.{column}" for column in columns)
        for places, bound in _in_statements(rows, 1 + len(columns)):
            connection.execute(
                f"""
                with new (id, {", ".join(columns)}) as (values {places})
                update notes set {set_columns} from new where notes.id = new.id
                """,
                bound,
            )


def _in_statements(
    rows: Sequence[tuple[Value, ...]], width: int
) -> Iterator[tuple[str, list[Value]]]:
    """Yield placeholders and values for many rows per statement.

    FTS5 writes after each statement, which would be half of all time with one for each row.
    """
    row = f"({', '.join('?' * width)})"
    size = _MAX_VALUES // width
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        yield ", ".join([row] * len(some)), list(chain.from_iterable(some))


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


# --- templates

# A line or heading that at least this many notes have is part of a template: it isn't embedded, and
# is hardly ever the sentence that answers a query.
SHARED_BY = 5
# First passages of a note whose lines are counted.
MAX_TEMPLATE = 200


def shared_lines(connection: sqlite3.Connection) -> set[int]:
    """Return the hashes of lines that many notes share."""
    return {*_shared_lines(connection)}


def _shared_lines(connection: sqlite3.Connection) -> dict[int, int]:
    """Return how many notes share a line, by its hash."""
    return dict(connection.execute(f"select hash, notes from {SHARED_LINES}").fetchall())


def most_shared(connection: sqlite3.Connection, note_id: int) -> int:
    """Return how many notes have the line of this note that most of them share; 0 if none is."""
    shared = _shared_lines(connection)
    found = connection.execute(f"{_LINES} and note_id = ?", [note_id]).fetchall()
    return max((shared.get(it, 0) for _, hashes in found for it in array("q", hashes)), default=0)


def _write_lines(
    connection: sqlite3.Connection, lines: Iterable[tuple[int, Collection[int]]]
) -> None:
    rows = [(note_id, array("q", hashes).tobytes()) for note_id, hashes in lines]
    _insert_rows(connection, LINES, ("note_id", "hashes"), rows)


# The cast and the condition matter only in a damaged file.
_BLOB = "cast(hashes as blob)"
_LINES = f"select note_id, {_BLOB} from {LINES} where length({_BLOB}) % 8 = 0"


def _with_shared(connection: sqlite3.Connection, lines: Iterable[Collection[int]]) -> Set[int]:
    """Return all shared lines, and store those that are new in these notes."""
    known = shared_lines(connection)
    counts = Counter(chain.from_iterable(lines))
    new = [line for line, number in counts.items() if number >= SHARED_BY and line not in known]
    _insert_rows(connection, SHARED_LINES, ("hash", "notes"), [(line, 0) for line in new])
    return known.union(new)


def _share_lines(connection: sqlite3.Connection, written: Mapping[int, Set[int]]) -> None:
    import numpy

    rows = connection.execute(_LINES).fetchall()
    lines = numpy.frombuffer(b"".join(hashes for _, hashes in rows), "i8")
    counts = [len(hashes) // 8 for _, hashes in rows]
    note_ids = numpy.repeat(numpy.array([note_id for note_id, _ in rows], "i8"), counts)
    copies = connection.execute("select id from notes where copy_of is not null").fetchall()
    counted = lines[~numpy.isin(note_ids, copies)] if copies else lines
    distinct, numbers = numpy.unique(counted, return_counts=True)
    is_shared = numbers >= SHARED_BY
    shared = dict(zip(distinct[is_shared].tolist(), numbers[is_shared].tolist()))
    known = _shared_lines(connection)
    if shared == known:
        return
    connection.execute(f"delete from {SHARED_LINES}")
    _insert_rows(connection, SHARED_LINES, ("hash", "notes"), [*shared.items()])
    # 0 notes: only some of the notes with the line were written as sharing it.
    changed = known.keys() ^ shared.keys() | {line for line, number in known.items() if not number}
    found = set(note_ids[numpy.isin(lines, [*changed])].tolist())
    hashes = dict(rows)
    stale = [
        note_id
        for note_id in sorted(found)
        if note_id not in written
        or any((it in written[note_id]) != (it in shared) for it in array("q", hashes[note_id]))
    ]
    _cut_again(connection, stale, shared.keys())


# --- passages

_PLACE_COLUMNS = "position heading start length shared line text".split()
_PASSAGE_COLUMNS = ("note_id", *_PLACE_COLUMNS, "content_hash", "embedded")


def max_tokens(connection: sqlite3.Connection) -> int:
    """Return the maximum number of tokens in a passage, which depends on the index's model."""
    _, _, tokens = (get_meta(connection, "passage_settings") or "").partition("/")
    return int(number(tokens or str(MAX_TOKENS)))


def update_passages(connection: sqlite3.Connection, model_tokens: int | None = None) -> None:
    """Cut all notes again if their passages were made by other rules or for another model.

    :param model_tokens: the model's maximum number of tokens; None keeps the stored number
    """
    tokens = max_tokens(connection) if model_tokens is None else min(MAX_TOKENS, model_tokens)
    stored, settings = get_meta(connection, "passage_settings") or "", f"{PASSAGE_VERSION}/{tokens}"
    if stored == settings:
        return
    set_meta(connection, passage_settings=settings)
    note_ids = [note_id for (note_id,) in connection.execute("select id from notes")]
    has_other_lines = bool(note_ids) and not stored.startswith(f"{PASSAGE_VERSION}/")
    if has_other_lines:
        connection.execute(f"delete from {LINES}")
        set_meta(connection, links_to_resolve="yes")
    _cut_again(connection, note_ids, shared_lines(connection), with_lines=has_other_lines)


def _cut_again(
    connection: sqlite3.Connection,
    note_ids: Sequence[int],
    shared: Set[int],
    *,
    with_lines: bool = False,
) -> None:
    tokens = max_tokens(connection)
    sql = "select id, title, body from notes where id in (select value from json_each(?))"
    for start in range(0, len(note_ids), _NOTES_AT_A_TIME):
        some = json.dumps(note_ids[start : start + _NOTES_AT_A_TIME])
        rows, lines = {}, []
        for note_id, title, body in connection.execute(sql, [some]).fetchall():
            whole = passages(title, body, max_tokens=tokens)
            rows[note_id] = _passage_rows(whole, shared, body)
            if with_lines:
                lines.append((note_id, line_hashes(title, whole[:MAX_TEMPLATE])))
        _write_lines(connection, lines)
        _replace_passages(connection, rows)


def _passage_rows(whole: Sequence[Passage], shared: Set[int], body: str) -> list[PassageRow]:
    rows: list[PassageRow] = []
    # Shared lines are removed only from texts to embed.
    cut = [*without_shared(whole[:MAX_EMBEDDED], shared), *whole[MAX_EMBEDDED:]]
    line, before = 1, 0
    is_long = len(body) > LONG_NOTE
    for each, end in zip(cut, [*(following.start for following in cut[1:]), len(body)]):
        line, before = line + body.count("\n", before, each.start), each.start
        heading, length = " › ".join(each.headings), each.end - each.start
        text = body[each.start : end] if is_long else None
        place = each.position, heading, each.start, length
        embedded = PENDING if each.position < MAX_EMBEDDED else NEVER_EMBEDDED
        rows.append((*place, each.shared, line, text, each.content_hash, embedded))
    return rows


def _replace_passages(
    connection: sqlite3.Connection, notes: Mapping[int, Sequence[PassageRow]]
) -> None:
    """Replace the passages of notes, by id. Those with the same text keep their vectors."""
    listed = ", ".join(_PLACE_COLUMNS)
    sql = f"""
    select note_id, content_hash, id, {listed}
    from passages
    where note_id in (select value from json_each(?))
    order by note_id, position
    """
    old: dict[tuple[int, str], list[tuple[Any, ...]]] = {}
    for note_id, content_hash, *stored in connection.execute(sql, [json.dumps([*notes])]):
        old.setdefault((note_id, content_hash), []).append(tuple(stored))
    moved, new = [], []
    for note_id, rows in notes.items():
        for row in rows:
            *place, content_hash, _ = row
            if not (known := old.get((note_id, content_hash))):
                new.append((note_id, *row))
                continue
            passage_id, *stored_place = known.pop(0)
            if place != stored_place:
                moved.append((*place, passage_id))
    sql = f"update passages set ({listed}) = ({', '.join('?' * len(_PLACE_COLUMNS))}) where id = ?"
    connection.executemany(sql, moved)
    _remove_passages(connection, [passage_id for rest in old.values() for passage_id, *_ in rest])
    _insert_rows(connection, "passages", _PASSAGE_COLUMNS, new)


def _remove_passages(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    rows = [(passage_id,) for passage_id in passage_ids]
    connection.executemany("delete from passages where id = ?", rows)
    vectors.remove(connection, passage_ids)
