"""Dragging over the histogram in Debian's Chromium, with mouse and touch, and canceling it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from datasette_bear_search.query.filter_values import describe_operator
from datasette_bear_search.web.pages.facets import period_name
from tests.support.chromium import needs_chromium
from tests.support.datasettes import served

pytestmark = [*needs_chromium]

BARS = ".bear-time svg a"


def months(page) -> list[tuple[str, int]]:
    """Return the month that each bar links to, and its number of notes."""
    bars = page.locator(BARS)
    links = bars.evaluate_all("bars => bars.map(bar => bar.getAttribute('href'))")
    notes = [int(title.split(": ")[1]) for title in bars.locator("title").all_text_contents()]
    return list(zip([parse_qs(urlsplit(url).query)["modified_after"][0] for url in links], notes))


@pytest.fixture
def open_histogram(open_page):
    """Return a function that opens a page and its menu with the histogram."""

    def open_at(url, **options):
        page = open_page(url, **options)
        page.locator("#bear-menu-modified > summary").click()
        return page

    return open_at


def middle(page, number: int) -> tuple[float, float]:
    box = page.locator(BARS).nth(number).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + 5


def drag(page, first: int, last: int) -> None:
    """Press the mouse button on a bar and move to another bar, without releasing it."""
    page.mouse.move(*middle(page, first))
    page.mouse.down()
    page.mouse.move(*middle(page, last), steps=8)


def chip(after: str, before: str) -> str:
    return describe_operator("modified", f"{after}..{before}", is_negated=False)


def expect_narrowed(page, after: str, before: str, notes: int) -> None:
    page.wait_for_url(f"**modified_after={after}&modified_before={before}**")
    page.get_by_text(chip(after, before)).wait_for()
    assert page.locator(".bear-count").inner_text().split()[0] == str(notes)


@pytest.mark.parametrize("way", [(1, 3), (3, 1)], ids=["forward", "backward"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dragging_over_bars_searches_their_time(open_histogram, address, way, scheme):
    page = open_histogram(f"{address}/-/bear-search?q=cabin", color_scheme=scheme)
    page.evaluate("window.isTheSamePage = true")
    found = months(page)
    drag(page, *way)
    assert page.locator(".bear-picked").count()
    names = [period_name(found[bar][0]) for bar in (1, 3)]
    assert page.locator(".bear-range").inner_text() == " – ".join(names)
    page.mouse.up()
    expect_narrowed(page, found[1][0], found[3][0], sum(notes for _, notes in found[1:4]))
    assert page.evaluate("window.isTheSamePage")
    page.go_back()
    page.wait_for_url("**?q=cabin")
    page.get_by_text(chip(found[1][0], found[3][0])).wait_for(state="detached")
    page.wait_for_function("!document.querySelector('[inert]')")
    assert months(page) == found


def test_escape_cancels_a_drag(open_histogram, address):
    page = open_histogram(f"{address}/-/bear-search?q=cabin")
    ends = page.locator(".bear-ends").inner_text()
    drag(page, 1, 3)
    page.keyboard.press("Escape")
    assert page.locator(".bear-picked").count() == 0
    assert page.locator(".bear-ends").inner_text() == ends
    page.mouse.move(*middle(page, 4))
    page.mouse.up()
    page.wait_for_timeout(300)
    assert page.url.endswith("?q=cabin")
    page.locator(BARS).nth(2).click()
    page.wait_for_url("**modified_after=**")


def test_a_drag_ends_outside_the_histogram_as_well(open_histogram, address):
    page = open_histogram(f"{address}/-/bear-search?q=cabin")
    found = months(page)
    drag(page, 2, len(found) - 1)
    page.mouse.move(1270, 700)
    page.mouse.up()
    expect_narrowed(page, found[2][0], found[-1][0], sum(notes for _, notes in found[2:]))


def test_a_finger_drags_too(open_histogram, address):
    page = open_histogram(f"{address}/-/bear-search?q=cabin", width=320, has_touch=True)
    found = months(page)
    (x, y), (to, _) = middle(page, 0), middle(page, 4)
    touch = page.context.new_cdp_session(page)
    for type_, points in [
        ("touchStart", [x]),
        *(("touchMove", [x + (to - x) * step / 5]) for step in range(1, 6)),
        ("touchEnd", []),
    ]:
        points = [{"x": point, "y": y} for point in points]
        touch.send("Input.dispatchTouchEvent", {"type": type_, "touchPoints": points})
    expect_narrowed(page, found[0][0], found[4][0], sum(notes for _, notes in found[:5]))


def test_a_range_within_a_range_stays_in_it(open_histogram, address):
    page = open_histogram(f"{address}/-/bear-search?q=cabin&modified_after=2022-06-02")
    found = months(page)
    assert found[0][0] == "2022-06-02"
    drag(page, 0, 2)
    page.mouse.up()
    page.wait_for_url(f"**modified_before={found[2][0]}**")
    assert "modified_after=2022-06-02" in page.url


@pytest.mark.parametrize("width", [320, 1280])
def test_dragging_moves_nothing_else(open_histogram, address, width):
    page = open_histogram(f"{address}/-/bear-search?q=cabin", width=width)
    places = "[...document.querySelectorAll('.bear-card')].map(card => card.offsetTop)"
    before = page.evaluate(places)
    drag(page, 0, 4)
    assert page.evaluate(places) == before
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("String(getSelection())") == ""


def test_dragging_works_below_a_base_url(open_histogram, sidecar):
    with served(sidecar, base_url="/my/") as at:
        page = open_histogram(f"{at}/my/-/bear-search?q=cabin")
        found = months(page)
        drag(page, 0, 2)
        page.mouse.up()
        expect_narrowed(page, found[0][0], found[2][0], sum(notes for _, notes in found[:3]))
        assert re.search(r"/my/-/bear-search\?", page.url)
