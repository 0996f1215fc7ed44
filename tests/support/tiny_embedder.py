"""A model small enough for any test: texts that share words or parts of words are near each other.

It only tests the plumbing. Its results say nothing about the quality of a real model's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar
from zlib import crc32

from datasette_bear_search.embeddings.base import Embedder, ModelFacts

TINY = "test/tiny"


class TinyEmbedder(Embedder):
    """Counts words and trigrams of letters, each at one of 64 places chosen by its hash."""

    DIMENSION = 64
    # Word → id, shared by all tiny models.
    words: ClassVar[dict[str, int]] = {}

    def open_model(self) -> ModelFacts:
        return ModelFacts(max_tokens=256, settings={})

    def encode(self, texts: list[str], *, is_query: bool) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def open_word_pieces(self) -> TinyEmbedder:
        return self

    def split(self, texts: Sequence[str]) -> list[list[int]]:
        number = self.words.setdefault
        return [[number(word, len(self.words)) for word in text.split()] for text in texts]

    def vectors(self, pieces: Sequence[int]) -> Any:
        words = list(self.words)
        import numpy  # takes 100 ms, and few tests get this far

        return numpy.array([self._vector(words[piece]) for piece in pieces])

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.DIMENSION
        vector[0] = 0.01  # as with real models, a text without words has a vector, too
        for word in re.findall(r"\w+", text.lower()):
            for place, weight in _weights(word, self.DIMENSION):
                vector[place] += weight
        return vector


@lru_cache(10_000)
def _weights(word: str, dimension: int) -> list[tuple[int, float]]:
    """Return the places of a word and its trigrams, with what they add there."""
    edged = f" {word} "
    trigrams = [(edged[start : start + 3], 1.0) for start in range(len(edged) - 2)]
    codes = [(crc32(feature.encode()), weight) for feature, weight in [(word, 2.0), *trigrams]]
    return [(code % dimension, weight if code & (1 << 20) else -weight) for code, weight in codes]
