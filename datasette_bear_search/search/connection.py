"""Open an index file for searching, with the SQL functions registered."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..embeddings.base import ModelUnavailable
from ..embeddings.registry import get_embedder
from ..index.file import database, metadata, nearest
from ..notes import printable
from ..sqlite import sqlite3
from .ranking import statement_functions
from .ranking.scores import decay, rrf, rrf_weighted

# Seconds between two checks of a query's time limit while embed() waits for the model.
LOADING_STEP = 0.05
# Each connection's page cache, in KiB. A search reads about a thousand vectors, two to a page. With
# SQLite's default of 2,000 it takes a tenth longer.
PAGE_CACHE = 16_000


@contextmanager
def open_sidecar(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the index file at ``path`` read-only, with our SQL functions, or raise SidecarError."""
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
    # Datasette turns these on. If an index is damaged or a search takes too long, they would print
    # the query and our code.
    sqlite3.enable_callback_tracebacks(False)

    def embed(text: Any) -> bytes | None:
        """Return the text's vector from the index file's model: float32, of unit length."""
        model = None if text is None else metadata.get_meta(connection, "model")
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
    nearest.register(connection)
    statement_functions.register(connection)
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
