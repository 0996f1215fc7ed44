"""Suggestions for the text of the search box, as JSON for the page's script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from datasette import Response

from . import redaction, sidecar, suggestions
from .answers import NO_SIDECAR, json_error, json_response, unreadable
from .serving import NOTE_PATH, SEARCH_PATH, allowed, redacts, sidecar_database
from .time_limits import time_limit

if TYPE_CHECKING:
    from datasette.app import Datasette

SUGGEST_PATH = f"{SEARCH_PATH}/suggest"


async def suggest(datasette: Datasette, request) -> Response:
    """What completes the text ``q`` at the character ``cursor``, by default at its end."""
    database = await sidecar_database(datasette)
    if database is None:
        return json_error(datasette, NO_SIDECAR, 404)
    if not await allowed(datasette, request.actor, "view-database", database):
        return json_error(datasette, "Permission denied", 403)
    text = request.args.get("q") or ""
    cursor = request.args.get("cursor") or str(len(text))
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:12]) <= len(text)):
        message = f"cursor must be a number from 0 to {len(text)}, not {cursor!r}"
        return json_error(datasette, message, 400)
    limit_ms = datasette.setting("sql_time_limit_ms")

    def run(connection: sidecar.sqlite3.Connection) -> suggestions.Suggestions:
        with time_limit(connection, limit_ms):
            return suggestions.suggest(connection, text, int(cursor))

    try:
        suggested = await database.execute_fn(run)
    except sidecar.sqlite3.DatabaseError as error:
        return json_error(datasette, unreadable(error), 503)
    found = suggested.found
    if redacts(datasette):
        # What would be typed into the box can't be masked and still find anything.
        found = tuple(each for each in found if not redaction.has_secret(each.insert or ""))
    body = {
        "ok": True,
        "start": suggested.start,
        "end": suggested.end,
        "suggestions": [_row(datasette, suggestion) for suggestion in found],
    }
    return json_response(datasette, body)


def _row(datasette: Datasette, suggestion: suggestions.Suggestion) -> dict[str, Any]:
    url = None
    if suggestion.note_id is not None:
        url = datasette.urls.path(f"{NOTE_PATH}/{suggestion.note_id}")
    return {
        "kind": suggestion.kind,
        "label": redaction.masked(suggestion.label) if redacts(datasette) else suggestion.label,
        "detail": suggestion.detail,
        "insert": suggestion.insert,
        "url": url,
    }
