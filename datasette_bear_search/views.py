"""The search page and its JSON: read the request, call the search, render. The same for both Datasette versions."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette import Forbidden, Response
from datasette.utils import sqlite_timelimit
from markupsafe import Markup

from . import embedders, freshness, judging, readiness, reranking, sidecar
from . import search as searching
from .answers import (
    FORBIDDEN,
    NO_SIDECAR,
    UNREADABLE,
    json_error,
    json_response,
    local_day,
)
from .filters import HAS, InvalidParameter
from .markup import plain_text
from .modes import MODES
from .parameters import read_number, read_query, read_ranking
from .planning import Plan, plan
from .query import Query
from .serving import SEARCH_PATH, SIMILAR_PATH, allowed, cross_encoder, sidecar_database
from .statement import ELLIPSIS, END_MARK, MARK

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

MAX_SIZE = 100

LOADING = "The model is still loading, so these notes were found by their words only. Search again in a few seconds."
TOO_SLOW = "The search took longer than this Datasette allows (sql_time_limit_ms). A filter makes it faster."


@dataclass(frozen=True)
class Answer:
    """What a request for a search led to: results, or a message with an HTTP status."""

    results: searching.Results | None = None
    notices: tuple[str, ...] = ()
    error: str | None = None
    status: int = 200
    timing_ms: dict[str, float] | None = None


async def search(datasette: Datasette, request) -> Response:
    """The search page, or with ``.json`` its answer for programs."""
    is_json = request.url_vars.get("format") == "json"
    database = await sidecar_database(datasette)
    if database is None:
        answer = Answer(error=NO_SIDECAR, status=404 if is_json else 200)
    elif not await allowed(datasette, request.actor, "view-database", database):
        if not is_json:
            raise Forbidden(FORBIDDEN)
        answer = Answer(error="Permission denied", status=403)
    else:
        answer = await _answer(database, request, wait_for_model=is_json)
    if is_json:
        return _json_response(datasette, request, answer)
    return await _html_response(datasette, request, database, answer)


async def _answer(database: Database, request, wait_for_model: bool) -> Answer:
    started = time.perf_counter()
    try:
        query = read_query(request.args)
        ranking = read_ranking(request.args)
        size = read_number(request.args, "_size", searching.PAGE_SIZE, 1, MAX_SIZE)
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

    time_limit = database.ds.setting("sql_time_limit_ms")
    ran = None
    try:
        state, has_extension, planned = await database.execute_fn(prepare)
        obstacle = await _prepare_meaning(
            state, has_extension, planned.query, wait_for_model or query.mode != "auto"
        )
        embedded = time.perf_counter()
        reranker = reranking.reranker_for(ranking, state.model, cross_encoder(database.ds))
        changed = await asyncio.to_thread(freshness.changes_since_indexing, database.path)

        first_stage = reranking.first_stage(size, offset) if reranker else (size, offset)

        def run(connection: sidecar.sqlite3.Connection) -> searching.Results:
            with sqlite_timelimit(connection, time_limit):
                return searching.search(
                    connection,
                    planned,
                    semantic=readiness.wants_meaning(query) and obstacle is None,
                    ranking=ranking,
                    size=first_stage[0],
                    offset=first_stage[1],
                )

        ran = time.perf_counter()
        results = await database.execute_fn(run)
        if reranker:
            results = await asyncio.to_thread(
                reranking.page, results, reranker, size, offset, wait=wait_for_model
            )
    except sidecar.sqlite3.DatabaseError:
        # SQLite words an interruption in many ways; the clock says what it was.
        too_slow = ran is not None and (time.perf_counter() - ran) * 1000 >= time_limit
        return Answer(error=TOO_SLOW if too_slow else UNREADABLE, status=503)
    notices = [obstacle, readiness.incomplete(state), *results.notices, _changed_notice(changed)]
    return Answer(
        results,
        tuple(notice for notice in notices if notice),
        timing_ms={
            "embed": round((embedded - started) * 1000, 1),
            "sql": round(results.milliseconds, 1),
            "total": round((time.perf_counter() - started) * 1000, 1),
        },
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


def _changed_notice(changed: int) -> str | None:
    if not changed:
        return None
    subject = "1 note has" if changed == 1 else f"{changed:,} notes have"
    return f"{subject} changed since the index was made. To search them, run: datasette bear-index"


# JSON, in the shapes of Datasette 1.0


def _json_response(datasette: Datasette, request, answer: Answer) -> Response:
    if answer.results is None:
        return json_error(datasette, answer.error, answer.status)
    results = answer.results
    next_token = None if results.next_offset is None else str(results.next_offset)
    next_url = None
    if next_token:
        next_url = datasette.absolute_url(
            request, _url(datasette, request, f"{SEARCH_PATH}.json", _next=next_token)
        )
    query = results.query
    return json_response(
        datasette,
        {
            "ok": True,
            "rows": [_json_row(hit) for hit in results.hits],
            "next": next_token,
            "next_url": next_url,
            "total": results.total,
            "query": {
                "text": query.text,
                "words": query.words,
                "phrases": query.phrases,
                "prefixes": query.prefixes,
                "identifiers": query.identifiers,
                "excluded": query.excluded,
                "is_boolean": query.is_boolean,
                "in_title": query.in_title,
                "match": query.match,
                "exact": query.exact,
                "mode": query.mode,
                "legs": results.legs,
                "shape": results.plan.shape,
                "balance": results.plan.balance,
                "rerank": request.args.get("rerank") or None,
                "corrections": [
                    {"typed": typed, "searched": other} for typed, other in results.plan.corrections
                ],
                "meaning": query.meaning,
                "filters": query.filters.values(),
                "understood": [
                    {"kind": token.kind, "value": token.value, "label": token.label}
                    for token in query.understood
                ],
            },
            "notices": answer.notices,
            "timing_ms": answer.timing_ms,
        },
    )


def _json_row(hit: searching.Hit) -> dict[str, Any]:
    row = asdict(hit)
    row["snippet"] = hit.snippet_html()
    return row


# The page


async def _html_response(
    datasette: Datasette, request, database: Database | None, answer: Answer
) -> Response:
    results = answer.results
    context: dict[str, Any] = {
        "action": datasette.urls.path(SEARCH_PATH),
        "arguments": {name: request.args.getlist(name) for name in request.args},
        "modes": MODES,
        "has_kinds": tuple(HAS),
        "error": answer.error,
        "notices": answer.notices,
        "results": results,
        "cards": [],
    }
    if results is not None and database is not None:
        if results.statement and await allowed(datasette, request.actor, "execute-sql", database):
            parameters = {"sql": results.statement.sql, **results.statement.parameters}
            context["sql_url"] = f"{datasette.urls.database(database.name)}?{urlencode(parameters)}"
        if results.next_offset is not None:
            context["next_url"] = _url(datasette, request, SEARCH_PATH, _next=results.next_offset)
        context["json_url"] = _url(datasette, request, f"{SEARCH_PATH}.json")
        context["alternate_url_json"] = datasette.absolute_url(request, context["json_url"])
        if results.plan.corrections:
            context["uncorrected_url"] = _url(
                datasette, request, SEARCH_PATH, drop=("_next",), correct=0
            )
        context["parameter_chips"] = _parameter_chips(datasette, request)
        context["chips"] = [
            *_query_chips(datasette, request, results.query),
            *context["parameter_chips"],
        ]
        grades = await judging.grades(datasette, database, request.args.get("q") or "")
        if grades is not None:
            context["judge"] = {
                "action": datasette.urls.path(judging.JUDGE_PATH),
                "search": request.query_string,
                "grades": grades,
                "buttons": judging.BUTTONS,
            }
        context["cards"] = [_card(datasette, request, database, hit) for hit in results.hits]
    html = await datasette.render_template("bear_search.html", context, request=request)
    return Response.html(html, status=answer.status)


def _card(datasette: Datasette, request, database: Database, hit: searching.Hit) -> dict[str, Any]:
    """What the template shows of a hit."""
    return {
        "hit": hit,
        "row_url": datasette.urls.row(database.name, "notes", str(hit.id)),
        # Without a match the snippet is only the beginning of the passage, which is shown anyway.
        "snippet": Markup(searching.marked_html(plain_text(hit.snippet)))
        if MARK in hit.snippet
        else None,
        "heading": hit.passage.heading if hit.passage else None,
        "passage": _other_passage(hit),
        "why": why(hit),
        "tags": [
            (tag, _url(datasette, request, SEARCH_PATH, drop=("_next",), add=("tag", tag)))
            for tag in hit.tags
        ],
        "day": local_day(hit.modified),
        "similar_url": datasette.urls.path(f"{SIMILAR_PATH}/{hit.id}"),
    }


def why(hit: searching.Hit) -> str:
    """Why a note was found, in plain words: ``words, 3rd · meaning, 1st (0.71)``."""
    reasons = []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    if hit.semantic_rank:
        reasons.append(f"meaning, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    return " · ".join(reasons)


def _other_passage(hit: searching.Hit) -> str | None:
    """The closest passage without its heading, if it isn't what the snippet was taken from."""
    if hit.passage is None or hit.encrypted or (MARK in hit.snippet and not hit.semantic_rank):
        return None
    unmarked = hit.snippet.replace(MARK, "").replace(END_MARK, "")
    if MARK in hit.snippet and unmarked.strip(ELLIPSIS) in hit.passage.text:
        return None
    lines = plain_text(hit.passage.text).splitlines()
    if hit.passage.heading and lines and lines[0] == hit.passage.heading.split(" › ")[-1]:
        del lines[0]
    return "\n".join(lines)


