"""Menus, for those who may see the notes."""

from __future__ import annotations

from collections.abc import Sequence

from datasette.app import Datasette
from datasette.database import Database
from markupsafe import Markup

from ..api.openapi import SEARCH_PATH
from ..requests import databases
from ..requests.databases import Actor
from .cells import searchable_index

MenuItems = list[dict[str, str]]


async def menu_links(
    datasette: Datasette, actor: Actor, database_name: str | None = None
) -> MenuItems:
    """Return the items for the menu of every page, or the item for a sidecar's own pages."""
    description = "Search by keyword and meaning"
    found = await searchable_index(datasette, actor, database_name)
    return [
        {
            "href": databases.url(datasette, SEARCH_PATH, each),
            "label": name,
            "description": description,
        }
        for name, each in zip(_names(found), found)
    ]


def _names(sidecars: Sequence[Database]) -> list[str]:
    several = len(sidecars) > 1
    return [f"Search notes in {each.name}" if several else "Search notes" for each in sidecars]


async def box(datasette: Datasette, actor: Actor, database_name: str | None = None) -> str:
    """Return the search box for Datasette's own pages."""
    found = await searchable_index(datasette, actor, database_name)
    return Markup().join(
        Markup(
            '<form class="core bear-way-in" action="{}" method="get" role="search"><p>'
            '<input type="search" name="q" aria-label="{name}" placeholder="{name}"> '
            '<input type="submit" value="Search"></p></form>'
        ).format(databases.url(datasette, SEARCH_PATH, each), name=name)
        for name, each in zip(_names(found), found)
    )


async def table_links(datasette: Datasette, actor: Actor, database: str, table: str) -> MenuItems:
    if table not in ("notes", "tags", "note_tags", "passages", "links"):
        return []
    return await menu_links(datasette, actor, database)
