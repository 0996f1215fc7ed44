"""The first numbers of a model's vectors, for models that are made for it ("Matryoshka"): smaller, and quicker to compare.

Kusupati et al., "Matryoshka Representation Learning", NeurIPS 2022. Of other models the first numbers say as much as any
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .embedders import Embedder, ModelFacts, ModelUnavailable


class ShortenedEmbedder(Embedder):
    """Another embedder's vectors, cut off and scaled to unit length anew. Its name says so: ``MODEL@256``."""

    def __init__(self, whole: Embedder, dimensions: int) -> None:
        super().__init__(f"{whole.name}@{dimensions}")
        self.whole = whole
        self._dimensions = dimensions
        # It is one model, in which two threads must never be at once.
        self._encode_lock = whole._encode_lock

    def open_model(self) -> ModelFacts:
        facts, most = self.whole.facts, self.whole.dimension
        if not 1 <= self._dimensions <= most:
            raise ModelUnavailable(
                f"The vectors of the model {self.whole.name} have {most} numbers: --dimensions "
                f"{self._dimensions:,} can't be made of them. Choose one from 1 to {most}."
            )
        return facts

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        import numpy

        return numpy.asarray(self.whole.encode(texts, is_query=is_query))[:, : self._dimensions]

    def expect(self, documents: int) -> None:
        self.whole.expect(documents)

    def can_become_light(self) -> bool:
        return self.whole.can_become_light()

    def become_light(self) -> bool:
        return self.whole.become_light()

    def measure(self, texts: list[str]) -> list[int]:
        return self.whole.measure(texts)

    def encode_tokens(self, texts: list[str]) -> list[Any]:
        return self.whole.encode_tokens(texts)

    def split_into_pieces(self, texts: list[str]) -> list[list[int]]:
        return self.whole.split_into_pieces(texts)

    def rows_of_pieces(self, pieces: Sequence[int]) -> Any:
        return self.whole.rows_of_pieces(pieces)
