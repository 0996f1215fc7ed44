"""The vectors of passages, and a vec0 table of them: the vectors once more, for SQL of anybody's own, or their signs.

Searches look for what is near in memory (:mod:`nearest`): in a small library among the vectors, in a large one by the
signs. Then the table keeps of each number only whether it is above zero, which is a thirty-second of the size.
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


# With more passages than this, the table holds their signs: a second copy of the vectors would be 1.5 KB a passage.
FLOATS_AT_MOST = 20_000
# An index goes back to vectors when it has shrunk below this share of that, so that it doesn't go back and forth.
SHRUNK = 0.8

# Keys in meta: whether the index holds signs, and a mark that is new whenever it changed.
SIGNS = "passage_index_signs"
CHANGED = "passage_index_changed"


def holds_signs(connection: sqlite3.Connection) -> bool:
    """Whether the index holds signs instead of vectors."""
    return get_meta(connection, SIGNS) is not None


def prepare(connection: sqlite3.Connection) -> None:
    """Make the index for vectors of the sidecar's model; anew if it lacks something or the library has outgrown it."""
    dimension = int(get_meta(connection, "dimension") or 0)
    [count] = connection.execute("select count(*) from passages").fetchone()
    had_signs = holds_signs(connection)
    is_large = count > FLOATS_AT_MOST * (SHRUNK if had_signs else 1)
    by_signs = is_large and dimension % 8 == 0  # sqlite-vec keeps eight signs in a byte
    if by_signs != had_signs or get_meta(connection, STALE):
        connection.execute(f"drop table if exists {PASSAGE_INDEX}")
        connection.execute("delete from meta where key in (?, ?)", [SIGNS, STALE])
        if by_signs:
            set_meta(connection, **{SIGNS: "yes"})
    exists = connection.execute(
        "select 1 from sqlite_master where name = ?", [PASSAGE_INDEX]
    ).fetchone()
    if exists:
        return
    kind = f"bit[{dimension}]" if by_signs else f"float[{dimension}] distance_metric=cosine"
    connection.execute(f"create virtual table {PASSAGE_INDEX} using vec0(embedding {kind})")
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"select passage_id, {_stored('vector', by_signs)} from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store the vectors of passages: pairs of passage id and float32 BLOB."""
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", rows)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"values (?, {_stored('?', holds_signs(connection))})",
        rows,
    )
    connection.executemany(
        "update passages set embedded = 1 where id = ?", [row[:1] for row in rows]
    )
    _mark_changed(connection)


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Forget the vectors of passages, of those that have one."""
    rows = [(passage_id,) for passage_id in passage_ids]
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_vector_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be touched now. The next run that can makes it anew from the vectors.
        set_meta(connection, **{STALE: "yes"})
    _mark_changed(connection)


def drop(connection: sqlite3.Connection) -> None:
    """Forget all vectors; every passage waits for a new one."""
    connection.execute(f"delete from {VECTORS}")
    connection.execute("update passages set embedded = 0 where embedded")
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key in (?, ?)", [SIGNS, STALE])
    _mark_changed(connection)


def _stored(vector: str, by_signs: bool) -> str:
    return f"vec_quantize_binary({vector})" if by_signs else vector


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction: whoever sees the mark sees the change.
    connection.execute(
        "insert or replace into meta (key, value) values (?, hex(randomblob(8)))", [CHANGED]
    )


# The signs of all vectors in memory: which passages may be near, found in a few milliseconds among a million.
#
# Two vectors whose numbers have the same signs point in about the same direction. A first look counts the signs that
# differ from the query's (Hamming distance), a second one weighs them by the query's own numbers; what is left is
# compared by the vectors themselves, in :mod:`nearest`.

# Passages that pass the first look, and the share of the library that does if that is more.
FIRST_LOOK = 4000
FIRST_LOOK_SHARE = 0.01


class Signs:
    """The signs of a library's vectors, and the passages that they are of."""

    def __init__(self, passage_ids: numpy.ndarray, signs: numpy.ndarray) -> None:
        """:param signs: a row of bytes a passage, a sign a bit"""
        self.passage_ids = passage_ids
        # Sixty-four signs a word; the first words of all vectors stand together, then all second ones, and so on: a
        # scan reads each list from end to end.
        self._words = _words(signs)

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Signs:
        """Those of a sidecar whose index holds signs."""
        import numpy

        # vec0's own tables, a thousand vectors a row. Through vec0 each vector would cost the reading of its whole row.
        chunks = connection.execute(
            f"""
            select chunks.rowids, chunks.validity, vectors.vectors
            from {PASSAGE_INDEX}_chunks as chunks
            join {PASSAGE_INDEX}_vector_chunks00 as vectors on vectors.rowid = chunks.chunk_id
            """
        )
        ids, signs = [numpy.empty(0, "i8")], [numpy.empty((0, 0), "u1")]
        for rowids, validity, vectors in chunks:
            valid = numpy.unpackbits(numpy.frombuffer(validity, "u1"), bitorder="little").astype(
                bool
            )
            ids.append(numpy.frombuffer(rowids, "<i8")[valid])
            signs.append(numpy.frombuffer(vectors, "u1").reshape(len(valid), -1)[valid])
        return cls(numpy.concatenate(ids), numpy.concatenate(signs[1:] or signs))

    def nearest(
        self, vector: numpy.ndarray, count: int, allowed: numpy.ndarray | None
    ) -> numpy.ndarray:
        """The ids of the ``count`` passages that are nearest by their signs, in no order.

        :param vector: float32, as many numbers as the vectors have
        :param allowed: places of the passages that may be found; None for all
        """
        import numpy

        words = self._words if allowed is None else [word[allowed] for word in self._words]
        ids = self.passage_ids if allowed is None else self.passage_ids[allowed]
        if len(ids) <= count:
            return ids
        asked = _words(numpy.packbits(vector > 0, bitorder="little")[None, :])
        differing = numpy.zeros(len(ids), "u2")
        for word, asked_word in zip(words, asked):
            differing += _ones(word ^ asked_word[0])
        first = _smallest(differing, max(FIRST_LOOK, count, int(FIRST_LOOK_SHARE * len(ids))))
        if len(first) > count:
            # What each byte of signs adds to the product of the query and the signs: eight numbers, 256 ways.
            bits = numpy.unpackbits(
                numpy.arange(256, dtype="u1")[:, None], axis=1, bitorder="little"
            )
            worth = vector.reshape(-1, 8) @ (bits.astype("f4").T * 2 - 1)
            signs = numpy.column_stack([word[first] for word in words]).view("u1")[:, : len(worth)]
            product = worth[numpy.arange(len(worth)), signs].sum(axis=1)
            first = first[numpy.argpartition(-product, count - 1)[:count]]
        return ids[first]


