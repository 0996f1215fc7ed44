"""Filters are rows of a table: page, API, commands and agents offer each row without more code."""

from contextlib import closing

import click
import pytest
from datasette.app import Datasette

from datasette_bear_search.agents.tools import FILTER_SCHEMAS, TOOLS
from datasette_bear_search.cli import search as search_command
from datasette_bear_search.index.file import database
from datasette_bear_search.query import filters
from datasette_bear_search.query.filters import FILTERS, Filter, operators
from datasette_bear_search.query.query import parse
from datasette_bear_search.query.suggest import suggest
from datasette_bear_search.web.api import openapi
from tests.support.bear_database import BearNote

NOTES = [BearNote("# Roof\n\nA roof leaks."), BearNote("# Church\n\nThe roof of the church.")]
CACHED = (operators, search_command._page_options, openapi.description, openapi.parameters)
PARAMETERS = [parameter for row in FILTERS.values() for parameter in row.parameters]


@pytest.fixture
def new_row(monkeypatch):
    row = Filter(
        "begins_with",
        "text",
        "title like {0} || '%'",
        label="begins with {}",
        help="Whose title begins so",
        value="the beginning of a title",
        example="Ro",
        completions="select 'Roof', 1",
    )
    monkeypatch.setitem(FILTERS, row.name, row)
    for cached in CACHED:
        cached.cache_clear()
    yield row
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def path(index_notes):
    return index_notes(NOTES, "--no-semantic")


@pytest.fixture
def get(path):
    async def run(address):
        return await Datasette([str(path)]).client.get(f"/-/bear-search{address}")

    return run


def test_a_row_is_an_operator(new_row):
    query = parse("roof begins-with:ro")
    assert query.terms.words == ("roof",)
    assert query.filters.for_programs() == {"begins_with": ("ro",)}


def test_a_row_is_suggested_with_its_values(new_row, path):
    with closing(database.connect(path)) as connection:
        [name] = suggest(connection, "begi", 4).found
        [value] = suggest(connection, "begins-with:r", 13).found
    assert (name.insert, name.detail) == ("begins-with:", "the beginning of a title")
    assert (value.insert, value.detail) == ("begins-with:Roof ", "1 note")


@pytest.mark.asyncio
async def test_a_row_is_a_parameter_of_the_json_api(new_row, get):
    data = (await get(".json?q=roof&begins_with=ch")).json()
    assert [row["title"] for row in data["rows"]] == ["Church"]


@pytest.mark.asyncio
async def test_a_row_is_a_field_and_a_chip_of_the_page(new_row, get):
    page = (await get("?q=roof&begins_with=ch")).text
    assert '<input type="hidden" name="begins_with" value="ch">' in page
    assert "begins with ch" in page


def test_a_row_is_an_option_of_the_command(new_row):
    with click.Context(search_command.bear_search) as context:
        help_text = search_command.bear_search.get_help(context)
    assert "--begins-with" in help_text
    assert "Whose title begins so" in help_text


def test_every_row_is_an_option_of_the_command():
    assert set(PARAMETERS) <= {option.name for option in search_command._page_options()}


def test_every_row_is_an_argument_of_the_agents_tool():
    assert list(FILTER_SCHEMAS) == PARAMETERS
    description = next(tool.description for tool in TOOLS if tool.name == "search_notes")
    assert all(f"{name}:" in description for name in operators())


def test_every_row_can_be_explained_to_people():
    for row in FILTERS.values():
        assert row.describe(row.example or "1")
        assert row.value or row.choices or row.kind == "state"
    assert all(operator.takes and operator.example for operator in operators().values())


def test_no_row_takes_the_name_of_another():
    names = [*PARAMETERS, *filters.PLACES, "before", "after"]
    assert len(names) == len(set(names))
