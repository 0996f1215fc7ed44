"""URLs for scripts, buttons and programs: suggestions, the status of the search, judgments.

Apart from judgments, only ``bear-serve`` writes to the index: see first_run.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from datasette import Response
from datasette.app import Datasette
from datasette.database import Database

from ..embeddings import registry
from ..embeddings.base import ModelUnavailable
from ..evaluation import judgments
from ..index import database as index_database
from ..index import rows, watch
from ..index.database import State
from ..index.schema import EMBEDDED
from ..query import suggest as suggestions
from ..search import redaction
from ..search.engine import changed_notice, pending_notice, read_number, semantic_obstacle
from ..sqlite import sqlite3
from . import clients, openapi, site
from .links import note_url
from .openapi import SEARCH_PATH
from .site import PageError

JUDGE_PATH = f"{SEARCH_PATH}/judge"

BUTTONS = ((judgments.THIS_WAS_IT, "Right note"), (judgments.NOT_IT, "Wrong note"))

# The value that an active button sends instead of its grade, to take the judgment back.
TAKE_BACK = "none"
GRADES = {**{str(grade): grade for grade, _ in BUTTONS}, TAKE_BACK: None}

OFF = (
    "Results can't be judged here. To judge results, turn on the setting judgments, or run: "
    "datasette bear-serve"
)
NO_QUERY = "Search for something first. A note can only be judged as the result of a search."
NOT_STORED = (
    "The judgment wasn't saved, because the index can't be written right now. If datasette "
    "bear-index is running, go back and try again when it has finished."
)


@site.view(path="/openapi.json")
async def description(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    server = datasette.absolute_url(request, site.url(datasette, "/")).rstrip("/")
    return site.json_response(datasette, openapi.description() | {"servers": [{"url": server}]})


def rows_response(datasette: Datasette, request, body: dict[str, Any]) -> Response:
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
    response = site.json_response(datasette, shaped)
    if body.get("next_url"):
        response.headers["link"] = f'<{body["next_url"]}>; rel="next"'
    return response


@site.view(path="/suggest.json")
async def suggest(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with completions of the text ``q`` at the offset ``cursor`` (default: its end)."""
    text = request.args.get("q") or ""
    cursor = read_number("cursor", request.args.get("cursor"), len(text), 0, len(text))
    clients.hurry()  # somebody is typing
    completed = await site.read_index(
        database, lambda connection: suggestions.suggest(connection, text, cursor)
    )
    found, redacts = completed.found, site.redacts(datasette)
    if redacts:
        # Masked text couldn't be typed into the box and still find anything.
        found = tuple(each for each in found if not redaction.has_secret(each.insert or ""))
    shown = redaction.masked if redacts else str
    completions = [
        {
            "kind": each.kind,
            "label": shown(each.label),
            "detail": each.detail,
            "insert": each.insert,
            "url": None if each.note_id is None else note_url(datasette, each.note_id),
        }
        for each in found
    ]
    body = {"ok": True, "start": completed.start, "end": completed.end, "suggestions": completions}
    return site.json_response(datasette, body)


@site.view(path="/status.json")
async def status(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with the state of the model, the index and its sources."""

    def read(connection: sqlite3.Connection) -> tuple[Any, ...]:
        state = index_database.read_state(connection)
        obstacle = semantic_obstacle(state, index_database.has_vector_extension(connection))
        sql = f"select count(*), count(*) filter (where embedded = {EMBEDDED}) from passages"
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
            for name, stored in rows.read_sources(connection).items()
        ]
        return state, obstacle, passages, embedded, sources

    state, obstacle, passages, embedded, sources = await site.read_index(database, read)
    shown = redaction.masked if site.redacts(datasette) else str
    model = await asyncio.to_thread(_model_status, state)
    changed = await asyncio.to_thread(watch.changes_since_indexing, clients.index_file(database))
    fresh = await site.freshness(datasette)
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
    return site.json_response(datasette, body)


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


# --- judgments


async def grades(database: Database, query: str) -> dict[tuple[str, str], int] | None:
    """Return a query's judgments: (source, key) → grade; None if judging isn't possible."""
    if not judgments.normalized(query) or not site.judging_is_on(database):
        return None
    try:
        return await clients.execute(
            database, lambda connection: judgments.grades(connection, query)
        )
    except sqlite3.DatabaseError:
        return None  # an index made by an earlier version has no table for judgments


@site.view(partial(site.html_response, "error.html"), methods=("POST",))
async def judge(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    if not site.judging_is_on(database):
        raise PageError(OFF, 404)
    form = await site.form(request)
    query = site.fields(form.get("search", "")).get("q", "")
    source, key = form.get("source", ""), form.get("key", "")
    if not judgments.normalized(query):
        raise PageError(NO_QUERY, 400)
    if form.get("grade") not in GRADES:
        raise PageError(f"grade must be one of {', '.join(GRADES)}", 400)
    grade = GRADES[form["grade"]]

    def write(connection: sqlite3.Connection) -> int | None:
        found = connection.execute(
            "select id from notes where source = ? and key = ?", [source, key]
        ).fetchone()
        if found is None:
            return None
        if grade is None:
            judgments.forget(connection, query, source, key)
        else:
            judgments.store(connection, query, source, key, grade)
        return int(found[0])

    note_id = await site.write_index(database, write, refused=NOT_STORED)
    if note_id is None:
        raise PageError("This note is no longer in the index.", 404)
    # Build the URL here, so that a form can't redirect to another site.
    pairs = parse_qsl(form["search"], keep_blank_values=True)
    results = f"{site.url(datasette, SEARCH_PATH)}?{urlencode(pairs)}"
    return Response.redirect(f"{results}#note-{note_id}", status=303)
