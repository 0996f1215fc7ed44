"""A search whose filters leave nothing: what the same words find without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...query.query import without_filters, without_guess
from ..planning.offers import nothing_from
from ..planning.planner import Plan
from .records import Found, FoundNote, Unfiltered


def widened(
    results: Found[FoundNote], search: Callable[[Plan, int], Found[FoundNote]], size: int
) -> Found[FoundNote]:
    """Return the results without a time that was only read out of the text, if it left nothing.

    If filters that were chosen leave nothing, count what there is without them.

    :param search: runs a plan for a number of results
    """
    plan, query = results.plan, results.plan.query
    if _is_empty(results) and query.is_of_time and query.time:
        wider = search(replace(plan, query=without_guess(query)), size)
        if wider.found or not results.total:
            notices = (nothing_from(query.time), *wider.notices)
            results, query = replace(wider, notices=notices), wider.plan.query
    if _is_empty(results) and query.filters and plan.terms.substrings:
        chosen = [clause for clause in query.clauses if clause.is_filter]
        is_one = len(chosen) == 1 and not query.filters_beside
        query = without_filters(query)
        if found := search(replace(plan, query=query), 1).found:
            label = chosen[0].label if is_one else ""
            unfiltered = Unfiltered(label, query.text, found)
            notices = (*results.notices, unfiltered.notice)
            results = replace(results, unfiltered=unfiltered, notices=notices)
    return results


def _is_empty(results: Found[FoundNote]) -> bool:
    """Return whether nothing was found, nor any note that has some of the words."""
    return not results.found and not any(hit.keyword_rank for hit in results.hits)
