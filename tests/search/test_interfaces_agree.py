"""Page, JSON, SQL, terminal, Python and agents find the same notes in the same order.

Tests ``search/engine.py`` and ``search/request.py``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from datasette.plugins import pm
from mcp import Client

from datasette_bear_search import Library, hookimpl, register_agent_tools, register_tools
from datasette_bear_search.cli.search import bear_search
from datasette_bear_search.embeddings.rerankers import Reranker
from datasette_bear_search.query.filters import FILTERS
from datasette_bear_search.search import connection as search_connection
from datasette_bear_search.search import sql_search
from datasette_bear_search.search.engine import SearchResponse
from tests.support.agents import bear_mcp, serving, stand_in_for_packages
from tests.support.datasettes import IS_1_0

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

PAGE = "/-/bear-search"
LIMIT = 10

Parameters = dict[str, Any]
Face = Callable[[str, Parameters], Awaitable[list[int]]]

# Queries, and other parameters of the search page, not all of which are available to agents.
SEARCHES: list[tuple[str, Parameters]] = [
    # words and questions
    ("roof", {}),
    ("tom", {}),
    ("Cabin build log", {}),
    ("what to cook when everyone is tired", {}),
    ("how do I keep mice out of the walls?", {}),
    ("the", {}),
    ("mice " * 400, {}),
    ("x" * 5_000, {}),
    ("qqqqq zzzzz", {}),
    # phrases and unfinished ones
    ('"composting toilet"', {}),
    ('"composting toil', {}),
    ("“night train”", {}),
    ("'spare key' samira", {}),
    ("boil", {}),
    ("boil ", {}),
    ("gard*", {}),
    # boolean
    ("apple AND (tree OR cake)", {}),
    ("cabin NOT stove", {}),
    ("NEAR(cabin stove, 8)", {}),
    ("pros AND cons of raised beds", {}),
    ("apple AND (", {}),
    ("cabin -stove", {}),
    ('cabin -"build log"', {}),
    ("soup -(lentils OR fish)", {}),
    ("-cabin", {}),
    # operators
    ("tag:cabin water", {}),
    ("#recipes", {}),
    ("-tag:cabin roof", {}),
    ("tag:trav", {}),
    ("tag:nosuchtag soup", {}),
    ("is:pinned", {}),
    ("garden is:pin", {}),
    ("has:link", {}),
    ("has:todo cabin", {}),
    ("title:cabin 'build log'", {}),
    ("in:title plan", {}),
    ("source:bear cello", {}),
    ("is:untagged", {}),
    # dates, in numbers and in words
    ("notes from 2024", {}),
    ("what did I write about the cabin last year", {}),
    ("vor zwei Jahren", {}),
    ("created:2024..2025-03", {}),
    ("modified:>=2026 plan", {}),
    ("created:2024-13", {}),
    ("before:2025", {}),
    # corrections and identifiers
    ("compostng toilet", {}),
    ("half maraton", {}),
    ("recieps", {}),
    ("E24", {}),
    ("C++", {}),
    ("2025-03-14", {}),
    ("icon_export.py", {}),
    ("v2.1.3", {}),
    # other languages and scripts, symbols
    ("日本", {}),
    ("京都のメモ", {}),
    ("Omas Apfelkuchen", {}),
    ("Wie backe ich einen Kuchen mit Äpfeln?", {}),
    ("avo", {}),
    ("São Miguel", {}),
    ("شوربة", {}),
    ("суп", {}),
    ("🎻", {}),
    ("cello 🎻", {}),
    ("?!", {}),
    ("'; drop table notes; --", {}),
    ("<script>alert(1)</script>", {}),
    ("mice\nroof\tcabin", {}),
    # modes and orders
    ("something cheap for dinner", {"mode": "hybrid"}),
    ("garden", {"mode": "keyword"}),
    ("how do plants grow", {"mode": "semantic"}),
    ("compost", {"mode": "like"}),
    ("cabin", {"fusion": "rrf"}),
    ("cabin", {"balance": "0.2"}),
    ("plan", {"sort": "newest"}),
    ("plan", {"sort": "title"}),
    ("plan", {"recency": "30"}),
    ("warm drink", {"found": "1"}),
    ("warm drink", {"min_similarity": "0.6"}),
    ("compostng toilet", {"correct": "0"}),
    ("what to cook", {"rerank": "longest"}),
    # filters
    ("plan", {"tag": ["running"]}),
    ("soup", {"tag": ["recipes"], "created_after": ["2022"]}),
    ("notes", {"archived": ["0"], "has": ["link"]}),
    ("", {"tag": ["travel"]}),
    ("", {"modified_after": ["2026-06"], "pinned": ["0"]}),
    ("cabin", {"tag": ["cabin"], "sort": "oldest"}),
    # further pages
    ("garden", {"offset": "10"}),
    ("plan", {"offset": "20", "mode": "keyword"}),
    ("roof", {"offset": "500"}),
]
# Parameters that the tools for agents don't have.
NOT_FOR_AGENTS = {"fusion", "balance", "sort", "min_similarity", "correct", "rerank"}
# Running all searches through all interfaces takes a minute, so by default they take turns. What is
# found doesn't depend on Datasette, so there is a third of the searches for its second version.
ALL = "BEAR_TEST_ALL" in os.environ
EVERY = 3 if IS_1_0 and not ALL else 1


class Longest(Reranker):
    def score(self, query, passages):
        return [float(len(passage)) for passage in passages]


class Rerankers:
    __name__ = "Rerankers"  # Datasette reads it

    @hookimpl
    def bear_search_register_rerankers(self):
        return {"longest": lambda: Longest("longest")}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Index the sample notes once with the tiny model."""
    from datasette_bear_search.embeddings import registry
    from tests.support.bear_database import write_demo_library
    from tests.support.tiny_embedder import TINY, TinyEmbedder

    folder = tmp_path_factory.mktemp("demo")
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    write_demo_library(folder / "database.sqlite")
    path = folder / "notes.db"
    arguments = [str(folder / "database.sqlite"), "--sidecar", str(path), "--model", TINY]
    result = CliRunner().invoke(cli, ["bear-index", *arguments])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(autouse=True)
