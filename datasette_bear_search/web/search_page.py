"""A search that found nothing: what was tried, and what else can be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from datasette import Forbidden, Response

from ..index import rows, watch
from ..index.database import State
from ..notes import local_day
from ..query.filters import FILTERS, InvalidParameter
from ..query.query import Query
from ..search import facets, redaction, spelling
from ..search.engine import Pipeline, SearchResponse, TimeLimitExceeded, changed_notice
from ..search.facets import Facets
from ..search.notes import Home, home
from ..search.planner import BALANCES
from ..search.request import MAX_SIZE, SearchRequest, read_number, read_request
from ..search.results import PAGE_SIZE, MatchedPassage, Results
from ..search.snippets import json_body, more_passages
from ..sqlite import sqlite3, time_limit
from . import api
from .cards import Link, card
from .links import (
    OF_ONE_LIST,
    Addresses,
    Chip,
    Choice,
    filter_chips,
    for_programs,
    groups,
    text_chips,
    timeline,
)
from .site import (
    FORBIDDEN,
    NO_SIDECAR,
    SEARCH_PATH,
    UNREADABLE,
    age,
    allowed,
    cross_encoder,
    json_error,
    json_response,
    redacts,
    sidecar_database,
    unreadable,
)

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from jinja2 import Environment


# More words than that aren't mistyped, they are another language.
WORDS_AT_MOST = 5


def spellings(connection: sqlite3.Connection, query: Query) -> dict[str, str]:
    """The words that no note has → words of the library that may be meant."""
    found = {}
    for word in query.words[:WORDS_AT_MOST]:
        counts = spelling.note_counts(connection, word)
        if not counts or any(counts.values()):
            continue
        if other := spelling.corrected(connection, word):
            found[word] = other
    return found


def tried(results: Results, chips: Sequence[Chip]) -> list[str]:
    """What was looked for, a line each."""
    query = results.query
    lines = []
    if query.substrings:
        wanted = ", ".join(f"“{text}”" for text in query.substrings)
        if "keyword" in results.retrievers:
            lines.append(f"notes with {wanted}, also as part of a longer word")
        elif "like" in results.retrievers:
            lines.append(f"notes that contain {wanted} as it stands")
        if results.plan.corrections:
            typed = ", ".join(f"“{word}”" for word, _ in results.plan.corrections)
            lines.append(f"other spellings of {typed}")
        if "semantic" in results.retrievers:
            lines.append("notes that are close in meaning")
    if query.excluded:
        lines.append("without " + ", ".join(f"“{text}”" for text in query.excluded))
    if chips:
        lines.append("only notes that are: " + ", ".join(chip.label for chip in chips))
    return lines


def suggestions(
    addresses: Addresses, results: Results, filters: Sequence[Chip], others: dict[str, str]
) -> list[Link]:
    """What else to try.

    :param filters: what narrows the search beside its text
    :param others: words that may be meant, as :func:`spellings` gives them
    """
    query = results.query
    links = []
    for word, other in others.items():
        text = query.text.replace(word, other)
        links.append(
            Link(f"Search for {other}", addresses.search(drop=(*OF_ONE_LIST, "correct"), q=text))
        )
    if filters:
        links.append(Link("Search without filters", addresses.unfiltered()))
    if query.substrings and query.mode in ("keyword", "like"):
        links.append(Link("Search by meaning, too", addresses.search(drop=("_next", "mode"))))
    links.append(
        Link(
            "See all notes, the newest first",
            addresses.search(drop=tuple(addresses.arguments), sort="newest"),
        )
    )
    return links


# The search page: an answer → what its template shows.

# What the fields of the form stand for. Every other parameter of the search goes along unseen.
FIELDS = (
    "q", "mode", "balance", "sort", "recency", "rerank",
    # Of a text there may be several: the form adds one.
    *(name for row in FILTERS.values() if row.in_form and row.kind != "text" for name in row.parameters),
)  # fmt: skip

TITLE = "Search notes"

# What a page sends along that is already there, and asks for the first results only; with this value, for those that the
# words alone lead to, which needs no model.
FIRST_RESULTS_HEADER = "Bear-Search-First"
BY_WORDS = "words"

# A part of a page has the page's address: going back must never show it instead of the page.
NOT_TO_BE_KEPT = {"Cache-Control": "no-store", "Vary": FIRST_RESULTS_HEADER}

# Tags that the page offers at once where facets are folded.
TAGS_ON_NARROW = 10

# A new text begins a new list, and may be corrected again.
NOT_SENT_AGAIN = (*OF_ONE_LIST, "correct")

MODE_NAMES = {
    "auto": "words and meaning",
    "keyword": "words only",
    "semantic": "meaning only",
    "like": "exact text",
}
BALANCE_NAMES = {"0.5": "mostly words", "0.7": "both", "0.9": "mostly meaning"}
SORT_NAMES = {
    "": "relevance",
    "newest": "newest first",
    "oldest": "oldest first",
    "title": "title",
}
RECENCY_NAMES = {"": "no higher", "365": "a little higher", "30": "much higher"}
RERANK_NAMES = {"": "off", "cross-encoder": "with a cross-encoder, slower"}
ARCHIVED_NAMES = {"": "included", "0": "left out", "1": "only these"}


@dataclass(frozen=True)
class Surroundings:
    """What the page shows around a list of results."""

    state: State
    facets: Facets | None = None  # None where they can't be had in time
    has_several_sources: bool = False
    more_passages: dict[int, list[MatchedPassage]] = field(default_factory=dict)
    home: Home | None = None  # before anything is searched for
    spellings: dict[str, str] = field(
        default_factory=dict
    )  # words that may be meant, if nothing was found


@dataclass(frozen=True)
class Field:
    """A list to choose from, in the form."""

    name: str
    label: str
    chosen: str
    options: tuple[tuple[str, str], ...]


async def error_page(datasette: Datasette, request, message: str | None, status: int) -> Response:
    """The page with a message instead of results."""
    context = {
        **_form(Addresses(datasette, request.args), None),
        "page_title": TITLE,
        "error": message,
    }
    return await _render(datasette, request, context, status)


async def results_page(
    datasette: Datasette,
    request,
    database: Database,
    results: Results,
    notices: tuple[str, ...],
    around: Surroundings,
) -> Response:
    """The page with the results."""
    addresses = Addresses(datasette, request.args)
    context = {
        **_form(addresses, results),
        **await _listed(datasette, request, database, results, notices, around),
        **await _links(datasette, request, database, results),
    }
    facets = around.facets
    if facets is not None and facets.total:
        context["facets"] = groups(addresses, results.query, facets)
        context["at_least"] = facets.at_least
        context["timeline"] = timeline(
            facets.months, lambda period: addresses.modified_in(period, results.query)
        )
    if around.home is not None:
        tags = [group for group in context.get("facets", ()) if group.name == "tag"]
        choices = tags[0].choices if tags else ()
        context["home"] = _home(addresses, around.home, around.state, choices)
    return await _render(datasette, request, context)


async def first_results(
    datasette: Datasette,
    request,
    database: Database,
    results: Results,
    notices: tuple[str, ...],
    around: Surroundings,
) -> Response:
    """What a page that is already there shows of the results while somebody types; it asks for the rest a moment later."""
    context = await _listed(datasette, request, database, results, notices, around)
    context |= {"is_first": True, "csrftoken": request.scope.get("csrftoken", lambda: "")}
    template = _quick_environment(datasette, request).get_template("bear_first_results.html")
    return Response.html(template.render(context), headers=NOT_TO_BE_KEPT)


def _quick_environment(datasette: Datasette, request) -> Environment:
    """Datasette's templates without what only its base template needs, coroutines above all: in a third of the time."""
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


