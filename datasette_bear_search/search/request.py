"""Parameters of a URL, or of a call in Python → ``SearchRequest``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, SupportsIndex, TypedDict, cast

from ..embeddings.rerankers import reranker_factories
from ..index import config
from ..query.filter_values import InvalidParameter, read_filters
from ..query.query import MODES, Query, parse
from .ranking.statement import DEFAULT_RANKING, FUSIONS, SORTS, Ranking

PAGE_SIZE = 20

# Results in one response of the JSON API, and rows of bear_search().
MAX_SIZE = 100
MOST = 10**9  # results of anything; SQLite can't store every number

# The parameters in the search page's URL: name → values.
Parameters = Mapping[str, Sequence[str]]

# Parameters with fixed values, the default first; and the ranges of numeric parameters.
CHOICES = {"mode": MODES, "fusion": FUSIONS, "sort": SORTS}
_FLAGS = {"found": ("0", "1"), "correct": ("1", "0")}
NUMBERS = {"balance": (0.0, 1.0), "recency": (0.01, 100_000.0), "min_similarity": (0.0, 1.0)}

Texts = str | Sequence[str]
Day = str | int | date  # "2024-05", 2024, date(2024, 5, 1), "last-week"
Number = float | str
Flag = bool | Literal["0", "1", 0, 1]


class SearchParameters(TypedDict, total=False):
    """The parameters of a search in Python: the filters, and how to find and order the results.

    A test compares this with the tables from which all other interfaces read them.
    """

    tags: Texts  # notes that have all of these
    sources: Texts  # notes from any of these
    tag: Texts
    source: Texts
    title: Texts
    path: Texts
    created_after: Day
    created_before: Day
    modified_after: Day
    modified_before: Day
    pinned: Flag
    archived: Flag
    trashed: Flag
    todo: Flag
    done: Flag
    untagged: Flag
    encrypted: Flag
    has: Texts
    linked_to: Texts
    mode: Literal["auto", "hybrid", "keyword", "semantic", "like"]
    fusion: Literal["blend", "rrf"]
    sort: Literal["relevance", "newest", "oldest", "title"]
    balance: Number
    recency: Number
    min_similarity: Number
    rerank: str
    found: Flag


# Of each type above, what isinstance() allows, and what people read if it doesn't.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "Texts": ((str,), "text or a list of texts"),
    "Day": ((str, int, date), "a date such as '2024-05', 2024 or date(2024, 5, 1)"),
    "Flag": ((bool, int, str), "True or False"),
    "Number": ((int, float, str), "a number"),
}


@dataclass(frozen=True)
class SearchRequest:
    query: Query
    ranking: Ranking = DEFAULT_RANKING
    size: int = PAGE_SIZE
    offset: int = 0
    correct: bool = True  # whether words that no note has may be corrected


def read_request(
    parameters: Parameters, *, size: int = PAGE_SIZE, offset: int = 0, correct: bool = True
) -> SearchRequest:
    """Read a request from the parameters of the search page, or raise InvalidParameter."""
    mode = _read_choice(parameters, "mode")
    query = parse(_first(parameters, "q"), mode, read_filters(parameters))
    return SearchRequest(query, read_ranking(parameters), size, offset, correct)


def read_page_request(parameters: Parameters, size: int = PAGE_SIZE) -> SearchRequest:
    """Read a request with its page: by default the first, of ``size`` results."""
    return read_request(
        parameters,
        size=read_number("_size", _first(parameters, "_size"), size, 0, MAX_SIZE),
        offset=read_number("_next", _first(parameters, "_next"), 0, 0, MOST),
        correct=_read_choice(parameters, "correct") == "1",
    )


def read_python(
    query: str, limit: int, offset: int, correct: bool, parameters: Mapping[str, object]
) -> SearchRequest:
    """Read a request from the arguments of a call in Python, or raise InvalidParameter."""
    known = SearchParameters.__annotations__
    for name in parameters:
        if name not in known:
            question = config.did_you_mean(name, ["limit", "offset", *known])
            raise InvalidParameter(f"there is no parameter {name!r}. {question}")
    texts = {name: _texts(name, value) for name, value in parameters.items()}
    for several, one in (("tags", "tag"), ("sources", "source")):
        texts[one] = [*texts.pop(several, []), *texts.get(one, [])]
    texts["q"] = _texts("query", query)
    size, offset = read_count("limit", limit), read_count("offset", offset, 0)
    return read_request(texts, size=size, offset=offset, correct=correct)


def read_count(name: str, number: object, lowest: int = 1) -> int:
    """Return a number of results that SQLite can store, or raise InvalidParameter."""
    # SupportsIndex: numpy's numbers, too
    if not isinstance(number, SupportsIndex) or number is True or int(number) < lowest:
        raise InvalidParameter(f"{name} must be {lowest} or more, not {number!r}")
    return min(int(number), MOST)


def _texts(name: str, value: object) -> list[str]:
    """Return the values of a parameter as a URL has them, or raise InvalidParameter."""
    if value is None:
        return []
    annotation = SearchParameters.__annotations__.get(name)
    wanted, words = _TYPES.get(getattr(annotation, "__forward_arg__", ""), ((str,), "text"))
    # Commands and agents give each parameter a list, as a URL does.
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
    values = cast("Collection[object]", value if is_list else [value])
    texts = []
    for each in values:
        if not isinstance(each, wanted):
            raise InvalidParameter(f"{name} must be {words}, not {value!r}")
        each = int(each) if isinstance(each, bool) else each
        texts.append(each.isoformat() if isinstance(each, date) else str(each))
    return texts


def read_note_id(text: str) -> int:
    """Return a note's id, or 0 (no note's id) if the text is no number or too large for SQLite."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def read_ranking(parameters: Parameters) -> Ranking:
    """Read how to order the results, or raise InvalidParameter."""
    chosen = config.read_chosen_ranking()
    parameters = {**chosen, **parameters}
    reranker = _first(parameters, "rerank") or None
    if reranker and reranker not in (choices := reranker_factories()):
        known = ", ".join(sorted(choices))
        raise InvalidParameter(f"rerank must be one of {known}, not {reranker!r}")
    if reranker == "cross-encoder" and "cross_encoder" in chosen:  # which no URL may choose
        reranker = f"{reranker}:{_first(chosen, 'cross_encoder')}"
    return Ranking(
        rerank=reranker,
        balance=_read_fraction(parameters, "balance"),
        fusion=_read_choice(parameters, "fusion"),
        sort=_read_choice(parameters, "sort"),
        recency=_read_fraction(parameters, "recency"),
        min_similarity=_read_fraction(parameters, "min_similarity"),
        found_only=_read_choice(parameters, "found") == "1",
    )


def read_number(name: str, text: str | None, default: int, lowest: int, highest: int) -> int:
    """Read a parameter that is a whole number in a range, or raise InvalidParameter."""
    text = str(highest) if name == "_size" and text == "max" else text or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text[:12]) <= highest):
        is_given = name == "_next"
        expected = (
            "a value that the API gave" if is_given else f"a number from {lowest} to {highest}"
        )
        raise InvalidParameter(f"{name} must be {expected}, not {text!r}")
    return int(text)


def _read_choice(parameters: Parameters, name: str) -> str:
    choices = {**CHOICES, **_FLAGS}[name]
    chosen = _first(parameters, name) or choices[0]
    if chosen not in choices:
        raise InvalidParameter(f"{name} must be one of {', '.join(choices)}, not {chosen!r}")
    return chosen


def _first(parameters: Parameters, name: str) -> str:
    return next(iter(parameters.get(name, ())), "")


def _read_fraction(parameters: Parameters, name: str) -> float | None:
    lowest, highest = NUMBERS[name]
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