def doors(monkeypatch):
    """Provide what the searches need in addition: a reranker and the agents' packages."""
    stand_in_for_packages(monkeypatch)
    pm.register(Rerankers(), name="of-somebody-else")
    yield
    pm.unregister(name="of-somebody-else")


def address(path: str, q: str, parameters: Parameters, **more) -> str:
    named = {"_next" if name == "offset" else name: each for name, each in parameters.items()}
    return f"{path}?{urlencode({'q': q, **named, '_size': LIMIT, **more}, doseq=True)}"


async def by_json(datasette, q, parameters) -> tuple[list[int], list[int]]:
    """Return the notes' ids, and the ids of those that agents get.

    These are only those that are found. If there are none: without the filters, if no note passes
    them, or else those with any of the words.
    """
    response = await datasette.client.get(address("/-/bear-search.json", q, parameters))
    assert response.status_code == 200, response.text
    data = response.json()
    found = [row["id"] for row in data["rows"] if row["is_found"]]
    if unfiltered := data["query"]["unfiltered"]:
        filters = {name for row in FILTERS.values() for name in row.parameters}
        others = {name: value for name, value in parameters.items() if name not in filters}
        _, found = await by_json(datasette, unfiltered["text"], others)
    elif not found and parameters.get("mode", "auto") in ("auto", "hybrid"):
        found, _ = await by_json(datasette, q, {**parameters, "mode": "keyword"})
    return [row["id"] for row in data["rows"]], found


async def on_the_page(datasette, name, q, parameters) -> list[int]:
    """Return the notes' ids on the page, after checking that "View as SQL" has the same."""
    html = (await datasette.client.get(address(PAGE, q, parameters))).text
    ids = [*map(int, dict.fromkeys(re.findall(r"/-/bear-search/similar/(\d+)", html)))]
    if pasted := statement_on(html):
        assert await rows_of(datasette, name, pasted) == ids, (q, parameters, "View as SQL")
    return ids


