"""The passages nearest to a vector: among all vectors in a small library, in a large one among those that are near by their signs.

Either is kept in memory, by every process that searches, and read again when it changed.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .passage_index import CHANGED, holds_signs
from .schema import VECTORS, sqlite3
from .sidecar import file_of, get_meta
from .signs import Signs

if TYPE_CHECKING:
    import numpy

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
