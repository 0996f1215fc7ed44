"""The search page's requests while somebody types, which return only the first results.

Tests ``web/pipeline.py`` and ``web/requests/responses.py``.
"""

from __future__ import annotations

import re

import pytest
from datasette.app import Datasette

from datasette_bear_search.web.pages.search import FIRST_RESULTS
from datasette_bear_search.web.pipeline import BY_WORDS, FIRST_RESULTS_HEADER
from tests.support.bear_database import BearNote

pytestmark = pytest.mark.datasette


@pytest.fixture
def datasette(write, bear_index, sidecar_path) -> Datasette:
    write(*(BearNote(f"# Roof {number}\n\nSlate tiles.", tags=("house",)) for number in range(25)))
    bear_index()
    return Datasette([str(sidecar_path)])


async def ask(datasette: Datasette, query: str, *, first: bool = True, how: str = "meaning"):
    headers = {FIRST_RESULTS_HEADER: how} if first else {}
    response = await datasette.client.get(f"/-/bear-search?{query}", headers=headers)
    assert response.status_code == 200
    return response


def cards(html: str) -> list[str]:
    return re.findall(r'<li class="bear-card".*?</li>', html, re.DOTALL)


@pytest.mark.asyncio
@pytest.mark.parametrize("query", ["q=roof+tiles&mode=keyword", "q=roof&tag=house", "sort=newest"])
async def test_the_first_results_are_those_of_the_page(datasette, query):
    first = (await ask(datasette, query)).text
    page = (await ask(datasette, query, first=False)).text
    assert len(cards(first)) == FIRST_RESULTS
    assert cards(first) == cards(page)[:FIRST_RESULTS]
    count = re.compile(r'<p class="bear-count".*?</p>')
    assert count.search(first)[0] == count.search(page)[0]
    title = re.compile("<title>.*?</title>")
    assert title.search(first)[0] == title.search(page)[0]


@pytest.mark.asyncio
async def test_first_results_come_without_the_rest_of_the_page(datasette):
    html = (await ask(datasette, "q=roof")).text
    for unwanted in (
        "<form",
        "<header",
        "<footer",
        "<svg",
        "bear-choice",
        "bear-next",
        "View as SQL",
    ):
        assert unwanted not in html


@pytest.mark.asyncio
async def test_first_results_come_with_their_notices(datasette):
    assert "Remove" in (await ask(datasette, "q=roof&tag=house")).text
    assert "Did you mean" in (await ask(datasette, "q=slatte&mode=keyword")).text


@pytest.mark.asyncio
@pytest.mark.parametrize("q", ['"tiles+of+slate"', "roof+created:20", "tag:"])
async def test_notices_about_the_text_wait_for_a_pause(datasette, q):
    assert 'class="bear-notice"' not in (await ask(datasette, f"q={q}")).text
    whole = await datasette.client.get(f"/-/bear-search?q={q}")
    assert 'class="bear-notice"' in whole.text


@pytest.mark.asyncio
async def test_caches_never_serve_a_part_of_a_page_as_the_page(datasette):
    part = await ask(datasette, "q=roof")
    assert part.headers["cache-control"] == "no-store"
    assert FIRST_RESULTS_HEADER in part.headers["vary"]
    page = await ask(datasette, "q=roof", first=False)
    assert "<!DOCTYPE html>" in page.text


@pytest.mark.asyncio
async def test_first_results_by_words_equal_those_of_a_keyword_search(datasette):
    html = (await ask(datasette, "q=roof", how=BY_WORDS)).text
    assert cards(html)
    assert ">Meaning<" not in html
    assert "mode=" not in html
    assert ">Meaning<" in (await ask(datasette, "q=roof&mode=semantic", how=BY_WORDS)).text


@pytest.mark.asyncio
async def test_first_results_come_with_errors_of_filters(datasette):
    assert "_size must be" in (await ask(datasette, "q=roof&_size=x")).text


@pytest.mark.asyncio
async def test_programs_get_as_many_results_as_before(datasette):
    headers = {FIRST_RESULTS_HEADER: "1"}
    response = await datasette.client.get("/-/bear-search.json?q=roof", headers=headers)
    assert len(response.json()["rows"]) > FIRST_RESULTS
