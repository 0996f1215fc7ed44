"""Stored queries, which show notes only to actors who may see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from datasette.app import Datasette
from datasette.database import Database

from ...index.config import PLUGIN
from ..requests import databases, permissions
from ..requests.databases import Actor
from .metadata import STORED_QUERIES

if TYPE_CHECKING:
    from datasette.permissions import PermissionSQL


async def query_permission(
    datasette: Datasette, actor: Actor, query: tuple[str, str]
) -> bool | None:
    """Return False if a stored query is ours and would show notes that the actor may not see."""
    database, name = query
    sidecar = databases.known_sidecar(datasette, database)
    queries = datasette.metadata("queries", database=database, fallback=False) or {}
    # The owner may have another query of the same name.
    found, ours = queries.get(name), STORED_QUERIES.get(name)
    if not (sidecar and ours and isinstance(found, dict) and found.get("sql") == ours["sql"]):
        return None
    return None if await _sees_all(datasette, actor, sidecar) else False


async def query_rules(datasette: Datasette, actor: Actor) -> PermissionSQL | None:
    from datasette.permissions import PermissionSQL

    found = databases.known_sidecars(datasette)
    closed = [each.name for each in found if not await _sees_all(datasette, actor, each)]
    sql = """
    select
      database_name as parent, name as child, 0 as allow,
      'the notes may not be searched' as reason
    from queries
    where database_name in (select value from json_each(:bear_search_databases))
      and source = :bear_search_source
    """
    parameters = {"bear_search_databases": json.dumps(closed), "bear_search_source": PLUGIN}
    return PermissionSQL(sql=sql, params=parameters)


async def _sees_all(datasette: Datasette, actor: Actor, sidecar: Database) -> bool:
    # SQL functions don't know the actor, so they can't hide anything.
    hides = await permissions.hidden_tags(datasette, actor, sidecar)
    return not hides and await permissions.may_search(datasette, actor, sidecar)
