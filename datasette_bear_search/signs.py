"""The signs of all vectors in memory: which passages may be near, found in a few milliseconds among a million.

Two vectors whose numbers have the same signs point in about the same direction. A first look counts the signs that
differ from the query's (Hamming distance), a second one weighs them by the query's own numbers; what is left is
compared by the vectors themselves, in the statement.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from .passage_index import CHANGED, holds_signs
from .schema import PASSAGE_INDEX, sqlite3
from .sidecar import get_meta

if TYPE_CHECKING:
    import numpy

# Passages that pass the first look, and the share of the library that does if that is more.
FIRST_LOOK = 4000
FIRST_LOOK_SHARE = 0.01

# As many as sqlite-vec finds at once.
NEAREST_AT_MOST = 4096


class Signs:
    """The signs of a library's vectors, and the passages and notes that they are of."""

    def __init__(self, passage_ids: numpy.ndarray, words: list[numpy.ndarray]) -> None:
        self.passage_ids = passage_ids
        # Sixty-four signs a word; the first words of all vectors stand together, then all second ones, and so on: a
        # scan reads each list from end to end.
        self._words = words
        self._note_ids: numpy.ndarray | None = None

    def nearest(
        self, vector: numpy.ndarray, count: int, allowed: numpy.ndarray | None
    ) -> list[int]:
        """The ids of the ``count`` passages that are nearest by their signs, in no order.

        :param vector: float32, as many numbers as the vectors have
        :param allowed: indexes of the passages that may be found; None for all
        """
        import numpy

        words = self._words if allowed is None else [word[allowed] for word in self._words]
        ids = self.passage_ids if allowed is None else self.passage_ids[allowed]
        if len(ids) <= count:
            return ids.tolist()
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
        return ids[first].tolist()

    def of_notes(self, connection: sqlite3.Connection, note_ids: str) -> numpy.ndarray:
        """The indexes of the passages of some notes, given by their ids with commas between them."""
        import numpy

        if self._note_ids is None:
            rows = connection.execute("select id, note_id from passages order by id").fetchall()
            ids, notes = numpy.array(rows, "i8").reshape(-1, 2).T
            place = numpy.searchsorted(ids, self.passage_ids).clip(max=max(len(ids) - 1, 0))
            self._note_ids = numpy.where(ids[place] == self.passage_ids, notes[place], 0)
        is_allowed = numpy.zeros(int(self._note_ids.max(initial=0)) + 1, bool)
        wanted = numpy.fromstring(note_ids, "i8", sep=",") if note_ids else numpy.empty(0, "i8")
        is_allowed[wanted[wanted < len(is_allowed)]] = True
        return numpy.flatnonzero(is_allowed[self._note_ids])


def load(connection: sqlite3.Connection) -> Signs | None:
    """The signs as they are now; None if the index holds none. They are read again only when they changed."""
    if not holds_signs(connection):
        return None
    path = connection.execute(
        "select file from pragma_database_list where name = 'main'"
    ).fetchone()[0]
    mark = get_meta(connection, CHANGED)
    with _lock:
        known = _loaded.get(path)
        if known is None or known[0] != mark:
            known = _loaded[path] = (mark, _read(connection))
    return known[1]


def register(connection: sqlite3.Connection) -> None:
    """Give a connection to a sidecar ``nearest_passages(vector, count)`` and ``nearest_passages(vector, count, notes)``.

    It answers with a JSON array of at most ``count`` passage ids, in no order: the nearest by their signs in a large library,
    by the vectors themselves in a small one. ``notes`` are the ids of the notes that may be found, with commas between
    them, as group_concat() makes them.
    """

    def nearest_passages(vector: Any, count: Any, *notes: Any) -> str | None:
        import numpy

        if not isinstance(vector, bytes) or not isinstance(count, int) or count < 1:
            return None
        signs = load(connection)
        if signs is None:
            return json.dumps(_nearest_by_vectors(connection, vector, count, notes))
        allowed = signs.of_notes(connection, str(notes[0] or "")) if notes else None
        return json.dumps(signs.nearest(numpy.frombuffer(vector, "<f4"), count, allowed))

    connection.create_function("nearest_passages", -1, nearest_passages)


def _nearest_by_vectors(
    connection: sqlite3.Connection, vector: bytes, count: int, notes: tuple[Any, ...]
) -> list[int]:
    sql = f"select rowid from {PASSAGE_INDEX} where embedding match :vector and k = :count"
    if notes:
        sql += " and rowid in (select id from passages where note_id in (select value from json_each(:notes)))"
    found = connection.execute(
        sql,
        {
            "vector": vector,
            "count": min(count, NEAREST_AT_MOST),
            "notes": f"[{notes[0] or ''}]" if notes else None,
        },
    )
    return [passage_id for (passage_id,) in found]


_lock = threading.Lock()
_loaded: dict[str, tuple[str | None, Signs]] = {}


def _read(connection: sqlite3.Connection) -> Signs:
    import numpy

    # vec0's own tables, a thousand vectors a row. Through vec0 each vector would cost the reading of its whole row.
    chunks = connection.execute(
        f"""
        select chunks.rowids, chunks.validity, vectors.vectors
        from {PASSAGE_INDEX}_chunks as chunks
        join {PASSAGE_INDEX}_vector_chunks00 as vectors on vectors.rowid = chunks.chunk_id
        """
    )
    ids, signs = [numpy.empty(0, "i8")], []
    for rowids, validity, vectors in chunks:
        valid = numpy.unpackbits(numpy.frombuffer(validity, "u1"), bitorder="little").astype(bool)
        ids.append(numpy.frombuffer(rowids, "<i8")[valid])
        signs.append(numpy.frombuffer(vectors, "u1").reshape(len(valid), -1)[valid])
    return Signs(numpy.concatenate(ids), _words(numpy.concatenate(signs)) if signs else [])


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
