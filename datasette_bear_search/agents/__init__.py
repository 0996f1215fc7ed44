"""Read-only tools for AI assistants, over the Model Context Protocol (MCP).

This module has what all tools share: access to the notes, and the form of results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import library
from ..index.config import ConfigurationError, read_configuration
from ..index.file.database import SidecarError
from ..index.file.sources import read_sources
from ..notes import ForeseenError, without_parent_tags
from ..search.engine import TimeLimitExceeded
from ..search.notes.detail import NoteDetail
from ..search.results.records import ListedNote
from ..sqlite import sqlite3

# Tokens of English JSON are longer than this; those of other languages may be shorter.
CHARACTERS_PER_TOKEN = 3
TELL_THE_PERSON = "Tell the person: only they can run it, in a terminal."


class ToolError(ForeseenError):
    """A tool can't fulfill a request; the message tells a model what to try instead."""


@dataclass(frozen=True)
class ToolResult:
    """The same result twice: as text to read, and as data for programs."""

    text: str
    data: dict[str, Any]


class AgentLibrary(library.Library):
    """The notes in an index file that agents may see. Its errors are ToolErrors."""

    # Whether agents may learn what isn't indexed, such as what is in the trash.
    reads_sources = False

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the index file read-only; raise ToolError if it can't be read, now or later."""
        try:
            with super().open() as connection:
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
        """Mark notes that others wrote; return the notes, and descriptions of their sources."""
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
        """Return what the person's configuration says about their sources, by name."""
        configs = [stored.config for stored in read_sources(connection).values()]
        about: dict[str, str] = {}
        for path in {config.config_file for config in configs if config.config_file}:
            with suppress(ConfigurationError):
                about |= read_configuration(Path(path), configs).abouts
        return {name: self.shown(text) for name, text in about.items()}


# Tags set by web clippers, such as Obsidian's, and by people who clip by hand.
CLIPPED_TAGS = ("clippings", "clipped", "clips", "web clips", "web-clips", "webclips")
# Slack and mail are mostly written by others. Evernote's web clips end with the page's address.
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


def note_facts(note: ListedNote | NoteDetail, *, links: bool = False) -> dict[str, Any]:
    """Return the facts about a note that every tool returns.

    :param links: add the url, which costs some 40 tokens, for answers that link to the note
    """
    facts = {name: getattr(note, name) for name in _FACTS if name != "url" or links}
    facts["tags"] = without_parent_tags(note.tags)
    for name in ("created", "modified"):  # as in filters: 2024-05-01 (UTC)
        facts[name] = facts[name] and facts[name][:10]
    return without_empty(facts)


_FACTS = ("id", "title", "url", "tags", "created", "modified", "pinned", "archived", "encrypted")


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop empty values: each would cost tokens."""
    return {
        name: value for name, value in values.items() if value not in (None, False, "", (), [], {})
    }
