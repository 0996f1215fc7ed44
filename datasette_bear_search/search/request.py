"""Parameters of an address → ``SearchRequest``: what is searched for, which results are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..embeddings import rerankers
from ..query.filters import InvalidParameter, read_filters
from ..query.query import MODES, Query, parse
from .results import PAGE_SIZE
from .sql import DEFAULT_RANKING, FUSIONS, SORTS, Ranking

# Results in one response of the JSON API, and rows of bear_search().
MAX_SIZE = 100


# The names in the address of the search page, with the values of each.
Parameters = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for, and which part of the results is wanted."""

    query: Query
    ranking: Ranking = DEFAULT_RANKING
    size: int = PAGE_SIZE
    offset: int = 0
    correct: bool = True  # whether words that no note has may be corrected


def read_request(
    parameters: Parameters, *, size: int = PAGE_SIZE, offset: int = 0, correct: bool = True
) -> SearchRequest:
    """Read a request from the parameters of the search page.

    :raises InvalidParameter: for a value that makes no sense
    """
    return SearchRequest(read_query(parameters), read_ranking(parameters), size, offset, correct)


def read_query(parameters: Parameters) -> Query:
    """Read the query and its filters.

    :raises InvalidParameter: for an unknown mode and for what :func:`read_filters` refuses
    """
    mode = _first(parameters, "mode") or "auto"
    if mode not in MODES:
        raise InvalidParameter(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return parse(_first(parameters, "q"), mode, read_filters(parameters))


def read_note_id(text: str) -> int:
    """Return the id of a note; 0, which none has, for no number and one too large for SQLite."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def read_ranking(parameters: Parameters) -> Ranking:
    """Read how results are ordered.

    :raises InvalidParameter: for an unknown fusion, order or reranker, or what is no number
    """
    fusion = _first(parameters, "fusion") or "blend"
    if fusion not in FUSIONS:
        raise InvalidParameter(f"fusion must be one of {', '.join(FUSIONS)}, not {fusion!r}")
    sort = _first(parameters, "sort") or "relevance"
    if sort not in SORTS:
        raise InvalidParameter(f"sort must be one of {', '.join(SORTS)}, not {sort!r}")
    rerank = _first(parameters, "rerank") or None
    if rerank and rerank not in (choices := rerankers.reranker_factories()):
        known = ", ".join(sorted(choices))
        raise InvalidParameter(f"rerank must be one of {known}, not {rerank!r}")
    return Ranking(
        rerank=rerank,
        balance=_read_fraction(parameters, "balance", 0.0, 1.0),
        fusion=fusion,
        sort=sort,
        recency=_read_fraction(parameters, "recency", 0.01, 100_000.0),
    )


def read_number(name: str, text: str | None, default: int, lowest: int, highest: int) -> int:
    """Read the value of a parameter that is a whole number.

    :raises InvalidParameter: if it isn't a number in that range
    """
    text = text or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text[:12]) <= highest):
        is_given = name == "_next"
        expected = (
            "a value that the API gave" if is_given else f"a number from {lowest} to {highest}"
        )
        raise InvalidParameter(f"{name} must be {expected}, not {text!r}")
    return int(text)


def _first(parameters: Parameters, name: str) -> str:
    return next(iter(parameters.get(name, ())), "")


def _read_fraction(
    parameters: Parameters, name: str, lowest: float, highest: float
) -> float | None:
    text = _first(parameters, name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not lowest <= number <= highest:
        raise InvalidParameter(
            f"{name} must be a number from {lowest:g} to {highest:g}, not {text!r}"
        )
    return number
