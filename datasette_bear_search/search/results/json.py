"""Results → what JSON says: in the JSON API, and in the terminal with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .records import Results


def json_body(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
    return {
        "ok": True,
        "rows": [hit.to_dict() for hit in results.hits],
        "next": None if results.next_offset is None else str(results.next_offset),
        "total": results.total,
        "found": results.found,
        **more,
        "query": json_query(results, rerank),
        "notices": notices,
        "timing_ms": timing_ms,
    }


def json_query(results: Results, rerank: str | None) -> dict[str, Any]:
    plan = results.plan
    query, terms = plan.query, plan.terms
    return {
        "text": query.text,
        **{name: getattr(terms, name) for name in TERMS},
        "excluded": plan.text_filters.excluded,
        "is_boolean": bool(terms.boolean),
        "in_title": query.in_title,
        "match": terms.match,
        "exact": terms.exact,
        "mode": query.mode,
        "retrievers": results.retrievers,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "offers": plan.offers,
        "narrower": plan.narrower and plan.narrower._asdict(),
        "unfiltered": results.unfiltered and results.unfiltered._asdict(),
        "meaning": terms.meaning,
        "filters": plan.filters.for_programs(),
        "clauses": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.clauses
        ],
    }


TERMS = ("words", "phrases", "prefixes", "identifiers")
