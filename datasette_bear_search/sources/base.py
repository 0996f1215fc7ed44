"""What every kind of source builds on: its interface, its errors, and how it is configured."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..notes import ForeseenError, Note

T = TypeVar("T")


class SourceError(ForeseenError):
    """A source can't be read. The message tells people what happened and what to do."""


class NothingThere(SourceError):
    """There is nothing to read in a source's place."""


class Interrupted(SourceError):
    """The rest of a source can't be read now. What it yielded until then is indexed."""


class Unreadable(Exception):
    """A file can't be read. The reason, if any, is shown to people after the file's name."""

    def __init__(self, reason: str, *, is_gone: bool = True) -> None:
        super().__init__(reason)
        self.is_gone = is_gone  # if not, the text may still exist, but can't be read right now


@dataclass(frozen=True)
class Unchanged:
    """A stand-in for a note that hasn't changed since it was last read."""

    key: str


Items: TypeAlias = Iterable[Note | Unchanged]


class Source(Protocol):
    """A place with notes. Reading it never changes it.

    docs/writing-a-source.md explains how to write one. The constructor opens no file. People see
    the first line of the class's docstring as the description of what it reads. A class with a
    function ``default_location`` can be configured without a location, and one with the text
    ``default_every`` is read at that interval unless ``every:`` sets another.
    """

    app: str  # the app that a note's url opens, as in "Open in Bear"; "" if it has no name
    heading_link: str  # goes between a note's url and a percent-encoded heading; "" if unsupported

    name: str  # in the index and the filter ``source:``, such as "bear"
    location: str  # where it reads from, shown to people and used to open it again
    skipped: list[str]  # what the last run of read() left out and why, one line each, for people

    @classmethod
    def reads(cls, location: str) -> bool:
        """Return whether a location is of this kind, as far as a quick look can tell."""
        ...

    def state(self) -> str:
        """Return, cheaply, a token that changes when notes may have changed; "" if unknown."""
        ...

    def read(self, *, include_trashed: bool = False) -> Iterable[Note]:
        """Yield every note, those in the trash only if asked to.

        Hold no lock: minutes may pass between two notes, while the index is written.

        :raises SourceError: if the notes can't be read
        """
        ...


@runtime_checkable
class Incremental(Protocol):
    """A source that can tell whether a note has changed without reading it."""

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        for note in self.read_changed({}, include_trashed=include_trashed):
            if isinstance(note, Note):
                yield note

    @abstractmethod
    def read_changed(self, known: Mapping[str, str], *, include_trashed: bool = False) -> Items:
        """Yield every note, or Unchanged if ``known`` has its stamp. Raise SourceError."""
        ...


@dataclass(frozen=True)
class SourceConfig:
    """All that is needed to open a source, now or later."""

    name: str  # in the index and the filter ``source:``
    kind: str  # "" to recognize the kind when the source is opened
    location: str
    options: Mapping[str, Any] = field(default_factory=dict)
    # Notes with one of these tags, or with a tag nested below it, aren't indexed.
    never: tuple[str, ...] = ()
    include_trashed: bool = False
    config_file: str | None = None  # where it is configured; None if given on the command line

    @property
    def every(self) -> int | None:
        """Seconds between two readings in watch mode; None to read whenever files change."""
        text = self.options.get("every")
        return seconds_in(str(text)) if text else None

    def pause(self, *, has_failed: bool) -> float | None:
        """Return the seconds until the source is read again, fewer after a failure; or None."""
        return max(self.every / 10, 30) if self.every and has_failed else self.every

    def reads_as(self, other: SourceConfig) -> bool:
        """Return whether both read the same notes: the same location with the same settings."""

        def reading(config: SourceConfig) -> tuple[object, ...]:
            options = {**config.options, "every": None}
            return config.kind, config.location, options, config.include_trashed, {*config.never}

        return reading(self) == reading(other)


def checked_option(option: str, value: T, is_valid: object, wanted: str) -> T:
    """Return an option's value if it is valid; else raise a SourceError that says what is."""
    if not is_valid:
        raise SourceError(f"The option {option} must be {wanted}. It is {value!r}.")
    return value


def checked_texts(option: str, value: str | Sequence[str], wanted: str) -> Sequence[str]:
    """Return the texts of an option that takes a list of texts or a single one."""
    texts = [value] if isinstance(value, str) else value
    is_valid = isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts)
    return checked_option(option, texts, is_valid, wanted)


def seconds_in(interval: str) -> int:
    """Return the seconds in "30m", "1h" or "1d", or raise SourceError."""
    match = re.fullmatch(r"0*([1-9]\d{0,3})\s*([mhd])", interval, re.ASCII)
    checked_option("every", interval, match, "a time in minutes, hours or days: 30m, 1h, 1d")
    return int(match[1]) * {"m": 60, "h": 3600, "d": 86_400}[match[2]] if match else 0
