"""Vectors of passages → the passages nearest to a vector.

The float32 vectors stand in a plain table, and a search compares all of them, in memory (exact
kNN). In a large library it finds candidates by the Hamming distance of the signs of the numbers
(binary quantization), and ranks these by float32. The vec0 table is for anybody's own SQL.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..sqlite import sqlite3
from .database import STALE, file_of, get_meta, has_vector_extension, set_meta
from .schema import PASSAGE_INDEX, VECTORS

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Neighbors = list[tuple[int, float]]  # passage id and cosine similarity, nearest first
    Found = Neighbors | NDArray[numpy.int64]  # or the ids of candidates, in no order

# Up to so many passages the vec0 table holds float32 vectors, 1.5 KB each; beyond, their bits, a
# thirty-second of that.
MAX_FLOAT_PASSAGES = 20_000
# It goes back to float32 at this share of that: at the limit it would be made again and again.
SHRUNK_SHARE = 0.8
# Passages that are searched exactly: 60 MB in memory, and as fast as by binary quantization.
MAX_EXACT_PASSAGES = 40_000
# Candidates by their bits for each passage that is wanted. Of the 50 nearest by float32 vectors,
# .99 are among twice 300 (benchmarks/speed/query_time.py).
OVERSAMPLING = 2
# Passages that pass the Hamming distance, cheap but coarse: so many, or this share if that is more.
HAMMING_CANDIDATES = 4000
HAMMING_SHARE = 0.01
# Searches of the whole library whose results are kept: a page shows results, then their facets.
CACHED_SEARCHES = 8
# Ids of notes count up from 1. A larger one is nobody's note, and would need much memory.
MAX_NOTE_ID = 50_000_000
# Characters of ids up to which Python parses them itself, which needs no numpy.
SHORT_LIST = 20_000
# Keys in meta: whether the vec0 table holds bits, and a token that each change of vectors renews.
BINARY = "passage_index_signs"
CHANGED = "passage_index_changed"


# --- in the index file


def is_binary(connection: sqlite3.Connection) -> bool:
    return get_meta(connection, BINARY) is not None


def prepare(connection: sqlite3.Connection) -> None:
    """Make the vec0 table, also if it lacks vectors or is the wrong kind for the library's size."""
    dimension = _dimension(connection)
    [count] = connection.execute("select count(*) from passages").fetchone()
    was_binary = is_binary(connection)
    is_large = count > MAX_FLOAT_PASSAGES * (SHRUNK_SHARE if was_binary else 1)
    binary = is_large and dimension % 8 == 0  # sqlite-vec keeps eight bits in a byte
    if binary != was_binary or get_meta(connection, STALE):
        _drop_vec0(connection)
        if binary:
            set_meta(connection, **{BINARY: "yes"})
    sql = "select 1 from sqlite_master where name = ?"
    if connection.execute(sql, [PASSAGE_INDEX]).fetchone():
        return
    kind = f"bit[{dimension}]" if binary else f"float[{dimension}] distance_metric=cosine"
    connection.execute(f"create virtual table {PASSAGE_INDEX} using vec0(embedding {kind})")
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"select passage_id, {_quantized('vector', binary)} from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store vectors of passages: pairs of passage id and float32 BLOB."""
    vector = _quantized("?", is_binary(connection))
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", rows)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) values (?, {vector})", rows
    )
    ids = [(passage_id,) for passage_id, _ in rows]
    connection.executemany("update passages set embedded = 1 where id = ?", ids)
    _mark_changed(connection)


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
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
    connection.execute("update passages set embedded = 0 where embedded")
    _drop_vec0(connection)
    _mark_changed(connection)


