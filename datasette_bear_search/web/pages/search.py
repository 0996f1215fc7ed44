"""The search page: read the request, run the pipeline, respond."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import MultiParams

from ...embeddings.names import MULTILINGUAL_MODEL
from ...embeddings.registry import missing_package
from ...library import Library
from ...notes import ForeseenError, local_day
from ...query.filter_values import InvalidParameter
from ...search import absence
from ...search.engine import WAIT, SearchResponse, pending_notice, semantic_obstacle
from ...search.notes import start_page
from ...search.ranking.statement import TEXTBOOK, Statement
from ...search.redaction import masking
from ...search.request import PAGE_SIZE, SearchRequest, read_page_request
from ...search.results.facets import Facets
from ...search.results.records import Hit, Results
from ...search.results.retrieve import NOTHING_CLOSE
from ...sources.base import SourceConfig
from ...sqlite import sqlite3
from ...text.markdown import plain_text
from .. import turns
from ..api import judgments, openapi
from ..api.openapi import SEARCH_PATH
from ..note_html.attachments import NoteFiles, note_files
from ..pipeline import BY_WORDS, FIRST_RESULTS_HEADER, PAGE_WAIT, respond
from ..requests import databases, freshness, permissions, responses, settings, views
from ..requests.errors import NO_SIDECAR, PageError, read_index
from . import facets, first_run, form
from .cards import Card, card, create_links
from .form import DATES, JUDGE, NOT_SENT_AGAIN
from .urls import OF_ONE_LIST, LabeledUrl, Urls, filter_chips, text_chips

TITLE = "Search notes"
_html = partial(responses.html_response, "bear_search.html", part="_bear_search.html")

SAVE_PATH = f"{SEARCH_PATH}/save"
NOT_SAVED = "Only datasette bear-serve can save searches, with the button on the search page."
CANT_SAVE = "The search wasn't saved."

# Results that fit into a window while somebody types.
FIRST_RESULTS = 6


@dataclass(frozen=True)
class Surroundings:
    """Information shown beside the results. Whatever can't be read in time is left out."""

    stored: freshness.Stored | None = None
    files: Mapping[int, NoteFiles] = field(default_factory=dict)
    saved: tuple[str, ...] = ()
    home: start_page.StartPage | None = None
    facets: Facets | None = None

    @property
    def sources(self) -> tuple[SourceConfig, ...]:
        return tuple(each.config for each in self.stored[1].values()) if self.stored else ()


async def _error_page(
    datasette: Datasette, request: Request, error: dict[str, str], status: int
) -> Response:
    if error["error"] == NO_SIDECAR:  # show how to make an index, not an error page
        status = 200 if request.url_vars["database"] is None else 404
        template = first_run.FIRST_RUN_TEMPLATE
        return await responses.html_response(template, datasette, request, {}, status)
    fields = form.form_context(Urls(datasette, request.args))
    context = {**fields, "page_title": TITLE, **error}
    return await _html(datasette, request, context, status)


@views.view(_error_page)
async def search_page(request: Request, database: Database) -> Response:
    if request.method == "HEAD":  # don't search: nobody would see the results
        return Response.html("")
    if page := await first_run.first_run(request, database):
        return page
    if form.has_empty_fields(request.args):
        return Response.redirect(Urls(database.ds, request.args).search(drop=()))
    first = request.headers.get(FIRST_RESULTS_HEADER.lower())
    given = views.parameters(request)
    errors: dict[str, str] = {}
    search_request = _read_request(given, first, errors)
    wait = PAGE_WAIT if search_request.query.mode == "auto" else WAIT
    response = await respond(database, search_request, wait=wait, by_words_first=True)
    urls = Urls(database.ds, MultiParams(given))
    # The page's headings, its button and its line about the index's freshness say the same.
    said = []
    if facets.is_empty(response.results):
        said.append(NOTHING_CLOSE)
    if unfiltered := response.results.unfiltered:
        said.append(unfiltered.notice)
    updater = freshness.updaters.get(database.ds)
    if not response.state.has_notes or (updater and updater.activity.doing):
        not_yet = semantic_obstacle(response.state, True), pending_notice(response.state)
        said += filter(None, not_yet)
    notices = (notice for notice in response.notices if not notice.startswith(tuple(said)))
    response = replace(response, notices=(*errors.values(), *notices))
    if first:
        return await _first_results(urls, request, database, response)
    return await _results_page(urls, request, database, response, search_request.offset, errors)


def _read_request(
    given: dict[str, list[str]], first: str | None, errors: dict[str, str]
) -> SearchRequest:
    """Return the search request for parameters.

    :param errors: gets messages about invalid parameters, which leave ``given``
    """
    try:
        search_request = read_page_request(given, FIRST_RESULTS if first else PAGE_SIZE)
    except InvalidParameter as error:
        name = str(error).split()[0]
        if name not in given:
            raise
        errors[name] = str(error)
        values = given.pop(name)
        if name.endswith(("_after", "_before")):
            errors[name] = f"“{values[-1]}” isn't a date. {DATES}"
        return _read_request(given, first, errors)
    if first == BY_WORDS and search_request.query.mode == "auto":
        return replace(search_request, query=replace(search_request.query, mode="keyword"))
    return search_request