async def _listed(
    datasette: Datasette,
    request,
    database: Database,
    results: Results,
    notices: tuple[str, ...],
    around: Surroundings,
) -> dict[str, Any]:
    """The results and what is said of them."""
    addresses = Addresses(datasette, request.args)
    query = results.query
    beside = filter_chips(addresses)
    more = around.more_passages
    context: dict[str, Any] = {
        "page_title": f"{query.text} · {TITLE}" if query.text else TITLE,
        "notices": notices,
        "results": results,
        "chips": [*text_chips(addresses, query), *beside, *_chosen(addresses)],
        "parameter_chips": beside,
        "all_url": addresses.unfiltered() if beside else None,
        "cards": [card(addresses, results.plan, hit, more.get(hit.id, ())) for hit in results.hits],
        "with_source": around.has_several_sources,
        "judge": await _judge(datasette, request, database),
    }
    if results.plan.corrections:
        context["uncorrected_url"] = addresses.search(correct=0)
    if results.nothing_found or not results.total:
        context["tried"] = tried(results, beside)
        context["suggestions"] = suggestions(addresses, results, beside, around.spellings)
    return context


async def _render(
    datasette: Datasette, request, context: dict[str, Any], status: int = 200
) -> Response:
    html = await datasette.render_template("bear_search.html", context, request=request)
    return Response.html(html, status=status)


