"""The index in Datasette's own pages: menus, cells, the order of rows, hidden tables.

Everything here runs on both versions of Datasette.

Tests ``web/datasette/cells.py``, ``web/datasette/metadata.py`` and ``web/requests/startup.py``.
"""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from html import unescape

import pytest
from click.testing import CliRunner
from datasette import hookimpl
from datasette.app import Datasette
from datasette.cli import cli
from datasette.database import Database
from datasette.plugins import pm
from datasette.utils import StartupError

from datasette_bear_search.index.file import schema
from datasette_bear_search.web.datasette import cells, menus
from datasette_bear_search.web.datasette import metadata as datasette_metadata
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit
from tests.support.client import get
from tests.support.datasettes import IS_1_0, configured, other_database

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

# The page that runs any SQL.
SQL = "/notes/-/query?sql=" if IS_1_0 else "/notes?sql="

LONG = "Shingles, tar;\n" * 10_000
NOTES = [
    BearNote(f"# Cabin roof\n#cabin/repairs\n\n{LONG}", tags=("cabin/repairs",), created=day(1)),
    BearNote("# Soup\n#recipes\n\nRed lentils. See [[Cabin roof]].", tags=("recipes",),
             created=day(3)),
    BearNote("# <b>Bold</b>\n#a&b\n\n<script>alert(1)</script>", tags=("a&b",), created=day(2)),
]  # fmt: skip


@pytest.fixture
def path(index_notes):
    return index_notes(NOTES, "--no-semantic")


@pytest.fixture
def datasette(path, tmp_path) -> Datasette:
    return Datasette([str(path), other_database(tmp_path / "other.db")])


async def page(datasette, path, **options) -> str:
    return (await get(datasette, path, **options)).text


def cell(html, column) -> str:
    """Return the HTML of a column's first cell."""
    return re.search(rf'<td class="col-{column}[ "][^>]*>(.*?)</td>', html, re.DOTALL)[1].strip()


def links(html) -> dict[str, str]:
    """Return the links of a page: label → URL."""
    found = re.findall(r'<a href="([^"]*)"[^>]*>\s*([^<]*?)\s*<', html)
    return {unescape(label): unescape(href) for href, label in found}


# Menus


@pytest.mark.parametrize("place", ["/notes", "/notes/notes", "/notes/tags", "/notes/passages"])
async def test_the_search_is_in_the_menu_of_the_database_and_its_tables(datasette, place):
    html = await page(datasette, place)
    menu = html[html.index("actions-menu-links") :]
    assert links(menu[: menu.index("</details>")]) == {"Search notes": "/-/bear-search"}


@pytest.mark.parametrize("place", ["/other", "/other/notes", "/other/notes/1", "/notes/sources"])
async def test_nothing_is_in_the_menus_of_what_has_no_notes(datasette, place):
    html = await page(datasette, place)
    assert "actions-menu-links" not in html


@pytest.mark.skipif(not IS_1_0, reason="the home page has no menu before 1.0")
async def test_the_home_page_has_the_search_in_its_menu(datasette):
    assert "Homepage actions" in await page(datasette, "/")
    assert "Homepage actions" not in await page(Datasette([]), "/")


@pytest.mark.parametrize("actor", [None, "stranger"])
async def test_people_who_may_not_view_the_database_get_no_links(path, actor):
    datasette = configured(
        [path],
        {
            "databases": {
                path.stem: {"allow": {"id": "owner"}, "tables": {"notes": {"allow": True}}}
            }
        },
    )
    assert "bear-search" not in await page(datasette, "/", actor=actor)
    await get(datasette, "/notes", 403, actor=actor)
    assert "/-/bear-search" in await page(datasette, "/notes", actor="owner")


# Cells


async def test_a_row_of_notes_leads_to_our_pages_and_to_bear(datasette):
    html = await page(datasette, "/notes/notes?id=1")
    assert links(cell(html, "title")) == {"Cabin roof": "/-/bear-search/note/1"}
    assert links(cell(html, "tags")) == {
        "#cabin": "/-/bear-search?tag=cabin",
        "#cabin/repairs": "/-/bear-search?tag=cabin%2Frepairs",
    }
    assert list(links(cell(html, "url"))) == ["Open in Bear"]
    assert links(cell(html, "url"))["Open in Bear"].startswith("bear://x-callback-url/open-note?")
    assert cell(html, "created") == "2024-05-01T09:30:00Z"


@pytest.mark.parametrize("place", ["/notes/notes?id=1", "/notes/notes/1"])
async def test_only_the_beginning_of_a_long_note_is_shown(datasette, place):
    html = await page(datasette, place)
    assert len(cell(html, "body")) < 2 * cells.MAX_CELL
    assert "\n" not in cell(html, "body")
    [label] = links(cell(html, "body"))
    assert re.fullmatch(r"all 150,\d\d\d characters", label)
    assert len(html) < 60_000


