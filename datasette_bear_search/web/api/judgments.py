"""Judgments of results, by buttons on the page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from datasette import Request, Response
from datasette.database import Database

from ...evaluation import judgments
from ...sqlite import read_value, sqlite3
from .. import turns
from ..requests import databases, settings, views
from ..requests.errors import PageError
from .openapi import SEARCH_PATH

JUDGE_PATH = f"{SEARCH_PATH}/judge"

BUTTONS = ((judgments.THIS_WAS_IT, "Right note"), (judgments.NOT_IT, "Wrong note"))

# The value that an active button sends instead of its grade, to take the judgment back.
TAKE_BACK = "none"
GRADES = {**{str(grade): grade for grade, _ in BUTTONS}, TAKE_BACK: None}

JUDGING_OFF = (
    "Results can't be judged here. To judge results, turn on the setting judgments, or run: "
    "datasette bear-serve"
)
NO_QUERY = "Search for something first. A note can only be judged as the result of a search."
NOT_STORED = "The judgment wasn't saved."


async def grades(database: Database, query: str) -> dict[tuple[str, str], int] | None:
    """Return a query's judgments: (source, key) → grade; None if judging isn't possible."""
    if not judgments.normalized(query) or not settings.judging_is_on(database):
        return None
    try:
        return await turns.execute(database, lambda connection: judgments.grades(connection, query))
    except sqlite3.DatabaseError:
        return None  # an index made by an earlier version has no table for judgments


@views.view(methods=("POST",))
async def judge(request: Request, database: Database) -> Response:
    if not settings.judging_is_on(database):
        raise PageError(JUDGING_OFF, 404)
    form = await views.form(request)
    query = views.fields(form.get("search", "")).get("q", "")
    source, key = form.get("source", ""), form.get("key", "")
    if not judgments.normalized(query):
        raise PageError(NO_QUERY, 400)
    if form.get("grade") not in GRADES:
        raise PageError(f"grade must be one of {', '.join(GRADES)}", 400)
    grade = GRADES[form["grade"]]

    def write(connection: sqlite3.Connection) -> int | None:
        sql = "select id from notes where source = ? and key = ?"
        note_id: int | None = read_value(connection, sql, [source, key])
        if note_id is not None:
            judgments.store(connection, query, source, key, grade)
        return note_id

    note_id = await views.write_index(database, write, refused=NOT_STORED)
    if note_id is None:
        raise PageError("This note is no longer in the index.", 404)
    # Build the URL here, so that a form can't redirect to another site.
    pairs = parse_qsl(form["search"], keep_blank_values=True)
    results = f"{databases.url(database.ds, SEARCH_PATH)}?{urlencode(pairs)}"
    return Response.redirect(f"{results}#note-{note_id}", status=303)
