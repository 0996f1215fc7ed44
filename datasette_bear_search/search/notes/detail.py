"""One note with its links, backlinks and passages."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...index.file import sources
from ...index.file.metadata import json_value
from ...notes import files_of, storable_name
from ...query.query import Query
from ...sqlite import read_value, sqlite3
from ...text import languages
from ...text.markdown import wiki_links
from ..planning import planner
from ..ranking.statement import Statement
from ..request import read_note_id
from ..results import word_matches
from ..results.records import ListedNote
from ..results.retrieve import checked_rows

# Wiki links of a note whose titles are looked up.
MAX_LINKED_TITLES = 2000

# Places in a link, counted from its end, where the title may end and a heading begin.
MAX_READINGS = 4

# Characters of a note's text in which words are marked. This takes .3 s at most.
READ = 200_000


@dataclass(frozen=True)
class LinkedNote:
    id: int
    title: str


@dataclass(frozen=True)
class NotePassage:
    """A passage of the note. ``start`` and ``end`` are offsets in its body, in characters."""

    id: int
    heading: str | None
    start: int
    end: int


@dataclass(frozen=True)
class NoteDetail(ListedNote):
    """A note with its passages, files and links. An encrypted note has nothing from its text."""

    heading_link: str
    trashed: bool
    todos_open: int
    todos_done: int
    has_image: bool
    has_file: bool
    has_code: bool
    soft_breaks: bool  # whether a line break inside a paragraph is but a space
    body: str
    attachments: str  # the text recognized in images and files
    files: tuple[tuple[str, str], ...]  # those with text: name ("" if unknown) and text
    passages: tuple[NotePassage, ...]
    links: tuple[LinkedNote, ...]
    backlinks: tuple[LinkedNote, ...]
    link_targets: Mapping[str, int]  # folded target of a link → note id, for resolve_link()

    def passage(self, passage_id: str | None) -> NotePassage | None:
        return next((each for each in self.passages if str(each.id) == passage_id), None)


def find_note_id(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of a note named by id, ``source:key``, a file's path or a link to it, or 0."""
    name = storable_name(name.strip())
    number = name.removesuffix(".0")  # as SQLite writes a real
    if number.isdigit():
        return read_note_id(number)
    if page := re.search(r"/-/bear-search/note/(\d+)", name):
        return read_note_id(page[1])
    source, _, key = name.partition(":")
    sql = "select id from notes where source = ? and key = ?"
    note_id: int | None = read_value(connection, sql, [source, key])
    if note_id is None and os.path.isabs(name):
        return _note_of_file(connection, name)
    if note_id is None and "://" in name:
        note_id = read_value(connection, "select id from notes where url = ?", [name])
    return note_id or 0


def _note_of_file(connection: sqlite3.Connection, path: str) -> int:
    """Return the note of a file.

    macOS and Windows don't distinguish capitals, and programs write é as one character or two. So
    the file's name may be written otherwise than in the index, if only one note's is like it.
    """
    like: list[int] = []
    for stored in sources.read_sources(connection).values():
        for folder in {stored.config.location, os.path.realpath(stored.config.location)}:
            below = os.path.join(folder, "")
            if not _same_name(path).startswith(_same_name(below)):
                continue
            keys = connection.execute(
                "select id, key from notes where source = ?", [stored.config.name]
            )
            for note_id, key in keys.fetchall():
                if (file := below + key.replace("/", os.sep)) == path:
                    return note_id
                if _same_name(file) == _same_name(path):
                    like.append(note_id)
    return like[0] if len(set(like)) == 1 else 0


def _same_name(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def find_titled(connection: sqlite3.Connection, title: str) -> list[int]:
    """Return the ids of the notes with a title, newest first; capitals and blanks don't matter."""
    wanted = _folded(title)
    rows = connection.execute("select id, title from notes order by modified desc, id")
    return [note_id for note_id, other in rows if _folded(str(other)) == wanted]


def read_note(connection: sqlite3.Connection, note_id: int) -> NoteDetail | None:
    found = checked_rows(connection, Statement(_NOTE, {"note": note_id}))
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
    """Return the id of the note that a link refers to, and the heading in it, if any.

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
    """Return the words that a query finds in the note, as written there, but case-folded.

    These are the words that the search marks: other inflections and corrections, too.

    :param at: the passage around which a very long note is searched
    """
    if not query.text:
        return frozenset()
    start = max(0, at.start - READ // 2) if at else 0
    texts = (note.title, note.body[start : start + READ], note.attachments[:READ])
    try:
        planned = planner.plan(connection, query)
        sql = "select language from notes where id = ?"
        [language] = connection.execute(sql, [note.id]).fetchone()
        marked = word_matches.marked(planned, [(text, language) for text in texts])
    except sqlite3.DatabaseError:
        return frozenset()  # the page is useful without marked words, too
    found = (text.text[span.start : span.end] for text in marked for span in text.spans)
    return frozenset(word.casefold() for words in found for word in languages.tokens(words))


_FLAGS = "pinned archived trashed encrypted has_image has_file has_code soft_breaks".split()

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

# If several notes have a title, the last counts: from the same source, not in the trash, newest.
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
    # Targets that the source itself provides come last and override those found by title.
    titles = {title for target in wiki_links(body) for title, _ in _readings(target)}
    parameters = {"titles": json.dumps(sorted(titles)[:MAX_LINKED_TITLES]), "source": source}
    found = connection.execute(_TITLED, parameters)
    targets = {_folded(title): titled_id for title, titled_id in found}
    for link_title, key, title, target_id in connection.execute(_TARGETS, [note_id]):
        names = (link_title, key, _stem(key or ""), title)
        targets |= {_folded(name): target_id for name in names if name}
    return targets


def _readings(target: str) -> Iterator[tuple[str, str | None]]:
    # First, the whole target as a title, because titles may contain slashes.
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