async def test_programs_get_the_values_as_they_stand(datasette):
    [row] = (await get(datasette, "/notes/notes.json?id=1&_shape=array")).json()
    assert LONG.strip() in row["body"]
    assert row["title"] == "Cabin roof"
    assert row["tags"] == '["cabin", "cabin/repairs"]'


@pytest.mark.parametrize("place", ["/notes/notes?id=3", "/notes/notes/3"])
async def test_text_of_a_note_is_escaped(datasette, path, place):
    edit(path, "update notes set url = 'javascript:alert(1)', attachments = '<img src=x>'")
    html = await page(datasette, place)
    assert "<script>alert(1)" not in html
    assert "<b>Bold" not in html
    assert "<img src=x>" not in html
    assert 'href="javascript' not in html
    assert links(cell(html, "tags")) == {"#a&b": "/-/bear-search?tag=a%26b"}
    assert "<script>alert(1)</script>" in unescape(cell(html, "body"))


@pytest.mark.parametrize(
    "value", ["'cabin'", "'7'", "7", "'[1, 2]'", "'{}'", "'[]'", "''", "null", "x'ff'"]
)
async def test_a_value_that_is_not_a_list_of_tags_is_left_alone(datasette, value):
    html = await page(datasette, f"{SQL}select+{value}+as+tags,+{value}+as+note_id,+{value}+as+url")
    assert "bear-search" not in cell(html, "tags")
    assert "bear-search" not in cell(html, "url")


async def test_a_tag_leads_to_its_notes(datasette):
    html = await page(datasette, "/notes/tags?name=cabin")
    assert links(cell(html, "name")) == {"#cabin": "/-/bear-search?tag=cabin"}


@pytest.mark.parametrize(
    ("table", "column"),
    [("passages", "note_id"), ("links", "target_id"), ("note_tags", "note_id")],
)
async def test_a_reference_to_a_note_shows_its_title(datasette, table, column):
    html = await page(datasette, f"/notes/{table}?{column}=1")
    assert links(cell(html, column)) == {"Cabin roof": "/notes/notes/1"}


async def test_the_result_of_a_query_about_notes_leads_to_them(datasette):
    html = await page(datasette, "/notes/bear_search?q=lentils")
    assert links(cell(html, "title")) == {"Soup": "/-/bear-search/note/2"}
    assert links(cell(html, "note_id")) == {"2": "/notes/notes/2"}
    assert list(links(cell(html, "url"))) == ["Open in Bear"]
    html = await page(datasette, f"{SQL}select+title,+'Bear'+as+note_id+from+notes")
    assert links(cell(html, "title")) == {}


async def test_cells_of_other_databases_are_left_alone(datasette):
    html = await page(datasette, "/other/notes")
    assert cell(html, "title") == "Roof elsewhere"
    assert cell(html, "url") == "bear://x"
    assert unescape(cell(html, "tags")) == '["a"]'
    assert len(cell(html, "body")) > 2000
    assert "bear" not in cell(await page(datasette, "/other/tags"), "name")


# Order, facets, descriptions


async def test_notes_are_sorted_and_can_be_narrowed(datasette):
    html = await page(datasette, "/notes/notes")
    assert re.findall(r'href="/-/bear-search/note/(\d+)" dir="auto">[^a]', html) == ["2", "3", "1"]
    data = (await get(datasette, "/notes/notes.json?_extra=facet_results")).json()
    facets = data["facet_results"].get("results", data["facet_results"])
    assert set(facets) == {"tags", "source", "pinned", "archived"}
    assert [value["value"] for value in facets["pinned"]["results"]] == [0]
    assert {(found["value"], found["count"]) for found in facets["tags"]["results"]} == {
        ("cabin", 1), ("cabin/repairs", 1), ("recipes", 1), ("a&b", 1),
    }  # fmt: skip


async def test_internal_tables_are_hidden(datasette):
    tables = (await get(datasette, "/notes.json")).json()["tables"]
    shown = {table["name"] for table in tables if not table["hidden"]}
    assert shown == {"notes", "passages", "tags"}
    assert [
        table["hidden"] for table in (await get(datasette, "/other.json")).json()["tables"]
    ] == [False, False]


async def test_tables_and_columns_are_described(datasette):
    html = await page(datasette, "/notes/notes")
    assert "Your notes, as of the last index run." in html
    assert 'data-column-description="1 = encrypted, title only"' in html


async def test_every_described_table_and_column_exists(path):
    with closing(sqlite3.connect(path)) as db:
        for table in set(datasette_metadata.TABLES) - set(schema.HIDDEN_TABLES):
            described = datasette_metadata.TABLES[table].get("columns", {})
            columns = {row[1] for row in db.execute(f"pragma table_info({table})")}
            assert columns
            assert set(described) <= columns


@pytest.mark.parametrize(
    ("own", "first"), [({"sort": "title"}, "3"), ({"sort_desc": "created"}, "2"), ({}, "2")]
)
async def test_the_owners_sort_order_wins(path, own, first):
    own = {"databases": {path.stem: {"tables": {"notes": {**own, "facets": ["trashed"]}}}}}
    datasette = configured([path], own)
    html = await page(datasette, "/notes/notes")
    assert re.search(r'href="/-/bear-search/note/(\d+)"', html)[1] == first
    data = (await get(datasette, "/notes/notes.json?_extra=facet_results")).json()
    facets = data["facet_results"].get("results", data["facet_results"])
    assert set(facets) == {"trashed"}


