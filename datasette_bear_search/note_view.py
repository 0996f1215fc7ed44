"""The page on which a note is read, and its JSON."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Forbidden, Response
from markupsafe import Markup

from . import redacted, rendering, sanitizing, sidecar, similar, whole_note
from .answers import FORBIDDEN, NO_SIDECAR, json_error, json_response, local_day, unreadable
from .cards import open_label
from .parameters import read_note_id
from .query import Query, parse
from .search import address_in_note
from .serving import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH, allowed, redacts, sidecar_database
from .sidecar import fold_tag
from .time_limits import time_limit
from .whole_note import NotePassage, WholeNote

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
    except sidecar.sqlite3.DatabaseError as error:
        message = TOO_SLOW if "interrupted" in str(error) else unreadable(error)
        return await _error(datasette, request, is_json, message, 503)
    if found is None:
        return await _error(datasette, request, is_json, NO_SUCH_NOTE, 404)
    if redacts(datasette):
        whole, words, alike = found
        found = await asyncio.to_thread(redacted.whole_note, whole), words, alike
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

    def run(connection: sidecar.sqlite3.Connection):
        with time_limit(connection, limit_ms):
            found = whole_note.read(connection, note_id)
            if found is None:
                return None
            words = whole_note.matched_words(connection, note_id, query)
        if found.encrypted or not with_similar:
            return found, words, ()
        alike = _similar(connection, note_id)
        if redacts(database.ds):
            alike = redacted.each_similar(connection, alike)
        return found, words, alike

    return await database.execute_fn(run)


def _similar(
    connection: sidecar.sqlite3.Connection, note_id: int
) -> tuple[similar.SimilarNote, ...]:
    try:
        with time_limit(connection, SIMILAR_TIME_LIMIT_MS):
            found = similar.similar(connection, note_id, size=SIMILAR_SIZE)
    except sidecar.sqlite3.DatabaseError:
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
    headings = await asyncio.to_thread(rendering.outline, found.body)
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
        rendering.render,
        found.body,
        _references(datasette, found),
        passage=(passage.start, passage.end) if passage else None,
        words=words,
    )
    json_url = datasette.urls.path(f"{NOTE_PATH}/{found.id}.json")
    context = {
        "note": found,
        "title": Markup(rendering.marked(found.title or "Untitled", words)),
        "html": Markup(rendered.html),  # sanitized
        "outline": _nested(rendered.outline),
        "passage_anchor": rendering.PASSAGE_ANCHOR if rendered.has_passage else None,
        "shown": rendering.MAX_CHARACTERS if rendered.is_cut else None,
        "is_partly_plain": rendered.is_partly_plain,
        "attachments": Markup(rendering.marked(found.attachments, words)),
        "created": local_day(found.created),
        "modified": local_day(found.modified),
        "tags": [(tag, _tag_url(datasette, tag)) for tag in _deepest(found.tags)],
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
    url = address_in_note(found.url, found.heading_link, passage.heading if passage else None)
    return url if sanitizing.is_safe_to_open(url) else None


def _references(datasette: Datasette, found: WholeNote) -> rendering.References:
    def address(target: str) -> str | None:
        meant = whole_note.note_named(found.named, target)
        if meant is None:
            return None
        note_id, heading = meant
        fragment = f"#{rendering.heading_anchor(heading)}" if heading else ""
        return _note_url(datasette, note_id) + fragment

    return rendering.References(
        tags={fold_tag(tag): _tag_url(datasette, tag) for tag in found.tags},
        note=address,
        own_url=found.url,
    )


def _note_url(datasette: Datasette, note_id: int) -> str:
    return datasette.urls.path(f"{NOTE_PATH}/{note_id}")


def _tag_url(datasette: Datasette, tag: str) -> str:
    return datasette.urls.path(SEARCH_PATH) + "?" + urlencode({"tag": tag})


def _deepest(tags: tuple[str, ...]) -> list[str]:
    """The tags without those that another one is nested in."""
    folded = [fold_tag(tag) for tag in tags]
    return [
        tag for tag in tags if not any(other.startswith(fold_tag(tag) + "/") for other in folded)
    ]


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


def _nested(headings: tuple[rendering.Heading, ...]) -> list[dict[str, Any]]:
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
