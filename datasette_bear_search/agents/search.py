"""The tools ``search_notes`` and ``similar_notes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..index.database import count_notes
from ..index.schema import WORDS
from ..query.filters import FILTERS, Filter, InvalidParameter
from ..query.query import Query
from ..search import engine, redaction, similar
from ..search.planner import Plan
from ..search.request import Parameters, SearchRequest, read_request
from ..search.results import Hit
from ..search.similar import SimilarNote
from ..search.snippets import innermost, passage_text, shortened, shown_text, why
from ..search.sql import END_MARK, MARK
from ..sqlite import sqlite3
from .context import Arguments, Library, ToolAnswer, ToolError, day, facts_line, without_empty

LIMIT = 5
MAX_LIMIT = 20
# Rank what is asked in other words than the note's by meaning alone: of 78 such questions the right
# note is among the first three in 59, otherwise in 53 (benchmarks/quality/tool_calls.py).
PARAPHRASED = {"balance": ["1"]}

# Further pages than anybody reads.
MAX_OFFSET = 10_000

# Characters of a passage. Five results with twice as many fill twice the context, and who wants to read opens the note.
PASSAGE_CHARACTERS = 400


# What filters there are: those of the search page.
def _schema(row: Filter, parameter: str) -> dict[str, Any]:
    described = {"description": row.help} if row.help and parameter == row.parameters[0] else {}
    if row.kind in ("state", "date"):
        return {"type": "boolean" if row.kind == "state" else "string", **described}
    items = {"type": "string", **({"enum": list(row.choices)} if row.choices else {})}
    return {"type": "array", "items": items, **described}


FILTER_SCHEMAS = {
    parameter: _schema(row, parameter) for row in FILTERS.values() for parameter in row.parameters
}

_NOTHING = (
    "No note was found. Try other words for the same thing, fewer filters, or words that the person would have "
    "written in such a note; list_tags shows which tags there are."
)


def search_notes(library: Library, values: Mapping[str, Any]) -> ToolAnswer:
    """Notes by words and by meaning."""
    known = ("query", "mode", "paraphrase", "filters", "limit", "offset")
    arguments = Arguments("search_notes", values, known)
    filters = arguments.named_texts("filters")
    if unknown := [name for name in filters if name not in FILTER_SCHEMAS]:
        raise ToolError(
            f"There is no filter {unknown[0]!r}. The filters are: {', '.join(FILTER_SCHEMAS)}."
        )
    if not arguments.text("query") and not filters:
        raise ToolError(
            'search_notes needs a query, or filters to list notes by, such as {"tag": "work"}. '
            "list_tags shows which tags there are."
        )
    limit = arguments.number("limit", LIMIT, 1, MAX_LIMIT)
    offset = arguments.number("offset", 0, 0, MAX_OFFSET)
    parameters = Parameters(
        {
            "q": [arguments.text("query")],
            "mode": [arguments.text("mode") or "auto"],
            **(PARAPHRASED if arguments.is_set("paraphrase") else {}),
            **filters,
        }
    )
    try:
        request = read_request(parameters, size=limit, offset=offset)
    except InvalidParameter as error:
        raise ToolError(f"{error}.") from None
    request = replace(request, query=_visible(library, request))
    with library.open() as connection:
        options: dict[str, Any] = {
            "time_limit_ms": library.time_limit_ms,
            "redact": library.redact,
        }
        response = engine.search(connection, request, **options)
        if not all(_is_visible(library, connection, word) for word in _corrected(response)):
            # That there is such a word is known only from notes that nobody may know of.
            response = engine.search(connection, replace(request, correct=False), **options)
        hits = response.results.hits
        lines = _lines(connection, hits)
    notices = [*_corrections(response.results.plan), *response.notices]
    notes = [_found(hit, response.results.plan, lines.get(hit.id)) for hit in hits]
    data = {
        "total": response.results.total,
        "found": response.results.found,
        "offset": offset,
        "next_offset": response.results.next_offset,
        "notices": notices,
        "notes": notes,
    }
    return ToolAnswer(_search_text(data), without_empty(data) | {"notes": notes})


def similar_notes(library: Library, values: Mapping[str, Any]) -> ToolAnswer:
    """The notes most like one note."""
    arguments = Arguments("similar_notes", values, ("id", "limit"))
    if "id" not in arguments:
        raise ToolError("similar_notes needs the id of a note, as search_notes gives it.")
    note_id = arguments.number("id", 0, 1, 10**18)
    limit = arguments.number("limit", LIMIT, 1, MAX_LIMIT)
    with library.open() as connection:
        sql, parameters = library.visible_ids()
        visible = {found for (found,) in connection.execute(sql, parameters)}
        all_notes = count_notes(connection)
        if note_id not in visible:
            raise ToolError(
                f"There is no note with the id {note_id}. search_notes gives the ids of notes."
            )
        # Enough that those which are left out can't crowd out the others.
        found = similar.find_similar(connection, note_id, size=limit + all_notes - len(visible))
        assert found is not None
        shown = [note for note in found.notes if note.id in visible][:limit]
        if library.redact:
            found = redaction.similar_notes(connection, replace(found, notes=tuple(shown)))
            shown = list(found.notes)
        lines = _lines(connection, shown)
    notes = [_alike(note, lines.get(note.id)) for note in shown]
    data = {"id": note_id, "title": found.title, "notices": list(found.notices), "notes": notes}
    heading = f"{len(notes)} notes like “{found.title}” (id {note_id})"
    if not notes:
        heading = f"No note is like “{found.title}” (id {note_id})."
    return ToolAnswer(
        "\n".join([heading, *_notice_lines(found.notices), *map(_note_text, notes)]),
        without_empty(data) | {"notes": notes},
    )


def _visible(library: Library, request: SearchRequest) -> Query:
    """The query, which can find only what may be seen."""
    query = request.query
    return replace(
        query,
        filters=query.filters & library.visible,
        filters_beside=query.filters_beside & library.visible,
    )


def _corrected(response: engine.SearchResponse) -> list[str]:
    return [searched for _, searched in response.results.plan.corrections]


def _is_visible(library: Library, connection: sqlite3.Connection, word: str) -> bool:
    """Whether a word stands in any note that may be seen."""
    if not library.hidden_tags:
        return True
    sql, parameters = library.visible_ids()
    [found] = connection.execute(
        f"select exists (select 1 from {WORDS} where {WORDS} match :word and rowid in ({sql}))",
        {**parameters, "word": f'"{word}"'},
    ).fetchone()
    return bool(found)


def _corrections(plan: Plan) -> list[str]:
    return [
        f"No note has “{typed}”; this is what was found for “{searched}”."
        for typed, searched in plan.corrections
    ]


def _lines(
    connection: sqlite3.Connection, notes: Sequence[Hit] | Sequence[SimilarNote]
) -> dict[int, str]:
    """Note's id → the lines of its body on which its passage stands, such as ``12-18``."""
    lines = {}
    for note in notes:
        if note.passage is None or note.encrypted:
            continue
        [body] = connection.execute("select body from notes where id = ?", [note.id]).fetchone()
        first = body.count("\n", 0, note.passage.start) + 1
        last = first + body.count("\n", note.passage.start, note.passage.end)
        lines[note.id] = f"{first}-{last}" if last > first else f"{first}"
    return lines


