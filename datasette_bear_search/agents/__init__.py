"""The notes for AI assistants: read-only tools of the Model Context Protocol (MCP).

Here is what all tools share: the notes they may show, and their results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..index.config import HIDDEN_TAGS_VARIABLE, ConfigurationError, abouts
from ..index.database import SidecarError
from ..index.rows import read_sources
from ..notes import ForeseenError
from ..search import library, redaction
from ..search.engine import TimeLimitExceeded
from ..search.notes import NoteDetail
from ..search.results import ListedNote
from ..search.snippets import innermost
from ..sqlite import sqlite3
from ..web import clients

# A token of JSON in English is longer than that; of other languages it may be shorter.
CHARACTERS_PER_TOKEN = 3
TELL_THE_PERSON = "Tell the person: only they can run it, in a terminal."


class ToolError(ForeseenError):
    """A tool can't do what it was asked; the message tells a model what to try instead."""


@dataclass(frozen=True)
class ToolResult:
    """The same result twice: as text to read, and as data for programs."""

    text: str
    data: dict[str, Any]


class Library(library.Library):
    """The notes in an index file, as agents may see them; its errors are ToolErrors."""

    def shown(self, text: str) -> str:
        """Return a text as agents may see it."""
        return redaction.masked(text) if self.redact else text

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the index file read-only; raise ToolError if it can't be read, now or inside."""
        try:
            with super().open() as connection, clients.reading(connection):
                yield connection
        except SidecarError as error:
            raise ToolError(f"{error} {TELL_THE_PERSON}") from None
        except TimeLimitExceeded:
            raise ToolError(
                "The search took longer than this server allows. Use fewer words, or a filter "
                "such as tag."
            ) from None

    def with_origin(
        self, notes: Sequence[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Return the notes, each with whether others wrote it, and what their sources are about."""
        ids = json.dumps([note["id"] for note in notes])
        with self.open() as connection:
            rows = connection.execute(_ORIGIN, {"ids": ids, "tags": json.dumps(CLIPPED_TAGS)})
            origins = {note_id: (source, bool(outside)) for note_id, source, outside in rows}
            about = self.about(connection)
        marked, sources = [], {}
        for note in notes:
            source, outside = origins[note["id"]]
            if source in about:
                note, sources[source] = note | {"source": source}, about[source]
            marked.append(note | {"outside": True} if outside else note)
        return marked, sources

    def about(self, connection: sqlite3.Connection) -> dict[str, str]:
        """Return what the person's configuration says of their sources, by name."""
        configs = [stored.config for stored in read_sources(connection).values()]
        about: dict[str, str] = {}
        for path in {config.config_file for config in configs if config.config_file}:
            with suppress(ConfigurationError):
                about |= abouts(Path(path), configs)
        return {name: self.shown(text) for name, text in about.items()}


# Tags of web clippers, that of Obsidian's among them, and of people who clip by hand.
CLIPPED_TAGS = ("clippings", "clipped", "clips", "web clips", "web-clips", "webclips")
# Slack and mail are mostly by others; Evernote's web clips end with the page's address.
_ORIGIN = """
select
  notes.id,
  notes.source,
  sources.kind in ('slack', 'mail') or notes.url like 'https://mail.google.com/%'
  or sources.kind = 'evernote' and notes.body glob '*<http*>'
  or exists (
    select 1
    from note_tags
    join tags on tags.id = note_tags.tag_id
    where note_tags.note_id = notes.id
      and rtrim(substr(tags.folded, 1, instr(tags.folded || '/', '/')), '/') in (
        select value from json_each(:tags)
      )
  )
from notes
join sources on sources.name = notes.source
where notes.id in (select value from json_each(:ids))
"""


def hidden_by_environment() -> tuple[str, ...]:
    named = os.environ.get(HIDDEN_TAGS_VARIABLE, "").split(",")
    return tuple(filter(None, map(str.strip, named)))


def note_facts(note: ListedNote | NoteDetail) -> dict[str, Any]:
    """Return what every tool says of a note."""
    facts = {name: getattr(note, name) for name in _FACTS}
    facts["tags"] = innermost(note.tags)
    for name in ("created", "modified"):  # days as the filters take them, 2024-05-01 (UTC)
        facts[name] = facts[name] and facts[name][:10]
    return without_empty(facts)


_FACTS = ("id", "title", "url", "tags", "created", "modified", "pinned", "archived", "encrypted")


def heading_lines(note: Mapping[str, Any], mark: str, *shown_below: str) -> list[str]:
    outside = ", from outside: others wrote it" if note.get("outside") else ""
    heading = f"{mark} {note.get('title', 'Untitled')} (id {note['id']}{outside})"
    return [*filter(None, (heading, facts_line(note, *shown_below)))]


def facts_line(values: Mapping[str, Any], *shown_below: str) -> str:
    return " · ".join(
        name
        if value is True
        else f"{name}: {', '.join(value) if isinstance(value, (list, tuple)) else value}"
        for name, value in values.items()
        if name not in ("id", "title", "outside", *shown_below)
    )


def about_lines(about: Mapping[str, str]) -> list[str]:
    return [f"About the source {source}: {text}" for source, text in about.items()]


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that say something: every word costs the reader."""
    return {
        name: value for name, value in values.items() if value not in (None, False, "", (), [], {})
    }
