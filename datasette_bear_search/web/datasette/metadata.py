"""Metadata: tables' descriptions, order, facets and what to hide; stored queries, and for whom.

The owner's own metadata, configuration and queries take precedence.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from datasette.app import Datasette
from datasette.database import Database

from ...index.config import PLUGIN
from ...index.file import schema
from ..requests import databases, permissions
from ..requests.databases import Actor

if TYPE_CHECKING:
    from datasette.permissions import PermissionSQL

_METADATA = yaml.safe_load(Path(__file__).with_name("metadata.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, Any]] = {
    **_METADATA["tables"],
    **{table: {"hidden": True} for table in schema.HIDDEN_TABLES},
}
STORED_QUERIES: dict[str, dict[str, str]] = _METADATA["queries"]

# Keys that are configuration, not metadata, in Datasette 1.0.
_CONFIGURATION = ("label_column", "sort", "sort_desc", "facets", "hidden")
_ORDER = ("sort", "sort_desc")


async def store_metadata(datasette: Datasette, database: Database) -> None:
    is_1_0 = hasattr(datasette, "set_resource_metadata")
    _configure(datasette, database.name, "config" if is_1_0 else "_metadata_local")
    for table, known in TABLES.items() if is_1_0 else ():
        resource = (database.name, table)
        said = await datasette.get_resource_metadata(*resource)
        if "description" in known and "description" not in said:
            await datasette.set_resource_metadata(*resource, "description", known["description"])
        for column, description in known.get("columns", {}).items():
            if "description" not in await datasette.get_column_metadata(*resource, column):
                await datasette.set_column_metadata(*resource, column, "description", description)
    for name, query in STORED_QUERIES.items() if is_1_0 else ():
        stored = await datasette.get_query(database.name, name)
        if stored is None or stored.source == PLUGIN:
            # Trusted: view-query decides who may run it, as for the search page, not execute-sql.
            await datasette.add_query(database.name, name, is_trusted=True, source=PLUGIN, **query)


def _configure(datasette: Datasette, name: str, place: str) -> None:
    """Add to Datasette's configuration, which is part of the metadata before 1.0."""
    config = copy.deepcopy(getattr(datasette, place) or {})
    databases = config["databases"] = config.get("databases") or {}
    # 1.0a41 ignores plugins' global settings for a database that is in the configuration.
    settings = {"plugins": copy.deepcopy(config.get("plugins") or {})} if place == "config" else {}
    database = databases[name] = databases.get(name) or settings
    said = database["tables"] = database.get("tables") or {}
    for table, known in TABLES.items():
        own = said.get(table) or {}
        is_ordered = any(key in own for key in _ORDER)  # Datasette refuses two orders
        ours = {
            key: copy.copy(value)
            for key, value in known.items()
            if not (is_ordered and key in _ORDER) and (key in _CONFIGURATION or place != "config")
        }
        said[table] = ours | own
        if "columns" in ours:
            said[table]["columns"] = ours["columns"] | (own.get("columns") or {})
    if place != "config":
        database["queries"] = copy.deepcopy(STORED_QUERIES) | (database.get("queries") or {})
    setattr(datasette, place, config)


# --- stored queries show notes only to actors who may see them


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