def _form(addresses: Addresses, results: Results | None) -> dict[str, Any]:
    """The form, as the request filled it in."""
    hidden = [
        (name, value)
        for name in addresses.arguments
        if name not in FIELDS and name not in NOT_SENT_AGAIN
        for value in addresses.values(name)
    ]
    fields = _fields(addresses, results)
    return {
        "action": addresses.datasette.urls.path(SEARCH_PATH),
        "home_url": addresses.datasette.urls.path(SEARCH_PATH),
        "q": addresses.value("q"),
        "hidden": hidden,
        "fields": fields,
        "archived": _field(addresses, "archived", "Archived", ARCHIVED_NAMES),
        "value": addresses.value,
        "values": addresses.values,
        "filters": [row for row in FILTERS.values() if row.in_form],
    }


def _fields(addresses: Addresses, results: Results | None) -> tuple[Field, ...]:
    """How to search, with what the address asks for chosen."""
    return (
        _field(addresses, "mode", "Search by", MODE_NAMES, same={"hybrid": "auto", "": "auto"}),
        _field(addresses, "balance", "Words ↔ meaning", {"": _balance(results), **BALANCE_NAMES}),
        _field(addresses, "sort", "Sort by", SORT_NAMES, same={"relevance": ""}),
        _field(addresses, "recency", "Newer notes", RECENCY_NAMES),
        _field(addresses, "rerank", "Rerank", RERANK_NAMES),
    )


def _chosen(addresses: Addresses) -> list[Chip]:
    """How the search was told to go about it, where that isn't left to us."""
    return [
        Chip(
            f"{field.label}: {dict(field.options)[field.chosen]}",
            addresses.search(drop=(*OF_ONE_LIST, field.name)),
        )
        for field in _fields(addresses, None)
        if field.chosen != field.options[0][0]
    ]


def _field(
    addresses: Addresses,
    name: str,
    label: str,
    options: dict[str, str],
    same: Mapping[str, str] = MappingProxyType({}),
) -> Field:
    """A list to choose from, the first for who doesn't choose. What else an address asks for is in it, too.

    :param same: values that mean the same as one of the options
    """
    value = addresses.value(name)
    chosen = same.get(value, value)
    if chosen not in options:
        options = {**options, chosen: chosen}
    return Field(name, label, chosen, tuple(options.items()))


def _balance(results: Results | None) -> str:
    """What the query's shape chose, in words."""
    if results is None or not results.query.substrings:
        return "by the query"
    shaped = BALANCES[results.plan.shape]
    nearest = min(BALANCE_NAMES, key=lambda value: abs(float(value) - shaped))
    return f"by the query: {BALANCE_NAMES[nearest]}"


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


async def _links(
    datasette: Datasette, request, database: Database, results: Results
) -> dict[str, str]:
    addresses = Addresses(datasette, request.args)
    json_url = Addresses(datasette, request.args, f"{SEARCH_PATH}.json").search(drop=())
    links = {
        "json_url": json_url,
        "alternate_url_json": datasette.absolute_url(request, json_url),
    }
    if results.statement and await allowed(datasette, request.actor, "execute-sql", database):
        parameters = {"sql": results.statement.sql, **results.statement.parameters}
        links["sql_url"] = f"{datasette.urls.database(database.name)}?{urlencode(parameters)}"
    if results.next_offset is not None:
        links["next_url"] = addresses.search(drop=(), _next=results.next_offset)
    return links


def _home(addresses: Addresses, home: Home, state: State, tags: Sequence[Choice]) -> dict[str, Any]:
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
                        "url": addresses.note(note.id),
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
        "newest_url": addresses.search(sort="newest"),
        "tags": tags[:TAGS_ON_NARROW],
    }


# The search page and its JSON: read the request, call the search, answer. The same for both Datasette versions.

# What a window shows of the results at most, while somebody types.
FIRST_RESULTS = 6

T = TypeVar("T")

TOO_SLOW = "The search took longer than this Datasette allows (sql_time_limit_ms). A filter makes it faster."


