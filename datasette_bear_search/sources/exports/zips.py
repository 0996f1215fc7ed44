"""The notes in a zip file: an export from Notion or Joplin, or a downloaded repository.

Notion's export (https://www.notion.com/help/export-your-content) is a zip file of zip files, with
file names that end with an id of 32 digits. A database is a CSV table beside a folder with its
pages, which begin with the properties that are the table's columns.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ..base import Items, SourceError, Unreadable
from ..files.archive import DOCUMENTS, LARGEST_ARCHIVE, MEGABYTE, SOFTWARE, Archive, File
from ..files.file_source import FileSource, is_zip, open_archive, open_inner
from ..files.states import digest
from ..folders.markdown import HTML, SUFFIXES, MarkdownFolder
from ..folders.obsidian import SETTINGS_FOLDER
from ..formats.documents import html_to_markdown
from ..formats.keep import is_page_of_keep
from ..formats.markdown_metadata import LINKED, ParsedText, suffix
from ..formats.text import decode

# The total size of inner archives, which are opened in memory.
LARGEST_PARTS = 256 * MEGABYTE

TABLE_SUFFIX = ".csv"
_ID = re.compile(r"(?:%20| )([0-9a-f]{32})(?![0-9a-f])")
_PROPERTY = re.compile(r"([^:\n]{1,100}):[ \t]+(.*)")
# In a page of HTML, properties are a table, and tags have nothing between them.
_HTML_PROPERTY = re.compile(
    r'<tr class="property-row[^<>]*><th>(?:<[^<>]*>)*([^<>]+)</th><td>(.{0,5000}?)</td></tr>'
)


class NotesZip(MarkdownFolder):
    """A zip file of notes, such as Notion's export or a downloaded repository."""

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.suffix.lower() != ".zip" or not is_zip(path):
            return False
        with open_archive(path) as archive, ExitStack() as stack:
            parts = _parts(archive, stack, []).values()
            suffixes = {suffix(key) for part in parts for key in part.files}
            return not suffixes.isdisjoint(SUFFIXES)

    def state(self) -> str:
        return f"{FileSource.state(self)} {digest(super()._settings(), size=6)}"

    def read_changed(self, known: Mapping[str, str], *, include_trashed: bool = False) -> Items:
        with open_archive(self.path) as archive, ExitStack() as stack:
            skipped = list(archive.skipped)
            self._contents = _Contents(_parts(archive, stack, skipped), self, skipped)
            self.names_are_titles = SETTINGS_FOLDER in getattr(archive, "hidden", ())
            self.app = "Notion" if self._contents.ids else self.app
            yield from super().read_changed(known, include_trashed=include_trashed)

    def _list(self, *, include_trashed: bool) -> Archive:
        return self._contents

    def _settings(self) -> tuple[object, ...]:
        return (*super()._settings(), self.names_are_titles, sorted(self._contents.ids))

    def _link_path(self, path: str) -> str:
        # In links, a database has the name of its view.
        return self._contents.without_ids(path.replace(f"_all{TABLE_SUFFIX}", TABLE_SUFFIX))

    def _url(self, file: File, title: str) -> str | None:
        ids = _ID.findall(file.key)
        return f"https://www.notion.so/{ids[-1]}" if ids else super()._url(file, title)

    def _parse(self, file: File, text: str) -> ParsedText:
        contents = self._contents
        name = contents.without_ids(file.name).removesuffix("_all")
        if file.suffix == TABLE_SUFFIX:
            return ParsedText(name, contents.as_markdown(file, text))
        rows = dict(_HTML_PROPERTY.findall(text))
        text = _HTML_PROPERTY.sub("", contents.without_ids(text))
        parsed = super()._parse(file._replace(key=contents.without_ids(file.key)), text)
        names: Collection[str] = rows or contents.columns.get(contents.without_ids(file.folder), [])
        values = (html_to_markdown(row.replace("</span><", "</span>, <")) for row in rows.values())
        lines = [*map(": ".join, zip(rows, values)), *parsed.body.split("\n")] if names else []
        properties: dict[str, Any] = {}
        while (match := _PROPERTY.match(lines[0] if lines else "")) and match[1] in names:
            name = match[1].lower()
            properties[name] = match[2].split(", ") if name in self.tag_properties else match[2]
            lines.pop(0)
        if not properties:
            return parsed
        body = "\n".join(lines).lstrip("\n")
        found = self._with_properties(properties, "", parsed.title, body)
        return found._replace(soft_breaks=parsed.soft_breaks)


