"""The stored queries ``bear_search`` and ``bear_similar``, which Datasette's own pages and JSON run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .serving import PLUGIN, is_served_here, sidecar_database

if TYPE_CHECKING:
    from datasette.app import Datasette

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
    if not await is_served_here(datasette, database):
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
