"""Vectors for speed tests: quick to make, distributed like a real model's, of no use for quality.

A word has its own direction and shares another with the other words of its topic. A text's vector
is the sum of its words' directions, in which rare words weigh more. So there are real nearest
neighbors, about the same topics, and a query's vector is near texts with its words.

The distribution of cosines and the effective number of dimensions decide how fast and how well such
vectors are searched. The constants are fitted to those of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy
from scipy.sparse import csr_matrix

from benchmarks.lib.synthetic_text import SEED, real_words
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder, ModelFacts, WordPieces
from datasette_bear_search.text.languages import STOP_WORDS

NAME = "synthetic"
DIMENSION = 384
# Directions for words. It does no harm if two words share one.
DIRECTIONS = 1 << 15
# The n-th strongest direction's share of the variance falls as (n + OFFSET) ** -FALL.
FALL, OFFSET = 1.4, 10.0
# The weight of the topic's direction in a word's, and of a common direction in every text's.
TOPIC_WEIGHT = 1.8
COMMON_WEIGHT = 0.2

_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")


class SyntheticEmbedder(Embedder):
    """Adds up the directions of a text's words."""

    def __init__(self, folder: Path) -> None:
        super().__init__(NAME)
        self._folder = folder

    def open_model(self) -> ModelFacts:
        words = word_table(self._folder)
        self._directions = _directions(1 + max(topic for topic, _ in words.values()))
        self._known = {
            word: (_row(word), DIRECTIONS + topic, weight)
            for word, (topic, weight) in words.items()
        }
        self._rarest = max(weight for _, weight in words.values())
        return ModelFacts(max_tokens=256, settings={"seed": SEED, "words": len(words)})

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        columns: list[int] = []
        weights: list[float] = []
        ends = [0]
        for text in texts:
            for word in _WORD.findall(text.lower()):
                if word in STOP_WORDS["en"]:
                    continue
                row, topic, weight = self._known.get(word) or (_row(word), -1, self._rarest)
                columns.append(row)
                weights.append(weight)
                if topic >= 0:
                    columns.append(topic)
                    weights.append(weight * TOPIC_WEIGHT)
            ends.append(len(columns))
        rows = csr_matrix(
            (numpy.array(weights, "float32"), columns, ends),
            shape=(len(texts), len(self._directions) - 1),
        )
        sums = rows @ self._directions[:-1]
        lengths = numpy.linalg.norm(sums, axis=1, keepdims=True)
        # A text without words has only the common direction.
        return sums / numpy.maximum(lengths, 1e-6) + COMMON_WEIGHT * self._directions[-1]

    def open_word_pieces(self) -> WordPieces:
        return WordPieces(self._split, self._directions, 0)

    def _split(self, texts: Sequence[str]) -> list[list[int]]:
        return [[_row(word) for word in _WORD.findall(text.lower())] for text in texts]


def register(folder: Path) -> Embedder:
    """Register the embedder of the libraries in ``folder`` under its name, and return it."""
    registry.register(NAME, lambda: SyntheticEmbedder(folder))
    return registry.get_embedder(NAME)


def word_table(folder: Path) -> dict[str, tuple[int, float]]:
    """Return each word's topic and weight, stored when the first library in ``folder`` was made."""
    path = folder / "synthetic-words.json"
    if not path.exists():
        path.write_text(json.dumps(_word_table()))
    return json.loads(path.read_text())


def _word_table() -> dict[str, tuple[int, float]]:
    words = real_words()
    having: dict[str, list[int]] = {}
    for topic, own in enumerate(words.counts):
        for word in own:
            having.setdefault(word, []).append(topic)
    topics = len(words.counts)
    return {
        word: (
            max(where, key=lambda topic, word=word: words.counts[topic][word]),
            round(math.log(1 + topics / len(where)), 3),
        )
        for word, where in having.items()
    }


def _row(word: str) -> int:
    return crc32(word.encode()) % DIRECTIONS


def _directions(topics: int) -> numpy.ndarray:
    """Return unit vectors: of words, of topics, and last the one common to all texts."""
    randomness = numpy.random.default_rng(SEED)
    strengths = (numpy.arange(DIMENSION) + OFFSET) ** (-FALL / 2)
    rows = randomness.standard_normal((DIRECTIONS + topics + 1, DIMENSION), "float32")
    rows *= strengths.astype("float32")
    # Rotate, so that no coordinate is stronger than the others, as in a real model.
    turn, _ = numpy.linalg.qr(randomness.standard_normal((DIMENSION, DIMENSION)))
    rows = rows @ turn.astype("float32")
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
