"""Page, JSON, SQL, terminal, Python and agents find the same notes in the same order."""

from __future__ import annotations

import json
import re
import sys
from collections import namedtuple
from html import unescape
from types import ModuleType, SimpleNamespace
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from mcp import Client

from datasette_bear_search import Library, register_agent_tools
from tests.support.agents import bear_mcp, serving

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

LIMIT = 10

# Query, and the parameters of the search page beside it.
SEARCHES = [
    ("roof", {}),
    ("what to cook when everyone is tired", {}),
    ("something cheap for dinner", {"mode": "hybrid"}),
    ("garden", {"mode": "keyword"}),
    ("how do plants grow", {"mode": "semantic"}),
    ("compost", {"mode": "like"}),
    ('"composting toilet"', {}),
    ("apple AND (tree OR cake)", {}),
    ("cabin -stove", {}),
    ("compostng toilet", {}),
    ("tag:cabin water", {}),
    ("is:pinned", {}),
    ("E24", {}),
    ("tom", {}),
    ("what did I write about the cabin last year", {}),
    ("notes from 2024", {}),
    ("title:cabin 'build log'", {}),
    ("boil", {}),
    ("boil ", {}),
    ('"composting toil', {}),
    ("garden is:pin", {}),
    ("Cabin build log", {}),
    ("日本", {}),
    ("qqqqq zzzzz", {}),
    ("plan", {"tag": ["running"]}),
    ("soup", {"tag": ["recipes"], "created_after": ["2022"]}),
    ("notes", {"archived": ["0"], "has": ["link"]}),
    ("", {"tag": ["travel"]}),
    ("", {"modified_after": ["2026-06"], "pinned": ["0"]}),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Index the sample notes once with the tiny model."""
    from datasette_bear_search.demo import write_demo_library
    from datasette_bear_search.embeddings import registry
    from tests.conftest import TINY
    from tests.support.tiny_embedder import TinyEmbedder

    folder = tmp_path_factory.mktemp("demo")
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    write_demo_library(folder / "database.sqlite")
    path = folder / "notes.db"
    arguments = [str(folder / "database.sqlite"), "--sidecar", str(path), "--model", TINY]
    result = CliRunner().invoke(cli, ["bear-index", *arguments])
    assert result.exit_code == 0, result.output
    return path


def address(path: str, q: str, parameters: dict, **more) -> str:
    return f"{path}?{urlencode({'q': q, **parameters, **more}, doseq=True)}"


async def on_the_page(datasette, q, parameters) -> tuple[list[int], str]:
    """Return the notes' ids, and the URL of "View as SQL"."""
    url = address("/-/bear-search", q, parameters)
    html = (await datasette.client.get(url)).text
    ids = re.findall(r"/-/bear-search/similar/(\d+)", html)
    sql = re.search(r'href="([^"]+)"[^>]*>\s*View as SQL', html)
    return [int(note_id) for note_id in dict.fromkeys(ids)], unescape(sql[1]) if sql else ""


async def in_sql(datasette, name, url) -> list[int]:
    parameters = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    response = await datasette.client.get(
        f"/{name}.json", params={**parameters, "_shape": "array"}, follow_redirects=True
    )
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()]


def in_the_terminal(sidecar, q, parameters) -> list[int]:
    options = []
    for name, value in parameters.items():
        for each in value if isinstance(value, list) else [value]:
            flag = {"1": f"--{name}", "0": f"--no-{name}"}.get(each)
            options += [flag] if flag else [f"--{name.replace('_', '-')}", each]
    arguments = ["--sidecar", str(sidecar), "--json", "--limit", str(LIMIT), *options, "--", q]
    result = CliRunner().invoke(cli, ["bear-search", *arguments])
    assert result.exit_code in (0, 1), result.output
    return [row["id"] for row in json.loads(result.stdout)["rows"]]


def in_python(library, q, parameters) -> list[int]:
    return [hit.id for hit in library.search(q, limit=LIMIT, **parameters)]


def as_arguments(q, parameters) -> dict:
    filters = {name: value for name, value in parameters.items() if name != "mode"}
    return {"query": q, "mode": parameters.get("mode"), "filters": filters, "limit": LIMIT}


async def by_datasettes_agent(datasette, q, parameters) -> list[int]:
    # llm's tools answer with the same text (see test_server).
    tools = {tool.name: tool.fn for tool in register_agent_tools(datasette)}
    arguments = as_arguments(q, parameters)
    text = await tools["search_notes"](datasette=datasette, actor=None, **arguments)
    return [int(note_id) for note_id in re.findall(r"^## .*\(id (\d+)", text, re.MULTILINE)]


async def by_an_agent(client, q, parameters) -> list[int]:
    result = await client.call_tool("search_notes", as_arguments(q, parameters))
    assert not result.is_error, result.content[0].text
    return [note["id"] for note in result.structured_content["notes"]]


async def test_every_way_of_searching_gives_the_same_notes_in_the_same_order(demo, monkeypatch):
    agent = SimpleNamespace(AgentTool=namedtuple("AgentTool", "name description schema fn"))
    monkeypatch.setitem(sys.modules, "datasette_agent", ModuleType("datasette_agent"))
    monkeypatch.setitem(sys.modules, "datasette_agent.tools", agent)
    datasette = Datasette([str(demo)])
    found = {}
    async with Client(bear_mcp(demo)) as over_stdio:
        with serving(Datasette([str(demo)])) as root:
            async with Client(f"{root}/-/bear-search/mcp") as over_http:
                for q, parameters in SEARCHES:
                    limited = {**parameters, "_size": [str(LIMIT)]}
                    url = address("/-/bear-search.json", q, limited)
                    response = (await datasette.client.get(url)).json()
                    page, sql_url = await on_the_page(datasette, q, limited)
                    expected = [row["id"] for row in response["rows"]]
                    assert page == expected, (q, "page")
                    assert await in_sql(datasette, demo.stem, sql_url) == expected, (q, "SQL")
                    assert in_the_terminal(demo, q, parameters) == expected, (q, "terminal")
                    assert in_python(Library(demo), q, parameters) == expected, (q, "Python")
                    # Agents aren't told of what is only nearest.
                    close = [row["id"] for row in response["rows"] if row["is_found"]]
                    assert await by_an_agent(over_stdio, q, parameters) == close, (q, "stdio")
                    assert await by_an_agent(over_http, q, parameters) == close, (q, "HTTP")
                    if len(found) % 4 == 0:
                        found_there = await by_datasettes_agent(datasette, q, parameters)
                        assert found_there == close, (q, "datasette-agent")
                    found[q] = expected
    # Else this would compare nothing with nothing.
    assert sum(map(bool, found.values())) >= len(SEARCHES) - 2
    assert max(map(len, found.values())) == LIMIT
