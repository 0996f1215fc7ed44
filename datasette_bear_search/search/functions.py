"""SQL functions: ``rrf`` and ``decay`` on every connection, ``embed`` and more on index files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..embeddings.base import ModelUnavailable
from ..embeddings.registry import get_embedder
from ..index import database, vectors, watch
from ..notes import printable
from ..query.query import parse
from ..sqlite import sqlite3
from . import query_functions, redaction
from .engine import MAX_SIZE, SearchRequest, changed_notice, read_ranking, search
from .notes import SIMILAR_NOTES, find_note_id, find_similar
from .query_functions import decay, rrf, rrf_weighted
from .results import PAGE_SIZE, Hit

# Seconds between two checks of a query's time limit while embed() waits for the model.
LOADING_STEP = 0.05
# Each connection's page cache, in KiB. A search reads about a thousand vectors, two to a page. With
# SQLite's default of 2,000 it takes a tenth longer.
PAGE_CACHE = 16_000


@contextmanager
def open_sidecar(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the index file at ``path`` read-only, with our SQL functions, or raise SidecarError."""
    # Datasette turns these on. With a damaged index, they would print the query and our code.
    sqlite3.enable_callback_tracebacks(False)
    with closing(database.connect(path)) as connection:
        database.require_current(connection)
        register(connection)
        register_embed(connection)
        yield connection


def register(connection: sqlite3.Connection) -> None:
    """Add the functions that need no index file to a connection."""
    connection.create_function("rrf", -1, rrf, deterministic=True)
    connection.create_function("rrf_weighted", -1, rrf_weighted, deterministic=True)
    connection.create_function("decay", 2, decay)


def register_embed(connection: sqlite3.Connection) -> None:
    """Add ``embed(text)`` and the functions of the search to a connection to an index file."""

    def embed(text: Any) -> bytes | None:
        """Return the text's vector from the index file's model: float32, of unit length."""
        model = None if text is None else database.get_meta(connection, "model")
        if model is None:
            return None
        embedder = get_embedder(model)
        # The query's time limit applies, even while the model is being loaded.
        while (over := _is_over_time(connection)) or not embedder.wait_until_loaded(LOADING_STEP):
            if over:
                connection.interrupt()
                return None
            if embedder.failure:
                break
        try:
            return embedder.embed_query(str(text))
        except ModelUnavailable as error:
            # SQLite would only report that a function raised an error, so print it and return NULL.
            print(printable(str(error)), file=sys.stderr)
            return None

    connection.execute(f"pragma cache_size = -{PAGE_CACHE}")
    # This makes a search 5 % faster. It drops all temporary tables, so do it before creating any.
    connection.execute("pragma temp_store = memory")
    vectors.register(connection)
    query_functions.register(connection)
    # Deterministic, or SQLite would call it once per row.
    connection.create_function("embed", 1, embed, deterministic=True)


# Datasette checks its time limit every 1,000 instructions of SQLite, and a row takes about twenty.
# So a query that embeds each row would embed fifty too many. This runs over 1,000 instructions.
_THOUSAND_INSTRUCTIONS = """
with recursive counted(number) as (select 1 union all select number + 1 from counted limit 80)
select count(*) from counted
"""


def _is_over_time(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute(_THOUSAND_INSTRUCTIONS).fetchone()
    except sqlite3.OperationalError:
        return True
    return False


# --- bear_search() and bear_similar(): the results of the pages, as JSON for json_each()

Rows = list[dict[str, Any]]


def register_search(connection: sqlite3.Connection, *, redact: bool = False) -> None:
    for name, find in (("bear_search", found_notes), ("bear_similar", similar_notes)):
        function = _as_json(connection, name, find, redact)
        for arguments in (1, 2):
            # Deterministic, or SQLite might call it once per row.
            connection.create_function(name, arguments, function, deterministic=True)


def found_notes(
    connection: sqlite3.Connection, text: Any, size: Any = PAGE_SIZE, *, redact: bool = False
) -> Rows:
    """Return the results of the search page, in its order, with its notices in the first row.

    Don't wait for the model: Datasette interrupts a query that takes too long.
    """
    request = SearchRequest(parse(str(text)), read_ranking({}), _read_size(size))
    response = search(connection, request, redact=redact, wait=0)
    corrections = (
        f"Searched for {meant} instead of {typed}." for typed, meant in response.corrections
    )
    changed = changed_notice(watch.changes_since_indexing(database.file_of(connection)))
    others = filter(None, [*response.results.plan.remarks, *response.notices, changed])
    return _with_notices([_hit_row(hit) for hit in response], [*corrections, *others])


def similar_notes(
    connection: sqlite3.Connection, note_id: Any, size: Any = SIMILAR_NOTES, *, redact: bool = False
) -> Rows:
    known_id = find_note_id(connection, str(note_id))
    found = find_similar(connection, known_id, size=_read_size(size))
    if found is None:
        return []
    if redact:
        found = redaction.masked_similar(connection, found)
    names = ("id", "title", "url", "similarity", "score")
    rows = [{name: getattr(note, name) for name in names} | {"reasons": note.why} for note in found]
    return _with_notices(rows, found.notices)


def _as_json(
    connection: sqlite3.Connection, name: str, find: Callable[..., Rows], redact: bool
) -> Callable[..., str | None]:
    """Return the function that SQLite calls. It returns the rows as JSON, and NULL for NULL."""

    def function(argument: Any, *options: Any) -> str | None:
        if argument is None:
            return None
        try:
            rows = find(connection, argument, *options, redact=redact)
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
    names = ("id", "title", "url", "text", "keyword_rank", "semantic_rank", "similarity", "score")
    return {name: getattr(hit, name) for name in names} | {
        "heading": hit.passage.heading if hit.passage and not hit.file else None,
        "file": hit.file or None,
    }


def _read_size(size: Any) -> int:
    try:
        return min(max(int(size), 1), MAX_SIZE)
    except (TypeError, ValueError, OverflowError):
        return MAX_SIZE
