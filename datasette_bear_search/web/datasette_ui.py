"""What Datasette's own pages get: routes, cells, menus, stored queries, table metadata.

Datasette 1.0 has hooks and methods that 0.65 lacks, and the other way round.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import yaml
from datasette.app import Datasette
from datasette.database import Database
from datasette.facets import ColumnFacet, Facet
from markupsafe import Markup

from ..index import schema
from ..notes import local_day
from ..search.engine import read_request
from . import site
from .cards import open_link
from .links import note_url, tag_url
from .site import NOTE_PATH, PLUGIN, SEARCH_PATH, SIMILAR_PATH

if TYPE_CHECKING:
    from datasette.jump import JumpSQL
    from datasette.permissions import PermissionSQL

# Characters that a cell shows of a long text. Datasette itself shows 2,048, on a row's page all.
MAX_CELL = 250

# The jump menu has room for a hundred items, of which most people look at the first five.
MAX_JUMP_NOTES = 10
# The menu opens while one types, also while the index is being written.
MENU_SECONDS = 0.5


def routes() -> list[tuple[str, Any]]:
    """Return the addresses of the pages, and what answers there."""
    from . import api, attachments, first_run, note_page, search_page

    return [
        (rf"^{SEARCH_PATH}(\.(?P<format>json))?$", search_page.search),
        (
            rf"^{site.STATIC_PATH}/(?P<stem>[a-z_]+)\.(?P<fingerprint>[0-9a-f]+)\.(?P<kind>css|js)$",
            site.static_file,
        ),
        (rf"^{api.JUDGE_PATH}$", api.judge),
        (rf"^{api.SUGGEST_PATH}\.json$", api.suggest),
        (rf"^{api.STATUS_PATH}\.json$", api.status),
        (rf"^{site.UPDATE_PATH}$", first_run.update),
        (rf"^{search_page.SAVE_PATH}$", search_page.save),
        (rf"^{attachments.FILE_PATH}/(?P<id>[^/]+)$", attachments.file),
        (rf"^{SEARCH_PATH}/(?P<page>note|similar)(\.(?P<format>json|md))?$", note_page.named),
        (rf"^{SIMILAR_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$", note_page.similar_notes),
        (rf"^{NOTE_PATH}/(?P<id>[^/]+?)(\.(?P<format>json|md))?$", note_page.note),
    ]


async def start(datasette: Datasette) -> None:
    await site.start(datasette)
    await store_metadata(datasette)


# --- cells: links to our pages and to the notes' apps, and the beginnings of long notes
#
# For people only: JSON and CSV have the values as they are.


async def css_urls(
    datasette: Datasette, actor: dict | None, database: str | None, view: str | None = None
) -> list[str]:
    """Return the style of the index file's pages, and of the home page if that has no others."""
    names = [name for name in datasette.databases if not name.startswith("_")]
    if view == "index" and len(names) == 1:
        database = names[0]
    if database is None or not await _searchable(datasette, actor, database):
        return []
    return [site.static_url(datasette, "datasette_pages.css")]


