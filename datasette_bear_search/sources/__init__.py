"""Where notes come from. Each kind of source has a module that turns its files into ``Note``."""

# Some parsers take long to import, so a kind's module is imported only when it is needed.
from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, count
from operator import attrgetter
from reprlib import repr as shortened
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from ..hookspecs import hooks
from ..notes import ForeseenError, Link, Note, Tag

T = TypeVar("T")


class SourceError(ForeseenError):
    """A source can't be read. The message tells people what happened and what to do."""


class NothingThere(SourceError):
    """There is nothing to read in a source's place."""


class Unreadable(Exception):
    """A file can't be read. The message gives the reason, and is shown after the file's name."""

    def __init__(self, reason: str, *, is_gone: bool = True) -> None:
        super().__init__(reason)
        self.is_gone = is_gone  # if not, the text may still exist, but can't be read right now


@dataclass(frozen=True)
class Unchanged:
    """A stand-in for a note that hasn't changed since it was last read."""

    key: str


class Source(Protocol):
    """A place with notes. Reading it never changes it.

    docs/writing-a-source.md explains how to write one. The constructor opens no file. People see
    the first line of the class's docstring as the description of what it reads. A class with a
    function ``default_location`` can be configured without a location.
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
    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterable[Note | Unchanged]:
        """Yield every note, or Unchanged if ``known`` has its stamp. Raise SourceError."""
        ...


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


# --- Help for plugins that make notes, and checks of these notes


def note_from_markdown(
    key: str,
    text: str,
    *,
    title: str = "",
    tags: Iterable[str] = (),
    inline_tags: bool = False,
    created: object = None,
    modified: object = None,
    has_image: bool = False,
    has_file: bool = False,
    **fields: Any,
) -> Note:
    """Return a note whose to-dos, pictures, files and code are found in its Markdown.

    :param title: by default the first heading, or the first line; the body doesn't repeat it
    :param inline_tags: whether ``#word`` in the text is a tag
    :param created: a text, a ``datetime``, or seconds since 1970; the same goes for ``modified``
    :param fields: other fields of ``Note``
    """
    from .markdown_metadata import extract_metadata, leading_heading, title_of, without_title
    from .text import parse_timestamp

    heading, below = ("", text) if title else leading_heading(text)
    found = extract_metadata(text)
    names: dict[str, str] = {}  # without duplicates that differ only in case
    for name in (*tags, *(found.tags if inline_tags else ())):
        names.setdefault(name.lower(), name)
    own = {"has_image": found.has_image or has_image, "has_file": found.has_file or has_file}
    return Note(
        key,
        title_of(title or heading, text),
        below if heading else without_title(text, title),
        tuple(map(Tag, names.values())),
        created=parse_timestamp(created) or cast("str", created),  # check() reports invalid dates
        modified=parse_timestamp(modified) or cast("str", modified),
        **{**found.note_fields(), **own, **fields},
    )


def html_to_markdown(html: str) -> str:
    """Return a page's words as Markdown, with its title as a heading and without scripts."""
    from .documents import parse_html

    return parse_html(html).text


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_FLAGS = "pinned archived trashed encrypted has_image has_file has_code"

# Fields of a note, whether a value is valid, and what it must be. SQLite's integers have 64 bits.
_RULES: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    ("title body attachments", lambda value: isinstance(value, str), "a text"),
    ("url stamp", lambda value: value is None or isinstance(value, str), "None or a text"),
    ("tags", lambda tags: _all_are(Tag, "name", tags), 'a tuple such as (Tag("work"),)'),
    ("links", lambda links: _all_are(Link, "key", links), 'a tuple such as (Link("key"),)'),
    (
        "attachment_names",
        lambda names: isinstance(names, tuple) and all(isinstance(name, str) for name in names),
        "a tuple of texts",
    ),
    (
        "created modified",
        lambda value: value is None or (isinstance(value, str) and _MOMENT.fullmatch(value)),
        "None or a date in UTC such as 2024-05-01T09:30:00Z",
    ),
    (_FLAGS, lambda value: isinstance(value, bool), "True or False"),
    (
        "todos_open todos_done",
        lambda value: isinstance(value, int) and 0 <= value < 2**63,
        "a number of to-dos",
    ),
)
_CHECKS = [(each, valid, wanted) for names, valid, wanted in _RULES for each in names.split()]


def check(item: object, source: Source) -> None:
    """Raise SourceError unless ``item`` is a valid note; name the plugin, the key and the field."""
    if fault := _fault(item):
        raise SourceError(f"{responsible_for(source)} gives {fault}.")


def responsible_for(source: Source) -> str:
    """Return the name of the plugin that a source comes from, to begin a sentence with."""
    package = type(source).__module__.partition(".")[0]
    return f"The plugin {package} (its class {type(source).__name__})"


def _fault(item: object) -> str:
    if not isinstance(item, (Note, Unchanged)):
        return f"{shortened(item)} where a Note belongs"
    key = item.key
    if not isinstance(key, str) or not key or key != key.encode(errors="replace").decode():
        return f"a note the key {shortened(key)}; it must be a text that UTF-8 can hold"
    if isinstance(item, Note):
        for field, is_valid, wanted in _CHECKS:
            if not is_valid(value := getattr(item, field)):
                note = f"the note with the key {key!r}"
                return f"{note} the {field} {shortened(value)}; it must be {wanted}"
    return ""


def _all_are(kind: type, text: str, values: object) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(value, kind) and isinstance(getattr(value, text), str) for value in values
    )


# --- The kinds of sources

