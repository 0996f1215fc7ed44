"""The kinds of sources, built in and of plugins: which one reads a location, and how to open it."""

# Some parsers take long to import, so a kind's module is imported only when it is needed.
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import chain, count
from typing import Any, cast

from ..hookspecs import hooks
from ..notes import storable_name
from .base import Source, SourceConfig, SourceError
from .checks import responsible_for
from .files.states import explained

# Name → the path of the class. The first kind that reads a location gets it, so special ones come
# before general ones. Plugins come before all of these, because somebody installed them on purpose.
OUR_KINDS = {
    "bear": "bear:BearLibrary",
    "bear-backup": "bear.backup:BearBackup",
    "slack": "exports.slack:SlackExport",
    "takeout": "exports.takeout:Takeout",
    "day-one": "exports.json_apps:DayOne",
    "simplenote": "exports.json_apps:Simplenote",
    "standard-notes": "exports.json_apps:StandardNotes",
    "raindrop": "exports.json_apps:Raindrop",
    "logseq": "folders.logseq:LogseqGraph",
    "obsidian": "folders.obsidian:ObsidianVault",
    "evernote": "exports.evernote:EvernoteExport",
    "mail": "exports.mail:Mailbox",
    "markdown": "folders.markdown:MarkdownFolder",
    "zip": "exports.zips:NotesZip",
    "sql": "sql:SQLQuery",
    "json": "records:JSONFile",
    "demo": ".demo:DemoNotes",
}


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
    return [*_kinds_of_plugins(), *(kind for kind in OUR_KINDS if kind != "demo")]


def get_kind(kind: str) -> type[Source]:
    """Return the class of a kind, or raise SourceError."""
    if kind in OUR_KINDS:  # don't look for plugins, which would import Datasette
        module, _, name = OUR_KINDS[kind].partition(":")
        return getattr(import_module(f".{module}", __package__), name)
    plugins = _kinds_of_plugins()
    if kind not in plugins:
        raise SourceError(
            f"There is no kind of source called {kind!r}. There are: {', '.join(names())}. "
            "If it came with another package, install that again."
        )
    return plugins[kind][kind]


def kind_of(location: str) -> str:
    """Return the kind that reads a location, or raise a SourceError that names all kinds."""
    found = next((kind for kind in names() if _reads(kind, location)), "")
    # Joplin calls its database as Bear does.
    if found in ("", "bear") and (advice := _advice(location, found)):
        raise SourceError(advice)
    if found:
        return found
    if "://" not in location and not os.path.lexists(location):
        raise SourceError(f"There is nothing at {location}. Check the PATH.")
    try:
        os.scandir(location).close()
    except PermissionError as error:
        raise explained(location, error) from None
    except OSError:  # a file or an address
        pass
    raise SourceError(
        f"Don't know how to read {location} as any of these: {', '.join(names())}. If it is one all"
        " the same, name its kind in a configuration file (--config)."
    )


def _reads(kind: str, location: str) -> bool:
    with suppress(Exception):  # if a plugin fails on this location, it isn't of its kind
        return get_kind(kind).reads(location)
    return False


# The beginning of other apps' databases, which list their tables there, and what to do instead.
_DATABASES = {
    b"ZICCLOUDSYNCINGOBJECT": "is Apple Notes' own database, in which texts are packed. Write them"
    " to a database with apple-notes-to-sqlite, and read that with the kind sql",
    b"note_resources": "is Joplin's own format. In Joplin, choose File > Export all > MD -"
    " Markdown + Front Matter, and give the folder that it writes",
}
_TABLE = "is a SQLite database. Name a table in it: --table NAME --text COLUMN"
_SINGLE_NOTES = (".htm", ".html", ".markdown", ".md", ".org", ".txt")


def _advice(location: str, kind: str) -> str:
    """Return what to do with a file that isn't read, or not as this kind, if it is common."""
    inside = (os.path.join(location, name) for name in ("NoteStore.sqlite", "database.sqlite"))
    location = next(filter(os.path.isfile, (location, *inside)), "")
    name = os.path.basename(location)
    with suppress(OSError), open(location, "rb") as stream:
        start = stream.read(1_000_000)
        # Somebody may have a note about such a table in Bear.
        if start.startswith(b"SQLite format 3") and b"ZSFNOTE" not in start:
            others = (advice for table, advice in _DATABASES.items() if table in start)
            if advice := next(others, "" if kind else _TABLE):
                return f"{location} {advice}."
    for end, table in (("NoteStore.sqlite", b"ZICCLOUDSYNCINGOBJECT"), (".jex", b"note_resources")):
        if name.endswith(end):
            return f"{location} {_DATABASES[table]}."
    if os.path.splitext(name)[1].lower() in _SINGLE_NOTES:
        folder = os.path.dirname(location) or "."
        return f"{location} is a single note. Give the PATH of its folder: {folder}"
    return ""


def default_options(kind: str) -> dict[str, Any]:
    """Return the options that sources of a kind have unless they are configured otherwise."""
    every = getattr(get_kind(kind), "default_every", "")
    return {"every": every} if every else {}


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


def absolute(location: str, folder: str | os.PathLike[str] = "") -> str:
    """Return a location's absolute path, or its address; raise SourceError if it isn't UTF-8."""
    if "://" in location:
        return location
    path = os.path.abspath(os.path.join(folder, os.path.expanduser(location)))
    if path != (storable := storable_name(path)):
        raise SourceError(f"The path {storable} isn't UTF-8. Rename its folder or file.")
    return path


def new_name(kind: str, location: str, taken: set[str]) -> str:
    """Return a name for a source: the folder's, or a file's kind, with a number if it is taken."""
    name = getattr(get_kind(kind), "default_name", "") if kind else ""
    if not name and (not kind or os.path.isdir(location)):
        name = re.sub(r"[^\w-]+", "-", os.path.basename(location).lower()).strip("-_")
    name = name or kind or "source"
    return free_name(name, taken)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name, with a number if it is taken, ignoring case."""
    lower = {other.lower() for other in taken}
    numbered = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(candidate for candidate in numbered if candidate.lower() not in lower)


def _kinds_of_plugins() -> dict[str, Mapping[str, type[Source]]]:
    """Return the mapping for each kind from plugins; looking a class up in it may import it."""
    kinds: dict[str, Mapping[str, type[Source]]] = {}
    for hook in hooks().bear_search_register_note_sources.get_hookimpls():
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
