"""Notes that attack their readers, on every page and in every response.

Everything here runs on both Datasettes, with fewer texts on the second: our templates escape them.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from datasette.app import Datasette

from datasette_bear_search.index.file import database
from datasette_bear_search.web.pipeline import FIRST_RESULTS_HEADER
from tests.support.agents import serving
from tests.support.client import answer, get
from tests.support.datasettes import IS_1_0
from tests.support.unsafe_library import ALL_PAYLOADS, harmful_parts, scripts, text, unsafe_index
from tests.support.unsafe_markdown import executable_parts

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

EVERY = 3 if IS_1_0 else 1

# Searches that find payloads, whose text the pages must show instead of running it.
SEARCHES = ("q=window", "q=window&sort=title", "q=script", "q=onerror&mode=semantic",
"q=window&mode=like", "sort=newest", "q=zzz")  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    return unsafe_index(tmp_path_factory.mktemp("unsafe"))


@pytest.fixture
def datasette(index) -> Datasette:
    return Datasette([str(index)], settings={"sql_time_limit_ms": 20_000})


def note_ids(index: Path) -> list[int]:
    with closing(database.connect(index)) as db:
        return [note_id for (note_id,) in db.execute("select id from notes order by id")]


async def checked(datasette, paths, status: int = 200, **options) -> list[str]:
    """Return the pages at these paths, none of which may contain anything harmful."""
    pages = [(await get(datasette, path, status, **options)).text for path in paths]
    assert {path: parts for path, html in zip(paths, pages) if (parts := harmful_parts(html))} == {}
    return pages


async def test_every_attack_arrives_in_the_index(index):
    with closing(database.connect(index)) as db:
        titles = {title for (title,) in db.execute("select title from notes")}
    whole = [payload for payload in ALL_PAYLOADS if payload in titles]
    assert len(whole) > 0.9 * len(ALL_PAYLOADS)  # the others lost control characters and blanks


async def test_the_search_page_shows_attacks_as_text(datasette):
    pages = await checked(datasette, [f"/-/bear-search?{search}&_size=100" for search in SEARCHES])
    assert "<script>window.pwned=1</script>" in text(pages[0])
    assert "<mark>window</mark>" in pages[0]
    [empty] = await checked(datasette, ["/-/bear-search"])
    for page in pages:
        assert scripts(page) == scripts(empty)
        assert page.count("<mark>") == page.count("</mark>")


async def test_first_results_and_facets_show_attacks_as_text(datasette):
    for search in SEARCHES:
        headers = {FIRST_RESULTS_HEADER: "1"}
        [first] = await checked(datasette, [f"/-/bear-search?{search}"], headers=headers)
        assert scripts(first) == []
        assert (await answer(datasette, f"{search}&_facets=1"))["ok"]


async def test_the_pages_of_notes_show_attacks_as_text(datasette, index):
    ids = note_ids(index)[:: 2 * EVERY]
    pages = await checked(datasette, [f"/-/bear-search/note/{note_id}?q=window" for note_id in ids])
    for page in pages:
        main = page[page.index('<div class="bear-text">') : page.index("</article>")]
        assert executable_parts(main.partition(">")[2]) == []
        assert scripts(page) == scripts(pages[0])


async def test_the_pages_of_similar_notes_show_attacks_as_text(datasette, index):
    await checked(datasette,
    [f"/-/bear-search/similar/{note_id}" for note_id in note_ids(index)[::4]])  # fmt: skip


async def test_typed_text_is_shown_as_text(datasette):
    for payload in ALL_PAYLOADS[:: 2 * EVERY]:
        typed = quote(payload)
        await checked(datasette, [f"/-/bear-search?q={typed}&tag={typed}&x={typed}"])
    for payload in ALL_PAYLOADS[1 :: 4 * EVERY]:
        typed = quote(payload)
        name = ("mode", "sort", "has", "created_after", "_size", "rerank")[len(payload) % 6]
        await checked(datasette, [f"/-/bear-search?{name}={typed}"], 400)
    for payload in ALL_PAYLOADS[:: 10 * EVERY]:
        # Without slashes, because Datasette itself answers paths that match no route.
        typed = quote(payload.replace("/", ""), safe="")
        await checked(datasette, [f"/-/bear-search/note/{typed}",
        f"/-/bear-search/similar/{typed}"], 404)  # fmt: skip


async def test_datasettes_own_pages_show_attacks_as_text(datasette, index):
    sql = quote("select id as note_id, title, tags, url, body from notes")
    paths = [
        "/",
        "/notes",
        "/notes/notes?_size=100",
        "/notes/notes?_size=100&_search=window",
        "/notes/tags?_size=100",
        "/notes/sources",
        "/notes/passages?_size=50",
        "/notes/bear_search?q=window",
        "/notes/bear_similar?id=1",
        f"/notes/-/query?sql={sql}" if IS_1_0 else f"/notes?sql={sql}",
        *(f"/notes/notes/{note_id}" for note_id in note_ids(index)[::20]),
    ]
    await checked(datasette, paths)


async def test_answers_for_programs_are_json_and_nothing_else(datasette, index):
    paths = [
        "/-/bear-search.json?q=window&_size=100&_facets=1",
        "/-/bear-search.json?q=%3Cscript%3E&_size=100",
        "/-/bear-search.json?mode=%3Cscript%3E",
        "/-/bear-search/suggest.json?q=tag:",
        "/-/bear-search/suggest.json?q=window",
        "/-/bear-search/note/1.json",
        "/-/bear-search/note/%3Cscript%3E.json",
        "/-/bear-search/similar/1.json",
        *(["/-/jump.json?q=window"] if IS_1_0 else []),
    ]
    for path in paths:
        response = await datasette.client.get(path)
        assert response.headers["content-type"].startswith("application/json"), path
        response.json()
    rows = (await datasette.client.get(paths[0])).json()["rows"]
    for row in rows:
        assert executable_parts(row["snippet"]) == []
        assert set(re.findall("<[^>]*>", row["snippet"])) <= {"<mark>", "</mark>"}


async def test_agents_get_attacks_as_text(datasette):
    from mcp import Client

    with serving(datasette) as address:
        async with Client(address + "/-/bear-search/mcp") as client:
            found = await client.call_tool("search_notes", {"query": "window", "limit": 5})
            tags = await client.call_tool("list_tags", {})
    assert found.structured_content["notes"]
    assert tags.structured_content["tags"]


async def test_the_check_of_these_tests_finds_what_would_run():
    for html in (
        "<main><script>x</script></main>",
        "<p onclick=x>",
        "<a href=' java\tscript:x'>",
        "<iframe>",
        "<main><p style='x'></main>",
        "<form action='javascript:x'>",
        "<a href='//evil.example'>",
        "<script>'pwned'</script>",
    ):
        assert harmful_parts(html), html