def _drop_vec0(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key in (?, ?)", [BINARY, STALE])


def _quantized(vector: str, binary: bool) -> str:
    return f"vec_quantize_binary({vector})" if binary else vector


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction: whoever sees the token sees the change.
    connection.execute(
        "insert or replace into meta (key, value) values (?, hex(randomblob(8)))", [CHANGED]
    )


def _dimension(connection: sqlite3.Connection) -> int:
    return int(get_meta(connection, "dimension") or 0)


# --- in memory


class FloatVectors:
    """All vectors of a library, for exact kNN."""

    def __init__(self, passage_ids: NDArray[numpy.int64], vectors: NDArray[numpy.float32]) -> None:
        """:param vectors: float32, passages x numbers"""
        self.passage_ids = passage_ids
        self._vectors = _of_unit_length(vectors)

    def nearest(
        self, vector: NDArray[numpy.float32], count: int, allowed: NDArray[Any] | None = None
    ) -> Neighbors:
        """Return the ``count`` passages nearest to a vector.

        :param allowed: positions of the passages that may be found; None for all
        """
        import numpy

        vectors = self._vectors if allowed is None else self._vectors[allowed]
        ids = self.passage_ids if allowed is None else self.passage_ids[allowed]
        # Not by @, whose threads take longer to wake up than this takes.
        similarities = numpy.einsum("ij,j->i", vectors, _of_unit_length(vector))
        if len(ids) > count:
            nearest = numpy.argpartition(-similarities, count - 1)[:count]
            ids, similarities = ids[nearest], similarities[nearest]
        order = numpy.lexsort((ids, -similarities))
        return list(zip(ids[order].tolist(), similarities[order].tolist()))


class BinaryVectors:
    """One bit for each number of each vector of a library: whether it is above zero."""

    def __init__(self, passage_ids: NDArray[numpy.int64], bits: NDArray[numpy.uint8]) -> None:
        """:param bits: bytes, passages x numbers / 8"""
        self.passage_ids = passage_ids
        # 64 bits a word, the first words of all vectors together: a scan reads from end to end.
        self._words = _words(bits)

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> BinaryVectors:
        """Return the bits that the vec0 table holds."""
        import numpy

        # vec0's own tables, 1,000 vectors a row, which vec0 would read whole for each vector.
        chunks = connection.execute(
            f"""
            select chunks.rowids, chunks.validity, vectors.vectors
            from {PASSAGE_INDEX}_chunks as chunks
            join {PASSAGE_INDEX}_vector_chunks00 as vectors on vectors.rowid = chunks.chunk_id
            """
        )
        ids, bits = [numpy.empty(0, "i8")], [numpy.empty((0, 0), "u1")]
        for rowids, validity, vectors in chunks:
            flags = numpy.unpackbits(numpy.frombuffer(validity, "u1"), bitorder="little")
            valid = flags.astype(bool)
            ids.append(numpy.frombuffer(rowids, "<i8")[valid])
            bits.append(numpy.frombuffer(vectors, "u1").reshape(len(valid), -1)[valid])
        return cls(numpy.concatenate(ids), numpy.concatenate(bits[1:] or bits))

    def candidates(
        self, vector: NDArray[numpy.float32], count: int, allowed: NDArray[Any] | None
    ) -> NDArray[numpy.int64]:
        """Return the ids of the ``count`` passages that seem nearest by their bits, in no order."""
        import numpy

        words = self._words if allowed is None else [word[allowed] for word in self._words]
        ids = self.passage_ids if allowed is None else self.passage_ids[allowed]
        if len(ids) <= count:
            return ids
        query = _words(numpy.packbits(vector > 0, bitorder="little")[None, :])
        distances = numpy.zeros(len(ids), "u2")
        for word, query_word in zip(words, query):
            distances += _ones(word ^ query_word[0])
        least = max(HAMMING_CANDIDATES, count, int(HAMMING_SHARE * len(ids)))
        # Counting beats sorting: there are few different distances. Ties with the last pass, too.
        up_to = numpy.bincount(distances).cumsum()
        near = numpy.flatnonzero(distances <= numpy.searchsorted(up_to, min(least, len(ids))))
        if len(near) > count:
            # Asymmetric distance: the query's numbers times the signs. What each byte of bits adds
            # is looked up: eight numbers, 256 ways.
            ways = numpy.arange(256, dtype="u1")[:, None]
            signs = numpy.unpackbits(ways, axis=1, bitorder="little").astype("f4").T * 2 - 1
            products = vector.reshape(-1, 8) @ signs
            bits = numpy.column_stack([word[near] for word in words]).view("u1")
            rows = numpy.arange(len(products))
            similarities = products[rows, bits[:, : len(products)]].sum(axis=1)
            near = near[numpy.argpartition(-similarities, count - 1)[:count]]
        return ids[near]


class VectorIndex:
    """What is kept in memory of an index file: its vectors, and the note of each passage."""

    def __init__(self, vectors: FloatVectors | BinaryVectors) -> None:
        self.cache: OrderedDict[tuple[bytes, int], Future[Found]] = OrderedDict()
        self._vectors = vectors
        self._note_ids: NDArray[numpy.int64] | None = None
        self._cache_lock = threading.Lock()

    def nearest(
        self, connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None
    ) -> Neighbors:
        """Return the ``count`` passages nearest to a vector, or fewer.

        :param vector: float32, as many numbers as the stored vectors
        :param notes: the notes that may be found, as :func:`note_set` returns them; None for all
        """
        import numpy

        if not len(self._vectors.passage_ids):
            return []
        if notes is None:
            found = self.prefetch(vector, count).result()
        else:
            # The set begins with note 1; the byte before it is for passages of no note, the one
            # behind it for all notes beyond it.
            is_allowed = numpy.frombuffer(b"\0" + notes + b"\0", bool)
            note_ids = numpy.minimum(self.note_ids(connection), len(notes) + 1)
            found = self._search(vector, count, numpy.flatnonzero(is_allowed[note_ids]))
        if isinstance(found, list):
            return found
        return _read_vectors(connection, found.tolist()).nearest(_numbers(vector), count)

    def prefetch(self, vector: bytes, count: int) -> Future[Found]:
        """Begin to search all passages, in a thread, for a statement that will ask for the same."""
        with self._cache_lock:
            search = self.cache.get((vector, count))
            if search is None or (search.done() and search.exception()):
                search = _threads.submit(self._search, vector, count, None)
                self.cache[vector, count] = search
                if len(self.cache) > CACHED_SEARCHES:
                    self.cache.popitem(last=False)
            return search

    def note_ids(self, connection: sqlite3.Connection) -> NDArray[numpy.int64]:
        """Return the note of each passage, 0 if it is gone; read at the first filter."""
        import numpy

        if self._note_ids is None:
            rows = connection.execute("select id, note_id from passages order by id").fetchall()
            ids, note_ids = numpy.array(rows, "i8").reshape(-1, 2).T
            wanted = self._vectors.passage_ids
            position = numpy.searchsorted(ids, wanted).clip(max=max(len(ids) - 1, 0))
            self._note_ids = numpy.where(ids[position] == wanted, note_ids[position], 0)
        return self._note_ids

    def _search(self, vector: bytes, count: int, allowed: NDArray[Any] | None) -> Found:
        if isinstance(self._vectors, BinaryVectors):
            return self._vectors.candidates(_numbers(vector), OVERSAMPLING * count, allowed)
        return self._vectors.nearest(_numbers(vector), count, allowed)


def load(connection: sqlite3.Connection, *, is_filtered: bool = False) -> VectorIndex:
    """Return the vectors of an index file as they are now; they are read again only after a change.

    :param is_filtered: also read what a search among some notes needs
    :raises sqlite3.DatabaseError: if the file is damaged
    """
    path = file_of(connection)
    token = get_meta(connection, CHANGED)
    with _loaded_lock:
        known_token, index = _loaded.get(path, (None, None))
        if index is None or known_token != token:
            index = _read(connection)
            _loaded[path] = token, index
    if is_filtered:
        index.note_ids(connection)
    return index


# numpy releases Python's lock while it compares, and SQLite while it searches by words.
_threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="nearest passages")

