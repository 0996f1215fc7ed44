"""The search page's looks and accessibility in Debian's Chromium.

This covers axe-core, narrow windows, printing and the page without JavaScript.

Tests ``web/requests/static_files.py``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasette_bear_search.web.requests.settings import PLUGIN
from datasette_bear_search.web.requests.static_files import _static_file
from tests.support.bear_libraries import BearNote, bear_library
from tests.support.chromium import needs_chromium
from tests.support.datasettes import indexed, served

AXE = os.environ.get("BEAR_SEARCH_AXE")

pytestmark = [pytest.mark.datasette, *needs_chromium]

PAGES = {
    "home": "",
    "results": "?q=cabin+winter",
    "narrowed": "?q=cabin&tag=home&modified_after=2022&modified_before=2022&sort=newest",
    "nothing found": "?q=zebra+crossing&tag=nowhere",
    "an error": "?created_after=yesteryear",
    "judging": "?q=cabin&judge=1&_next=20",
}


@pytest.fixture(scope="module")
def address(sidecar) -> Iterator[str]:
    """Serve the notes with buttons below each result, as bear-serve does."""
    with served(sidecar, config={"plugins": {PLUGIN: {"judgments": True}}}) as address:
        yield address


def resize(page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("new Promise(requestAnimationFrame)")


@pytest.mark.skipif(
    not (AXE and Path(AXE).exists()), reason="BEAR_SEARCH_AXE does not say where axe.min.js is"
)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(open_page, address, name):
    page = open_page(f"{address}/-/bear-search{PAGES[name]}")
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    page.add_script_tag(path=AXE)
    for width, scheme in ((1280, "light"), (320, "dark")):
        resize(page, width)
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        # Datasette before 1.0 doesn't declare the language of its pages.
        problems = {
            violation["id"]: [node["target"] for node in violation["nodes"]]
            for violation in found
            if violation["id"] != "html-has-lang"
        }
        assert problems == {}, scheme


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_window(open_page, address, name):
    page = open_page(f"{address}/-/bear-search{PAGES[name]}")
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    for width in (1440, 768, 480, 320):
        resize(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_facets_are_menus_that_move_nothing(open_page, address):
    url = f"{address}/-/bear-search?q=cabin"
    for width in (320, 1280):
        page = open_page(url, width=width)
        choice, card = page.locator(".bear-choice").first, page.locator(".bear-card").first
        before = card.bounding_box()
        assert not choice.is_visible()
        page.locator("#bear-menu-tag > summary").click()
        assert choice.is_visible()
        assert card.bounding_box() == before


@pytest.mark.parametrize("width", [800, 1280])
def test_only_the_selected_card_has_an_outline_in_forced_colors(open_page, address, width):
    page = open_page(f"{address}/-/bear-search?q=cabin", width=width, forced_colors="active")
    page.locator(".bear-card[aria-current]").wait_for()
    styles = "cards => cards.map(card => getComputedStyle(card).%s).slice(0, 3)"
    cards = page.locator("#bear-cards > .bear-card")
    assert cards.evaluate_all(styles % "outlineStyle") == ["solid", "none", "none"]
    lines = cards.evaluate_all(styles % "borderInlineStartWidth")
    assert lines[1:] == ["0px", "0px"]


@pytest.mark.parametrize("has_script", [True, False], ids=["JavaScript", "no JavaScript"])
def test_a_person_narrows_by_facets_and_goes_back(open_page, address, has_script):
    page = open_page(f"{address}/-/bear-search?q=cabin", java_script_enabled=has_script)
    before = page.locator(".bear-count").inner_text()
    tag = page.locator('.bear-choice[href*="tag="]').first
    notes = int(tag.locator(".bear-notes").text_content().split()[0])
    page.locator("#bear-menu-tag > summary").click()
    tag.click()
    page.wait_for_url("**tag=**")
    page.locator(".bear-chip").first.wait_for()
    assert page.locator(".bear-count").inner_text().split()[0] == str(notes)
    assert page.locator(".bear-choice[aria-current]").count()
    page.go_back()
    page.wait_for_url(lambda url: "tag=" not in url)
    page.locator(".bear-chip").first.wait_for(state="detached")
    assert page.locator(".bear-count").inner_text() == before


def test_a_bar_of_the_histogram_narrows_to_its_time(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin")
    page.locator("#bear-menu-modified > summary").click()
    bar = page.locator(".bear-time svg a").first
    name, notes = bar.locator("title").text_content().split(": ")
    box = bar.bounding_box()
    # Click near the top of the column, because a bar of one note is too low to hit.
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 3)
    page.wait_for_url("**modified_after=**")
    assert page.locator(".bear-chip").first.inner_text().startswith(f"modified {name}")
    assert page.locator(".bear-count").inner_text().split()[0] == notes


def test_the_keyboard_reaches_results_past_closed_menus(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin")
    page.locator("#bear-q").focus()
    for _ in range(6):  # Options, help, Tags, Date, Type, and the first title
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "bear-title"
    assert page.locator(".bear-time svg a").first.get_attribute("tabindex") == "-1"
    assert "figure" not in page.locator("main").aria_snapshot()


@pytest.mark.parametrize(
    ("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(27, 30, 34)")]
)
def test_our_pages_and_datasettes_have_the_same_colors(open_page, address, scheme, paper):
    color = "element => getComputedStyle(element).backgroundColor"
    headers = set()
    for place in ("/-/bear-search?q=cabin", "/", "/notes", "/notes/notes/13"):
        page = open_page(f"{address}{place}", color_scheme=scheme)
        assert page.locator("body").evaluate(color) == paper, place
        headers.add(page.locator("header").first.evaluate(color))
    assert len(headers) == 1


def test_the_row_of_a_note_is_read_from_its_title_down(open_page, address):
    page = open_page(f"{address}/notes/notes/13")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    boxes = [page.locator(f"td.col-{name}").bounding_box() for name in ("title", "body", "key")]
    assert {box["x"] for box in boxes} == {boxes[0]["x"]}
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    label = page.locator("th.col-body").bounding_box()
    assert (label["y"], label["height"]) == (boxes[1]["y"], boxes[1]["height"])


def test_help_has_room_for_its_words_on_a_phone(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin", width=390)
    page.locator("#bear-help > summary").click()
    assert page.locator(".bear-help dd").first.bounding_box()["width"] > 170


@pytest.mark.parametrize("width", [390, 1280])
def test_notes_begin_below_their_heading_on_the_start_page(open_page, address, width):
    page = open_page(f"{address}/-/bear-search", width=width)
    edges = [
        page.locator(place).first.bounding_box()["x"]
        for place in (".bear-recent > h2", ".bear-recent .bear-title")
    ]
    assert edges[0] == edges[1]


def test_previous_and_next_result_stand_together(open_page, address):
    page = open_page(f"{address}/-/bear-search/note/13?q=cabin")
    before, after = (page.locator(f".bear-{name}").bounding_box() for name in ("previous", "next"))
    assert 0 < after["x"] - (before["x"] + before["width"]) < 40


def test_a_printed_page_has_only_results(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin", color_scheme="dark")
    assert not page.locator(".bear-printed").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".bear-printed").inner_text() == "cabin"
    assert page.locator(".bear-card").first.is_visible()
    for part in (".bear-form", ".bear-menus", ".bear-links", ".bear-actions", ".bear-preview"):
        assert not page.locator(part).first.is_visible(), part
    body = page.locator("body").evaluate("element => getComputedStyle(element).backgroundColor")
    assert body == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def wordy(tmp_path_factory) -> Iterator[str]:
    """Notes whose first lines are long, as titles of notes without a title are."""
    sentence = "The pump of the well in the garden was serviced again, and nobody knows why. "
    notes = [
        BearNote(
            f"# {n}. Whatever came up about the pump, the well and the hose today, all at once\n\n"
            f"{sentence * 6}\n\nOn day {n} the manometer burst. {sentence * 3}",
        )
        for n in range(12)
    ]
    library = bear_library(tmp_path_factory.mktemp("wordy") / "database.sqlite", notes)
    index = indexed(library, "--no-semantic")
    with pytest.MonkeyPatch.context() as patch:
        # Then commands on the page need no --sidecar, as most people see them.
        patch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(index))
        with served(index) as address:
            yield address


@pytest.mark.parametrize(
    ("width", "height", "results", "top"), [(1280, 900, 6, 230), (390, 844, 3, 250)]
)
@pytest.mark.parametrize("q", ["pump", "manometer"])
def test_a_screen_has_enough_results(open_page, wordy, q, width, height, results, top):
    page = open_page(f"{wordy}/-/bear-search?q={q}", width=width)
    page.set_viewport_size({"width": width, "height": height})
    boxes = [card.bounding_box() for card in page.locator("#bear-cards > .bear-card").all()]
    assert sum(box["y"] + box["height"] <= height for box in boxes) >= results
    assert page.locator(".bear-title").first.bounding_box()["y"] < top


@pytest.mark.parametrize("width", [390, 1280])
def test_the_part_that_answers_is_not_cut_off(open_page, wordy, width):
    page = open_page(f"{wordy}/-/bear-search?q=manometer", width=width)
    for card in page.locator("#bear-cards > .bear-card").all():
        text = card.locator(".bear-snippet").bounding_box()
        mark = card.locator(".bear-snippet-answer mark").bounding_box()
        assert mark["y"] + mark["height"] <= text["y"] + text["height"] + 2


def test_the_page_has_no_code_or_style_of_its_own(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin", java_script_enabled=False)
    html = page.locator("main").inner_html()
    for unwanted in ("<script", "<style", " style=", " onclick=", " onchange=", "javascript:"):
        assert unwanted not in html


def test_styles_and_scripts_are_light():
    files = [_static_file(name)[0] for name in ("bear.css", "bear.js")]
    assert sum(map(len, files)) <= 60_000
    assert sum(len(gzip.compress(file)) for file in files) <= 15_700
