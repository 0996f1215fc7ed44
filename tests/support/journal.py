"""A source of another package, as plugins register it."""

from __future__ import annotations

import json
from pathlib import Path

from datasette import hookimpl

from datasette_bear_search.notes import Note, Tag
from datasette_bear_search.sources import Interrupted, SourceError, Unchanged


class Journal:
    """A journal: a file whose name ends in .journal, with one JSON object per line."""

    app = "Journal"
    heading_link = ""
    read_whole: list[str] = []  # noqa: RUF012 - inspected by tests
    read_lines: list[str] = []  # noqa: RUF012

    def __init__(self, location: str, name: str = "journal", *, shout: bool = False) -> None:
        self.location, self.name, self.shout = location, name, shout
        self.skipped: list[str] = []

    @classmethod
    def reads(cls, location: str) -> bool:
        return location.endswith(".journal")

    def state(self) -> str:
        return str(Path(self.location).stat().st_mtime_ns)

    def read(self, *, include_trashed: bool = False):
        Journal.read_whole.append(self.name)
        return self._notes({})

    def read_changed(self, known, *, include_trashed: bool = False):
        return self._notes(known)

    def _notes(self, known):
        self.skipped = []
        for line in Path(self.location).read_text().splitlines():
            if line == "broken":
                raise SourceError("The journal is wet. Dry it.")
            if line == "torn":
                raise Interrupted("The rest of the journal is torn out. Find it.")
            if line == "far":
                raise ConnectionRefusedError("The shelf is too far away")
            if line == "bug":
                raise ZeroDivisionError("oops")
            entry = json.loads(line)
            if "skip" in entry:
                self.skipped.append(f"{entry['key']}: {entry['skip']}")
            elif known.get(entry["key"]) == line:
                yield Unchanged(entry["key"])
            else:
                Journal.read_lines.append(entry["key"])
                tags = tuple(Tag(tag) for tag in entry.pop("tags", ()))
                body = entry.pop("body", "")
                body = body.upper() if self.shout else body
                yield Note(**entry, body=body, tags=tags, stamp=line)


class JournalPlugin:
    __name__ = "journals"  # plugins are usually modules, which have a name

    @hookimpl
    def bear_search_register_note_sources(self):
        return {"journal": Journal}
