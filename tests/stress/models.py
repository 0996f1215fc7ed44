"""A second trivial model, with different dimensions and shorter passages."""

from __future__ import annotations

from typing import Any

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder, ModelFacts
from tests.support.tiny_embedder import TinyEmbedder

TINY, OTHER = "test/tiny", "test/other"


class OtherTinyEmbedder(TinyEmbedder):
    """As different from the tiny model as two real models are from each other."""

    DIMENSION = 48

    def open_model(self) -> ModelFacts:
        return ModelFacts(max_tokens=96, settings={"other": True})


def register() -> None:
    """Register both models for commands in this process, with the first as the default."""
    models: dict[str, Any] = {TINY: TinyEmbedder, OTHER: OtherTinyEmbedder}
    for name, model in models.items():
        registry.register(name, _factory(model, name))
    registry.default_model = lambda: TINY


def _factory(model: type[Embedder], name: str) -> Any:
    return lambda: model(name)
