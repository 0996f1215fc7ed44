"""The pages and journals in a Logseq graph."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from ...notes import ordinal
from ..files.archive import Archive, File
from ..files.states import composed
from ..formats.markdown_metadata import Metadata, ParsedText, suffix, without_code
from ..formats.text import decode, word_lists
from . import NoteFolder, front_matter, org, wikis
from .links import without_suffix

SETTINGS_FOLDER = "logseq"
CONFIG = "config.edn"
PAGES, JOURNALS = "pages", "journals"
NOTE_URL = "logseq://graph/"
# The prefix of Logseq's cache of a graph. The graph's path follows: "/" is "++", ":" is "+3A+".
CACHE = "logseq_local_"

# Folders with other files, or with backups of pages.
_NOT_PAGES = ("logseq/", "assets/", "draws/", "whiteboards/")

DEFAULT_TITLE = "MMM do, yyyy"

_TITLE_FORMAT = re.compile(r'^[^;\n]*:journal/page-title-format\s+"([^"\n]+)"', re.MULTILINE)
_HIDDEN = re.compile(r"^[^;\n]*:hidden\s+\[([^\]]*)\]", re.MULTILINE)
_JOURNAL = re.compile(r"(\d{4})[_. -]?(\d{2})[_. -]?(\d{2})", re.ASCII)
_FORMAT_PARTS = re.compile(r"'[^'\n]*'|y+|M+|do|d+|E+|.")

# name:: value
_PROPERTY = re.compile(
    r"[ \t]*(?:-[ \t]+)?(?P<name>[^\s:#\[\]]+)::(?:[ \t]+(?P<value>.*))?(?:\n|\Z)"
)
# Bytes at the top of a page that are searched for its other names.
PROPERTIES_SIZE = 4096
_BRACKETED = re.compile(r"#?\[\[([^\[\]\n]+)\]\]")
_LONG_TAG = re.compile(r"#\[\[([^\[\]\n]+)\]\]")
_TASK = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:#{1,6}[ \t]+)?"
    r"(TODO|DOING|LATER|NOW|WAITING|WAIT|IN-PROGRESS|DONE)(?=[ \t])",
    re.MULTILINE,
)


class LogseqGraph(NoteFolder):
    """A Logseq graph of Markdown files: a folder with logseq, and with pages or journals, in it."""

    app = "Logseq"
    suffixes = (".md", org.SUFFIX)
    whole_names = True
    tags_are_links = True

    def __init__(
        self, location: Path | str, name: str = "logseq", *, graph: str = "", **options: Any
    ) -> None:
        super().__init__(location, name, **options)
        # The option is for a copy whose folder has a different name than the graph.
        self.graph = composed(str(graph) or os.path.basename(self.root))
        self._title_format = DEFAULT_TITLE
        self._hidden: tuple[str, ...] = ()

    @staticmethod
    def installed_locations() -> list[str]:
        """Return the existing graphs of which Logseq has a cache."""
        found: list[str] = []
        with suppress(OSError):
            for name in sorted(os.listdir(Path.home() / ".logseq" / "graphs")):
                if name.startswith(CACHE) and name.endswith(".transit"):
                    path = name[len(CACHE) : -len(".transit")]
                    found.append(path.replace("+3A+", ":").replace("++", "/"))
        return [*filter(LogseqGraph.reads, found)]

    @classmethod
    def reads(cls, location: str) -> bool:
        root = os.path.expanduser(location)
        return os.path.isdir(os.path.join(root, SETTINGS_FOLDER)) and any(
            os.path.isdir(os.path.join(root, folder)) for folder in (PAGES, JOURNALS)
        )

    def _list(self, *, include_trashed: bool) -> Archive:
        config = ""
        with suppress(OSError):
            config = Path(self.root, SETTINGS_FOLDER, CONFIG).read_text("utf-8", errors="replace")
        title_format = _TITLE_FORMAT.search(config)
        self._title_format = title_format[1] if title_format else DEFAULT_TITLE
        hidden = _HIDDEN.search(config)
        self._hidden = tuple(re.findall(r'"/?([^"\n]+)"', hidden[1])) if hidden else ()
        return super()._list(include_trashed=include_trashed)

    def _settings(self) -> tuple[object, ...]:
        return (*super()._settings(), self.graph, self._title_format)

    def _excludes(self, key: str, include_trashed: bool) -> bool:
        is_hidden = key.startswith((*_NOT_PAGES, *self._hidden))
        if key.startswith("assets/") and suffix(key) not in self.suffixes:
            is_hidden = key.startswith(self._hidden)  # pages show other assets
        return is_hidden or super()._excludes(key, include_trashed)

    def _link_name(self, key: str) -> str:
        """Return a page's name: a/b for "a___b.md", the day's title for a journal."""
        name = composed(without_suffix(key.rpartition("/")[2], self.suffixes))
        if day := _journal_day(key, name):
            return formatted(day, self._title_format)
        return unquote(name.replace("___", "/"))

    def _other_names(self, folder: Archive, key: str) -> Sequence[str]:
        start = folder.head(key, PROPERTIES_SIZE)
        if suffix(key) == org.SUFFIX:
            return org.names(decode(start, self.encoding))
        if b"::" not in start and not start.startswith(b"---"):
            return ()
        text = decode(start[: start.rfind(b"\n") + 1] or start, self.encoding)
        properties, _, _ = _page_properties(text)
        title = front_matter.first(properties, front_matter.TITLES)
        return [*filter(None, (*_page_names(properties.get("alias")), title))]

    def _url(self, file: File, title: str) -> str:
        # Logseq knows a page by its property "title", if it has one.
        is_journal = _journal_day(file.key, file.name) is not None
        page = quote(self._link_name(file.key) if is_journal else title, safe="")
        return f"{NOTE_URL}{quote(self.graph, safe='')}?page={page}"

    def _parse(self, file: File, text: str) -> ParsedText:
        if file.suffix == org.SUFFIX:
            return org.parse(text, self._link_name(file.key))
        properties, body, problem = _page_properties(text)
        if isinstance(tags := properties.get("tags"), str):
            properties["tags"] = _page_names(tags)
        body = wikis.as_markdown(body, wikis.LOGSEQ)
        title = front_matter.first(properties, front_matter.TITLES) or self._link_name(file.key)
        return self._with_properties(properties, problem, title, body)

    def _metadata(self, body: str) -> Metadata:
        """Return the metadata including Logseq's tasks and long tags: ``#[[raised beds]]``."""
        metadata = super()._metadata(body)
        prose, _ = without_code(body)
        tags = [*metadata.tags, *_LONG_TAG.findall(prose)]
        tasks = _TASK.findall(prose)
        done = tasks.count("DONE")
        return metadata._replace(
            tags=tags,
            todos_open=metadata.todos_open + len(tasks) - done,
            todos_done=metadata.todos_done + done,
        )