_loaded_lock = threading.Lock()
_loaded: dict[str, tuple[str | None, VectorIndex]] = {}


def _read(connection: sqlite3.Connection) -> VectorIndex:
    try:
        [count] = connection.execute(f"select count(*) from {VECTORS}").fetchone()
        if count > MAX_EXACT_PASSAGES and is_binary(connection):
            return VectorIndex(BinaryVectors.read(connection))
        return VectorIndex(_read_vectors(connection))
    except ValueError as error:
        raise sqlite3.DatabaseError(f"the passage index is malformed: {error}") from error


def _read_vectors(
    connection: sqlite3.Connection, passage_ids: Sequence[int] | None = None
) -> FloatVectors:
    import numpy

    dimension = _dimension(connection)
    sql = f"select passage_id, vector from {VECTORS} where length(vector) = ?"
    parameters: list[Any] = [4 * dimension]
    if passage_ids is not None:
        sql += " and passage_id in (select value from json_each(?))"
        parameters.append(json.dumps(passage_ids))
    rows = connection.execute(sql, parameters).fetchall()
    vectors = _numbers(b"".join(vector for _, vector in rows))
    ids = numpy.array([passage_id for passage_id, _ in rows], "i8")
    return FloatVectors(ids, vectors.reshape(len(rows), dimension))


