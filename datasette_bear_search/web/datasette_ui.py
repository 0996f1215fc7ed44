"""What Datasette's own pages get: routes, cells, menus, stored queries, table metadata.

Datasette 1.0 has hooks and methods that 0.65 lacks, and the other way round.
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
from .site import PLUGIN, SEARCH_PATH, Actor

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
    from . import api, attachments, first_run, note_page, search_page

    # Each index has its own, of which those of the first need no name.
    ours = [
        (r"(\.(?P<format>json))?", search_page.search),
        (r"/judge", api.judge),
        (r"/suggest\.json", api.suggest),
        (r"/status\.json", api.status),
        (r"/openapi\.json", api.openapi),
        (r"/update", first_run.update),
        (r"/save", search_page.save),
        (r"/file/(?P<id>[^/]+)", attachments.file),
        (r"/(?P<page>note|similar)(\.(?P<format>json|md))?", note_page.named),
        (r"/similar/(?P<id>[^/]+?)(\.(?P<format>json))?", note_page.similar_notes),
        (r"/note/(?P<id>[^/]+?)(\.(?P<format>json|md))?", note_page.note),
    ]
    file = r"(?P<stem>[a-z_]+)\.(?P<fingerprint>[0-9a-f]+)\.(?P<kind>css|js)"
    return [
        (rf"^{site.STATIC_PATH}/{file}$", site.static_file),
        *((rf"^{site.ROUTE}{path}$", answer) for path, answer in ours),
    ]


async def start(datasette: Datasette) -> None:
    await site.start(datasette)
    found = await site.sidecar_databases(datasette)
    for database in found if hasattr(datasette, "set_resource_metadata") else ():
        await store_metadata(datasette, database)


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
    sidecar = make and value and site.known_sidecar(datasette, database)
    if not make or not sidecar:
        return None
    # A sqlite3.Row, or what Datasette puts in its place; they raise different errors.
    columns = row.keys()
    # The statement of a search has the notes' ids as id.
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
    # On one line: Datasette's cells show each line break.
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
    # Datasette itself makes links of web addresses.
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
    datasette: Datasette, actor: Actor, database_name: str | None = None
) -> MenuItems:
    """Return the entries in the menu of every page, or that in the one of a sidecar's page."""
    description = {"description": "Search by keyword and meaning"}
    found = await _searchable(datasette, actor, database_name)
    return [_menu_item(each, "", name) | description for name, each in zip(_names(found), found)]


def _names(sidecars: Sequence[Database]) -> list[str]:
    several = len(sidecars) > 1
    return [f"Search notes in {each.name}" if several else "Search notes" for each in sidecars]


async def box(datasette: Datasette, actor: Actor, database_name: str | None = None) -> str:
    """Return the box that leads to the search from a page of Datasette's own."""
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
    """Return what can be done with a note, passage or tag; only Datasette 1.0 has a menu for it."""
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
    """Return the sidecars that the actor may search, or of them that of this name."""

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
        return []  # the menus are Datasette's, not ours to break or to hold up


# --- stored queries, which show notes only to those who may see them


async def query_permission(
    datasette: Datasette, actor: Actor, query: tuple[str, str]
) -> bool | None:
    """Return False if a stored query is ours and shows what the actor may not see."""
    sidecar, name = site.known_sidecar(datasette, query[0]), query[1]
    if sidecar is None or name not in STORED_QUERIES:
        return None
    if name in (_said_of(datasette, sidecar.name).get("queries") or {}):
        return None  # the owner's own
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
    # SQL functions don't know who asks.
    hides = await site.hidden_tags(datasette, actor, sidecar)
    return not hides and await site.may_search(datasette, actor, sidecar)


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


async def jump_items(datasette: Datasette, actor: Actor, request) -> list[JumpSQL]:
    """Return the search, and the notes whose titles have what is typed, for who may see them."""
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
        if typed and not await site.hidden_tags(datasette, actor, sidecar):
            items += await _note_items(datasette, sidecar, typed)
    for item in items:
        # Datasette leaves out items without what is typed in here. Ours were chosen above.
        item["typed"] = typed or item["label"]
    return [JumpSQL(sql=ITEMS, params={"items": json.dumps(items)})] if items else []


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
            "url": note_url(datasette, hit.id, database),
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
    """Return what the owner's metadata says of a database, before Datasette 1.0."""
    # Not datasette.metadata(), which asks us. Whoever uses it copies it: Datasette changes it.
    return (datasette._metadata_local.get("databases") or {}).get(database_name) or {}


async def store_metadata(datasette: Datasette, database: Database) -> None:
    """Store the same in Datasette 1.0, which has no hooks for it."""
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
