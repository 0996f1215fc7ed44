"""What is found, with its secrets masked: the same hits, passages and notes, in which the words have changed but no offset.

A snippet may begin or end in the middle of a key. So secrets are looked for in the note that it was taken from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from .redaction import has_secret, masked, masked_part

if TYPE_CHECKING:
    from .home import Home
    from .search import Hit, Passage, Results
    from .sidecar import sqlite3
    from .similar import SimilarNote, SimilarNotes
    from .whole_note import WholeNote

_TEXTS = """
select id, title, body, attachments
from notes
where id in (select value from json_each(?))
"""

Found = TypeVar("Found", "Hit", "SimilarNote")

# What a note says, by its id: title, body and the text of its images and files.
Texts = Mapping[int, tuple[str, str, str]]


def results(connection: sqlite3.Connection, found: Results) -> Results:
    """The results with every secret in them masked."""
    texts = _texts(connection, [hit.id for hit in found.hits])
    return replace(found, hits=tuple(_hit(hit, texts) for hit in found.hits))


def similar_notes(connection: sqlite3.Connection, found: SimilarNotes) -> SimilarNotes:
    """The notes that are like one, with every secret in them masked."""
    return replace(found, title=masked(found.title), notes=each_similar(connection, found.notes))


def each_similar(
    connection: sqlite3.Connection, notes: Sequence[SimilarNote]
) -> tuple[SimilarNote, ...]:
    """The same of these notes alone."""
    texts = _texts(connection, [note.id for note in notes])
    return tuple(
        replace(_found(note, texts), reasons=tuple(map(masked, note.reasons))) for note in notes
    )


def passages(
    connection: sqlite3.Connection, found: Mapping[int, Sequence[Passage]]
) -> dict[int, list[Passage]]:
    """Passages by the ids of their notes, with every secret in them masked."""
    texts = _texts(connection, found)
    return {
        note_id: [_passage(passage, note_id, texts) for passage in several]
        for note_id, several in found.items()
    }


def whole_note(note: WholeNote) -> WholeNote:
    """The note with every secret in it masked."""
    return replace(
        note,
        title=masked(note.title),
        key=masked(note.key),
        url=address(note.url),
        body=masked(note.body),
        attachments=masked(note.attachments),
        passages=tuple(
            replace(passage, heading=masked(passage.heading or "") or None)
            for passage in note.passages
        ),
        links=tuple(replace(link, title=masked(link.title)) for link in note.links),
        backlinks=tuple(replace(link, title=masked(link.title)) for link in note.backlinks),
    )


def home(at_home: Home) -> Home:
    """What the page shows before anything is searched for, with every secret in it masked."""
    return replace(
        at_home,
        **{
            name: tuple(
                replace(note, title=masked(note.title or "")) for note in getattr(at_home, name)
            )
            for name in ("recent", "pinned", "on_this_day")
        },
    )


def address(url: str | None) -> str | None:
    """The address that opens a note; without the heading in it, or None, where a secret stands in it."""
    if url is None or not has_secret(unquote(url)):
        return url
    for heading_link in ("&header=", "%23"):  # of Bear, of Obsidian
        before, found, _ = url.rpartition(heading_link)
        if found and not has_secret(unquote(before)):
            return before
    return None


def _texts(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, str, str]]:
    rows = connection.execute(_TEXTS, [json.dumps([*ids])])
    return {
        note_id: (title or "", body or "", attachments or "")
        for note_id, title, body, attachments in rows
    }


def _hit(hit: Hit, texts: Texts) -> Hit:
    snippet = masked_part(hit.snippet, *texts.get(hit.id, ()))
    return replace(_found(hit, texts), snippet=snippet)


def _found(note: Found, texts: Texts) -> Found:
    return replace(
        note,
        title=masked(note.title),
        key=masked(note.key),
        url=address(note.url),
        passage=_passage(note.passage, note.id, texts) if note.passage else None,
    )


def _passage(passage: Passage, note_id: int, texts: Texts) -> Passage:
    _, body, _ = texts.get(note_id, ("", "", ""))
    return replace(
        passage,
        text=masked_part(passage.text, body),
        heading=masked(passage.heading or "") or None,
    )
