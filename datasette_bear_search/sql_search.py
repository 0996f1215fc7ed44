"""The SQL functions ``bear_search`` and ``bear_similar``: what the pages find, as JSON for ``json_each()``.

They plan and rank as the pages do, on the connection that asks, so that a query can join what is found with anything.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from . import embedders, readiness, redacted, sidecar, similar
from .markup import plain_text
from .parameters import read_note_id, read_ranking
from .planning import Plan, plan
from .query import parse
from .search import PAGE_SIZE, Hit, search
from .told import ELLIPSIS, END_MARK, MARK, SNIPPET_TOKENS

MAX_SIZE = 100

LOADING = f"{readiness.BY_WORDS} The model is still loading: run the query again in a few seconds."

Connection = sidecar.sqlite3.Connection
Rows = list[dict[str, Any]]


def register(connection: Connection, *, redact: bool = False) -> None:
    """Give a connection to a sidecar the functions ``bear_search(text, …)`` and ``bear_similar(id, …)``.

    :param redact: whether secrets are masked in what they answer
    """
    for name, find in (("bear_search", found_notes), ("bear_similar", similar_notes)):
        find = partial(find, redact=redact)
        function = _as_json(connection, name, find)
        for arguments in (1, 2):
            # Deterministic, or SQLite might call it once a row.
            connection.create_function(name, arguments, function, deterministic=True)


def found_notes(
    connection: Connection, text: Any, size: Any = PAGE_SIZE, *, redact: bool = False
) -> Rows:
    """What the search page finds for a text, in its order; what the page would say beside it stands in the first row.

    Never waits for the model, because a query that takes longer than Datasette allows is ended: until it is loaded,
    notes are found by their words.
    """
    planned = plan(connection, parse(str(text)))
    state = sidecar.read_state(connection)
    obstacle = _obstacle(connection, state, planned)
    is_semantic = obstacle is None and state.has_vectors and readiness.wants_meaning(planned.query)
    results = search(
        connection, planned, semantic=is_semantic, ranking=read_ranking({}), size=_size(size)
    )
    if redact:
        results = redacted.results(connection, results)
    rows = [_found(hit) for hit in results.hits]
    corrections = [
        f"Searched for {found} instead of {typed}." for typed, found in planned.corrections
    ]
    notices = [obstacle, readiness.incomplete(state), *corrections, *results.notices]
    if rows:
        rows[0]["notice"] = " ".join(notice for notice in notices if notice) or None
    return rows


def similar_notes(
    connection: Connection, note_id: Any, size: Any = similar.SIZE, *, redact: bool = False
) -> Rows:
    """The notes most like the one with that id, as the page "More like this" has them; none if there is no such note."""
    known_as = read_note_id(str(note_id).strip())
    if known_as is None:
        return []
    found = similar.similar(connection, known_as, size=_size(size))
    if found and redact:
        found = redacted.similar_notes(connection, found)
    rows: Rows = [
        {
            "id": note.id,
            "reasons": " · ".join(note.reasons),
            "similarity": note.similarity,
            "score": note.score,
            "notice": None,
        }
        for note in (found.notes if found else ())
    ]
    if rows and found:
        rows[0]["notice"] = " ".join(found.notices) or None
    return rows


def _as_json(connection: Connection, name: str, find: Callable[..., Rows]) -> Callable[..., Any]:
    """What SQLite calls: the rows as JSON, NULL for NULL."""

    def function(asked: Any, *options: Any) -> str | None:
        if asked is None:
            return None
        try:
            return json.dumps(find(connection, asked, *options), ensure_ascii=False)
        except sidecar.sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                # The time limit holds for the query as a whole, and whoever runs it must hear that it was reached. SQLite
                # looks for an interruption when it goes on to a second row, so there are two.
                connection.interrupt()
                return "[null, null]"
            # Not its words, which may be those of the query or of a note.
            problem = f"{name}() failed: {type(error).__name__}"
        # SQLite would only say that a function raised something.
        print(problem, file=sys.stderr)
        # Datasette logs an error with the values of all variables: what was asked is none of the log's business.
        asked, options = None, ()
        raise sidecar.sqlite3.DatabaseError(problem)

    return function


def _obstacle(connection: Connection, state: sidecar.State, planned: Plan) -> str | None:
    """What keeps the search from going by meaning right now; None if nothing does, or nobody wants it."""
    if not readiness.wants_meaning(planned.query):
        return None
    obstacle = readiness.obstacle(state, sidecar.has_vector_extension(connection))
    if obstacle or state.model is None or not state.has_vectors:
        return obstacle
    embedder = embedders.get_embedder(state.model)
    if not embedder.ready:
        embedder.warm_up()
        return f"{readiness.BY_WORDS} {embedder.failure}" if embedder.failure else LOADING
    return readiness.embed_query(state, embedder, planned.query)


def _found(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "text": _text(hit),
        "heading": hit.passage.heading if hit.passage else None,
        "keyword_rank": hit.keyword_rank,
        "semantic_rank": hit.semantic_rank,
        "similarity": hit.similarity,
        "score": hit.score,
        "notice": None,
    }


def _text(hit: Hit) -> str:
    """Some words of the note: those that were found, or if they are only in the title, those that begin the passage."""
    snippet = hit.snippet.replace(MARK, "").replace(END_MARK, "")
    words = plain_text(snippet).split()
    if snippet == hit.title and hit.passage:
        words = plain_text(hit.passage.text).split()
        words[SNIPPET_TOKENS:] = [ELLIPSIS] if len(words) > SNIPPET_TOKENS else []
    return " ".join(words)


def _size(asked: Any) -> int:
    """How many rows are wanted; what makes no sense is as many as there can be."""
    try:
        return min(max(int(asked), 1), MAX_SIZE)
    except (TypeError, ValueError, OverflowError):
        return MAX_SIZE
