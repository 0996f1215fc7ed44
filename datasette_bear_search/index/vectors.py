"""Vectors of passages → the passages nearest to a vector.

A plain table stores the float32 vectors. A vec0 table stores their binary quantization: a bit for
the sign of each number. Its scan finds candidates, which are then ranked by their float32 vectors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..sqlite import read_value, sqlite3, wrong_argument
from .database import (
    MEAN,
    STALE,
    THRESHOLDS,
    UNRELATED,
    get_meta,
    get_number,
    has_vector_extension,
    set_meta,
)
from .schema import EMBEDDED, PASSAGE_INDEX, PENDING, REFUSED, VECTORS

Neighbors = list[tuple[int, float]]  # passage id and cosine similarity, nearest first

# Vectors in a chunk (a row) of the vec0 table. Larger chunks are slower to choose the nearest from:
# with sqlite-vec's default of 1,024, a scan takes six times as long (benchmarks/speed/nearest.py).
CHUNK_SIZE = 64
# Binary candidates for each wanted passage.
OVERSAMPLING = 4
# Binary candidates of a search: an eighth of all passages, within these limits. The last is vec0's
# own. They include .98 of the 50 nearest passages of 9,200; reading 1,200 vectors takes 4 ms. With
# 400 of 1,900, pseudo-relevance feedback sees other notes: Cranfield loses .001 nDCG@10.
CANDIDATES_SHARE, FEWEST_CANDIDATES, MANY_CANDIDATES, MAX_CANDIDATES = 8, 700, 1200, 4096
# Ids of notes count up from 1. No note has a larger id, and a set with one would need much memory.
MAX_NOTE_ID = 50_000_000
# The empty set; b"" isn't one, because SQLite takes it for NULL.
NO_NOTES = b"\0"
# Lists of ids up to this many characters are parsed without importing numpy.
SHORT_LIST = 20_000
# Key in meta: a random token that changes whenever vectors do.
CHANGED = "vectors_changed"
# Passages of which the mean vector is computed.
SAMPLED = 5000


# --- in the index file


def _exists(connection: sqlite3.Connection) -> bool:
    sql = "select 1 from sqlite_master where name = ?"
    return read_value(connection, sql, [PASSAGE_INDEX]) is not None


def prepare(connection: sqlite3.Connection) -> None:
    """Create the table of binary vectors for the index's model; replace an incomplete one."""
    if _exists(connection) and not get_meta(connection, STALE):
        return
    _drop_passage_index(connection)
    connection.execute(
        f"create virtual table {PASSAGE_INDEX} using vec0("
        f"embedding bit[{_dimension(connection)}], chunk_size={CHUNK_SIZE})"
    )
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) select passage_id, {signs('vector')} "
        f"from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes | None]]) -> None:
    """Store vectors of passages, given as pairs of passage id and float32 BLOB; None: it has none.

    A passage without one isn't pending anymore, until the model changes.
    """
    made = [row for row in rows if row[1]]
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", made)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) values (?, {signs('?')})", made
    )
    connection.executemany(
        "update passages set embedded = ? where id = ?",
        [(EMBEDDED if vector else REFUSED, passage_id) for passage_id, vector in rows],
    )
    _mark_changed(connection)


def of_notes(
    connection: sqlite3.Connection, note_ids: Sequence[int], most: int
) -> dict[str, bytes]:
    """Return at most ``most`` vectors of these notes' passages, by the hash of the text."""
    sql = f"""
    select content_hash, vector
    from passages
    join {VECTORS} on passage_id = passages.id
    where note_id in (select value from json_each(?))
    limit ?
    """
    return dict(connection.execute(sql, [json.dumps(note_ids), most]).fetchall())