def statement_on(html: str) -> Parameters | None:
    """Return the statement behind "View as SQL", and its parameters; None if there is none."""
    sql = re.search(r'href="([^"]+)"[^>]*>\s*View as SQL(?! before)', html)
    return sql and dict(parse_qsl(urlsplit(unescape(sql[1])).query, keep_blank_values=True))


async def rows_of(datasette, name, parameters) -> list[int]:
    response = await datasette.client.get(
        f"/{name}.json", params={**parameters, "_shape": "array"}, follow_redirects=True
    )
    assert response.status_code == 200, response.text
    return [row.get("id", row.get("note_id")) for row in response.json()]


async def by_the_stored_query(datasette, name, q, parameters) -> list[int]:
    return (await rows_of(datasette, f"{name}/bear_search", {"q": q}))[:LIMIT]


async def by_the_sql_function(connection, q, parameters) -> list[int]:
    [found] = connection.execute("select bear_search(?, ?)", [q, LIMIT]).fetchone()
    return [row["id"] for row in json.loads(found)]


async def across_files(datasette, q, parameters) -> list[int]:
    path = "/_memory/-/query.json" if IS_1_0 else "/_memory.json"
    sql = "select json_extract(value, '$.id') as id from json_each(bear_search(:q, :size))"
    query = {"sql": sql, "q": q, "size": LIMIT, "_shape": "array"}
    response = await datasette.client.get(path, params=query)
    return [row["id"] for row in response.json()]


async def in_the_terminal(sidecar, q, parameters) -> list[int]:
    options = []
    for name, value in parameters.items():
        for each in value if isinstance(value, list) else [value]:
            flag = {"1": f"--{name}", "0": f"--no-{name}"}.get(each)
            options += [flag] if flag else [f"--{name.replace('_', '-')}", each]
    arguments = ["--sidecar", str(sidecar), "--json", "--limit", str(LIMIT), *options, "--", q]
    result = CliRunner().invoke(bear_search, arguments)
    assert result.exit_code in (0, 1), result.output
    return [row["id"] for row in json.loads(result.stdout)["rows"]]


def search_library(library: Library, q: str, parameters: Parameters) -> SearchResponse:
    own = {name: int(parameters[name]) for name in ("offset", "correct") if name in parameters}
    return library.search(q, limit=LIMIT, **{**parameters, **own})


async def in_python(datasette, library, q, parameters) -> list[int]:
    """Return the notes' ids, after checking that Datasette's SQL page returns the same."""
    response = search_library(library, q, parameters)
    ids, statement = [hit.id for hit in response], response.results.statement
    if statement and "rerank" not in parameters:
        pasted = {"sql": statement.sql, **statement.parameters}
        assert await rows_of(datasette, library.path.stem, pasted) == ids, (q, parameters, "SQL")
    return ids


def as_arguments(q, parameters) -> dict:
    own = {"mode", "recency", "offset", "found"}
    filters = {name: value for name, value in parameters.items() if name not in own}
    more = {name: parameters[name] for name in own - {"found"} if name in parameters}
    return {"query": q, "filters": filters, "limit": LIMIT, **more}


async def by_a_client(client, q, parameters) -> list[int]:
    result = await client.call_tool("search_notes", as_arguments(q, parameters))
    assert not result.is_error, result.content[0].text
    return [note["id"] for note in result.structured_content["notes"]]


def ids_in(text: str) -> list[int]:
    return [int(note_id) for note_id in re.findall(r"^## .*\(id (\d+)", text, re.MULTILINE)]


async def by_datasette_agent(datasette, q, parameters) -> list[int]:
    [tool] = [each for each in register_agent_tools(datasette) if each.name == "search_notes"]
    return ids_in(await tool.fn(datasette=datasette, actor=None, **as_arguments(q, parameters)))


async def by_llm(q, parameters) -> list[int]:
    toolboxes = []
    register_tools(toolboxes.append)
    [search] = [tool for tool in toolboxes[0]().tools() if tool.name == "Notes_search_notes"]
    return ids_in(search.implementation(**as_arguments(q, parameters)))


