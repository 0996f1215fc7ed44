"""Who may see which notes."""

from __future__ import annotations

import asyncio
import json
import sys
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Forbidden, Request
from datasette.app import Datasette
from datasette.database import Database
from datasette.plugins import pm

from ...index.file import database as index_file
from ...search.ranking.statement import Statement
from ...sqlite import sqlite3
from .. import turns
from .databases import (
    SEARCH,
    Actor,
    known_sidecar,
    known_sidecars,
    searcher_of_request,
    sidecar_databases,
)
from .errors import UNREADABLE, PageError, unreadable
from .settings import setting_list

if TYPE_CHECKING:
    from datasette.permissions import PermissionSQL


async def may_search(datasette: Datasette, actor: Actor, database: Database) -> bool:
    """Return whether an actor may search the notes, and read them on our pages.

    This is a separate action; by default, it is allowed to everybody who may view the notes.

    :raises PageError: if Datasette can't read the index when it looks for the table
    """
    if searcher_of_request.get() == (actor, database):
        return True
    try:
        allowed = await _is_allowed(datasette, SEARCH, actor, database.name)
        if allowed or (allowed is False and (whole := unrestricted(actor)) == actor):
            return allowed
        # Before Datasette 1.0, actions have no default. In 1.0, a token may be restricted to
        # viewing; it also allows searching if its owner may search.
        return await may_view(datasette, actor, database) and (
            allowed is None or await _is_allowed(datasette, SEARCH, whole, database.name)
        )
    except sqlite3.DatabaseError as error:
        raise PageError(unreadable(error), 503) from None


def unrestricted(actor: Actor) -> Actor:
    """Return the actor without the restrictions of its token."""
    return actor and {name: value for name, value in actor.items() if name != "_r"}


async def may_view(datasette: Datasette, actor: Actor, database: Database) -> bool:
    """Return whether an actor may see Datasette's pages of the database and the table ``notes``."""
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        pages = {"view-database": (database.name,), "view-table": (database.name, "notes")}
        return all([await _is_allowed(datasette, each, actor, *at) for each, at in pages.items()])
    # An open table may be in a closed database, so both must be open.
    database_page = [("view-database", database.name), "view-instance"]
    table_page = [("view-table", (database.name, "notes")), *database_page]
    try:
        await datasette.ensure_permissions(actor, database_page)
        await datasette.ensure_permissions(actor, table_page)
    except Forbidden:
        return False
    return True


async def _is_allowed(
    datasette: Datasette, action: str, actor: Actor, *resource: str, default: bool | None = None
) -> Any:
    if not hasattr(datasette, "allowed"):  # before Datasette 1.0
        return await datasette.permission_allowed(actor, action, resource[0], default)
    from datasette.resources import DatabaseResource, TableResource

    kind = TableResource if len(resource) > 1 else DatabaseResource
    return await datasette.allowed(action=action, resource=kind(*resource), actor=actor)


async def search_rules(datasette: Datasette, actor: Actor) -> PermissionSQL | None:
    """Return Datasette 1.0's default rules for searching: allowed to all who may view the notes."""
    from datasette.permissions import PermissionSQL

    actor, found = unrestricted(actor), await sidecar_databases(datasette)
    closed = [each.name for each in found if not await may_view(datasette, actor, each)]
    if len(closed) == len(found):
        return None
    # A rule for the whole instance, so that any denial overrides it. Of several indexes, those that
    # the actor may not view stay closed, unless the configuration has a rule for them.
    config = datasette.config or {}
    levels = {"": config, **(config.get("databases") or {})}
    said = {at for at, each in levels.items() if SEARCH in ((each or {}).get("permissions") or {})}
    rules = [(None, 1), *((name, 0) for name in closed if not said & {"", name})]
    sql = """
    select json_extract(value, '$[0]') as parent, null as child,
      json_extract(value, '$[1]') as allow, 'who may view the notes' as reason
    from json_each(:bear_search_rules)
    """
    return PermissionSQL(sql=sql, params={"bear_search_rules": json.dumps(rules)})


# Set while Datasette is asked whether an actor may view the notes.
_is_asking: ContextVar[bool] = ContextVar("is_asking", default=False)


async def table_permission(datasette: Datasette, actor: Actor, at: tuple[str, str]) -> bool | None:
    """Return False for any table made from notes that the actor may not view.

    Their text is in the FTS tables, too, and their words, tags and headings are in others. A rule
    for one of these tables still applies.
    """
    database, table = at
    if table == "notes" or not known_sidecar(datasette, database):
        return None
    tables = datasette.metadata("tables", database=database, fallback=False) or {}
    # SQLite's names have no case, so "Notes" closes the notes, too.
    ruled = {name.lower() for name, each in tables.items() if (each or {}).get("allow") is not None}
    # Datasette's start page asks about each table: to ask again would take a third of its time.
    has_plugins = len(pm.hook.permission_allowed.get_hookimpls()) > 2  # Datasette's, and this one
    if table.lower() in ruled or not ("notes" in ruled or has_plugins):
        return None
    notes = (database, "notes")
    is_open = await datasette.permission_allowed(actor, "view-table", notes, default=True)
    return None if is_open else False


async def table_rules(datasette: Datasette, actor: Actor) -> PermissionSQL | None:
    """Return the same as rules for Datasette 1.0."""
    from datasette.permissions import PermissionSQL

    if _is_asking.get():
        return None
    token = _is_asking.set(True)
    try:
        # A token that is restricted to one of the tables may view that if its owner may.
        view = partial(_is_allowed, datasette, "view-table", unrestricted(actor))
        found = [each.name for each in known_sidecars(datasette)]
        closed = [name for name in found if not await view(name, "notes")]
    finally:
        _is_asking.reset(token)
    sql = """
    select value as parent, null as child, 0 as allow, 'made from closed notes' as reason
    from json_each(:bear_search_closed)
    """
    return PermissionSQL(sql=sql, params={"bear_search_closed": json.dumps(closed)})


async def hidden_tags(datasette: Datasette, actor: Actor, database: Database) -> tuple[str, ...]:
    """Return the setting ``hidden_tags`` for an actor who may search but not view the notes."""
    tags = setting_list(datasette, "hidden_tags")
    return () if not tags or await may_view(datasette, actor, database) else tags


async def restrict(datasette: Datasette, actor: Actor, database: Database) -> None:
    """Let the current request read only what its actor may see.

    :raises PageError: if there is no such index yet and none can be made
    """
    turns.restricted.set(None)
    if tags := await hidden_tags(datasette, actor, database):
        from ...index.run.indexer import restricted_index

        try:
            path = await asyncio.to_thread(restricted_index, Path(str(database.path)), tags)
        except (index_file.SidecarError, sqlite3.Error) as error:
            print(error, file=sys.stderr)  # says what hides, and where
            raise PageError(UNREADABLE, 503) from None
        turns.restricted.set(path)


async def sql_url(
    datasette: Datasette, request: Request, database: Database, statement: Statement | None
) -> str | None:
    """Return the URL where Datasette shows a statement; None if the actor may not run SQL."""
    may_run = partial(_is_allowed, datasette, "execute-sql", request.actor, database.name)
    if not statement or not await may_run(default=True):
        return None
    # A fifth of the statement's characters needn't be escaped in a URL.
    query = urlencode({"sql": statement.sql, **statement.parameters}, safe="(),:='*/;@!?|")
    return f"{datasette.urls.database(database.name)}?{query}"
