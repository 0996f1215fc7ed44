"""Vectors of passages → the passages nearest to a vector.

The float32 vectors stand in a plain table. The signs of their numbers, a bit each (binary
quantization), stand in a vec0 table, which finds the candidates that the vectors then rank. In a
library too large for its scan the same bits are compared in memory.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..sqlite import sqlite3, wrong_argument
from .database import STALE, file_of, get_meta, has_vector_extension, keep, set_meta
from .schema import PASSAGE_INDEX, VECTORS

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Neighbors = list[tuple[int, float]]  # passage id and cosine similarity, nearest first

# sqlite-vec's scan of so many passages takes 6 ms, two thirds of an ordinary search; beyond, that
# in memory does.
MAX_VEC0_PASSAGES = 20_000
# Vectors in a row of the vec0 table. Choosing the nearest takes longer the more there are: with
# sqlite-vec's 1,024 the scan takes six times as long (benchmarks/speed/nearest.py).
CHUNK_SIZE = 64
# Candidates by their signs for each passage that is wanted: in memory, .98 of the 50 nearest of
# 322,000 are among them (twice as many: .96). What is missed is about as near as what is found.
OVERSAMPLING = 4
# By vec0: an eighth of all passages, at least and at most so many; and what it takes at most. Of
# the 50 nearest of 9,200 passages .98 are among them; reading 1,200 vectors takes 4 ms. With 400
# of 1,900, feedback sees other notes: Cranfield loses .001 nDCG@10.
CANDIDATES_SHARE, FEWEST_CANDIDATES, MANY_CANDIDATES, MAX_CANDIDATES = 8, 700, 1200, 4096
# In memory: passages that pass the Hamming distance, cheap but coarse, before the query's own
# numbers count: so many, or this share if that is more.
HAMMING_CANDIDATES = 4000
HAMMING_SHARE = 0.01
# Searches whose nearest passages are kept, 30 KB each.
CACHED_SEARCHES = 50
# Ids of notes count up from 1. A larger one is nobody's note, and would need much memory.
MAX_NOTE_ID = 50_000_000
# SQLite takes b"" for NULL.
NO_NOTES = b"\0"
# Characters of ids up to which Python parses them itself, which needs no numpy.
SHORT_LIST = 20_000
# Key in meta: a token that each change of vectors renews.
CHANGED = "passage_index_changed"


# --- in the index file


def has_vec0(connection: sqlite3.Connection) -> bool:
    """Return whether the signs stand in a vec0 table."""
    return _is_virtual(connection) == (1,)


def _is_virtual(connection: sqlite3.Connection) -> tuple[int] | None:
    # Of the table of signs; None if there is none.
    sql = "select sql like 'create virtual%' from sqlite_master where name = ?"
    row: tuple[int] | None = connection.execute(sql, [PASSAGE_INDEX]).fetchone()
    return row


def prepare(connection: sqlite3.Connection) -> None:
    """Make the table of signs for vectors of the index's model.

    One that exists is replaced if it lacks vectors or is the wrong kind for the library's size.
    """
    [count] = connection.execute("select count(*) from passages").fetchone()
    exists = _is_virtual(connection)
    is_large = count > MAX_VEC0_PASSAGES
    if exists == (not is_large,) and not get_meta(connection, STALE):
        return
    _drop_signs(connection)
    connection.execute(
        f"create table {PASSAGE_INDEX} (rowid integer primary key, embedding blob)"
        if is_large
        else f"create virtual table {PASSAGE_INDEX} using vec0("
        f"embedding bit[{_dimension(connection)}], chunk_size={CHUNK_SIZE})"
    )
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"select passage_id, vec_quantize_binary(vector) from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store vectors of passages: pairs of passage id and float32 BLOB."""
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", rows)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) values (?, vec_quantize_binary(?))", rows
    )
    connection.executemany(
        "update passages set embedded = 1 where id = ?", [row[:1] for row in rows]
    )
    _mark_changed(connection)


def of_notes(
    connection: sqlite3.Connection, note_ids: Sequence[int], most: int
) -> dict[str, bytes]:
    """Return the vectors of notes' passages by the hash of their text, at most so many."""
    sql = f"""
    select content_hash, vector
    from passages
    join {VECTORS} on passage_id = passages.id
    where note_id in (select value from json_each(?))
    limit ?
    """
    return dict(connection.execute(sql, [json.dumps(note_ids), most]).fetchall())