def _numbers(vector: bytes) -> NDArray[numpy.float32]:
    import numpy

    return numpy.frombuffer(vector, "<f4")


def _of_unit_length(vectors: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    import numpy

    lengths = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / numpy.maximum(lengths, 1e-12)


def _words(bits: NDArray[numpy.uint8]) -> list[NDArray[numpy.uint64]]:
    """Return rows of bytes as lists of 64-bit words, the first words of all rows first."""
    import numpy

    padded = numpy.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return [numpy.ascontiguousarray(word) for word in padded.view("u8").T]


def _ones(words: NDArray[numpy.uint64]) -> NDArray[numpy.uint8]:
    import numpy

    if hasattr(numpy, "bitwise_count"):
        return numpy.bitwise_count(words)
    table = numpy.array([bin(number).count("1") for number in range(65536)], "u1")  # numpy 1
    return table[words.view("u2").reshape(-1, 4)].sum(axis=1, dtype="u1")


# --- in SQL


def register(connection: sqlite3.Connection) -> None:
    """Add ``nearest_passages(vector, count[, notes])`` and ``note_set(ids)`` to a connection.

    ``nearest_passages`` returns a JSON object of at most ``count`` passages, nearest first: id →
    cosine similarity; NULL for a vector of another length. ``notes`` are those that may be found,
    as ``note_set`` makes them of ids with commas between them (group_concat): a BLOB in which the
    byte at the position of each id is 1, others 0.
    """

    def nearest_passages(vector: Any, count: Any, *notes: Any) -> str | None:
        if not isinstance(vector, bytes) or not isinstance(count, int) or count < 1:
            return None
        if len(vector) != 4 * _dimension(connection):
            return None
        allowed = None
        if notes:
            # Any value becomes a set: nothing but zeros and ones.
            allowed = notes[0].translate(_AS_FLAGS) if isinstance(notes[0], bytes) else b""
        found = load(connection).nearest(connection, vector, count, allowed)
        # A float32 has nine digits; json.dumps() looks for the fewest, which takes twice as long.
        pairs = ",".join([f'"{passage_id}":{similarity:.9f}' for passage_id, similarity in found])
        return f"{{{pairs}}}"

    connection.create_function("nearest_passages", -1, nearest_passages)
    connection.create_function("note_set", 1, note_set, deterministic=True)


def note_set(ids: Any) -> bytes:
    """Return a set of notes as bytes, by ids with commas between them; b"" for anything else."""
    text = str(ids)
    if not isinstance(ids, (str, int)) or not _IDS.fullmatch(text):
        return b""
    # numpy takes a tenth of the time, but .1 s to import, and may not be installed.
    if len(text) > SHORT_LIST and find_spec("numpy"):
        import numpy

        array = numpy.fromstring(text, "i8", sep=",")
        if array.min() < 1 or array.max() > MAX_NOTE_ID:
            return b""
        flags = numpy.zeros(array.max(), "u1")
        flags[array - 1] = 1
        return flags.tobytes()
    numbers = [int(number) for number in text.split(",")]
    if min(numbers) < 1 or max(numbers) > MAX_NOTE_ID:
        return b""
    members = bytearray(max(numbers))
    for number in numbers:
        members[number - 1] = 1
    return bytes(members)


_IDS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*", re.ASCII)
_AS_FLAGS = b"\0" + b"\1" * 255
