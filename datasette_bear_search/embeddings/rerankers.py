"""Models that score how well a passage answers a query: too slow for all but the top results."""

# Every datasette command imports this module, so only functions import torch (seconds) and numpy.
from __future__ import annotations

import threading
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..hookspecs import hooks
from . import loading
from .base import (
    EMBEDDED_QUERY_CHARACTERS,
    Model,
    ModelUnavailable,
    broken_model,
    without_surrogates,
)
from .files import local_folder
from .names import given, is_hub_name

# Its makers measured a mean nDCG@10 of .578 with 33 million parameters (after six first stages,
# MTEB(eng, v2) Retrieval). Others: ettin-reranker-17m-v1, for slow machines, .558;
# BAAI/bge-reranker-v2-m3, for other languages, .553 with 568 million, slower than RERANK_SECONDS.
CROSS_ENCODER = "cross-encoder/ettin-reranker-32m-v1"


class Reranker(Model):
    """Scores passages for a query. A subclass only has to implement :meth:`score`."""

    advice = "Search without rerank, or choose another reranker."

    def prepare(self) -> None:
        """Load whatever is slow to load. Called once, before the first :meth:`score`."""

    @abstractmethod
    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return a number for each passage, on any scale: the higher, the better it answers."""


RerankerFactory = Callable[[], Reranker]


class CrossEncoder(Reranker):
    """A CrossEncoder of sentence-transformers, from a folder or the hub's cache."""

    def __init__(self, model: str = CROSS_ENCODER) -> None:
        super().__init__(given(model))
        self._model: Any = None
        # Tokenizers aren't thread-safe, and a single batch keeps all cores busy.
        self._score_lock = threading.Lock()

    def prepare(self) -> None:
        self._model = loading.load("CrossEncoder", local_folder(self.name) or self._cached_folder())
        # The first score takes longest, so compute one before anybody waits.
        self._model.predict([("warm", "up")], show_progress_bar=False)

    def _cached_folder(self) -> Path:
        # Never download here: a search mustn't wait for gigabytes.
        if not is_hub_name(self.name):
            raise ModelUnavailable(
                f"There is no folder {self.name} with a reranker in it. Give the path of one "
                "(./NAME in the current directory), or the name of a model on the Hugging Face hub."
            )
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            return Path(snapshot_download(self.name, local_files_only=True))
        except LocalEntryNotFoundError as error:
            raise ModelUnavailable(
                f"The reranker {self.name} isn't on this machine. Get it: hf download {self.name}"
            ) from error

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.load()
        query = without_surrogates(query[:EMBEDDED_QUERY_CHARACTERS])
        pairs = [(query, without_surrogates(passage)) for passage in passages]
        with self._score_lock:
            scores = self._model.predict(pairs, show_progress_bar=False) if pairs else []
        return [float(score) for score in scores]


def reranker_factories() -> dict[str, RerankerFactory]:
    """Return the rerankers that a visitor may choose: no folders, no other models from the hub."""
    # pluggy lists the last registered plugin first, so a plugin may replace one of ours.
    return dict(ChainMap(*hooks().bear_search_register_rerankers()))


def get_reranker(name: str) -> Reranker:
    """Return the only reranker of this name in this process, without loading it.

    :param name: as a plugin registered it, or ``cross-encoder:MODEL`` with a folder or a hub's name
    :raises ValueError: if there is none, with a message for people
    """
    factories = reranker_factories()
    kind, _, model = name.partition(":")
    if model and kind == "cross-encoder":
        factories.setdefault(name, lambda: CrossEncoder(model))
    if name not in factories:
        known = ", ".join([*sorted(factories), "cross-encoder:MODEL"])
        raise ValueError(f"The reranker must be one of {known}, not {name!r}")
    with _registry_lock:
        if name not in _rerankers:
            try:
                _rerankers[name] = factories[name]()
            except Exception as error:  # a plugin's, which mustn't break the search
                _rerankers[name] = broken_model(Reranker, name, error)  # type: ignore[type-abstract]
        return _rerankers[name]


_registry_lock = threading.Lock()
_rerankers: dict[str, Reranker] = {}
