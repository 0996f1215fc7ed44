"""The search pipeline in Datasette: each step in a thread of its kind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

from datasette.database import Database

from ..index import freshness
from ..search.engine import Pipeline, SearchResponse, TimeLimitExceeded, source_notices
from ..search.redaction import masking
from ..search.request import SearchRequest
from ..sqlite import sqlite3
from . import turns
from .requests import databases, errors, settings
from .requests import freshness as index_freshness
from .requests.errors import UNREADABLE, PageError
from .requests.responses import PART_HEADERS

SEARCH_TOO_SLOW = (
    "This search took too long and was stopped. Try fewer words or a filter "
    "(limit: sql_time_limit_ms)."
)

# Seconds: the longest that a program may wait for models, and how long the page waits for a
# reranker if the person chose no mode.
MAX_WAIT, PAGE_WAIT = 600, 1

# The request header of a page that wants only the first results. With the value BY_WORDS, the
# search is by words alone, which needs no model.
FIRST_RESULTS_HEADER = PART_HEADERS[0]
BY_WORDS = "words"


async def respond(
    database: Database, search_request: SearchRequest, *, wait: float, by_words_first: bool
) -> SearchResponse:
    """Run the pipeline: reads of the index on Datasette's SQL threads, models on other threads.

    :param wait: seconds to wait for models
    :param by_words_first: don't wait for the embedding model unless the request chose a mode
    """
    try:
        return await _respond(database, search_request, wait, by_words_first)
    except PageError as error:
        if str(error) != UNREADABLE:
            raise
    # Try again: the tables may have been rebuilt between two statements, or a killed run may have
    # been rolled back only now.
    await databases.sidecar_databases(database.ds)
    return await _respond(database, search_request, wait, by_words_first)


async def _respond(
    database: Database, search_request: SearchRequest, wait: float, by_words_first: bool
) -> SearchResponse:
    datasette = database.ds
    if updater := index_freshness.updaters.get(datasette):
        updater.give_way()
    pipeline = Pipeline(
        search_request,
        cross_encoder=settings.config(datasette).get("cross_encoder"),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
        redact=settings.redacts(datasette),
        wait=wait,
    )
    is_reranked = search_request.ranking.rerank is not None

    def read(connection: sqlite3.Connection) -> None:
        pipeline.retrieve(connection)
        if not is_reranked:  # switching threads takes as long as a small statement
            pipeline.refine()

    try:
        await turns.execute(database, pipeline.plan)
        is_awaited = not by_words_first or search_request.query.mode != "auto"
        await asyncio.to_thread(pipeline.embed, wait=None if is_awaited else 0)
        # Count changed notes while SQLite searches, which releases the GIL.
        path = turns.index_file(database)
        is_watched = updater is not None
        count = partial(freshness.changes_since_indexing, path, is_watched=is_watched)
        changes = asyncio.create_task(asyncio.to_thread(count))
        await turns.execute(database, read)
        if is_reranked:
            await asyncio.to_thread(pipeline.refine)
    except TimeLimitExceeded:
        raise PageError(SEARCH_TOO_SLOW, 503) from None
    except sqlite3.DatabaseError as error:
        raise PageError(errors.unreadable(error), 503) from None
    response = pipeline.response()
    shown = masking.masked if settings.redacts(datasette) else str
    changed = map(shown, source_notices(await changes, Path(path)))
    return replace(response, notices=(*response.notices, *changed))
