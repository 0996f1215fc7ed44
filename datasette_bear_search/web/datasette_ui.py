"""How cells of the sidecar look in Datasette: links to our pages and to Bear, and not the whole of a long note.

For people only: JSON and CSV have the values as they stand.
"""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from ..index import schema
from ..notes import local_day
from ..query import fts5
from ..search import redaction
from ..sqlite import like_literal
from .cards import open_link
from .site import (
    NOTE_PATH,
    PLUGIN,
    SEARCH_PATH,
    SIMILAR_PATH,
    allowed,
    attach_sidecar,
    known_sidecar,
    redacts,
    require_redaction_if_configured,
    sidecar_database,
    warm_up_if_configured,
)

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from datasette.jump import JumpSQL


def routes() -> list[tuple[str, Any]]:
    """Return the addresses of the pages, and what answers there."""
    from . import api, note_page, search_page

    return [
        (rf"^{SEARCH_PATH}(\.(?P<format>json))?$", search_page.search),
        (rf"^{api.JUDGE_PATH}$", api.judge),
        (rf"^{api.SUGGEST_PATH}\.json$", api.suggest),
        (rf"^{SIMILAR_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$", note_page.similar_notes),
        (rf"^{NOTE_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$", note_page.note),
    ]


async def start(datasette: Datasette) -> None:
    """Set up what a Datasette needs once."""
    require_redaction_if_configured(datasette)
    attach_sidecar(datasette)
    await warm_up_if_configured(datasette)
    await apply(datasette)
    await store_queries(datasette)


# Characters of a long text: some lines of a cell. Datasette itself shows 2,048 in a table, and on a row's page all.
BEGINNING = 250


def css_urls(datasette: Datasette, database: str | None) -> list[str]:
    """The style sheet for pages of the sidecar."""
    sidecar = known_sidecar(datasette)
    if sidecar is None or sidecar.name != database:
        return []
    return [datasette.urls.static_plugins("datasette_bear_search", "datasette_pages.css")]


