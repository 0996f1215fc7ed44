"""Where notes come from: one module a source, each of which turns what it finds into ``Note``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from ..notes import ForeseenError, Note

T = TypeVar("T")


class SourceError(ForeseenError):
    """A source cannot be read. The message is for a person: what happened and what to do."""


class Unreadable(Exception):
    """A file can't be read. The message says why, and follows on its name."""

    def __init__(self, reason: str, *, is_gone: bool = True) -> None:
        super().__init__(reason)
        self.is_gone = is_gone  # if not, its text may still be there, only not readable for us now


@dataclass(frozen=True)
class Unchanged:
    """A note that is as it was when it was last read: only its key is given."""

    key: str


class Source(Protocol):
    """A place with notes. Reading it never changes it.

    The hook ``register_note_sources`` gives a class of these for each kind of source. It is called
    as ``Kind(location, name=name, **options)``, with the options of the configuration, and raises
    SourceError for those that it can't use. Making one opens no file. The first line of its
    docstring tells people what it reads. A class that has a ``default_name`` names its sources so;
    others are named after their folder. One that has a function ``default_location`` can be
    configured without a location.
    """

    app: str  # the app that a note's url opens, as in "Open in Bear"; "" if that has no name
    heading_link: str  # goes between a note's url and a percent-encoded heading; "" if it cannot

    name: str  # what the index and the filter ``source:`` call it, such as "bear"
    location: str  # where it reads from, for people, and to open it again
    skipped: list[str]  # what the last reading left out and why, a line each, for people

    @classmethod
    def reads(cls, location: str) -> bool:
        """Return whether a location is of this kind, as far as a glance can tell."""
        ...

    def state(self) -> str:
        """Return a token that changes whenever the notes may have changed.

        Cheap; "" if only reading them tells.
        """
        ...

    def read(self, *, include_trashed: bool = False) -> Iterable[Note]:
        """Yield every note, without those in the trash unless asked for. Raises SourceError."""
        ...


@runtime_checkable
class Incremental(Protocol):
    """A source that knows of each note, without reading it, whether it is as it was."""

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        for note in self.read_changed({}, include_trashed=include_trashed):
            if isinstance(note, Note):
                yield note

    @abstractmethod
    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterable[Note | Unchanged]:
        """Yield every note, as Unchanged if its ``stamp`` is that in ``known``, by key.

        :raises SourceError: if the source can't be read
        """
        ...


def checked_option(option: str, value: T, is_valid: object, wanted: str) -> T:
    """Return the value of an option.

    :param wanted: what it has to be, for people
    :raises SourceError: if it isn't valid
    """
    if not is_valid:
        raise SourceError(f"The option {option} is {wanted}, not {value!r}.")
    return value


def checked_texts(option: str, value: str | Sequence[str], wanted: str) -> Sequence[str]:
    """Return the texts of an option that is a list of them, or a single one."""
    texts = [value] if isinstance(value, str) else value
    is_valid = isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts)
    return checked_option(option, texts, is_valid, wanted)
