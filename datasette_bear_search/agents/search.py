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
from ..search.results.snippets import lead, passage_text, shortened
from . import CHARACTERS_PER_TOKEN, AgentLibrary, ToolError, ToolResult, note_facts, without_empty
from .notes import only_note
from .text import about_lines, heading_lines, origin, quoted, text_lines

# Results per phrasing that are fused. For 78 questions that don't use the notes' words, the right
# note is in the top three for 66 with three phrasings, 50 with one, 53 with one by meaning alone.
# Three take 110 ms instead of 25 (benchmarks/quality/tool_calls.py).
FUSED = 20

# The facts about a note that "concise" returns, and characters of its text.
CONCISE = (
    "id", "title", "url", "folder", "modified", "archived", "encrypted", "outside", "snippet", "why"
)  # fmt: skip
CONCISE_CHARACTERS = 160

# Titles that follow the results. Of near twins, a list of titles tells more than five snippets.
NEXT_TITLES = 10

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
    sort: str,
    filters: Mapping[str, Sequence[str]],
    recency: int | None,
    found_only: bool,
    detail: str,
    links: bool,
    max_tokens: int,
    limit: int,
    offset: int,
    why: str = "",
) -> ToolResult:
    texts = list(dict.fromkeys(filter(None, (query, *queries))))
    if not texts and not filters:
        raise ToolError(
            'search_notes needs a query, or filters to list notes by, such as {"tag": "work"}. '
            "list_tags shows which tags there are."
        )
    texts = texts or [""]
    is_fused = len(texts) > 1
    size, start = (FUSED, 0) if is_fused else (limit + NEXT_TITLES, offset)
    how: dict[str, Any] = {"mode": mode, "recency": recency, "wait": engine.WAIT}
    page = {"sort": sort, "found": found_only, "limit": size, "offset": start}
    responses = _responses(library, texts, filters, how | page)
    results = responses[texts[0]].results
    hits, total, found = list(results.hits), results.total, results.found
    if is_fused:
        hits = _fused([response.results for response in responses.values()], sort)
        total = found = len(hits)
        hits = hits[offset : offset + limit + NEXT_TITLES]
    is_concise = detail == "concise"
    notes = [_hit(library, hit, links, is_concise) for hit in hits[:limit]]
    notes, about = library.with_origin(notes)
    if is_concise:
        notes = [{name: note[name] for name in CONCISE if name in note} for note in notes]
    shown = _within(notes, max_tokens)
    end = offset + (limit if len(shown) == len(notes) else len(shown))
    notices = _notices(responses)
    if why:
        how |= {"limit": limit + offset, "reads_sources": library.reads_sources, **filters}
        notices.insert(0, library.why(why, texts[0], **how))
    next_hits = hits[len(shown) : len(shown) + NEXT_TITLES]
    data: dict[str, Any] = {
        "total": total,
        "found": found,
        "offset": offset,
        "next_offset": end if end < total else None,
        "notices": notices,
        "about": about,
        "next_titles": [{"id": hit.id, "title": hit.title} for hit in next_hits],
    }
    return _result(_heading(data, len(shown)), data, shown)


def _responses(
    library: AgentLibrary, texts: Sequence[str], filters: Mapping[str, Any], options: dict[str, Any]
) -> dict[str, SearchResponse]:
    """Return the response to each text. If none finds anything, search more widely."""
    found = {text: library.search(text, **options, **filters) for text in texts}
    if any(response.results.found for response in found.values()):
        return found
    for text, response in found.items():
        if unfiltered := response.results.unfiltered:
            wider = library.search(unfiltered.text, **options)
            why = [it for it in response.notices if it != unfiltered.notice]  # no such tag
            notices = [*why, _UNFILTERED.format(unfiltered.without), *wider.notices]
            found[text] = replace(wider, notices=tuple(dict.fromkeys(notices)))
        elif options["found"] and options["mode"] not in ("semantic", "like"):
            # A name that no note has mustn't hide what the notes say about the other words.
            some_words = options | {"mode": "keyword", "found": False}
            wider = library.search(text, **some_words, **filters)
            found[text] = wider if wider.hits else response
    return found