def _words(signs: numpy.ndarray) -> list[numpy.ndarray]:
    """Rows of bytes as lists of 64-bit words, the first words of all rows first."""
    import numpy

    padded = numpy.pad(signs, ((0, 0), (0, -signs.shape[1] % 8)))
    return [numpy.ascontiguousarray(word) for word in padded.view("u8").T]


def _ones(words: numpy.ndarray) -> numpy.ndarray:
    """How many bits of each word are set."""
    import numpy

    if hasattr(numpy, "bitwise_count"):
        return numpy.bitwise_count(words)
    table = numpy.array([bin(number).count("1") for number in range(65536)], "u1")  # numpy 1
    return table[words.view("u2").reshape(-1, 4)].sum(axis=1, dtype="u1")


def _smallest(numbers: numpy.ndarray, count: int) -> numpy.ndarray:
    """The indexes of the ``count`` smallest numbers, and of those that equal the greatest of them."""
    import numpy

    # Counting beats sorting: there are few different numbers.
    up_to = numpy.bincount(numbers).cumsum()
    return numpy.flatnonzero(numbers <= numpy.searchsorted(up_to, min(count, len(numbers))))


# The passages nearest to a vector: among all vectors in a small library, in a large one among those that are near by their signs.
#
# Either is kept in memory, by every process that searches, and read again when it changed.

# Up to so many passages are compared by their vectors, if they have signs or not: 60 MB in memory, and as fast.
EXACT_AT_MOST = 40_000
# Of a large library so many times as many passages are found by their signs as are wanted, and the vectors tell which are
# near. Of the fifty that are nearest by their vectors, .99 are among twice three hundred (benchmarks/query_time.py).
BY_SIGNS = 2

# Looks at all passages whose answers are kept: a page asks for its results, then for its facets.
REMEMBERED = 8

# Ids of notes count up from 1. A larger one is nobody's note, and would need much memory.
LARGEST_SET = 50_000_000
# Characters of ids up to which Python reads them itself.
SHORT = 20_000