def reuse(connection: sqlite3.Connection, kept: Mapping[str, bytes | None] = {}) -> None:
    """Give pending passages the vector of an equal text, from ``kept`` or another passage."""
    if not _exists(connection) or get_meta(connection, STALE):
        return  # there are no vectors, or none can be written now
    sql = "select id, content_hash from passages where not embedded"
    pending = connection.execute(sql).fetchall()
    if known := [(passage_id, kept[text]) for passage_id, text in pending if text in kept]:
        add(connection, known)
    sql = f"""
    select pending.id, max(vector)
    from passages as pending
    join passages as known on known.content_hash = pending.content_hash
    left join {VECTORS} on passage_id = known.id
    where not pending.embedded and known.embedded in ({EMBEDDED}, {REFUSED})
    group by pending.id
    """
    for row in connection.execute(sql).fetchall():
        add(connection, [row])


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Remove the vectors of passages; some may have none."""
    rows = [(passage_id,) for passage_id in passage_ids]
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_vector_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be written now. The next run with sqlite-vec will rebuild it.
        set_meta(connection, **{STALE: "yes"})
    _mark_changed(connection)


def drop(connection: sqlite3.Connection) -> None:
    """Remove all vectors, so that every passage is pending again."""
    connection.execute(f"delete from {VECTORS}")
    connection.execute(
        f"update passages set embedded = {PENDING} where embedded in ({EMBEDDED}, {REFUSED})"
    )
    _drop_passage_index(connection)
    set_meta(connection, **{MEAN: None, UNRELATED: None, THRESHOLDS: None})
    _mark_changed(connection)


def _drop_passage_index(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key = ?", [STALE])


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction as the change, so that readers see both or neither.
    sql = "insert or replace into meta (key, value) values (?, hex(randomblob(8)))"
    connection.execute(sql, [CHANGED])


def center(connection: sqlite3.Connection) -> None:
    """Take the signs of all vectors anew, relative to their mean.

    The vectors of many models lie in a narrow cone, where most signs are the same for all texts:
    with multilingual-e5-small, candidates by plain signs have .43 of the 50 nearest of 1,338
    passages, and .75 by centered ones (all-MiniLM-L6-v2: .92 and .92).
    """
    import numpy

    sql = f"""
    select vector
    from {VECTORS}
    where passage_id % (1 + (select count(*) from {VECTORS}) / {SAMPLED}) = 0
    """
    rows = connection.execute(sql).fetchall()
    if not rows:
        return
    mean = numpy.frombuffer(b"".join(vector for (vector,) in rows), "<f4")
    mean = mean.reshape(len(rows), -1).mean(axis=0).astype("<f4")
    _drop_passage_index(connection)
    set_meta(connection, **{MEAN: mean.tobytes().hex()})
    prepare(connection)


def signs(vector: str) -> str:
    """Return SQL for the binary quantization of a vector."""
    return f"vec_quantize_binary(vec_sub({vector}, mean_vector()))"


def similarity(vector: str, other: str) -> str:
    """Return SQL for the similarity of two vectors: 1 for the same, 0 for unrelated texts.

    That is (cosine - u) / (1 - u). u is how much more similar unrelated texts are for the index's
    model than for all-MiniLM-L6-v2, for which it is the cosine: all constants that a similarity is
    compared with were chosen there. With multilingual-e5-small, u is .75.
    """
    return f"1 - vec_distance_cosine({vector}, {other}) / unrelated_distance()"


def _dimension(connection: sqlite3.Connection) -> int:
    return int(get_number(connection, "dimension") or 0)


# --- search


def candidates(connection: sqlite3.Connection) -> int:
    """Return how many candidates vec0 finds by binary quantization, before they are ranked."""
    [count] = connection.execute("select count(*) from passages").fetchone()
    return min(max(count // CANDIDATES_SHARE, FEWEST_CANDIDATES), MANY_CANDIDATES)


def nearest(
    connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None = None
) -> Neighbors:
    """Return the ``count`` passages nearest to a vector, at most MAX_CANDIDATES.

    :param vector: float32, of the same dimension as the stored vectors
    :param notes: search only these notes, as :func:`note_set` returns them; None for all
    :raises sqlite3.DatabaseError: if the file is damaged
    """
    wanted = min(max(OVERSAMPLING * count, candidates(connection)), MAX_CANDIDATES)
    parameters: dict[str, Any] = {"vector": vector, "notes": notes, "count": count}
    only = "and rowid in (select id from passages where substr(:notes, note_id, 1) = x'01')"
    sql = f"""
    select passage_id, {similarity("vector", ":vector")} as similarity
    from (
      select rowid as passage_id
      from {PASSAGE_INDEX}
      where embedding match {signs(":vector")} and k = {wanted} {"" if notes is None else only}
    )
    join {VECTORS} using (passage_id)
    order by similarity desc, passage_id
    limit :count
    """
    return connection.execute(sql, parameters).fetchall()


# --- in SQL


def register(connection: sqlite3.Connection) -> None:
    """Add ``nearest_passages(vector, count[, notes])`` and ``note_set(ids)`` to a connection.

    ``nearest_passages`` returns a JSON object of at most ``count`` passages, nearest first: id →
    cosine similarity. It returns NULL for NULL and for a vector of another length. ``notes`` limits
    the search to these notes (NULL: all): ids separated by commas, as group_concat() returns them,
    or ``note_set`` of these, a BLOB whose byte at the position of each id is 1, all others 0.
    """

    def nearest_passages(vector: Any, count: Any, notes: Any = None) -> str | None:
        if vector is None or count is None:
            return None
        if not isinstance(vector, bytes):
            raise wrong_argument("nearest_passages: the vector must be one, such as embed() gives")
        try:
            number = int(count)  # parameters of a URL are text
        except (ValueError, OverflowError):
            number = 0
        if number < 1:
            raise wrong_argument(f"nearest_passages: the count must be 1 or more, not {count!r}")
        if len(vector) != 4 * _dimension(connection):
            return None  # another model's, for example while all vectors are being replaced
        # Make any BLOB a valid set of zeros and ones.
        allowed = None if notes is None else checked_set(notes).translate(_AS_FLAGS)
        try:
            found = nearest(connection, vector, number, allowed)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                # The time limit applies to the whole statement.
                connection.interrupt()
            raise
        # Nine digits suffice for a float32. json.dumps() takes twice as long to find the fewest.
        pairs = ",".join([f'"{passage_id}":{similarity:.9f}' for passage_id, similarity in found])
        return f"{{{pairs}}}"

    def checked_set(notes: Any) -> bytes:
        if isinstance(notes, bytes):
            return notes
        if notes not in (None, "") and not _IDS.fullmatch(str(notes)):
            raise wrong_argument("notes must be ids with commas between them, or note_set() of it")
        return note_set(notes)

    connection.create_function("nearest_passages", 2, nearest_passages)
    connection.create_function("nearest_passages", 3, nearest_passages)
    connection.create_function("note_set", 1, checked_set, deterministic=True)


def note_set(ids: Any) -> bytes:
    """Return the set of notes with these comma-separated ids; an empty set if invalid."""
    text = str(ids)
    if not isinstance(ids, (str, int)) or not _IDS.fullmatch(text):
        return NO_NOTES
    # numpy takes a tenth of the time, but .1 s to be imported.
    if len(text) > SHORT_LIST:
        import numpy

        array = numpy.fromstring(text, "i8", sep=",")
        if array.min() < 1 or array.max() > MAX_NOTE_ID:
            return NO_NOTES
        flags = numpy.zeros(array.max(), "u1")
        flags[array - 1] = 1
        return flags.tobytes()
    numbers = [int(number) for number in text.split(",")]
    if min(numbers) < 1 or max(numbers) > MAX_NOTE_ID:
        return NO_NOTES
    members = bytearray(max(numbers))
    for number in numbers:
        members[number - 1] = 1
    return bytes(members)


_IDS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*", re.ASCII)
_AS_FLAGS = b"\0" + b"\1" * 255