def similar_notes(
    library: AgentLibrary, id: int | str | None, limit: int, unlinked: bool, links: bool
) -> ToolResult:
    if id is None:
        raise ToolError(
            "similar_notes needs the id of a note, as search_notes gives it, or its title."
        )
    found = library.similar(only_note(library, id), limit=limit, unlinked=unlinked)
    notes, about = library.with_origin([_similar(each, links) for each in found.notes])
    heading = f"like {quoted(found.title)} (id {found.id})"
    heading = f"{counted(len(notes), 'note')} {heading}" if notes else f"No note is {heading}."
    data = {"id": found.id, "title": found.title, "notices": list(found.notices), "about": about}
    return _result(heading, data, notes)


def _fused(lists: Sequence[Results], sort: str) -> list[Hit]:
    """Fuse the results by RRF; each note keeps the hit of the query that ranks it best."""
    ranks: dict[int, list[int]] = {}
    best: dict[int, tuple[int, Hit]] = {}
    for results in lists:
        for rank, hit in enumerate(results.hits, 1):
            ranks.setdefault(hit.id, []).append(rank)
            best[hit.id] = min(best.get(hit.id, (rank, hit)), (rank, hit), key=itemgetter(0))
    order = sorted(ranks, key=lambda note: -(rrf(*ranks[note]) or 0))  # stable
    hits = [best[note][1] for note in order]
    if sort == "relevance":
        return hits
    return sorted(hits, key=lambda hit: hit.modified or "", reverse=sort == "newest")


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


def _hit(library: AgentLibrary, hit: Hit, links: bool, is_concise: bool) -> dict[str, Any]:
    shown = hit.snippet
    if is_concise:
        shown = shortened(shown[lead(shown)[0] :], CONCISE_CHARACTERS)
    parts = (f"**{text}**" if is_match else text for text, is_match in shown.stretches())
    more = {
        "snippet": "".join(parts),
        "in_file": hit.in_file,
        "file": hit.file,
        "passage": None if hit.in_file else _passage(hit, with_text=False),
        "missing": list(hit.missing),
        "why": hit.why,
    }
    facts = note_facts(hit, links=links)
    facts.pop("created", None)
    folder = "" if "://" in hit.key else library.shown(hit.key.rpartition("/")[0])
    return facts | without_empty({"folder": folder, **more})


def _similar(note: SimilarNote, links: bool) -> dict[str, Any]:
    passage = _passage(note, with_text=True)
    facts = note_facts(note, links=links)
    return facts | without_empty({"passage": passage, "why": " · ".join(note.reasons)})


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
    offset = data["offset"]
    if not shown:
        return f"There are no results after offset {offset}." if offset else _NOTHING
    results = counted(data["found"] or data["total"], "result")
    heading = f"{results}, {offset + 1} to {offset + shown} shown."
    if data["next_offset"]:
        heading += f" For more: offset={data['next_offset']}."
    return heading


def _result(heading: str, data: Mapping[str, Any], notes: Sequence[dict[str, Any]]) -> ToolResult:
    lines = [heading, *(f"Notice: {printable(notice)}" for notice in data["notices"])]
    lines += [*about_lines(data["about"]), *map(_note_text, notes)]
    if then := data.get("next_titles"):
        titles = " · ".join(f"{quoted(note['title'])} (id {note['id']})" for note in then)
        lines.append(f"\nThe next by title: {titles}")
    from_outside = without_empty({"origin": origin(notes)})
    lines += [f"\n{line}" for line in from_outside.values()]
    return ToolResult("\n".join(lines), without_empty(data) | {"notes": notes} | from_outside)


def _note_text(note: Mapping[str, Any]) -> str:
    lines = heading_lines(note, "\n##")
    passage = note.get("passage", {})
    text = note.get("snippet") or passage.get("text")
    if note.get("in_file"):
        lines.append(f"in {quoted(note['file'])}:" if note.get("file") else "in an image or file:")
    elif passage:
        under = f", under {quoted(passage['heading'])}" if "heading" in passage else ""
        lines.append(f"lines {passage['lines']}{under}{':' if text else ''}")
    return "\n".join([*lines, text_lines(text)] if text else lines)
