"""Menus, for those who may see the notes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Request
from datasette.app import Datasette
from datasette.database import Database

from ...notes import local_day
from ...search.request import read_request
from ..api.openapi import SEARCH_PATH
from ..pages.urls import note_url
from ..pipeline import respond
from ..requests import databases, permissions
from ..requests.databases import Actor
from .cells import MENU_SECONDS, searchable_index

if TYPE_CHECKING:
    from datasette.jump import JumpSQL


# The jump menu has room for a hundred items, but most people look at the first five.
MAX_JUMP_NOTES = 10


MenuItems = list[dict[str, str]]
ABOUT = "Search by keyword and meaning"


async def menu_links(
    datasette: Datasette, actor: Actor, database_name: str | None = None
) -> MenuItems:
    """Return the items for the menu of every page, or the item for a sidecar's own pages.

    Search boxes on those pages are made of the same items.
    """
    return [
        {"href": databases.url(datasette, SEARCH_PATH, each), "label": name, "description": ABOUT}
        for name, each in await _searches(datasette, actor, database_name)
    ]


async def _searches(
    datasette: Datasette, actor: Actor, name: str | None = None
) -> list[tuple[str, Database]]:
    found = await searchable_index(datasette, actor, name)
    several = len(found) > 1
    return [(f"Search notes in {it.name}" if several else "Search notes", it) for it in found]


async def table_links(datasette: Datasette, actor: Actor, database: str, table: str) -> MenuItems:
    if table not in ("notes", "tags", "note_tags", "passages", "links"):
        return []
    return await menu_links(datasette, actor, database)


# --- Datasette 1.0's jump menu, which ``/`` opens: notes by their titles
#
# If our SQL failed, the whole menu would. So the search runs here, where a failure only means no
# notes, and Datasette's SQL reads a list of values, which can't fail.

ITEMS = """
select
  json_extract(value, '$.type') as type, json_extract(value, '$.label') as label,
  json_extract(value, '$.description') as description, json_extract(value, '$.url') as url,
  json_extract(value, '$.typed') as search_text, null as display_name
from json_each(:items)
"""


async def jump_items(datasette: Datasette, actor: Actor, request: Request) -> list[JumpSQL]:
    """Return items for the search, and for notes whose titles have the typed words."""
    from datasette.jump import JumpSQL

    typed = (request.args.get("q") or "").replace("\0", "").strip()
    query = f"?{urlencode({'q': typed})}" if typed else ""
    items: list[dict[str, Any]] = []
    for name, sidecar in await _searches(datasette, actor):
        search = {
            "type": "search",
            "label": f"{name} for {typed}" if typed else name,
            "description": ABOUT,
            "url": databases.url(datasette, SEARCH_PATH + query, sidecar),
        }
        items.append(search)
        if typed:
            items += await _note_items(datasette, actor, sidecar, typed)
    for item in items:
        # Datasette drops items whose search_text lacks the typed text. Ours were chosen above.
        item["typed"] = typed or item["label"]
    return [JumpSQL(sql=ITEMS, params={"items": json.dumps(items)})] if items else []


async def _note_items(
    datasette: Datasette, actor: Actor, database: Database, typed: str
) -> list[dict[str, Any]]:
    """Return items for notes by their titles; none if the search isn't done in time."""
    try:
        await permissions.restrict(datasette, actor, database)
        search = read_request(
            {"q": [f"in:title {typed}"], "mode": ["keyword"], "found": ["1"]}, size=MAX_JUMP_NOTES
        )
        answer = respond(database, search, wait=0, by_words_first=True)
        found = (await asyncio.wait_for(answer, MENU_SECONDS)).results.hits
    except Exception:  # don't break Datasette's menu, whatever happens
        return []
    return [
        {
            "type": "note",
            "label": hit.title or "Untitled",
            "description": local_day(hit.modified),
            "url": note_url(datasette, hit.id, database),
        }
        for hit in found
    ]