def _found(hit: Hit, planned: Plan, lines: str | None) -> dict[str, Any]:
    """A hit as data. What the snippet says, the passage needn't say again."""
    shown = shown_text(hit, planned)
    snippet = " ".join(shown.snippet.split()).replace(MARK, "**").replace(END_MARK, "**")
    return _note(
        hit,
        snippet=snippet,
        passage=_passage(hit, lines, with_text=bool(shown.passage)),
        why=why(hit, planned),
    )


def _alike(note: SimilarNote, lines: str | None) -> dict[str, Any]:
    return _note(note, passage=_passage(note, lines, with_text=True), why=" · ".join(note.reasons))


def _note(note: Hit | SimilarNote, **more: Any) -> dict[str, Any]:
    facts = {
        "id": note.id,
        "title": note.title,
        "url": note.url,
        "tags": innermost(note.tags),
        "created": day(note.created),
        "modified": day(note.modified),
        "pinned": note.pinned,
        "archived": note.archived,
        "encrypted": note.encrypted,
    }
    return without_empty({**facts, **more})


def _passage(
    note: Hit | SimilarNote, lines: str | None, *, with_text: bool
) -> dict[str, Any] | None:
    passage, text = note.passage, ""
    if passage is None or lines is None:
        return None
    if with_text and passage.end > passage.start:
        text = passage_text(passage, note.title, as_markdown=True)
        text = shortened(text, PASSAGE_CHARACTERS)
    return without_empty({"heading": passage.heading, "lines": lines, "text": text})


def _search_text(data: Mapping[str, Any]) -> str:
    notes, total, offset = data["notes"], data["total"], data["offset"]
    if notes:
        heading = f"{data['found']} found"
        if total > data["found"]:
            heading += f" and {total - data['found']} that are less close in meaning"
        heading += f", {offset + 1} to {offset + len(notes)} shown."
        if data["next_offset"]:
            heading += f" For more: offset={data['next_offset']}."
    elif total:
        heading = f"{total} found, none of them after offset {offset}."
    else:
        heading = _NOTHING
    return "\n".join([heading, *_notice_lines(data["notices"]), *map(_note_text, notes)])


def _notice_lines(notices: Sequence[str]) -> list[str]:
    return [f"Notice: {notice}" for notice in notices]


def _note_text(note: Mapping[str, Any]) -> str:
    facts = {
        name: value
        for name, value in note.items()
        if name not in ("id", "title", "snippet", "passage", "why")
    }
    lines = [f"\n## {note.get('title', 'Untitled')} (id {note['id']})", facts_line(facts)]
    if note.get("why"):
        lines.append(f"why: {note['why']}")
    if note.get("snippet"):
        lines.append(f"match: {note['snippet']}")
    if passage := note.get("passage"):
        under = f", under “{passage['heading']}”" if "heading" in passage else ""
        text = f":\n{passage['text']}" if "text" in passage else ""
        lines.append(f"lines {passage['lines']}{under}{text}")
    return "\n".join(lines)
