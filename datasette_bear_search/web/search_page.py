"""The search page and its JSON: read the request, run the pipeline, respond."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from datasette import Response

from ..index import rows, watch
from ..index.database import State
from ..notes import local_day
from ..query.filters import FILTERS, InvalidParameter
from ..query.query import Query
from ..search import facets, redaction, spelling
from ..search.engine import Pipeline, SearchResponse, TimeLimitExceeded, changed_notice
from ..search.facets import Facets
from ..search.notes import StartPage, read_start_page
from ..search.planner import BALANCES
from ..search.request import MAX_SIZE, SearchRequest, read_number, read_request
from ..search.results import PAGE_SIZE, MatchedPassage, Results
from ..search.snippets import json_body, more_passages
from ..sqlite import sqlite3
from . import api
from .cards import card
from .links import (
    OF_ONE_LIST,
    Anchor,
    FacetGroup,
    FacetValue,
    Urls,
    facet_groups,
    filter_chips,
    text_chips,
    timeline,
)
from .site import (
    NO_SIDECAR,
    SEARCH_PATH,
    UNREADABLE,
    PageError,
    age,
    cross_encoder,
    json_response,
    read_index,
    redacts,
    sidecar_database,
    sql_url,
    unreadable,
    view,
)

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from jinja2 import Environment

T = TypeVar("T")

TITLE = "Search notes"
TOO_SLOW = (
    "This search took too long and was stopped. Try fewer words or a filter "
    "(limit: sql_time_limit_ms)."
)

# Sent by a page that is already there, which wants the first results only; with this value, those
# by words alone, which need no model.
FIRST_RESULTS_HEADER = "Bear-Search-First"
BY_WORDS = "words"
# At most so many of them: what a window shows while somebody types.
FIRST_RESULTS = 6

# A part of a page has the page's address: going back must never show it instead of the page.
NOT_TO_BE_KEPT = {"Cache-Control": "no-store", "Vary": FIRST_RESULTS_HEADER}

# The fields of the form. Every other parameter of the search goes along unseen.
FIELDS = (
    "q", "mode", "balance", "sort", "recency", "rerank",
    # Of a text there may be several: the form adds one.
    *(name for row in FILTERS.values() if row.in_form and row.kind != "text"
      for name in row.parameters),
)  # fmt: skip
# A new text begins a new list, and may be corrected again.
NOT_SENT_AGAIN = (*OF_ONE_LIST, "correct")

# What the form's fields can be, by the parameters' values.
MODE_NAMES = {
    "auto": "words and meaning",
    "keyword": "words only",
    "semantic": "meaning only",
    "like": "exact text",
}
BALANCE_NAMES = {"0.5": "mostly words", "0.7": "balanced", "0.9": "mostly meaning"}
SORT_NAMES = {
    "": "relevance",
    "newest": "newest first",
    "oldest": "oldest first",
    "title": "title",
}
RECENCY_NAMES = {"": "off", "365": "slightly", "30": "strongly"}
RERANK_NAMES = {"": "off", "cross-encoder": "cross-encoder (slower)"}
ARCHIVED_NAMES = {"": "include", "0": "exclude", "1": "only"}

# Tags that the page offers at once where facets are folded.
MAX_HOME_TAGS = 10

# A text with more unknown words isn't mistyped, it is in another language.
MAX_CORRECTED = 5


@dataclass(frozen=True)
class Surroundings:
    """What the page shows around a list of results; whatever can't be read in time is left out."""

    state: State
    facets: Facets | None = None
    has_several_sources: bool = False
    more_passages: dict[int, list[MatchedPassage]] = field(default_factory=dict)
    home: StartPage | None = None  # before anything is searched for
    spellings: dict[str, str] = field(default_factory=dict)  # if nothing was found: typed → meant


@dataclass(frozen=True)
class Select:
    """A list to choose from, in the form."""

    name: str
    label: str
    chosen: str
    options: tuple[tuple[str, str], ...]