async def test_the_owners_descriptions_win(path):
    own = {"description": "Mine", "columns": {"key": "My key"}}
    metadata = {"databases": {path.stem: {"tables": {"notes": own}}}}
    html = await page(Datasette([str(path)], metadata=metadata), "/notes/notes")
    assert ">Mine<" in re.sub(r"\s+", "", html)
    assert 'data-column-description="My key"' in html
    assert 'data-column-description="1 = encrypted, title only"' in html


async def test_settings_of_other_plugins_hold_for_the_index_too(path):
    datasette = configured([path], {"plugins": {"datasette-x": {"a": 1}}})
    await datasette.invoke_startup()
    for place in ({}, {"database": path.stem}, {"database": path.stem, "table": "notes"}):
        assert datasette.plugin_config("datasette-x", **place) == {"a": 1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_tag": ["private"]}, "no setting 'hidden_tag'. Did you mean hidden_tags?"),
        (["redact"], "names with values"),
    ],
)
async def test_a_setting_that_would_be_ignored_is_refused(path, settings, message):
    datasette = configured([path], {"plugins": {"datasette-bear-search": settings}})
    with pytest.raises(StartupError, match=message):
        await datasette.invoke_startup()


async def test_refused_settings_end_the_command_with_a_sentence(path, tmp_path):
    (tmp_path / "own.json").write_text('{"plugins": {"datasette-bear-search": {"hidden_tag": []}}}')
    own = ["--config" if IS_1_0 else "--metadata", str(tmp_path / "own.json")]
    command = ["serve", str(path), *own, "--get", "/"]
    result = await asyncio.to_thread(CliRunner().invoke, cli, command)
    assert "Error: datasette-bear-search has no setting 'hidden_tag'." in result.output
    assert result.exit_code == 1


async def test_the_configuration_that_was_given_stays_as_it_is(path):
    own = {"databases": {path.stem: {"tables": {"notes": {"size": 5}}}}}
    before = json.dumps(own)
    datasette = configured([path], own)
    await get(datasette, "/notes/notes")
    assert json.dumps(own) == before


# Everywhere


@pytest.mark.parametrize(
    "place",
    [
        "/notes", "/notes/notes", "/notes/notes/1", "/notes/tags", "/notes/tags/1",
        "/notes/passages/1",
        "/notes/bear_search?q=roof", "/notes/bear_similar?id=1",
    ],
)  # fmt: skip
async def test_links_keep_the_base_url(path, place):
    datasette = Datasette([str(path)], settings={"base_url": "/prefix/"})
    html = await page(datasette, place)
    found = re.findall(r'href="(/[^"]*)"', html)
    assert [link for link in found if "bear-search" in link] != []
    assert [link for link in found if not link.startswith("/prefix/")] == []


BROKEN = [
    "drop table meta",
    "drop table notes",
    "drop table notes_fts_data",
    "alter table notes rename column title to name",
    "pragma application_id = 1",
]


@pytest.mark.parametrize("sql", BROKEN)
@pytest.mark.parametrize("is_seen_before", [True, False])
async def test_a_broken_index_does_not_break_datasette(datasette, path, sql, is_seen_before):
    if is_seen_before:
        await get(datasette, "/notes")
    edit(path, sql)
    for place in ("/", "/notes", "/notes/tags", "/other", "/other/notes", "/-/plugins"):
        await get(datasette, place)


async def test_a_broken_index_does_not_keep_datasette_from_starting(path, tmp_path):
    edit(path, "drop table meta")
    for place in ("/", "/notes", "/notes/notes"):
        await get(Datasette([str(path)]), place)


async def test_a_file_that_is_not_a_database_gets_no_links(tmp_path):
    # Datasette can't show such a file, and before 1.0 it then shows nothing at all, so this test
    # calls the hooks.
    file = tmp_path / "notes.db"
    file.write_bytes(b"no database" * 1000)
    datasette = Datasette([])
    await datasette.invoke_startup()
    datasette.add_database(Database(datasette, path=str(file)), "notes")
    assert await menus.menu_links(datasette, None) == []
    assert await menus.table_links(datasette, None, "notes", "notes") == []
    assert cells.rendered_cell(datasette, "notes", "notes", "title", "Roof", {"id": 1}) is None
    assert await cells.css_urls(datasette, None, "notes") == []


async def test_another_plugin_may_render_cells_first(datasette):
    class Shout:
        __name__ = "Shout"

        @hookimpl(tryfirst=True)
        def render_cell(self, value, column):
            return value.upper() if column == "title" else None

    pm.register(Shout(), name="undo")
    try:
        assert cell(await page(datasette, "/notes/notes?id=1"), "title") == "CABIN ROOF"
    finally:
        pm.unregister(name="undo")
