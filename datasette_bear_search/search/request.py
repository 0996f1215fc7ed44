"""Whether a search can go by meaning right now, and if not, the line that says why and what to do."""

from __future__ import annotations

from ..embeddings import rerankers
from ..embeddings.base import Embedder, ModelUnavailable
from ..index.database import State
from ..query.filters import InvalidParameter, read_filters
from ..query.query import MODES, Query, parse
from .results import Ranking
from .sql import FUSIONS, SORTS

BY_WORDS = "Notes are found by their words only."


def wants_meaning(query: Query) -> bool:
    """Whether the semantic leg is asked for at all."""
    return bool(query.substrings) and query.mode in ("auto", "hybrid", "semantic")


def obstacle(state: State, has_vector_extension: bool) -> str | None:
    """What keeps the sidecar itself from being searched by meaning; None if nothing does."""
    if not state.has_notes:
        return None
    if not state.has_vectors:
        return f"{BY_WORDS} To search by meaning, too, run: datasette bear-index"
    if not has_vector_extension:
        return f"{BY_WORDS} This Python can't load sqlite-vec; pip install pysqlite3 mends that on most machines."
    return None


def embed_query(state: State, embedder: Embedder, query: Query) -> str | None:
    """Make the query's vector, so that ``embed()`` in the statement finds it; None, or why there is none.

    Loads the model if need be, which takes seconds: not for an event loop.
    """
    try:
        embedder.load()
        if embedder.fingerprint != state.fingerprint:
            return (
                f"{BY_WORDS} The index was made with another version of the model {state.model}. "
                f"To search by meaning, run: datasette bear-index --model {state.model}"
            )
        embedder.embed_query(query.meaning)
    except ModelUnavailable as error:
        return f"{BY_WORDS} {error}"
    return None


def incomplete(state: State) -> str | None:
    """What to say while some passages still have no vector."""
    if state.has_vectors and state.pending:
        return (
            f"{state.pending:,} passages aren't searched by meaning yet, by their words they are. "
            "If no datasette bear-index is at work, run it."
        )
    return None


# The parameters of an address → what is searched for and how results are put in order.


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
