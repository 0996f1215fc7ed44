"""The notes for AI assistants: read-only tools of the Model Context Protocol (MCP).

Here is what all tools share: the notes they may show, and their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..index import watch
from ..index.database import SidecarError
from ..query.filters import Filters
from ..search import engine, redaction
from ..search.engine import TimeLimitExceeded
from ..search.functions import open_sidecar
from ..search.results import ListedNote
from ..search.similar import SimilarNote
from ..search.snippets import innermost
from ..sqlite import sqlite3
from ..web import clients

TELL_THE_PERSON = "Tell the person: only they can run it, in a terminal."


class ToolError(Exception):
    """A tool can't do what it was asked; the message tells a model what to try instead."""


@dataclass(frozen=True)
class ToolResult:
    """The same result twice: as text to read, and as data for programs."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Library:
    """The notes in an index file, without those that agents may never see."""

    path: Path
    # Each hides the tags nested below it, too, and other sources' copies of its notes.
    hidden_tags: tuple[str, ...] = ()
    time_limit_ms: float | None = None  # for a search's statement
    redact: bool = False  # whether secrets are masked

    @property
    def visible(self) -> Filters:
        """The filters that every visible note passes."""
        return Filters(hidden=tuple(Filters({"tag": (tag,)}) for tag in self.hidden_tags))

    def visible_ids(self) -> tuple[str, dict[str, Any]]:
        """Return SQL for the ids of the visible notes, and its parameters."""
        conditions, parameters = self.visible.conditions()
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return f"select id from notes{where}", parameters

    def changed_notice(self) -> str | None:
        """Return what to say if notes changed since they were indexed."""
        changed = watch.changes_since_indexing(self.path)
        if changed and self.hidden_tags:
            # The number would count hidden notes, too.
            return "Notes changed since the index was made. To update it, run: datasette bear-index"
        return engine.changed_notice(changed)

    def shown(self, text: str) -> str:
        """Return a text as agents may see it."""
        return redaction.masked(text) if self.redact else text

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the index file read-only; raise ToolError if it can't be read, now or inside."""
        try:
            with open_sidecar(self.path) as connection, clients.reading(connection):
                yield connection
        except SidecarError as error:
            raise ToolError(f"{error} {TELL_THE_PERSON}") from None
        except TimeLimitExceeded:
            raise ToolError(
                "The search took longer than this server allows. Use fewer words, or a filter "
                "such as tag."
            ) from None
        except sqlite3.DatabaseError:
            raise ToolError(
                "The index of the notes can't be read just now. Try again; if it stays so, "
                f"datasette bear-index --rebuild makes a new one. {TELL_THE_PERSON}"
            ) from None


def note_facts(note: ListedNote | SimilarNote) -> dict[str, Any]:
    """Return what every tool says of a note."""
    facts = {name: getattr(note, name) for name in _FACTS}
    facts["tags"] = innermost(note.tags)
    for name in ("created", "modified"):  # days as the filters take them, 2024-05-01 (UTC)
        facts[name] = facts[name] and facts[name][:10]
    return without_empty(facts)


_FACTS = ("id", "title", "url", "tags", "created", "modified", "pinned", "archived", "encrypted")


def note_heading(note: Mapping[str, Any]) -> str:
    return f"{note.get('title', 'Untitled')} (id {note['id']})"


def facts_line(values: Mapping[str, Any], *left_out: str) -> str:
    """Return facts in one line, without those that are shown elsewhere."""
    return " · ".join(
        name
        if value is True
        else f"{name}: {', '.join(value) if isinstance(value, (list, tuple)) else value}"
        for name, value in values.items()
        if name not in left_out
    )


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that say something: every word costs the reader."""
    return {name: value for name, value in values.items() if value not in (None, False, "", (), [])}
