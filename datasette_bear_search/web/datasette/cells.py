"""Cells: links to our pages and to the notes' apps, and the beginnings of long notes.

For HTML only: JSON and CSV have the stored values.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from datasette.app import Datasette
from datasette.database import Database
from markupsafe import Markup

from ..pages.cards import open_link
from ..pages.urls import note_url, tag_url
from ..requests import databases, errors, permissions, static_files
from ..requests.databases import Actor

# Characters of a long text in a cell. Datasette itself shows 2,048, and all on a row's page.
MAX_CELL = 250
# The menu must open while people type, even while the index is being written.
MENU_SECONDS = 0.5
_LINK = Markup('<a href="{}" dir="auto">{}</a>')


async def css_urls(
    datasette: Datasette, actor: Actor, database: str | None, view: str | None = None
) -> list[str]:
    """Return our style sheet for an index's pages, and for the home page if it has no others."""
    names = [name for name in datasette.databases if not name.startswith("_")]
    if view == "index" and len(names) == 1:
        database = names[0]
    if database is None or not await searchable_index(datasette, actor, database):
        return []
    return [static_files.static_url(datasette, "datasette_pages.css")]


def rendered_cell(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Markup | None:
    """Return the HTML of a cell, or None to leave it to Datasette. Called for every cell.

    :param table: None for a query's results, whose rows are about notes if they have ``note_id``
    """
    kind, make = _CELLS.get((table, column), (object, None))
    is_ours = make and value and isinstance(value, kind)
    sidecar = is_ours and databases.known_sidecar(datasette, database)
    if not make or not sidecar:
        return None
    # A sqlite3.Row or Datasette's replacement for it, which raise different errors.
    columns = row.keys()
    # In the results of a search statement, the column id has the notes' ids.
    id_column = "id" if table or "lexical_rank" in columns else "note_id"
    note = row[id_column] if id_column in columns else None
    return make(sidecar, value, note if isinstance(note, int) else None)


def _note_link(sidecar: Database, text: Any, note: int | None) -> Markup | None:
    return None if note is None else _LINK.format(note_url(sidecar.ds, note, sidecar), text)


def _note_row(sidecar: Database, value: int, note: int | None) -> Markup:
    url = sidecar.ds.urls.row(sidecar.name, "notes", str(value))
    return Markup('<a href="{}">{}</a>').format(url, value)


def _body(sidecar: Database, value: str, note: int | None) -> Markup:
    rest = _note_link(sidecar, f"all {len(value):,} characters", note)
    beginning = _beginning(sidecar, value, note)
    return Markup("{} {}").format(beginning, rest) if rest and value[MAX_CELL:] else beginning


def _beginning(sidecar: Database, value: str, note: int | None) -> Markup:
    # On one line, because Datasette's cells show line breaks.
    text = " ".join(value[:MAX_CELL].split())
    return Markup('<span dir="auto">{}{}</span>').format(text, "…" if value[MAX_CELL:] else "")


def _tags(sidecar: Database, value: str, note: int | None) -> Markup | None:
    try:
        tags = json.loads(value)
    except ValueError:
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return None
    return Markup(" ").join(_tag(sidecar, tag, note) for tag in tags) or Markup("&nbsp;")


def _tag(sidecar: Database, value: str, note: int | None) -> Markup:
    return _LINK.format(tag_url(sidecar.ds, value, sidecar), f"#{value}")


def _url(sidecar: Database, value: str, note: int | None) -> Markup | None:
    # Datasette itself turns web addresses into links.
    link = None if value.startswith(("http://", "https://")) else open_link(value)
    return Markup('<a href="{}">{}</a>').format(link.url, link.label) if link else None


# The type that a column's values must have, and what makes the cell's HTML.
_CELLS: dict[tuple[str | None, str], tuple[type, Callable[[Database, Any, int | None], Any]]] = {
    ("notes", "title"): (object, _note_link),
    ("notes", "body"): (str, _body),
    ("notes", "attachments"): (str, _beginning),
    ("notes", "tags"): (str, _tags),
    ("notes", "url"): (str, _url),
    ("tags", "name"): (str, _tag),
    (None, "title"): (object, _note_link),
    (None, "note_id"): (int, _note_row),
    (None, "tags"): (str, _tags),
    (None, "url"): (str, _url),
}


async def searchable_index(
    datasette: Datasette, actor: Actor, name: str | None = None
) -> list[Database]:
    """Return the sidecars that the actor may search, or only the one of this name."""

    async def allowed() -> list[Database]:
        found = await databases.sidecar_databases(datasette)
        return [
            each
            for each in found
            if name in (None, each.name) and await permissions.may_search(datasette, actor, each)
        ]

    try:
        return await asyncio.wait_for(allowed(), MENU_SECONDS)
    except (errors.PageError, asyncio.TimeoutError):
        return []  # don't break or delay Datasette's menus