async def _error_page(datasette: Datasette, request, message: str, status: int) -> Response:
    form = _form(Urls(datasette, request.args), None)
    context = {**form, "page_title": TITLE, "error": message}
    # Without an index, the page that says how to make one is no error.
    return await _html(datasette, request, context, 200 if message == NO_SIDECAR else status)


@view(_error_page)
async def search(datasette: Datasette, request, database: Database, is_json: bool) -> Response:
    """Respond with the search page, or with ``.json`` with the results for programs."""
    first = None if is_json else request.headers.get(FIRST_RESULTS_HEADER.lower())
    search_request = _read_request(request, first)
    try:
        response = await _respond(database, search_request, wait=is_json)
    except PageError as error:
        if error.message != UNREADABLE:
            raise
        # Its tables may have been rebuilt between two statements, or a killed run only now undone.
        await sidecar_database(datasette)
        response = await _respond(database, search_request, wait=is_json)
    if is_json:
        return await _json(datasette, request, database, response)
    if first:
        around = await _beside_the_hits(database, response)
        return await _first_results(datasette, request, database, response, around)
    around = await _surroundings(database, request, response)
    return await _results_page(datasette, request, database, response, around)


def _read_request(request, first: str | None) -> SearchRequest:
    try:
        size = FIRST_RESULTS if first else PAGE_SIZE
        search_request = read_request(
            {name: request.args.getlist(name) for name in request.args},
            size=read_number("_size", request.args.get("_size"), size, 1, MAX_SIZE),
            offset=read_number("_next", request.args.get("_next"), 0, 0, 10**9),
            correct=request.args.get("correct") != "0",
        )
    except InvalidParameter as error:
        raise PageError(str(error), 400) from None
    if first == BY_WORDS and search_request.query.mode == "auto":
        return replace(search_request, query=replace(search_request.query, mode="keyword"))
    return search_request


async def _respond(
    database: Database, search_request: SearchRequest, *, wait: bool
) -> SearchResponse:
    """Run the pipeline: what reads the index on Datasette's SQL threads, models on others.

    :param wait: whether to wait for models, as programs do; a person gets results by words first
    """
    datasette = database.ds
    pipeline = Pipeline(
        search_request,
        cross_encoder=cross_encoder(datasette),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
    )
    try:
        await database.execute_fn(pipeline.plan)
        wait_to_embed = wait or search_request.query.mode != "auto"
        await asyncio.to_thread(pipeline.embed, wait=wait_to_embed)
        # Ask whether notes changed while SQLite searches, which leaves Python to others.
        changes = asyncio.create_task(
            asyncio.to_thread(watch.changes_since_indexing, database.path)
        )
        await database.execute_fn(pipeline.retrieve)
        await asyncio.to_thread(pipeline.refine, wait=wait)
        if redacts(datasette):
            await database.execute_fn(pipeline.redact)
    except TimeLimitExceeded:
        raise PageError(TOO_SLOW, 503) from None
    except sqlite3.DatabaseError as error:
        raise PageError(unreadable(error), 503) from None
    response = pipeline.response()
    changed = changed_notice(await changes)
    return replace(response, notices=(*response.notices, *([changed] if changed else [])))


# --- what is around the results


async def _surroundings(database: Database, request, response: SearchResponse) -> Surroundings:
    query = response.results.query
    is_home = not (
        query.text or query.filters or request.args.get("sort") or request.args.get("_next")
    )
    counted, beside = await asyncio.gather(
        _facets(database, response.results), _beside_the_hits(database, response)
    )
    at_home = await _in_time(database, read_start_page) if is_home else None
    if at_home and redacts(database.ds):
        at_home = redaction.masked_record(at_home)
    return replace(beside, facets=counted, home=at_home)


