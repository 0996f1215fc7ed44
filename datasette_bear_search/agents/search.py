"""The tools that search: ``search_notes`` and ``similar_notes``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Any

from ..notes import counted, printable
from ..search import engine
from ..search.engine import SearchResponse
from ..search.notes.similar import SimilarNote
from ..search.ranking.scores import rrf
from ..search.results.records import Hit, Results
from ..search.results.snippets import passage_text, shortened
from . import CHARACTERS_PER_TOKEN, AgentLibrary, ToolError, ToolResult, note_facts, without_empty
from .text import about_lines, heading_lines, origin, quoted, text_lines

# Results per phrasing that are fused. For 78 questions that don't use the notes' words, the right
# note is in the top three for 66 with three phrasings, 50 with one, 53 with one by meaning alone.
# Three take 110 ms instead of 25 (benchmarks/quality/tool_calls.py).
FUSED = 20

# The facts about a note that "concise" returns, and characters of its text.
CONCISE = ("id", "title", "url", "modified", "archived", "encrypted", "outside", "snippet")
CONCISE_CHARACTERS = 160

# Characters of a passage. More would fill the context, and get_notes returns the whole note.
PASSAGE_CHARACTERS = 400

_NOTHING = (
    "No note was found. Try other words for the same thing, fewer filters, or words that the "
    "person would have written in such a note; list_tags shows which tags there are."
)
_UNFILTERED = "No note fits {}, these are the results."


def search_notes(
    library: AgentLibrary,
    query: str,
    queries: Sequence[str],
    mode: str,
    filters: Mapping[str, Sequence[str]],
    recency: int | None,
    found_only: bool,
    detail: str,
    max_tokens: int,
    limit: int,
    offset: int,
) -> ToolResult:
    texts = list(dict.fromkeys(filter(None, (query, *queries))))
    if not texts and not filters:
        raise ToolError(
            'search_notes needs a query, or filters to list notes by, such as {"tag": "work"}. '
            "list_tags shows which tags there are."
        )
    is_fused = len(texts) > 1
    size, start = (FUSED, 0) if is_fused else (limit, offset)
    more: dict[str, Any] = {"mode": mode, "recency": recency, "found": found_only}
    more |= {"limit": size, "offset": start, "wait": engine.WAIT}
    filtered = {**more, **filters}
    responses = {text: library.search(text, **filtered) for text in texts or [""]}
    if not any(response.results.found for response in responses.values()):
        for text, response in responses.items():
            if unfiltered := response.results.unfiltered:
                wider = library.search(unfiltered.text, **more)
                notices = (_UNFILTERED.format(unfiltered.without), *wider.notices)
                responses[text] = replace(wider, notices=notices)
    lists = [response.results for response in responses.values()]
    if is_fused:
        hits = _fused(lists)
        total = found = len(hits)
        hits = hits[offset : offset + limit]
    else:
        hits, total, found = list(lists[0].hits), lists[0].total, lists[0].found
    next_offset = offset + limit if offset + limit < total else None
    notes, about = library.with_origin([*map(_hit, hits)])
    if detail == "concise":
        notes = [*map(_concise, notes)]
    shown = _within(notes, max_tokens)
    if len(shown) < len(notes):
        next_offset = offset + len(shown)
    data: dict[str, Any] = {"total": total, "found": found, "offset": offset}
    data |= {"next_offset": next_offset, "notices": _notices(responses), "about": about}
    return _result(_heading(data, len(shown)), data, shown)


def similar_notes(
    library: AgentLibrary, id: int | str | None, limit: int, unlinked: bool
) -> ToolResult:
    if id is None:
        raise ToolError("similar_notes needs the id of a note, as search_notes gives it.")
    found = library.similar(id, limit=limit, unlinked=unlinked)
    notes, about = library.with_origin([*map(_similar, found.notes)])
    heading = f"like {quoted(found.title)} (id {found.id})"
    heading = f"{counted(len(notes), 'note')} {heading}" if notes else f"No note is {heading}."
    data = {"id": found.id, "title": found.title, "notices": list(found.notices), "about": about}
    return _result(heading, data, notes)


def _fused(lists: Sequence[Results]) -> list[Hit]:
    """Fuse the results by RRF; each note keeps the hit of the query that ranks it best."""
    ranks: dict[int, list[int]] = {}
    best: dict[int, tuple[int, Hit]] = {}
    for results in lists:
        for rank, hit in enumerate(results.hits, 1):
            ranks.setdefault(hit.id, []).append(rank)
            best[hit.id] = min(best.get(hit.id, (rank, hit)), (rank, hit), key=itemgetter(0))
    order = sorted(ranks, key=lambda note: -(rrf(*ranks[note]) or 0))  # stable
    return [best[note][1] for note in order]


def _notices(responses: Mapping[str, SearchResponse]) -> list[str]:
    """Return the notices common to all queries, then the others, each with its query's text."""
    said = {}
    for text, response in responses.items():
        said[text] = [
            f"No note has “{typed}”; this is what was found for “{corrected}”."
            for typed, corrected in response.results.plan.corrections
        ]
        said[text] += response.notices
    of_all = set.intersection(*map(set, said.values()))
    shared = [notice for notice in next(iter(said.values())) if notice in of_all]
    own = ((text, notice) for text in said for notice in said[text] if notice not in of_all)
    return [*shared, *(f"“{text}”: {notice}" for text, notice in own)]


