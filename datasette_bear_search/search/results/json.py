"""The results in responses: rows for programs, reasons for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..planning.planner import Plan
from .marks import marked_html
from .records import Hit, RankedNote, Results
from .sentences import is_close


def json_row(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON. Marked text becomes HTML with ``<mark>`` around matches."""
    # dataclasses.asdict() isn't used, because it copies all values, which is slow.
    return vars(hit) | {
        "passage": hit.passage and dict(vars(hit.passage)),
        "snippet": marked_html(hit.snippet),
        "marked_title": marked_html(hit.marked_title),
        "marked_tags": [*map(marked_html, hit.marked_tags)],
    }


def json_body(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
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
    query, plan, terms = results.query, results.plan, results.plan.terms
    return {
        "text": query.text,
        **{name: getattr(terms, name) for name in _TERMS},
        "excluded": plan.text_filters.excluded,
        "is_boolean": bool(terms.boolean),
        "in_title": query.in_title,
        "match": terms.match,
        "exact": terms.exact,
        "mode": query.mode,
        "legs": results.retrievers,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "offers": plan.offers,
        "meaning": terms.meaning,
        "filters": plan.filters.for_programs(),
        "understood": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.understood
        ],
    }


_TERMS = ("words", "phrases", "prefixes", "identifiers")


def why_found(hit: RankedNote, planned: Plan) -> str:
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    # If a note has the words, meaning is a reason only if it is close.
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "loosely related"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), planned.terms.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "exactly as typed")
    return " · ".join(reasons)


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    suffix = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"
