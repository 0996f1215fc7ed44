"""What scripts, buttons and programs call: suggestions, the status of the search, judgments.

Besides a judgment, only ``bear-serve`` writes: see first_run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
from ..query import suggest as suggestions
from ..search import redaction
from ..search.engine import changed_notice, pending_notice, read_number, semantic_obstacle
from ..sqlite import sqlite3
from . import clients, site
from .links import note_url
from .site import SEARCH_PATH, PageError

SUGGEST_PATH = f"{SEARCH_PATH}/suggest"
STATUS_PATH = f"{SEARCH_PATH}/status"
JUDGE_PATH = f"{SEARCH_PATH}/judge"

BUTTONS = ((judgments.THIS_WAS_IT, "Right note"), (judgments.NOT_IT, "Wrong note"))

# What a pressed button sends instead of its grade: pressing it again takes the judgment back.
TAKE_BACK = "none"
GRADES = {**{str(grade): grade for grade, _ in BUTTONS}, TAKE_BACK: None}

OFF = (
    "Results can't be judged here. They can with the setting judgments on, and with: "
    "datasette bear-serve"
)
NO_QUERY = "There is no query for which this note could be judged. Search for something first."
NOT_STORED = (
    "The judgment was not stored: the index can't be written right now. If datasette bear-index is "
    "running, go back and try again when it has finished."
)


@site.view()
async def suggest(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with what completes the text ``q`` at the character ``cursor`` (default: its end)."""
    text = request.args.get("q") or ""
    cursor = read_number("cursor", request.args.get("cursor"), len(text), 0, len(text))
    completed = await site.read_index(
        database, lambda connection: suggestions.suggest(connection, text, cursor)
    )
    found, redacts = completed.found, site.redacts(datasette)
    if redacts:
        # What would be typed into the box can't be masked and still find anything.
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


@site.view()
async def status(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with what is ready, how fresh the index is, and what its sources are."""

    def read(connection: sqlite3.Connection) -> tuple[Any, ...]:
        state = index_database.read_state(connection)
        obstacle = semantic_obstacle(state, index_database.has_vector_extension(connection))
        [passages] = connection.execute("select count(*) from passages").fetchone()
        sources = [
            {"name": name, "kind": stored.config.kind, "notes": stored.notes, "read": stored.read}
            for name, stored in rows.read_sources(connection).items()
        ]
        return state, obstacle, passages, sources

    state, obstacle, passages, sources = await site.read_index(database, read)
    shown = redaction.masked if site.redacts(datasette) else str
    model = await asyncio.to_thread(_model_status, state)
    changed = await asyncio.to_thread(watch.changes_since_indexing, database.path)
    notices = filter(None, (obstacle, pending_notice(state), changed_notice(changed)))
    body = {
        "ok": True,
        "ready": obstacle is None and model["state"] == "loaded",
        "model": {name: value and shown(value) for name, value in model.items()},
        "vectors": {"passages": passages, "embedded": passages - state.pending},
        "index": {
            "notes": sum(each["notes"] for each in sources),
            "indexed": state.indexed,
            "changed": changed,
        },
        "sources": [{**each, "name": shown(each["name"])} for each in sources],
        "updating": _updating(datasette, shown),
        "notices": [shown(notice) for notice in notices],
    }
    return site.json_response(datasette, body)


def _updating(datasette: Datasette, shown: Callable[[str], str]) -> dict[str, Any] | None:
    """Return what the process that keeps the index up to date is doing; None if there is none."""
    updater = site.updaters.get(datasette)
    if updater is None:
        return None
    problems = updater.activity.problems.items()
    return {
        "doing": updater.activity.doing or None,
        "problems": {shown(source): shown(problem) for source, problem in problems},
    }


def _model_status(state: State) -> dict[str, str | None]:
    if not state.model:
        return {"name": None, "state": "absent", "problem": None}
    embedder = registry.get_embedder(state.model)
    name, found, problem = state.model, embedder.status, embedder.failure
    if found != "loaded":
        try:
            if not registry.is_here(state.model):
                embedder.load()  # fails at once, and says why
        except ModelUnavailable as error:
            found, problem = "absent", str(error)
    return {"name": name, "state": found, "problem": None if found == "loaded" else problem}


# --- judgments


async def grades(database: Database, query: str) -> dict[tuple[str, str], int] | None:
    """Return how a query's results were judged: (source, key) → grade; None if they can't be."""
    if not judgments.normalized(query) or not site.judging_is_on(database):
        return None
    try:
        return await clients.execute(
            database, lambda connection: judgments.grades(connection, query)
        )
    except sqlite3.DatabaseError:
        return None  # an index that an earlier version made has no room for judgments


@site.view(partial(site.html_response, "error.html"))
async def judge(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Store or take back a judgment, then go back to the results."""
    if not site.judging_is_on(database):
        raise PageError(OFF, 404)
    if request.method != "POST":
        message = "Only the buttons of the search page do something here."
        return Response.text(message, status=405, headers={"allow": "POST"})
    if site.is_cross_origin(request):
        raise PageError("This was sent from another website, so nothing was stored.", 403)
    form = _pairs((await request.post_body()).decode(errors="replace"))
    search = _pairs(form.get("search", ""))
    query, source, key = search.get("q", ""), form.get("source", ""), form.get("key", "")
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
        # What is taken back leaves no trace in the file, as with notes.
        connection.execute("pragma secure_delete = on")
        with connection:
            if grade is None:
                judgments.forget(connection, query, source, key)
            else:
                judgments.store(connection, query, source, key, grade)
        return found[0]

    try:
        note_id = await database.execute_write_fn(write)
    except sqlite3.DatabaseError:
        raise PageError(NOT_STORED, 503) from None
    if note_id is None:
        raise PageError("This note is no longer in the index.", 404)
    # Put together here, whatever the form says: it can't lead to another site.
    pairs = parse_qsl(form["search"], keep_blank_values=True)
    results = f"{datasette.urls.path(SEARCH_PATH)}?{urlencode(pairs)}"
    return Response.redirect(f"{results}#note-{note_id}", status=303)


def _pairs(encoded: str) -> dict[str, str]:
    """Return the first value of each parameter, the one that the search page reads."""
    return dict(reversed(parse_qsl(encoded, keep_blank_values=True)))
