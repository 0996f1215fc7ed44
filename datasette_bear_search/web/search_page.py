"""The search page and its JSON: read the request, run the pipeline, respond."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from datasette import Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import MultiParams

from ..index import rows, watch
from ..markdown import plain_text
from ..notes import local_day
from ..query.filters import FILTERS, InvalidParameter
from ..query.query import Query
from ..search import redaction
from ..search.engine import (
    MAX_SIZE,
    WAIT,
    Pipeline,
    SearchRequest,
    SearchResponse,
    TimeLimitExceeded,
    changed_notice,
    pending_notice,
    read_number,
    read_request,
    semantic_obstacle,
)
from ..search.notes import (
    START_PAGE_NOTES,
    StartPage,
    read_start_page,
    save_search,
    saved_searches,
)
from ..search.planner import BALANCES
from ..search.results import (
    NOTHING_CLOSE,
    PAGE_SIZE,
    Facets,
    Hit,
    MatchedPassage,
    Results,
    count_facets,
)
from ..search.snippets import json_body, more_passages
from ..search.sql import TEXTBOOK, Statement
from ..sqlite import sqlite3
from . import api, clients, first_run, links, openapi, site
from .attachments import NoteFiles, note_files
from .cards import Card, card
from .links import OF_ONE_LIST, Anchor, Urls
from .openapi import SEARCH_PATH
from .site import PART_HEADERS, PageError

T = TypeVar("T")

TEMPLATE, PART, TITLE = "bear_search.html", "_bear_results.html", "Search notes"
TOO_SLOW = (
    "This search took too long and was stopped. Try fewer words or a filter "
    "(limit: sql_time_limit_ms)."
)

DATES = "Try 2024, 2024-05 or last-week."

# Seconds: the longest that a program may wait for models, and how long the page waits for a
# reranker if the person chose no mode.
MAX_WAIT, PAGE_WAIT = 600, 1

# The request header of a page that wants only the first results. With the value BY_WORDS, the
# search is by words alone, which needs no model.
FIRST_RESULTS_HEADER = PART_HEADERS[0]
BY_WORDS = "words"
# The parameter that, with the value 1, gives each result buttons to judge it, if judging is on.
JUDGE = "judge"

SAVE_PATH = f"{SEARCH_PATH}/save"
NOT_SAVED = "Only datasette bear-serve can save searches, with the button on the search page."
CANT_SAVE = (
    "The search wasn't saved, because the index can't be written right now. Try again later."
)

# Results that fit into a window while somebody types.
FIRST_RESULTS = 6

# The form's selects, by parameter: the label, and the options, with the default first.
BALANCE_NAMES = {"0.5": "mostly words", "0.7": "balanced", "0.9": "mostly meaning"}
CHOICES = {
    "mode": (
        "Search by",
        {
            "auto": "words and meaning",
            "keyword": "words only",
            "semantic": "meaning only",
            "like": "exact text",
        },
    ),
    "balance": ("Balance", {"": "automatic", **BALANCE_NAMES}),
    "sort": (
        "Sort by",
        {"": "relevance", "newest": "newest first", "oldest": "oldest first", "title": "title"},
    ),
    "recency": ("Prefer recent notes", {"": "off", "365": "slightly", "30": "strongly"}),
    "rerank": ("Re-rank", {"": "off", "cross-encoder": "cross-encoder (slower)"}),
    "archived": ("Archived notes", {"": "include", "0": "exclude", "1": "only"}),
}
# Other values with the same meaning as one of the options above.
SAME = {("mode", "hybrid"): "auto", ("mode", ""): "auto", ("sort", "relevance"): ""}

# The query syntax for the page's help: example → meaning.
SYNTAX = {
    "garden hose": "notes with these words, or with a similar meaning",
    '"city compost"': "this exact phrase",
    "gard*": "words that begin with this",
    "-toilet": "without this word",
    "mice OR rats": "either word; also AND, NOT and parentheses",
    "#work or tag:work/projects": "with this tag or one below it",
    "created:2024-05": "created in this month; also modified:, 2024, last-week, 7d, 2023..2024",
    "before:2024 after:last-week": "modified before or after",
    "is:pinned": "also archived, trashed, todo, done, untagged, encrypted",
    "has:todo": "also image, file, code, link",
    "in:title plan": "words in the title; also title:plan",
    "linked-to:Title": "with a link to this note",
    "path:work/plans source:bear": "in this folder, from this source",
}

# The fields of the form.
FIELDS = (
    "q", *CHOICES, JUDGE,
    # Text filters can have several values; the form adds one at a time.
    *(name for row in FILTERS.values() if row.in_form and row.kind != "text"
      for name in row.parameters),
)  # fmt: skip
# The search's other parameters are sent as hidden fields, but no unknown ones: in a script, a field
# named "action" would shadow the form's own action.
UNSEEN = (
    "fusion", "_size",
    *(name for row in FILTERS.values() for name in row.parameters if name not in FIELDS),
)  # fmt: skip
# A new text starts a new list of results, and may be corrected again.
NOT_SENT_AGAIN = (*OF_ONE_LIST, "correct")


@dataclass(frozen=True)
class Surroundings:
    """Information shown beside the results. Whatever can't be read in time is left out."""

    has_several_sources: bool = False
    more_passages: dict[int, list[MatchedPassage]] = field(default_factory=dict)
    files: Mapping[int, NoteFiles] = field(default_factory=dict)
    saved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Select:
    name: str
    label: str
    chosen: str
    options: dict[str, str]


