"""The search page and its JSON: read the request, call the search, answer. The same for both Datasette versions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from datasette import Forbidden, Response

from . import (
    embedders,
    facets,
    freshness,
    readiness,
    redacted,
    reranking,
    sidecar,
    stored_sources,
)
from . import search as searching
from .addresses import Addresses
from .answers import (
    FORBIDDEN,
    MISSING_PARTS,
    NO_SIDECAR,
    UNREADABLE,
    json_error,
    json_response,
    unreadable,
)
from .asking import Clock, changed_notice
from .facet_links import for_programs, groups
from .filters import InvalidParameter
from .highlighting import highlighted
from .home import home
from .more_passages import more_passages
from .nothing_found import spellings
from .page import (
    BY_WORDS,
    FIRST_RESULTS_HEADER,
    Surroundings,
    error_page,
    first_results,
    results_page,
)
from .parameters import read_number, read_query, read_ranking
from .planning import Plan, plan
from .query import Query
from .rows import json_answer
from .serving import SEARCH_PATH, allowed, cross_encoder, redacts, sidecar_database
from .time_limits import time_limit

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

MAX_SIZE = 100

# What a window shows of the results at most, while somebody types.
FIRST_RESULTS = 6

T = TypeVar("T")

LOADING = "The model is still loading, so these notes were found by their words only. Search again in a few seconds."
TOO_SLOW = "The search took longer than this Datasette allows (sql_time_limit_ms). A filter makes it faster."


@dataclass(frozen=True)
class Answer:
    """What a request for a search led to: results, or a message with an HTTP status."""

    results: searching.Results | None = None
    state: sidecar.State | None = None
    notices: tuple[str, ...] = ()
    error: str | None = None
    status: int = 200
    timing_ms: dict[str, float] | None = None


async def search(datasette: Datasette, request) -> Response:
    """The search page, or with ``.json`` its answer for programs."""
    is_json = request.url_vars.get("format") == "json"
    first = None if is_json else request.headers.get(FIRST_RESULTS_HEADER.lower())
    database = await sidecar_database(datasette)
    if database is None:
        answer = Answer(error=NO_SIDECAR, status=404 if is_json else 200)
    elif not await allowed(datasette, request.actor, "view-database", database):
        if not is_json:
            raise Forbidden(FORBIDDEN)
        answer = Answer(error="Permission denied", status=403)
    else:
        ask = partial(
            _answer,
            database,
            request,
            wait_for_model=is_json,
            by_words=first == BY_WORDS,
            page_size=FIRST_RESULTS if first else searching.PAGE_SIZE,
        )
        answer = await ask()
        if answer.error in (UNREADABLE, MISSING_PARTS):
            # Its tables may have been made anew between two statements, or a killed run been undone only now.
            await sidecar_database(datasette)
            answer = await ask()
    if answer.results is None or answer.state is None or database is None:
        if is_json:
            return json_error(datasette, answer.error, answer.status)
        return await error_page(datasette, request, answer.error, answer.status)
    if is_json:
        return await _json_response(datasette, request, database, answer)
    shown = datasette, request, database, answer.results, answer.notices
    if first:
        around = await _beside_the_hits(database, answer.results, answer.state)
        return await first_results(*shown, around)
    return await results_page(
        *shown, await _surroundings(database, request, answer.results, answer.state)
    )


async def _answer(
    database: Database, request, *, wait_for_model: bool, by_words: bool, page_size: int
) -> Answer:
    clock = Clock()
    try:
        query = read_query(request.args)
        if by_words and query.mode == "auto":
            query = replace(query, mode="keyword")
        ranking = read_ranking(request.args)
        size = read_number(request.args, "_size", page_size, 1, MAX_SIZE)
        offset = read_number(request.args, "_next", 0, 0, 10**9)
    except InvalidParameter as error:
        return Answer(error=str(error), status=400)

    def prepare(
        connection: sidecar.sqlite3.Connection,
    ) -> tuple[sidecar.State, bool, Plan]:
        return (
            sidecar.read_state(connection),
            sidecar.has_vector_extension(connection),
            plan(
                connection,
                query,
                balance=ranking.balance,
                correct=request.args.get("correct") != "0",
            ),
        )

    limit_ms = database.ds.setting("sql_time_limit_ms")
    ran = None
    try:
        state, has_extension, planned = await database.execute_fn(prepare)
        clock.lap("plan")
        obstacle = await _prepare_meaning(
            state, has_extension, planned.query, wait_for_model or query.mode != "auto"
        )
        clock.lap("embed")
        reranker = reranking.reranker_for(ranking, state.model, cross_encoder(database.ds))
        first_stage = reranking.first_stage(size, offset) if reranker else (size, offset)

        def run(connection: sidecar.sqlite3.Connection) -> searching.Results:
            semantic = readiness.wants_meaning(query) and obstacle is None and state.has_vectors
            if semantic and state.model:
                searching.look_ahead(connection, planned, embedders.get_embedder(state.model))
            with time_limit(connection, limit_ms):
                return searching.search(
                    connection,
                    planned,
                    semantic=semantic,
                    ranking=ranking,
                    size=first_stage[0],
                    offset=first_stage[1],
                )

        # Whether notes changed meanwhile is asked while SQLite searches, which leaves Python to others.
        changes = asyncio.create_task(
            asyncio.to_thread(freshness.changes_since_indexing, database.path)
        )
        ran = time.perf_counter()
        results = await database.execute_fn(run)
        clock.lap("sql")
        if reranker:
            results = await asyncio.to_thread(
                reranking.page, results, reranker, size, offset, wait=wait_for_model
            )
            clock.lap("rerank")
        if "semantic" in results.legs and state.model:
            results = await asyncio.to_thread(
                highlighted, results, embedders.get_embedder(state.model)
            )
            clock.lap("highlight")
        if redacts(database.ds):
            results = await database.execute_fn(
                lambda connection: redacted.results(connection, results)
            )
            clock.lap("redact")
    except sidecar.sqlite3.DatabaseError as error:
        # SQLite words an interruption in many ways; the clock says what it was.
        too_slow = ran is not None and (time.perf_counter() - ran) * 1000 >= limit_ms
        return Answer(error=TOO_SLOW if too_slow else unreadable(error), status=503)
    notices = [
        obstacle,
        readiness.incomplete(state),
        *results.notices,
        changed_notice(await changes),
    ]
    return Answer(
        results,
        state,
        tuple(notice for notice in notices if notice),
        timing_ms=clock.milliseconds(),
    )


async def _prepare_meaning(
    state: sidecar.State, has_extension: bool, query: Query, wait_for_model: bool
) -> str | None:
    """Make the query's vector off the event loop and off Datasette's SQL threads; what to say if that can't be."""
    obstacle = readiness.obstacle(state, has_extension)
    if obstacle or state.model is None or not state.has_vectors:
        return obstacle if readiness.wants_meaning(query) else None
    embedder = embedders.get_embedder(state.model)
    if not embedder.ready and not wait_for_model and not embedder.failure:
        embedder.warm_up()
        return LOADING if readiness.wants_meaning(query) else None
    if not readiness.wants_meaning(query):
        return None
    return await asyncio.to_thread(readiness.embed_query, state, embedder, query)