# Name → the path of the class. The first kind that reads a location gets it, so special ones come
# before general ones. Plugins come before all of these, because somebody installed them on purpose.
OUR_KINDS = {
    "bear": "bear:BearLibrary",
    "bear-backup": "bear.backup:BearBackup",
    "slack": "exports.slack:SlackExport",
    "takeout": "exports.takeout:Takeout",
    "logseq": "folders.logseq:LogseqGraph",
    "obsidian": "folders.obsidian:ObsidianVault",
    "evernote": "exports.evernote:EvernoteExport",
    "mail": "exports.mail:Mailbox",
    "markdown": "folders.markdown:MarkdownFolder",
    "zip": "exports.zips:NotesZip",
    "sql": "records:SQLQuery",
    "json": "records:JSONFile",
}


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
        reading = attrgetter("kind", "location", "options", "include_trashed")
        return reading(self) == reading(other) and set(self.never) == set(other.never)


def installed() -> list[SourceConfig]:
    """Return sources for the note apps on this computer, without opening any note."""
    found: list[SourceConfig] = []
    for kind in ("bear", "obsidian", "logseq"):
        for location in map(absolute, cast(Any, get_kind(kind)).installed_locations()):
            if location not in (source.location for source in found):
                name = new_name(kind, location, {source.name for source in found})
                found.append(SourceConfig(name, kind, location))
    return found


def names() -> list[str]:
    """Return the kinds in the order in which they are tried for a location."""
    return [*_kinds_of_plugins(), *OUR_KINDS]


def get_kind(kind: str) -> type[Source]:
    """Return the class of a kind, or raise SourceError."""
    if kind in OUR_KINDS:  # don't look for plugins, which would import Datasette
        module, _, name = OUR_KINDS[kind].partition(":")
        return getattr(import_module(f"{__name__}.{module}"), name)
    plugins = _kinds_of_plugins()
    if kind not in plugins:
        raise SourceError(
            f"There is no kind of source called {kind!r}. There are: {', '.join(names())}. "
            "If it came with another package, install that again."
        )
    return plugins[kind][kind]


def kind_of(location: str) -> str:
    """Return the kind that reads a location, or raise a SourceError that describes all kinds."""
    for kind in names():
        with suppress(Exception):  # if a plugin fails on this location, it isn't of its kind
            if get_kind(kind).reads(location):
                return kind
    if "://" not in location and not os.path.lexists(location):
        raise SourceError(f"There is nothing at {location}. Check the PATH.")
    raise SourceError(
        f"Don't know how to read {location}. Supported sources:",
        *(f"  {kind}: {describe(kind)}" for kind in names()),
        "If it is one of these all the same, name its kind in a configuration file (--config).",
    )


def describe(kind: str) -> str:
    """Return the first line of the class's docstring, which says what the kind reads."""
    lines = (get_kind(kind).__doc__ or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else "no description"


def open_source(config: SourceConfig) -> Source:
    """Return the source for a configuration, or raise SourceError. Open no file yet."""
    # Any, because the protocol doesn't define the constructor.
    make: Any = get_kind(config.kind or kind_of(config.location))
    given = {name: value for name, value in config.options.items() if name != "every"}
    options = {name: _resolved(value) for name, value in given.items()}
    try:
        source = make(config.location, name=config.name, **options)
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(
            f"The source {config.name} can't be opened with its options: {error}."
        ) from None
    for name in ("app", "heading_link", "name", "location", "skipped"):
        kind, wanted = (list, "a list") if name == "skipped" else (str, "a text")
        if not isinstance(getattr(source, name, None), kind):
            raise SourceError(f"{responsible_for(source)} gives a source without {name}, {wanted}.")
    return source


def seconds_in(interval: str) -> int:
    """Return the seconds in "30m", "1h" or "1d", or raise SourceError."""
    match = re.fullmatch(r"0*([1-9]\d{0,3})\s*([mhd])", interval, re.ASCII)
    checked_option("every", interval, match, "a time in minutes, hours or days: 30m, 1h, 1d")
    return int(match[1]) * {"m": 60, "h": 3600, "d": 86_400}[match[2]] if match else 0


def absolute(location: str, folder: str | os.PathLike[str] = "") -> str:
    """Return the absolute path of a location, relative to ``folder``; ``imap://…`` stays as is."""
    if "://" in location:
        return location
    return os.path.abspath(os.path.join(folder, os.path.expanduser(location)))


def new_name(kind: str, location: str, taken: set[str]) -> str:
    """Return a name for a source: the folder's, or a file's kind, with a number if it is taken."""
    name = getattr(get_kind(kind), "default_name", "") if kind else ""
    if not name and (not kind or os.path.isdir(location)):
        name = re.sub(r"[^\w-]+", "-", os.path.basename(location).lower()).strip("-_")
    name = name or kind or "source"
    lower = {other.lower() for other in taken}
    numbered = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(candidate for candidate in numbered if candidate.lower() not in lower)


def _kinds_of_plugins() -> dict[str, Mapping[str, type[Source]]]:
    """Return the mapping for each kind from plugins; looking a class up in it may import it."""
    kinds: dict[str, Mapping[str, type[Source]]] = {}
    for hook in hooks().register_note_sources.get_hookimpls():
        with suppress(Exception):  # a broken plugin mustn't affect the others
            mapping: Any = hook.function()
            kinds.update((kind, mapping) for kind in mapping if kind not in OUR_KINDS)
    return kinds


def _resolved(value: Any) -> Any:
    # As in Datasette, {"$env": "NAME"} is taken from the environment.
    if not (isinstance(value, Mapping) and list(value) == ["$env"]):
        return value
    name = value["$env"]
    if name not in os.environ:
        raise SourceError(
            f"The environment variable {name} isn't set, and an option is taken from it."
        )
    return os.environ[name]
