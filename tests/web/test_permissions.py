"""Who sees notes: every address of ours, in every format, for everybody.

Everything here runs on both Datasettes.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import datasette_bear_search
from datasette_bear_search.demo import BearNote
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index import indexer
from datasette_bear_search.sources.registry import SourceConfig
from datasette_bear_search.web.search_page import FIRST_RESULTS_HEADER
from tests.conftest import TINY
from tests.support.bear_libraries import bear_library
from tests.support.datasettes import IS_1_0, configured, cookies
from tests.support.tiny_embedder import TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

SECRET = "zanzibar"
NOTE = BearNote(f"# Plan {SECRET}\n#{SECRET}tag\n\nTo {SECRET} in May. [[Roof]]",
tags=(f"{SECRET}tag",))  # fmt: skip
OWNER = "owner"

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search_notes", "arguments": {"query": SECRET}},
}
AGENT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
JUDGMENT = f"search=q%3D{SECRET}&source=bear&key=K&grade=1"


class Row(NamedTuple):
    """An address, and what somebody gets there who may see the notes."""

    path: str
    status: int = 200
    shows: str = SECRET  # what stands in the answer
    method: str = "GET"
    content: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - of a tuple, never changed


# Every address of ours. A route without a row here fails the first test.
TABLE = (
    Row("/-/bear-search"),
    Row(f"/-/bear-search?q={SECRET}"),
    Row(f"/-/bear-search?q={SECRET}", headers={FIRST_RESULTS_HEADER: "1"}),
    Row(f"/-/bear-search.json?q={SECRET}&_facets=1"),
    Row("/-/bear-search?mode=nonsense", 400, "nonsense"),
    Row("/-/bear-search.json?mode=nonsense", 400, "nonsense"),
    Row(f"/-/bear-search/suggest.json?q={SECRET[:4]}"),
    Row("/-/bear-search/suggest.json?q=tag:"),
    Row("/-/bear-search/note/1"),
    Row("/-/bear-search/note/1.json"),
    Row("/-/bear-search/note/999", 404, "not in the index"),
    Row("/-/bear-search/note/999.json", 404, "not in the index"),
    Row("/-/bear-search/similar/1"),
    Row("/-/bear-search/similar/1.json"),
    Row("/-/bear-search/similar/999.json", 404, "not in the index"),
    Row("/-/bear-search/judge", 405, "buttons"),
    Row("/-/bear-search/judge", 303, "", "POST", JUDGMENT, FORM),
    Row("/-/bear-search/mcp", 405, "POST"),
    Row("/-/bear-search/mcp", 200, "search_notes", "POST", json.dumps(LIST_TOOLS), AGENT),
    Row("/-/bear-search/mcp", 200, SECRET, "POST", json.dumps(SEARCH), AGENT),
)

# Addresses of Datasette's at which something of ours is shown.
ELSEWHERE = (
    Row("/notes/bear_search?q=" + SECRET),
    Row("/notes/bear_search.json?_shape=objects&q=" + SECRET),
    Row("/notes/bear_similar.json?_shape=objects&id=1", shows='"title": "Roof"'),
    Row("/notes/notes"),
    Row("/notes/notes/1"),
    Row("/notes/tags.json?_shape=objects"),
    Row("/notes.json?_shape=objects&sql=select+bear_search('" + SECRET + "')", shows='\\"id\\": 1')
    if not IS_1_0
    else Row(
        "/notes/-/query.json?_shape=objects&sql=select+bear_search('" + SECRET + "')",
        shows='\\"id\\": 1',
    ),
    *([Row("/-/jump.json?q=" + SECRET)] if IS_1_0 else []),
)  # fmt: skip

# What those get who may not see the notes; where Datasette leaves out what they may not see, it
# answers all the same.
LEFT_OUT = {"/-/jump.json?q=" + SECRET: 200}


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """An index of two notes."""
    folder = tmp_path_factory.mktemp("index")
    bear_library(folder / "bear.sqlite", [NOTE, BearNote("# Roof\n\nA roof.")])
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    source = SourceConfig(kind="bear", name="bear", location=str(folder / "bear.sqlite"))
    indexer.update(folder / "notes.db", [source], registry.get_embedder(TINY))
    return folder / "notes.db"


@pytest.fixture
def served(index, tmp_path):
    """A Datasette whose owner alone may see the notes.

    With everything that is off by default turned on.
    """
    shutil.copy(index, tmp_path / "notes.db")
    return configured(
        [tmp_path / "notes.db"],
        {
            "databases": {"notes": {"allow": {"id": OWNER}}},
            "plugins": {"datasette-bear-search": {"judgments": True, "mcp_hosts": ["localhost"]}},
        },
    )


async def answer(datasette, row: Row, actor: str | None):
    given, content = cookies(datasette, actor), row.content
    if row.headers == FORM:
        token = datasette.sign("token", "csrftoken")
        given["ds_csrftoken"] = token
        content = f"{content}&csrftoken={token}".replace("key=K", await _key(datasette))
    return await datasette.client.request(
        row.method,
        row.path,
        content=content,
        headers={"host": "localhost", **row.headers},
        cookies=given,
    )


async def _key(datasette) -> str:
    [row] = await datasette.get_database("notes").execute("select key from notes where id = 1")
    return f"key={row[0]}"


async def test_every_route_is_in_the_table():
    patterns = [pattern for pattern, _ in datasette_bear_search.register_routes()]
    paths = {row.path.partition("?")[0] for row in TABLE}
    for pattern in patterns:
        matching = [path for path in paths if re.match(pattern, path)]
        assert matching, f"{pattern} has no row in the table above"
        if "format" in pattern:
            assert any(path.endswith(".json") for path in matching)
            assert any(not path.endswith(".json") for path in matching)
    for path in paths:
        assert any(re.match(pattern, path) for pattern in patterns), path


async def test_who_may_see_the_notes_is_answered(served):
    wrong = {}
    for row in (*TABLE, *ELSEWHERE):
        response = await answer(served, row, OWNER)
        if response.status_code != row.status or row.shows not in response.text:
            wrong[f"{row.method} {row.path}"] = response.status_code, response.text[:500]
    assert wrong == {}


@pytest.mark.parametrize("actor", [None, "stranger"], ids=["anonymous", "denied"])
async def test_nobody_else_is(served, actor):
    wrong = {}
    for row in (*TABLE, *ELSEWHERE):
        response = await answer(served, row, actor)
        # Nor told anything: what is typed may come back, and the words around it may not.
        told = [word for word in ("in May", "Plan", f"{SECRET}tag") if word in response.text]
        if response.status_code != LEFT_OUT.get(row.path, 403) or told:
            wrong[f"{row.method} {row.path}"] = response.status_code, told
    assert wrong == {}
    judgments = await served.get_database("notes").execute("select count(*) from judgments")
    assert judgments.first()[0] == 0


@pytest.mark.parametrize("actor", [None, "stranger", OWNER])
async def test_menus_offer_the_search_to_those_who_may_search(served, actor):
    response = await served.client.get("/", cookies=cookies(served, actor))
    assert ("/-/bear-search" in response.text) is (actor == OWNER)


async def test_without_any_permissions_everybody_may(index):
    for row in TABLE[:4]:
        response = await answer(configured([index], {}), row, None)
        assert SECRET in response.text


@pytest.mark.parametrize("actor", [None, OWNER])
async def test_json_is_never_taken_for_a_page(served, actor):
    for row in TABLE:
        if ".json" in row.path:
            response = await answer(served, row, actor)
            assert response.headers["content-type"].startswith("application/json")
            assert response.headers["x-content-type-options"] == "nosniff"