class SearchFailed(Exception):
    """There are no results; a message says why."""

    def __init__(self, message: str | None, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


async def search(datasette: Datasette, request) -> Response:
    """The search page, or with ``.json`` its answer for programs."""
    is_json = request.url_vars.get("format") == "json"
    first = None if is_json else request.headers.get(FIRST_RESULTS_HEADER.lower())
    database = await sidecar_database(datasette)
    try:
        if database is None:
            raise SearchFailed(NO_SIDECAR, 404 if is_json else 200)
        if not await allowed(datasette, request.actor, "view-database", database):
            if not is_json:
                raise Forbidden(FORBIDDEN)
            raise SearchFailed("Permission denied", 403)
        asked = _read_request(request, first)
        try:
            response = await _respond(database, asked, wait=is_json)
        except SearchFailed as failed:
            if failed.message != UNREADABLE:
                raise
            # Its tables may have been made anew between two statements, or a killed run been undone only now.
            await sidecar_database(datasette)
            response = await _respond(database, asked, wait=is_json)
    except SearchFailed as failed:
        if is_json:
            return json_error(datasette, failed.message, failed.status)
        return await error_page(datasette, request, failed.message, failed.status)
    if is_json:
        return await _json_response(datasette, request, database, response)
    results, state = response.results, response.state
    shown = datasette, request, database, results, response.notices
    if first:
        return await first_results(*shown, await _beside_the_hits(database, results, state))
    return await results_page(*shown, await _surroundings(database, request, results, state))


def _read_request(request, first: str | None) -> SearchRequest:
    try:
        asked = read_request(
            request.args,
            size=read_number(
                request.args, "_size", FIRST_RESULTS if first else PAGE_SIZE, 1, MAX_SIZE
            ),
            offset=read_number(request.args, "_next", 0, 0, 10**9),
            correct=request.args.get("correct") != "0",
        )
    except InvalidParameter as error:
        raise SearchFailed(str(error), 400) from None
    if first == BY_WORDS and asked.query.mode == "auto":
        return replace(asked, query=replace(asked.query, mode="keyword"))
    return asked


async def _respond(database: Database, asked: SearchRequest, *, wait: bool) -> SearchResponse:
    """Run the pipeline: what reads the index on Datasette's SQL threads, models on others.

    :param wait: whether to wait for models, as programs do; a person gets results by words first
    """
    datasette = database.ds
    pipeline = Pipeline(
        asked,
        cross_encoder=cross_encoder(datasette),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
    )
    try:
        await database.execute_fn(pipeline.plan)
        wait_to_embed = wait or asked.query.mode != "auto"
        await asyncio.to_thread(pipeline.embed, wait=wait_to_embed)
        # Whether notes changed meanwhile is asked while SQLite searches, which leaves Python to others.
        changes = asyncio.create_task(
            asyncio.to_thread(watch.changes_since_indexing, database.path)
        )
        await database.execute_fn(pipeline.retrieve)
        await asyncio.to_thread(pipeline.refine, wait=wait)
        if redacts(datasette):
            await database.execute_fn(pipeline.redact)
    except TimeLimitExceeded:
        raise SearchFailed(TOO_SLOW, 503) from None
    except sqlite3.DatabaseError as error:
        raise SearchFailed(unreadable(error), 503) from None
    response = pipeline.response()
    changed = changed_notice(await changes)
    return replace(response, notices=(*response.notices, *([changed] if changed else [])))


async def _surroundings(
    database: Database, request, results: Results, state: State
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
        at_home = redaction.home(at_home)
    return replace(beside, facets=counted, home=at_home)


async def _beside_the_hits(database: Database, results: Results, state: State) -> Surroundings:
    """The part of that which stands among the results."""

    def read(connection: sqlite3.Connection) -> Surroundings:
        more = {}
        if "semantic" in results.retrievers:
            more = more_passages(connection, results.plan, results.hits)
        return Surroundings(
            state,
            has_several_sources=len(rows.read_sources(connection)) > 1,
            more_passages=redaction.passages(connection, more) if redacts(database.ds) else more,
            spellings=spellings(connection, results.query)
            if results.nothing_found or not results.total
            else {},
        )

    return await _in_time(database, read) or Surroundings(state)


async def _facets(database: Database, results: Results) -> facets.Facets | None:
    """What the results can be narrowed by; None if nothing was found that could be counted, or not in time."""
    if results.statement is None or results.nothing_found or not results.total:
        return None
    return await _in_time(
        database, lambda connection: facets.count(connection, results.plan, results.retrievers)
    )


async def _in_time(database: Database, read: Callable[[sqlite3.Connection], T]) -> T | None:
    """What is read from the sidecar; None if that takes longer than Datasette allows, or can't be."""
    limit_ms = database.ds.setting("sql_time_limit_ms")

    def run(connection: sqlite3.Connection) -> T:
        with time_limit(connection, limit_ms):
            return read(connection)

    try:
        return await database.execute_fn(run)
    except sqlite3.Error:
        return None


# JSON, in the shapes of Datasette 1.0


async def _json_response(
    datasette: Datasette, request, database: Database, response: SearchResponse
) -> Response:
    results = response.results
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
        json_body(results, response.notices, response.timing_ms, rerank, next_url=next_url, **more),
    )
