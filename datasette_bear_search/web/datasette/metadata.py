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
