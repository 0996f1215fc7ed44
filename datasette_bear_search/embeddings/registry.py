"""Text → vectors: which model, when it is loaded, and what to say when it can't be.

A model may be slow to load, missing or broken. Whoever holds an :class:`Embedder` can ask which (``ready``,
``failure``) without waiting for it, and pays for loading only with the first vector.
"""

# torch and sentence_transformers take seconds to import, numpy a tenth of one, and every datasette command
# imports this module: so only the functions that need them do.
from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from . import files as model_files
from .base import Embedder
from .files import BUNDLED, BUNDLED_PACKAGE

if TYPE_CHECKING:
    from .sentence_transformers import ShortenedEmbedder

HUB_DEFAULT = "BAAI/bge-small-en-v1.5"


def default_model() -> str:
    """The model for a new index, by what is installed: never by the state of the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def is_here(model: str) -> bool:
    """Whether a model can be loaded without the network. Neither loads it nor asks anybody.

    :raises ModelUnavailable: if the name can't be one
    """
    name = model if model in _factories else _split(model)[0]
    bundled = name == BUNDLED and find_spec(BUNDLED_PACKAGE)
    return bool(
        name in _factories
        or bundled
        or model_files.local_folder(name)
        or model_files.cached_folder(name)
    )


def get_embedder(model: str) -> Embedder:
    """The embedder of this name, one in the whole process. Nothing is loaded yet.

    :param model: the name of a model; with ``@256`` behind it, the first 256 numbers of its vectors
    """
    # Not above: these rooms need what is below.
    from .sentence_transformers import SentenceTransformerEmbedder, ShortenedEmbedder

    name, dimensions = (model, None) if model in _factories else _split(model)
    with _registry_lock:
        if name not in _embedders:
            factory = _factories.get(name)
            _embedders[name] = factory() if factory else SentenceTransformerEmbedder(name)
        whole = _embedders[name]
        if dimensions is None:
            return whole
        shortened = _shortened.get((name, dimensions))
        # A model that was replaced must not live on in here.
        if shortened is None or shortened.whole is not whole:
            shortened = _shortened[name, dimensions] = ShortenedEmbedder(whole, dimensions)
        return shortened


def with_dimensions(model: str, dimensions: int) -> str:
    """The name for the first ``dimensions`` numbers of a model's vectors."""
    name = model if model in _factories else _split(model)[0]
    return f"{name}@{dimensions}"


def register(name: str, factory: Callable[[], Embedder]) -> None:
    """Make ``get_embedder(name)`` give what ``factory`` makes, whatever else has that name."""
    with _registry_lock:
        _factories[name] = factory
        _embedders.pop(name, None)


_registry_lock = threading.Lock()
_factories: dict[str, Callable[[], Embedder]] = {}
_embedders: dict[str, Embedder] = {}
_shortened: dict[tuple[str, int], ShortenedEmbedder] = {}


def _split(model: str) -> tuple[str, int | None]:
    """A model's full name, and the numbers that are wanted of its vectors, None for all."""
    name, dimensions = model_files.split_dimensions(model)
    return (name if name in _factories else model_files.full_name(name)), dimensions
