"""URLs for scripts, buttons and programs: suggestions, the status of the search, judgments.

Apart from judgments, only ``bear-serve`` writes to the index: see first_run.
"""

from __future__ import annotations

import asyncio
from typing import Any

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database

from ...embeddings import registry
from ...embeddings.base import ModelUnavailable
from ...index import freshness
from ...index.file import database as index_file
from ...index.file import sources as stored_sources
from ...index.file.database import State
from ...index.file.schema import EMBEDDED
from ...query import suggest as suggestions
from ...search.engine import changed_notice, pending_notice, semantic_obstacle
from ...search.redaction import masking
from ...search.request import read_number
from ...sqlite import sqlite3
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
    found, redacts = completed.found, settings.redacts(datasette)
    if redacts:
        # Masked text couldn't be typed into the box and still find anything.
        found = tuple(each for each in found if not masking.has_secret(each.insert))
    shown = masking.masked if redacts else str
    completions = [
        {
            "kind": each.kind,
            "label": shown(each.label),
            "detail": each.detail,
            "insert": each.insert,
        }
        for each in found
    ]
    body = {"ok": True, "start": completed.start, "end": completed.end, "suggestions": completions}
    return responses.json_response(datasette, body)


@views.view(path="/status.json")
async def status(
    datasette: Datasette, request: Request, database: Database, is_json: bool
) -> Response:
    """Respond with the state of the model, the index and its sources."""

    def read(connection: sqlite3.Connection) -> tuple[Any, ...]:
        state = index_file.read_state(connection)
        obstacle = semantic_obstacle(state, index_file.has_vector_extension(connection))
        is_embedded = f"vector_state = '{EMBEDDED}'"
        sql = f"select count(*), count(*) filter (where {is_embedded}) from passages"
        passages, embedded = connection.execute(sql).fetchone()
        sources = [
            {
                "name": name,
                "kind": stored.config.kind,
                "notes": stored.notes,
                "read": stored.read,
                "error": stored.error or None,
                "next_try": stored.next_try,
            }
            for name, stored in stored_sources.read_sources(connection).items()
        ]
        return state, obstacle, passages, embedded, sources

    state, obstacle, passages, embedded, sources = await errors.read_index(database, read)
    shown = masking.masked if settings.redacts(datasette) else str
    model = await asyncio.to_thread(_model_status, state)
    changed = await asyncio.to_thread(freshness.changes_since_indexing, turns.index_file(database))
    fresh = await index_freshness.freshness(datasette)
    updating = fresh and {"doing": fresh.doing or None, "problems": fresh.problems}
    notices = filter(None, (obstacle, pending_notice(state), changed_notice(changed)))
    body = {
        "ok": True,
        "ready": obstacle is None and model["state"] == "loaded",
        "model": {name: value and shown(value) for name, value in model.items()},
        "vectors": {"passages": passages, "embedded": embedded, "pending": state.pending},
        "index": {
            "notes": sum(each["notes"] for each in sources),
            "indexed": state.indexed,
            "changed": changed,
        },
        "sources": [
            {**each, **{key: each[key] and shown(each[key]) for key in ("name", "error")}}
            for each in sources
        ],
        "updating": updating if fresh and fresh.update_url else None,
        "notices": [shown(notice) for notice in notices],
    }
    return responses.json_response(datasette, body)


def _model_status(state: State) -> dict[str, str | None]:
    if not state.model:
        return {"name": None, "state": "absent", "problem": None}
    embedder = registry.get_embedder(state.model)
    name, found, problem = state.model, embedder.status, embedder.failure
    if found != "loaded":
        try:
            if not registry.is_here(state.model):
                embedder.load()  # fails at once with the reason
        except ModelUnavailable as error:
            found, problem = "absent", str(error)
    return {"name": name, "state": found, "problem": None if found == "loaded" else problem}
