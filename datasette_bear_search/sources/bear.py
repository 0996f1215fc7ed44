"""The notes in the Bear app's own database, read-only."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from ..notes import Link, Note, Tag, short_title, without_title_line
from . import SourceError, bear_file, bear_tables
from .bear_tables import LibraryRows, NoteRow

# Where Bear keeps its notes, below the home folder: since 1.6, before that, and at first.
LOCATIONS = (
    "Library/Group Containers/9K33E3U3T4.net.shinyfrog.bear/Application Data/database.sqlite",
    "Library/Containers/net.shinyfrog.bear/Data/Documents/Application Data/database.sqlite",
    (
        "Library/Containers/net.shinyfrog.bear/Data/Library/Application Support"
        "/net.shinyfrog.bear/database.sqlite"
    ),
)

NOTE_URL = "bear://x-callback-url/open-note?id="

# Core Data counts seconds from here.
_EPOCH = datetime(2001, 1, 1)

_HEADING_MARKS = re.compile(r"^#{1,6}(?:[ \t]+|$)")


def default_location() -> Path:
    """Where this user's Bear keeps its notes. Raises SourceError if no version of Bear is found."""
    places = [Path.home() / location for location in LOCATIONS]
    for place in places:
        try:
            os.stat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass  # it is there, but macOS hides it: reading it says how to allow that
        return place
    raise SourceError(
        "Bear's notes were not found on this computer. Looked for:\n"
        + "".join(f"  {place}\n" for place in places)
        + "If they are somewhere else, such as in a copy from your Mac, give the PATH of that"
        f" {bear_file.DATABASE_NAME}."
    )


class BearLibrary:
    """Bear's own database (database.sqlite), or the folder that holds it."""

    app = "Bear"
    heading_link = "&header="
    default_name = "bear"
    default_location = staticmethod(default_location)

    def __init__(self, path: Path | str, name: str = "bear") -> None:
        self.path = Path(path)
        self.name = name
        self.location = str(path)
        self.skipped: list[str] = []  # nothing: what can't be read of a library is an error

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.name == bear_file.DATABASE_NAME or os.path.isfile(path / bear_file.DATABASE_NAME):
            return True
        try:
            with bear_file.reading(path) as db:
                return bear_tables.is_bear_library(db)
        except SourceError:
            return False

    def state(self) -> str:
        return bear_file.file_state(self.path)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with bear_file.reading(self.path) as db:
            if not bear_tables.is_bear_library(db):
                raise SourceError(
                    f"{self.location} is a database, but not one of Bear's: it has no table of"
                    f" notes as Bear makes it. Give the PATH of Bear's {bear_file.DATABASE_NAME}."
                )
            rows = bear_tables.fetch(db, include_trashed=include_trashed)
        return _notes(rows)


def _notes(rows: LibraryRows) -> Iterator[Note]:
    """The notes, one at a time. Their rows are let go: nobody needs both in memory."""
    keys: dict[int, str] = {}
    newest: dict[str, NoteRow] = {}
    for row in rows.notes:
        key = _text(row.key)
        if not key:
            continue
        keys[row.pk] = key
        rival = newest.get(key)
        if rival is None or (_date(row.modified) or "") >= (_date(rival.modified) or ""):
            newest[key] = row

    readable = {row.pk for row in newest.values() if not row.encrypted}
    tags = _tags_by_note(rows)
    links = _links_by_note(rows, keys, readable)
    attachments = _attachments_by_note(rows, readable)
    rows.notes.clear()
    for key in list(newest):
        row = newest.pop(key)
        yield _note(
            key,
            row,
            tags=tags.get(row.pk, ()),
            links=links.get(row.pk, ()),
            attachments=attachments.get(row.pk, ""),
        )


def _tags_by_note(rows: LibraryRows) -> dict[int, tuple[Tag, ...]]:
    names = {pk: _text(title) for pk, title in rows.tags.items()}
    # Two tags can have the same name: what counts is that the note is pinned under that name.
    pinned = {(note, names.get(tag)) for note, tag in rows.pinned}
    tagged: defaultdict[int, set[str]] = defaultdict(set)
    for note, tag in rows.tagged:
        if name := names.get(tag):
            tagged[note].add(name)
    return {
        note: tuple(Tag(name, pinned=(note, name) in pinned) for name in sorted(tagged[note]))
        for note in tagged
    }


def _links_by_note(
    rows: LibraryRows, keys: dict[int, str], readable: set[int]
) -> dict[int, tuple[Link, ...]]:
    """The links to other notes that are there, one for each of these, in the order of the text."""
    titles = {row.pk: row.title for row in rows.notes}
    links: defaultdict[int, dict[str, Link]] = defaultdict(dict)
    for note, target, title in rows.links:
        if note in readable and target in keys and keys[target] != keys[note]:
            link = Link(keys[target], _text(title) or _text(titles[target]))
            links[note].setdefault(link.key, link)
    return {note: tuple(by_key.values()) for note, by_key in links.items()}


def _attachments_by_note(rows: LibraryRows, readable: set[int]) -> dict[int, str]:
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for note, recognized in rows.files:
        if note in readable and (text := _text(recognized).strip()):
            texts[note].append(text)
    return {note: "\n".join(texts[note]) for note in texts}


def _note(
    key: str, row: NoteRow, *, tags: tuple[Tag, ...], links: tuple[Link, ...], attachments: str
) -> Note:
    if row.encrypted:  # what its text is like is as secret as the text
        row = row._replace(todos_open=0, todos_done=0, has_image=0, has_file=0, has_code=0)
    text = _text(row.text)
    title = _text(row.title).strip() or _first_line(text)
    return Note(
        key=key,
        title=short_title(title),
        body=without_title_line(text, title),
        tags=tags,
        links=links,
        attachments=attachments,
        created=_date(row.created),
        modified=_date(row.modified),
        pinned=bool(row.pinned),
        archived=bool(row.archived),
        trashed=bool(row.trashed),
        encrypted=bool(row.encrypted),
        todos_open=_count(row.todos_open),
        todos_done=_count(row.todos_done),
        has_image=bool(row.has_image),
        has_file=bool(row.has_file),
        has_code=bool(row.has_code),
        url=NOTE_URL + quote(key, safe=""),
    )


def _first_line(text: str) -> str:
    return _HEADING_MARKS.sub("", text.lstrip("\n").partition("\n")[0]).strip()


def _text(value: object) -> str:
    """``value`` as text without NULs, whatever SQLite has made of it."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    return str(value).replace("\0", "")


def _date(value: object) -> str | None:
    if not isinstance(value, (int, float)):
        return None
    try:
        return (_EPOCH + timedelta(seconds=value)).isoformat(timespec="seconds") + "Z"
    except OverflowError:
        return None


def _count(value: object) -> int:
    return max(value, 0) if isinstance(value, int) else 0