async def _beside_the_hits(database: Database, response: SearchResponse) -> Surroundings:
    """Return the part of that which stands among the results."""
    results = response.results

    def read(connection: sqlite3.Connection) -> Surroundings:
        more = {}
        if "semantic" in results.retrievers:
            more = more_passages(connection, results.plan, results.hits)
            if redacts(database.ds):
                more = redaction.masked_passages(connection, more)
        return Surroundings(
            response.state,
            has_several_sources=len(rows.read_sources(connection)) > 1,
            more_passages=more,
            spellings=_spellings(connection, results.query) if _is_empty(results) else {},
        )

    return await _in_time(database, read) or Surroundings(response.state)


async def _facets(database: Database, results: Results) -> Facets | None:
    """Return what the results can be narrowed by; None without results, or not in time."""
    if results.statement is None or _is_empty(results):
        return None
    return await _in_time(
        database, lambda connection: facets.count(connection, results.plan, results.retrievers)
    )


async def _in_time(database: Database, read: Callable[[sqlite3.Connection], T]) -> T | None:
    try:
        return await read_index(database, read)
    except PageError:
        return None


def _is_empty(results: Results) -> bool:
    return results.nothing_found or not results.total


def _spellings(connection: sqlite3.Connection, query: Query) -> dict[str, str]:
    """Return words that no note has → words of the library that may be meant."""
    meant = {}
    for word in query.words[:MAX_CORRECTED]:
        counts = spelling.note_counts(connection, word)
        if not counts or any(counts.values()):
            continue
        if other := spelling.corrected(connection, word):
            meant[word] = other
    return meant


# --- the page


async def _results_page(
    datasette: Datasette,
    request,
    database: Database,
    response: SearchResponse,
    around: Surroundings,
) -> Response:
    results = response.results
    urls = Urls(datasette, request.args)
    json_url = Urls(datasette, request.args, f"{SEARCH_PATH}.json").search(drop=())
    context = {
        **_form(urls, results),
        **await _results(datasette, request, database, response, around),
        "json_url": json_url,
        "alternate_url_json": datasette.absolute_url(request, json_url),
        "sql_url": await sql_url(datasette, request, database, results.statement),
    }
    if results.next_offset is not None:
        context["next_url"] = urls.search(drop=(), _next=results.next_offset)
    groups: Sequence[FacetGroup] = ()
    if around.facets is not None and around.facets.total:
        groups = facet_groups(urls, results.query, around.facets)
        context["facets"] = groups
        context["at_least"] = around.facets.at_least
        context["timeline"] = timeline(
            around.facets.months, lambda period: urls.modified_in(period, results.query)
        )
    if around.home is not None:
        tags = next((group.choices for group in groups if group.name == "tag"), ())
        context["home"] = _home(urls, around.home, around.state, tags)
    return await _html(datasette, request, context)


async def _html(
    datasette: Datasette, request, context: dict[str, Any], status: int = 200
) -> Response:
    html = await datasette.render_template("bear_search.html", context, request=request)
    return Response.html(html, status=status)


async def _first_results(
    datasette: Datasette,
    request,
    database: Database,
    response: SearchResponse,
    around: Surroundings,
) -> Response:
    """Respond with what a page shows while somebody types; it asks for the rest a moment later."""
    context = await _results(datasette, request, database, response, around)
    context |= {"is_first": True, "csrftoken": request.scope.get("csrftoken", lambda: "")}
    template = _quick_environment(datasette, request).get_template("bear_first_results.html")
    return Response.html(template.render(context), headers=NOT_TO_BE_KEPT)


def _quick_environment(datasette: Datasette, request) -> Environment:
    """Return Datasette's templates without the coroutines that its base template needs.

    They render in a third of the time.
    """
    # Datasette 1.0 has a method for it.
    has_method = hasattr(datasette, "get_jinja_environment")
    environment = datasette.get_jinja_environment(request) if has_method else datasette.jinja_env
    if environment not in _quick_environments:
        # Compiled code of the one can't serve the other.
        _quick_environments[environment] = environment.overlay(
            enable_async=False, bytecode_cache=None
        )
    return _quick_environments[environment]


