"""The search in SQL of other databases: on their own, and attached with ``--crossdb``.

Datasette's connections are shared by all actors, so an SQL function can't know for whom it runs.
It returns notes only where that can't tell anybody anything new:

- if the index is attached to the connection, whose SQL can read all of its tables anyway;
- if everybody may search and view the index, those who haven't signed in included.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from datasette.app import Datasette
from datasette.database import Database

from ...index.file import database as index_file
from ...search import sql_search
from ...search.connection import open_sidecar
from ...sqlite import sqlite3, time_limit, wrong_argument
from . import permissions
from .databases import known_sidecars, sidecar_databases
from .errors import PageError
from .settings import redacts

# The indexes that everybody may search and view, as of when Datasette started.
_open_indexes: WeakKeyDictionary[Datasette, frozenset[Database]] = WeakKeyDictionary()

NOT_ALLOWED = (
    "bear_search(), bear_similar() and embed() work in this database only if everybody may see the "
    "notes. Use them in the database of the notes, or in /_memory with --crossdb."
)


async def start(datasette: Datasette) -> None:
    """Find out which indexes everybody may search and view."""
    everybody = []
    for each in await sidecar_databases(datasette):
        with suppress(PageError, sqlite3.DatabaseError):  # the first search reports the error
            seen = await permissions.may_view(datasette, None, each)
            if seen and await permissions.may_search(datasette, None, each):
                everybody.append(each)
    _open_indexes[datasette] = frozenset(everybody)


def register(datasette: Datasette, connection: sqlite3.Connection) -> None:
    """Add the functions that search the first index to a connection to another database."""

    @contextmanager
    def index() -> Iterator[sqlite3.Connection]:
        found = known_sidecars(datasette)
        if not found:
            raise wrong_argument("No index of notes is served here.")
        path = Path(str(found[0].path))
        is_open = found[0] in _open_indexes.get(datasette, ())
        if not is_open and not _is_attached(connection, path):
            raise wrong_argument(NOT_ALLOWED)
        try:
            limit = datasette.setting("sql_time_limit_ms")
            with open_sidecar(path) as opened, time_limit(opened, limit):
                yield opened
        except index_file.SidecarError as error:
            raise wrong_argument(str(error)) from None

    sql_search.register_elsewhere(connection, index, redact=redacts(datasette))


def _is_attached(connection: sqlite3.Connection, path: Path) -> bool:
    files = [file for _, _, file in connection.execute("pragma database_list").fetchall() if file]
    return any(os.path.realpath(file) == os.path.realpath(path) for file in files)
