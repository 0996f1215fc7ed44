"""The index files among Datasette's databases, and the paths of our pages."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from datasette import Request
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import tilde_decode

from ...index.file import database as index_file
from ...index.file import schema
from ...sqlite import sqlite3

Actor = dict[str, Any] | None
SEARCH = "bear-search"  # the action


# Whether a database is a sidecar: cached, because every page needs it and it never changes.
_is_sidecar: WeakKeyDictionary[Database, bool] = WeakKeyDictionary()


# The current request's sidecar.
sidecar_of_request: ContextVar[Database | None] = ContextVar("sidecar", default=None)
# The current actor, and a sidecar that it may search: a page's menus check this three more times.
searcher_of_request: ContextVar[tuple[Actor, Database] | None] = ContextVar(
    "searcher", default=None
)


async def sidecar_databases(datasette: Datasette) -> list[Database]:
    for database in list(datasette.databases.values()):
        if not database.path:  # in memory
            continue
        path, is_unknown = Path(database.path), database not in _is_sidecar
        is_half = index_file.is_half_committed(path)
        if not (is_half or is_unknown):
            continue
        if index_file.is_locked(path, wait=0):
            with suppress(OSError):  # not yet known not to be one: it may be in the making
                if is_unknown and index_file.has_our_id(path):
                    _is_sidecar[database] = True
            continue
        if is_half:
            with suppress(sqlite3.Error):  # the next read reports the error
                await asyncio.to_thread(index_file.undo_half_a_commit, path)
        if is_unknown:
            # Not on Datasette's connection, which can't be opened if the schema is damaged.
            with suppress(OSError, sqlite3.Error):  # unreadable now; try again next time
                found = await asyncio.to_thread(index_file.application_id, path)
                _is_sidecar[database] = found == schema.APPLICATION_ID
    return known_sidecars(datasette)


async def sidecar_database(datasette: Datasette, request: Request = None) -> Database | None:
    """Return the sidecar that a request's path names, or the first one if it names none."""
    route = request and request.url_vars.get("database")
    route = route and tilde_decode(route)
    found = await sidecar_databases(datasette)
    return next((each for each in found if route in (None, each.route)), None)


def known_sidecars(datasette: Datasette) -> list[Database]:
    """Return the databases known to be sidecars. Runs no query, as this is called for each cell."""
    return [each for each in datasette.databases.values() if _is_sidecar.get(each)]


def known_sidecar(datasette: Datasette, name: str | None = None) -> Database | None:
    """Return the sidecar of this name; without a name, the current request's, or the first."""
    if name is None and (asked := sidecar_of_request.get()):
        return asked
    return next((each for each in known_sidecars(datasette) if name in (None, each.name)), None)


def url(datasette: Datasette, path: str, sidecar: Database | None = None) -> str:
    """Return the URL of one of our pages, which names the sidecar unless it is the first one."""
    sidecar = sidecar or sidecar_of_request.get()
    if sidecar is None or sidecar in known_sidecars(datasette)[:1]:
        # Not Datasette's own string class: making twenty of those absolute takes 2 ms.
        return str(datasette.urls.path(path))
    return f"{datasette.urls.database(sidecar.name)}{path}"