def _query_chips(datasette: Datasette, request, query: Query) -> list[tuple[str, str]]:
    """What was understood of the text, each with the address of the same search without it."""
    chips = []
    for token in query.understood:
        rest = query.text_without(token)
        add = ("q", rest) if rest else None
        url = _url(datasette, request, SEARCH_PATH, drop=("_next", "q"), add=add)
        chips.append((token.label, url))
    return chips


def _parameter_chips(datasette: Datasette, request) -> list[tuple[str, str]]:
    """Each filter beside the text, with the address of the same search without it."""
    return [
        (
            f"{name.replace('_', ' ')}: {value}",
            _url(datasette, request, SEARCH_PATH, drop=("_next",), remove=(name, value)),
        )
        for name in request.args
        if name not in ("q", "mode", "balance", "fusion", "sort", "rerank", "correct")
        and not name.startswith("_")
        for value in request.args.getlist(name)
        if value.strip()
    ]


def _url(
    datasette: Datasette,
    request,
    path: str,
    *,
    drop: tuple[str, ...] = (),
    remove: tuple[str, str] | None = None,
    add: tuple[str, str] | None = None,
    **replace: str | int,
) -> str:
    """The address of this search at ``path``, with other parameters."""
    pairs = [
        (name, value)
        for name in request.args
        for value in request.args.getlist(name)
        if value and name not in drop and name not in replace and (name, value) != remove
    ]
    if add and add not in pairs:
        pairs.append(add)
    pairs.extend((name, str(value)) for name, value in replace.items())
    return datasette.urls.path(path) + (f"?{urlencode(pairs)}" if pairs else "")


def _ordinal(number: int) -> str:
    suffix = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number:,}{suffix}"
