"""Models that score how well a passage answers a query, too slow for all but the first."""

# Every datasette command imports this module: torch (seconds) and numpy only inside functions.
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
# Late interaction, which is faster: 17 million parameters, English, Apache-2.0. By its makers'
# report (arXiv 2510.14880) above ColBERTv2 on BEIR.
COLBERT = "mixedbread-ai/mxbai-edge-colbert-v0-17m"


class Reranker(Model):
    """Scores passages for a query. A subclass only has to implement :meth:`score`."""

    advice = "Search without rerank, or choose another reranker."

    def prepare(self) -> None:
        """Load what is slow to load. Called once, before the first :meth:`score`."""

    @abstractmethod
    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return a number for each passage, on any scale: the higher, the better it answers."""


RerankerFactory = Callable[[Embedder | None], Reranker]


class LocalReranker(Reranker):
    """A model of sentence-transformers, from a folder or the hub's cache."""

    kind = ""  # what people call such a model
    default = ""  # model

    def __init__(self, model: str = "") -> None:
        super().__init__(model or self.default)
        self._model: Any = None
        # Tokenizers are not made for two threads at a time, and one batch keeps all cores busy.
        self._score_lock = threading.Lock()

    @abstractmethod
    def open_model(self, folder: str) -> Any:
        """Return the library's model in a folder."""

    @abstractmethod
    def _scores(self, query: str, passages: list[str]) -> Any:
        """Return a number for each of one passage or more."""

    def prepare(self) -> None:
        # Before the import, which takes seconds.
        folder = Path(self.name).expanduser()
        if not folder.is_dir():
            folder = self._cached_folder()
        with silent_libraries():
            try:
                self._model = self.open_model(str(folder))
            except ImportError as error:
                raise ModelUnavailable(
                    f"A {self.kind} needs the Python package sentence-transformers, "
                    f"which can't be imported here ({first_line(error)}). Install it: "
                    "pip install sentence-transformers."
                ) from error
        # The first score takes longest: nobody should wait for it.
        self._scores("warm", ["up"])

    def _cached_folder(self) -> Path:
        # Never downloaded here: a search isn't the time for gigabytes.
        if not is_hub_name(self.name):
            raise ModelUnavailable(
                f"There is no folder {self.name} with a {self.kind} in it. Give the path of "
                "one, or the name of a model on the Hugging Face hub."
            )
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            return Path(snapshot_download(self.name, local_files_only=True))
        except LocalEntryNotFoundError as error:
            raise ModelUnavailable(
                f"The {self.kind} {self.name} isn't on this machine. "
                f"Get it: hf download {self.name}"
            ) from error

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.load()
        query = without_surrogates(query[:QUERY_CHARACTERS])
        texts = [without_surrogates(passage) for passage in passages]
        with self._score_lock:
            scores = self._scores(query, texts) if texts else []
        return [float(score) for score in scores]


class CrossEncoderReranker(LocalReranker):
    """Reads query and passage together: one number for each pair."""

    kind, default = "cross-encoder", CROSS_ENCODER

    def open_model(self, folder: str) -> Any:
        from sentence_transformers import CrossEncoder

        return CrossEncoder(folder, local_files_only=True)

    def _scores(self, query: str, passages: list[str]) -> Any:
        pairs = [(query, passage) for passage in passages]
        return self._model.predict(pairs, show_progress_bar=False)


class ColbertReranker(LocalReranker):
    """A vector for each token; each of the query's counts with the nearest of the passage's.

    MaxSim: Khattab and Zaharia, "ColBERT", SIGIR 2020.
    """

    kind, default = "ColBERT model", COLBERT

    def open_model(self, folder: str) -> Any:
        from sentence_transformers import MultiVectorEncoder

        return MultiVectorEncoder(folder, local_files_only=True)

    def _scores(self, query: str, passages: list[str]) -> Any:
        asked = self._model.encode_query([query], show_progress_bar=False)
        read = self._model.encode_document(passages, show_progress_bar=False)
        return self._model.similarity(asked, read)[0]


LOCAL: dict[str, type[LocalReranker]] = {
    "cross-encoder": CrossEncoderReranker,
    "colbert": ColbertReranker,
}


def built_in_rerankers() -> dict[str, RerankerFactory]:
    return {kind: _factory(kind) for kind in LOCAL}


def _factory(kind: str, model: str = "") -> RerankerFactory:
    return lambda embedder: LOCAL[kind](model)


def reranker_factories() -> dict[str, RerankerFactory]:
    """Return the rerankers that a visitor may choose: no folders, no other models of the hub."""
    # pluggy gives the last registered plugin first: a plugin may replace one of ours.
    return dict(ChainMap(*hooks().register_rerankers()))


def get_reranker(name: str, embedder: Embedder | None) -> Reranker:
    """Return the process's one reranker of this name for an index with this embedder, not loaded.

    :param name: as a plugin registered it; ``cross-encoder:MODEL`` or ``colbert:MODEL`` with a
        folder or a hub's name
    :raises ValueError: if there is none, with a message for people
    """
    factories = reranker_factories()
    kind, _, model = name.partition(":")
    if model and kind in LOCAL:
        factories.setdefault(name, _factory(kind, model))
    if name not in factories:
        known = ", ".join([*sorted(factories), *(f"{each}:MODEL" for each in sorted(LOCAL))])
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
