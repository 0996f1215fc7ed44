"""A note's title and a search → why this note isn't among its results, or where it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..index.file import database
from ..index.file import sources as stored_sources
from ..index.file.sources import StoredSource
from ..notes import Note, is_within
from ..query.filters import FILTERS, Filters
from ..sources.base import SourceError
from ..sources.files.archive import SOFTWARE
from ..sources.formats.markdown_metadata import suffix
from ..sources.registry import open_source
from ..sqlite import sqlite3
from . import engine
from .notes.detail import find_note_id, find_titled
from .request import SearchRequest

# Results to look through for the note, and how many to fetch at a time.
MOST_RESULTS, RESULTS_AT_A_TIME = 1000, 100
# Notes to consider if several have the title, or a title that contains it.
MOST_NOTES = 20

ENCRYPTED = "is encrypted, so only its title can be searched"


def explain(
    connection: sqlite3.Connection,
    request: SearchRequest,
    title: str,
    *,
    reads_sources: bool = False,
    wait: float | None = None,
    redact: bool = False,
) -> str:
    """Return why a note isn't among a search's results, or where it is.

    :param connection: from :func:`~datasette_bear_search.search.connection.open_sidecar`
    :param title: also part of one, the note's id, ``SOURCE:KEY``, or the path of its file
    :param reads_sources: look there for notes that aren't indexed. Only for the person whose notes
        these are: this tells what is in the trash, and what nobody else may see.
    """
    title = " ".join(title.split())
    name = f"“{title}”"
    if ids := _notes_called(connection, title):
        return f"{name} {_about_indexed(connection, request, ids, wait, redact)}."
    stored = stored_sources.read_sources(connection).values()
    lines = [line for each in stored for line in _in_source(each, title, reads_sources)]
    if reads_sources and not lines:
        lines = ["None of the sources has a note or a file like it."]
    if lines:
        return f"{name} isn't indexed. {' '.join(lines)}"
    return (
        f"No indexed note is called {name}. Notes in the trash and notes that changed since the "
        f"last {database.read_state(connection).command} aren't indexed; "
        'bear-search --why "TITLE" looks there, too.'
    )


# --- notes in the index


def _notes_called(connection: sqlite3.Connection, title: str) -> list[int]:
    named = find_note_id(connection, title)
    if named and (":" in title or os.path.isabs(title)):
        return [named]
    same = find_titled(connection, title)
    if same or named or not title:
        return same[:MOST_NOTES] or [named] * bool(named)
    [condition], values = Filters({"title": (title,)}).conditions()
    rows = connection.execute(f"select id from notes where {condition} limit {MOST_NOTES}", values)
    return [note_id for (note_id,) in rows]


def _about_indexed(
    connection: sqlite3.Connection,
    request: SearchRequest,
    ids: list[int],
    wait: float | None,
    redact: bool,
) -> str:
    if not request.query.text and not request.query.filters:
        return "is indexed, and can be found"
    listed = ", ".join(map(str, ids))
    sql = f"select source, title, encrypted from notes where id in ({listed})"
    notes = connection.execute(sql).fetchall()
    by_title = ENCRYPTED if all(encrypted for *_, encrypted in notes) else ""
    for offset in range(0, MOST_RESULTS, RESULTS_AT_A_TIME):
        page = replace(request, size=RESULTS_AT_A_TIME, offset=offset)
        response = engine.search(connection, page, redact=redact, wait=wait)
        for rank, hit in enumerate(response.hits, offset + 1):
            is_copy = any(
                source in hit.also_in and title == hit.title for source, title, _ in notes
            )
            if hit.id not in ids and not is_copy:
                continue
            place = f"result {rank:,}"
            if hit.id not in ids:
                place = f"{place}, shown as the same note in {hit.source}"
            if not hit.is_found:
                least = request.ranking.min_similarity or response.results.plan.threshold
                return by_title or _below_threshold(hit.similarity, least, place)
            shown = request.offset + request.size
            return f"is {place}{f'; the first {shown:,} are shown' * (rank > shown)}"
        if response.results.next_offset is None:
            break
    filters = response.results.plan.query.filters
    labels = []
    for label, each in _one_by_one(filters):
        conditions, values = each.conditions()
        sql = f"select 1 from notes where id in ({listed}) and {' and '.join(conditions)}"
        if conditions and connection.execute(sql, values).fetchone() is None:
            labels.append(f"“{label}”")
    if labels:
        return f"is indexed, but left out by {', '.join(labels)}"
    return by_title or (
        "is indexed, but has none of the words in a form that counts, and isn't close enough in "
        "meaning"
    )


def _below_threshold(similarity: float | None, threshold: float | None, place: str) -> str:
    numbers = ""
    if similarity is not None:
        of = f", and notes count as close from {threshold:.2f}" if threshold else ""
        numbers = f" (similarity {similarity:.2f}{of})"
    return (
        "is below the threshold: it has too few of the words and isn't close in "
        f"meaning{numbers}, so it is only among the weaker matches, as {place}"
    )


def _one_by_one(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield each condition alone, with its label."""
    for row in FILTERS.values():
        for name in row.parameters:
            values = filters.values.get(name, ())
            for some in (values,) if row.any_of and values else ((value,) for value in values):
                label = " or ".join(map(row.describe, some))
                if row.kind == "date":
                    end = "from" if name.endswith("after") else "before"
                    label = f"{row.title} {end} {some[0][:10]}"
                yield label, Filters({name: some})
    for word in filters.excluded:
        yield f"-{word}", Filters(excluded=(word,))
    if filters.moments:
        yield "the time asked for", Filters(moments=filters.moments)
    if filters.required or filters.required_in_title:
        required = Filters(required=filters.required, required_in_title=filters.required_in_title)
        yield "the words that every result must have", required
    for each in filters.without:
        labels = [label for label, _ in _one_by_one(each)]
        yield f"not {' '.join(labels)}", Filters(without=(each,))