def render(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Markup | None:
    """The HTML of a cell; None leaves it to Datasette. Called for each cell of each database.

    :param table: None for the result of a query, in which ``note_id`` tells that a row is about a note
    """
    make = _CELLS.get((table, column))
    if make is None or not value:
        return None
    sidecar = known_sidecar(datasette)
    if sidecar is None or sidecar.name != database:
        return None
    return make(datasette, database, value, row)


def _title(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _note_link(datasette, _column(row, "note_id"), value)


def _title_of_note(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _note_link(datasette, _column(row, "id"), value)


def _note_link(datasette: Datasette, note: Any, text: Any) -> Markup | None:
    if not isinstance(note, int):
        return None
    path = datasette.urls.path(f"{NOTE_PATH}/{note}")
    return Markup('<a href="{}" dir="auto">{}</a>').format(path, text)


def _note_row(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, int):
        return None
    path = datasette.urls.row(database, "notes", str(value))
    return Markup('<a href="{}">{}</a>').format(path, value)


def _body(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    beginning = _beginning(datasette, database, value, row)
    rest = _note_link(datasette, _column(row, "id"), f"all {len(value):,} characters")
    return Markup("{} {}").format(beginning, rest) if rest and len(value) > BEGINNING else beginning


def _beginning(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    # On one line: Datasette's cells show each line break.
    text = " ".join(value[:BEGINNING].split())
    more = "…" if len(value) > BEGINNING else ""
    return Markup('<span dir="auto">{}{}</span>').format(text, more)


def _column(row: Any, name: str) -> Any:
    # A sqlite3.Row, or what Datasette puts in its place, which don't say the same of what they lack.
    return row[name] if name in row.keys() else None  # noqa: SIM118


def _tags(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    try:
        tags = json.loads(value)
    except (TypeError, ValueError):
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return None
    return Markup(" ").join(_tag_link(datasette, tag) for tag in tags) or Markup("&nbsp;")


def _tag(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _tag_link(datasette, value) if isinstance(value, str) else None


def _tag_link(datasette: Datasette, tag: str) -> Markup:
    path = datasette.urls.path(f"{SEARCH_PATH}?{urlencode({'tag': tag})}")
    return Markup('<a href="{}" dir="auto">#{}</a>').format(path, tag)


def _url(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    # Datasette itself makes links of web addresses.
    if not isinstance(value, str) or value.startswith(("http://", "https://")):
        return None
    link = open_link(value)
    return Markup('<a href="{}">{}</a>').format(link.url, link.label) if link else None


_CELLS = {
    ("notes", "title"): _title_of_note,
    ("notes", "body"): _body,
    ("notes", "attachments"): _beginning,
    ("notes", "tags"): _tags,
    ("notes", "url"): _url,
    ("tags", "name"): _tag,
    (None, "title"): _title,
    (None, "note_id"): _note_row,
    (None, "tags"): _tags,
    (None, "url"): _url,
}


# The ways into our pages from Datasette's menus, for those who may see the notes.

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
    make = {"notes": _note, "passages": _passage, "tags": _menu_tag}.get(table)
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


def _menu_tag(datasette: Datasette, row: dict[str, Any]) -> Links:
    path = f"{SEARCH_PATH}?{urlencode({'tag': row['name']})}"
    return [_link(datasette, path, "Notes with this tag")]


def _link(datasette: Datasette, path: str, label: str) -> dict[str, str]:
    return {"href": datasette.urls.path(path), "label": label}


# Datasette 1.0's jump menu, which ``/`` opens: notes by their titles.
#
# One fragment that fails would take down the whole menu. So the sidecar is asked here, where a failure means no notes, and
# what Datasette is given to run is a list of values, which can't fail.

# The menu has place for a hundred items, of which most people look at the first five.
NOTES = 10

# The menu opens while one types: notes that come later come too late. The first limit is that of SQLite's work, the
# second includes the wait for an index that is being written.
MILLISECONDS = 200
SECONDS = 0.5

# Shorter beginnings of words are in too many titles to look all of them up.
SHORTEST_BEGINNING = 3

TITLED = """
with titled as (
  select id from notes where title like :part escape '^'
  union
  select rowid from notes_fts where notes_fts match :words
)
select notes.id, notes.title, notes.modified
from titled
join notes on notes.id = titled.id
where notes.copy_of is null
order by title = :typed collate nocase desc, title like :beginning escape '^' desc, modified desc
limit :notes
"""

ITEMS = """
select
  json_extract(value, '$.type') as type, json_extract(value, '$.label') as label,
  json_extract(value, '$.description') as description, json_extract(value, '$.url') as url,
  json_extract(value, '$.typed') as search_text, null as display_name
from json_each(:items)
"""


async def jump_items(datasette: Datasette, actor: dict | None, request) -> list[JumpSQL]:
    """The search, and the notes whose titles have what is typed in them; nothing for those who may not see them."""
    from datasette.jump import JumpSQL

    database = await sidecar_database(datasette)
    if database is None or not await allowed(datasette, actor, "view-database", database):
        return []
    typed = (request.args.get("q") or "").replace("\0", "").strip()
    items = [_search_item(datasette, typed)]
    if typed:
        items += await _note_items(datasette, database, typed)
    for item in items:
        # Datasette leaves out what has not all that is typed in here. What belongs to it was decided above.
        item["typed"] = typed or item["label"]
    return [JumpSQL(sql=ITEMS, params={"items": json.dumps(items)})]


async def _note_items(datasette: Datasette, database: Database, typed: str) -> list[dict[str, Any]]:
    """The notes that are meant; none if the sidecar can't tell in time."""
    parameters = {
        "typed": typed,
        "part": f"%{like_literal(typed)}%",
        "beginning": f"{like_literal(typed)}%",
        "words": _words(typed),
        "notes": NOTES,
    }
    query = database.execute(
        TITLED, parameters, custom_time_limit=MILLISECONDS, log_sql_errors=False
    )
    try:
        found = await asyncio.wait_for(query, SECONDS)
        return [_note_item(datasette, row) for row in found.rows]
    except Exception:  # whatever it is: the menu is Datasette's, not ours to break
        return []


def _words(typed: str) -> str:
    """The FTS5 expression for titles with words that begin as those typed, in any order."""
    tokens = fts5.tokens(typed)
    if not tokens or min(map(len, tokens)) < SHORTEST_BEGINNING:
        return fts5.quoted("")  # which nothing matches
    return f"{{title}} : ({' AND '.join(map(fts5.starting_with, tokens))})"


def _search_item(datasette: Datasette, typed: str) -> dict[str, Any]:
    query = f"?{urlencode({'q': typed})}" if typed else ""
    return {
        "type": "search",
        "label": f"Search notes for {typed}" if typed else "Search notes",
        "description": "By their words and by what they mean",
        "url": datasette.urls.path(SEARCH_PATH) + query,
    }


def _note_item(datasette: Datasette, row: Any) -> dict[str, Any]:
    title = row["title"] or "Untitled"
    return {
        "type": "note",
        "label": redaction.masked(title) if redacts(datasette) else title,
        "description": local_day(row["modified"]),
        "url": datasette.urls.path(f"{NOTE_PATH}/{row['id']}"),
    }


# The stored queries ``bear_search`` and ``bear_similar``, which Datasette's own pages and JSON run.

SEARCH_SQL = """
select
  notes.id as note_id, notes.title,
  json_extract(found.value, '$.text') as text,
  json_extract(found.value, '$.heading') as heading,
  json_extract(found.value, '$.keyword_rank') as keyword_rank,
  json_extract(found.value, '$.semantic_rank') as semantic_rank,
  json_extract(found.value, '$.similarity') as similarity,
  json_extract(found.value, '$.notice') as notice,
  notes.tags, notes.modified, notes.url
from json_each(bear_search(:q, 50)) as found
join notes on notes.id = json_extract(found.value, '$.id')
order by found.key
"""

SIMILAR_SQL = """
select
  notes.id as note_id, notes.title,
  json_extract(found.value, '$.reasons') as reasons,
  json_extract(found.value, '$.similarity') as similarity,
  json_extract(found.value, '$.score') as score,
  json_extract(found.value, '$.notice') as notice,
  notes.tags, notes.modified, notes.url
from json_each(bear_similar(:id, 10)) as found
join notes on notes.id = json_extract(found.value, '$.id')
order by found.key
"""


@dataclass(frozen=True)
class StoredQuery:
    """A query in the words that both Datasette versions use for it."""

    sql: str
    title: str
    description: str


STORED_QUERIES = {
    "bear_search": StoredQuery(
        SEARCH_SQL.strip(),
        "Search notes",
        "By words and by meaning, with all that the search page understands: "
        '"a phrase", -not, tag:work, modified:2024.',
    ),
    "bear_similar": StoredQuery(
        SIMILAR_SQL.strip(),
        "More like this note",
        "The notes most like the one with this id in notes, and why.",
    ),
}


async def canned_queries(datasette: Datasette, database: str) -> dict[str, dict[str, Any]]:
    """The queries of a database for Datasette before 1.0; queries of its owner with these names stay."""
    served = await sidecar_database(datasette)
    if served is None or served.name != database:
        return {}
    own = datasette.metadata("queries", database=database, fallback=False) or {}
    return {name: asdict(query) for name, query in STORED_QUERIES.items() if name not in own}


async def store_queries(datasette: Datasette) -> None:
    """Store the queries in Datasette 1.0; queries of its owner with these names stay."""
    database = await sidecar_database(datasette)
    if database is None or not hasattr(datasette, "add_query"):
        return
    for name, query in STORED_QUERIES.items():
        stored = await datasette.get_query(database.name, name)
        if stored is None or stored.source == PLUGIN:
            # Trusted: view-query decides who may run it, as with the search page, not execute-sql.
            await datasette.add_query(
                database.name, name, is_trusted=True, source=PLUGIN, **asdict(query)
            )


# What Datasette says of the sidecar's tables: what they hold, the newest first, what to narrow by, what to hide.
#
# Whatever the owner's own metadata and configuration say comes first.

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
