"""A note's id → all that the index knows of it: its text, passages, links in both directions, what its links name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from ..markdown import wiki_links
from ..query import fts5
from ..query.query import Query
from ..sqlite import sqlite3
from . import planner
from .sql import END_MARK, MARK

# Wiki links whose titles are looked up; a list of links may be endless.
MAX_TITLES = 2000

# Places in a link at which its title may end and a heading begin, from the end.
MAX_READINGS = 4


@dataclass(frozen=True)
class LinkedNote:
    """A note at the other end of a link."""

    id: int
    title: str


@dataclass(frozen=True)
class NotePassage:
    """A passage of the note; ``start`` and ``end`` count characters of its body."""

    id: int
    heading: str | None
    start: int
    end: int


@dataclass(frozen=True)
class WholeNote:
    """A note and what surrounds it. Of an encrypted note nothing is known that its text would tell."""

    id: int
    source: str
    key: str
    title: str
    url: str | None
    app: str  # which its url opens, as in "Open in Bear"; "" if that has no name
    heading_link: str
    tags: tuple[str, ...]
    created: str | None
    modified: str | None
    pinned: bool
    archived: bool
    trashed: bool
    encrypted: bool
    todos_open: int
    todos_done: int
    has_image: bool
    has_file: bool
    has_code: bool
    body: str
    attachments: str  # text that was recognized in images and files
    passages: tuple[NotePassage, ...]
    links: tuple[LinkedNote, ...]
    backlinks: tuple[LinkedNote, ...]
    named: Mapping[str, int]  # what links name, folded → note; for note_named()

    def passage(self, passage_id: str | None) -> NotePassage | None:
        """The passage with that id, if it is one of this note's."""
        return next((each for each in self.passages if str(each.id) == passage_id), None)


def read(connection: sqlite3.Connection, note_id: int) -> WholeNote | None:
    """The note with that id; None if there is none."""
    row = _row(connection, "select * from notes where id = ?", note_id)
    if row is None:
        return None
    source = _row(connection, "select * from sources where name = ?", row["source"]) or {}
    body = row["body"] or ""
    return WholeNote(
        **{
            name: row[name]
            for name in ("id", "source", "key", "title", "url", "created", "modified")
        },
        **{name: bool(row[name]) for name in _FLAGS},
        todos_open=row["todos_open"],
        todos_done=row["todos_done"],
        app=_app(source, row["url"]),
        heading_link=source.get("heading_link") or "",
        tags=tuple(json.loads(row["tags"])),
        body=body,
        attachments=row["attachments"] or "",
        passages=tuple(
            NotePassage(passage_id, heading or None, start, start + length)
            for passage_id, heading, start, length in connection.execute(_PASSAGES, [note_id])
        ),
        links=_linked(connection, _LINKS, note_id),
        backlinks=_linked(connection, _BACKLINKS, note_id),
        named=_named(connection, note_id, row["source"], body),
    )


def note_named(named: Mapping[str, int], target: str) -> tuple[int, str | None] | None:
    """The note that a link means, and the heading in it: of ``Title``, ``Title/Heading``, ``folder/Title.md#Heading``."""
    for title, heading in _readings(target):
        for name in (title, _stem(title)):
            if (note_id := named.get(_folded(name))) is not None:
                return note_id, heading
    return None


def matched_words(connection: sqlite3.Connection, note_id: int, query: Query) -> frozenset[str]:
    """The words of the note that a query finds, in the forms in which they stand there, without case.

    FTS5 itself says which, so that they are the words that the search has marked: stems, beginnings, corrections.
    """
    if not query.text:
        return frozenset()
    try:
        match = planner.plan(connection, query).query.match
        if not match:
            return frozenset()
        rows = connection.execute(
            _HIGHLIGHTED, {"mark": MARK, "end_mark": END_MARK, "match": match, "note": note_id}
        ).fetchall()
    except sqlite3.DatabaseError:
        return frozenset()  # the page is as good without marked words
    spans = (span for row in rows for text in row for span in _MARKED.findall(text or ""))
    return frozenset(word.casefold() for span in spans for word in fts5.tokens(span))


_FLAGS = ("pinned", "archived", "trashed", "encrypted", "has_image", "has_file", "has_code")
_MARKED = re.compile(f"{re.escape(MARK)}(.*?){re.escape(END_MARK)}", re.DOTALL)

_PASSAGES = """
select id, heading, start, length
from passages
where note_id = ?
order by position
"""

_LINKS = """
select notes.id, notes.title
from links
join notes on notes.id = links.target_id
where links.note_id = :note
  and links.target_id != :note
group by notes.id
order by min(links.id)
"""

_BACKLINKS = """
select notes.id, notes.title
from links
join notes on notes.id = links.note_id
where links.target_id = :note
  and links.note_id != :note
group by notes.id
order by notes.modified desc, notes.id
"""

_TARGETS = """
select links.title, links.target_key, notes.title, links.target_id
from links
join notes on notes.id = links.target_id
where links.note_id = ?
"""