def reuse(connection: sqlite3.Connection, kept: Mapping[str, bytes] = {}) -> None:
    """Give passages without a vector that of the same text elsewhere, or one of ``kept``."""
    if _is_virtual(connection) is None or get_meta(connection, STALE):
        return  # there are no vectors, or they can't be written now
    sql = "select id, content_hash from passages where not embedded"
    pending = connection.execute(sql).fetchall()
    if known := [(passage_id, kept[text]) for passage_id, text in pending if text in kept]:
        add(connection, known)
    sql = """
    select pending.id, min(known.id)
    from passages as pending
    join passages as known on known.content_hash = pending.content_hash and known.embedded
    where not pending.embedded
    group by pending.id
    """
    for passage_id, known_id in connection.execute(sql).fetchall():
        found = connection.execute(
            f"select vector from {VECTORS} where passage_id = ?", [known_id]
        ).fetchone()
        if found:
            add(connection, [(passage_id, *found)])


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Remove the vectors of passages; some may have none."""
    rows = [(passage_id,) for passage_id in passage_ids]
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_vector_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be written now. The next run that can makes it anew.
        set_meta(connection, **{STALE: "yes"})
    _mark_changed(connection)


def drop(connection: sqlite3.Connection) -> None:
    """Remove all vectors; every passage waits for a new one."""
    connection.execute(f"delete from {VECTORS}")
    connection.execute("update passages set embedded = 0 where embedded = 1")
    _drop_signs(connection)
    _mark_changed(connection)


def _drop_signs(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key = ?", [STALE])


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction: whoever sees the token sees the change.
    connection.execute(
        "insert or replace into meta (key, value) values (?, hex(randomblob(8)))", [CHANGED]
    )


def _dimension(connection: sqlite3.Connection) -> int:
    return int(get_meta(connection, "dimension") or 0)


# --- search


def candidates(connection: sqlite3.Connection) -> int:
    """Return how many passages vec0 finds by their signs, of which the nearest are taken."""
    [count] = connection.execute("select count(*) from passages").fetchone()
    return min(max(count // CANDIDATES_SHARE, FEWEST_CANDIDATES), MANY_CANDIDATES)


def nearest(
    connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None = None
) -> Neighbors:
    """Return the ``count`` passages nearest to a vector, at most MAX_CANDIDATES.

    :param vector: float32, as many numbers as the stored vectors
    :param notes: the notes that may be found, as :func:`note_set` returns them; None for all
    :raises sqlite3.DatabaseError: if the file is damaged
    """
    search = vector, count, notes
    signs = None if has_vec0(connection) else _signs_in_memory(connection)
    if signs:
        if known := signs.nearest.get(search):
            return known
        wanted = OVERSAMPLING * count
        near = "select value as passage_id from json_each(?)"
        among: list[Any] = [json.dumps(signs.candidates(connection, vector, wanted, notes))]
    else:
        wanted = min(max(OVERSAMPLING * count, candidates(connection)), MAX_CANDIDATES)
        near = f"""
          select rowid as passage_id
          from {PASSAGE_INDEX}
          where embedding match vec_quantize_binary(?) and k = {wanted}"""
        among = [vector]
        if notes is not None:
            near += """
            and rowid in (select id from passages where substr(?, note_id, 1) = x'01')"""
            among.append(notes)
    sql = f"""
    select passage_id, 1 - vec_distance_cosine(vector, ?) as similarity
    from ({near})
    join {VECTORS} using (passage_id)
    order by similarity desc, passage_id
    limit ?
    """
    found: Neighbors = connection.execute(sql, [vector, *among, count]).fetchall()
    if signs:
        keep(signs.nearest, search, found, CACHED_SEARCHES)
    return found


class SignsInMemory:
    """The signs of all vectors of a library, a bit each, and the note of each passage."""

    def __init__(self, passage_ids: NDArray[numpy.int64], signs: NDArray[numpy.uint8]) -> None:
        """:param signs: bytes, passages x numbers / 8"""
        self.passage_ids = passage_ids
        # By vector, count and notes: a page asks twice, once for its results and for its facets.
        self.nearest: dict[tuple[bytes, int, bytes | None], Neighbors] = {}
        # 64 bits a word, the first words of all vectors together: a scan reads from end to end.
        self._words = _words(signs)
        self._note_ids: NDArray[numpy.int64] | None = None

    def candidates(
        self, connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None
    ) -> list[int]:
        """Return the ids of the ``count`` passages nearest by their signs, in their own order."""
        import numpy

        ids, words = self.passage_ids, self._words
        if notes is not None:
            # The set begins with note 1; the byte before it is for passages of no note, the one
            # behind it for all notes beyond it.
            is_allowed = numpy.frombuffer(b"\0" + notes + b"\0", bool)
            note_ids = numpy.minimum(self._notes_of_passages(connection), len(notes) + 1)
            allowed = numpy.flatnonzero(is_allowed[note_ids])
            ids, words = ids[allowed], [word[allowed] for word in words]
        if len(ids) <= count:
            return list(ids.tolist())
        numbers = numpy.frombuffer(vector, "<f4")
        query = _words(numpy.packbits(numbers > 0, bitorder="little")[None, :])
        distances = numpy.zeros(len(ids), "u2")
        for word, query_word in zip(words, query):
            distances += numpy.bitwise_count(word ^ query_word[0])
        least = max(HAMMING_CANDIDATES, count, int(HAMMING_SHARE * len(ids)))
        # Counting beats sorting: there are few different distances. Ties with the last pass, too.
        up_to = numpy.bincount(distances).cumsum()
        near = numpy.flatnonzero(distances <= numpy.searchsorted(up_to, min(least, len(ids))))
        if len(near) > count:
            # Asymmetric distance: the query's numbers times the signs. What each byte of bits adds
            # is looked up: eight numbers, 256 ways.
            ways = numpy.arange(256, dtype="u1")[:, None]
            signs = numpy.unpackbits(ways, axis=1, bitorder="little").astype("f4").T * 2 - 1
            products = numbers.reshape(-1, 8) @ signs
            bits = numpy.column_stack([word[near] for word in words]).view("u1")
            rows = numpy.arange(len(products))
            similarities = products[rows, bits[:, : len(products)]].sum(axis=1)
            # In their order, in which SQLite reads their vectors in three quarters of the time.
            near = numpy.sort(near[numpy.argpartition(-similarities, count - 1)[:count]])
        return list(ids[near].tolist())

    def _notes_of_passages(self, connection: sqlite3.Connection) -> NDArray[numpy.int64]:
        """Return the note of each passage, 0 if it is gone; read at the first filter."""
        import numpy

        if self._note_ids is None:
            # Of all passages, even if this connection hides some.
            sql = "select id, note_id from main.passages order by id"
            rows = connection.execute(sql).fetchall()
            ids, note_ids = numpy.array(rows, "i8").reshape(-1, 2).T
            position = numpy.searchsorted(ids, self.passage_ids).clip(max=max(len(ids) - 1, 0))
            is_there = ids[position] == self.passage_ids
            self._note_ids = numpy.where(is_there, note_ids[position], 0)
        return self._note_ids


def _signs_in_memory(connection: sqlite3.Connection) -> SignsInMemory:
    """Return the signs as they are now; they are read again only after a change."""
    import numpy

    path = file_of(connection)
    token = get_meta(connection, CHANGED)
    with _loaded_lock:
        known_token, signs = _loaded.get(path, (None, None))
        if signs is None or known_token != token:
            size = _dimension(connection) // 8
            sql = f"select rowid, embedding from {PASSAGE_INDEX} where length(embedding) = ?"
            rows = connection.execute(sql, [size]).fetchall()
            ids = numpy.array([passage_id for passage_id, _ in rows], "i8")
            bits = numpy.frombuffer(b"".join(bits for _, bits in rows), "u1")
            signs = SignsInMemory(ids, bits.reshape(len(rows), size))
            _loaded[path] = token, signs
    return signs


_loaded_lock = threading.Lock()
_loaded: dict[str, tuple[str | None, SignsInMemory]] = {}


def _words(bits: NDArray[numpy.uint8]) -> list[NDArray[numpy.uint64]]:
    """Return rows of bytes as lists of 64-bit words, the first words of all rows first."""
    import numpy

    padded = numpy.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return [numpy.ascontiguousarray(word) for word in padded.view("u8").T]


# --- in SQL


def register(connection: sqlite3.Connection) -> None:
    """Add ``nearest_passages(vector, count[, notes])`` and ``note_set(ids)`` to a connection.

    ``nearest_passages`` returns a JSON object of at most ``count`` passages, nearest first: id →
    cosine similarity; NULL for NULL and a vector of another length. ``notes`` are those that may be
    found, as ids with commas between them (group_concat) or as ``note_set`` makes them of these: a
    BLOB in which the byte at the position of each id is 1, others 0. NULL stands for all.
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
            return None  # another model's, as while all vectors are made anew
        # Any BLOB becomes a set: nothing but zeros and ones.
        allowed = None if notes is None else checked_set(notes).translate(_AS_FLAGS)
        try:
            found = nearest(connection, vector, number, allowed)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                # The time limit is the whole statement's.
                connection.interrupt()
            raise
        # A float32 has nine digits; json.dumps() looks for the fewest, which takes twice as long.
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
    """Return a set of notes as bytes, by ids with commas between them; empty of anything else."""
    text = str(ids)
    if not isinstance(ids, (str, int)) or not _IDS.fullmatch(text):
        return NO_NOTES
    # numpy takes a tenth of the time, but .1 s to import.
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
