"""Metadata: tables' descriptions, order, facets and what to hide; stored queries.

The owner's own metadata, configuration and queries take precedence.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml
from datasette.app import Datasette
from datasette.database import Database

from ...index.config import PLUGIN
from ...index.file import schema
from ..requests import databases as index_databases

_METADATA = yaml.safe_load(Path(__file__).with_name("metadata.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, Any]] = {
    **_METADATA["tables"],
    **{table: {"hidden": True} for table in schema.HIDDEN_TABLES},
}
STORED_QUERIES: dict[str, dict[str, str]] = _METADATA["queries"]

# Keys that Datasette asks for several times per request, for which we have no metadata.
_NOT_OURS = ("plugins", "allow", "allow_sql", "extra_css_urls", "extra_js_urls")

# Keys that are configuration, not metadata, in Datasette 1.0.
_CONFIGURATION = ("label_column", "sort", "sort_desc", "facets", "hidden")
_ORDER = ("sort", "sort_desc")


def metadata(datasette: Datasette, key: str | None = None) -> dict[str, Any]:
    """Return the metadata of tables and the stored queries, for Datasette before 1.0."""
    if key in _NOT_OURS:
        return {}
    databases = {}
    for sidecar in index_databases.known_sidecars(datasette):
        said = owner_metadata(datasette, sidecar.name)
        own = said.get("queries") or {}
        queries = {name: dict(each) for name, each in STORED_QUERIES.items() if name not in own}
        databases[sidecar.name] = {"tables": _tables(said.get("tables") or {}), "queries": queries}
    return {"databases": databases} if databases else {}


def owner_metadata(datasette: Datasette, database_name: str) -> dict[str, Any]:
    """Return the owner's metadata of a database, before Datasette 1.0."""
    # Not datasette.metadata(), which calls our hook. Copy what is passed on: Datasette changes it.
    return (datasette._metadata_local.get("databases") or {}).get(database_name) or {}


async def store_metadata(datasette: Datasette, database: Database) -> None:
    """Store the same metadata in Datasette 1.0, which has no hook for it."""
    _configure(datasette, database.name)
    for table, known in TABLES.items():
        resource = (database.name, table)
        said = await datasette.get_resource_metadata(*resource)
        if "description" in known and "description" not in said:
            await datasette.set_resource_metadata(*resource, "description", known["description"])
        for column, description in known.get("columns", {}).items():
            if "description" not in await datasette.get_column_metadata(*resource, column):
                await datasette.set_column_metadata(*resource, column, "description", description)
    for name, query in STORED_QUERIES.items():
        stored = await datasette.get_query(database.name, name)
        if stored is None or stored.source == PLUGIN:
            # Trusted: view-query decides who may run it, as for the search page, not execute-sql.
            await datasette.add_query(database.name, name, is_trusted=True, source=PLUGIN, **query)


def _configure(datasette: Datasette, name: str) -> None:
    config = copy.deepcopy(datasette.config or {})
    databases = config.setdefault("databases", {})
    # 1.0a41 ignores plugins' global settings for a database that is in the configuration.
    database = databases.setdefault(name, {"plugins": copy.deepcopy(config.get("plugins") or {})})
    said = database.setdefault("tables", {})
    for table, known in _tables(said).items():
        ours = {key: known[key] for key in _CONFIGURATION if key in known}
        said[table] = ours | (said.get(table) or {})
    datasette.config = config


def _tables(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return our metadata of tables, without an order if the owner set one: two are refused."""
    tables = {}
    for table, known in TABLES.items():
        is_ordered = any(key in (said.get(table) or {}) for key in _ORDER)
        tables[table] = {
            key: copy.copy(value)
            for key, value in known.items()
            if not (is_ordered and key in _ORDER)
        }
    return tables
