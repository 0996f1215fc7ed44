"""What the page's scripts and buttons call: suggestions for the box, judgments of results.

Nothing else of ours writes while a Datasette serves.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from datasette import Forbidden, NotFound, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils.asgi import BadRequest

from ..evaluation import judgments
from ..query import suggest as suggestions
from ..search import redaction
from ..search.engine import read_number
from ..sqlite import sqlite3
from . import site
from .links import note_url
from .site import SEARCH_PATH

SUGGEST_PATH = f"{SEARCH_PATH}/suggest"
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
    rows = [
        {
            "kind": each.kind,
            "label": shown(each.label),
            "detail": each.detail,
            "insert": each.insert,
            "url": None if each.note_id is None else note_url(datasette, each.note_id),
        }
        for each in found
    ]
    body = {"ok": True, "start": completed.start, "end": completed.end, "suggestions": rows}
    return site.json_response(datasette, body)


# --- judgments


async def grades(database: Database, query: str) -> dict[tuple[str, str], int] | None:
    """Return how a query's results were judged: (source, key) → grade; None if they can't be."""
    if not judgments.normalized(query) or not site.judging_is_on(database):
        return None
    try:
        return await database.execute_fn(lambda connection: judgments.grades(connection, query))
    except sqlite3.DatabaseError:
        return None  # an index that an earlier version made has no room for judgments


async def judge(datasette: Datasette, request) -> Response:
    """Store or take back a judgment, then go back to the results."""
    database = await site.sidecar_database(datasette)
    if database is None or not site.judging_is_on(database):
        raise NotFound(OFF)
    try:
        is_allowed = await site.may_search(datasette, request.actor, database)
    except site.PageError as error:
        return Response.text(str(error), status=error.status)
    if not is_allowed:
        raise Forbidden(site.FORBIDDEN)
    if request.method != "POST":
        message = "Only the buttons of the search page do something here."
        return Response.text(message, status=405, headers={"allow": "POST"})
    if _is_cross_origin(request):
        raise Forbidden("This was sent from another website, so nothing was stored.")
    form = _pairs((await request.post_body()).decode(errors="replace"))
    search = _pairs(form.get("search", ""))
    query, source, key = search.get("q", ""), form.get("source", ""), form.get("key", "")
    if not judgments.normalized(query):
        raise BadRequest(NO_QUERY)
    if form.get("grade") not in GRADES:
        raise BadRequest(f"grade must be one of {', '.join(GRADES)}")
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
        return Response.text(NOT_STORED, status=503)
    if note_id is None:
        raise NotFound("This note is no longer in the index.")
    # Put together here, whatever the form says: it can't lead to another site.
    pairs = parse_qsl(form["search"], keep_blank_values=True)
    results = f"{datasette.urls.path(SEARCH_PATH)}?{urlencode(pairs)}"
    return Response.redirect(f"{results}#note-{note_id}", status=303)


def _is_cross_origin(request) -> bool:
    # Datasette 1.0 refuses such requests itself. 0.65 does so only if the browser has cookies for
    # it, and where nobody logs in it may have none.
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def _pairs(encoded: str) -> dict[str, str]:
    """Return the first value of each parameter, the one that the search page reads."""
    return dict(reversed(parse_qsl(encoded, keep_blank_values=True)))