def render(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Markup | None:
    """Return the HTML of a cell, for each cell of each database; None leaves it to Datasette.

    :param table: None for the result of a query, whose rows are about notes if they have ``note_id`
    """
    make = _CELLS.get((table, column))
    if make is None or not value or not site.is_known_sidecar(datasette, database):
        return None
    # A sqlite3.Row, or what Datasette puts in its place; they raise different errors.
    columns = row.keys()
    # The statement of a search has the notes' ids as id.
    id_column = "id" if table or "lexical_rank" in columns else "note_id"
    note = row[id_column] if id_column in columns else None
    return make(datasette, value, note)


def _note_link(datasette: Datasette, text: Any, note: Any) -> Markup | None:
    if not isinstance(note, int):
        return None
    return Markup('<a href="{}" dir="auto">{}</a>').format(note_url(datasette, note), text)


def _note_row(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    sidecar = site.known_sidecar(datasette)
    if sidecar is None or not isinstance(value, int):
        return None
    url = datasette.urls.row(sidecar.name, "notes", str(value))
    return Markup('<a href="{}">{}</a>').format(url, value)


def _body(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    beginning = _beginning(datasette, value, note)
    if beginning is None or len(value) <= MAX_CELL:
        return beginning
    rest = _note_link(datasette, f"all {len(value):,} characters", note)
    return Markup("{} {}").format(beginning, rest) if rest else beginning


def _beginning(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    # On one line: Datasette's cells show each line break.
    text = " ".join(value[:MAX_CELL].split())
    more = "…" if len(value) > MAX_CELL else ""
    return Markup('<span dir="auto">{}{}</span>').format(text, more)


def _tags(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    try:
        tags = json.loads(value)
    except (TypeError, ValueError):
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return None
    return Markup(" ").join(_tag(datasette, tag, note) or "" for tag in tags) or Markup("&nbsp;")


def _tag(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    return Markup('<a href="{}" dir="auto">#{}</a>').format(tag_url(datasette, value), value)


def _url(datasette: Datasette, value: Any, note: Any) -> Markup | None:
    # Datasette itself makes links of web addresses.
    if not isinstance(value, str) or value.startswith(("http://", "https://")):
        return None
    link = open_link(value)
    return Markup('<a href="{}">{}</a>').format(link.url, link.label) if link else None


_CELLS: dict[tuple[str | None, str], Callable[[Datasette, Any, Any], Markup | None]] = {
    ("notes", "title"): _note_link,
    ("notes", "body"): _body,
    ("notes", "attachments"): _beginning,
    ("notes", "tags"): _tags,
    ("notes", "url"): _url,
    ("tags", "name"): _tag,
    (None, "title"): _note_link,
    (None, "note_id"): _note_row,
    (None, "tags"): _tags,
    (None, "url"): _url,
}


class FlagFacet(ColumnFacet):
    """A facet by a column of 0 and 1, with words for them."""

    type = "flag"
    suggest = Facet.suggest  # nothing

    async def facet_results(self) -> tuple[list[dict[str, Any]], list[str]]:
        results, timed_out = await super().facet_results()
        for facet in results:
            facet["type"] = "column"  # which has no name of its own on the page
            for value in facet["results"]:
                value["label"] = facet["name"] if value["value"] else f"not {facet['name']}"
        return results, timed_out


# --- menus, for those who may see the notes

MenuItems = list[dict[str, str]]


async def menu_links(
    datasette: Datasette, actor: dict | None, database_name: str | None = None
) -> MenuItems:
    """Return the entry in the menu of every page, or in that of the sidecar's page."""
    if not await _searchable(datasette, actor, database_name):
        return []
    description = "Search by keyword and meaning"
    return [_menu_item(datasette, SEARCH_PATH, "Search notes") | {"description": description}]


async def box(datasette: Datasette, actor: dict | None, database_name: str | None = None) -> str:
    """Return the box that leads to the search from a page of Datasette's own."""
    if not await _searchable(datasette, actor, database_name):
        return ""
    return Markup(
        '<form class="core bear-way-in" action="{}" method="get" role="search"><p>'
        '<input type="search" name="q" aria-label="Search notes" placeholder="Search notes"> '
        '<input type="submit" value="Search"></p></form>'
    ).format(datasette.urls.path(SEARCH_PATH))


async def table_links(
    datasette: Datasette, actor: dict | None, database: str, table: str
) -> MenuItems:
    """Return the entry in the menu of a table with notes, or with what belongs to them."""
    if table not in ("notes", "tags", "note_tags", "passages", "links"):
        return []
    return await menu_links(datasette, actor, database)


async def row_links(
    datasette: Datasette, actor: dict | None, database: str, table: str, row: Any
) -> MenuItems:
    """Return what can be done with a note, passage or tag; only Datasette 1.0 has a menu for it."""
    if not await _searchable(datasette, actor, database):
        return []
    if table == "notes":
        return [
            _menu_item(datasette, f"{NOTE_PATH}/{row['id']}", "Read this note"),
            _menu_item(datasette, f"{SIMILAR_PATH}/{row['id']}", "More like this"),
        ]
    if table == "passages":
        return [_menu_item(datasette, f"{NOTE_PATH}/{row['note_id']}", "Read its note")]
    if table == "tags":
        path = f"{SEARCH_PATH}?{urlencode({'tag': row['name']})}"
        return [_menu_item(datasette, path, "Notes with this tag")]
    return []


def _menu_item(datasette: Datasette, path: str, label: str) -> dict[str, str]:
    return {"href": datasette.urls.path(path), "label": label}


async def _searchable(
    datasette: Datasette, actor: dict | None, database_name: str | None = None
) -> Database | None:
    """Return the sidecar if the actor may search it, and if it is the database of that name."""
    database = await site.sidecar_database(datasette)
    if database is None or database_name not in (None, database.name):
        return None
    try:
        is_allowed = await asyncio.wait_for(
            site.may_search(datasette, actor, database), MENU_SECONDS
        )
    except (site.PageError, asyncio.TimeoutError):
        return None  # the menus are Datasette's, not ours to break or to hold up
    return database if is_allowed else None


# --- stored queries, which show notes only to those who may see them


async def query_permission(
    datasette: Datasette, actor: dict | None, query: tuple[str, str]
) -> bool | None:
    """Return False if a stored query is ours and shows what the actor may not see."""
    database_name, name = query
    if not site.is_known_sidecar(datasette, database_name) or name not in STORED_QUERIES:
        return None
    if name in (_said_of(datasette, database_name).get("queries") or {}):
        return None  # the owner's own
    database = datasette.get_database(database_name)
    return None if await site.may_search(datasette, actor, database) else False


async def query_rules(datasette: Datasette, actor: dict | None) -> PermissionSQL | None:
    """Return the same as a rule for Datasette 1.0."""
    from datasette.permissions import PermissionSQL

    database = site.known_sidecar(datasette)
    if database is None or await site.may_search(datasette, actor, database):
        return None
    sql = """
    select
      database_name as parent, name as child, 0 as allow,
      'the table notes may not be seen' as reason
    from queries
    where database_name = :bear_search_database
      and source = :bear_search_source
    """
    parameters = {"bear_search_database": database.name, "bear_search_source": PLUGIN}
    return PermissionSQL(sql=sql, params=parameters)


# --- Datasette 1.0's jump menu, which ``/`` opens: notes by their titles
#
# SQL that fails would take down the whole menu. So the search runs here, where a failure means no
# notes, and Datasette gets a list of values, which can't fail.

ITEMS = """
select
  json_extract(value, '$.type') as type, json_extract(value, '$.label') as label,
  json_extract(value, '$.description') as description, json_extract(value, '$.url') as url,
  json_extract(value, '$.typed') as search_text, null as display_name
from json_each(:items)
"""


async def jump_items(datasette: Datasette, actor: dict | None, request) -> list[JumpSQL]:
    """Return the search, and the notes whose titles have what is typed, for who may see them."""
    from datasette.jump import JumpSQL

    database = await _searchable(datasette, actor)
    if database is None:
        return []
    typed = (request.args.get("q") or "").replace("\0", "").strip()
    search = {
        "type": "search",
        "label": f"Search notes for {typed}" if typed else "Search notes",
        "description": "Search by keyword and meaning",
        "url": datasette.urls.path(SEARCH_PATH) + (f"?{urlencode({'q': typed})}" if typed else ""),
    }
    items = [search, *(await _note_items(datasette, database, typed) if typed else [])]
    for item in items:
        # Datasette leaves out items without what is typed in here. Ours were chosen above.
        item["typed"] = typed or item["label"]
    return [JumpSQL(sql=ITEMS, params={"items": json.dumps(items)})]


async def _note_items(datasette: Datasette, database: Database, typed: str) -> list[dict[str, Any]]:
    """Return the notes that are meant; none if the sidecar can't tell in time."""
    from .search_page import respond

    try:
        search = read_request(
            {"q": [f"in:title {typed}"], "mode": ["keyword"], "found": ["1"]}, size=MAX_JUMP_NOTES
        )
        answer = respond(database, search, wait=0, by_words_first=True)
        found = (await asyncio.wait_for(answer, MENU_SECONDS)).results.hits
    except Exception:  # whatever it is: the menu is Datasette's, not ours to break
        return []
    return [
        {
            "type": "note",
            "label": hit.title or "Untitled",
            "description": local_day(hit.modified),
            "url": note_url(datasette, hit.id),
        }
        for hit in found
    ]


# --- metadata: what tables hold, their order, what to narrow by, what to hide; stored queries
#
# The owner's own metadata, configuration and queries come first.

_METADATA = yaml.safe_load(Path(__file__).with_name("metadata.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, Any]] = {
    **_METADATA["tables"],
    **{table: {"hidden": True} for table in schema.HIDDEN_TABLES},
}
STORED_QUERIES: dict[str, dict[str, str]] = _METADATA["queries"]

# Keys that Datasette asks for several times a request, and that we have nothing to say about.
_NOT_OURS = ("plugins", "allow", "allow_sql")

# What Datasette 1.0 takes for configuration, not metadata.
_CONFIGURATION = ("label_column", "sort", "sort_desc", "facets", "hidden")
_ORDER = ("sort", "sort_desc")


def metadata(datasette: Datasette, key: str | None = None) -> dict[str, Any]:
    """Return the metadata of tables and the stored queries, for Datasette before 1.0."""
    database = site.known_sidecar(datasette)
    if database is None or key in _NOT_OURS:
        return {}
    said = _said_of(datasette, database.name)
    own_queries = said.get("queries") or {}
    ours = {
        "tables": _tables(said.get("tables") or {}),
        "queries": {
            name: dict(query) for name, query in STORED_QUERIES.items() if name not in own_queries
        },
    }
    return {"databases": {database.name: ours}}


def _said_of(datasette: Datasette, database_name: str) -> dict[str, Any]:
    """Return what the owner's metadata says of a database, before Datasette 1.0."""
    # Not datasette.metadata(), which asks us. Whoever uses it copies it: Datasette changes it.
    return (datasette._metadata_local.get("databases") or {}).get(database_name) or {}


async def store_metadata(datasette: Datasette) -> None:
    """Store the same in Datasette 1.0, which has no hooks for it."""
    database = await site.sidecar_database(datasette)
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
    for name, query in STORED_QUERIES.items():
        stored = await datasette.get_query(database.name, name)
        if stored is None or stored.source == PLUGIN:
            # Trusted: view-query decides who may run it, as with the search page, not execute-sql.
            await datasette.add_query(database.name, name, is_trusted=True, source=PLUGIN, **query)


def _configure(datasette: Datasette, name: str) -> None:
    config = copy.deepcopy(datasette.config or {})
    databases = config.setdefault("databases", {})
    # 1.0a41 gives a database that is in its configuration no settings that plugins have for all.
    database = databases.setdefault(name, {"plugins": copy.deepcopy(config.get("plugins") or {})})
    said = database.setdefault("tables", {})
    for table, known in _tables(said).items():
        ours = {key: known[key] for key in _CONFIGURATION if key in known}
        said[table] = ours | (said.get(table) or {})
    datasette.config = config


def _tables(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return our metadata of tables, without an order where the owner gave one: two are refused."""
    tables = {}
    for table, known in TABLES.items():
        is_ordered = any(key in (said.get(table) or {}) for key in _ORDER)
        tables[table] = {
            key: copy.copy(value)
            for key, value in known.items()
            if not (is_ordered and key in _ORDER)
        }
    return tables
