"""Sample notes about an invented person, for trying the search without notes of your own.

They are the Markdown files in ``notes/``, written for this project. Each starts with front matter,
which holds what Bear stores besides the text; then comes the text as Bear would store it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from ..notes import NEXT_FILE, Link, Note, Tag, without_title_line
from ..sources.bear import HEADING_LINK, NOTE_URL, first_line
from ..sources.files.file_source import FileSource
from ..sources.formats.markdown_metadata import extract_metadata

NOTES = Path(__file__).parent / "notes"
# The namespace of the notes' ids.
LIBRARY_ID = UUID("8f5d3c0e-6a44-4d0b-9a54-3c1f7c0b7a11")

_FLAGS = ("pinned", "archived", "trashed", "encrypted")


class DemoNotes(FileSource):
    """The sample notes of bear-demo, read as if they were in Bear."""

    app = "Bear"
    heading_link = HEADING_LINK
    default_name = "bear"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        notes = {note_id(path): read_note(path) for path in sorted(self.path.glob("*.md"))}
        titles = {first_line(text): key for key, (_, text) in reversed(notes.items())}
        for key, (properties, text) in notes.items():
            if include_trashed or "trashed" not in properties:
                yield _note(key, properties, text, titles)


def note_id(path: Path) -> str:
    """Return the id of the note in a file, which it keeps when its title changes."""
    return str(uuid5(LIBRARY_ID, path.stem)).upper()


def read_note(path: Path) -> tuple[dict[str, Any], str]:
    """Return the properties in a file's front matter, and the note's text."""
    import yaml

    _, front_matter, text = path.read_text(encoding="utf-8").split("---\n", 2)
    properties: dict[str, Any] = yaml.safe_load(front_matter)
    return properties, text.rstrip("\n")


def _note(key: str, properties: dict[str, Any], text: str, titles: dict[str, str]) -> Note:
    pinned_in = properties.get("pinned_in", ())
    nested = (tag.split("/") for tag in (*properties.get("tags", ()), *pinned_in))
    tags = {path for tag in nested for path in accumulate(tag, "{}/{}".format)}
    facts: dict[str, Any] = {flag: flag in properties for flag in _FLAGS}
    if facts["encrypted"]:
        text = f"# {first_line(text)}"
    else:
        images, files = properties.get("images", {}), properties.get("files", {})
        metadata = extract_metadata(text)
        paths = [link.path for link in metadata.links if link.is_wiki]
        facts |= {
            "links": tuple(_links(key, paths, titles)),
            "attachments": NEXT_FILE.join([*images.values(), *files.values()]),
            "attachment_names": (*images, *files),
            **metadata.note_fields(),
        }
    title = first_line(text)
    return Note(
        key=key,
        title=title,
        body=without_title_line(text, title),
        tags=tuple(Tag(name, pinned=name in pinned_in) for name in sorted(tags)),
        created=f"{properties['created']:%Y-%m-%dT%H:%M:%SZ}",
        modified=f"{properties['modified']:%Y-%m-%dT%H:%M:%SZ}",
        url=NOTE_URL + key,
        **facts,
    )


def _links(key: str, paths: Iterable[str], titles: dict[str, str]) -> Iterator[Link]:
    found: dict[str, Link] = {}
    for path in paths:
        title = path if path in titles else path.partition("/")[0]  # [[Title/Heading]]
        if titles.get(title, key) != key:
            found.setdefault(titles[title], Link(titles[title], title))
    yield from found.values()
