"""The page before the first search, and the page of a search without results.

Tests ``search/notes/start_page.py``.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import datetime, timezone
from html import unescape
from types import SimpleNamespace

import pytest
from datasette.app import Datasette

from datasette_bear_search.index.file import database
from datasette_bear_search.index.watch import Activity
from datasette_bear_search.search.notes.start_page import read_start_page
from datasette_bear_search.web.requests import freshness
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit
from tests.support.client import answer, page

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

NOTES = [
    BearNote("# Garden plan\n\nBeets and beans.", tags=("garden",), created=day(1)),
    BearNote("# Garden diary\n\nThe beans came up.", tags=("garden",), created=day(2), pinned=True),
    BearNote("# Put away\n\nOld.", created=day(3), archived=True, pinned=True),
    BearNote("# Bank codes", encrypted=True, created=day(4)),
]


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES))])


def section(html, heading) -> list[str]:
    """Return the titles below a heading."""
    found = re.search(rf"<h2[^>]*>{heading}</h2>(.*?)</section>", html, re.DOTALL)
    titles = r'(?:class="bear-title"[^>]*|dir="auto")>([^<#]+)</a>'
    return re.findall(titles, found.group(1)) if found else []


async def test_before_a_search_the_page_shows_what_is_new_and_pinned(datasette):
    html = await page(datasette)
    assert section(html, "Recently changed") == ["Bank codes", "Garden diary", "Garden plan"]
    assert section(html, "Pinned") == ["Garden diary"]
    assert "aria-current" not in html
    assert "Beets and beans." in html
    assert "On this day" not in html  # empty sections aren't shown
    assert "Saved searches" not in html
    assert re.search(r'class="bear-choice" href="[^"]*tag=garden"', html)


async def test_what_is_pinned_in_a_tag_is_pinned_as_in_a_search(index_notes):
    notes = [*NOTES, BearNote("# Seeds\n\nOf last year.", created=day(5), pinned_in=("garden",))]
    datasette = Datasette([str(index_notes(notes))])
    assert section(await page(datasette), "Pinned") == ["Seeds", "Garden diary"]


async def test_the_start_page_says_what_is_in_the_index(datasette, library):
    html = await page(datasette)
    assert f"4 notes from <code>{library}</code>" in html
    assert "<code>test/tiny</code>" in html
    assert re.search(r"Updated</dt><dd><time[^>]*>today", html)


async def test_the_start_page_says_that_there_is_no_model(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--no-semantic")
    html = await page(Datasette([str(sidecar_path)]))
    assert "<dt>Search by meaning</dt><dd>off</dd>" in html
    with closing(sqlite3.connect(sidecar_path)) as db, db:  # as before the first vectors are made
        db.execute("delete from meta where key = 'semantic'")
    assert "<dt>Search by meaning</dt><dd>in a minute</dd>" in await page(
        Datasette([str(sidecar_path)])
    )


async def test_the_start_page_shows_notes_from_this_day_in_other_years(
    write, bear_index, sidecar_path
):
    write(
        BearNote("# Leap", created=datetime(2024, 2, 29, 12, tzinfo=timezone.utc)),
        BearNote("# This year", created=datetime(2026, 5, 4, 12, tzinfo=timezone.utc)),
        BearNote("# Last year", created=datetime(2025, 5, 4, 12, tzinfo=timezone.utc)),
        BearNote("# Long ago", created=datetime(2019, 5, 4, 12, tzinfo=timezone.utc)),
        BearNote("# Another day", created=datetime(2025, 5, 5, 12, tzinfo=timezone.utc)),
    )
    bear_index()
    connection = database.connect(sidecar_path)
    shown = read_start_page(connection, now=datetime(2026, 5, 4, 9)).on_this_day
    assert [note.title for note in shown] == ["Last year", "Long ago"]
    connection.close()


async def test_changes_since_indexing_give_a_notice_with_the_command(
    datasette, library, monkeypatch
):
    from datasette_bear_search.index import freshness as source_freshness

    monkeypatch.setattr(source_freshness, "MAX_PAUSE", 0)
    monkeypatch.setattr(source_freshness, "SECONDS_TO_WAIT", 30, raising=False)
    await page(datasette)
    edit(library, "update ZSFNOTE set ZPINNED = 1 where ZTITLE = 'Garden plan'")
    html = await page(datasette)
    assert "1 note changed since the index was made" in html
    assert "datasette bear-index" in html


@pytest.mark.parametrize("query", ["tag=garden", "sort=newest", "q=beans", "pinned=1"])
async def test_a_search_or_filter_gives_a_list_instead_of_the_start_page(datasette, query):
    html = await page(datasette, query)
    assert "bear-home" not in html
    assert "bear-card" in html


@pytest.mark.parametrize("query", ["", "q=garden"])
async def test_an_empty_library_says_so_and_what_to_do(write, bear_index, sidecar_path, query):
    library = write()
    bear_index()
    served = Datasette([str(sidecar_path)])
    html = await page(served, query)
    assert "No notes yet" in html
    assert 'class="bear-notice"' not in html
    assert "The index has no notes yet." in (await answer(served, query))["notices"]
    assert "datasette bear-index PATH" in html
    assert "datasette bear-demo" in html
    assert "No results for" not in html
    assert query or f"nothing was found in <code>{library}</code>" in html


async def test_a_note_cut_inside_of_a_link_shows_no_half_link(index_notes):
    beginning = "Goal: a half marathon, and a knee that doesn't talk. " * 3
    beginning += "Based on what went wrong in [[Race report, Marsh Road]] and [[Knee]]."
    html = await page(Datasette([str(index_notes([BearNote(f"# Plan\n\n{beginning}")]))]))
    assert "what went wrong in Race" in html
    assert "[[" not in html


@pytest.mark.parametrize("watches", [False, True])
async def test_the_start_page_promises_new_notes_only_if_sources_are_watched(sidecar_path, watches):
    with database.open_for_writing(sidecar_path):
        pass
    datasette = bear_serve(sidecar_path) if watches else Datasette([str(sidecar_path)])
    assert ("appears here a moment later" in await page(datasette)) is watches


# Saved searches, in bear-serve only

MICE = "q=mice+%3Cb%3E&tag=garden"


def bear_serve(path) -> Datasette:
    datasette = Datasette([str(path)])
    freshness.updaters[datasette] = SimpleNamespace(
        activity=Activity(),
        has_notes=1,
        update=lambda locations: None,
        give_way=lambda: None,
    )
    return datasette


async def save(datasette, search, saved="1", site="same-origin") -> int:
    token = datasette.sign("token", "csrftoken")
    form = {"csrftoken": token, "search": search, "saved": saved}
    response = await datasette.client.post(
        "/-/bear-search/save",
        data=form,
        cookies={"ds_csrftoken": token},
        headers={"sec-fetch-site": site, "referer": "http://localhost/-/bear-search?q=mice"},
    )
    if response.status_code == 303:
        assert response.headers["location"] == "/-/bear-search?q=mice"
    return response.status_code


async def test_a_saved_search_is_on_the_start_page_until_it_is_removed(index_notes):
    datasette = bear_serve(index_notes(NOTES))
    unsaved = await page(datasette, MICE)
    assert f'name="search" value="{MICE.replace("&", "&amp;")}"' in unsaved
    assert 'aria-pressed="false"' in unsaved
    for search in ("q=beets", MICE, "q=beets", "sort=newest"):
        assert await save(datasette, search) == 303
    assert 'aria-pressed="true"' in await page(datasette, f"{MICE}&_next=20&judge=1")
    html = await page(datasette)
    assert section(html, "Saved searches") == ["All notes", "beets"]
    assert "mice &lt;b&gt; · #garden</a>" in html
    assert await save(datasette, MICE, "none") == 303
    assert section(await page(datasette), "Saved searches") == ["All notes", "beets"]


async def test_saved_searches_survive_a_rebuild(index_notes, bear_index):
    path = index_notes(NOTES)
    await save(bear_serve(path), "q=beets")
    bear_index("--rebuild")
    assert section(await page(bear_serve(path)), "Saved searches") == ["beets"]


async def test_nobody_else_saves_a_search(index_notes):
    path = index_notes(NOTES)
    assert await save(Datasette([str(path)]), "q=beets") == 404
    assert await save(bear_serve(path), "q=beets", site="cross-site") in (403, 404)
    assert (await bear_serve(path).client.get("/-/bear-search/save")).status_code == 405
    assert "Save search" not in await page(Datasette([str(path)]), "q=beets")
    assert "Saved searches" not in await page(bear_serve(path))


# No results


def suggested(html) -> dict[str, str]:
    found = html.split("Try:")[1].split("</section>")[0]
    return {
        label: unescape(url) for url, label in re.findall(r'<a href="([^"]+)">([^<]+)</a>', found)
    }


async def test_nothing_found_says_what_was_tried_and_what_to_try(datasette):
    html = await page(datasette, "q=zebra&mode=keyword&tag=garden")
    assert "No results for" in html
    assert "We also looked inside longer words." in html
    assert "closely matches" not in await page(datasette, "q=zebra")  # the heading says so
    links = suggested(html)
    assert links["Search without filters"] == "/-/bear-search?q=zebra&mode=keyword"
    assert links["Search by meaning as well"] == "/-/bear-search?q=zebra&tag=garden"
    assert links["Browse all notes, newest first"] == "/-/bear-search?sort=newest"


async def test_every_suggestion_is_a_page(datasette):
    html = await page(datasette, "q=bens&mode=keyword&tag=nowhere&correct=0")
    for url in suggested(html).values():
        await page(datasette, url.partition("?")[2])


async def test_another_spelling_is_offered(datasette):
    html = await page(datasette, "q=gardun&mode=keyword")
    offer = re.search(
        r'Did you mean <a href="([^"]+)" dir="auto"><strong>garden</strong></a>\?', html
    )
    assert unescape(offer[1]) == "/-/bear-search?q=garden&mode=keyword"
    assert "Did you mean" not in await page(datasette, "q=gardun&mode=keyword&correct=0")


async def test_filters_that_no_note_matches_give_a_message(datasette):
    html = await page(datasette, "tag=nowhere")
    assert "No notes match these filters" in html
    assert "Search without filters" in suggested(html)


async def test_the_nearest_notes_are_not_shown_as_results(datasette):
    html = await page(datasette, "q=xylophone+quartz+wizard")
    assert "No results for" in html
    assert "We also looked inside longer words and for similar meanings." in html
    assert "Closest notes" in html
    assert html.index("No results for") < html.index('class="bear-card"')


async def test_only_similar_meanings_were_looked_for_where_a_text_has_no_words(datasette):
    assert "We also looked for similar meanings." in await page(datasette, "q=%EF%BF%BD")


async def test_merely_near_notes_are_listed_below_found_ones(datasette):
    html = await page(datasette, "q=garden+beets+beans")
    found = int(re.search(r'id="bear-count">(\d+) results?</p>', html)[1])
    above, folded = html.split('<details class="bear-weaker"')
    weaker = int(re.search(r"Weaker matches \((\d+)\)", folded)[1])
    assert above.count('class="bear-card"') == found > 0
    assert folded.count('class="bear-card"') == weaker > 0
    response = await datasette.client.get("/-/bear-search.json?q=garden+beets+beans&_size=100")
    data = response.json()
    flags = [row["is_found"] for row in data["rows"]]
    assert flags == [True] * found + [False] * weaker
    assert (data["found"], data["total"]) == (found, found + weaker)


async def test_programs_can_ask_for_found_notes_only_and_set_the_threshold(datasette):
    async def rows(more):
        path = f"/-/bear-search.json?q=garden+beets+beans&_size=100&{more}"
        return (await datasette.client.get(path)).json()["rows"]

    everything, found = await rows(""), await rows("found=1")
    assert found == [row for row in everything if row["is_found"]] != everything
    close = await rows("found=1&min_similarity=0.99")
    assert close == [row for row in found if row in close]
    assert all(row["keyword_rank"] for row in close)
    everybody = await rows("found=1&min_similarity=0")
    assert len(everybody) > len(found)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("%22beans+came%22", ["Garden diary"]),
        ("garden+AND+plan", ["Garden plan"]),
        ("what+about+the+zzzzqq", []),
        ("and+the", ["Garden diary", "Garden plan"]),
    ],
)
async def test_notes_with_other_words_are_not_found(datasette, query, titles):
    data = (await datasette.client.get(f"/-/bear-search.json?q={query}&_size=100")).json()
    assert sorted(row["title"] for row in data["rows"] if row["is_found"]) == titles
    is_exact = query.startswith("%22") or "AND" in query
    assert data["total"] == len(titles) or not is_exact


# Choices are kept


async def test_each_filter_is_a_chip_that_can_be_removed(datasette):
    query = (
        "q=garden&tag=garden&modified_after=2024-05&modified_before=2024-05&archived=0&sort=title"
    )
    html = await page(datasette, query)
    chips = re.findall(r'class="bear-chip" href="([^"]+)"[^>]*><span[^>]*>([^<]+)<', html)
    labels = {label: unescape(url) for url, label in chips}
    assert set(labels) == {"#garden", "modified May 2024", "not archived", "Sort by: title"}
    assert "modified_" not in labels["modified May 2024"]
    assert "tag=" not in labels["#garden"]


async def test_the_form_sends_parameters_without_a_field_as_hidden_fields(datasette):
    html = await page(
        datasette, "q=garden&tag=garden&tag=x&untagged=0&mode=keyword&_next=1&correct=0"
    )
    form = html.split('role="search"')[1].split("</form>")[0]
    hidden = re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form)
    assert hidden == [("tag", "garden"), ("tag", "x"), ("untagged", "0")]
    assert '<option value="keyword" selected>' in form


async def test_the_form_sends_no_hidden_field_that_shadows_its_own_properties(
    datasette,
):
    html = await page(datasette, "q=garden&action=x&querySelectorAll=x&addEventListener=x&_size=5")
    form = html.split('role="search"')[1].split("</form>")[0]
    assert re.findall(r'type="hidden" name="(\w+)"', form) == ["_size"]
