"""The results in responses: rows for programs, reasons for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..planning.planner import Plan
from .records import Hit, Results
from .sentences import is_close


def json_row(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON. Its snippet is HTML with ``<mark>`` around matches."""
    # dataclasses.asdict() isn't used, because it copies all values, which is slow.
    passage = hit.passage and dict(vars(hit.passage))
    shown = {
        "snippet": hit.snippet_html(),
        "passage": passage,
        "in_file": bool(hit.file),
        "file": hit.file_name or None,
    }
    return {name: value for name, value in vars(hit).items() if name not in _NOT_IN_JSON} | shown


_NOT_IN_JSON = frozenset(
    "language around around_start goes_on templates file_text file_name marked_title "
    "marked_tags why".split()
)


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
    query, plan = results.query, results.plan
    return {
        **{name: getattr(query, name) for name in _JSON_QUERY},
        "retrievers": results.retrievers,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "offers": plan.offers,
        "meaning": query.meaning,
        "filters": query.filters.for_programs(),
        "clauses": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.clauses
        ],
    }


_JSON_QUERY = (
    "text", "words", "phrases", "prefixes", "identifiers", "excluded", "is_boolean", "in_title",
    "match", "exact", "mode",
)  # fmt: skip


def why_found(hit: Hit, planned: Plan) -> str:
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    # If a note has the words, meaning is a reason only if it is close.
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "loosely related"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), query.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "exactly as typed")
    return " · ".join(reasons)


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    suffix = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"
