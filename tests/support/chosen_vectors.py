"""A model whose vectors a test chooses, so that every similarity is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datasette_bear_search.embeddings.base import Embedder, ModelFacts


class ChosenVectors(Embedder):
    """Gives a passage the vector of its note's title, and a query its own or the usual one."""

    def __init__(
        self,
        name: str,
        titles: Mapping[str, Sequence[float]],
        queries: Mapping[str, Sequence[float]],
        usual_query: Sequence[float],
        pieces_per_word: float = 1,
    ) -> None:
        super().__init__(name)
        self.titles, self.queries, self.usual_query = titles, queries, usual_query
        self.pieces_per_word = pieces_per_word

    def open_model(self) -> ModelFacts:
        return ModelFacts(max_tokens=256, settings={})

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        if is_query:
            return [self.queries.get(text, self.usual_query) for text in texts]
        # Texts of no note, which are unrelated to everything, are in a direction of their own.
        elsewhere = [*[0.0] * (len(self.usual_query) - 1), 1.0]
        return [self.titles.get(text.partition("\n")[0], elsewhere) for text in texts]

    def measure(self, texts: list[str]) -> Any:
        return [self.pieces_per_word * len(text.split()) for text in texts]
