"""Filters that leave nothing: every interface says so and offers the search without them.

Tests ``search/engine.py``.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from mcp import Client

from datasette_bear_search import Library
from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.search import sql_search
from datasette_bear_search.search.connection import open_sidecar
from tests.support.bear_database import BearNote

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

LATELY = datetime.now(timezone.utc) - timedelta(days=400)  # not today, this year or last week
OLD = datetime(2003, 5, 5, tzinfo=timezone.utc)
NOTES = [
    BearNote("# Shed\n\nThe shutters of the shed are green.", created=OLD, tags=("home",)),
    BearNote("# Kiln\n\nFire the kiln slowly.", created=OLD, tags=("craft",)),
    BearNote("# Yesterday\n\nA song.", created=OLD),
    BearNote("# Errands\n\nBread and stamps.", created=datetime.now(timezone.utc)),
]
GUESSED = "what did I write today about shutters"


@pytest.fixture
def path(index_notes) -> Path:
    return index_notes(NOTES, "--no-semantic")


async def answer(path: Path, **parameters: str) -> dict:
    client = Datasette([str(path)]).client
    return (await client.get("/-/bear-search.json", params=parameters)).json()


async def page(path: Path, **parameters: str) -> str:
    return (await Datasette([str(path)]).client.get("/-/bear-search", params=parameters)).text


async def agents(path: Path, **arguments) -> tuple[list[str], str]:
    async with Client(server.build_server(AgentLibrary(path))) as client:
        result = await client.call_tool("search_notes", arguments)
    titles = [note["title"] for note in result.structured_content["notes"]]
    return titles, result.content[0].text


@pytest.mark.parametrize("text", [GUESSED, "what did I write two weeks ago about shutters"])
async def test_a_time_that_leaves_nothing_is_dropped_by_every_interface(path, text):
    said = "fits, so notes of all times were searched."
    data = await answer(path, q=text)
    assert [row["title"] for row in data["rows"]] == ["Shed"]
    assert said in " ".join(data["notices"])
    assert data["query"]["filters"] == {}
    assert data["query"]["match"] == '"shutters"'
    html = await page(path, q=text)
    assert said in html
    assert "note-1" in html
    found = Library(path).search(text)
    assert [hit.title for hit in found] == ["Shed"]
    assert said in " ".join(found.notices)
    with open_sidecar(path) as connection:
        [row] = sql_search.found_notes(connection, text)
    assert row["title"] == "Shed"
    assert said in row["notice"]
    told = CliRunner().invoke(cli, ["bear-search", text, "--sidecar", str(path)])
    assert "Shed" in told.stdout
    assert said in told.stderr
    titles, notices = await agents(path, query=text)
    assert titles == ["Shed"]
    assert said in notices


async def test_a_time_that_leaves_something_stays_a_filter(path):
    data = await answer(path, q="what did I write today about stamps")
    assert [row["title"] for row in data["rows"]] == ["Errands"]
    assert "all times" not in " ".join(data["notices"])
    assert "moments" in data["query"]["filters"]


async def test_a_time_alone_that_no_note_is_from_is_searched_for_as_words(path):
    data = await answer(path, q="three years ago")
    assert "fits, so notes of all times were searched." in " ".join(data["notices"])
    assert data["query"]["words"] == ["three", "years", "ago"]


@pytest.mark.parametrize(
    ("parameters", "label", "text"),
    [
        ({"q": "shutters tag:craft"}, "“#craft”", "shutters"),
        ({"q": "shutters -shed"}, "“not shed”", "shutters"),
        ({"q": "in:title shutters date:2001"}, "filters", "shutters"),
        ({"q": "shutters created:2024"}, "“created 2024”", "shutters"),
        ({"q": "shutters", "tag": "craft"}, "filters", "shutters"),
        ({"q": "shutters", "created_after": "2024", "has": "image"}, "filters", "shutters"),
    ],
)
async def test_filters_that_leave_nothing_are_offered_to_be_dropped(path, parameters, label, text):
    data = await answer(path, **parameters)
    assert data["found"] == 0
    assert data["query"]["unfiltered"]["text"] == text
    assert data["query"]["unfiltered"]["found"] == 1
    assert f"“{text}” has 1 result." in " ".join(data["notices"])
    html = await page(path, **parameters)
    [url] = re.findall(rf'<a href="([^"]*)">Search without {label} \(1\)</a>', html)
    assert unescape(url) == f"/-/bear-search?q={text}"
    assert "has 1 result" not in html  # the link says it


async def test_programs_are_told_what_there_is_without_filters(path):
    said = "No note fits “#craft”. Without it, “shutters” has 1 result."
    assert said in Library(path).search("shutters tag:craft").notices
    command = ["bear-search", "shutters tag:craft", "--sidecar", str(path)]
    told = CliRunner().invoke(cli, command)
    assert said in told.stderr
    told = CliRunner().invoke(cli, [*command, "--json"])
    assert said in json.loads(told.stdout)["notices"]


async def test_agents_get_what_there_is_without_filters(path):
    titles, text = await agents(path, query="shutters", filters={"tag": "craft"})
    assert titles == ["Shed"]
    assert "No note fits these filters. Without them, these are the results." in text
    # Other phrasings that pass the filters are enough.
    titles, text = await agents(path, query="shutters", queries=["kiln"], filters={"tag": "craft"})
    assert titles == ["Kiln"]
    assert "Without them, these are" not in text


async def test_nothing_is_offered_if_nothing_is_found_without_filters_either(path):
    data = await answer(path, q="xylophone tag:craft")
    assert data["query"]["unfiltered"] is None
    html = await page(path, q="xylophone tag:craft")
    assert "Search without" not in html
