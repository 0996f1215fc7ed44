"""``bear_search()`` and ``bear_similar()``: the pages' results as JSON, for ``json_each()``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from ..index import freshness
from ..index.file import database
from ..query.query import parse
from ..sqlite import interruption, read_value, sqlite3
from .engine import search, source_notices
from .notes.detail import find_note_id
from .notes.similar import SIMILAR_NOTES, find_similar
from .redaction import masking
from .request import MAX_SIZE, PAGE_SIZE, SearchRequest, read_ranking
from .results.records import Hit

Rows = list[dict[str, Any]]
_OF_NOTES = ("id", "source", "key", "title", "url")
_OF_HITS = (*_OF_NOTES, "text", "keyword_rank", "semantic_rank", "similarity", "score")

# Opens the index for one call of a function.
Index = Callable[[], AbstractContextManager[sqlite3.Connection]]


def register_search(
    connection: sqlite3.Connection, index: Index | None = None, *, redact: bool = False
) -> None:
    """Add ``bear_search()`` and ``bear_similar()`` to a connection.

    :param index: opens the index to search, if that isn't the connection's own file
    """
    index = index or partial(nullcontext, connection)
    functions = (("bear_search", found_notes, 3), ("bear_similar", similar_notes, 2))
    for name, find, most in functions:
        function = _as_json(connection, index, name, partial(find, redact=redact))
        for arguments in range(1, most + 1):
            # Deterministic, or SQLite might call it once per row.
            connection.create_function(name, arguments, function, deterministic=True)


def register_elsewhere(
    connection: sqlite3.Connection, index: Index, *, redact: bool = False
) -> None:
    """Add the functions that search to a connection to another file than the index."""

    def call(function: str, *values: Any) -> Any:
        with index() as opened, interruption(connection):
            return read_value(opened, f"select {function}", values)

    register_search(connection, index, redact=redact)
    for name, arguments in (("embed", "(?)"), ("nearest_passages", "(?, ?)")):
        function = partial(call, name + arguments)
        connection.create_function(name, arguments.count("?"), function, deterministic=True)


def found_notes(
    connection: sqlite3.Connection,
    text: Any,
    size: Any = PAGE_SIZE,
    offset: Any = 0,
    *,
    redact: bool = False,
) -> Rows:
    """Return the results of the search page, in its order, with its notices in the first row.

    Don't wait for the model: Datasette interrupts a query that takes too long.
    """
    page = _read_size(size), _read(offset, 0, 10**9, 0)
    request = SearchRequest(parse(str(text)), read_ranking({}), *page)
    response = search(connection, request, redact=redact, wait=0)
    corrections = (
        f"Searched for {meant} instead of {typed}." for typed, meant in response.corrections
    )
    path = Path(database.file_of(connection))
    changes = source_notices(freshness.changes_since_indexing(path), path)
    changes = [*map(masking.masked, changes)] if redact else changes
    others = [*response.results.plan.hints, *response.notices, *changes]
    return _with_notices([_hit_row(hit) for hit in response], [*corrections, *others])


def similar_notes(
    connection: sqlite3.Connection, note_id: Any, size: Any = SIMILAR_NOTES, *, redact: bool = False
) -> Rows:
    known_id = find_note_id(connection, str(note_id))
    found = find_similar(connection, known_id, size=_read_size(size))
    if found is None:
        return []
    if redact:
        found = masking.masked_similar(connection, found)
    names = (*_OF_NOTES, "similarity", "score")
    rows = [{name: getattr(note, name) for name in names} | {"reasons": note.why} for note in found]
    return _with_notices(rows, found.notices)


def _as_json(
    connection: sqlite3.Connection, index: Index, name: str, find: Callable[..., Rows]
) -> Callable[..., str | None]:
    """Return the function that SQLite calls. It returns the rows as JSON, and NULL for NULL."""

    def function(argument: Any, *options: Any) -> str | None:
        if argument is None:
            return None
        try:
            with index() as opened:
                rows = find(opened, argument, *options)
            return json.dumps(rows, ensure_ascii=False)
        except sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                # The time limit applies to the whole query, so interrupt that, too. SQLite checks
                # for interruptions before it reads a second row, so return two.
                connection.interrupt()
                return "[null, null]"
            # Leave out the error's message, which may contain words of the query or of a note.
            problem = f"{name}() failed: {type(error).__name__}"
        # SQLite would only report that a function raised an error.
        print(problem, file=sys.stderr)
        # Datasette logs errors with the values of all variables, and the query is private.
        argument, options = None, ()
        raise sqlite3.DatabaseError(problem)

    return function


def _with_notices(rows: Rows, notices: Sequence[str]) -> Rows:
    first = " ".join(notices) or None
    return [{**row, "notice": None if number else first} for number, row in enumerate(rows)]


def _hit_row(hit: Hit) -> dict[str, Any]:
    return {name: getattr(hit, name) for name in _OF_HITS} | {
        "heading": hit.passage.heading if hit.passage and not hit.in_file else None,
        "file": hit.file_label or None,
    }


def _read_size(size: Any) -> int:
    return _read(size, 1, MAX_SIZE, MAX_SIZE)


def _read(number: Any, lowest: int, highest: int, otherwise: int) -> int:
    try:
        return min(max(int(number), lowest), highest)
    except (TypeError, ValueError, OverflowError):
        return otherwise
