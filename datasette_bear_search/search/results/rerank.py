"""Reranking: improve the order of the first results within a time limit.

The higher the first stage ranks a note, the more its score counts relative to the reranker's, so
that a wrong reranker score can't push an obvious answer off the page.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from ...embeddings.base import ModelUnavailable
from ...embeddings.rerankers import Reranker, get_reranker
from ..ranking.statement import Ranking
from .records import Found, FoundNote

# Results to rerank: one page.
RERANK_TOP = 20

# Time limit in seconds. Results without a score by then follow in their first-stage order.
RERANK_SECONDS = 1.0

# Passages to score between two checks of the time.
RERANK_BATCH = 4

# The share of the first stage's score, by its rank: up to rank 3, up to rank 10, after.
# From QMD (github.com/tobi/qmd).
FIRST_STAGE_SHARES = ((3, 0.75), (10, 0.60), (RERANK_TOP, 0.40))

NOT_RERANKED = "These notes weren't reranked."
RERANKER_LOADING = f"{NOT_RERANKED} The reranker is still loading, which takes a few seconds."


def reranker_for(ranking: Ranking, cross_encoder: str | None) -> Reranker | None:
    """Return the reranker to use, if one is requested and the order is by relevance.

    :param cross_encoder: the model to use for ``cross-encoder``, if not the configured one
    """
    if ranking.rerank is None or ranking.sort != "relevance":
        return None
    name = ranking.rerank
    if cross_encoder and name.partition(":")[0] == "cross-encoder":
        name = f"cross-encoder:{cross_encoder}"
    return get_reranker(name)


def reranked_window(size: int, offset: int) -> tuple[int, int]:
    """Return the size and offset of the hits to retrieve for a reranked page.

    The first RERANK_TOP hits are reranked together, so that pages neither repeat nor miss a note.
    """
    return (max(RERANK_TOP, offset + size), 0) if offset < RERANK_TOP else (size, offset)


def reranked_results(
    results: Found[FoundNote],
    reranker: Reranker,
    size: int,
    offset: int,
    *,
    wait: float | None = RERANK_SECONDS,
) -> Found[FoundNote]:
    """Return a page of reranked results, from the results that :func:`reranked_window` determines.

    :param wait: seconds to wait for the model if it isn't loaded (None: as long as it takes)
    """
    if offset >= RERANK_TOP or not results.retrievers:
        return results
    hits, notice = rerank(results.hits, results.plan.terms.meaning, reranker, wait=wait)
    end = offset + size
    return replace(
        results,
        hits=hits[offset:end],
        notices=(*results.notices, *filter(None, [notice])),
        next_offset=end if end < results.total else None,
    )


def rerank(
    hits: Sequence[FoundNote],
    query: str,
    reranker: Reranker,
    *,
    wait: float | None = RERANK_SECONDS,
    seconds: float = RERANK_SECONDS,
) -> tuple[tuple[FoundNote, ...], str | None]:
    """Rerank the first RERANK_TOP hits of the first stage, except for exact ones.

    Return all hits, and a notice if not all of those could be reranked.
    """
    candidates = [hit for hit in hits[:RERANK_TOP] if not hit.is_exact]
    passages = [
        f"{hit.title}\n{hit.passage.text}" if hit.passage else hit.title for hit in candidates
    ]
    if not passages:
        return tuple(hits), None
    if not reranker.wait_until_loaded(wait):
        failure = reranker.failure and f"{NOT_RERANKED} {reranker.failure}"
        return tuple(hits), failure or RERANKER_LOADING
    scores: list[float] = []
    end = time.monotonic() + seconds
    try:
        while len(scores) < len(passages) and time.monotonic() < end:
            start = len(scores)
            scores += _checked(reranker, query, passages[start : start + RERANK_BATCH])
    except ModelUnavailable as error:
        return tuple(hits), f"{NOT_RERANKED} {error}"
    notice = None
    if len(scores) < len(passages):
        few = f"Only {len(scores)} of the first {len(passages)} results"
        notice = f"{few} could be reranked in time."
    return tuple(blended(hits, scores)), notice


def blended(hits: Sequence[FoundNote], scores: Sequence[float]) -> list[FoundNote]:
    """Return the hits with the reranker's scores, ordered by a blend of both stages' scores.

    Weaker matches stay below the notes that are found.

    :param scores: scores of the first hits after the exact ones, which come first
    """
    exact = sum(hit.is_exact for hit in hits[:RERANK_TOP])
    end = exact + len(scores)
    scored = [replace(hit, rerank_score=score) for hit, score in zip(hits[exact:end], scores)]
    first_stage_scores = _min_max([hit.score or 0.0 for hit in scored])
    blends = []
    for rank, first, second in zip(count(exact + 1), first_stage_scores, _min_max(scores)):
        share = next(share for last, share in FIRST_STAGE_SHARES if rank <= last)
        blends.append(share * first + (1 - share) * second)
    order = sorted(  # stable
        range(len(scored)), key=lambda place: (not scored[place].is_found, -blends[place])
    )
    return [*hits[:exact], *(scored[place] for place in order), *hits[end:]]


def _min_max(scores: Sequence[float]) -> list[float]:
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    if highest == lowest:
        return [1.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]


def _checked(reranker: Reranker, query: str, passages: Sequence[str]) -> list[float]:
    what_happened = f"The reranker {reranker.name} failed"
    try:
        scores = [float(score) for score in reranker.score(query, passages)]
    except Exception as error:
        raise ModelUnavailable(reranker.error_message(error, what_happened)) from error
    if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
        raise ModelUnavailable(f"{what_happened}: not every note got a score. {reranker.advice}")
    return scores
