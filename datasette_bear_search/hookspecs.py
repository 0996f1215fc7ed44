"""The hooks with which other plugins add to the search."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from pluggy import HookRelay

    from .embeddings.rerankers import Factory
    from .sources import Source

hookspec = HookspecMarker("datasette")


@hookspec
def register_rerankers() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Rerankers by name; each is made, once, by a function that is given the index's embedder, or None without one."""


@hookspec
def register_note_sources() -> Mapping[str, type[Source]]:  # type: ignore[empty-body]
    """Kinds of sources of notes by name, such as ``{"diary": Diary}``. The names of ours stay ours."""


def hooks() -> HookRelay:
    """The hooks to call, of all of Datasette's plugins, which are loaded if they aren't yet."""
    from datasette.plugins import pm

    with _adding:
        known = getattr(pm.hook, "register_note_sources", None)
        if known is None or known.spec is None:
            pm.add_hookspecs(sys.modules[__name__])
    return pm.hook


_adding = threading.Lock()
