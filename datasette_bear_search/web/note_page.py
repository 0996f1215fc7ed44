"""The page on which a note is read, and its JSON."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Forbidden, Response
from markupsafe import Markup

from ..index.database import require_current
from ..notes import fold_tag, local_day
from ..query.filters import InvalidParameter
from ..query.query import Query, parse
from ..search import notes as whole_note
from ..search import redaction, similar
from ..search.notes import NotePassage, WholeNote
from ..search.request import read_note_id, read_number
from ..search.results import url_at_heading
from ..search.snippets import innermost
from ..sqlite import sqlite3, time_limit
from . import render
from .cards import Link, open_label, open_link
from .site import (
    FORBIDDEN,
    NO_SIDECAR,
    NOTE_PATH,
    SEARCH_PATH,
    SIMILAR_PATH,
    age,
    allowed,
    json_error,
    json_response,
    redacts,
    sidecar_database,
    unreadable,
)

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database


NO_SUCH_NOTE = "There is no such note in the index. It may have been deleted since; search again to see which notes are."
TOO_SLOW = "Reading this note took longer than this Datasette allows (sql_time_limit_ms)."

# Notes like this one are shown if they are found in so many milliseconds; else there is a link.
SIMILAR_TIME_LIMIT_MS = 50
SIMILAR_SIZE = 5

# Nothing on the page comes from elsewhere. Scripts are left to Datasette, which has some in its pages.
_POLICY = (
    "img-src 'self' data:; media-src 'self'; object-src 'none'; frame-src 'none'; base-uri 'none'"
)


async def note(datasette: Datasette, request) -> Response:
    """The note whose id is in the path, as a page to read, or with ``.json`` for programs."""
    is_json = request.url_vars.get("format") == "json"
    database = await sidecar_database(datasette)
    if database is None:
        return await _error(datasette, request, is_json, NO_SIDECAR, 404)
    if not await allowed(datasette, request.actor, "view-database", database):
        if not is_json:
            raise Forbidden(FORBIDDEN)
        return json_error(datasette, "Permission denied", 403)
    note_id = read_note_id(request.url_vars["id"])
    query = parse(request.args.get("q") or "")
    try:
        found = await _find(database, note_id, query, with_similar=not is_json)
    except sqlite3.DatabaseError as error:
        message = TOO_SLOW if "interrupted" in str(error) else unreadable(error)
        return await _error(datasette, request, is_json, message, 503)
    if found is None:
        return await _error(datasette, request, is_json, NO_SUCH_NOTE, 404)
    if redacts(datasette):
        whole, words, alike = found
        found = await asyncio.to_thread(redaction.whole_note, whole), words, alike
    if is_json:
        return json_response(datasette, {"ok": True, "note": await _json_note(found[0])})
    return await _page(datasette, request, database, *found)


async def _find(
    database: Database, note_id: int | None, query: Query, *, with_similar: bool
) -> tuple[WholeNote, frozenset[str], tuple[similar.SimilarNote, ...]] | None:
    """The note, the words in it that the query finds, and the notes like it."""
    if note_id is None:
        return None
    limit_ms = database.ds.setting("sql_time_limit_ms")

    def run(connection: sqlite3.Connection):
        require_current(connection)
        with time_limit(connection, limit_ms):
            found = whole_note.read(connection, note_id)
            if found is None:
                return None
            words = whole_note.matched_words(connection, note_id, query)
        if found.encrypted or not with_similar:
            return found, words, ()
        alike = _similar(connection, note_id)
        if redacts(database.ds):
            alike = redaction.each_similar(connection, alike)
        return found, words, alike

    return await database.execute_fn(run)


def _similar(connection: sqlite3.Connection, note_id: int) -> tuple[similar.SimilarNote, ...]:
    try:
        with time_limit(connection, SIMILAR_TIME_LIMIT_MS):
            found = similar.find_similar(connection, note_id, size=SIMILAR_SIZE)
    except sqlite3.DatabaseError:
        return ()  # the page of similar notes takes its time, and says what is wrong
    return found.notes if found else ()


async def _error(
    datasette: Datasette, request, is_json: bool, message: str, status: int
) -> Response:
    if is_json:
        return json_error(datasette, message, status)
    return await _html(datasette, request, {"error": message}, status)


async def _json_note(found: WholeNote) -> dict[str, Any]:
    fields = asdict(found)
    for name in ("named", "heading_link"):
        del fields[name]
    headings = await asyncio.to_thread(render.outline, found.body)
    fields["outline"] = [
        {"level": heading.level, "heading": heading.text, "line": heading.line}
        for heading in headings
    ]
    return fields


async def _page(
    datasette: Datasette,
    request,
    database: Database,
    found: WholeNote,
    words: frozenset[str],
    similar_notes: tuple[similar.SimilarNote, ...],
) -> Response:
    passage = found.passage(request.args.get("passage"))
    # Long notes take a while: neither the event loop nor one of Datasette's few SQL threads waits for that.
    rendered = await asyncio.to_thread(
        render.render,
        found.body,
        _references(datasette, found),
        passage=(passage.start, passage.end) if passage else None,
        words=words,
    )
    json_url = datasette.urls.path(f"{NOTE_PATH}/{found.id}.json")
    context = {
        "note": found,
        "title": Markup(render.marked(found.title or "Untitled", words)),
        "html": Markup(rendered.html),  # sanitized
        "outline": _nested(rendered.outline),
        "passage_anchor": render.PASSAGE_ANCHOR if rendered.has_passage else None,
        "shown": render.MAX_CHARACTERS if rendered.is_cut else None,
        "is_plain": rendered.is_plain,
        "attachments": Markup(render.marked(found.attachments, words)),
        "created": local_day(found.created),
        "modified": local_day(found.modified),
        "tags": [(tag, _tag_url(datasette, tag)) for tag in innermost(found.tags)],
        "open_url": _open_url(found, passage),
        "open_label": open_label(found.app),
        "links": [(each, _note_url(datasette, each.id)) for each in found.links],
        "backlinks": [(each, _note_url(datasette, each.id)) for each in found.backlinks],
        "similar": [(each, _note_url(datasette, each.id)) for each in similar_notes],
        "similar_url": datasette.urls.path(f"{SIMILAR_PATH}/{found.id}"),
        "results_url": _results_url(datasette, request, found),
        "row_url": datasette.urls.row(database.name, "notes", str(found.id)),
        "json_url": json_url,
        "alternate_url_json": datasette.absolute_url(request, json_url),
    }
    return await _html(datasette, request, context)


async def _html(
    datasette: Datasette, request, context: dict[str, Any], status: int = 200
) -> Response:
    context["search_url"] = datasette.urls.path(SEARCH_PATH)
    html = await datasette.render_template("bear_note.html", context, request=request)
    return Response.html(html, status=status, headers={"content-security-policy": _POLICY})


def _open_url(found: WholeNote, passage: NotePassage | None) -> str | None:
    url = url_at_heading(found.url, found.heading_link, passage.heading if passage else None)
    return url if render.is_safe_to_open(url) else None


def _references(datasette: Datasette, found: WholeNote) -> render.References:
    def address(target: str) -> str | None:
        meant = whole_note.note_named(found.named, target)
        if meant is None:
            return None
        note_id, heading = meant
        fragment = f"#{render.heading_anchor(heading)}" if heading else ""
        return _note_url(datasette, note_id) + fragment

    return render.References(
        tags={fold_tag(tag): _tag_url(datasette, tag) for tag in found.tags},
        note=address,
        own_url=found.url,
    )


def _note_url(datasette: Datasette, note_id: int) -> str:
    return datasette.urls.path(f"{NOTE_PATH}/{note_id}")


def _tag_url(datasette: Datasette, tag: str) -> str:
    return datasette.urls.path(SEARCH_PATH) + "?" + urlencode({"tag": tag})


def _results_url(datasette: Datasette, request, found: WholeNote) -> str | None:
    """The search that led here, at this note among its results."""
    pairs = [
        (name, value)
        for name in request.args
        for value in request.args.getlist(name)
        if name != "passage"
    ]
    if not pairs:
        return None
    return f"{datasette.urls.path(SEARCH_PATH)}?{urlencode(pairs)}#note-{found.id}"


def _nested(headings: tuple[render.Heading, ...]) -> list[dict[str, Any]]:
    """An outline as a tree: each heading with those below it."""
    roots: list[dict[str, Any]] = []
    path: list[dict[str, Any]] = []
    for heading in headings:
        while path and path[-1]["heading"].level >= heading.level:
            path.pop()
        entry: dict[str, Any] = {"heading": heading, "below": []}
        (path[-1]["below"] if path else roots).append(entry)
        path.append(entry)
    return roots


# The page "More like this" and its JSON: the notes most like one note, each with its reasons.

MAX_SIZE = 50

NO_NOTE_TO_COMPARE = "There is no such note in the index. Search again to see which notes are."
SIMILAR_TOO_SLOW = "Comparing the notes took longer than this Datasette allows (sql_time_limit_ms)."


async def similar_notes(datasette: Datasette, request) -> Response:
    """The notes like the note whose id is in the path, as a page, or with ``.json`` for programs."""
    is_json = request.url_vars.get("format") == "json"
    database = await sidecar_database(datasette)
    if database is None:
        return await _similar_error(datasette, request, is_json, NO_SIDECAR, 404)
    if not await allowed(datasette, request.actor, "view-database", database):
        if not is_json:
            raise Forbidden(FORBIDDEN)
        return json_error(datasette, "Permission denied", 403)
    try:
        size = read_number(request.args, "_size", similar.SIZE, 1, MAX_SIZE)
        found = await _find_similar(database, read_note_id(request.url_vars["id"]), size)
    except InvalidParameter as error:
        return await _similar_error(datasette, request, is_json, str(error), 400)
    except sqlite3.DatabaseError as error:
        message = SIMILAR_TOO_SLOW if "interrupted" in str(error) else unreadable(error)
        return await _similar_error(datasette, request, is_json, message, 503)
    if found is None:
        return await _similar_error(datasette, request, is_json, NO_NOTE_TO_COMPARE, 404)
    if is_json:
        body = {
            "ok": True,
            "note": {"id": found.id, "title": found.title},
            "rows": [asdict(note) for note in found.notes],
            "notices": found.notices,
        }
        return json_response(datasette, body)
    return await _similar_page(datasette, request, database, found)


async def _find_similar(
    database: Database, note_id: int | None, size: int
) -> similar.SimilarNotes | None:
    if note_id is None:
        return None
    limit_ms = database.ds.setting("sql_time_limit_ms")

    def run(connection: sqlite3.Connection) -> similar.SimilarNotes | None:
        require_current(connection)
        with time_limit(connection, limit_ms):
            found = similar.find_similar(connection, note_id, size=size)
        if found and redacts(database.ds):
            return redaction.similar_notes(connection, found)
        return found

    return await database.execute_fn(run)


async def _similar_error(
    datasette: Datasette, request, is_json: bool, message: str, status: int
) -> Response:
    if is_json:
        return json_error(datasette, message, status)
    return await _similar_html(datasette, request, {"error": message}, status)


async def _similar_page(
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
    return await _similar_html(datasette, request, context)


async def _similar_html(
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