# --- information beside the results


async def _surroundings(database: Database, request: Request, results: Results) -> Surroundings:
    redact, args, query = settings.redacts(database.ds), request.args, results.plan.query
    is_whole = FIRST_RESULTS_HEADER.lower() not in request.headers
    is_list = bool(query.text or query.filters or args.get("sort") or args.get("_next"))

    # In one read: switching threads takes as long as a small statement.
    def read(connection: sqlite3.Connection) -> Surroundings:
        home, counted = None, None
        if is_whole and not is_list:
            home = start_page.read_start_page(connection)
            home = masking.masked_record(home) if redact else home
        stored = freshness.stored_freshness(connection)
        files = note_files(database.ds, connection, [hit.id for hit in results.hits])
        saved = start_page.saved_searches(connection) if may_save(database) else ()
        if is_whole:
            with suppress(sqlite3.DatabaseError):  # last, because counting may take too long
                counted = facets.counted(connection, results)
        return Surroundings(stored, files, saved, home, counted)

    with suppress(PageError):
        return await read_index(database, read)
    return Surroundings()


# --- the page


async def _results_page(
    urls: Urls,
    request: Request,
    database: Database,
    response: SearchResponse,
    offset: int,
    errors: dict[str, str],
) -> Response:
    datasette, results = database.ds, response.results
    unknown = [name for name in request.args if name not in openapi.parameters(".json")]
    around = await _surroundings(database, request, results)
    counted, home = around.facets, around.home
    context = {
        "fresh": await freshness.freshness(datasette, around.stored),
        **form.form_context(urls),
        **await _results(urls, request, database, response, around),
        "json_url": replace(urls, path=f"{SEARCH_PATH}.json").search(drop=unknown),
        "sql_url": await permissions.sql_url(datasette, request, database, results.statement),
        "is_reranked": any(hit.rerank_score is not None for hit in results.hits),
        "judge_url": urls.search(judge=1) if settings.judging_is_on(database) else None,
        "offset": offset,
    }
    if "semantic" in results.retrievers:
        textbook = Statement(TEXTBOOK, {"q": results.plan.query.text})
        context["textbook_url"] = await permissions.sql_url(datasette, request, database, textbook)
    # After the last found note, all others are weaker than the ones that are shown.
    if results.next_offset is not None and results.next_offset < results.found:
        context["next_url"] = urls.search(drop=(), _next=results.next_offset)
    if offset:
        previous = urls.search(drop=(), _next=max(0, offset - PAGE_SIZE))
        context["previous_url"] = previous if results.hits else urls.search()
    if counted is not None and counted.total:
        groups = facets.facet_groups(urls, results.plan.query, counted)
        context["facets"] = facets.narrowing(groups, counted.total)
        context["at_least"] = counted.at_least
        if not results.plan.query.text and urls.value("sort") != "title":
            context["months"] = facets.month_headings(counted)
        context["timeline"] = facets.timeline(
            counted.months, lambda period: urls.modified_in(period, results.plan.query)
        )
    if may_save(database):
        this = urls.search(drop=(*OF_ONE_LIST, JUDGE)).partition("?")[2]
        context |= {"save_url": databases.url(datasette, SAVE_PATH), "search": this}
        context["is_saved"] = this in around.saved
        if not missing_package(MULTILINGUAL_MODEL):
            context["offered_model"] = MULTILINGUAL_MODEL
    if home is not None:
        recent = [hit for hit in results.hits if not hit.archived][: start_page.START_PAGE_NOTES]
        context |= {
            "home": home,
            "found": [card(urls, results.plan, hit) for hit in recent],
            "saved": list(_saved(datasette, home.saved)) if may_save(database) else [],
            "follows": datasette in freshness.updaters,
            "newest_url": urls.search(sort="newest"),
            "note_url": urls.note,
            "plain": plain_text,
            "age": freshness.age,
            "local_day": local_day,
        }
    return await _html(datasette, request, context, 400 if errors else 200)


async def _first_results(
    urls: Urls, request: Request, database: Database, response: SearchResponse
) -> Response:
    """Respond with results to show while somebody types; the page fetches the rest afterwards."""
    around = await _surroundings(database, request, response.results)
    context = await _results(urls, request, database, response, around)
    # Notices about the text wait until the person pauses.
    plan = response.results.plan
    of_text = {*plan.query.notices, *plan.notices}
    if not plan.terms.substrings:
        of_text |= {*response.results.notices}
    context["notices"] = [notice for notice in response.notices if notice not in of_text]
    context["is_first"] = True
    return responses.part_response("bear_first_results.html", database.ds, request, context)


