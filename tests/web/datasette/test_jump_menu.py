"""Notes in Datasette 1.0's jump menu.

They are found by their titles, and never disturb the menu's other items.
"""

import json
import time
from contextlib import closing
from types import SimpleNamespace

import pytest
from datasette.app import Datasette
from datasette.database import Database

from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text import languages
from datasette_bear_search.web.datasette import menus
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.client import get
from tests.support.datasettes import IS_1_0, configured, other_database

pytestmark = [
    pytest.mark.datasette,
    pytest.mark.asyncio,
    pytest.mark.skipif(not IS_1_0, reason="Datasette before 1.0 has no jump menu"),
]

NOTES = [
    BearNote("# Cabin roof\n\nA chimney.", created=day(1)),
    BearNote("# Roof of the church in Évora", created=day(2)),
    BearNote("# Rooftop", created=day(3)),
    BearNote("# 50% off_by\\one", created=day(4)),
    BearNote("# Bank codes", encrypted=True, created=day(5)),
    BearNote("", created=day(6)),
]


@pytest.fixture
def path(index_notes):
    return index_notes(NOTES, "--no-semantic")


@pytest.fixture
def datasette(path, tmp_path) -> Datasette:
    return Datasette([str(path), other_database(tmp_path / "other.db")])


async def matches(datasette, typed, kind="note", actor=None):
    response = await get(datasette, f"/-/jump.json?q={typed}", actor=actor)
    return [match for match in response.json()["matches"] if match["type"] == kind]


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("roof", {"Cabin roof", "Roof of the church in Évora", "Rooftop"}),
        ("ROOF", {"Cabin roof", "Roof of the church in Évora", "Rooftop"}),
        ("oofto", {"Rooftop"}),
        ("evor", {"Roof of the church in Évora"}),
        ("chimney", set()),  # not in the title
        ("bank", {"Bank codes"}),
        ("50%25", {"50% off_by\\one"}),
        ("5%25f", set()),
        ("off_by\\", {"50% off_by\\one"}),
        ("elsewhere", set()),
        ("", set()),
        ("%22", set()),
        ("OR+AND", set()),
        ("%00", set()),
    ],
)
async def test_notes_are_found_by_their_titles(datasette, typed, titles):
    assert {match["name"] for match in await matches(datasette, typed)} == titles


async def test_a_note_leads_to_the_page_where_it_is_read(datasette):
    [match] = await matches(datasette, "rooftop")
    assert match["url"] == "/-/bear-search/note/3"
    assert match["description"] == "3 May 2024"


async def test_the_note_with_the_typed_title_is_first(datasette):
    assert (await matches(datasette, "rooftop"))[0]["name"] == "Rooftop"
    assert (await matches(datasette, "roof"))[0]["name"].startswith("Roof")
    in_any_order = {match["name"] for match in await matches(datasette, "church+roof")}
    assert "Roof of the church in Évora" in in_any_order


async def test_the_same_note_from_two_sources_is_listed_once(datasette, path):
    edit(path, "update notes set copy_of = 3 where title = 'Cabin roof'")
    found = {match["name"] for match in await matches(datasette, "roof")}
    assert found == {"Rooftop", "Roof of the church in Évora"}


async def test_a_large_library_leaves_room_for_the_rest_of_the_menu(
    write, bear_index, sidecar_path
):
    write(*[BearNote(f"# Notes {number}") for number in range(50)])
    bear_index("--no-semantic")
    datasette = Datasette([str(sidecar_path)])
    assert len(await matches(datasette, "notes")) == menus.MAX_JUMP_NOTES
    assert await matches(datasette, "notes", "table")


@pytest.mark.parametrize(
    ("typed", "label", "url"),
    [
        ("", "Search notes", "/-/bear-search"),
        ("a+b%26c", "Search notes for a b&c", "/-/bear-search?q=a+b%26c"),
    ],
)
async def test_the_search_is_in_the_menu(datasette, typed, label, url):
    [match] = await matches(datasette, typed, "search")
    assert (match["name"], match["url"]) == (label, url)


async def test_addresses_have_the_base_url(path):
    datasette = Datasette([str(path)], settings={"base_url": "/prefix/"})
    found = [*await matches(datasette, "rooftop"), *await matches(datasette, "rooftop", "search")]
    assert len(found) == 2
    assert all(match["url"].startswith("/prefix/-/bear-search") for match in found)


@pytest.mark.parametrize(("actor", "count"), [(None, 0), ("stranger", 0), ("owner", 1)])
async def test_only_people_who_may_view_the_database_see_notes_in_the_menu(path, actor, count):
    datasette = configured([path], {"databases": {path.stem: {"allow": {"id": "owner"}}}})
    assert len(await matches(datasette, "rooftop", actor=actor)) == count
    assert len(await matches(datasette, "rooftop", "search", actor=actor)) == count


# The rest of the menu works, whatever happens to the index file


async def others(datasette) -> set[str]:
    return {match["name"] for match in await matches(datasette, "other", "database")}


def edit(path, sql):
    with closing(sqlite3.connect(path)) as db, db:
        languages.register(db)  # the word index's trigger needs these functions
        db.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "drop table notes",
        "alter table notes rename column title to name",
        "drop table notes_fts_data",
        "update notes set title = x'ff00', modified = 'someday'",
        "update notes set title = null, modified = null",
        "pragma application_id = 1",
    ],
)
@pytest.mark.parametrize("is_seen_before", [True, False])
async def test_a_sidecar_of_another_shape_does_not_break_the_menu(
    datasette, path, sql, is_seen_before
):
    if is_seen_before:
        assert await matches(datasette, "roof")
    edit(path, sql)
    assert await others(datasette) == {"other"}
    await matches(datasette, "roof")


# In these states, Datasette itself can't make the rest of the menu, so the tests call only the
# hook.


async def items(datasette, typed) -> list[str]:
    """Return the labels of the hook's items."""
    await datasette.invoke_startup()
    request = SimpleNamespace(args={"q": typed})
    fragments = await menus.jump_items(datasette, None, request)
    return [item["label"] for part in fragments for item in json.loads(part.params["items"])]


async def test_a_sidecar_that_stopped_being_a_database_lists_no_notes(datasette, path):
    assert "Rooftop" in await items(datasette, "roof")
    path.write_bytes(b"no database" * 1000)
    assert await items(datasette, "roof") == []


async def test_a_sidecar_that_never_was_a_database_gives_nothing(tmp_path):
    file = tmp_path / "notes.db"
    file.write_bytes(b"no database" * 1000)
    datasette = Datasette([])
    await datasette.invoke_startup()
    datasette.add_database(Database(datasette, path=str(file)), "notes")
    assert await items(datasette, "roof") == []
    file.unlink()
    assert await items(datasette, "roof") == []


async def test_a_locked_sidecar_does_not_hold_up_the_menu(datasette, path):
    assert "Rooftop" in await items(datasette, "roof")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("begin exclusive")
        started = time.perf_counter()
        assert await items(datasette, "roof") == []  # permissions can't be checked now
        assert time.perf_counter() - started < 3
        db.execute("rollback")
    assert "Rooftop" in await items(datasette, "roof")
