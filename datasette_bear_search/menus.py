"""The ways into our pages from Datasette's menus, for those who may see the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from .serving import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH, allowed, sidecar_database

if TYPE_CHECKING:
    from datasette.app import Datasette

Links = list[dict[str, str]]


async def menu_links(datasette: Datasette, actor: dict | None) -> Links:
    """The entry in the menu of every page."""
    return [_search(datasette)] if await _may_search(datasette, actor) else []


async def database_links(datasette: Datasette, actor: dict | None, database: str) -> Links:
    """The entry in the menu of the sidecar's page."""
    return [_search(datasette)] if await _may_search(datasette, actor, database) else []


async def table_links(datasette: Datasette, actor: dict | None, database: str, table: str) -> Links:
    """The entry in the menu of a table with notes, or what belongs to them."""
    if table not in ("notes", "tags", "note_tags", "passages", "links"):
        return []
    return await database_links(datasette, actor, database)


async def row_links(
    datasette: Datasette, actor: dict | None, database: str, table: str, row: Any
) -> Links:
    """What can be done with a note, a passage or a tag; only Datasette 1.0 has a menu for it."""
    make = {"notes": _note, "passages": _passage, "tags": _tag}.get(table)
    if make is None or not await _may_search(datasette, actor, database):
        return []
    return make(datasette, dict(row))


async def _may_search(
    datasette: Datasette, actor: dict | None, database_name: str | None = None
) -> bool:
    """Whether notes are served, in the database of that name if one is given, and the actor may see them."""
    database = await sidecar_database(datasette)
    if database is None or database_name not in (None, database.name):
        return False
    return await allowed(datasette, actor, "view-database", database)


def _search(datasette: Datasette) -> dict[str, str]:
    return {
        "href": datasette.urls.path(SEARCH_PATH),
        "label": "Search notes",
        "description": "By their words and by what they mean.",
    }


def _note(datasette: Datasette, row: dict[str, Any]) -> Links:
    return [
        _link(datasette, f"{NOTE_PATH}/{row['id']}", "Read this note"),
        _link(datasette, f"{SIMILAR_PATH}/{row['id']}", "More like this"),
    ]


def _passage(datasette: Datasette, row: dict[str, Any]) -> Links:
    return [_link(datasette, f"{NOTE_PATH}/{row['note_id']}", "Read its note")]


def _tag(datasette: Datasette, row: dict[str, Any]) -> Links:
    path = f"{SEARCH_PATH}?{urlencode({'tag': row['name']})}"
    return [_link(datasette, path, "Notes with this tag")]


def _link(datasette: Datasette, path: str, label: str) -> dict[str, str]:
    return {"href": datasette.urls.path(path), "label": label}
