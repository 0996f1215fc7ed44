"""Additions to Datasette's own pages: routes, cells, menus, stored queries, table metadata.

Datasette 1.0 has hooks and methods that 0.65 lacks, and vice versa.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

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
from .openapi import ROUTE, SEARCH_PATH, STATIC_PATH
from .site import PLUGIN, Actor

if TYPE_CHECKING:
    from datasette.jump import JumpSQL
    from datasette.permissions import PermissionSQL

# Characters of a long text in a cell. Datasette itself shows 2,048, and all on a row's page.
MAX_CELL = 250

# The jump menu has room for a hundred items, but most people look at the first five.
MAX_JUMP_NOTES = 10
# The menu must open while people type, even while the index is being written.
MENU_SECONDS = 0.5


def routes() -> list[tuple[str, Any]]:
    from . import api, attachments, first_run, note_page, search_page

    # Each index has these routes; those of the first one also work without its name.
    ours = [
        (r"(\.(?P<format>json))?", search_page.search),
        (r"/judge", api.judge),
        (r"/suggest\.json", api.suggest),
        (r"/status\.json", api.status),
        (r"/openapi\.json", api.description),
        (r"/update", first_run.update),
        (r"/save", search_page.save),
        (r"/file/(?P<id>[^/]+)", attachments.file),
        (r"/(?P<page>note|similar)(\.(?P<format>json|md))?", note_page.named),
        (r"/similar/(?P<id>[^/]+?)(\.(?P<format>json))?", note_page.similar_notes),
        (r"/note/(?P<id>[^/]+?)(\.(?P<format>json|md))?", note_page.note),
    ]
    file = r"(?P<stem>[a-z_]+)\.(?P<fingerprint>[0-9a-f]+)\.(?P<kind>css|js)"
    return [
        (rf"^{STATIC_PATH}/{file}$", site.static_file),
        *((rf"^{ROUTE}{path}$", answer) for path, answer in ours),
    ]


async def start(datasette: Datasette) -> None:
    await site.start(datasette)
    found = await site.sidecar_databases(datasette)
    for database in found if hasattr(datasette, "set_resource_metadata") else ():
        await store_metadata(datasette, database)


# --- cells: links to our pages and to the notes' apps, and the beginnings of long notes
#
# For HTML only: JSON and CSV have the stored values.


async def css_urls(
    datasette: Datasette, actor: dict | None, database: str | None, view: str | None = None
) -> list[str]:
    """Return our style sheet for an index's pages, and for the home page if it has no others."""
    names = [name for name in datasette.databases if not name.startswith("_")]
    if view == "index" and len(names) == 1:
        database = names[0]
    if database is None or not await _searchable(datasette, actor, database):
        return []
    return [site.static_url(datasette, "datasette_pages.css")]