class _Contents(Archive):
    """The files of several archives as if in one folder, without their common parent folder."""

    def __init__(self, parts: dict[str, Archive], source: NotesZip, skipped: list[str]) -> None:
        super().__init__()
        self.skipped = skipped
        # The inner archive and its path, for opening a file again.
        places: dict[str, tuple[Archive, str]] = {}
        for prefix, part in parts.items():
            for place in part.files:
                if prefix or suffix(place) != ".zip":
                    places.setdefault(place, (part, prefix))
        top = posixpath.commonpath(places) if len(places) > 1 else ""
        self.ids = {name for place in places for name in _ID.findall(place)}
        self._places: dict[str, tuple[Archive, str]] = {}
        for place, (part, prefix) in sorted(places.items(), key=itemgetter(0)):
            key, end = place.removeprefix(top and f"{top}/"), suffix(place)
            above = [key[: end + 1] for end, mark in enumerate(key) if mark == "/"]
            is_excluded = any(source._excludes(each, False) for each in (*above, key))
            is_list = self.ids and key == "index.html"  # of Notion's pages
            if software := SOFTWARE.intersection(key.split("/")[:-1]):
                self.software |= software
            elif is_excluded or _is_double(place, places) or is_list:
                continue
            elif end in source.suffixes or (end == TABLE_SUFFIX and _ID.search(key)):
                self.files[key] = part.files[place]._replace(key=key)
                self._places[key] = part, place
            elif end in LINKED:
                self.linked[key] = part.files[place]._replace(key=prefix + place)
            elif end in DOCUMENTS:
                self.unread[end] += 1
        self.ids -= _ids_that_tell_apart(self.files)
        self.names = {self.without_ids(key) for key in self.files}
        self.columns: dict[str, list[str]] = {}  # by the folder with the pages of a database
        for key in self.files:
            if suffix(key) == TABLE_SUFFIX:
                folder = self.without_ids(key.removesuffix(TABLE_SUFFIX).removesuffix("_all"))
                with suppress(Unreadable):
                    self.columns[folder] = [*_rows(decode(self.head(key, MEGABYTE))), []][0]

    def head(self, key: str, size: int) -> bytes:
        part, place = self._places[key]
        return part.head(place, size)

    def open(self, key: str, size: int = LARGEST_ARCHIVE) -> IO[bytes]:
        part, place = self._places[key]
        return part.open(place, size)

    def without_ids(self, text: str) -> str:
        return _ID.sub(lambda match: "" if match[1] in self.ids else match[0], text)

    def as_markdown(self, file: File, text: str) -> str:
        """Return a database as a Markdown table, with links to its exported pages."""
        rows = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in _rows(text)]
        folder = self.without_ids(file.key).removesuffix(TABLE_SUFFIX).removesuffix("_all")
        for row in rows[1:]:
            page = f"{folder}/{row[0]}.md" if row else ""
            if page in self.names:
                row[0] = f"[{row[0]}](<{page}>)"
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([*lines[:1], f"|{'---|' * len(rows[0])}" if rows else "", *lines[1:]])


def _is_double(place: str, places: Mapping[str, tuple[Archive, str]]) -> bool:
    """Return whether a file is a view of a whole table, or the page of a note of Keep's."""
    end = suffix(place)
    if end == TABLE_SUFFIX:
        return f"{place.removesuffix(TABLE_SUFFIX)}_all{TABLE_SUFFIX}" in places
    return end in HTML and is_page_of_keep(place, lambda twin: places[twin][0].read(twin))


def _ids_that_tell_apart(keys: Iterable[str]) -> set[str]:
    """Return the ids of notes that would have the same name without them."""
    named = defaultdict(set)
    for key in keys:
        ids = _ID.findall(key)
        named[_ID.sub("", key)].add(ids[-1] if ids else "")
    return {name for same in named.values() if len(same) > 1 for name in same}


def _parts(archive: Archive, stack: ExitStack, skipped: list[str]) -> dict[str, Archive]:
    """Return an archive and, by prefix, the archives directly in it, opened in memory."""
    parts, left = {"": archive}, LARGEST_PARTS
    for key, file in archive.files.items():
        if file.suffix == ".zip":
            try:
                parts[f"{key}/"] = stack.enter_context(open_inner(archive, key, left))
            except (SourceError, Unreadable) as reason:
                skipped.append(f"{key}: {reason}")
            left -= file.size
    return parts


def _rows(text: str) -> list[list[str]]:
    csv.field_size_limit(LARGEST_PARTS)
    with suppress(csv.Error):
        return [*csv.reader(io.StringIO(text, newline=""))]
    return []
