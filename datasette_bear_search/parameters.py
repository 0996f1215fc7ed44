"""The parameters of an address → what is searched for and how results are put in order."""

from __future__ import annotations

from . import rerankers
from .filters import InvalidParameter, read_filters
from .modes import MODES
from .query import Query, parse
from .search import Ranking
from .statement import FUSIONS, SORTS


def read_query(arguments) -> Query:
    """The query and its filters.

    :raises InvalidParameter: for an unknown mode and for what :func:`read_filters` refuses
    """
    mode = arguments.get("mode") or "auto"
    if mode not in MODES:
        raise InvalidParameter(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    filters = read_filters({name: arguments.getlist(name) for name in arguments})
    return parse(arguments.get("q") or "", mode, filters)


def read_note_id(text: str) -> int | None:
    """The id of a note; None for what is none: no number, or one with more digits than SQLite's numbers have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def read_ranking(arguments) -> Ranking:
    """How results are put in order.

    :raises InvalidParameter: for a fusion or an order that there isn't, and for what is no number
    """
    fusion = arguments.get("fusion") or "blend"
    if fusion not in FUSIONS:
        raise InvalidParameter(f"fusion must be one of {', '.join(FUSIONS)}, not {fusion!r}")
    sort = arguments.get("sort") or "relevance"
    if sort not in SORTS:
        raise InvalidParameter(f"sort must be one of {', '.join(SORTS)}, not {sort!r}")
    rerank = arguments.get("rerank") or None
    if rerank and rerank not in rerankers.names():
        raise InvalidParameter(
            f"rerank must be one of {', '.join(rerankers.names())}, not {rerank!r}"
        )
    return Ranking(
        rerank=rerank,
        balance=_read_fraction(arguments, "balance", 0.0, 1.0),
        fusion=fusion,
        sort=sort,
        recency=_read_fraction(arguments, "recency", 0.01, 100_000.0),
    )


def read_number(arguments, name: str, default: int, lowest: int, highest: int) -> int:
    """The number that a parameter has.

    :raises InvalidParameter: if it isn't a number in that range
    """
    text = arguments.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text[:12]) <= highest):
        expected = (
            f"a number from {lowest} to {highest}"
            if name == "_size"
            else "a value that the API gave"
        )
        raise InvalidParameter(f"{name} must be {expected}, not {text!r}")
    return int(text)


def _read_fraction(arguments, name: str, lowest: float, highest: float) -> float | None:
    text = arguments.get(name)
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
