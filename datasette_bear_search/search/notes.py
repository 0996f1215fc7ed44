"""A note's id → all that the index knows of it; and what the start page shows of all notes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from .. import languages
from ..index import rows
from ..index.database import SAVED_SEARCHES, get_meta, json_value, set_meta
from ..markdown import wiki_links
from ..notes import files_of
from ..query.query import Query
from ..sqlite import sqlite3
from . import matching, planner
from .engine import read_note_id
from .results import ListedNote, fetch_rows
from .sql import END_MARK, MARK, Statement

# Wiki links of a note whose titles are looked up.
MAX_TITLES = 2000

# Places in a link, from its end, at which the title may end and a heading begin.
MAX_READINGS = 4

# Characters of a note's text in which words are marked, which takes .3 s at most.
READ = 200_000

# Notes in each list of the start page, and searches that are saved for it.
START_PAGE_NOTES = 6
MAX_SAVED = 20


# --- one note


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
class NoteDetail(ListedNote):
    """A note and what surrounds it. An encrypted note has no text, and nothing that tells of it."""

    heading_link: str
    trashed: bool
    todos_open: int
    todos_done: int
    has_image: bool
    has_file: bool
    has_code: bool
    body: str
    attachments: str  # text that was recognized in images and files
    files: tuple[tuple[str, str], ...]  # those with text: name, "" if it isn't known, and text
    passages: tuple[NotePassage, ...]
    links: tuple[LinkedNote, ...]
    backlinks: tuple[LinkedNote, ...]
    link_targets: Mapping[str, int]  # what its links name, folded → id; for resolve_link()

    def passage(self, passage_id: str | None) -> NotePassage | None:
        """Return the passage with that id, if it is one of this note's."""
        return next((each for each in self.passages if str(each.id) == passage_id), None)


