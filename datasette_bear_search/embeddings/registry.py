"""Text → vectors: which model, when it is loaded, and what to say when it can't be.

A model may be slow to load, missing or broken. Whoever holds an :class:`Embedder` can ask which (``ready``,
``failure``) without waiting for it, and pays for loading only with the first vector.
"""

# torch and sentence_transformers take seconds to import, numpy a tenth of one, and every datasette command
# imports this module: so only the functions that need them do.
from __future__ import annotations

import re
import threading
from collections.abc import Callable
from importlib.util import find_spec

from . import files as model_files
from .base import Embedder
from .files import BUNDLED, BUNDLED_PACKAGE

HUB_DEFAULT = "BAAI/bge-small-en-v1.5"


def default_model() -> str:
    """The model for a new index, by what is installed: never by the state of the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def is_here(model: str) -> bool:
    """Whether a model can be loaded without the network. Neither loads it nor asks anybody.

    :raises ModelUnavailable: if the name can't be one
    """
    name, _ = _split(model)
    bundled = name == BUNDLED and find_spec(BUNDLED_PACKAGE)
    return bool(
        name in _factories
        or bundled
        or model_files.local_folder(name)
        or model_files.cached_folder(name)
    )


def get_embedder(model: str) -> Embedder:
    """Return the process's one embedder of this name, without loading it.

    :param model: a name, or ``NAME@256`` for the first 256 numbers of its vectors
    """
    from .sentence_transformers import (
        SentenceTransformerEmbedder,  # which needs this module's files
    )

    name, dimensions = _split(model)
    with _registry_lock:
        embedder = _embedders.get((name, dimensions))
        if embedder is None:
            factory = _factories.get(name)
            embedder = factory() if factory else SentenceTransformerEmbedder(name)
            if dimensions is not None:
                embedder.truncate(dimensions)
            _embedders[name, dimensions] = embedder
        return embedder


def with_dimensions(model: str, dimensions: int) -> str:
    """Return the name for the first ``dimensions`` numbers of a model's vectors."""
    return f"{_split(model)[0]}@{dimensions}"


def register(name: str, factory: Callable[[], Embedder]) -> None:
    """Make ``get_embedder(name)`` give what ``factory`` makes, whatever else has that name."""
    with _registry_lock:
        _factories[name] = factory
        for key in [key for key in _embedders if key[0] == name]:
            del _embedders[key]


_registry_lock = threading.Lock()
_factories: dict[str, Callable[[], Embedder]] = {}
_embedders: dict[tuple[str, int | None], Embedder] = {}  # by name and dimensions


def _split(model: str) -> tuple[str, int | None]:
    """Return a model's full name, and how many numbers of its vectors are wanted, None for all."""
    name, dimensions = model, None
    # A folder or a registered name may look like one with dimensions.
    if model not in _factories and not model_files.local_folder(model):
        match = re.fullmatch(r"(.+)@(\d+)", model)
        if match:
            name, dimensions = match[1], int(match[2])
    return (name if name in _factories else model_files.full_name(name)), dimensions