_quick_environments: WeakKeyDictionary[Environment, Environment] = WeakKeyDictionary()


async def _results(
    datasette: Datasette,
    request,
    database: Database,
    response: SearchResponse,
    around: Surroundings,
) -> dict[str, Any]:
    """Return the results, and what is said about them."""
    urls = Urls(datasette, request.args)
    results, query = response.results, response.results.query
    beside = filter_chips(urls)
    more = around.more_passages
    context: dict[str, Any] = {
        "page_title": f"{query.text} · {TITLE}" if query.text else TITLE,
        "notices": response.notices,
        "results": results,
        "chips": [*text_chips(urls, query), *beside, *_option_chips(urls)],
        "parameter_chips": beside,
        "all_url": urls.unfiltered() if beside else None,
        "cards": [card(urls, results.plan, hit, more.get(hit.id, ())) for hit in results.hits],
        "with_source": around.has_several_sources,
        "judge": await _judge(datasette, request, database),
    }
    if results.plan.corrections:
        context["uncorrected_url"] = urls.search(correct=0)
    if _is_empty(results):
        context["tried"] = _tried(results, beside)
        context["suggestions"] = _suggestions(urls, results, beside, around.spellings)
    return context


async def _judge(datasette: Datasette, request, database: Database) -> dict[str, Any] | None:
    grades = await api.grades(datasette, database, request.args.get("q") or "")
    if grades is None:
        return None
    return {
        "action": datasette.urls.path(api.JUDGE_PATH),
        "search": request.query_string,
        "grades": grades,
        "buttons": api.BUTTONS,
    }


def _home(urls: Urls, home: StartPage, state: State, tags: Sequence[FacetValue]) -> dict[str, Any]:
    sections = (
        ("Recently changed", home.recent),
        ("Pinned", home.pinned),
        ("On this day", home.on_this_day),
    )
    return {
        "sections": [
            (
                title,
                [
                    {
                        "title": note.title,
                        "url": urls.note(note.id),
                        "at": note.at,
                        "age": age(note.at),
                        "day": local_day(note.at),
                    }
                    for note in notes
                ],
            )
            for title, notes in sections
            if notes
        ],
        "sources": home.sources,
        "state": state,
        "indexed": age(state.indexed),
        "indexed_day": local_day(state.indexed),
        "newest_url": urls.search(sort="newest"),
        "tags": tags[:MAX_HOME_TAGS],
    }


# --- the form


def _form(urls: Urls, results: Results | None) -> dict[str, Any]:
    hidden = [
        (name, value)
        for name in urls.arguments
        if name not in FIELDS and name not in NOT_SENT_AGAIN
        for value in urls.values(name)
    ]
    return {
        "action": urls.datasette.urls.path(SEARCH_PATH),
        "home_url": urls.datasette.urls.path(SEARCH_PATH),
        "q": urls.value("q"),
        "hidden": hidden,
        "fields": _fields(urls, results),
        "archived": _field(urls, "archived", "Archived notes", ARCHIVED_NAMES),
        "value": urls.value,
        "values": urls.values,
        "filters": [row for row in FILTERS.values() if row.in_form],
    }


def _fields(urls: Urls, results: Results | None) -> tuple[Select, ...]:
    return (
        _field(urls, "mode", "Search by", MODE_NAMES, same={"hybrid": "auto", "": "auto"}),
        _field(urls, "balance", "Balance", {"": _balance(results), **BALANCE_NAMES}),
        _field(urls, "sort", "Sort by", SORT_NAMES, same={"relevance": ""}),
        _field(urls, "recency", "Prefer recent notes", RECENCY_NAMES),
        _field(urls, "rerank", "Re-rank", RERANK_NAMES),
    )


