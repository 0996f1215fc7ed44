"""A model's name → the only embedder of that name in this process, not loaded yet."""

# Every datasette command imports this module, so only functions import torch (seconds) and numpy.
from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..hookspecs import hooks
from . import files, loading, names
from .backends import servers
from .base import Embedder, ModelChoice, broken_model
from .files import BUNDLED_PACKAGE
from .names import BUNDLED, HUB_DEFAULT, OURS

EmbedderFactory = Callable[[], Embedder]


def default_model() -> str:
    """Return a new index's model, which depends on what is installed, never on the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def get_embedder(model: str) -> Embedder:
    """Return the only embedder of this name in this process, without loading it.

    If nobody trusts the model here, return an embedder that says so whenever it is used.

    :param model: a name as an index stores it, or ``NAME@256`` for the first 256 numbers of its
        vectors (see :class:`.base.ModelChoice`); for one that a person types see :func:`trust`
    """
    from .backends.sentence_transformers import SentenceTransformerEmbedder

    if model in _embedders:
        return _embedders[model]
    name, choice, factory, is_trusted = _resolve(model)
    if not is_trusted:
        # Not kept: as soon as the person trusts the model, the next search uses it.
        return broken_model(Embedder, name, names.refusal(name))  # type: ignore[type-abstract]
    with _registry_lock:
        key = f"{name}{choice}"
        if key not in _embedders:
            try:
                embedder = factory() if factory else SentenceTransformerEmbedder(name)
            except Exception as error:  # a plugin's, which mustn't break the search
                embedder = broken_model(Embedder, name, error)  # type: ignore[type-abstract]
            embedder.name = name  # which the index stores, to find the model again
            if key != name:
                embedder.choose(choice)
            _embedders[key] = embedder
        return _embedders[key]


def with_choice(model: str, **chosen: Any) -> str:
    """Return a model's name with parts of a :class:`.base.ModelChoice`; others stay as they are."""
    found = _resolve(model)
    return f"{found.name}{found.choice._replace(**chosen)}"


def is_trusted(model: str) -> bool:
    """Return whether a model may be used: it is ours, a plugin's, or was named on this machine."""
    return _resolve(model).is_trusted


def trust(model: str) -> Embedder:
    """Return the embedder of a model that the person names, and use it on this machine from now on.

    :param model: as for :func:`get_embedder`; make a typed name one by :func:`.names.given`
    :raises ModelUnavailable: if this can't be remembered
    """
    # A folder may be called NAME@256.
    if files.local_folder(model):
        names.trust(model)
    elif not (found := _resolve(model)).is_trusted:
        names.trust(found.name)
    return get_embedder(model)


def is_here(model: str) -> bool:
    """Return whether a model is on this machine; raise ModelUnavailable if it can't be used."""
    found = _resolve(model)
    if not found.is_trusted:
        raise names.refusal(found.name)
    if found.factory:
        return True
    files.check_name(found.name)
    return files.model_folder(found.name) is not None


def missing_package(model: str) -> str | None:
    """Return the command that installs what a model of ours or of the hub needs to run here."""
    if model == BUNDLED:
        return None if files.bundled_folder() else files.INSTALL_BUNDLED
    has_library = find_spec("sentence_transformers") is not None
    return None if has_library or get_embedder(model).loads_fast() else loading.INSTALL_LIBRARY


def register(name: str, factory: EmbedderFactory) -> None:
    """Make ``get_embedder(name)`` return what ``factory`` makes, even if the name is taken."""
    with _registry_lock:
        _factories[name] = factory
        for key in [key for key in _embedders if key == name or key.startswith(f"{name}@")]:
            del _embedders[key]


_registry_lock = threading.Lock()
_factories: dict[str, EmbedderFactory] = {}
_embedders: dict[str, Embedder] = {}


class _Model(NamedTuple):
    name: str  # full
    choice: ModelChoice
    factory: EmbedderFactory | None  # None: sentence-transformers
    is_trusted: bool


def _resolve(model: str) -> _Model:
    # Don't look at the disk for a name that nobody trusts here. A registered name or a folder may
    # look like NAME@256.
    name, choice = names.split_name(model)
    if model != name and (model in _factories or names.is_trusted(model)):
        name, choice = model, ModelChoice()
    if name in _factories:
        return _Model(name, choice, _factories[name], True)
    if factory := servers.factory_for(name):
        return _Model(name, choice, factory, names.is_trusted(name))
    full_name = names.full_name(name)
    is_trusted = names.is_trusted(full_name)
    # Plugins can't override a model on this machine, so they needn't be loaded for one.
    if not is_trusted or (full_name not in OURS and files.model_folder(full_name) is None):
        # The last registered plugin comes first.
        for factories in hooks().bear_search_register_embedders():
            if name in factories:
                return _Model(name, choice, factories[name], True)
    return _Model(full_name, choice, None, is_trusted)