async def test_every_way_of_searching_gives_the_same_notes_in_the_same_order(demo, monkeypatch):
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(demo))
    datasette, library, name = Datasette([str(demo)]), Library(demo), demo.stem
    with_others = Datasette([str(demo)], crossdb=True)
    found = []
    async with AsyncExitStack() as stack:
        connection = stack.enter_context(search_connection.open_sidecar(demo))
        sql_search.register_search(connection)
        root = stack.enter_context(serving(datasette))
        over_stdio = await stack.enter_async_context(Client(bear_mcp(demo)))
        over_http = await stack.enter_async_context(Client(f"{root}/-/bear-search/mcp"))
        # An interface with the number 3 gets every third search with parameters.
        for_all = {
            "in Python": (2, partial(in_python, datasette, library)),
            "page": (3, partial(on_the_page, datasette, name)),
            "terminal": (2, partial(in_the_terminal, demo)),
        }
        for_text = {
            "stored query": (3, partial(by_the_stored_query, datasette, name)),
            "bear_search()": (2, partial(by_the_sql_function, connection)),
            "bear_search() across files": (3, partial(across_files, with_others)),
        }
        for_agents = {
            "MCP over stdio": (2, partial(by_a_client, over_stdio)),
            "MCP over HTTP": (4, partial(by_a_client, over_http)),
            "datasette-agent": (3, partial(by_datasette_agent, datasette)),
            "llm": (3, by_llm),
        }
        for number, (q, parameters) in enumerate(SEARCHES[::EVERY]):
            expected, close = await by_json(datasette, q, parameters)
            faces = [(*face, expected) for face in for_all.items()]
            if not parameters:
                faces += [(*face, expected) for face in for_text.items()]
            if not NOT_FOR_AGENTS & parameters.keys():
                faces += [(*face, close) for face in for_agents.items()]
            for face, (every, ask), ids in faces:
                # Each interface reads parameters itself; what is typed, the engine does.
                if ALL or (number + len(face)) % (every if parameters else 2 * every) == 0:
                    assert await ask(q, parameters) == ids, (face, q[:80], parameters)
            found.append(expected)
    # Make sure that the searches differ and find something.
    assert len({(q, str(parameters)) for q, parameters in SEARCHES}) == len(SEARCHES) >= 79
    assert sum(map(bool, found)) >= len(SEARCHES) / EVERY - 10
    assert max(map(len, found)) == LIMIT


async def test_page_runs_the_same_statement_as_python(demo):
    datasette, library = Datasette([str(demo)]), Library(demo)
    compared = 0
    for q, parameters in SEARCHES[:: 3 * EVERY]:
        response = search_library(library, q, parameters)
        html = (await datasette.client.get(address(PAGE, q, parameters))).text
        if shown := statement_on(html):
            statement = response.results.statement
            values = {name: str(value) for name, value in statement.parameters.items()}
            assert shown == {"sql": statement.sql, **values}, (q, parameters)
            ids, _ = await by_json(datasette, q, parameters)
            assert ids == [hit.id for hit in response], (q, parameters)
            compared += 1
        else:
            assert not response.hits, (q, parameters)
    assert compared >= 25 // EVERY


@pytest.mark.parametrize("q", ["", "  "])
async def test_without_a_query_programs_get_the_newest_notes_and_people_a_usage_error(demo, q):
    datasette, library, name = Datasette([str(demo)]), Library(demo), demo.stem
    newest, _ = await by_json(datasette, q, {})
    assert newest == [hit.id for hit in library.search(sort="newest", limit=LIMIT)]
    assert await in_python(datasette, library, q, {}) == newest
    assert await by_the_stored_query(datasette, name, q, {}) == newest
    assert 'class="bear-home"' in (await datasette.client.get(address(PAGE, q, {}))).text
    result = CliRunner().invoke(bear_search, ["--sidecar", str(demo), q])
    assert "What are you looking for?" in result.output
    assert await by_llm(q, {}) == []
