"""URLs for scripts, buttons and programs: suggestions, the status of the search, judgments.

Apart from judgments, only ``bear-serve`` writes to the index: see first_run.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
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
from ...search.redaction import masking
from ...search.request import read_number
from ...search.results.records import Hit
from .. import turns
from ..pages.urls import note_url
from ..requests import databases, errors, responses, settings, views
from ..requests import freshness as index_freshness
from . import openapi


@views.view(path="/openapi.json")
async def description(request: Request, database: Database) -> Response:
    root = database.ds.absolute_url(request, databases.url(database.ds, "/")).rstrip("/")
    described = openapi.description() | {"servers": [{"url": root}]}
    return responses.json_response(database.ds, described)


@views.view(partial(responses.html_response, "error.html"))
async def no_such_page(request: Request, database: Database) -> Response:
    described = databases.url(database.ds, f"{openapi.SEARCH_PATH}/openapi.json")
    message = f"There is no such page. {described} lists the addresses for programs."
    raise errors.PageError(message, 404)


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
        response = responses.text_response(datasette, lines)
    else:
        response = responses.json_response(datasette, shapes.get(shape, {**body, "rows": rows}))
    return _with_next(response, body.get("next_url"))


def csv_response(
    datasette: Datasette,
    request: Request,
    pages: Callable[[], AsyncIterable[Sequence[Hit]]],
    next_url: str | None,
) -> AsgiStream:
    """Stream a table in Datasette's form; obey ``_header``, ``_dl``, ``_col`` and ``_nocol``."""
    kept = _chosen_keys(request, openapi.CSV_COLUMNS)
    columns = [name for name in openapi.CSV_COLUMNS if name in kept]

    async def write(stream: Any) -> None:
        # Its writerow() returns what write() returns, a coroutine.
        limited = LimitedWriter(stream, datasette.setting("max_csv_mb"))
        writer = csv.DictWriter(limited, columns, extrasaction="ignore")
        try:
            if request.args.get("_header") != "off":
                await writer.writeheader()
            async for hits in pages():
                for row in _with_pages(datasette, request, map(_csv_row, hits)):
                    await writer.writerow(row)
        except (WriteLimitExceeded, errors.PageError) as error:
            await stream.write(str(error))  # as Datasette does

    async def respond(stream: Any) -> None:
        await turns.while_connected(request.receive, partial(write, stream))

    is_file = request.args.get("_dl")
    kind = "text/csv" if is_file else "text/plain"
    response = AsgiStream(respond, content_type=f"{kind}; charset=utf-8")
    if is_file:
        response.headers["content-disposition"] = 'attachment; filename="notes.csv"'
    return _with_next(responses.for_programs(datasette, response), next_url)


def _csv_row(hit: Hit) -> dict[str, Any]:
    return vars(hit) | {
        "text": hit.text,
        "heading": hit.passage and hit.passage.heading,
        "file": hit.file_label,
        "tags": ", ".join(hit.tags),
        **{name: int(getattr(hit, name)) for name in _FLAGS},
    }


_FLAGS = ("pinned", "archived", "encrypted", "is_found")


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
    turns.hurry()  # somebody is typing
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
    found, state = await errors.read_index(database, index_status.read_status)
    shown = masking.masked if settings.redacts(database.ds) else str
    path = Path(turns.index_file(database))
    found = await asyncio.to_thread(index_status.completed, found, state, path, shown)
    fresh = await index_freshness.freshness(database.ds)
    updating = fresh and {"doing": fresh.doing or None, "problems": fresh.problems}
    body = {
        "ok": True,
        **asdict(found),
        "updating": updating if fresh and fresh.update_url else None,
    }
    return responses.json_response(database.ds, body)
