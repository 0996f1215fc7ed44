"""The pages and journals in a Logseq graph."""

from __future__ import annotations

import os
import re
from datetime import date
from typing import Any
from urllib.parse import quote, unquote

from .. import markdown_facts
from ..markdown_facts import Target
from ..text import timestamp
from . import NoteFolder, Parts, files, front_matter
from .files import File

SETTINGS = "logseq"
CONFIG = "config.edn"
PAGES, JOURNALS = "pages", "journals"
NOTE_URL = "logseq://graph/"

_TAGS = ("tags", "tag")

# Folders that hold other things, and backups of pages.
_NOT_PAGES = ("logseq/", "assets/", "draws/", "whiteboards/")

# What journals are called until somebody sets something else.
DEFAULT_TITLE = "MMM do, yyyy"

_TITLE_FORMAT = re.compile(r'^[^;\n]*:journal/page-title-format\s+"([^"\n]+)"', re.MULTILINE)
_HIDDEN = re.compile(r"^[^;\n]*:hidden\s+\[([^\]]*)\]", re.MULTILINE)
_JOURNAL = re.compile(r"(\d{4})[_. -]?(\d{2})[_. -]?(\d{2})", re.ASCII)
_FORMAT_PARTS = re.compile(r"'[^'\n]*'|y+|M+|do|d+|E+|.")

# name:: value
_PROPERTY = re.compile(r"[ \t]*(?:-[ \t]+)?(?P<name>[^\s:#\[\]]+)::(?:[ \t]+(?P<value>.*))?")
_CREATED = ("created-at", *front_matter.CREATED)
_MODIFIED = ("updated-at", *front_matter.MODIFIED)
_SHOWN = (*front_matter.TITLES, *_TAGS, *_CREATED, *_MODIFIED)
# What only Logseq reads: how a block looks, and how long somebody worked at it.
_MACHINERY = re.compile(
    r"^[ \t]*(?:background-color|card-[\w-]+|collapsed|created-at|heading|hl-[\w-]+|id|logseq\.[\w.-]+|ls-type|query-[\w-]+|"
    r"updated-at)::(?:[ \t].*)?(?:\n|\Z)",
    re.MULTILINE,
)
_LOGBOOK = re.compile(
    r"^[ \t]*:LOGBOOK:[ \t]*\n(?:[ \t]*CLOCK:.*\n)*[ \t]*:END:[ \t]*(?:\n|\Z)", re.MULTILINE
)

_LONG_TAG = re.compile(r"#\[\[([^\[\]\n]+)\]\]")
_TASK = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:#{1,6}[ \t]+)?(TODO|DOING|LATER|NOW|WAITING|WAIT|IN-PROGRESS|DONE)(?=[ \t])",
    re.MULTILINE,
)
_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


