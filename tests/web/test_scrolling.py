"""Where the search page is scrolled to, in Debian's Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import needs_chromium

SEARCH = "/-/bear-search"
pytestmark = [*needs_chromium]

# The place of the first card, and where the sticky lines above it end.
FIRST = """() => {
    const bottom = (each) => getComputedStyle(each).position === "sticky" ? each.getBoundingClientRect().bottom : 0;
    const lines = [...document.querySelectorAll("form.bear-form, .bear-toolbar")].map(bottom);
    return [document.querySelector(".bear-card").getBoundingClientRect().top, Math.max(...lines)];
}"""  # noqa: E501
SIZES = [(1280, 900), (390, 844)]  # two columns, and one


def expect_first_in_sight(page):
    top, end = page.evaluate(FIRST)
    assert end - 1 <= top < page.viewport_size["height"] / 2


def scroll(page, top: int) -> int:
    page.evaluate("top => scrollTo(0, top)", top)
    page.wait_for_timeout(400)
    return page.evaluate("scrollY")


@pytest.fixture(params=SIZES, ids=[str(width) for width, _ in SIZES])
def page(request, open_page, address):
    width, height = request.param
    page = open_page(f"{address}{SEARCH}?q=cabin", width=width)
    page.set_viewport_size({"width": width, "height": height})
    return page


@pytest.mark.datasette
def test_new_results_begin_at_the_top(page):
    scroll(page, 900)
    page.keyboard.press("Control+k")
    page.keyboard.type("garden", delay=60)
    page.wait_for_function("document.title.startsWith('garden')")
    expect_first_in_sight(page)
    page.wait_for_timeout(500)  # now all results are there
    expect_first_in_sight(page)


@pytest.mark.parametrize("result", [0, 2])
def test_back_to_one_of_the_first_results_shows_all_above_it(page, result):
    page.locator(".bear-title").nth(result).click()
    page.wait_for_url(re.compile("/note/"))
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("#note-"))
    page.wait_for_timeout(400)
    assert page.evaluate("scrollY") == 0


def test_the_next_page_begins_at_the_top(page):
    page.locator("#bear-q").fill("the")
    page.wait_for_function(
        "document.title.startsWith('the') && document.querySelector('.bear-next')"
    )
    page.locator(".bear-next").click()
    page.wait_for_url(re.compile("_next="))
    expect(page.locator(".bear-count")).to_contain_text("21")
    expect_first_in_sight(page)


def test_a_filter_begins_at_the_top(page):
    scroll(page, 700)
    page.locator("#bear-menu-tag > summary").evaluate("summary => summary.click()")
    page.locator(".bear-choice").nth(1).evaluate("link => link.click()")
    page.wait_for_url("**tag=**")
    page.locator(".bear-chip").first.wait_for()
    expect_first_in_sight(page)


def test_going_back_restores_the_place(page):
    before = scroll(page, 500)
    assert before > 300
    page.keyboard.press("Control+k")
    page.keyboard.type("garden", delay=60)
    page.wait_for_function("document.title.startsWith('garden')")
    page.wait_for_timeout(1200)
    page.go_back()
    page.wait_for_function("document.title.startsWith('cabin')")
    page.wait_for_timeout(300)
    assert abs(page.evaluate("scrollY") - before) < 3
