"""The signs of all vectors in memory: which passages may be near, found in a few milliseconds among a million.

Two vectors whose numbers have the same signs point in about the same direction. A first look counts the signs that
differ from the query's (Hamming distance), a second one weighs them by the query's own numbers; what is left is
compared by the vectors themselves, in :mod:`nearest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .schema import PASSAGE_INDEX, sqlite3

if TYPE_CHECKING:
    import numpy

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