async def _results(
    urls: Urls, request: Request, database: Database, response: SearchResponse, around: Surroundings
) -> dict[str, Any]:
    results, query = response.results, response.results.plan.query
    beside = filter_chips(urls)
    # If nothing is found, the nearest notes are shown as the results.
    weaker = [hit for hit in results.hits if results.found and not hit.is_found]
    found = results.hits[: len(results.hits) - len(weaker)]

    def cards(hits: Iterable[Hit]) -> Iterator[Card]:
        # A generator, because the start page shows no cards.
        return (card(urls, results.plan, hit) for hit in hits)

    context: dict[str, Any] = {
        "page_title": f"{query.text} · {TITLE}" if query.text else TITLE,
        "notices": response.notices,
        "results": results,
        "state": response.state,
        "chips": [*text_chips(urls, query), *beside, *form.option_chips(urls)],
        "all_url": urls.unfiltered() if len(beside) > 1 else None,
        "found": cards(found),
        "weaker": cards(weaker),
        "shown_count": len(found),
        "weaker_count": len(weaker),
        "with_source": len(around.sources) > 1,
        "files": around.files,
    }
    query_text = request.args.get("q") or ""
    grades = await judgments.grades(database, query_text) if urls.value(JUDGE) == "1" else None
    if grades is not None:
        context["judge"] = {
            "action": databases.url(database.ds, judgments.JUDGE_PATH),
            "search": request.query_string,
            "grades": grades,
            "buttons": judgments.BUTTONS,
        }
    context["offers"] = [
        LabeledUrl(text, urls.search(drop=NOT_SENT_AGAIN, q=text)) for text in results.plan.offers
    ]
    if narrower := results.plan.narrower:
        url = urls.search(drop=NOT_SENT_AGAIN, q=narrower.text)
        context["narrower"] = LabeledUrl(f"Only notes from {narrower.label}", url)
    if results.plan.corrections:
        context["uncorrected_url"] = urls.search(correct=0)
    context["missing_url"] = f"{urls.search(drop=NOT_SENT_AGAIN, why='')}#bear-missing"
    if "why" in request.args:
        title = context["missing"] = request.args["why"]
        fields = ((name, request.args.getlist(name)) for name in request.args if name != "why")
        context["missing_fields"] = [(name, value) for name, values in fields for value in values]
        if title.strip():
            context["missing_why"] = await asyncio.to_thread(_why, database, results, title)
    if facets.is_empty(results):
        context["suggestions"] = _suggestions(urls, results, beside)
        context["create"] = list(create_links(query, around.sources))
    return context


def _why(database: Database, results: Results, title: str) -> str:
    """Return why a note isn't among the results. Only bear-serve's one person learns of sources."""
    library = Library(turns.index_file(database), redact=settings.redacts(database.ds))
    same = SearchRequest(results.plan.query, results.ranking)
    options: dict[str, Any] = {"reads_sources": may_save(database), "redact": library.redact}
    try:
        with library.open() as connection:
            said = absence.explain(connection, same, title, wait=0, **options)
    except ForeseenError as error:
        said = str(error)
    return library.shown(said)


# --- saved searches, for the start page; only in bear-serve


def may_save(database: Database) -> bool:
    return freshness.updaters.get(database.ds) is not None and settings.may_write(database)


def _saved(datasette: Datasette, searches: Iterable[str]) -> Iterator[tuple[str, LabeledUrl]]:
    for search in searches:
        urls = Urls(datasette, views.fields(search))
        filters = (chip.label for chip in filter_chips(urls))
        label = " · ".join(filter(None, (urls.value("q"), *filters))) or "All notes"
        if not settings.redacts(datasette) or not masking.has_secret(label):
            yield search, LabeledUrl(label, urls.search(drop=()))


@views.view(methods=("POST",))
async def save(request: Request, database: Database) -> Response:
    if not may_save(database):
        raise PageError(NOT_SAVED, 404)
    sent = await views.form(request)
    search, keep = sent.get("search", ""), sent.get("saved") == "1"
    write = partial(start_page.save_search, search=search, keep=keep)
    await views.write_index(database, write, refused=CANT_SAVE)
    return Response.redirect(first_run.page_before(database.ds, request), status=303)


# --- a search without results


def _suggestions(urls: Urls, results: Results, filters: Sequence[LabeledUrl]) -> list[LabeledUrl]:
    query, links = results.plan.query, []
    if unfiltered := results.unfiltered:
        name = f"“{unfiltered.filter}”" if unfiltered.filter else "filters"
        url = urls.unfiltered(q=unfiltered.text)
        links.append(LabeledUrl(f"Search without {name} ({unfiltered.found:,})", url))
    elif filters:
        links.append(LabeledUrl("Search without filters", urls.unfiltered()))
    if results.plan.terms.substrings and query.mode in ("keyword", "like"):
        links.append(LabeledUrl("Search by meaning as well", urls.search(drop=("_next", "mode"))))
    newest = urls.search(drop=tuple(urls.arguments), sort="newest")
    return [*links, LabeledUrl("Browse all notes, newest first", newest)]
