"""The page "More like this" and its JSON: the notes most like one note, each with its reasons."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Forbidden, Response

from . import redacted, sidecar, similar
from .answers import (
    FORBIDDEN,
    NO_SIDECAR,
    age,
    json_error,
    json_response,
    local_day,
    unreadable,
)
from .cards import Link, open_link
from .filters import InvalidParameter
from .parameters import read_note_id, read_number
from .serving import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH, allowed, redacts, sidecar_database
from .time_limits import time_limit

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

MAX_SIZE = 50

NO_SUCH_NOTE = "There is no such note in the index. Search again to see which notes are."
TOO_SLOW = "Comparing the notes took longer than this Datasette allows (sql_time_limit_ms)."


async def similar_notes(datasette: Datasette, request) -> Response:
    """The notes like the note whose id is in the path, as a page, or with ``.json`` for programs."""
    is_json = request.url_vars.get("format") == "json"
    database = await sidecar_database(datasette)
    if database is None:
        return await _error(datasette, request, is_json, NO_SIDECAR, 404)
    if not await allowed(datasette, request.actor, "view-database", database):
        if not is_json:
            raise Forbidden(FORBIDDEN)
        return json_error(datasette, "Permission denied", 403)
    try:
        size = read_number(request.args, "_size", similar.SIZE, 1, MAX_SIZE)
        found = await _find(database, read_note_id(request.url_vars["id"]), size)
    except InvalidParameter as error:
        return await _error(datasette, request, is_json, str(error), 400)
    except sidecar.sqlite3.DatabaseError as error:
        message = TOO_SLOW if "interrupted" in str(error) else unreadable(error)
        return await _error(datasette, request, is_json, message, 503)
    if found is None:
        return await _error(datasette, request, is_json, NO_SUCH_NOTE, 404)
    if is_json:
        body = {
            "ok": True,
            "note": {"id": found.id, "title": found.title},
            "rows": [asdict(note) for note in found.notes],
            "notices": found.notices,
        }
        return json_response(datasette, body)
    return await _page(datasette, request, database, found)


async def _find(database: Database, note_id: int | None, size: int) -> similar.SimilarNotes | None:
    if note_id is None:
        return None
    limit_ms = database.ds.setting("sql_time_limit_ms")

    def run(connection: sidecar.sqlite3.Connection) -> similar.SimilarNotes | None:
        with time_limit(connection, limit_ms):
            found = similar.similar(connection, note_id, size=size)
        if found and redacts(database.ds):
            return redacted.similar_notes(connection, found)
        return found

    return await database.execute_fn(run)


async def _error(
    datasette: Datasette, request, is_json: bool, message: str, status: int
) -> Response:
    if is_json:
        return json_error(datasette, message, status)
    return await _html(datasette, request, {"error": message}, status)


async def _page(
    datasette: Datasette, request, database: Database, found: similar.SimilarNotes
) -> Response:
    path = datasette.urls.path(f"{SIMILAR_PATH}/{found.id}.json")
    json_url = path + (f"?{request.query_string}" if request.query_string else "")
    context = {
        "found": found,
        "row_url": datasette.urls.row(database.name, "notes", str(found.id)),
        "json_url": json_url,
        "alternate_url_json": datasette.absolute_url(request, json_url),
        "cards": [_card(datasette, note) for note in found.notes],
    }
    if await allowed(datasette, request.actor, "execute-sql", database):
        parameters = {"sql": found.statement.sql, **found.statement.parameters}
        context["sql_url"] = f"{datasette.urls.database(database.name)}?{urlencode(parameters)}"
    return await _html(datasette, request, context)


async def _html(
    datasette: Datasette, request, context: dict[str, Any], status: int = 200
) -> Response:
    context["search_url"] = datasette.urls.path(SEARCH_PATH)
    html = await datasette.render_template("bear_similar.html", context, request=request)
    return Response.html(html, status=status)


def _card(datasette: Datasette, note: similar.SimilarNote) -> dict[str, Any]:
    """What the template shows of a note."""
    search_path = datasette.urls.path(SEARCH_PATH)
    return {
        "hit": note,
        "title": note.title or "Untitled",
        "url": datasette.urls.path(f"{NOTE_PATH}/{note.id}"),
        "passage": note.passage,
        "why": " · ".join(note.reasons),
        "tags": [Link(tag, f"{search_path}?{urlencode({'tag': tag})}") for tag in note.tags],
        "age": age(note.modified),
        "day": local_day(note.modified),
        "open": open_link(note.url, note.app),
        "similar_url": datasette.urls.path(f"{SIMILAR_PATH}/{note.id}"),
    }
