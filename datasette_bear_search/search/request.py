"""Parameters of an address → ``SearchRequest``: what is searched for, which results are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..embeddings import rerankers
from ..query.filters import InvalidParameter, read_filters
from ..query.query import MODES, Query, parse
from .results import PAGE_SIZE
from .sql import DEFAULT_RANKING, FUSIONS, SORTS, Ranking

# Results in one response of the JSON API, and rows of bear_search().
MAX_SIZE = 100


class Arguments(Protocol):
    """Names with one or more values each: :class:`Parameters`, or Datasette's ``request.args``."""

    def get(self, name: str, /) -> str | None: ...

    def getlist(self, name: str, /) -> list[str]: ...

    def __iter__(self) -> Iterator[str]: ...


class Parameters(Mapping[str, str]):
    """Names with one or more values each, as in the address of the search page."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {name: list(several) for name, several in values.items() if several}

    def __getitem__(self, name: str) -> str:
        return self._values[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def getlist(self, name: str) -> list[str]:
        """Return all values of a name."""
        return self._values.get(name, [])


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for, and which part of the results is wanted."""

    query: Query
    ranking: Ranking = DEFAULT_RANKING
    size: int = PAGE_SIZE
    offset: int = 0
    correct: bool = True  # whether words that no note has may be corrected


def read_request(
    arguments: Arguments, *, size: int = PAGE_SIZE, offset: int = 0, correct: bool = True
) -> SearchRequest:
    """Read a request from the parameters of the search page.

    :raises InvalidParameter: for a value that makes no sense
    """
    return SearchRequest(read_query(arguments), read_ranking(arguments), size, offset, correct)


def read_query(arguments: Arguments) -> Query:
    """Read the query and its filters.

    :raises InvalidParameter: for an unknown mode and for what :func:`read_filters` refuses
    """
    mode = arguments.get("mode") or "auto"
    if mode not in MODES:
        raise InvalidParameter(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    filters = read_filters({name: arguments.getlist(name) for name in arguments})
    return parse(arguments.get("q") or "", mode, filters)


def read_note_id(text: str) -> int | None:
    """Return the id of a note; None for what can't be one: no number, or too large for SQLite."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def read_ranking(arguments: Arguments) -> Ranking:
    """Read how results are ordered.

    :raises InvalidParameter: for an unknown fusion, order or reranker, or what is no number
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


def read_number(arguments: Arguments, name: str, default: int, lowest: int, highest: int) -> int:
    """Read a parameter that is a whole number.

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


def _read_fraction(arguments: Arguments, name: str, lowest: float, highest: float) -> float | None:
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
