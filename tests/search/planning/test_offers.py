"""Notices about values and identifiers that no note has, and alternatives that are offered."""

from contextlib import closing

import pytest
from datasette.app import Datasette

from datasette_bear_search.index.file import database
from datasette_bear_search.query.suggest import suggest
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.client import answer

pytestmark = pytest.mark.asyncio

NOTES = [
    BearNote("# Cabin roof\n\nTiles, v2.1.0.", tags=("cabin", "home/garden"), created=day(1)),
    BearNote("# Punch list\n\nSeen on 2024-05-02.", tags=("cabin",), pinned_in=("cabin",),
             created=day(2)),
    BearNote("# Soup\n\nLeeks.", tags=("kitchen",), pinned=True, created=day(3)),
]  # fmt: skip


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES, "--no-semantic"))])


@pytest.mark.parametrize(
    ("q", "offers"),
    [
        ("tags:cabin roof", ["tag:cabin roof"]),
        ('folder:"my plans" roof', ['path:"my plans" roof']),
        ("titles:roof", ["title:roof"]),
        ("tag:cabbin roof", ["tag:cabin roof"]),
        ("#gardn tiles", ["tag:home/garden tiles"]),
        ("source:bera", ["source:bear"]),
        ("#tiles cabin", ["tiles cabin"]),  # no tag, but in programs: #include
        ("#nothing cabin", []),
        ("http://cabin.org 12:30", []),
        ("tag:home tag:cabin", []),
    ],
)
async def test_another_text_is_offered(datasette, q, offers):
    assert (await answer(datasette, q=q))["query"]["offers"] == offers


@pytest.mark.parametrize(
    ("parameters", "notice"),
    [
        ({"tag": "cabbin"}, "No note has the tag “cabbin”. Did you mean “cabin”?"),
        ({"tag": "xyz"}, "No note has the tag “xyz”."),
        ({"source": "bera"}, "No note has the source “bera”. Did you mean “bear”?"),
        ({"q": "tiles v2.1.1"}, "No note contains “v2.1.1”."),
        ({"q": "roof sort:newest"}, "To sort, use Options › Sort by"),
    ],
)
async def test_a_value_that_no_note_has_gives_a_notice(datasette, parameters, notice):
    assert any(notice in told for told in (await answer(datasette, **parameters))["notices"])


async def test_notes_without_dates_of_creation_say_so(index_notes):
    path = index_notes(NOTES, "--no-semantic")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update notes set created = null")
    data = await answer(Datasette([str(path)]), q="roof created:2024")
    assert data["query"]["offers"] == ["roof modified:2024"]
    assert "No note says when it was created." in data["notices"]


async def test_words_that_notes_have_give_no_notice(datasette):
    told = (await answer(datasette, q="tiles v2.1.0"))["notices"]
    assert not any("No note contains" in notice for notice in told)


async def test_a_date_is_offered_as_the_day_of_changes(datasette):
    changed = (await answer(datasette, q="soup"))["rows"][0]["modified"][:10]
    for q in (changed, changed.replace("-", "/")):
        assert (await answer(datasette, q=f"soup {q}"))["query"]["offers"] == [
            f"soup modified:{changed}"
        ]
    assert (await answer(datasette, q="soup 2019-05-02"))["query"]["offers"] == []


@pytest.mark.parametrize(
    ("parameters", "titles"),
    [
        ({"q": "tag:cabin is:pinned"}, ["Punch list"]),
        ({"tag": "cabin", "pinned": "1"}, ["Punch list"]),
        ({"q": "is:pinned"}, ["Soup", "Punch list"]),
        ({"q": "tag:kitchen is:pinned"}, ["Soup"]),
        ({"q": "title:list"}, ["Punch list"]),
        ({"title": "ROOF"}, ["Cabin roof"]),
    ],
)
async def test_notes_are_filtered_by_title_and_by_being_pinned_in_a_tag(
    datasette, parameters, titles
):
    found = await answer(datasette, **parameters)
    assert [row["title"] for row in found["rows"]] == titles


async def test_a_folder_is_a_filter(tmp_path, bear_index, sidecar_path):
    for name in ("work/plans/a.md", "home/work/b.md", "homework/c.md", "d.md"):
        (tmp_path / "vault" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "vault" / name).write_text(f"# {name}\n\nText.")
    bear_index("--no-semantic", path=tmp_path / "vault")
    with closing(database.connect(sidecar_path)) as connection:
        offered = [each.label for each in suggest(connection, "path:", 5).found]
    assert offered == ["home/work", "homework", "work/plans"]
    datasette = Datasette([str(sidecar_path)])
    for path, found in {
        "work": ["home/work/b.md", "work/plans/a.md"],
        "Work/Plans/": ["work/plans/a.md"],
        "home": ["home/work/b.md"],
    }.items():
        rows = (await answer(datasette, q=f"path:{path}", sort="title"))["rows"]
        assert [row["title"] for row in rows] == found