_IDS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*", re.ASCII)


class Vectors:
    """The vectors of a library, and the passages that they are of."""

    def __init__(self, passage_ids: numpy.ndarray, vectors: numpy.ndarray) -> None:
        """:param vectors: a row of float32 numbers a passage"""
        self.passage_ids = passage_ids
        self._vectors = _of_unit_length(vectors)

    def nearest(
        self, vector: numpy.ndarray, count: int, allowed: numpy.ndarray | None = None
    ) -> list[tuple[int, float]]:
        """Pairs of passage id and cosine similarity, the nearest first, ``count`` at most.

        :param vector: float32, as many numbers as the vectors have
        :param allowed: places of the passages that may be found; None for all
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


class Library:
    """What is kept in memory of a library: the vectors or their signs, and which note each passage is of."""

    def __init__(self, looked_at: Vectors | Signs) -> None:
        self._looked_at = looked_at
        self._note_ids: numpy.ndarray | None = None
        self._looks: OrderedDict[tuple[bytes, int], Future] = OrderedDict()
        self._looks_lock = threading.Lock()

    def nearest(
        self, connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None
    ) -> list[tuple[int, float]]:
        """Pairs of passage id and cosine similarity, the nearest first, ``count`` at most.

        :param vector: float32, as many numbers as the vectors have
        :param notes: the set of the notes that may be found, as ``note_set()`` makes it; None for all
        """
        if not len(self._looked_at.passage_ids):
            return []
        if notes is None:
            found = self.look_ahead(vector, count).result()
        else:
            found = self._look(vector, count, self._of_notes(connection, notes))
        if isinstance(self._looked_at, Signs):
            return _read_vectors(connection, found.tolist()).nearest(_numbers(vector), count)
        return found

    def look_ahead(self, vector: bytes, count: int) -> Future:
        """Begin to look at all passages, in a thread of its own: what a statement asks for is there when it comes to it."""
        with self._looks_lock:
            look = self._looks.get((vector, count))
            if look is None or (look.done() and look.exception()):
                look = _threads.submit(self._look, vector, count, None)
                self._looks[vector, count] = look
                if len(self._looks) > REMEMBERED:
                    self._looks.popitem(last=False)
            return look

    def forget_looks(self) -> None:
        """Let the next look at the same be a new one."""
        with self._looks_lock:
            self._looks.clear()

    def _look(self, vector: bytes, count: int, allowed: numpy.ndarray | None) -> Any:
        """What :meth:`nearest` returns; by signs, only the ids of all that may be near."""
        wanted = BY_SIGNS * count if isinstance(self._looked_at, Signs) else count
        return self._looked_at.nearest(_numbers(vector), wanted, allowed)

    def _of_notes(self, connection: sqlite3.Connection, notes: bytes) -> numpy.ndarray:
        """The places of the passages of some notes."""
        import numpy

        is_allowed = numpy.frombuffer(b"\0" + notes + b"\0", bool)
        note_ids = self.note_ids(connection)
        # The first byte is that of the note 1; here it is that of 0, which is none. Notes beyond the last one aren't in the set.
        return numpy.flatnonzero(is_allowed[numpy.minimum(note_ids, len(notes) + 1)])

    def note_ids(self, connection: sqlite3.Connection) -> numpy.ndarray:
        """The notes that the passages are of, read when a filter is first used; 0 for a passage that is gone."""
        import numpy

        if self._note_ids is None:
            rows = connection.execute("select id, note_id from passages order by id").fetchall()
            ids, note_ids = numpy.array(rows, "i8").reshape(-1, 2).T
            wanted = self._looked_at.passage_ids
            place = numpy.searchsorted(ids, wanted).clip(max=max(len(ids) - 1, 0))
            self._note_ids = numpy.where(ids[place] == wanted, note_ids[place], 0)
        return self._note_ids


def load(connection: sqlite3.Connection, *, is_filtered: bool = False) -> Library:
    """What is kept in memory of a sidecar, as it is now. It is read again only when it changed.

    :param is_filtered: whether not all notes may be found, which needs a little more
    :raises sqlite3.DatabaseError: if the sidecar is damaged
    """
    path = file_of(connection)
    mark = get_meta(connection, CHANGED)
    with _lock:
        known = _loaded.get(path)
        if known is None or known[0] != mark:
            known = _loaded[path] = (mark, _read(connection))
    if is_filtered:
        known[1].note_ids(connection)
    return known[1]


def register(connection: sqlite3.Connection) -> None:
    """Give a connection to a sidecar ``nearest_passages(vector, count)`` and ``nearest_passages(vector, count, notes)``.

    It answers with a JSON object of ``count`` passages at most, the nearest first: their ids, and the cosine similarity of
    each. ``notes`` is the set of the notes that may be found, as ``note_set()`` makes it. NULL for a vector of another length.

    ``note_set(ids)`` makes a set of ids of notes, as text with commas between them, such as group_concat() gives: a BLOB in
    which the byte at the place of each id is 1, and any other 0.
    """

    def nearest_passages(vector: Any, count: Any, *notes: Any) -> str | None:
        if not isinstance(vector, bytes) or not isinstance(count, int) or count < 1:
            return None
        if len(vector) != 4 * _dimension(connection):
            return None
        allowed = _as_set(notes[0]) if notes else None
        found = load(connection).nearest(connection, vector, count, allowed)
        # Nine digits are all that a float32 has. json.dumps() looks for the fewest, which takes twice as long.
        pairs = ",".join([f'"{passage_id}":{similarity:.9f}' for passage_id, similarity in found])
        return f"{{{pairs}}}"

    connection.create_function("nearest_passages", -1, nearest_passages)
    connection.create_function("note_set", 1, note_set, deterministic=True)


def note_set(ids: Any) -> bytes:
    """A set of notes as bytes, by their ids with commas between them; an empty one if that is something else."""
    if not isinstance(ids, (str, int)) or not _IDS.fullmatch(str(ids)):
        return b""
    # numpy reads many in a tenth of the time, but takes a tenth of a second to import, and who searches by words alone may
    # not have it.
    if len(str(ids)) > SHORT and find_spec("numpy"):
        import numpy

        numbers = numpy.fromstring(ids, "i8", sep=",")
        if numbers.min() < 1 or numbers.max() > LARGEST_SET:
            return b""
        members = numpy.zeros(numbers.max(), "u1")
        members[numbers - 1] = 1
        return members.tobytes()
    numbers = [int(number) for number in str(ids).split(",")]
    if min(numbers) < 1 or max(numbers) > LARGEST_SET:
        return b""
    members = bytearray(max(numbers))
    for number in numbers:
        members[number - 1] = 1
    return bytes(members)


def _as_set(notes: Any) -> bytes:
    """Any value as a set of notes: nothing but zeros and ones."""
    return bytes(notes).translate(_ONES) if isinstance(notes, bytes) else b""


_ONES = b"\0" + b"\1" * 255

# numpy lets go of Python's lock while it looks, and SQLite while it searches by words.
_threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="nearest passages")

_lock = threading.Lock()
_loaded: dict[str, tuple[str | None, Library]] = {}


def _read(connection: sqlite3.Connection) -> Library:
    try:
        [count] = connection.execute(f"select count(*) from {VECTORS}").fetchone()
        by_signs = count > EXACT_AT_MOST and holds_signs(connection)
        return Library(Signs.read(connection) if by_signs else _read_vectors(connection))
    except ValueError as error:
        raise sqlite3.DatabaseError(f"the passage index is malformed: {error}") from error


def _dimension(connection: sqlite3.Connection) -> int:
    return int(get_meta(connection, "dimension") or 0)


def _read_vectors(connection: sqlite3.Connection, passage_ids: list[int] | None = None) -> Vectors:
    """The vectors of these passages, or of all."""
    import numpy

    dimension = _dimension(connection)
    sql = f"select passage_id, vector from {VECTORS} where length(vector) = ?"
    parameters: list[Any] = [4 * dimension]
    if passage_ids is not None:
        sql += " and passage_id in (select value from json_each(?))"
        parameters.append(json.dumps(passage_ids))
    rows = connection.execute(sql, parameters).fetchall()
    vectors = numpy.frombuffer(b"".join(vector for _, vector in rows), "<f4")
    ids = numpy.array([passage_id for passage_id, _ in rows], "i8")
    return Vectors(ids, vectors.reshape(len(rows), dimension))


def _numbers(vector: bytes) -> numpy.ndarray:
    import numpy

    return numpy.frombuffer(vector, "<f4")


def _of_unit_length(vectors: numpy.ndarray) -> numpy.ndarray:
    import numpy

    lengths = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / numpy.maximum(lengths, 1e-12)
