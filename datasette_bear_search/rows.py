"""What every answer says of its results: rows for programs, reasons for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from .markup import plain_text
from .planning import Plan
from .search import Hit, Results
from .sidecar import fold_tag
from .told import ELLIPSIS, END_MARK, MARK


def json_row(hit: Hit) -> dict[str, Any]:
    """A hit for programs; its snippet is HTML with ``<mark>`` around matches."""
    row = _as_dict(hit)
    row["snippet"] = hit.snippet_html()
    row["passage"] = hit.passage and _as_dict(hit.passage)
    return row


def _as_dict(record: Any) -> dict[str, Any]:
    """A record's fields as they are: dataclasses.asdict copies them, which takes longer than all that is done with them."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def json_answer(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
    """An answer for programs, in the shapes of Datasette 1.0; ``more`` stands beside the counts."""
    return {
        "ok": True,
        "rows": [json_row(hit) for hit in results.hits],
        "next": None if results.next_offset is None else str(results.next_offset),
        "total": results.total,
        "found": results.found,
        **more,
        "query": json_query(results, rerank),
        "notices": notices,
        "timing_ms": timing_ms,
    }


def json_query(results: Results, rerank: str | None) -> dict[str, Any]:
    """How a query was read and run, for programs."""
    query, plan = results.query, results.plan
    return {
        "text": query.text,
        "words": query.words,
        "phrases": query.phrases,
        "prefixes": query.prefixes,
        "identifiers": query.identifiers,
        "excluded": query.excluded,
        "is_boolean": query.is_boolean,
        "in_title": query.in_title,
        "match": query.match,
        "exact": query.exact,
        "mode": query.mode,
        "legs": results.legs,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "meaning": query.meaning,
        "filters": query.filters.values(),
        "understood": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.understood
        ],
    }


def why(hit: Hit, planned: Plan) -> str:
    """Why a note was found, in plain words: ``words, 3rd · meaning, 1st (0.71) · title``.

    Of what has the words, meaning is a reason only where it is close.
    """
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "not close in meaning"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), query.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "as it stands")
    return " · ".join(reasons)


def is_close(hit: Hit, planned: Plan) -> bool:
    """Whether the passage of a hit is closer in meaning than what is found for nonsense."""
    return hit.similarity is not None and hit.similarity >= (planned.floor or 0.0)


def snippet_covers(hit: Hit) -> bool:
    """Whether snippet and passage of a hit are the same words, so that one of them is enough."""
    if hit.passage is None:
        return True
    snippet = _words(hit.snippet.replace(MARK, "").replace(END_MARK, "")).strip(f"{ELLIPSIS} ")
    passage = _words(hit.passage.text)
    return snippet in passage or passage in snippet


def innermost(tags: Sequence[str]) -> list[str]:
    """The tags without those above them: where there is ``home/garden``, ``home`` goes without saying."""
    folded = [fold_tag(tag) for tag in tags]
    return [
        tag
        for tag, own in zip(tags, folded)
        if not any(other.startswith(f"{own}/") for other in folded)
    ]


def _words(markdown: str) -> str:
    return " ".join(plain_text(markdown).split())


def _ordinal(number: int) -> str:
    suffix = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number:,}{suffix}"
