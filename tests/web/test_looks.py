"""How the search page looks and whom it serves, in Debian's Chromium.

Axe-core, narrow windows, print, no JavaScript.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import datasette_bear_search
from datasette_bear_search.web.site import PLUGIN
from tests.support.chromium import needs_chromium
from tests.support.datasettes import served

AXE = os.environ.get("BEAR_SEARCH_AXE")
STATIC = Path(datasette_bear_search.__file__).parent / "static"

pytestmark = [pytest.mark.datasette, *needs_chromium]

PAGES = {
    "home": "",
    "results": "?q=cabin+winter",
    "narrowed": "?q=cabin&tag=home&modified_after=2022&modified_before=2022&sort=newest",
    "nothing found": "?q=zebra+crossing&tag=nowhere",
    "an error": "?created_after=yesteryear",
}


@pytest.fixture(scope="module")
def address(sidecar) -> Iterator[str]:
    """With the buttons below each result, as in bear-serve."""
    with served(sidecar, config={"plugins": {PLUGIN: {"judgments": True}}}) as address:
        yield address


@pytest.mark.skipif(
    not (AXE and Path(AXE).exists()), reason="BEAR_SEARCH_AXE does not say where axe.min.js is"
)
@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(open_page, address, name, width, scheme):
    page = open_page(f"{address}/-/bear-search{PAGES[name]}", width=width, color_scheme=scheme)
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    # Datasette before 1.0 doesn't say in what language its pages are.
    problems = {
        violation["id"]: [node["target"] for node in violation["nodes"]]
        for violation in found
        if violation["id"] != "html-has-lang"
    }
    assert problems == {}


@pytest.mark.parametrize("width", [320, 480, 768, 1440])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_window(open_page, address, name, width):
    page = open_page(f"{address}/-/bear-search{PAGES[name]}", width=width)
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_facets_stand_beside_the_results_or_fold_above_them(open_page, address):
    url = f"{address}/-/bear-search?q=cabin"
    wide = open_page(url)
    choice, card = wide.locator(".bear-choice").first, wide.locator(".bear-card").first
    assert choice.is_visible()
    assert choice.bounding_box()["x"] > card.bounding_box()["x"] + card.bounding_box()["width"]
    narrow = open_page(url, width=320)
    choice, card = narrow.locator(".bear-choice").first, narrow.locator(".bear-card").first
    assert not choice.is_visible()
    narrow.get_by_text("Filter by tag, date or type").click()
    assert choice.bounding_box()["y"] < card.bounding_box()["y"]


@pytest.mark.parametrize("has_script", [True, False], ids=["JavaScript", "no JavaScript"])
def test_a_person_narrows_by_facets_and_goes_back(open_page, address, has_script):
    page = open_page(f"{address}/-/bear-search?q=cabin", java_script_enabled=has_script)
    before = page.locator(".bear-count").inner_text()
    tag = page.locator('.bear-choice[href*="tag="]').first
    notes = int(tag.locator(".bear-notes").inner_text().split()[0])
    tag.click()
    page.wait_for_url("**tag=**")
    page.locator(".bear-chip").first.wait_for()
    assert page.locator(".bear-count").inner_text().split()[0] == str(notes)
    assert page.locator(".bear-choice[aria-current]").first.is_visible()
    page.go_back()
    page.wait_for_url(lambda url: "tag=" not in url)
    page.locator(".bear-chip").first.wait_for(state="detached")
    assert page.locator(".bear-count").inner_text() == before


def test_a_bar_of_the_histogram_narrows_to_its_time(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin")
    bar = page.locator(".bear-time svg a").first
    name, notes = bar.locator("title").text_content().split(": ")
    box = bar.bounding_box()
    # Anywhere in its column: what is one note high can't be hit.
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 3)
    page.wait_for_url("**modified_after=**")
    assert page.locator(".bear-chip").first.inner_text().startswith(f"Modified {name}")
    assert page.locator(".bear-count").inner_text().split()[0] == notes


def test_the_keyboard_reaches_results_before_facets(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin")
    order = page.evaluate(
        "[...document.querySelectorAll('.bear-title, .bear-choice')].map(each => each.className)"
    )
    assert order.index("bear-choice") > order.index("bear-title")
    assert page.locator(".bear-time svg a").first.get_attribute("tabindex") == "-1"


def test_in_the_dark_the_page_is_dark_and_the_header_is_datasettes(open_page, address):
    color = "element => getComputedStyle(element).backgroundColor"
    shown = {}
    for scheme in ("light", "dark"):
        page = open_page(f"{address}/-/bear-search?q=cabin", color_scheme=scheme)
        shown[scheme] = [page.locator(part).first.evaluate(color) for part in ("body", "header")]
    assert shown["light"][0] == "rgb(255, 255, 255)"
    assert shown["dark"][0] == "rgb(27, 30, 34)"
    assert shown["light"][1] == shown["dark"][1]


def test_on_paper_there_are_results_only(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".bear-card").first.is_visible()
    for part in (".bear-form", ".bear-aside", ".bear-links", ".bear-actions"):
        assert not page.locator(part).first.is_visible(), part
    body = page.locator("body").evaluate("element => getComputedStyle(element).backgroundColor")
    assert body == "rgb(255, 255, 255)"


def test_the_page_has_no_code_or_style_of_its_own(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin", java_script_enabled=False)
    html = page.locator("main").inner_html()
    for unwanted in ("<script", "<style", " style=", " onclick=", " onchange=", "javascript:"):
        assert unwanted not in html


def test_styles_and_scripts_of_the_search_page_are_light(open_page, address):
    page = open_page(f"{address}/-/bear-search?q=cabin")
    names = page.evaluate(
        """[...document.querySelectorAll('link[rel=stylesheet], script[src]')]
           .map(each => each.href || each.src)
           .filter(url => url.includes('bear_'))
           .map(url => new URL(url).pathname.split('/').pop())"""
    )
    assert {"bear_search.css", "bear_search.js"} <= set(names)
    assert sum((STATIC / name).stat().st_size for name in names) < 40_000
