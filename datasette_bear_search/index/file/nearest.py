"""A vector → the passages nearest to it.

The scan of the binary vectors finds candidates, which are then ranked by their float32 vectors.
"""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_right
from typing import Any

from ...sqlite import interruption, read_value, sqlite3, wrong_argument
from .metadata import get_number, set_meta
from .schema import PASSAGE_INDEX, VECTORS
from .vectors import CANDIDATES_KEY, RECALL_KEY, dimension, matrix, mean_vector, sample, signs

Neighbors = list[tuple[int, float]]  # passage id and cosine similarity, nearest first

# Binary candidates for each wanted passage.
OVERSAMPLING = 4
# Binary candidates of a search: an eighth of all passages, within these limits. The last is vec0's
# own. They include .98 of the 50 nearest passages of 9,200; reading 1,200 vectors takes 4 ms. With
# 400 of 1,900, pseudo-relevance feedback sees other notes: Cranfield loses .001 nDCG@10.
CANDIDATES_SHARE, MIN_CANDIDATES, MANY_CANDIDATES, MAX_CANDIDATES = 8, 700, 1200, 4096
# But at least this share: of 322,700 passages, 1,200 include .80 of the nearest to a rare word.
LEAST_SHARE = 80
# From so many passages on, numpy compares the signs: 31,900 take it 3 ms and 322,700 30 ms, but the
# search of vec0, which chooses the nearest chunk by chunk, 11 and 110 ms.
MANY_PASSAGES = 20_000
# For some models, signs say less. So for this many stored passages, as many nearest ones are also
# searched exactly, and there are more candidates if they include less than this share of these.
# Of more passages than TESTED_AMONG, a sample stands for all, and fewer nearest ones for as many.
TESTED, TESTED_NEAREST, MIN_CANDIDATES_RECALL = 50, 50, 0.9
TESTED_AMONG = 16_384
# Ids of notes count up from 1. No note has a larger id, and a set with one would need much memory.
MAX_NOTE_ID = 50_000_000
# The empty set; b"" isn't one, because SQLite takes it for NULL.
NO_NOTES = b"\0"


def similarity(vector: str, other: str) -> str:
    """Return SQL for the similarity of two vectors: 1 for the same, 0 for unrelated texts.

    That is (cosine - u) / (1 - u). u is how much more similar unrelated texts are for the index's
    model than for all-MiniLM-L6-v2, for which it is the cosine: all constants that a similarity is
    compared with were chosen there. With multilingual-e5-small, u is .75.
    """
    return f"1 - vec_distance_cosine({vector}, {other}) / unrelated_distance()"


