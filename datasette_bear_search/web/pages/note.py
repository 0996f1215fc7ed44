"""The page of a note, the page of notes similar to it, and their JSON."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from datasette import Request, Response
from datasette.database import Database
from datasette.utils import MultiParams
from markupsafe import Markup

from ...notes import fold_tag, local_day, whole_title, without_parent_tags
from ...query.query import parse
from ...search.notes import detail, similar
from ...search.notes.detail import NoteDetail
from ...search.notes.similar import SimilarNote
from ...search.redaction import masking
from ...search.request import PAGE_SIZE, read_note_id, read_page_request
from ...search.results.retrieve import url_at_heading
from ...sqlite import sqlite3, time_limit
from ...text.markdown import plain_text
from ..api.openapi import NOTE_PATH, SIMILAR_PATH
from ..note_html import render, renderer
from ..note_html.attachments import NoteFiles, note_files
from ..pipeline import respond
from ..requests import databases, errors, responses, settings, views
from ..requests.errors import PageError
from ..requests.responses import PART_HEADERS
from .cards import open_link
from .similar import NO_SUCH_NOTE, SIMILAR_SIZE, SIMILAR_TIME_LIMIT_MS
from .urls import OF_NOTE, PASSAGE_ANCHOR, Urls, note_url, tag_url

# Texts of attached files to show. Each page of a PDF is one text.
MAX_FILE_TEXTS = 20

# Steps from a result to another one of the same search.
STEPS = {"previous": -1, "next": 1}
PREVIEW_HEADER = PART_HEADERS[1]

# The page loads nothing from elsewhere. Scripts aren't restricted: Datasette's pages have some.
_POLICY = (
    "img-src 'self' data:; media-src 'self'; object-src 'none'; frame-src 'none'; base-uri 'none'"
)


@views.view()
async def note_by_name(request: Request, database: Database) -> Response:
    """Redirect to the note with this ``source`` and ``key``, or from the file at ``path``."""
    arguments = dict(parse_qsl(request.query_string, keep_blank_values=True))
    source_and_key = f"{arguments.pop('source', '')}:{arguments.pop('key', '')}"
    name = arguments.pop("path", "") or source_and_key
    note_id = await errors.read_index(database, lambda index: detail.find_note_id(index, name))
    if not note_id:
        raise PageError(NO_SUCH_NOTE, 404)
    form = request.url_vars["format"]
    page = SIMILAR_PATH if request.url_vars["page"] == "similar" else NOTE_PATH
    address = databases.url(database.ds, f"{page}/{note_id}{f'.{form}' if form else ''}")
    return Response.redirect(f"{address}?{urlencode(arguments)}" if arguments else address)


@views.view(path="/note/{id}.json")
async def note(request: Request, database: Database) -> Response:
    """Respond with the note whose id is in the path, as a page or, with ``.json``, as JSON."""
    note_id = read_note_id(request.url_vars["id"])
    query = parse(request.args.get("q") or "")
    if step := STEPS.get(request.args.get("step") or ""):
        return await _other_result(request, database, note_id, step)

    def read(connection: sqlite3.Connection) -> tuple[NoteDetail, frozenset[str]]:
        found = detail.read_note(connection, note_id)
        if found is None:
            raise PageError(NO_SUCH_NOTE, 404)
        passage = found.passage(request.args.get("passage"))
        return found, detail.matched_words(connection, found, query, passage)

    whole, words = await errors.read_index(database, read)
    if settings.redacts(database.ds):
        whole = await asyncio.to_thread(masking.masked_record, whole)
    if request.url_vars["format"] == "json":
        fields = asdict(whole)
        del fields["link_targets"], fields["heading_link"]
        fields["files"] = [name for name, _ in whole.files]
        return responses.json_response(database.ds, {"ok": True, "note": fields})
    if request.url_vars["format"] == "md":
        headers = {"x-content-type-options": "nosniff"}  # browsers must not take notes for HTML
        title, body = whole_title(whole.title, whole.body)
        text = f"# {title}\n\n{body.lstrip()}" if title else body
        return Response(text, headers=headers, content_type="text/markdown; charset=utf-8")
    return await _note_page(request, database, whole, words)


def _notes_like(
    connection: sqlite3.Connection, note_id: int, *, redact: bool
) -> tuple[SimilarNote, ...]:
    try:
        with time_limit(connection, SIMILAR_TIME_LIMIT_MS):
            found = similar.find_similar(connection, note_id, size=SIMILAR_SIZE)
        alike = found.notes if found else ()
        return masking.masked_notes(connection, alike) if redact else alike
    except sqlite3.DatabaseError:
        return ()  # the page of similar notes has more time, and reports errors


async def _other_result(request: Request, database: Database, note_id: int, step: int) -> Response:
    """Redirect from a result to the next or previous one, or back to the list at either end."""
    arguments = {name: request.args.getlist(name) for name in request.args if name != "step"}
    search_request = read_page_request(arguments)
    # With the last result of the page before and the first of the next one.
    offset = max(0, search_request.offset - 1)
    search_request = replace(search_request, size=PAGE_SIZE + 2, offset=offset)
    response = await respond(database, search_request, wait=0, by_words_first=True)
    hits = response.results.hits
    place = next((place for place, hit in enumerate(hits) if hit.id == note_id), None)
    urls = Urls(database.ds, MultiParams(arguments))
    if place is None or not 0 <= place + step < len(hits):
        return Response.redirect(urls.search(drop=OF_NOTE))
    place += step
    page = (offset + place) // PAGE_SIZE * PAGE_SIZE
    hit = hits[place]
    passage = hit.passage.id if hit.passage else None
    more = {"_next": str(page)} if page else {}
    return Response.redirect(urls.note(hit.id, passage, hit.sentence, **more))


async def _note_page(
    request: Request, database: Database, whole: NoteDetail, words: frozenset[str]
) -> Response:
    datasette = database.ds

    def around(connection: sqlite3.Connection) -> tuple[tuple[SimilarNote, ...], NoteFiles | None]:
        files = note_files(datasette, connection, [whole.id]).get(whole.id)
        if whole.encrypted:
            return (), files
        return _notes_like(connection, whole.id, redact=settings.redacts(datasette)), files

    alike, files = await errors.read_index(database, around)
    passage = whole.passage(request.args.get("passage"))
    url = url_at_heading(whole.url, whole.heading_link, passage.heading if passage else None)
    # Long notes take a while, so block neither the event loop nor one of the few SQL threads.
    urls = Urls(datasette, request.args)
    title, body = whole_title(whole.title, whole.body)
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", request.args.get("sentence") or "")
    # Its offsets don't fit a text with masks.
    match = None if settings.redacts(datasette) else match
    sentence = (int(match[1]), int(match[2])) if match else None
    rendered = await asyncio.to_thread(
        render.render,
        body,
        _references(urls, whole, files),
        # Don't mark the passage if it is the whole note.
        passage=(passage.start, passage.end) if passage and len(whole.passages) > 1 else None,
        sentence=sentence,
        words=words,
        soft_breaks=whole.soft_breaks,
    )
    results_url = None  # the search that led here, scrolled to this note
    if set(request.args) - set(OF_NOTE):
        results_url = f"{urls.search(drop=OF_NOTE)}#note-{whole.id}"
    context = {
        "note": whole,
        "page_url": urls.note(whole.id, passage.id if passage else None, sentence),
        "title": Markup(renderer.marked_words_html(plain_text(title) or "Untitled", words)),
        "html": Markup(rendered.html),  # sanitized
        "outline": rendered.outline,
        "level": min((heading.level for heading in rendered.outline), default=1),
        "passage_anchor": PASSAGE_ANCHOR if rendered.has_passage else None,
        "shown": render.MAX_RENDERED_CHARACTERS if rendered.is_cut else None,
        "is_plain": rendered.is_plain,
        **_file_texts(whole, files, words),
        "local_day": local_day,
        "plain": plain_text,
        "tags": without_parent_tags(whole.tags),
        "tag_url": partial(tag_url, datasette),
        "open": open_link(url, whole.app),
        "note_url": urls.note,
        "plain_url": note_url(datasette, whole.id),
        "similar": alike,
        "similar_url": urls.similar(whole.id),
        "results_url": results_url,
        "q": urls.value("q"),
        "steps": {name: urls.note(whole.id, step=name) for name in STEPS} if results_url else {},
        "markdown_url": databases.url(datasette, f"{NOTE_PATH}/{whole.id}.md"),
        "row_url": datasette.urls.row(database.name, "notes", str(whole.id)),
        "json_url": databases.url(datasette, f"{NOTE_PATH}/{whole.id}.json"),
    }
    if request.headers.get(PREVIEW_HEADER.lower()):
        context["is_preview"] = True
        return responses.part_response("_bear_note.html", datasette, request, context)
    response = await responses.html_response("bear_note.html", datasette, request, context)
    response.headers["content-security-policy"] = _POLICY
    return response


def _file_texts(
    whole: NoteDetail, files: NoteFiles | None, words: frozenset[str]
) -> dict[str, Any]:
    """Return the texts of a note's files; if any have words of the query, only those."""
    texts = [(name, renderer.marked_words_html(text, words)) for name, text in whole.files]
    found = [text for text in texts if "<mark>" in text[1]]
    shown = [
        (name, Markup(html), files.url_of_text(name) if files else None)
        for name, html in (found or texts)[:MAX_FILE_TEXTS]
    ]
    left = len(texts) - len(shown)
    return {"files": shown, "files_left": left, "files_open": bool(found)}


def _references(urls: Urls, whole: NoteDetail, files: NoteFiles | None) -> renderer.References:
    def url(target: str) -> str | None:
        meant = detail.resolve_link(whole.link_targets, target)
        if meant is None:
            return None
        note_id, heading = meant
        fragment = f"#{renderer.heading_anchor(heading)}" if heading else ""
        return urls.note(note_id) + fragment

    return renderer.References(
        tags={fold_tag(tag): tag_url(urls.datasette, tag) for tag in whole.tags},
        note=url,
        file=files.get if files else lambda target: None,
        own_url=whole.url,
    )