def formatted(day: date, pattern: str) -> str:
    """Return a day in one of Logseq's date formats, such as ``MMM do, yyyy``."""
    month, weekday = word_lists()["months"][day.month - 1], word_lists()["days"][day.weekday()]
    parts = {
        **{"yy": f"{day.year % 100:02}", "y": f"{day.year:04}", "yyyy": f"{day.year:04}"},
        **{"M": f"{day.month}", "MM": f"{day.month:02}", "MMM": month[:3], "MMMM": month},
        **{"d": f"{day.day}", "dd": f"{day.day:02}"},
        **{"E": weekday[:3], "EE": weekday[:3], "EEE": weekday[:3], "EEEE": weekday},
        "do": ordinal(day.day),
    }
    return _FORMAT_PARTS.sub(lambda match: parts.get(match[0], match[0].strip("'")), pattern)


def _journal_day(key: str, name: str) -> date | None:
    """Return the day in the file name of a journal; None for a page."""
    match = _JOURNAL.fullmatch(name) if key.startswith(JOURNALS + "/") else None
    with suppress(ValueError):
        return date(*map(int, match.groups())) if match else None
    return None


def _page_properties(text: str) -> tuple[dict[str, Any], str, str]:
    """Return the properties of a page, which are also its first block, like front_matter.split."""
    properties, below, problem = front_matter.split(text)
    start, end = len(below) - len(below.lstrip("\n")), 0
    while match := _PROPERTY.match(below, end or start):
        properties[match["name"].lower()] = (match["value"] or "").strip()
        end = match.end()
    return properties, below[end:].lstrip("\n") if end else below, problem


def _page_names(value: object) -> list[str]:
    """Return the names of pages in a property: ``garden, [[raised beds]] #[[hens]]``."""
    text = str(value or "")
    names = [*re.split(r",|\s(?=#)", _BRACKETED.sub(",", text)), *_BRACKETED.findall(text)]
    return [name for each in names if (name := each.strip(" #"))]
