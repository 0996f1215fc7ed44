"""The hooks with which other plugins add to the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from .rerankers import Factory
    from .sources import Source

hookspec = HookspecMarker("datasette")


@hookspec
def register_rerankers() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Rerankers by name; each is made, once, by a function that is given the index's embedder, or None without one."""


@hookspec
def register_note_sources() -> Mapping[str, type[Source]]:  # type: ignore[empty-body]
    """Kinds of sources of notes by name, such as ``{"obsidian": ObsidianVault}``."""
