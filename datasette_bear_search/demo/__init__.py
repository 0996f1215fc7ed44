"""A made-up Bear library, for trying the search without notes of one's own.

The notes are the Markdown files in ``notes/``. The front matter of each says what Bear knows about
the note besides its text; the text follows as Bear would store it. They belong to one invented
person and were written for this project.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid5

import yaml

from .library import LIBRARY_ID, BearFile, BearNote, write_library

_NOTES = Path(__file__).parent / "notes"


def demo_notes() -> list[BearNote]:
    """All notes of the demo library, in the order of their file names."""
    return [_read_note(path) for path in sorted(_NOTES.glob("*.md"))]


def write_demo_library(path: Path) -> int:
    """Write the demo library as a Bear database at ``path``, and return how many notes it holds."""
    notes = demo_notes()
    write_library(path, notes)
    return len(notes)


def _read_note(path: Path) -> BearNote:
    _, front_matter, text = path.read_text(encoding="utf-8").split("---\n", 2)
    facts: dict[str, Any] = yaml.safe_load(front_matter)
    return BearNote(
        # Made from the file's name, so that a note keeps its id when its title changes.
        id=str(uuid5(LIBRARY_ID, path.stem)).upper(),
        text=text.rstrip("\n"),
        created=_utc(facts["created"]),
        modified=_utc(facts["modified"]),
        tags=tuple(facts.get("tags", ())),
        pinned_in=tuple(facts.get("pinned_in", ())),
        pinned=facts.get("pinned", False),
        archived=facts.get("archived", False),
        trashed=facts.get("trashed", False),
        encrypted=facts.get("encrypted", False),
        locked=facts.get("locked", False),
        files=(
            *(BearFile(name, ocr, "image") for name, ocr in facts.get("images", {}).items()),
            *(BearFile(name, ocr, "file") for name, ocr in facts.get("files", {}).items()),
        ),
    )


def _utc(moment: datetime) -> datetime:
    """The date as PyYAML read it, always with its time zone: older versions leave that out."""
    return moment.replace(tzinfo=timezone.utc)
