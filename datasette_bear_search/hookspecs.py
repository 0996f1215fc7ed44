"""Hooks with which other plugins can extend the search."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from pluggy import HookRelay

    from .embeddings.registry import EmbedderFactory
    from .embeddings.rerankers import RerankerFactory
    from .sources.base import Source

hookspec = HookspecMarker("datasette")
_adding = threading.Lock()


@hookspec
def bear_search_register_note_sources() -> Mapping[str, type[Source]]:  # type: ignore[empty-body]
    """Return source classes by name: ``{"diary": Diary}``. Built-in ones can't be overridden."""


@hookspec
def bear_search_register_embedders() -> Mapping[str, EmbedderFactory]:  # type: ignore[empty-body]
    """Return embedding models by name, for ``bear-index --model NAME``.

    Each factory is called at most once, without arguments, and its model is loaded when the first
    vector is needed: ``{"my-model": lambda: MyEmbedder("my-model")}`` with a subclass of
    :class:`~datasette_bear_search.embeddings.base.Embedder`. The name of a model on this machine
    can't be overridden.
    """


@hookspec
def bear_search_register_rerankers() -> Mapping[str, RerankerFactory]:  # type: ignore[empty-body]
    """Return rerankers by name, for ``rerank=NAME``. Each factory is called at most once."""


def hooks() -> HookRelay:
    """Return the hooks of all of Datasette's plugins, which are loaded if necessary."""
    from datasette.plugins import pm

    with _adding:
        known = getattr(pm.hook, "bear_search_register_note_sources", None)
        if known is None or known.spec is None:
            pm.add_hookspecs(sys.modules[__name__])
    return pm.hook
