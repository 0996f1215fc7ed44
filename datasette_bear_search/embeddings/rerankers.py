"""Models that score how well a passage answers a query, too slow for all but the first."""

# torch and sentence_transformers take seconds to import, numpy a tenth of one, and every datasette
# command imports this module: only the functions that need them do.
from __future__ import annotations

import threading
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..hookspecs import hooks
from .base import (
    QUERY_CHARACTERS,
    Embedder,
    Model,
    ModelUnavailable,
    broken_model,
    first_line,
    silent_libraries,
    without_surrogates,
)
from .files import is_hub_name

# By its makers' measure (mean nDCG@10 after six first stages, MTEB(eng, v2) Retrieval) .578 with 33
# million parameters; ettin-reranker-17m-v1, for slow machines, .558; BAAI/bge-reranker-v2-m3, for
# other languages, .553 with 568 million, which take longer than SECONDS.
CROSS_ENCODER = "cross-encoder/ettin-reranker-32m-v1"


class Reranker(Model):
    """Scores passages for a query. A subclass only has to implement :meth:`score`."""

    advice = "Search without rerank, or choose another reranker."

    def prepare(self) -> None:
        """Load what is slow to load. Called once, before the first :meth:`score`."""

    @abstractmethod
    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return a number for each passage, on any scale: the higher, the better it answers."""


RerankerFactory = Callable[[Embedder | None], Reranker]


class CrossEncoderReranker(Reranker):
    """A CrossEncoder of sentence-transformers, from a folder or the hub's cache."""

    def __init__(self, model: str = CROSS_ENCODER) -> None:
        super().__init__(model)
        self._model: Any = None
        # Tokenizers are not made for two threads at a time, and one batch keeps all cores busy.
        self._score_lock = threading.Lock()

    def prepare(self) -> None:
        # Before the import, which takes seconds.
        folder = Path(self.name).expanduser()
        if not folder.is_dir():
            folder = self._cached_folder()
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ModelUnavailable(
                "A cross-encoder needs the Python package sentence-transformers, which can't be "
                f"imported here ({first_line(error)}). Install it: "
                "pip install sentence-transformers."
            ) from error
        with silent_libraries():
            self._model = CrossEncoder(str(folder), local_files_only=True)
        # The first score takes longest: nobody should wait for it.
        self._model.predict([("warm", "up")], show_progress_bar=False)

    def _cached_folder(self) -> Path:
        # Never downloaded here: a search isn't the time for gigabytes.
        if not is_hub_name(self.name):
            raise ModelUnavailable(
                f"There is no folder {self.name} with a cross-encoder in it. Give the path of "
                "one, or the name of a model on the Hugging Face hub."
            )
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            return Path(snapshot_download(self.name, local_files_only=True))
        except LocalEntryNotFoundError as error:
            raise ModelUnavailable(
                f"The cross-encoder {self.name} isn't on this machine. "
                f"Get it: hf download {self.name}"
            ) from error

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.load()
        query = without_surrogates(query[:QUERY_CHARACTERS])
        pairs = [(query, without_surrogates(passage)) for passage in passages]
        with self._score_lock:
            scores = self._model.predict(pairs, show_progress_bar=False) if pairs else []
        return [float(score) for score in scores]


def built_in_rerankers() -> dict[str, RerankerFactory]:
    return {"cross-encoder": lambda embedder: CrossEncoderReranker()}


def reranker_factories() -> dict[str, RerankerFactory]:
    """Return the rerankers that a visitor may choose: no folders, no other models of the hub."""
    # pluggy gives the last registered plugin first: a plugin may replace one of ours.
    return dict(ChainMap(*hooks().register_rerankers()))


def get_reranker(name: str, embedder: Embedder | None) -> Reranker:
    """Return the process's one reranker of this name for an index with this embedder, not loaded.

    :param name: as a plugin registered it, or ``cross-encoder:MODEL`` with a folder or a hub's name
    :raises ValueError: if there is none, with a message for people
    """
    factories = reranker_factories()
    kind, _, model = name.partition(":")
    if kind == "cross-encoder" and model:
        factories.setdefault(name, lambda embedder: CrossEncoderReranker(model))
    if name not in factories:
        known = ", ".join([*sorted(factories), "cross-encoder:MODEL"])
        raise ValueError(f"The reranker must be one of {known}, not {name!r}")
    with _registry_lock:
        # An embedder that was replaced must not live on in here.
        made_for, reranker = _rerankers.get(name, (None, None))
        if reranker is None or made_for is not embedder:
            try:
                reranker = factories[name](embedder)
            except Exception as error:  # a plugin's; it costs nobody the results
                reranker = broken_model(Reranker, name, error)  # type: ignore[type-abstract]
            _rerankers[name] = (embedder, reranker)
        return reranker


_registry_lock = threading.Lock()
_rerankers: dict[str, tuple[Embedder | None, Reranker]] = {}