def render(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Markup | None:
    """Return the HTML of a cell, or None to leave it to Datasette. Called for every cell.

    :param table: None for a query's results, whose rows are about notes if they have ``note_id``
    """
    make = _CELLS.get((table, column))
    sidecar = make and value and site.known_sidecar(datasette, database)
    if not make or not sidecar:
        return None
    # A sqlite3.Row or Datasette's replacement for it, which raise different errors.
    columns = row.keys()
    # In the results of a search statement, the column id has the notes' ids.
    id_column = "id" if table or "lexical_rank" in columns else "note_id"
    note = row[id_column] if id_column in columns else None
    return make(sidecar, value, note)


def _note_link(sidecar: Database, text: Any, note: Any) -> Markup | None:
    if not isinstance(note, int):
        return None
    url = note_url(sidecar.ds, note, sidecar)
    return Markup('<a href="{}" dir="auto">{}</a>').format(url, text)


def _note_row(sidecar: Database, value: Any, note: Any) -> Markup | None:
    if not isinstance(value, int):
        return None
    url = sidecar.ds.urls.row(sidecar.name, "notes", str(value))
    return Markup('<a href="{}">{}</a>').format(url, value)


def _body(sidecar: Database, value: Any, note: Any) -> Markup | None:
    beginning = _beginning(sidecar, value, note)
    if beginning is None or len(value) <= MAX_CELL:
        return beginning
    rest = _note_link(sidecar, f"all {len(value):,} characters", note)
    return Markup("{} {}").format(beginning, rest) if rest else beginning


def _beginning(sidecar: Database, value: Any, note: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    # On one line, because Datasette's cells show line breaks.
    text = " ".join(value[:MAX_CELL].split())
    more = "…" if len(value) > MAX_CELL else ""
    return Markup('<span dir="auto">{}{}</span>').format(text, more)


def _tags(sidecar: Database, value: Any, note: Any) -> Markup | None:
    try:
        tags = json.loads(value)
    except (TypeError, ValueError):
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return None
    return Markup(" ").join(_tag(sidecar, tag, note) or "" for tag in tags) or Markup("&nbsp;")


def _tag(sidecar: Database, value: Any, note: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    url = tag_url(sidecar.ds, value, sidecar)
    return Markup('<a href="{}" dir="auto">#{}</a>').format(url, value)


def _url(sidecar: Database, value: Any, note: Any) -> Markup | None:
    # Datasette itself turns web addresses into links.
    if not isinstance(value, str) or value.startswith(("http://", "https://")):
        return None
    link = open_link(value)
    return Markup('<a href="{}">{}</a>').format(link.url, link.label) if link else None


_CELLS: dict[tuple[str | None, str], Callable[[Database, Any, Any], Markup | None]] = {
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
    """A facet by a column of 0 and 1, with labels in words."""

    type = "flag"
    suggest = Facet.suggest  # suggests nothing

    async def facet_results(self) -> tuple[list[dict[str, Any]], list[str]]:
        results, timed_out = await super().facet_results()
        for facet in results:
            facet["type"] = "column"  # the only type that the page doesn't name
            for value in facet["results"]:
                value["label"] = facet["name"] if value["value"] else f"not {facet['name']}"
        return results, timed_out


# --- menus, for those who may see the notes

MenuItems = list[dict[str, str]]


async def menu_links(
    datasette: Datasette, actor: Actor, database_name: str | None = None
) -> MenuItems:
    """Return the items for the menu of every page, or the item for a sidecar's own pages."""
    description = {"description": "Search by keyword and meaning"}
    found = await _searchable(datasette, actor, database_name)
    return [_menu_item(each, "", name) | description for name, each in zip(_names(found), found)]


def _names(sidecars: Sequence[Database]) -> list[str]:
    several = len(sidecars) > 1
    return [f"Search notes in {each.name}" if several else "Search notes" for each in sidecars]


async def box(datasette: Datasette, actor: Actor, database_name: str | None = None) -> str:
    """Return the search box for Datasette's own pages."""
    found = await _searchable(datasette, actor, database_name)
    return Markup().join(
        Markup(
            '<form class="core bear-way-in" action="{}" method="get" role="search"><p>'
            '<input type="search" name="q" aria-label="{name}" placeholder="{name}"> '
            '<input type="submit" value="Search"></p></form>'
        ).format(site.url(datasette, SEARCH_PATH, each), name=name)
        for name, each in zip(_names(found), found)
    )


async def table_links(datasette: Datasette, actor: Actor, database: str, table: str) -> MenuItems:
    if table not in ("notes", "tags", "note_tags", "passages", "links"):
        return []
    return await menu_links(datasette, actor, database)


ROW_LINKS = {
    "notes": {"/note/{id}": "Read this note", "/similar/{id}": "More like this"},
    "passages": {"/note/{note_id}": "Read its note"},
    "tags": {"?tag={name}": "Notes with this tag"},
}


async def row_links(
    datasette: Datasette, actor: Actor, database: str, table: str, row: Any
) -> MenuItems:
    """Return menu items for a note, passage or tag. Only Datasette 1.0 has a menu for rows."""
    links = ROW_LINKS.get(table, {}).items()
    found = await _searchable(datasette, actor, database) if links else ()
    values = {name: quote_plus(str(value)) for name, value in dict(row).items()}
    items = [(path.format_map(values), label) for path, label in links]
    return [_menu_item(each, path, label) for each in found for path, label in items]


def _menu_item(sidecar: Database, path: str, label: str) -> dict[str, str]:
    return {"href": site.url(sidecar.ds, SEARCH_PATH + path, sidecar), "label": label}


async def _searchable(
    datasette: Datasette, actor: Actor, name: str | None = None
) -> list[Database]:
    """Return the sidecars that the actor may search, or only the one of this name."""

    async def allowed() -> list[Database]:
        found = await site.sidecar_databases(datasette)
        return [
            each
            for each in found
            if name in (None, each.name) and await site.may_search(datasette, actor, each)
        ]

    try:
        return await asyncio.wait_for(allowed(), MENU_SECONDS)
    except (site.PageError, asyncio.TimeoutError):
        return []  # don't break or delay Datasette's menus


# --- stored queries, which show notes only to actors who may see them


async def query_permission(
    datasette: Datasette, actor: Actor, query: tuple[str, str]
) -> bool | None:
    """Return False if a stored query is ours and would show notes that the actor may not see."""
    sidecar, name = site.known_sidecar(datasette, query[0]), query[1]
    if sidecar is None or name not in STORED_QUERIES:
        return None
    if name in (_said_of(datasette, sidecar.name).get("queries") or {}):
        return None  # the owner's query of the same name
    return None if await _sees_all(datasette, actor, sidecar) else False


async def query_rules(datasette: Datasette, actor: Actor) -> PermissionSQL | None:
    from datasette.permissions import PermissionSQL

    found = site.known_sidecars(datasette)
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
    hides = await site.hidden_tags(datasette, actor, sidecar)
    return not hides and await site.may_search(datasette, actor, sidecar)


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


async def jump_items(datasette: Datasette, actor: Actor, request) -> list[JumpSQL]:
    """Return items for the search, and for notes whose titles have the typed words."""
    from datasette.jump import JumpSQL

    typed = (request.args.get("q") or "").replace("\0", "").strip()
    query = f"?{urlencode({'q': typed})}" if typed else ""
    found, items = await _searchable(datasette, actor), []
    for name, sidecar in zip(_names(found), found):
        search = {
            "type": "search",
            "label": f"{name} for {typed}" if typed else name,
            "description": "Search by keyword and meaning",
            "url": site.url(datasette, SEARCH_PATH + query, sidecar),
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
    from .search_page import respond

    try:
        await site.restrict(datasette, actor, database)
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


# --- metadata: tables' descriptions, order, facets and what to hide; stored queries
#
# The owner's own metadata, configuration and queries take precedence.

_METADATA = yaml.safe_load(Path(__file__).with_name("metadata.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, Any]] = {
    **_METADATA["tables"],
    **{table: {"hidden": True} for table in schema.HIDDEN_TABLES},
}
STORED_QUERIES: dict[str, dict[str, str]] = _METADATA["queries"]

# Keys that Datasette asks for several times per request, for which we have no metadata.
_NOT_OURS = ("plugins", "allow", "allow_sql")

# Keys that are configuration, not metadata, in Datasette 1.0.
_CONFIGURATION = ("label_column", "sort", "sort_desc", "facets", "hidden")
_ORDER = ("sort", "sort_desc")


def metadata(datasette: Datasette, key: str | None = None) -> dict[str, Any]:
    """Return the metadata of tables and the stored queries, for Datasette before 1.0."""
    if key in _NOT_OURS:
        return {}
    databases = {}
    for sidecar in site.known_sidecars(datasette):
        said = _said_of(datasette, sidecar.name)
        own = said.get("queries") or {}
        queries = {name: dict(each) for name, each in STORED_QUERIES.items() if name not in own}
        databases[sidecar.name] = {"tables": _tables(said.get("tables") or {}), "queries": queries}
    return {"databases": databases} if databases else {}


def _said_of(datasette: Datasette, database_name: str) -> dict[str, Any]:
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