class LogseqGraph(NoteFolder):
    """A Logseq graph of Markdown files: a folder with logseq, and with pages or journals, in it."""

    app = "Logseq"
    whole_names = True

    def __init__(
        self,
        location: str | os.PathLike[str],
        name: str = "logseq",
        *,
        graph: str = "",
        **options: Any,
    ) -> None:
        """
        :param graph: what Logseq calls the graph, if this is a copy of it in a folder of another name
        :param options: those of NoteFolder
        """
        super().__init__(location, name, **options)
        self.graph = files.composed(str(graph) or os.path.basename(self.root))
        self._title_format = DEFAULT_TITLE
        self._hidden: tuple[str, ...] = ()

    @classmethod
    def reads(cls, location: str) -> bool:
        root = os.path.expanduser(location)
        return os.path.isdir(os.path.join(root, SETTINGS)) and any(
            os.path.isdir(os.path.join(root, folder)) for folder in (PAGES, JOURNALS)
        )

    def _listing(self, *, include_trashed: bool) -> files.Listing:
        config = _config(self.root)
        title_format = _TITLE_FORMAT.search(config)
        self._title_format = title_format[1] if title_format else DEFAULT_TITLE
        hidden = _HIDDEN.search(config)
        self._hidden = tuple(re.findall(r'"/?([^"\n]+)"', hidden[1])) if hidden else ()
        return super()._listing(include_trashed=include_trashed)

    def _reading(self) -> tuple[object, ...]:
        return (*super()._reading(), self.graph, self._title_format)

    def _leaves_out(self, key: str, include_trashed: bool) -> bool:
        return key.startswith((*_NOT_PAGES, *self._hidden)) or super()._leaves_out(
            key, include_trashed
        )

    def _link_name(self, key: str) -> str:
        """A page's name, by its file's: "a___b.md" is the page a/b, "2024_05_01.md" the journal of May 1st, 2024."""
        name = files.composed(self._without_suffix(key.rpartition("/")[2]))
        if key.startswith(JOURNALS + "/") and (day := _journal_day(name)):
            return formatted(day, self._title_format)
        return unquote(name.replace("___", "/"))

    def _url(self, file: File) -> str:
        page = quote(self._link_name(file.key), safe="")
        return f"{NOTE_URL}{quote(self.graph, safe='')}?page={page}"

    def _parts(self, file: File, text: str) -> Parts:
        properties, below, problem = front_matter.split(text)
        written, below = _page_properties(below)
        properties |= written
        if "::" in below:
            below = _MACHINERY.sub("", below)
        if ":LOGBOOK:" in below:
            below = _LOGBOOK.sub("", below)
        return Parts(
            front_matter.first(properties, front_matter.TITLES) or self._link_name(file.key),
            below if problem else front_matter.as_list(properties, _SHOWN) + below,
            front_matter.tags(properties, _TAGS),
            self._begun(file) or front_matter.date(properties, _CREATED),
            front_matter.date(properties, _MODIFIED),
            problem,
        )

    def _facts(self, body: str) -> markdown_facts.Facts:
        """What stands in blocks. In Logseq, a tag is a link to the page of that name, too."""
        facts = markdown_facts.facts(body)
        prose, _ = markdown_facts.without_code(body)
        tags = [*facts.tags, *_LONG_TAG.findall(prose)]
        tasks = _TASK.findall(prose)
        done = tasks.count("DONE")
        return facts._replace(
            tags=tags,
            todos_open=facts.todos_open + len(tasks) - done,
            todos_done=facts.todos_done + done,
            targets=[*facts.targets, *(Target(tag, is_wiki=True) for tag in tags)],
        )

    def _begun(self, file: File) -> str | None:
        is_journal = file.key.startswith(JOURNALS + "/")
        day = _journal_day(file.name) if is_journal else None
        return timestamp(day.isoformat()) if day else None


def formatted(day: date, pattern: str) -> str:
    """A day as Logseq writes it by a pattern such as ``MMM do, yyyy``."""
    return "".join(_formatted_part(day, part) for part in _FORMAT_PARTS.findall(pattern))


def _formatted_part(day: date, part: str) -> str:
    month, weekday = _MONTHS[day.month - 1], _WEEKDAYS[day.weekday()]
    if part == "do":
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(
            day.day % 10 if day.day not in (11, 12, 13) else 0, "th"
        )
        return f"{day.day}{suffix}"
    match part[0], len(part):
        case "y", 2:
            return f"{day.year % 100:02}"
        case "y", _:
            return f"{day.year:04}"
        case "M", length:
            return (
                str(day.month).zfill(length) if length < 3 else month[:3] if length == 3 else month
            )
        case "d", length:
            return str(day.day).zfill(length)
        case "E", length:
            return weekday[:3] if length < 4 else weekday
        case "'", _:
            return part.strip("'")
    return part


def _journal_day(name: str) -> date | None:
    match = _JOURNAL.fullmatch(name)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _page_properties(text: str) -> tuple[dict[str, object], str]:
    """The properties in a page's first block, which are those of the page, and the text below them."""
    found: dict[str, object] = {}
    start = text.lstrip("\n")
    while start:
        line, _, rest = start.partition("\n")
        match = _PROPERTY.fullmatch(line)
        if match is None:
            break
        name, value = match["name"].lower(), (match["value"] or "").strip()
        found[name] = value
        start = rest
    if "tags" in found:  # tags:: garden, [[raised beds]]
        found["tags"] = [tag.strip(" []#") for tag in str(found["tags"]).split(",")]
    return (found, start.lstrip("\n")) if found else ({}, text)


def _config(root: str) -> str:
    try:
        with open(
            os.path.join(root, SETTINGS, CONFIG), encoding="utf-8", errors="replace"
        ) as stream:
            return stream.read()
    except OSError:
        return ""