def _option_chips(urls: Urls) -> list[Anchor]:
    """Return the ways to search that were chosen, where the first isn't."""
    return [
        Anchor(
            f"{field.label}: {dict(field.options)[field.chosen]}",
            urls.search(drop=(*OF_ONE_LIST, field.name)),
        )
        for field in _fields(urls, None)
        if field.chosen != field.options[0][0]
    ]


def _field(
    urls: Urls,
    name: str,
    label: str,
    options: dict[str, str],
    same: Mapping[str, str] = MappingProxyType({}),
) -> Select:
    """Return a list to choose from; the first is the default. What else a URL has is in it, too.

    :param same: values that mean the same as one of the options
    """
    value = urls.value(name)
    chosen = same.get(value, value)
    if chosen not in options:
        options = {**options, chosen: chosen}
    return Select(name, label, chosen, tuple(options.items()))


def _balance(results: Results | None) -> str:
    """Return what the shape of the query chose, in words."""
    if results is None or not results.query.substrings:
        return "automatic"
    shaped = BALANCES[results.plan.shape]
    nearest = min(BALANCE_NAMES, key=lambda value: abs(float(value) - shaped))
    return f"automatic ({BALANCE_NAMES[nearest]})"


# --- a search without results


def _tried(results: Results, chips: Sequence[Anchor]) -> list[str]:
    """Return what was looked for, a line each."""
    query = results.query
    lines = []
    if query.substrings:
        wanted = ", ".join(f"“{text}”" for text in query.substrings)
        if "keyword" in results.retrievers:
            lines.append(f"notes with {wanted}, also inside longer words")
        elif "like" in results.retrievers:
            lines.append(f"notes that contain exactly {wanted}")
        if results.plan.corrections:
            typed = ", ".join(f"“{word}”" for word, _ in results.plan.corrections)
            lines.append(f"other spellings of {typed}")
        if "semantic" in results.retrievers:
            lines.append("notes with a similar meaning")
    if query.excluded:
        lines.append("without " + ", ".join(f"“{text}”" for text in query.excluded))
    if chips:
        lines.append("filtered by " + ", ".join(chip.label for chip in chips))
    return lines


def _suggestions(
    urls: Urls, results: Results, filters: Sequence[Anchor], others: dict[str, str]
) -> list[Anchor]:
    """Return what else to try.

    :param filters: what narrows the search beside its text
    :param others: words that may be meant, by those typed
    """
    query = results.query
    links = []
    for word, other in others.items():
        text = query.text.replace(word, other)
        links.append(
            Anchor(f"Search for {other}", urls.search(drop=(*OF_ONE_LIST, "correct"), q=text))
        )
    if filters:
        links.append(Anchor("Search without filters", urls.unfiltered()))
    if query.substrings and query.mode in ("keyword", "like"):
        links.append(Anchor("Search by meaning as well", urls.search(drop=("_next", "mode"))))
    links.append(
        Anchor(
            "Browse all notes, newest first",
            urls.search(drop=tuple(urls.arguments), sort="newest"),
        )
    )
    return links


# --- JSON, in the shapes of Datasette 1.0


async def _json(
    datasette: Datasette, request, database: Database, response: SearchResponse
) -> Response:
    results = response.results
    urls = Urls(datasette, request.args, f"{SEARCH_PATH}.json")
    next_url = None
    if results.next_offset is not None:
        next_url = datasette.absolute_url(request, urls.search(drop=(), _next=results.next_offset))
    more: dict[str, Any] = {}
    if request.args.get("_facets") == "1":
        counted = await _facets(database, results)
        groups = facet_groups(urls, results.query, counted) if counted else ()
        more["facets"] = {
            group.name: [choice.to_json() for choice in group.choices] for group in groups
        }
    rerank = request.args.get("rerank") or None
    return json_response(
        datasette,
        json_body(results, response.notices, response.timing_ms, rerank, next_url=next_url, **more),
    )