async def _error_page(
    datasette: Datasette, request, error: dict[str, str], status: int
) -> Response:
    if error["error"] == site.NO_SIDECAR:  # show how to make an index, not an error page
        status = 200 if request.url_vars["database"] is None else 404
        return await site.html_response(first_run.TEMPLATE, datasette, request, {}, status)
    form = _form(Urls(datasette, request.args), None)
    context = {**form, "page_title": TITLE, **error}
    return await site.html_response(TEMPLATE, datasette, request, context, status, part=PART)


@site.view(_error_page, path=".json")
async def search(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with the search page or, with ``.json``, with the results as JSON."""
    if request.method == "HEAD":  # don't search: nobody would see the results
        return site.json_response(datasette, {}) if is_json else Response.html("")
    first = None if is_json else request.headers.get(FIRST_RESULTS_HEADER.lower())
    if not is_json and (page := await first_run.first_run(datasette, request, database)):
        return page
    given = {name: request.args.getlist(name) for name in request.args}
    errors: dict[str, str] = {}
    search_request = _read_request(given, first, None if is_json else errors)
    wait = PAGE_WAIT if search_request.query.mode == "auto" else WAIT
    if is_json:
        wait = read_number("_wait", request.args.get("_wait"), WAIT, 0, MAX_WAIT)
    options: dict[str, Any] = {"wait": wait, "by_words_first": not is_json}
    try:
        response = await respond(database, search_request, **options)
    except PageError as error:
        if str(error) != site.UNREADABLE:
            raise
        # Try again: the tables may have been rebuilt between two statements, or a killed run may
        # have been rolled back only now.
        await site.sidecar_database(datasette)
        response = await respond(database, search_request, **options)
    if is_json:
        return await _json(request, database, response)
    urls = Urls(database.ds, MultiParams(given))
    # The heading above the nearest notes says the same.
    said = NOTHING_CLOSE if _is_empty(response.results) else None
    notices = (notice for notice in response.notices if notice != said)
    response = replace(response, notices=(*errors.values(), *notices))
    if first:
        return await _first_results(urls, request, database, response)
    return await _results_page(urls, request, database, response, search_request.offset, errors)


def _read_request(
    given: dict[str, list[str]], first: str | None, errors: dict[str, str] | None
) -> SearchRequest:
    """Return the search request for parameters.

    :param errors: gets messages about invalid parameters, which leave ``given``; None raises them
    """
    size = FIRST_RESULTS if first else PAGE_SIZE

    def value(name: str) -> str | None:
        return given.get(name, [None])[0]

    try:
        search_request = read_request(
            given,
            size=read_number("_size", value("_size"), size, 1, MAX_SIZE),
            offset=read_number("_next", value("_next"), 0, 0, 10**9),
            correct=value("correct") != "0",
        )
    except InvalidParameter as error:
        name = str(error).split()[0]
        if errors is None or name not in given:
            raise
        errors[name] = str(error)
        values = given.pop(name)
        if name.endswith(("_after", "_before")):
            errors[name] = f"“{values[-1]}” isn't a date. {DATES}"
        return _read_request(given, first, errors)
    if first == BY_WORDS and search_request.query.mode == "auto":
        return replace(search_request, query=replace(search_request.query, mode="keyword"))
    return search_request


async def respond(
    database: Database, search_request: SearchRequest, *, wait: float, by_words_first: bool
) -> SearchResponse:
    """Run the pipeline: reads of the index on Datasette's SQL threads, models on other threads.

    :param wait: seconds to wait for models
    :param by_words_first: don't wait for the embedding model unless the request chose a mode
    """
    datasette = database.ds
    if updater := site.updaters.get(datasette):
        updater.give_way()
    pipeline = Pipeline(
        search_request,
        cross_encoder=site.config(datasette).get("cross_encoder"),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
        redact=site.redacts(datasette),
        wait=wait,
    )
    is_reranked = search_request.ranking.rerank is not None

    def read(connection: sqlite3.Connection) -> None:
        pipeline.retrieve(connection)
        pipeline.redact(connection)
        if not is_reranked:  # switching threads takes as long as a small statement
            pipeline.refine()

    try:
        await clients.execute(database, pipeline.plan)
        is_awaited = not by_words_first or search_request.query.mode != "auto"
        await asyncio.to_thread(pipeline.embed, wait=None if is_awaited else 0)
        # Count changed notes while SQLite searches, which releases the GIL.
        count_changes = watch.changes_since_indexing
        if updater and updater.watches:
            count_changes = lambda path: 0  # noqa: E731 - indexed in a moment
        path = clients.index_file(database)
        changes = asyncio.create_task(asyncio.to_thread(count_changes, path))
        await clients.execute(database, read)
        if is_reranked:
            await asyncio.to_thread(pipeline.refine)
    except TimeLimitExceeded:
        raise PageError(TOO_SLOW, 503) from None
    except sqlite3.DatabaseError as error:
        raise PageError(site.unreadable(error), 503) from None
    response = pipeline.response()
    notices = list(response.notices)
    if updater and updater.activity.doing:
        # The line about the index's freshness says the same.
        not_yet = semantic_obstacle(response.state, True), pending_notice(response.state)
        notices = [notice for notice in notices if notice not in not_yet]
    if changed := changed_notice(await changes):
        notices.append(changed)
    return replace(response, notices=tuple(notices))


# --- information beside the results


async def _surroundings(database: Database, results: Results) -> Surroundings:
    redact = site.redacts(database.ds)

    def read(connection: sqlite3.Connection) -> Surroundings:
        more = {}
        if "semantic" in results.retrievers:
            more = more_passages(connection, results.plan, results.hits)
            if redact:
                more = redaction.masked_passages(connection, more)
        return Surroundings(
            has_several_sources=len(rows.read_sources(connection)) > 1,
            more_passages=more,
            files=note_files(database.ds, connection, [hit.id for hit in results.hits]),
            saved=saved_searches(connection) if may_save(database) else (),
        )

    return await _in_time(database, read) or Surroundings()


async def _home(database: Database, request, query: Query) -> StartPage | None:
    if query.text or query.filters or request.args.get("sort") or request.args.get("_next"):
        return None
    home = await _in_time(database, read_start_page)
    return redaction.masked_record(home) if site.redacts(database.ds) else home


async def _facets(database: Database, results: Results) -> Facets | None:
    if results.statement is None or _is_empty(results):
        return None
    return await _in_time(database, lambda connection: count_facets(connection, results))


async def _in_time(database: Database, read: Callable[[sqlite3.Connection], T]) -> T | None:
    try:
        return await site.read_index(database, read)
    except PageError:
        return None


def _is_empty(results: Results) -> bool:
    return results.nothing_found or not results.total


# --- the page


async def _results_page(
    urls: Urls,
    request,
    database: Database,
    response: SearchResponse,
    offset: int,
    errors: dict[str, str],
) -> Response:
    datasette, results = database.ds, response.results
    unknown = [name for name in request.args if name not in openapi.parameters(".json")]
    given = Urls(datasette, request.args)  # with the invalid values, so that they can be fixed
    around, counted, home = await asyncio.gather(
        _surroundings(database, results),
        _facets(database, results),
        _home(database, request, results.query),
    )
    context = {
        **_form(given, results),
        **await _results(urls, request, database, response, around),
        "json_url": replace(urls, path=f"{SEARCH_PATH}.json").search(drop=unknown),
        "sql_url": await site.sql_url(datasette, request, database, results.statement),
        "is_reranked": any(hit.rerank_score is not None for hit in results.hits),
        "errors": errors,
        "may_judge": site.judging_is_on(database),
        "offset": offset,
    }
    if "semantic" in results.retrievers:
        textbook = Statement(TEXTBOOK, {"q": results.query.text})
        context["textbook_url"] = await site.sql_url(datasette, request, database, textbook)
    if results.next_offset is not None:
        context["next_url"] = urls.search(drop=(), _next=results.next_offset)
    if offset:
        context["previous_url"] = urls.search(drop=(), _next=max(0, offset - PAGE_SIZE))
    if counted is not None and counted.total:
        groups = links.facet_groups(urls, results.query, counted)
        context["facets"] = {group.name: group for group in links.narrowing(groups, counted.total)}
        context["at_least"] = counted.at_least
        context["timeline"] = links.timeline(
            counted.months, lambda period: urls.modified_in(period, results.query)
        )
    if may_save(database):
        this = urls.search(drop=(*OF_ONE_LIST, JUDGE)).partition("?")[2]
        context |= {"save_url": site.url(datasette, SAVE_PATH), "search": this}
        context["is_saved"] = this in around.saved
    if home is not None:
        recent = [hit for hit in results.hits if not hit.archived][:START_PAGE_NOTES]
        context |= {
            "home": home,
            "found": [card(urls, results.plan, hit) for hit in recent],
            "saved": list(_saved(datasette, home.saved)) if may_save(database) else [],
            "state": response.state,
            "follows": getattr(site.updaters.get(datasette), "watches", False),
            "newest_url": urls.search(sort="newest"),
            "note_url": urls.note,
            "plain": plain_text,
            "age": site.age,
            "local_day": local_day,
        }
    status = 400 if errors else 200
    return await site.html_response(TEMPLATE, datasette, request, context, status, part=PART)


async def _first_results(
    urls: Urls, request, database: Database, response: SearchResponse
) -> Response:
    """Respond with results to show while somebody types; the page fetches the rest afterwards."""
    around = await _surroundings(database, response.results)
    context = await _results(urls, request, database, response, around)
    # Notices about the text wait until the person pauses.
    plan = response.results.plan
    of_text = {*plan.query.notices, *plan.notices}
    if not plan.query.substrings:
        of_text |= {*response.results.notices}
    context["notices"] = [notice for notice in response.notices if notice not in of_text]
    context["is_first"] = True
    return site.part_response("bear_first_results.html", database.ds, request, context)


async def _results(
    urls: Urls, request, database: Database, response: SearchResponse, around: Surroundings
) -> dict[str, Any]:
    results, query = response.results, response.results.query
    beside = links.filter_chips(urls)
    more = around.more_passages
    # If nothing is found, the nearest notes are shown as the results.
    weaker = [hit for hit in results.hits if results.found and not hit.is_found]
    found = results.hits[: len(results.hits) - len(weaker)]

    def cards(hits: Iterable[Hit]) -> Iterator[Card]:
        # A generator, because the start page shows no cards.
        return (card(urls, results.plan, hit, more.get(hit.id, ())) for hit in hits)

    context: dict[str, Any] = {
        "page_title": f"{query.text} · {TITLE}" if query.text else TITLE,
        "notices": response.notices,
        "results": results,
        "has_notes": response.state.has_notes,
        "chips": [*links.text_chips(urls, query), *beside, *_option_chips(urls)],
        "all_url": urls.unfiltered() if len(beside) > 1 else None,
        "found": cards(found),
        "weaker": cards(weaker),
        "shown_count": len(found),
        "weaker_count": len(weaker),
        "weaker_from": len(found) + 1,
        "with_source": around.has_several_sources,
        "files": around.files,
    }
    query_text = request.args.get("q") or ""
    grades = await api.grades(database, query_text) if urls.value(JUDGE) == "1" else None
    if grades is not None:
        context["judge"] = {
            "action": site.url(database.ds, api.JUDGE_PATH),
            "search": request.query_string,
            "grades": grades,
            "buttons": api.BUTTONS,
        }
    context["offers"] = [
        Anchor(text, urls.search(drop=NOT_SENT_AGAIN, q=text)) for text in results.plan.offers
    ]
    if results.plan.corrections:
        context["uncorrected_url"] = urls.search(correct=0)
    if _is_empty(results):
        context["suggestions"] = _suggestions(urls, results, beside)
    return context


# --- the form


def _form(urls: Urls, results: Results | None) -> dict[str, Any]:
    return {
        "q": urls.value("q"),
        "errors": {},
        "syntax": SYNTAX.items(),
        "hidden": [(name, value) for name in UNSEEN for value in urls.values(name)],
        "selects": _selects(urls, results),
        "value": urls.value,
        "values": urls.values,
        "filters": [row for row in FILTERS.values() if row.in_form],
    }


def _selects(urls: Urls, results: Results | None) -> dict[str, Select]:
    selects = {}
    for name, (label, options) in CHOICES.items():
        if name == "balance":
            options = {**options, "": _balance(results)}
        value = urls.value(name)
        chosen = SAME.get((name, value), value)
        # Another value in the URL becomes one more option.
        options = {**options, chosen: options.get(chosen, chosen)}
        selects[name] = Select(name, label, chosen, options)
    return selects


def _option_chips(urls: Urls) -> list[Anchor]:
    """Return chips for options other than the defaults; filters have chips of their own."""
    return [
        Anchor(
            f"{each.label}: {each.options[each.chosen]}",
            urls.search(drop=(*OF_ONE_LIST, each.name)),
        )
        for each in _selects(urls, None).values()
        if each.name not in FILTERS and each.chosen != next(iter(each.options))
    ]


def _balance(results: Results | None) -> str:
    if results is None or not results.query.substrings:
        return "automatic"
    shaped = BALANCES[results.plan.shape]
    nearest = min(BALANCE_NAMES, key=lambda value: abs(float(value) - shaped))
    return f"automatic ({BALANCE_NAMES[nearest]})"


# --- saved searches, for the start page; only in bear-serve


def may_save(database: Database) -> bool:
    return site.updaters.get(database.ds) is not None and site.may_write(database)


def _saved(datasette: Datasette, searches: Iterable[str]) -> Iterator[tuple[str, Anchor]]:
    for search in searches:
        urls = Urls(datasette, site.fields(search))
        filters = (chip.label for chip in links.filter_chips(urls))
        label = " · ".join(filter(None, (urls.value("q"), *filters))) or "All notes"
        if not site.redacts(datasette) or not redaction.has_secret(label):
            yield search, Anchor(label, urls.search(drop=()))


@site.view(partial(site.html_response, "error.html"), methods=("POST",))
async def save(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    if not may_save(database):
        raise PageError(NOT_SAVED, 404)
    form = await site.form(request)
    search, keep = form.get("search", ""), form.get("grade") == "1"
    write = partial(save_search, search=search, keep=keep)
    await site.write_index(database, write, refused=CANT_SAVE)
    return Response.redirect(first_run.page_before(datasette, request), status=303)


# --- a search without results


def _suggestions(urls: Urls, results: Results, filters: Sequence[Anchor]) -> list[Anchor]:
    query, links = results.query, []
    if filters:
        links.append(Anchor("Search without filters", urls.unfiltered()))
    if query.substrings and query.mode in ("keyword", "like"):
        links.append(Anchor("Search by meaning as well", urls.search(drop=("_next", "mode"))))
    newest = urls.search(drop=tuple(urls.arguments), sort="newest")
    return [*links, Anchor("Browse all notes, newest first", newest)]


# --- JSON, in the format of Datasette 1.0


async def _json(request, database: Database, response: SearchResponse) -> Response:
    datasette, results = database.ds, response.results
    urls = Urls(datasette, request.args, f"{SEARCH_PATH}.json")
    next_url = None
    if results.next_offset is not None:
        next_url = datasette.absolute_url(request, urls.search(drop=(), _next=results.next_offset))
    more: dict[str, Any] = {}
    if request.args.get("_facets") == "1":
        counted = await _facets(database, results)
        groups = links.facet_groups(urls, results.query, counted) if counted else ()
        more["facets"] = {group.name: [*map(asdict, group.choices)] for group in groups}
    rerank = request.args.get("rerank") or None
    body = json_body(
        results, response.notices, response.timing_ms, rerank, next_url=next_url, **more
    )
    return api.rows_response(datasette, request, body)