async def _surroundings(
    database: Database, request, results: searching.Results, state: sidecar.State
) -> Surroundings:
    """What the page shows around the results. Whatever of it can't be read in time is left out."""
    query = results.query
    is_home = not (
        query.text or query.filters or request.args.get("sort") or request.args.get("_next")
    )
    counted, beside = await asyncio.gather(
        _facets(database, results), _beside_the_hits(database, results, state)
    )
    at_home = await _in_time(database, home) if is_home else None
    if at_home and redacts(database.ds):
        at_home = redacted.home(at_home)
    return replace(beside, facets=counted, home=at_home)


async def _beside_the_hits(
    database: Database, results: searching.Results, state: sidecar.State
) -> Surroundings:
    """The part of that which stands among the results."""

    def read(connection: sidecar.sqlite3.Connection) -> Surroundings:
        more = {}
        if "semantic" in results.legs:
            more = more_passages(connection, results.plan, results.hits)
        return Surroundings(
            state,
            has_several_sources=len(stored_sources.all_sources(connection)) > 1,
            more_passages=redacted.passages(connection, more) if redacts(database.ds) else more,
            spellings=spellings(connection, results.query)
            if results.nothing_found or not results.total
            else {},
        )

    return await _in_time(database, read) or Surroundings(state)


async def _facets(database: Database, results: searching.Results) -> facets.Facets | None:
    """What the results can be narrowed by; None if nothing was found that could be counted, or not in time."""
    if results.statement is None or results.nothing_found or not results.total:
        return None
    return await _in_time(
        database, lambda connection: facets.count(connection, results.plan, results.legs)
    )


async def _in_time(database: Database, read: Callable[[sidecar.sqlite3.Connection], T]) -> T | None:
    """What is read from the sidecar; None if that takes longer than Datasette allows, or can't be."""
    limit_ms = database.ds.setting("sql_time_limit_ms")

    def run(connection: sidecar.sqlite3.Connection) -> T:
        with time_limit(connection, limit_ms):
            return read(connection)

    try:
        return await database.execute_fn(run)
    except sidecar.sqlite3.Error:
        return None


# JSON, in the shapes of Datasette 1.0


async def _json_response(
    datasette: Datasette, request, database: Database, answer: Answer
) -> Response:
    results = answer.results
    assert results is not None
    addresses = Addresses(datasette, request.args, f"{SEARCH_PATH}.json")
    next_url = None
    if results.next_offset is not None:
        next_url = datasette.absolute_url(
            request, addresses.search(drop=(), _next=results.next_offset)
        )
    more: dict[str, Any] = {}
    if request.args.get("_facets") == "1":
        counted = await _facets(database, results)
        found = groups(addresses, results.query, counted) if counted else ()
        more["facets"] = for_programs(found)
    rerank = request.args.get("rerank") or None
    return json_response(
        datasette,
        json_answer(results, answer.notices, answer.timing_ms, rerank, next_url=next_url, **more),
    )
