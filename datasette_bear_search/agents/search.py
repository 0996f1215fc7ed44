"""The tools that search: ``search_notes`` and ``similar_notes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..index.database import count_notes
from ..index.schema import WORDS
from ..notes import counted
from ..query.filters import InvalidParameter
from ..search import engine, redaction
from ..search.engine import read_request
from ..search.notes import find_note_id
from ..search.results import Hit
from ..search.similar import SimilarNote, find_similar
from ..search.snippets import passage_text, shortened, with_words_marked
from ..search.sql import END_MARK, MARK
from ..sqlite import sqlite3
from . import Library, ToolError, ToolResult, facts_line, note_facts, note_heading, without_empty

LIMIT = 5
MAX_LIMIT = 20
MAX_OFFSET = 10_000  # further than anybody reads

# Rank what is asked in other words than the note's by meaning alone: of 78 such questions the right
# note is among the first three in 59, otherwise in 53 (benchmarks/quality/tool_calls.py).
PARAPHRASED = {"balance": ["1"]}

# Characters of a passage. Five results with twice as many fill twice the context, and get_notes
# gives the whole note.
PASSAGE_CHARACTERS = 400

_NOTHING = (
    "No note was found. Try other words for the same thing, fewer filters, or words that the "
    "person would have written in such a note; list_tags shows which tags there are."
)


def search_notes(
    library: Library,
    query: str,
    mode: str,
    paraphrase: bool,
    filters: Mapping[str, Sequence[str]],
    limit: int,
    offset: int,
) -> ToolResult:
    """Return the notes that match best, by words and by meaning."""
    if not query and not filters:
        raise ToolError(
            'search_notes needs a query, or filters to list notes by, such as {"tag": "work"}. '
            "list_tags shows which tags there are."
        )
    ranking = PARAPHRASED if paraphrase else {}
    parameters = {"q": [query], "mode": [mode], "found": ["1"], **ranking, **filters}
    try:
        request = read_request(parameters, size=limit, offset=offset)
    except InvalidParameter as error:
        raise ToolError(f"{error}.") from None
    beside = request.query.filters_beside & library.visible
    request = replace(request, query=replace(request.query, filters_beside=beside))
    options: dict[str, Any] = {"time_limit_ms": library.time_limit_ms, "redact": library.redact}
    options["wait"] = engine.WAIT
    with library.open() as connection:
        response = engine.search(connection, request, **options)
        meant = response.results.plan.foreign_words
        if not all(_is_visible(library, connection, word) for word in meant):
            # Only hidden notes have this word: nobody may learn from a correction that they do.
            response = engine.search(connection, replace(request, correct=False), **options)
        results = response.results
        notes = [_hit(hit) for hit in results.hits]
    corrections = [
        f"No note has “{typed}”; this is what was found for “{corrected}”."
        for typed, corrected in results.plan.corrections
    ]
    data = {
        "total": results.total,
        "found": results.found,
        "offset": offset,
        "next_offset": results.next_offset,
        "notices": [
            *corrections,
            *results.plan.remarks,
            *filter(None, [*response.notices, library.changed_notice()]),
        ],
    }
    return _result(_heading(data, len(notes)), data, notes)


def similar_notes(library: Library, id: int | str | None, limit: int, unlinked: bool) -> ToolResult:
    if id is None:
        raise ToolError("similar_notes needs the id of a note, as search_notes gives it.")
    with library.open() as connection:
        sql, parameters = library.visible_ids()
        visible = {visible_id for (visible_id,) in connection.execute(sql, parameters)}
        name, id = id, find_note_id(connection, str(id))
        if id not in visible:
            raise ToolError(
                f"There is no note with the id {name}. search_notes gives the ids of notes."
            )
        # So many more that hidden notes can't crowd out visible ones.
        hidden = count_notes(connection) - len(visible)
        found = find_similar(connection, id, size=limit + hidden, unlinked=unlinked)
        assert found is not None
        shown = tuple(note for note in found.notes if note.id in visible)[:limit]
        found = replace(found, notes=shown)
        if library.redact:
            found = redaction.masked_similar(connection, found)
        notes = [_similar(note) for note in found.notes]
    heading = f"like “{found.title}” (id {id})"
    heading = f"{counted(len(notes), 'note')} {heading}" if notes else f"No note is {heading}."
    data = {"id": id, "title": found.title, "notices": list(found.notices)}
    return _result(heading, data, notes)


def _is_visible(library: Library, connection: sqlite3.Connection, word: str) -> bool:
    if not library.hidden_tags:
        return True
    sql, parameters = library.visible_ids()
    [found] = connection.execute(
        f"select exists (select 1 from {WORDS} where {WORDS} match :word and rowid in ({sql}))",
        {**parameters, "word": f'"{word}"'},
    ).fetchone()
    return bool(found)


def _hit(hit: Hit) -> dict[str, Any]:
    text = with_words_marked(hit.snippet).replace(MARK, "**").replace(END_MARK, "**")
    more = {
        "snippet": text,
        "in_file": bool(hit.file),
        "file": hit.file_name,
        "passage": None if hit.file else _passage(hit, with_text=False),
        "why": hit.why,
    }
    return note_facts(hit) | without_empty(more)


def _similar(note: SimilarNote) -> dict[str, Any]:
    passage = _passage(note, with_text=True)
    return note_facts(note) | without_empty({"passage": passage, "why": " · ".join(note.reasons)})


def _passage(note: Hit | SimilarNote, *, with_text: bool) -> dict[str, Any] | None:
    passage, text = note.passage, ""
    if passage is None or note.encrypted:
        return None
    first = passage.line or 1
    last = first + passage.text.count("\n") if passage.end > passage.start else first
    if with_text and passage.end > passage.start:
        text = shortened(passage_text(passage, note.title, as_markdown=True), PASSAGE_CHARACTERS)
    lines = f"{first}-{last}" if last > first else f"{first}"
    return without_empty({"heading": passage.heading, "lines": lines, "text": text})


def _heading(data: Mapping[str, Any], shown: int) -> str:
    found, offset = data["found"], data["offset"]
    if not shown:
        return f"There are no results after offset {offset}." if offset else _NOTHING
    heading = f"{counted(found, 'result')}, {offset + 1} to {offset + shown} shown."
    if data["next_offset"]:
        heading += f" For more: offset={data['next_offset']}."
    return heading


def _result(
    heading: str, data: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]
) -> ToolResult:
    lines = [heading, *(f"Notice: {notice}" for notice in data["notices"]), *map(_note_text, notes)]
    return ToolResult("\n".join(lines), without_empty(data) | {"notes": notes})


def _note_text(note: Mapping[str, Any]) -> str:
    facts = facts_line(note, "id", "title", "snippet", "in_file", "file", "passage", "why")
    lines = [f"\n## {note_heading(note)}", facts]
    if note.get("why"):
        lines.append(f"why: {note['why']}")
    if note.get("snippet"):
        where = f" in {note.get('file') or 'an image or file'}" if note.get("in_file") else ""
        lines.append(f"match{where}: {note['snippet']}")
    if passage := note.get("passage"):
        under = f", under “{passage['heading']}”" if "heading" in passage else ""
        text = f":\n{passage['text']}" if "text" in passage else ""
        lines.append(f"lines {passage['lines']}{under}{text}")
    return "\n".join(lines)