def choose_candidates(connection: sqlite3.Connection) -> None:
    """Store how many candidates the searches of this index take, enough for its model."""
    [count] = connection.execute("select count(*) from passages").fetchone()
    wanted = min(max(count // CANDIDATES_SHARE, MIN_CANDIDATES), MANY_CANDIDATES)
    wanted, recall = min(max(wanted, count // LEAST_SHARE), MAX_CANDIDATES), 1.0
    if count > wanted and (ranks := sorted(_ranks_by_signs(connection))):
        enough = math.ceil(ranks[math.ceil(MIN_CANDIDATES_RECALL * len(ranks)) - 1])
        wanted = min(max(wanted, enough), MAX_CANDIDATES)
        recall = bisect_right(ranks, wanted) / len(ranks)
    set_meta(connection, **{CANDIDATES_KEY: wanted, RECALL_KEY: f"{recall:.3f}"})


def _ranks_by_signs(connection: sqlite3.Connection) -> list[float]:
    """Return the ranks that the signs give to the passages nearest to sampled ones."""
    import numpy

    rows = sample(connection, TESTED_AMONG)
    if not rows:
        return []
    share = len(rows) / read_value(connection, f"select count(*) from {VECTORS}")
    vectors, mean = matrix(rows), numpy.frombuffer(mean_vector(connection), "<f4")
    asked = numpy.arange(0, len(rows), 1 + len(rows) // TESTED)
    signs = (vectors > mean).astype("f4")
    # For a and b of 0 and 1, a != b is a + b - 2ab = a - (2a - 1)b.
    own = signs[asked]
    apart = own.sum(axis=1, keepdims=True) - (2 * own - 1) @ signs.T
    # The first one is the passage itself.
    last = 1 + math.ceil(TESTED_NEAREST * share)
    nearest = numpy.argsort(-(vectors[asked] @ vectors.T), axis=1)[:, 1:last]
    ranks: list[float] = []
    for distances, ordered in zip(numpy.take_along_axis(apart, nearest, 1), numpy.sort(apart)):
        # Of those at the same distance, half come earlier.
        first, end = (numpy.searchsorted(ordered, distances, side) for side in ("left", "right"))
        ranks += ((first + end) / 2 / share).tolist()
    return ranks


def candidates(connection: sqlite3.Connection) -> int:
    """Return how many candidates vec0 finds by binary quantization, before they are ranked."""
    known = int(get_number(connection, CANDIDATES_KEY) or MANY_CANDIDATES)
    return min(max(known, 1), MAX_CANDIDATES)


def candidates_sql(
    vector: str, count: str, is_large: bool, allowed: str = "", row: str = ""
) -> str:
    """Return SQL for the column ``passage_id`` of so many passages whose signs differ least.

    :param allowed: the rest of ``from passages`` that selects only some; empty for all
    :param row: a table with one row, which has the vector or null; empty if it is a parameter
    """
    # Without a vector, the rest isn't evaluated; sqlite-vec's functions don't take null.
    source = f"{row} cross join " if row else ""
    if is_large:
        only = f""", (
          select group_concat(passages.id) from passages
          {allowed})"""
        return f"""select value as passage_id from {source}json_each(nearest_signs(
        {signs(vector)},
        {count}{only if allowed else ""}))
      where {vector} is not null"""
    only = f"\n        and rowid in (select passages.id from passages {allowed})"
    return f"""select rowid as passage_id from {source}{PASSAGE_INDEX}
      where {vector} is not null and k = {count}
        and embedding match {signs(vector)}{only if allowed else ""}"""


def is_large(connection: sqlite3.Connection) -> bool:
    """Return whether there are so many passages that vec0 takes longer than numpy."""
    return bool(read_value(connection, "select count(*) from passages") >= MANY_PASSAGES)


def nearest_signs(
    connection: sqlite3.Connection, wanted: bytes, count: int, only: str | None = None
) -> str:
    """Return the ids of the passages whose signs differ least, as a JSON array.

    Nothing is kept in memory: this reads the chunks in which vec0 stores its table, as sqlite-vec's
    ARCHITECTURE.md describes them.

    :param only: the ids to choose from, with commas between them; None for all
    """
    import numpy

    allowed = None if only is None else numpy.fromstring(only, "i8", sep=",")
    if allowed is not None and len(allowed) <= count:
        return json.dumps(sorted(allowed.tolist()))
    sql = f"""
    select rowids, validity, vectors
    from {PASSAGE_INDEX}_chunks
    join {PASSAGE_INDEX}_vector_chunks00 as stored on stored.rowid = chunk_id
    """
    chunks = connection.execute(sql).fetchall() or [(b"", b"", b"")]
    rowids, used, stored = map(b"".join, zip(*chunks))
    ids = numpy.frombuffer(rowids, "<i8")
    kind = "<u8" if len(wanted) % 8 == 0 else "u1"
    bits = numpy.frombuffer(stored, kind).reshape(-1, len(wanted) // numpy.dtype(kind).itemsize)
    differing = numpy.bitwise_count(bits ^ numpy.frombuffer(wanted, kind))
    apart = numpy.einsum("ij->i", differing, dtype="u2")  # takes half as long as sum()
    # Vectors that were removed leave a place.
    is_allowed = numpy.unpackbits(numpy.frombuffer(used, "u1"), bitorder="little").view(bool)
    if allowed is not None:
        is_allowed &= numpy.isin(ids, allowed)
    ids, apart = ids[is_allowed], apart[is_allowed]
    if count < len(ids):
        ids = ids[numpy.argpartition(apart, count)[:count]]
    return json.dumps(sorted(ids.tolist()))  # in the order in which the file has the vectors


def nearest(connection: sqlite3.Connection, vector: bytes, count: int) -> Neighbors:
    """Return the ``count`` passages nearest to a vector, at most MAX_CANDIDATES.

    :param vector: float32, of the same dimension as the stored vectors
    :raises sqlite3.DatabaseError: if the file is damaged
    """
    wanted = min(max(OVERSAMPLING * count, candidates(connection)), MAX_CANDIDATES)
    sql = f"""
    select passage_id, {similarity("vector", ":vector")} as similarity
    from ({candidates_sql(":vector", str(wanted), is_large(connection))})
    join {VECTORS} using (passage_id)
    order by similarity desc, passage_id
    limit :count
    """
    return connection.execute(sql, {"vector": vector, "count": count}).fetchall()


# --- in SQL


def register(connection: sqlite3.Connection) -> None:
    """Add ``nearest_passages``, ``nearest_signs`` and ``note_set`` to a connection.

    ``nearest_passages(vector, count)`` returns a JSON object of at most ``count`` passages, nearest
    first: id → similarity. It returns NULL for NULL and for a vector of another length.
    ``note_set(ids)`` takes ids separated by commas, as group_concat() returns them, and returns a
    BLOB whose byte at the position of each id is 1, all others 0.
    """

    def nearest_passages(vector: Any, count: Any) -> str | None:
        if vector is None or count is None:
            return None
        number = _checked_count("nearest_passages", vector, count)
        if len(vector) != 4 * dimension(connection):
            return None  # another model's, for example while all vectors are being replaced
        with interruption(connection):
            found = nearest(connection, vector, number)
        # Nine digits suffice for a float32. json.dumps() takes twice as long to find the fewest.
        pairs = ",".join([f'"{passage_id}":{similarity:.9f}' for passage_id, similarity in found])
        return f"{{{pairs}}}"

    def checked_set(ids: Any) -> bytes:
        if ids not in (None, "") and not _IDS.fullmatch(str(ids)):
            raise wrong_argument("note_set: the ids must be numbers with commas between them")
        return note_set(str(ids or ""))

    def signs_nearest_to(wanted: Any, count: Any, *only: Any) -> str | None:
        if wanted is None or count is None or only == (None,):
            return None  # no vector, or no passage is allowed
        number = _checked_count("nearest_signs", wanted, count)
        if 8 * len(wanted) != dimension(connection):
            return None
        with interruption(connection):
            return nearest_signs(connection, wanted, number, *map(str, only))

    connection.create_function("nearest_passages", 2, nearest_passages)
    for arguments in (2, 3):
        connection.create_function("nearest_signs", arguments, signs_nearest_to, deterministic=True)
    connection.create_function("note_set", 1, checked_set, deterministic=True)


def _checked_count(function: str, vector: Any, count: Any) -> int:
    if not isinstance(vector, bytes):
        raise wrong_argument(f"{function}: the vector must be one, such as embed() gives")
    try:
        number = int(count)  # parameters of a URL are text
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise wrong_argument(f"{function}: the count must be 1 or more, not {count!r}")
    return number


def note_set(ids: str | None) -> bytes:
    """Return the set of notes with these ids, which group_concat() returned."""
    if not ids:
        return NO_NOTES
    # numpy takes a tenth of the time, but .1 s to be imported, enough for half a million ids.
    if "numpy" in sys.modules:
        import numpy

        array = numpy.fromstring(ids, "i8", sep=",")
        if array.min() < 1 or array.max() > MAX_NOTE_ID:
            return NO_NOTES
        flags = numpy.zeros(array.max(), "u1")
        flags[array - 1] = 1
        return flags.tobytes()
    numbers = [int(number) for number in ids.split(",")]
    if min(numbers) < 1 or max(numbers) > MAX_NOTE_ID:
        return NO_NOTES
    members = bytearray(max(numbers))
    for number in numbers:
        members[number - 1] = 1
    return bytes(members)


_IDS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*", re.ASCII)
