"""The tool that makes links which create a note: ``new_note``. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ..index.file.sources import read_sources
from ..sources.new_notes import new_note_urls
from . import AgentLibrary, ToolError, ToolResult

# Apps and operating systems refuse addresses of some size that none of them documents.
LONGEST_TEXT = 8_000


def new_note(library: AgentLibrary, title: str, text: str, tags: Sequence[str]) -> ToolResult:
    if not title and not text:
        raise ToolError("new_note needs a title or a text.")
    if len(text) > LONGEST_TEXT:
        raise ToolError(f"A link holds {LONGEST_TEXT:,} characters of text at most; shorten it.")
    with library.open() as connection:
        sources = [stored.config for stored in read_sources(connection).values()]
    urls = new_note_urls(sources, title, text, tags)
    if not urls:
        raise ToolError(
            "The person keeps these notes in no app that creates a note from a link: only Bear and "
            "Obsidian do. Give them the text to copy."
        )
    lines = ["Nothing has been written. Give the person this link to click, in Markdown:"]
    lines += [f"[Create the note in {app}]({url})" for app, url in urls.items()]
    return ToolResult("\n".join(lines), {"links": urls})
