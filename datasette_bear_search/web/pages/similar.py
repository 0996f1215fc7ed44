"""*More like this*: a page of similar notes."""

from __future__ import annotations

from datasette import Request, Response
from datasette.database import Database
from datasette.utils import MultiParams

from ...search.notes import similar
from ...search.notes.similar import SimilarNote, SimilarNotes
from ...search.redaction import masking
from ...search.request import read_note_id, read_number
from ...sqlite import sqlite3
from ...text.markdown import plain_text
from ..api import endpoints
from ..api.openapi import SIMILAR_PATH
from ..requests import databases, errors, permissions, responses, settings, views
from ..requests.errors import PageError
from .cards import Card, listed, shown
from .urls import LabeledUrl, Urls, tag_url

NO_SUCH_NOTE = "This note is not in the index. It may have been deleted."

# Similar notes are shown beside a note if they are found in this time; otherwise there is a link.
SIMILAR_TIME_LIMIT_MS = 50
SIMILAR_SIZE = 5
# The most notes on the page of similar notes.
MAX_SIMILAR = 50


@views.view(path="/similar/{id}.json")
async def similar_notes(request: Request, database: Database) -> Response:
    """Respond with the notes most similar to the one in the path, and the reasons for each."""
    datasette, note_id = database.ds, read_note_id(request.url_vars["id"])
    size = read_number("_size", request.args.get("_size"), similar.SIMILAR_NOTES, 1, MAX_SIMILAR)
    unlinked = bool(read_number("unlinked", request.args.get("unlinked"), 0, 0, 1))
    is_masked = settings.redacts(datasette)

    def read(connection: sqlite3.Connection) -> SimilarNotes:
        compared = similar.find_similar(connection, note_id, size=size, unlinked=unlinked)
        if compared is None:
            raise PageError(NO_SUCH_NOTE, 404)
        return masking.masked_similar(connection, compared) if is_masked else compared

    found = await errors.read_index(database, read)
    if request.url_vars["format"] == "json":
        return endpoints.rows_response(datasette, request, found.to_json())
    json_url = databases.url(datasette, f"{SIMILAR_PATH}/{found.id}.json")
    if request.query_string:
        json_url += f"?{request.query_string}"
    # The list's own parameters aren't part of the search that led here.
    own = ("unlinked", "_size")
    search = {name: request.args.getlist(name) for name in request.args if name not in own}
    urls = Urls(datasette, MultiParams(search))
    context = {
        "found": found,
        "q": urls.value("q"),
        "note_url": urls.note(found.id),
        "other_url": urls.similar(found.id, **({} if unlinked else {"unlinked": 1})),
        "unlinked": unlinked,
        "json_url": json_url,
        "cards": [_similar_card(urls, note) for note in found.notes],
        "sql_url": await permissions.sql_url(datasette, request, database, found.statement),
    }
    return await responses.html_response("bear_similar.html", datasette, request, context)


def _similar_card(urls: Urls, note: SimilarNote) -> Card:
    text, heading = "", None
    if note.passage:
        text, heading = shown(note.passage, note.title), note.passage.heading
    return listed(
        urls,
        note,
        # These notes needn't fit the search, so their tags don't narrow it.
        lambda tag: LabeledUrl(tag, tag_url(urls.datasette, tag)),
        title=plain_text(note.title) or "Untitled",
        url=urls.note(note.id),
        heading=heading,
        text=text,
        why=note.why,
    )