# --- notes that aren't in the index


def _in_source(stored: StoredSource, title: str, reads: bool) -> Iterator[str]:
    """Yield what a source has of a note that isn't indexed."""
    name = stored.config.name
    if not reads:
        if line := _line_about(stored.skipped, title):
            yield f"In {name}, it was skipped: {line}."
        if stored.error:
            yield f"{name} couldn't be read, so it may be there."
        return
    source, note = open_source(stored.config), None
    try:
        for each in source.read(include_trashed=True):
            if isinstance(each, Note) and _is_called(title, each.title, each.key, source.location):
                note = each
                if each.title.casefold() == title.casefold():
                    break
    except SourceError as error:
        yield f"{name} can't be read, so it may be there: {error}"
        return
    except Exception as error:  # a plugin's source may fail in any way
        yield f"{name} can't be read, so it may be there ({type(error).__name__})."
        return
    if note:
        yield f"It is in {name}, {_why_left_out(note, stored)}."
    elif line := _line_about(source.skipped, title):
        yield f"In {name}, it was skipped: {line}."
    elif file := _file_called(source.location, title):
        yield f"{name} has the file {file}, {_why_no_note(file, source)}."


def _is_called(title: str, other: str, key: str, location: str) -> bool:
    wanted, base = title.casefold(), key.rpartition("/")[2]
    names = {other, key, base, base.rpartition(".")[0], os.path.join(location, key)}
    return wanted in {" ".join(each.split()).casefold() for each in names}


def _why_left_out(note: Note, stored: StoredSource) -> str:
    if note.trashed and not stored.config.include_trashed:
        return "but in its trash, which isn't indexed"
    for never in stored.config.never:
        if any(is_within(tag.name, never) for tag in note.tags):
            return f"but has the tag {never}, whose notes are never indexed"
    return "but new or changed since that was indexed; run: datasette bear-index"


def _line_about(skipped: Any, title: str) -> str:
    """Return the reason for which a source skipped a file, from its lines ``key: reason``."""
    for line in map(str, skipped):
        key, _, why = line.partition(": ")
        if why and _is_called(title, "", key, ""):
            return why.rstrip(".")
    return ""


def _file_called(location: str, title: str) -> str:
    """Return the path of a file in a folder, relative to it; "" if there is none."""
    root = os.path.expanduser(location)
    for folder, _, names in os.walk(root):
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        for name in names:
            key = name if below == "." else f"{below}/{name}"
            if _is_called(title, "", key, root):
                return key
    return ""


def _why_no_note(file: str, source: Any) -> str:
    parts = file.split("/")
    if any(part.startswith(".") for part in parts):
        return "but files and folders whose names begin with a dot aren't read"
    if software := SOFTWARE.intersection(parts):
        return f"but {min(software)} is a folder of software, which isn't read"
    end = suffix(file)
    if end not in getattr(source, "suffixes", (end,)):
        return f"but this kind of source doesn't read {end or 'such'} files"
    with suppress(OSError):
        if os.path.getsize(os.path.join(os.path.expanduser(source.location), file)) == 0:
            return "but it is empty"
    return "but the settings of the source or of its app leave it out"
