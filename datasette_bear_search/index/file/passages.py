"""Passages as rows of the index file, in the caller's transaction."""

from __future__ import annotations

import json
import string
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

from ...sqlite import insert_rows, sqlite3
from ..run.chunking import MAX_TOKENS, Passage, line_hashes, passages, without_shared
from . import vectors
from .metadata import get_meta, number, set_meta
from .schema import EMPTY, LINES, MAX_EMBEDDED, OVER_LIMIT, PENDING, SHARED_LINES

T = TypeVar("T")
# Increase it when passages are cut or cleaned differently, so that every note is cut again.
PASSAGE_VERSION = 3
# Characters in one step, few enough that no search waits long for the lock and memory suffices; and
# notes whose passages are made again in one.
MAX_CHARACTERS, _NOTES_AT_A_TIME = 4_000_000, 250


# Position, heading, start, length, kind of text, line, text, content hash, state of the vector.
PassageRow = tuple[int, str, int, int, str, int, str | None, str, str]
# Notes with more characters are stored with the texts of their passages, because SQLite reads a
# whole note to return a part of it: half a millisecond for a million characters, each time.
LONG_NOTE = 100_000
# A line or heading that at least this many notes have is part of a template: it isn't embedded, and
# is hardly ever the sentence that answers a query.
SHARED_BY = 5
# In bytes, because a Chinese character is a word. A shorter text isn't embedded.
SHORTEST_BYTES = 3
# First passages of a note whose lines are counted.
MAX_TEMPLATE = 200

_NO_WORDS = string.punctuation + string.whitespace
_PLACE_COLUMNS = "position heading start length text_kind line text".split()
STORED_COLUMNS = ("note_id", *_PLACE_COLUMNS, "content_hash", "vector_state")


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
    if note_ids and not stored.startswith(f"{PASSAGE_VERSION}/"):  # their lines may be others now
        set_meta(connection, links_to_resolve="yes")
    _cut_again(connection, note_ids)


def _cut_again(connection: sqlite3.Connection, note_ids: Sequence[int]) -> None:
    sql = "select id, title, body from notes where id in (select value from json_each(?))"
    found = connection.execute(sql, [json.dumps(note_ids)])
    for some in batches(found, _NOTES_AT_A_TIME, lambda note: len(note[2])):
        cut(connection, some)


def cut(connection: sqlite3.Connection, notes: Sequence[tuple[int, str, str]]) -> None:
    """Store the passages of notes, given by id, title and body, and the hashes of their lines."""
    tokens, shared = max_tokens(connection), shared_lines(connection)
    whole = [passages(title, body, max_tokens=tokens) for _, title, body in notes]
    made = [*zip(notes, whole)]
    rows = {note_id: passage_rows(each, shared, body) for (note_id, _, body), each in made}
    replace_passages(connection, rows)
    hashes = [(it, line_hashes(title, each[:MAX_TEMPLATE])) for (it, title, _), each in made]
    lines = [(note_id, array("q", each).tobytes()) for note_id, each in hashes]
    change = "on conflict (note_id) do update set hashes = excluded.hashes"
    insert_rows(connection, LINES, ("note_id", "hashes"), lines, change)


def batches(items: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in batches of at most so many, and of about MAX_CHARACTERS."""
    batch: list[T] = []
    characters = 0
    for item in items:
        batch.append(item)
        characters += size(item)
        if len(batch) == most or characters >= MAX_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def passage_rows(whole: Sequence[Passage], shared: Set[int], body: str) -> list[PassageRow]:
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
        state = PENDING if each.position < MAX_EMBEDDED else OVER_LIMIT
        # The vector of "c", of an empty note, is near those of all rare words.
        state = state if len(each.text.strip(_NO_WORDS).encode()) >= SHORTEST_BYTES else EMPTY
        rows.append((*place, each.text_kind, line, text, each.content_hash, state))
    return rows


def replace_passages(
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
    remove_passages(connection, [passage_id for rest in old.values() for passage_id, *_ in rest])
    insert_rows(connection, "passages", STORED_COLUMNS, new)


def remove_passages(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    rows = [(passage_id,) for passage_id in passage_ids]
    connection.executemany("delete from passages where id = ?", rows)
    vectors.remove(connection, passage_ids)


# --- templates: lines that many notes share


def share_lines(connection: sqlite3.Connection) -> None:
    """Find the lines that many notes share now; cut the notes with a line that is or was one."""
    import numpy

    rows = connection.execute(_LINES_SQL).fetchall()
    lines = numpy.frombuffer(b"".join(hashes for _, hashes in rows), "i8")
    counts = [len(hashes) // 8 for _, hashes in rows]
    note_ids = numpy.repeat(numpy.array([note_id for note_id, _ in rows], "i8"), counts)
    copies = connection.execute("select id from notes where copy_of is not null").fetchall()
    counted = lines[~numpy.isin(note_ids, copies)] if copies else lines
    distinct, numbers = numpy.unique(counted, return_counts=True)
    shared = {*distinct[numbers >= SHARED_BY].tolist()}
    known = shared_lines(connection)
    if shared == known:
        return
    connection.execute(f"delete from {SHARED_LINES}")
    insert_rows(connection, SHARED_LINES, ("hash",), [(line,) for line in shared])
    stale = note_ids[numpy.isin(lines, [*known ^ shared])]
    _cut_again(connection, sorted({*stale.tolist()}))


def shared_lines(connection: sqlite3.Connection) -> set[int]:
    """Return the hashes of the lines that many notes share."""
    return {line for (line,) in connection.execute(f"select hash from {SHARED_LINES}")}


# The cast and the condition matter only in a damaged file.
_BLOB = "cast(hashes as blob)"
_LINES_SQL = f"select note_id, {_BLOB} from {LINES} where length({_BLOB}) % 8 = 0"