def _within(notes: Sequence[dict[str, Any]], max_tokens: int) -> list[dict[str, Any]]:
    """Return as many of the first notes as fit, but at least one."""
    left = max_tokens * CHARACTERS_PER_TOKEN
    sizes = accumulate(len(json.dumps(note, ensure_ascii=False)) for note in notes)
    return [note for note, size in zip(notes, sizes) if size < left] or [*notes[:1]]


def _concise(note: Mapping[str, Any]) -> dict[str, Any]:
    text = note.get("snippet", "")
    start = max(0, text.find("**") - CONCISE_CHARACTERS // 4)
    start = text.rfind(" ", 0, start) + 1
    kept = {name: note[name] for name in CONCISE if name in note}
    return without_empty({**kept, "snippet": shortened(text[start:], CONCISE_CHARACTERS)})


def _hit(hit: Hit) -> dict[str, Any]:
    parts = (f"**{text}**" if is_match else text for text, is_match in hit.snippet.stretches())
    more = {
        "snippet": "".join(parts),
        "in_file": hit.in_file,
        "file": hit.file,
        "passage": None if hit.in_file else _passage(hit, with_text=False),
        "missing": list(hit.missing),
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
        text = shortened(passage_text(passage, note.title), PASSAGE_CHARACTERS)
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


def _result(heading: str, data: Mapping[str, Any], notes: Sequence[dict[str, Any]]) -> ToolResult:
    lines = [heading, *(f"Notice: {printable(notice)}" for notice in data["notices"])]
    lines += [*about_lines(data["about"]), *map(_note_text, notes)]
    from_outside = without_empty({"origin": origin(notes)})
    lines += [f"\n{line}" for line in from_outside.values()]
    return ToolResult("\n".join(lines), without_empty(data) | {"notes": notes} | from_outside)


def _note_text(note: Mapping[str, Any]) -> str:
    lines = heading_lines(note, "\n##", "missing", "snippet", "in_file", "file", "passage")
    passage = note.get("passage", {})
    text = note.get("snippet") or passage.get("text")
    if note.get("in_file"):
        lines.append(f"in {quoted(note['file'])}:" if note.get("file") else "in an image or file:")
    elif passage:
        under = f", under {quoted(passage['heading'])}" if "heading" in passage else ""
        lines.append(f"lines {passage['lines']}{under}{':' if text else ''}")
    return "\n".join([*lines, text_lines(text)] if text else lines)
