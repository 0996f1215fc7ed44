"""The search page: an answer → what its template shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from datasette import Response

from . import judging
from .addresses import OF_ONE_LIST, Addresses, Chip, filter_chips, text_chips
from .answers import age, local_day
from .cards import card
from .facet_links import Choice, groups
from .facets import Facets
from .filters import HAS
from .home import Home
from .nothing_found import suggestions, tried
from .planning import BALANCES
from .search import Passage, Results
from .serving import SEARCH_PATH, allowed
from .sidecar import State
from .timeline import timeline

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from jinja2 import Environment

# What the fields of the form stand for. Every other parameter of the search goes along unseen.
FIELDS = (
    "q", "mode", "balance", "sort", "recency", "rerank", "has", "pinned", "archived",
    "modified_after", "modified_before", "created_after", "created_before",
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
RERANK_NAMES = {"": "off", "maxsim": "word by word, slower"}
ARCHIVED_NAMES = {"": "included", "0": "left out", "1": "only these"}


@dataclass(frozen=True)
class Surroundings:
    """What the page shows around a list of results."""

    state: State
    facets: Facets | None = None  # None where they can't be had in time
    has_several_sources: bool = False
    more_passages: dict[int, list[Passage]] = field(default_factory=dict)
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
        "has_kinds": [(kind, kind in addresses.values("has")) for kind in HAS],
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
    grades = await judging.grades(datasette, database, request.args.get("q") or "")
    if grades is None:
        return None
    return {
        "action": datasette.urls.path(judging.JUDGE_PATH),
        "search": request.query_string,
        "grades": grades,
        "buttons": judging.BUTTONS,
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
