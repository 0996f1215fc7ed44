"""URLs for scripts, buttons and programs: suggestions, the status of the search, judgments.

Apart from judgments, only ``bear-serve`` writes to the index: see first_run.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database

from ...query import suggest as suggestions
from ...search import status as index_status
from ...search.redaction import masking
from ...search.request import read_number
from .. import turns
from ..pages.urls import note_url
from ..requests import databases, errors, responses, settings, views
from ..requests import freshness as index_freshness
from . import openapi


@views.view(path="/openapi.json")
async def description(
    datasette: Datasette, request: Request, database: Database, is_json: bool
) -> Response:
    server = datasette.absolute_url(request, databases.url(datasette, "/")).rstrip("/")
    return responses.json_response(
        datasette, openapi.description() | {"servers": [{"url": server}]}
    )


def rows_response(datasette: Datasette, request: Request, body: dict[str, Any]) -> Response:
    """Return rows with links to their pages; obey ``_shape``, ``_col`` and ``_nocol``."""
    only, without = ({*request.args.getlist(name)} - {""} for name in ("_col", "_nocol"))
    rows = []
    for row in body["rows"]:
        row["page_url"] = datasette.absolute_url(request, note_url(datasette, row["id"]))
        kept = (only or {*row}) - without | {"id"}
        rows.append({name: value for name, value in row.items() if name in kept})
    shapes: dict[str, Any] = {
        "array": rows,
        "arrayfirst": [row["id"] for row in rows],
        "arrays": {**body, "rows": [[*row.values()] for row in rows]},
        "object": {str(row["id"]): row for row in rows},
    }
    shaped = shapes.get(request.args.get("_shape") or "", {**body, "rows": rows})
    response = responses.json_response(datasette, shaped)
    if body.get("next_url"):
        response.headers["link"] = f'<{body["next_url"]}>; rel="next"'
    return response


@views.view(path="/suggest.json")
async def suggest(
    datasette: Datasette, request: Request, database: Database, is_json: bool
) -> Response:
    """Respond with completions of the text ``q`` at the offset ``cursor`` (default: its end)."""
    text = request.args.get("q") or ""
    cursor = read_number("cursor", request.args.get("cursor"), len(text), 0, len(text))
    turns.hurry()  # somebody is typing
    completed = await errors.read_index(
        database, lambda connection: suggestions.suggest(connection, text, cursor)
    )
    if settings.redacts(datasette):
        completed = masking.masked_suggestions(completed)
    completions = [
        {
            "kind": each.kind,
            "label": each.label,
            "detail": each.detail,
            "insert": each.insert,
            "url": None if each.note_id is None else note_url(datasette, each.note_id),
        }
        for each in completed.found
    ]
    body = {"ok": True, "start": completed.start, "end": completed.end, "suggestions": completions}
    return responses.json_response(datasette, body)


@views.view(path="/status.json")
async def status(
    datasette: Datasette, request: Request, database: Database, is_json: bool
) -> Response:
    """Respond with the state of the model, the index and its sources."""
    found, state = await errors.read_index(database, index_status.read_status)
    shown = masking.masked if settings.redacts(datasette) else str
    path = Path(turns.index_file(database))
    found = await asyncio.to_thread(index_status.completed, found, state, path, shown)
    fresh = await index_freshness.freshness(datasette)
    updating = fresh and {"doing": fresh.doing or None, "problems": fresh.problems}
    body = {
        "ok": True,
        **asdict(found),
        "updating": updating if fresh and fresh.update_url else None,
    }
    return responses.json_response(datasette, body)
