"""Whether a search can go by meaning right now, and if not, the line that says why and what to do."""

from __future__ import annotations

from .embedders import Embedder, ModelUnavailable
from .query import Query
from .sidecar import State

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
