"""Notes out of any SQLite database, by a query."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..notes import Note, Tag
from . import SourceError, html, markdown_facts, readonly
from . import text as decoding
from . import text as timestamps
from .text import storable

NEEDED = ("key", "title", "body")
OPTIONAL = ("created", "modified", "url", "tags", "pinned", "archived", "trashed", "attachments")

FORMATS = ("markdown", "html", "text")

# Where dates that are numbers count from, in seconds after 1970: Core Data, and with it every Mac app, from 2001.
EPOCHS = {"unix": 0, "apple": 978_307_200}
TIMEZONES = ("utc", "local")

# Seconds. Reading all of a large database takes some; a join without a condition takes forever.
TIME_LIMIT = 60.0

# As seconds, the year 5138: so large a number counts milliseconds, or something smaller.
_NO_SECONDS = 1e11

# A text with fewer digits is a date such as 20240501.
_NUMBER = re.compile(r"-?\d{9,}(\.\d+)?", re.ASCII)
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):.", re.IGNORECASE | re.ASCII)

# What a link can run instead of opening.
_PROGRAMS = {"data", "javascript", "vbscript"}

_FALSE = {"", "0", "0.0", "f", "false", "n", "no", "off"}


class SQLQuery:
    """Any SQLite database, by a query in a configuration file (option sql)."""

    heading_link = ""

    def __init__(
        self,
        location: Path | str,
        name: str = "sql",
        *,
        sql: str = "",
        format: str = "markdown",
        epoch: str = "unix",
        timezone: str = "utc",
        app: str = "",
        time_limit: float = TIME_LIMIT,
    ) -> None:
        """
        :param sql: one SELECT with the columns NEEDED and those of OPTIONAL that there are
        :param format: what the bodies are written in, one of FORMATS
        :param epoch: where dates that are numbers count from, one of EPOCHS
        :param timezone: what dates without one are in, one of TIMEZONES
        :param app: what the notes' addresses open, as in "Open in Apple Notes"
        :param time_limit: seconds that the query may take
        """
        self.path = Path(location).expanduser()
        self.name = name
        self.location = str(location)
        self.app = str(app)
        self.skipped: list[str] = []
        if not isinstance(sql, str) or not sql.strip():
            raise SourceError(
                f"The source {name} needs the option sql: a SELECT of the columns {', '.join(NEEDED)} from"
                f" {self.location}, and of {', '.join(OPTIONAL)} if there are such."
            )
        self.sql = sql
        self.format = _choice("format", format, FORMATS)
        self.epoch = EPOCHS[_choice("epoch", epoch, EPOCHS)]
        self.timezone = _choice("timezone", timezone, TIMEZONES)
        if (
            isinstance(time_limit, bool)
            or not isinstance(time_limit, (int, float))
            or time_limit <= 0
        ):
            raise SourceError(f"time_limit is a number of seconds, not {time_limit!r}.")
        self.time_limit = time_limit

    @classmethod
    def reads(cls, location: str) -> bool:
        return False  # no glance at a database tells which of its rows are notes

    def state(self) -> str:
        settings = repr((self.sql, self.format, self.epoch, self.timezone)).encode(errors="replace")
        return f"{readonly.state(self.path)} {hashlib.blake2b(settings, digest_size=8).hexdigest()}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        self.skipped = []
        columns, rows = readonly.answer(self.path, self.sql, seconds=self.time_limit)
        names = self._checked(columns)
        trouble = Counter[str]()
        by_key: dict[str, Sequence[Any]] = {}
        for row in rows:
            key = _key(row[names["key"]])
            if not key:
                trouble["rows without a key"] += 1
                continue
            if key in by_key:
                trouble["rows with the key of a later row"] += 1
            by_key[key] = row
        for key, row in by_key.items():
            note = self._note(key, {name: row[place] for name, place in names.items()}, trouble)
            if include_trashed or not note.trashed:
                yield note
        self.skipped += [f"{count:,} {what}" for what, count in trouble.items()]

    def _checked(self, columns: Iterable[str]) -> dict[str, int]:
        """Where each of the columns that are known stands."""
        names = {name.lower(): place for place, name in enumerate(columns)}
        if missing := [name for name in NEEDED if name not in names]:
            raise SourceError(
                f"The query of {self.location} gives no column {' and no column '.join(missing)}. It gives"
                f" {', '.join(names) or 'none'}. Name them with “as”, as in “select id as key”."
            )
        known = {name: place for name, place in names.items() if name in NEEDED + OPTIONAL}
        if unknown := names.keys() - known.keys():
            self.skipped.append(
                f"the columns {', '.join(sorted(unknown))}: what is read besides {', '.join(NEEDED)}"
                f" is {', '.join(OPTIONAL)}"
            )
        return known

    def _note(self, key: str, values: dict[str, Any], trouble: Counter[str]) -> Note:
        def moment(column: str) -> str | None:
            value = values.get(column)
            found = self._moment(value)
            if found is None and value not in (None, ""):
                trouble[f"values of {column} that are no date"] += 1
            return found

        title = _text(values["title"])
        body = self._markdown(_text(values["body"]))
        if values["body"] and not body:
            trouble["values of body that are no text"] += 1
        url = _text(values.get("url")).strip()
        if url and not _is_address(url):
            trouble["values of url that are no address"] += 1
            url = ""
        facts = markdown_facts.facts(body if self.format != "text" else "")
        return Note(
            key=key,
            title=markdown_facts.title_of(title, body),
            body=markdown_facts.without_title(body, title),
            tags=tuple(Tag(name) for name in _tags(values.get("tags"))),
            attachments=_text(values.get("attachments")),
            created=moment("created"),
            modified=moment("modified"),
            pinned=_is_true(values.get("pinned")),
            archived=_is_true(values.get("archived")),
            trashed=_is_true(values.get("trashed")),
            todos_open=facts.todos_open,
            todos_done=facts.todos_done,
            has_image=facts.has_image,
            has_file=facts.has_file,
            has_code=facts.has_code,
            url=url or None,
        )

    def _moment(self, value: Any) -> str | None:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, (int, float)):
            while abs(value) >= _NO_SECONDS and math.isfinite(value):
                value /= 1000
            return timestamps.of_seconds(value + self.epoch)
        text = _text(value).strip()
        if self.timezone == "utc" and _WITHOUT_ZONE.fullmatch(text):
            text += "Z"
        return timestamps.timestamp(text)

    def _markdown(self, body: str) -> str:
        if self.format == "html":
            return html.to_markdown(body)
        return markdown_facts.as_markdown(body) if self.format == "text" else body


def _choice(option: str, value: object, allowed: Collection[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise SourceError(f"{option} is one of {', '.join(allowed)}, not {value!r}.")
    return value


def _key(value: Any) -> str:
    """A key as text. Of bytes that are no text, such as those of a UUID, none may get lost."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return _text(value).strip()


def _text(value: Any) -> str:
    """``value`` as text, whatever SQLite has made of it; "" if it is none."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            return decoding.decoded(value)
        except decoding.NotText:
            return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).replace("\0", "")


def _tags(value: Any) -> list[str]:
    """Tags as a list in JSON, of names or of objects with a name; as an object with a tag each; or with commas."""
    text = _text(value).strip()
    names: Iterable[Any] = text.split(",")
    if text.startswith(("[", "{")):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = text.strip("[]{}").split(",")
    found = {}
    for name in names:
        name = name.get("name") if isinstance(name, dict) else name
        if isinstance(name, (str, int)) and (tag := str(name).strip(" \t\r\n#\"'/")):
            found[storable(tag)] = None
    return list(found)


def _is_true(value: Any) -> bool:
    return _text(value).strip().lower() not in _FALSE


def _is_address(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is not None and scheme[1].lower() not in _PROGRAMS
