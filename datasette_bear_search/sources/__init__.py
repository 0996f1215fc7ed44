"""Where notes come from: one module a source, each of which turns what it finds into ``Note``."""

from __future__ import annotations

from typing import Protocol

from ..notes import Note


class SourceError(Exception):
    """A source cannot be read. The message is for a person: what happened and what to do."""


class Source(Protocol):
    """A place with notes. Reading it never changes it."""

    name: str  # what the sidecar and the filter ``source:`` call it, such as "bear"
    location: str  # where it reads from, for people
    heading_link: str  # goes between a note's url and a percent-encoded heading; "" if it cannot

    def state(self) -> str:
        """A token that changes whenever the notes may have changed. Cheap: opens no file."""
        ...

    def read(self, *, include_trashed: bool = False) -> list[Note]:
        """Every note, without those in the trash unless asked for. Raises SourceError."""
        ...