# Of several notes with a title, the last is meant: one of the same source, not in the trash, the newest.
_TITLED = """
select title, id
from notes
where title collate nocase in (select value from json_each(:titles))
order by source = :source, not trashed, modified
"""

_HIGHLIGHTED = """
select
  highlight(notes_fts, 0, :mark, :end_mark),
  highlight(notes_fts, 1, :mark, :end_mark),
  highlight(notes_fts, 3, :mark, :end_mark)
from notes_fts
where notes_fts match :match
  and rowid = :note
"""


def _row(connection: sqlite3.Connection, sql: str, key: int | str) -> dict[str, Any] | None:
    """Return a row by its columns; None if there is none."""
    cursor = connection.execute(sql, [key])
    row = cursor.fetchone()
    return dict(zip([column[0] for column in cursor.description], row)) if row else None


def _app(source: Mapping[str, Any], url: str | None) -> str:
    """The app that a note's url opens."""
    return source.get("app") or ("Bear" if (url or "").startswith("bear:") else "")


def _linked(connection: sqlite3.Connection, sql: str, note_id: int) -> tuple[LinkedNote, ...]:
    rows = connection.execute(sql, {"note": note_id})
    return tuple(LinkedNote(linked_id, title) for linked_id, title in rows)


def _named(connection: sqlite3.Connection, note_id: int, source: str, body: str) -> dict[str, int]:
    """What the note's links name, folded → the note that it means; what the source says of a link counts most."""
    titles = {title for target in wiki_links(body) for title, _ in _readings(target)}
    found = connection.execute(
        _TITLED, {"titles": json.dumps(sorted(titles)[:MAX_TITLES]), "source": source}
    )
    named = {_folded(title): titled_id for title, titled_id in found}
    for link_title, key, title, target_id in connection.execute(_TARGETS, [note_id]):
        names = (link_title, key, _stem(key or ""), title)
        named |= {_folded(name): target_id for name in names if name}
    return named


def _readings(target: str) -> Iterator[tuple[str, str | None]]:
    """The ways to take what a link names, the whole as a title first: titles may have slashes, too."""
    yield target.strip(), None
    places = [place for place, character in enumerate(target) if character in "#/"]
    for place in places[: -MAX_READINGS - 1 : -1]:
        title, heading = target[:place].strip(), target[place + 1 :].strip(" #/")
        if title and heading:
            yield title, heading


def _stem(name: str) -> str:
    """``Title`` of ``folder/Title.md``."""
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in (".md", ".markdown", ".txt") else name


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


# The page before anything is searched for: what is new, pinned, or was written on this day, and the index itself.

# So many of each.
AT_MOST = 6

# What a person put away isn't brought up again.
_AT_HAND = "not archived and not trashed"

_RECENT = f"""
select id, title, modified
from notes
where {_AT_HAND}
order by modified desc, id
limit {AT_MOST}
"""

# The inner queries read an index from end to end instead of every note.
_PINNED = f"""
select id, title, modified
from notes
where id in (select id from notes where pinned and {_AT_HAND})
order by modified desc, id
limit {AT_MOST}
"""

_ON_THIS_DAY = f"""
select id, title, created
from notes
where id in (
    select id
    from notes
    where {_AT_HAND}
      and substr(created, 6, 5) in (:day_before, :day, :day_after)
  )
  and strftime('%m-%d', created, 'localtime') = :day
  and strftime('%Y', created, 'localtime') < :year
order by created desc, id
limit {AT_MOST}
"""

_SOURCES = """
select name, location, notes, read
from sources
order by notes desc, name
"""


@dataclass(frozen=True)
class Note:
    """A note that the page offers."""

    id: int
    title: str
    at: str | None  # when it was modified or, of those of this day, created


@dataclass(frozen=True)
class Source:
    """Where notes come from."""

    name: str
    location: str
    notes: int
    read: str | None


@dataclass(frozen=True)
class Home:
    """What the page shows before anything is searched for."""

    recent: tuple[Note, ...]
    pinned: tuple[Note, ...]
    on_this_day: tuple[Note, ...]
    sources: tuple[Source, ...]


def home(connection: sqlite3.Connection, now: datetime | None = None) -> Home:
    """Read it from the sidecar.

    :param now: what "this day" is
    """
    now = now or datetime.now()

    def notes(sql: str) -> tuple[Note, ...]:
        parameters = {
            "day": f"{now:%m-%d}",
            # In universal time it may be another day.
            "day_before": f"{now - timedelta(days=1):%m-%d}",
            "day_after": f"{now + timedelta(days=1):%m-%d}",
            "year": f"{now.year:04}",
        }
        return tuple(Note(*row) for row in connection.execute(sql, parameters))

    return Home(
        recent=notes(_RECENT),
        pinned=notes(_PINNED),
        on_this_day=notes(_ON_THIS_DAY),
        sources=tuple(Source(*row) for row in connection.execute(_SOURCES)),
    )
