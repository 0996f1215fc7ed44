"""Notes from records: rows and objects with named values, above all those in JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..notes import Link, Note, can_be_opened, counted
from .base import Unreadable, checked_option, checked_texts
from .files.archive import LARGEST_NOTE, File
from .files.file_source import FileSource
from .files.states import digest
from .formats.dates import APPLE_EPOCH, parse_timestamp, timestamp_from_seconds
from .formats.documents import parse_html
from .formats.markdown_metadata import as_markdown, note_from_markdown, suffix
from .formats.text import as_dict, as_dicts, decode, load_json, storable

NEEDED = ("key", "title", "body")
FLAGS = ("pinned", "archived", "trashed")
OPTIONAL = ("created", "modified", "url", "tags", *FLAGS, "attachments")

BODY_FORMATS = ("markdown", "html", "text")

# The epochs of numeric dates, in seconds after 1970.
EPOCHS = {"unix": 0, "apple": APPLE_EPOCH}
TIMEZONES = ("utc", "local")

# In seconds, this is the year 5138, so larger numbers are milliseconds or an even smaller unit.
_NO_SECONDS = 1e11

# A number of seconds. A text with fewer digits is a date such as 20240501.
_NUMBER = re.compile(r"-?\d{9,}(\.\d+)?", re.ASCII)
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}://[^\s<>()\[\]\"'`]*[^\s<>()\[\]\"'`.,;:!?*_]")

# Files with a record in each line, and the line in which Excel names the mark between columns.
_LINES, _TABLES = (".jsonl", ".ndjson"), (".csv", ".tab", ".tsv")
_SEPARATOR_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)

# {content.text} in the option fields
_PLACE = re.compile(r"\{([^{}]*)\}")

_FALSE = {"", "0", "0.0", "f", "false", "n", "no", "off"}


class Records(FileSource):
    """The base class of sources whose notes are rows or objects with named values."""

    def __init__(
        self,
        location: Path | str,
        name: str,
        *,
        format: str = "markdown",
        epoch: str = "unix",
        timezone: str = "utc",
        app: str = "",
    ) -> None:
        super().__init__(location, name)
        self.app = str(app)
        known = {"format": BODY_FORMATS, "epoch": [*EPOCHS], "timezone": TIMEZONES}
        for value, (option, allowed) in zip((format, epoch, timezone), known.items()):
            checked_option(option, value, value in allowed, f"one of {', '.join(allowed)}")
        self.format, self.timezone, self.epoch = format, timezone, EPOCHS[epoch]
        self._settings: tuple[object, ...] = (format, self.epoch, timezone)

    def state(self) -> str:
        return f"{super().state()} {digest(self._settings, size=8)}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        self.skipped = []
        problems = Counter[tuple[str, str]]()  # what is counted, and what is wrong with it
        by_key: dict[str, dict[str, Any]] = {}
        for record in self._records():
            key = _key(record["key"])
            if not key:
                problems[self.records, " without a key"] += 1
                continue
            if key in by_key:
                problems[self.records, f" with the key of a later {self.records}"] += 1
            by_key[key] = record
        self._by_url = {_text(it.get("url")).strip(): key for key, it in by_key.items()}
        for key, record in by_key.items():
            note = self._note(key, record, problems)
            if include_trashed or not note.trashed:
                yield note
        self.skipped += [f"{counted(n, noun)}{why}" for (noun, why), n in problems.items()]

    records = "row"  # what a record is called in messages

    @abstractmethod
    def _records(self) -> Iterator[dict[str, Any]]:
        """Yield dictionaries whose keys are in NEEDED and OPTIONAL. Raise SourceError."""

    def _note(self, key: str, values: dict[str, Any], problems: Counter[tuple[str, str]]) -> Note:
        def moment(column: str) -> str | None:
            value = values.get(column)
            parsed = self._moment(value)
            if parsed is None and value not in (None, ""):
                problems["value", f" of {column}: no date"] += 1
            return parsed

        title = _text(values["title"])
        body = _text(values["body"])
        if self.format == "html":
            page = parse_html(body)
            body = page.text
            if page.problem:
                problems["value", f" of body: {page.problem}"] += 1
        elif self.format == "text":
            body = as_markdown(body)
        if values["body"] and not body:
            problems["value", " of body: no text"] += 1
        url = _text(values.get("url")).strip()
        if url and not can_be_opened(url):
            problems["value", " of url: no address, or of a program that isn't known"] += 1
            url = ""
        flags: dict[str, Any] = {
            flag: _text(values.get(flag)).strip().lower() not in _FALSE for flag in FLAGS
        }
        if self.format == "text":
            flags |= {"todos_open": 0, "todos_done": 0}
        return note_from_markdown(
            key,
            body,
            title=title,
            tags=_tags(values.get("tags")),
            attachments=_text(values.get("attachments")),
            created=moment("created"),
            modified=moment("modified"),
            url=url or None,
            links=tuple(self._links(key, body)),
            **flags,
        )

    def _links(self, own_key: str, body: str) -> Iterator[Link]:
        """Yield a link for each other note whose ``url`` is in the text."""
        for address in dict.fromkeys(_ADDRESS.findall(body) if "://" in body else ()):
            key = self._by_url.get(address) or self._by_url.get(address.partition("#")[0])
            if key and key != own_key:
                yield Link(key, address)

    def _moment(self, value: Any) -> str | None:
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, (int, float)):
            while abs(value) >= _NO_SECONDS and math.isfinite(value):
                value /= 1000
            return timestamp_from_seconds(value + self.epoch)
        text = _text(value).strip()
        if self.timezone == "utc" and _WITHOUT_ZONE.fullmatch(text):
            text += "Z"
        return parse_timestamp(text)


class JSONFile(Records):
    """JSON, JSON Lines or CSV: a file, or a folder or zip file with some (option fields)."""

    default_name = "json"
    records = "object"
    suffixes: Collection[str] = (".json", *_LINES, *_TABLES)

    def __init__(
        self,
        location: Path | str,
        name: str = "",
        *,
        fields: Mapping[str, str | Sequence[str]] = {},
        items: str | Sequence[str] = "",
        **options: Any,
    ) -> None:
        """
        :param fields: a name in NEEDED or OPTIONAL → one or more paths of the value in an object,
            such as ``content.text``, or ``$file``, the path of the file. A text with paths in
            ``{…}`` is a template: ``dayone://view?entryId={uuid}``
        :param items: the path of the objects in a file; "" if the file is a list of them or one
        """
        super().__init__(location, name, **options)
        wanted = "names of notes' fields with those in the file, such as {key: id, body: text}"
        names = (*NEEDED, *OPTIONAL)
        is_valid = isinstance(fields, Mapping) and {"key", "body"} <= fields.keys() <= {*names}
        listed = f"key and body are needed, others are names out of {', '.join(names)}"
        checked_option("fields", fields, is_valid, f"{wanted}: {listed}")
        self.fields = {field: checked_texts(field, fields[field], wanted) for field in fields}
        self.items = checked_texts("items", items, "where a file has the notes, such as entries")
        self._settings += (self.fields, self.items)
        self._columns = {_root(place) for places in self.fields.values() for place in places}

    def _records(self) -> Iterator[dict[str, Any]]:
        what, advice = ", ".join(self.suffixes), "such a file, or of a folder or zip file with some"
        export = self._open_export(self._is_wanted, what, advice)
        with export as (archive, files):
            for file in files:
                key = file.key
                try:
                    loaded = load(key, archive.read(key), self._columns, self.skipped)
                except Unreadable as reason:
                    self.skipped.append(f"{key}: {reason}")
                    continue
                for item in self._objects(key, loaded):
                    item["$file"] = key
                    values = {name: _value(item, name, at) for name, at in self.fields.items()}
                    yield dict.fromkeys(NEEDED) | values

    def _is_wanted(self, file: File) -> bool:
        return file.suffix in self.suffixes

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        """Yield the objects in a file that are notes."""
        for place in self.items:
            items = _at(loaded, place)
            objects = as_dicts(items if isinstance(items, list) else [items])
            if not objects and items != []:
                where = f" at {place}" if place else ""
                self.skipped.append(f"{key}: no objects{where}")
            elif objects and suffix(key) in _TABLES:
                columns = {"$file", *objects[0]}
                if columns.isdisjoint(map(_root, self.fields["key"])):
                    names = ", ".join(map(str, objects[0]))
                    self.skipped.append(f"{key}: no column for key; there are {names}")
            yield from objects


def load(key: str, content: bytes, columns: Collection[str], skipped: list[str]) -> Any:
    """Return the value in a file of JSON, or the rows of a table or of JSON Lines.

    :param columns: some that a table has
    :param skipped: where to add lines that can't be read
    """
    end, found = suffix(key), []
    if end in _TABLES:
        return _table(content, columns)
    if end not in _LINES:
        return load_json(content)
    for number, line in enumerate(content.splitlines(), 1):
        try:
            found += [load_json(line)] if line.strip() else []
        except Unreadable as reason:
            skipped.append(f"{key}, line {number}: {reason}")
    return found


def _table(content: bytes, wanted: Collection[str]) -> list[Any]:
    """Return the rows of CSV by the names in the first one, whatever separates its columns."""
    csv.field_size_limit(LARGEST_NOTE)
    text = decode(content)
    first = _SEPARATOR_LINE.match(text)  # for Excel
    text = text[first.end() :] if first else text
    try:
        # A wrong separator leaves fewer names. In most of Europe, Excel writes semicolons.
        heads = {mark: next(csv.reader(io.StringIO(text), delimiter=mark), []) for mark in ",;\t|"}
        counts = {mark: (len({*head} & {*wanted}), len(head)) for mark, head in heads.items()}
        mark = first[1] if first else max(counts, key=lambda mark: counts[mark])
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        names = [name.strip() for name in next(rows, [])]
        return [dict(zip(names, row)) for row in rows if row]
    except csv.Error as error:
        raise Unreadable(f"no valid CSV ({error})") from error


def _root(place: str) -> str:
    match = _PLACE.search(place)
    return (match[1] if match else place).partition(".")[0]


def _at(value: Any, place: str) -> Any:
    """Return the value at a path such as ``content.text``; in a list, the values of all items."""
    if isinstance(value, dict) and (place in value or (place and "." not in place)):
        return value.get(place)  # also a column whose name has a dot
    for name in filter(None, place.split(".")):
        if isinstance(value, list):
            found = [item.get(name) for item in as_dicts(value)]
            value = [item for one in found for item in (one if isinstance(one, list) else [one])]
        else:
            value = as_dict(value).get(name)
    return value


def _value(item: dict[str, Any], field: str, places: Sequence[str]) -> Any:
    def text(match: re.Match[str]) -> str:
        part = _text(_at(item, match[1]))
        return quote(part, safe="") if field == "url" else part

    values = [_PLACE.sub(text, p) if "{" in p else _at(item, p) for p in places]
    values = [value for value in values if value not in (None, "", [])]
    if field == "tags":
        return [tag for value in values for tag in _tags(value)]
    return values[0] if len(values) == 1 else values or None


def _key(value: Any) -> str:
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            if b"\0" not in value:
                return value.decode()
        return value.hex()  # for example, a UUID
    return _text(value).strip()


def _text(value: Any) -> str:
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_text, value)))
    if isinstance(value, bytes):
        with suppress(Unreadable):
            return decode(value)
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).replace("\0", "").replace("\r\n", "\n")


def _tags(value: Any) -> list[str]:
    """Return tags from a list or JSON (of names, or objects with a ``name``), or between commas."""
    text = "" if isinstance(value, list) else _text(value).strip()
    names: Iterable[Any] = value if isinstance(value, list) else text.split(",")
    if text.startswith(("[", "{")):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = text.strip("[]{}").split(",")
    tags: dict[str, None] = {}
    for name in names:
        name = name.get("name") if isinstance(name, dict) else name
        is_name = isinstance(name, (str, int)) and not isinstance(name, bool)
        if is_name and (tag := str(name).strip(" \t\r\n#\"'/")):
            tags[storable(tag)] = None
    return list(tags)
