"""Notes out of any SQLite database, by a query."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..notes import Note, Tag, can_be_opened
from ..sqlite import sqlite3, time_limit
from . import SourceError, Unreadable, checked_option, readonly
from .documents import parse_html
from .files import LARGEST_NOTE, FileSource, digest
from .markdown_metadata import as_markdown, extract_metadata, title_of, without_title
from .text import APPLE_EPOCH, decode, parse_timestamp, storable, timestamp_from_seconds

NEEDED = ("key", "title", "body")
FLAGS = ("pinned", "archived", "trashed")
OPTIONAL = ("created", "modified", "url", "tags", *FLAGS, "attachments")

FORMATS = ("markdown", "html", "text")

# Where dates that are numbers count from, in seconds after 1970.
EPOCHS = {"unix": 0, "apple": APPLE_EPOCH}
TIMEZONES = ("utc", "local")

# Seconds: reading all of a large database takes some, a join without a condition forever.
TIME_LIMIT = 60.0

# As seconds, the year 5138: so large a number counts milliseconds, or something smaller.
_NO_SECONDS = 1e11

# A text with fewer digits is a date such as 20240501.
_NUMBER = re.compile(r"-?\d{9,}(\.\d+)?", re.ASCII)
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)

_FALSE = {"", "0", "0.0", "f", "false", "n", "no", "off"}


class SQLQuery(FileSource):
    """Any SQLite database, by a query in a configuration file (option sql)."""

    default_name = "sql"

    def __init__(
        self,
        location: Path | str,
        name: str = "",
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
        super().__init__(location, name)
        self.app = str(app)
        if not isinstance(sql, str) or not sql.strip():
            raise SourceError(
                f"The source {name} needs the option sql: a SELECT of the columns"
                f" {', '.join(NEEDED)} from {self.location}, and of {', '.join(OPTIONAL)} if there"
                " are such."
            )
        options = {"format": format, "epoch": epoch, "timezone": timezone}
        for option, allowed in (("format", FORMATS), ("epoch", [*EPOCHS]), ("timezone", TIMEZONES)):
            value = options[option]
            checked_option(option, value, value in allowed, f"one of {', '.join(allowed)}")
        is_number = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
        is_valid = is_number and time_limit > 0
        checked_option("time_limit", time_limit, is_valid, "a number of seconds")
        self.sql, self.format, self.timezone = sql, format, timezone
        self.epoch, self.time_limit = EPOCHS[epoch], time_limit

    @classmethod
    def reads(cls, location: str) -> bool:
        return False  # no glance at a database tells which of its rows are notes

    def state(self) -> str:
        settings = (self.sql, self.format, self.epoch, self.timezone)
        return f"{readonly.state(self.path)} {digest(settings, size=8)}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        self.skipped = []
        columns, rows = _run(self.path, self.sql, self.time_limit)
        names = [name.lower() for name in columns]
        if missing := [name for name in NEEDED if name not in names]:
            raise SourceError(
                f"The query of {self.location} gives no column {' and no column '.join(missing)}."
                f" It gives {', '.join(names) or 'none'}. Name them with “as”, as in “select id as"
                " key”."
            )
        if unknown := set(names).difference(NEEDED, OPTIONAL):
            self.skipped.append(
                f"the columns {', '.join(sorted(unknown))}: what is read besides"
                f" {', '.join(NEEDED)} is {', '.join(OPTIONAL)}"
            )
        problems = Counter[str]()
        by_key: dict[str, Sequence[Any]] = {}
        for row in rows:
            key = _key(row[names.index("key")])
            if not key:
                problems["rows without a key"] += 1
                continue
            if key in by_key:
                problems["rows with the key of a later row"] += 1
            by_key[key] = row
        for key, row in by_key.items():
            note = self._note(key, dict(zip(names, row, strict=True)), problems)
            if include_trashed or not note.trashed:
                yield note
        self.skipped += [f"{count:,} {problem}" for problem, count in problems.items()]

    def _note(self, key: str, values: dict[str, Any], problems: Counter[str]) -> Note:
        def moment(column: str) -> str | None:
            value = values.get(column)
            parsed = self._moment(value)
            if parsed is None and value not in (None, ""):
                problems[f"values of {column} that are no date"] += 1
            return parsed

        title = _text(values["title"])
        body = _text(values["body"])
        if self.format == "html":
            page = parse_html(body)
            body = page.text
            if page.problem:
                problems[f"values of body that are {page.problem}"] += 1
        elif self.format == "text":
            body = as_markdown(body)
        if values["body"] and not body:
            problems["values of body that are no text"] += 1
        url = _text(values.get("url")).strip()
        if url and not can_be_opened(url):
            problems["values of url that are no address, or of a program that isn't known"] += 1
            url = ""
        flags: dict[str, Any] = {
            flag: _text(values.get(flag)).strip().lower() not in _FALSE for flag in FLAGS
        }
        return Note(
            key=key,
            title=title_of(title, body),
            body=without_title(body, title),
            tags=tuple(Tag(name) for name in _tags(values.get("tags"))),
            attachments=_text(values.get("attachments")),
            created=moment("created"),
            modified=moment("modified"),
            url=url or None,
            **flags,
            **extract_metadata(body if self.format != "text" else "").note_fields(),
        )

    def _moment(self, value: Any) -> str | None:
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


# What SQLite and Python say of what isn't allowed here.
_REFUSALS = re.compile(
    "one statement|not authorized|authorization denied|prohibited|within a transaction"
)

_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


_LIMIT_LENGTH = 0  # sqlite3.SQLITE_LIMIT_LENGTH, which Python names since 3.11

# Bytes, of all that SQLite keeps in this process: a view may ask printf() for a gigabyte.
MOST_MEMORY = 512 * 1024 * 1024


def _run(path: Path, sql: str, seconds: float) -> tuple[list[str], list[Sequence[Any]]]:
    """Return the names of the columns, and the rows, that one SELECT gives. Raises SourceError."""
    with readonly.read_transaction(path) as db:
        if hasattr(db, "setlimit"):
            db.setlimit(_LIMIT_LENGTH, LARGEST_NOTE)
        else:  # pysqlite3. It holds until the process ends; SQLite can't raise it again.
            db.execute(f"pragma hard_heap_limit = {MOST_MEMORY}")
        db.set_authorizer(_authorize)
        try:
            with time_limit(db, seconds * 1000):
                cursor = db.execute(sql)
                return [column[0] for column in cursor.description or ()], cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            words = str(error)
            if "interrupted" in words:
                raise SourceError(
                    f"The query of {path} took longer than {seconds:g} seconds. Make it faster, or"
                    " raise time_limit."
                ) from error
            if isinstance(error, MemoryError) or "too big" in words:
                raise SourceError(
                    f"The query of {path} makes texts that are too long. Leave them out, or cut"
                    " them with substr()."
                ) from error
            if _REFUSALS.search(words):
                raise SourceError(
                    f"The query of {path} is more than one SELECT that only reads ({words})."
                    " Nothing else is run."
                ) from error
            if readonly.is_about_the_file(words):
                raise
            raise SourceError(f"SQLite can't run the query of {path}: {words}.") from error


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action in _READING and second not in ("load_extension", "zeroblob", "randomblob"):
        return sqlite3.SQLITE_OK
    # So FTS5 asks whether its index has changed.
    if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _key(value: Any) -> str:
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            if b"\0" not in value:
                return value.decode()
        return value.hex()  # such as a UUID's
    return _text(value).strip()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            return decode(value)
        except Unreadable:
            return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).replace("\0", "")


def _tags(value: Any) -> list[str]:
    """Parse tags: JSON (names, objects with a name, or an object with a tag each), or commas."""
    text = _text(value).strip()
    names: Iterable[Any] = text.split(",")
    if text.startswith(("[", "{")):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = text.strip("[]{}").split(",")
    tags: dict[str, None] = {}
    for name in names:
        name = name.get("name") if isinstance(name, dict) else name
        if isinstance(name, (str, int)) and (tag := str(name).strip(" \t\r\n#\"'/")):
            tags[storable(tag)] = None
    return list(tags)