def find_note_id(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of the note of an id, of ``source:key``, or of a file's path; 0 if none is."""
    name = name.strip()
    if name.isdigit():
        return read_note_id(name)
    source, _, key = name.partition(":")
    names = [(source, key)]
    if os.path.isabs(name):
        for stored in rows.read_sources(connection).values():
            for folder in {stored.config.location, os.path.realpath(stored.config.location)}:
                if name.startswith(below := os.path.join(folder, "")):
                    names.append((stored.config.name, name[len(below) :].replace(os.sep, "/")))
    sql = "select id from notes where source = ? and key = ?"
    found = (connection.execute(sql, each).fetchone() for each in names)
    return next((note_id for (note_id,) in filter(None, found)), 0)


def read_note(connection: sqlite3.Connection, note_id: int) -> NoteDetail | None:
    found = fetch_rows(connection, Statement(_NOTE, {"note": note_id}))
    if not found:
        return None
    columns = found[0]
    columns |= {name: bool(columns[name]) for name in _FLAGS}
    columns["tags"] = tuple(json_value(columns["tags"], list))
    names = json_value(columns.pop("attachment_names"), list)
    columns["files"] = tuple(files_of(columns["attachments"], names))
    passages = connection.execute(_PASSAGES, [note_id])
    return NoteDetail(
        **columns,
        passages=tuple(NotePassage(*passage) for passage in passages),
        links=_linked(connection, _LINKS, note_id),
        backlinks=_linked(connection, _BACKLINKS, note_id),
        link_targets=_link_targets(connection, note_id, columns["source"], columns["body"]),
    )


def resolve_link(link_targets: Mapping[str, int], target: str) -> tuple[int, str | None] | None:
    """Return the note that a link means, and the heading in it.

    :param target: ``Title``, ``Title/Heading`` or ``folder/Title.md#Heading``
    """
    for title, heading in _readings(target):
        for name in (title, _stem(title)):
            if (note_id := link_targets.get(_folded(name))) is not None:
                return note_id, heading
    return None


def matched_words(
    connection: sqlite3.Connection, note: NoteDetail, query: Query, at: NotePassage | None = None
) -> frozenset[str]:
    """Return the words of the note that a query finds, as they stand there, in lower case.

    They are those that the search marks: stems, corrections.

    :param at: the passage around which a very long note is read
    """
    if not query.text:
        return frozenset()
    start = max(0, at.start - READ // 2) if at else 0
    texts = (note.title, note.body[start : start + READ], note.attachments[:READ])
    try:
        planned = planner.plan(connection, query)
        sql = "select language from notes where id = ?"
        [language] = connection.execute(sql, [note.id]).fetchone()
        marked = matching.marked(planned, [(text, language) for text in texts])
    except sqlite3.DatabaseError:
        return frozenset()  # the page is as good without marked words
    spans = (span for text in marked for span in _MARKED.findall(text))
    return frozenset(word.casefold() for span in spans for word in languages.TOKEN.findall(span))


_FLAGS = ("pinned", "archived", "trashed", "encrypted", "has_image", "has_file", "has_code")
_MARKED = re.compile(f"{re.escape(MARK)}(.*?){re.escape(END_MARK)}", re.DOTALL)

_NOTE = f"""
select
  notes.id, source, key, title, url, created, modified, tags, todos_open, todos_done,
  {", ".join(_FLAGS)},
  coalesce(body, '') as body,
  coalesce(attachments, '') as attachments, attachment_names,
  coalesce(sources.app, '') as app,
  coalesce(sources.heading_link, '') as heading_link
from notes
left join sources on sources.name = notes.source
where notes.id = :note
"""

_PASSAGES = """
select id, nullif(heading, ''), start, start + length
from passages
where note_id = ?
order by position
"""

_LINKED = """
select notes.id, notes.title
from links
join notes on notes.id = links.{other}
where links.{own} = :note
  and links.{other} != :note
group by notes.id
order by {order}
"""
_LINKS = _LINKED.format(own="note_id", other="target_id", order="min(links.id)")
_BACKLINKS = _LINKED.format(own="target_id", other="note_id", order="notes.modified desc, notes.id")

_TARGETS = """
select links.title, links.target_key, notes.title, links.target_id
from links
join notes on notes.id = links.target_id
where links.note_id = ?
"""

# Of several notes with a title, the last is meant: of the same source, not in the trash, newest.
_TITLED = """
select title, id
from notes
where title collate nocase in (select value from json_each(:titles))
order by source = :source, not trashed, modified
"""


def _linked(connection: sqlite3.Connection, sql: str, note_id: int) -> tuple[LinkedNote, ...]:
    rows = connection.execute(sql, {"note": note_id})
    return tuple(LinkedNote(linked_id, title) for linked_id, title in rows)


def _link_targets(
    connection: sqlite3.Connection, note_id: int, source: str, body: str
) -> dict[str, int]:
    # What the source says counts most.
    titles = {title for target in wiki_links(body) for title, _ in _readings(target)}
    parameters = {"titles": json.dumps(sorted(titles)[:MAX_TITLES]), "source": source}
    found = connection.execute(_TITLED, parameters)
    targets = {_folded(title): titled_id for title, titled_id in found}
    for link_title, key, title, target_id in connection.execute(_TARGETS, [note_id]):
        names = (link_title, key, _stem(key or ""), title)
        targets |= {_folded(name): target_id for name in names if name}
    return targets


def _readings(target: str) -> Iterator[tuple[str, str | None]]:
    # First as a title: titles may have slashes, too.
    yield target.strip(), None
    places = [place for place, character in enumerate(target) if character in "#/"]
    for place in places[: -MAX_READINGS - 1 : -1]:
        title, heading = target[:place].strip(), target[place + 1 :].strip(" #/")
        if title and heading:
            yield title, heading


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in (".md", ".markdown", ".txt") else name


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


# --- the page before anything is searched for


@dataclass(frozen=True)
class StartPageNote:
    id: int
    title: str
    at: str | None  # when it was modified or, of those of this day, created


@dataclass(frozen=True)
class StartPage:
    """Notes that are pinned, or of this day in another year; and where notes come from."""

    pinned: tuple[StartPageNote, ...]
    on_this_day: tuple[StartPageNote, ...]
    sources: tuple[rows.StoredSource, ...]
    saved: tuple[str, ...]  # query strings, newest first


def saved_searches(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the query strings that somebody saved, newest first."""
    return tuple(json_value(get_meta(connection, SAVED_SEARCHES) or "[]", list))


def save_search(connection: sqlite3.Connection, search: str, *, keep: bool) -> None:
    """Keep a query string among those saved, or take it out."""
    others = [other for other in saved_searches(connection) if other != search]
    saved = [search, *others][:MAX_SAVED] if keep else others
    set_meta(connection, **{SAVED_SEARCHES: json.dumps(saved)})


def read_start_page(connection: sqlite3.Connection, now: datetime | None = None) -> StartPage:
    """Read the start page from the index; ``now`` is "this day"."""
    now = now or datetime.now()
    parameters = {
        "day": f"{now:%m-%d}",
        # In universal time it may be another day.
        "day_before": f"{now - timedelta(days=1):%m-%d}",
        "day_after": f"{now + timedelta(days=1):%m-%d}",
        "year": f"{now.year:04}",
    }

    def notes(date: str, condition: str) -> tuple[StartPageNote, ...]:
        # What a person put away isn't brought up again.
        sql = f"""
        select id, title, {date}
        from notes
        where not archived and not trashed and copy_of is null and {condition}
        order by {date} desc, id
        limit {START_PAGE_NOTES}
        """
        return tuple(StartPageNote(*row) for row in connection.execute(sql, parameters))

    sources = rows.read_sources(connection).values()
    return StartPage(
        pinned=notes("modified", _IS_PINNED),
        on_this_day=notes("created", _IS_OF_THIS_DAY),
        sources=tuple(
            sorted(sources, key=lambda source: (-(source.notes or 0), source.config.name))
        ),
        saved=saved_searches(connection),
    )


# The inner queries read an index from end to end instead of every note.
_IS_PINNED = "id in (select id from notes where pinned and not archived and not trashed)"
_IS_OF_THIS_DAY = """
  id in (
    select id
    from notes
    where not archived and not trashed
      and substr(created, 6, 5) in (:day_before, :day, :day_after)
  )
  and strftime('%m-%d', created, 'localtime') = :day
  and strftime('%Y', created, 'localtime') < :year
"""
