"""A model's name → the only embedder of that name in this process, not loaded yet."""

# Every datasette command imports this module, so only functions import torch (seconds) and numpy.
from __future__ import annotations

import re
import threading
from collections.abc import Callable
from importlib.util import find_spec

from ..hookspecs import hooks
from . import files, servers
from .base import Embedder, broken_model
from .files import BUNDLED, BUNDLED_PACKAGE

HUB_DEFAULT = "BAAI/bge-small-en-v1.5"

EmbedderFactory = Callable[[], Embedder]


def default_model() -> str:
    """Return a new index's model, which depends on what is installed, never on the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def get_embedder(model: str) -> Embedder:
    """Return the only embedder of this name in this process, without loading it.

    :param model: a name, or ``NAME@256`` for the first 256 numbers of its vectors
    """
    from .sentence_transformers import SentenceTransformerEmbedder

    if model in _embedders:
        return _embedders[model]
    name, dimensions, factory = _resolve(model)
    with _registry_lock:
        key = name if dimensions is None else f"{name}@{dimensions}"
        if key not in _embedders:
            try:
                embedder = factory() if factory else SentenceTransformerEmbedder(name)
            except Exception as error:  # a plugin's, which mustn't break the search
                embedder = broken_model(Embedder, name, error)  # type: ignore[type-abstract]
            embedder.name = name  # which the index stores, to find the model again
            if dimensions is not None:
                embedder.truncate(dimensions)
            _embedders[key] = embedder
        return _embedders[key]


def with_dimensions(model: str, dimensions: int) -> str:
    return f"{_resolve(model)[0]}@{dimensions}"


def is_here(model: str) -> bool:
    """Return whether a model is on this machine; raise ModelUnavailable for an impossible name."""
    name, _, factory = _resolve(model)
    if factory:
        return True
    files.check_name(name)
    return files.model_folder(name) is not None


def is_token(model: str | None, word: str) -> bool:
    """Return whether the word is one token for the model, or for the bundled one without it."""
    folder = files.model_folder(_resolve(model)[0]) if model else None
    folder = folder or files.bundled_folder()
    return folder is not None and files.has_token(folder, word)


def register(name: str, factory: EmbedderFactory) -> None:
    """Make ``get_embedder(name)`` return what ``factory`` makes, even if the name is taken."""
    with _registry_lock:
        _factories[name] = factory
        for key in [key for key in _embedders if key == name or key.startswith(f"{name}@")]:
            del _embedders[key]


_registry_lock = threading.Lock()
_factories: dict[str, EmbedderFactory] = {}
_embedders: dict[str, Embedder] = {}


def _resolve(model: str) -> tuple[str, int | None, EmbedderFactory | None]:
    # Return the full name, the number of dimensions to keep (None: all) and the factory (None:
    # sentence-transformers). A registered name or a folder may look like NAME@256.
    name, dimensions = model, None
    match = re.fullmatch(r"(.+)@(\d+)", model)
    if match and model not in _factories and not files.local_folder(model):
        name, dimensions = match[1], int(match[2])
    full_name = files.full_name(name)
    if name in _factories:
        return name, dimensions, _factories[name]
    if factory := servers.factory_for(name):
        return name, dimensions, factory
    # Plugins can't override a model on this machine, so they needn't be loaded for one.
    if full_name not in (BUNDLED, HUB_DEFAULT) and files.model_folder(full_name) is None:
        for factories in hooks().register_embedders():  # the last registered plugin first
            if name in factories:
                return name, dimensions, factories[name]
    return full_name, dimensions, None
