"""Datasette 1.0's jump menu, which ``/`` opens: notes by their titles.

One fragment that fails would take down the whole menu. So the sidecar is asked here, where a failure means no notes, and
what Datasette is given to run is a list of values, which can't fail.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from . import fts5, redaction
from .answers import local_day
from .serving import NOTE_PATH, SEARCH_PATH, allowed, redacts, sidecar_database

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from datasette.jump import JumpSQL

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
  select id from notes where title like :part escape '\\'
  union
  select rowid from notes_fts where notes_fts match :words
)
select notes.id, notes.title, notes.modified
from titled
join notes on notes.id = titled.id
where notes.copy_of is null
order by title = :typed collate nocase desc, title like :beginning escape '\\' desc, modified desc
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
        "part": f"%{_like(typed)}%",
        "beginning": f"{_like(typed)}%",
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


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


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
