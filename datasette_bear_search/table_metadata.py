"""What Datasette says of the sidecar's tables: what they hold, the newest first, what to narrow by, what to hide.

Whatever the owner's own metadata and configuration say comes first.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from . import schema
from .serving import known_sidecar, sidecar_database

if TYPE_CHECKING:
    from datasette.app import Datasette

# Only columns whose names leave something to say: Datasette lists them all above the rows.
TABLES: dict[str, dict[str, Any]] = {
    "notes": {
        "description": "The notes, as they were when they were last indexed.",
        "label_column": "title",
        "sort_desc": "modified",
        "facets": [{"array": "tags"}, "source", "pinned", "archived"],
        "columns": {
            "encrypted": "1: only the title could be read",
            "key": "The note's id in its source",
            "fingerprint": "Changes with anything that the source says of the note",
            "attachments": "Names of files, and text that was recognized in images",
            "copy_of": "The same note from another source, in whose place this one isn't shown",
        },
    },
    "tags": {
        "description": "Each tag, and each that it is nested in.",
        "label_column": "name",
        "sort": "folded",
        "columns": {"folded": "The form in which tags are compared"},
    },
    "note_tags": {
        "description": "Which note has which tag.",
        "columns": {"pinned": "1: pinned to the top where the tag is shown"},
    },
    "links": {
        "description": "Links from note to note.",
        "columns": {
            "note_id": "The note that has the link",
            "target_id": "The note that it leads to; empty if there is none",
            "title": "What the link calls it",
        },
    },
    "passages": {
        "description": "The stretches of the notes that are compared by meaning.",
        "columns": {
            "heading": "The headings above it",
            "start": "Where in the note's body it begins, in characters",
            "embedded": "0: it has no vector yet",
        },
    },
    "sources": {
        "description": "Where notes were read from.",
        "columns": {
            "state": "Changes when the notes may have changed",
            "never": "Tags whose notes are left out",
            "skipped": "What was left out the last time, and why",
        },
    },
    schema.JUDGMENTS: {
        "description": "What you said about results, for datasette bear-eval.",
        "columns": {"grade": "1: this was it; 0: it was not"},
    },
    "meta": {"description": "What the index says of itself."},
    **{table: {"hidden": True} for table in schema.HIDDEN_TABLES},
}

# What Datasette asks for several times a request.
_NOT_OURS = ("plugins", "allow", "allow_sql", "queries")

# What Datasette 1.0 takes for configuration, not metadata.
_CONFIGURATION = ("label_column", "sort", "sort_desc", "facets", "hidden")


def metadata(datasette: Datasette, key: str | None = None) -> dict[str, Any]:
    """All of it, for Datasette before 1.0. A new one each time: Datasette writes what its owner says into it.

    :param key: what Datasette looks for; nothing is told of what we have nothing to say of
    """
    database = known_sidecar(datasette)
    if database is None or key in _NOT_OURS:
        return {}
    # Not datasette.metadata(), which asks us.
    said = (datasette._metadata_local.get("databases") or {}).get(database.name) or {}
    tables = {
        table: _unsorted(known, (said.get("tables") or {}).get(table) or {})
        for table, known in copy.deepcopy(TABLES).items()
    }
    return {"databases": {database.name: {"tables": tables}}}


async def apply(datasette: Datasette) -> None:
    """Tell it to Datasette 1.0, which has no hook for it, when it starts."""
    database = await sidecar_database(datasette)
    if database is None or not hasattr(datasette, "set_resource_metadata"):
        return
    _configure(datasette, database.name)
    for table, known in TABLES.items():
        resource = (database.name, table)
        said = await datasette.get_resource_metadata(*resource)
        if "description" in known and "description" not in said:
            await datasette.set_resource_metadata(*resource, "description", known["description"])
        for column, description in known.get("columns", {}).items():
            if "description" not in await datasette.get_column_metadata(*resource, column):
                await datasette.set_column_metadata(*resource, column, "description", description)


def _configure(datasette: Datasette, name: str) -> None:
    config = copy.deepcopy(datasette.config or {})
    databases = config.setdefault("databases", {})
    # 1.0a41 gives a database that is in its configuration none of the settings that plugins have for all databases.
    database = databases.setdefault(name, {"plugins": copy.deepcopy(config.get("plugins") or {})})
    tables = database.setdefault("tables", {})
    for table, known in TABLES.items():
        ours = {key: known[key] for key in _CONFIGURATION if key in known}
        said = tables.get(table) or {}
        tables[table] = _unsorted(ours, said) | said
    datasette.config = config


def _unsorted(known: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What we know of a table, without its order if there is one already: Datasette refuses two."""
    if "sort" not in said and "sort_desc" not in said:
        return known
    return {key: value for key, value in known.items() if key not in ("sort", "sort_desc")}
