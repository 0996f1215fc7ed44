"""URLs for scripts and programs: results as JSON and CSV, suggestions, the status of the search.

Apart from judgments, only ``bear-serve`` writes to the index: see first_run.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import LimitedWriter, WriteLimitExceeded
from datasette.utils.asgi import AsgiStream

from ...query import suggest as suggestions
from ...search import status as index_status
from ...search.engine import WAIT
from ...search.redaction import masking
from ...search.request import SearchRequest, read_number, read_page_request
from ...search.results.json import json_body
from ...search.results.records import Hit, Results
from .. import turns
from ..pages import facets
from ..pages.urls import Urls, note_url
from ..pipeline import MAX_WAIT, respond
from ..requests import databases, errors, responses, settings, views
from ..requests import freshness as index_freshness
from . import openapi


@views.view(path="/openapi.json")
async def description(request: Request, database: Database) -> Response:
    root = database.ds.absolute_url(request, databases.url(database.ds, "/")).rstrip("/")
    described = openapi.description() | {"servers": [{"url": root}]}
    return responses.json_response(database.ds, described)


@views.view()
async def no_such_page(request: Request, database: Database) -> Response:
    described = databases.url(database.ds, f"{openapi.SEARCH_PATH}/openapi.json")
    message = f"There is no such page. {described} lists the addresses for programs."
    raise errors.PageError(message, 404)


@views.view(path=".json")
async def search_json(request: Request, database: Database) -> Response:
    """Respond with results as JSON, in the format of Datasette 1.0."""
    if request.method == "HEAD":  # don't search: nobody would see the results
        return responses.json_response(database.ds, {})
    search_request, options = _read_search(request)
    response = await respond(database, search_request, **options)
    results = response.results
    more: dict[str, Any] = {"next_url": _next_url(request, database, results, "json")}
    if request.args.get("_facets") == "1":
        urls = Urls(database.ds, request.args, f"{openapi.SEARCH_PATH}.json")
        counted = None
        with suppress(errors.PageError):
            counted = await errors.read_index(database, partial(facets.counted, results=results))
        groups = facets.facet_groups(urls, results.plan.query, counted) if counted else {}
        more["facets"] = {name: [*map(asdict, choices)] for name, choices in groups.items()}
    rerank = request.args.get("rerank") or None
    body = json_body(results, response.notices, response.timing_ms, rerank, **more)
    return rows_response(database.ds, request, body)


def _read_search(request: Request) -> tuple[SearchRequest, dict[str, Any]]:
    """Read the search, and how it waits for models."""
    search_request = read_page_request(views.parameters(request))
    wait = read_number("_wait", request.args.get("_wait"), WAIT, 0, MAX_WAIT)
    return search_request, {"wait": wait, "by_words_first": False}


def _next_url(request: Request, database: Database, results: Results, form: str) -> str | None:
    if results.next_offset is None:
        return None
    urls = Urls(database.ds, request.args, f"{openapi.SEARCH_PATH}.{form}")
    next_url = urls.search(drop=(), _next=results.next_offset)
    return str(database.ds.absolute_url(request, next_url))


def rows_response(datasette: Datasette, request: Request, body: dict[str, Any]) -> Response:
    """Return rows with links to their pages; obey ``_shape``, ``_nl``, ``_col`` and ``_nocol``."""
    rows = [*_with_pages(datasette, request, body["rows"])]
    kept = _chosen_keys(request, rows[0] if rows else ())
    rows = [{name: row[name] for name in row if name in kept} for row in rows]
    shapes: dict[str, Any] = {
        "array": rows,
        "arrayfirst": [row["id"] for row in rows],
        "arrays": {**body, "rows": [[*row.values()] for row in rows]},
        "object": {str(row["id"]): row for row in rows},
    }
    shape = request.args.get("_shape") or ""
    if shape == "array" and request.args.get("_nl"):
        lines = "\n".join(json.dumps(row) for row in rows)
        response = responses.for_programs(datasette, Response.text(lines))
    else:
        response = responses.json_response(datasette, shapes.get(shape, {**body, "rows": rows}))
    return _with_next(response, body.get("next_url"))


# Results that one statement of a whole table finds.
STREAMED = 1000


@views.view(path=".csv")
async def search_csv(request: Request, database: Database) -> Response:
    """Respond with a page of results as CSV in Datasette's form, or with all of them.

    Obeys ``_stream``, ``_header``, ``_dl``, ``_col`` and ``_nocol``.
    """
    datasette, is_whole = database.ds, bool(request.args.get("_stream"))
    if is_whole and not datasette.setting("allow_csv_stream"):
        raise errors.PageError("CSV streaming is disabled", 400)
    if is_whole and request.args.get("_next"):
        raise errors.PageError("_next not allowed for CSV streaming", 400)  # Datasette's words
    if request.method == "HEAD":
        return responses.for_programs(datasette, Response.text(""))
    search_request, options = _read_search(request)
    if is_whole:
        search_request = replace(search_request, size=STREAMED)
    first = await respond(database, search_request, **options)
    kept = _chosen_keys(request, openapi.CSV_COLUMNS)
    columns = [name for name in openapi.CSV_COLUMNS if name in kept]

    async def write(stream: Any) -> None:
        # Its writerow() returns what write() returns, a coroutine.
        limited = LimitedWriter(stream, datasette.setting("max_csv_mb"))
        writer = csv.DictWriter(limited, columns, extrasaction="ignore")
        response = first
        try:
            if request.args.get("_header") != "off":
                await writer.writeheader()
            while True:
                for row in _with_pages(datasette, request, map(_csv_row, response.hits)):
                    await writer.writerow(row)
                offset = response.results.next_offset
                if not is_whole or offset is None:
                    break
                next_request = replace(search_request, offset=offset)
                response = await respond(database, next_request, **options)
        except (WriteLimitExceeded, errors.PageError) as error:
            await stream.write(str(error))  # as Datasette does

    async def send(stream: Any) -> None:
        await turns.while_connected(request.receive, partial(write, stream))

    is_file = request.args.get("_dl")
    kind = "text/csv" if is_file else "text/plain"
    response = AsgiStream(send, content_type=f"{kind}; charset=utf-8")
    if is_file:
        response.headers["content-disposition"] = 'attachment; filename="notes.csv"'
    next_url = None if is_whole else _next_url(request, database, first.results, "csv")
    return _with_next(responses.for_programs(datasette, response), next_url)


def _csv_row(hit: Hit) -> dict[str, Any]:
    flags = {name: int(value) for name, value in vars(hit).items() if isinstance(value, bool)}
    return {
        **vars(hit),
        **flags,
        "text": hit.text,
        "heading": hit.passage and hit.passage.heading,
        "file": hit.file_label,
        "tags": ", ".join(hit.tags),
    }


def _with_pages(
    datasette: Datasette, request: Request, rows: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        page_url = datasette.absolute_url(request, note_url(datasette, row["id"]))
        yield {**row, "page_url": page_url}


def _chosen_keys(request: Request, keys: Iterable[str]) -> set[str]:
    only, without = ({*request.args.getlist(name)} - {""} for name in ("_col", "_nocol"))
    return (only or {*keys}) - without | {"id"}


def _with_next(response: Response, next_url: str | None) -> Response:
    if next_url:
        response.headers["link"] = f'<{next_url}>; rel="next"'
    return response


@views.view(path="/suggest.json")
async def suggest(request: Request, database: Database) -> Response:
    """Respond with completions of the text ``q`` at the offset ``cursor`` (default: its end)."""
    text = request.args.get("q") or ""
    cursor = read_number("cursor", request.args.get("cursor"), len(text), 0, len(text))
    completed = await errors.read_index(
        database, lambda connection: suggestions.suggest(connection, text, cursor)
    )
    if settings.redacts(database.ds):
        completed = masking.masked_suggestions(completed)
    completions = [asdict(each) for each in completed.found]
    body = {"ok": True, "start": completed.start, "end": completed.end, "suggestions": completions}
    return responses.json_response(database.ds, body)


@views.view(path="/status.json")
async def status(request: Request, database: Database) -> Response:
    """Respond with the state of the model, the index and its sources."""
    stored = await errors.read_index(database, index_status.read_status)
    shown = masking.masked if settings.redacts(database.ds) else str
    path = Path(turns.index_file(database))
    found = await asyncio.to_thread(index_status.completed, stored, path, shown)
    fresh = await index_freshness.freshness(database.ds)
    updating = fresh and {"doing": fresh.doing or None, "problems": fresh.problems}
    body = {
        "ok": True,
        **asdict(found),
        "updating": updating if fresh and fresh.update_url else None,
    }
    return responses.json_response(database.ds, body)
