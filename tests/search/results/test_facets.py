"""Facets of a search, and that their counts are right. Runs on both Datasettes."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime, timezone
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from datasette.app import Datasette

from datasette_bear_search.search.results import facets, retrieve
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.pages import facets as facet_links
from datasette_bear_search.web.pages import facets as page_facets
from tests.support.bear_database import BearFile, BearNote, write_demo_library
from tests.support.client import answer, get, page

# The engine counts, and its answers are the same on both Datasettes (test_interfaces_agree.py).
pytestmark = pytest.mark.asyncio


def at(*date: int) -> datetime:
    return datetime(*date, 12, tzinfo=timezone.utc)


NOTES = [
    BearNote(
        "# Cabin roof\n\nThe roof leaks. #Home/Cabin", tags=("Home/Cabin",), created=at(2022, 3, 1)
    ),
    BearNote(
        "# Cabin stove\n\nThe stove smokes below the roof.",
        tags=("Home/Cabin",),
        created=at(2022, 3, 9),
    ),
    BearNote(
        "# House roof\n\nSlate, from 1920.\n- [ ] gutter",
        tags=("Home",),
        created=at(2023, 5, 2),
        pinned=True,
    ),
    BearNote(
        "# Roofing\n\nWhat a roofer costs.",
        tags=("c++", "two words"),
        created=at(2024, 12, 31),
        archived=True,
    ),
    BearNote(
        "# Rooftop bar\n\n![](photo.png)",
        files=(BearFile("photo.png"),),
        created=at(2024, 6, 1),
    ),
    BearNote(
        "# Lentil soup\n\nRed lentils, carrots.",
        tags=("recipes/soups",),
        created=at(2024, 6, 2),
    ),
    BearNote(
        "# 屋根の修理\n\n山小屋の屋根を直す。",
        tags=("Home/Cabin", "旅行/日本"),
        created=at(2021, 1, 1),
    ),
    BearNote("# Bank codes", encrypted=True, tags=("Home",), created=at(2024, 1, 1)),
]


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES))])


def flat(choices) -> list[dict]:
    return [found for choice in choices for found in (choice, *flat(choice["nested"]))]


def counts(data, facet) -> dict[str, int]:
    return {choice["value"]: choice["count"] for choice in flat(data["facets"].get(facet, []))}


QUERIES = [
    "",
    "q=roof",
    "q=roof&mode=keyword",
    "q=roof&mode=semantic",
    "q=roof&mode=like",
    "q=roof&sort=newest",
    "q=a+leaking+roof+in+the+mountains",
    "q=entil",  # inside a word
    "q=屋根",
    'q="the+roof"',
    "q=roof+-stove",
    "q=roof+AND+(cabin+OR+house)",
    "q=in:title+roof",
    "q=cabin+roof",  # a title
    "q=tag:home",
    "q=roof&tag=home",
    "q=roof&modified_after=2022-03-05",
    "q=roof&modified_after=2022&modified_before=2022",
    "q=roof&archived=0&has=todo",
    "tag=home&pinned=0",
    "source=bear",
]


@pytest.mark.parametrize("query", QUERIES)
async def test_a_count_is_the_total_of_the_search_that_its_link_leads_to(datasette, query):
    data = await answer(datasette, f"{query}&_facets=1")
    choices = [choice for facet in data["facets"].values() for choice in flat(facet)]
    assert choices
    for choice in choices:
        narrowed = (await get(datasette, choice["toggle_url"])).json()
        if choice["selected"]:
            assert narrowed["found"] >= choice["count"], choice
        else:
            assert narrowed["found"] == choice["count"], choice


async def test_counts_are_true_on_the_sample_notes(library, bear_index, sidecar_path):
    library.parent.mkdir()
    write_demo_library(library)
    bear_index()
    datasette = Datasette([str(sidecar_path)])
    for query in ("composting+toilet", "garden+plan", "what+do+snails+eat+in+the+garden"):
        data = await answer(datasette, f"q={query}&_facets=1")
        for choice in flat(data["facets"]["tag"]) + flat(data["facets"]["modified"]):
            narrowed = (await get(datasette, choice["toggle_url"])).json()
            assert narrowed["found"] == choice["count"], choice


@pytest.mark.parametrize("query", QUERIES)
async def test_counts_of_years_add_up_to_the_total(datasette, query):
    data = await answer(datasette, f"{query}&_facets=1")
    years = data["facets"]["modified"]
    assert sum(year["count"] for year in years) == data["found"]
    for year in years:
        assert sum(month["count"] for month in year["nested"]) == year["count"]


async def test_tags_are_a_tree_in_the_library_s_own_spelling(datasette):
    tags = (await answer(datasette, "_facets=1"))["facets"]["tag"]
    assert [(tag["label"], tag["count"]) for tag in tags][:2] == [("Home", 5), ("c++", 1)]
    [cabin] = tags[0]["nested"]
    assert (cabin["value"], cabin["label"], cabin["count"]) == ("Home/Cabin", "Cabin", 3)


async def test_a_tag_above_counts_though_its_source_doesn_t_have_it(datasette, sidecar_path):
    with sqlite3.connect(sidecar_path) as db:
        above = "(select id from tags where name in ('Home', 'recipes', '旅行'))"
        db.execute(f"delete from note_tags where tag_id in {above}")
        db.execute(f"delete from tags where id in {above}")
    data = await answer(datasette, "_facets=1")
    assert counts(data, "tag")["recipes"] == 1
    for choice in flat(data["facets"]["tag"]):
        assert (await get(datasette, choice["toggle_url"])).json()["found"] == choice["count"]


async def test_kinds_are_counted(datasette):
    data = await answer(datasette, "_facets=1")
    found = {choice["label"]: choice["count"] for choice in data["facets"]["kind"]}
    assert found == {
        "pinned": 1,
        "archived": 1,
        "with to-dos": 1,
        "with images": 1,
        "untagged": 1,
    }


async def test_a_single_source_has_no_menu(datasette):
    assert "source" not in (await answer(datasette, "_facets=1"))["facets"]


async def test_a_source_counts_the_copies_that_it_has(datasette, sidecar_path):
    # A second source has a copy of a note, which is shown only in searches for that source.
    with sqlite3.connect(sidecar_path) as db:
        db.execute("insert into sources (name, location) values ('backup', 'backup.bear2bk')")
        db.execute("update notes set source = 'backup' where title in ('Cabin roof', 'Roofing')")
        db.execute(
            "update notes set copy_of = (select id from notes where title = 'House roof') "
            "where title = 'Cabin roof'"
        )
    data = await answer(datasette, "q=roof&_facets=1")
    assert set(counts(data, "source")) == {"bear", "backup"}
    for facet in data["facets"].values():
        for choice in flat(facet):
            assert (await get(datasette, choice["toggle_url"])).json()["found"] == choice["count"]


async def test_a_month_begins_when_it_does_where_the_reader_is(
    datasette, monkeypatch, sidecar_path
):
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        with sqlite3.connect(sidecar_path) as db:
            db.execute("update notes set modified = '2024-12-31T18:30:00Z' where title = 'Roofing'")
            db.execute(
                "update notes set modified = '2024-12-31T18:29:59Z' where title = 'Rooftop bar'"
            )
        data = await answer(datasette, "_facets=1")
        found = counts(data, "modified")
        assert (found["2025-01"], found["2024-12"]) == (1, 1)
        for choice in flat(data["facets"]["modified"]):
            assert (await get(datasette, choice["toggle_url"])).json()["found"] == choice["count"]
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_narrowing_to_a_month_keeps_tighter_dates(datasette):
    data = await answer(datasette, "modified_after=2022-03-05&modified_before=2022-06-30&_facets=1")
    [month] = [choice for choice in flat(data["facets"]["modified"]) if choice["label"] == "Mar"]
    parameters = parse_qs(urlsplit(month["toggle_url"]).query)
    assert parameters["modified_after"] == ["2022-03-05"]
    assert parameters["modified_before"] == ["2022-03"]


async def test_the_link_of_a_chosen_value_removes_it(datasette):
    data = await answer(
        datasette, "q=roof&tag=HOME&pinned=1&modified_after=2023&modified_before=2023&_facets=1"
    )
    chosen = [
        choice for facet in data["facets"].values() for choice in flat(facet) if choice["selected"]
    ]
    assert {choice["label"] for choice in chosen} == {"Home", "pinned", "2023"}
    for choice in chosen:
        parameters = set(parse_qs(urlsplit(choice["toggle_url"]).query))
        assert len({"tag", "pinned", "modified_after"} & parameters) == 2


async def test_a_search_without_results_has_no_menus(datasette):
    assert (await answer(datasette, "q=roof&tag=nowhere&_facets=1"))["facets"] == {}
    assert "bear-narrow" not in await page(datasette, "q=roof&tag=nowhere")


async def test_json_has_no_facets_unless_asked(datasette):
    assert "facets" not in await answer(datasette, "q=roof")


async def test_counts_that_may_be_too_low_say_so(datasette, monkeypatch):
    monkeypatch.setattr(retrieve, "NEAREST_PASSAGES", 1)
    html = await page(datasette, "q=cabin+roof&mode=semantic")
    assert re.search(r'id="bear-count">\d+\+ result', html)


async def test_the_page_is_complete_if_counting_takes_too_long(datasette, monkeypatch):
    def interrupted(*_):
        raise sqlite3.OperationalError("interrupted")

    monkeypatch.setattr(page_facets, "count_facets", interrupted)
    html = await page(datasette, "q=roof")
    assert "Cabin roof" in html
    assert "bear-narrow" not in html
    assert (await answer(datasette, "q=roof&_facets=1"))["facets"] == {}


async def test_facets_follow_the_base_url_and_keep_the_search(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    datasette = Datasette([str(sidecar_path)], settings={"base_url": "/notes/"})
    html = await page(datasette, "q=roof&sort=newest&_next=1")
    links = [unescape(link) for link in re.findall(r'class="bear-choice" href="([^"]+)"', html)]
    assert links
    for link in links:
        assert link.startswith("/notes/-/bear-search?q=roof&sort=newest&")
        assert "_next" not in link


# The histogram


async def test_a_bar_of_the_histogram_narrows_to_its_month(datasette, monkeypatch):
    monkeypatch.setattr(facet_links, "MIN_RESULTS", 1)
    html = await page(datasette, "q=roof&mode=keyword")
    bars = re.findall(r'<a href="([^"]+)" tabindex="-1"><title>[^<]+: (\d+)</title><rect', html)
    assert sum(int(notes) for _, notes in bars) == 5  # including the note about a roofer
    for url, notes in bars:
        narrowed = await page(datasette, urlsplit(unescape(url)).query)
        assert f'id="bear-count">{notes} result' in narrowed


async def test_a_long_time_is_shown_by_years(datasette, sidecar_path):
    assert "<title>1999: 1</title>" not in await page(datasette, "")
    with sqlite3.connect(sidecar_path) as db:
        db.execute("update notes set modified = '1999-12-31T12:00:00Z' where title = 'Roofing'")
    html = await page(datasette, "")
    assert "<title>1999: 1</title>" in html


async def test_notes_of_one_month_need_no_histogram(datasette):
    assert (
        "<svg viewBox"
        not in (await page(datasette, "q=stove&mode=keyword")).split("bear-results")[1]
    )


async def test_values_of_notes_are_read_once_until_the_index_changes(index_notes, monkeypatch):
    path = index_notes(NOTES)
    reads = []
    read = facets._Values.read
    monkeypatch.setattr(facets._Values, "read", lambda db: reads.append(1) or read(db))
    datasette = Datasette([str(path)])
    for word in ("roof", "stove"):
        assert counts(await answer(datasette, f"q={word}&_facets=1"), "tag")["Home/Cabin"]
    assert len(reads) == 1
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update notes set archived = 1 where title = 'Cabin roof'")
    kinds = (await answer(datasette, "q=roof&mode=keyword&_facets=1"))["facets"]["kind"]
    assert {each["label"]: each["count"] for each in kinds}["archived"] == 2
