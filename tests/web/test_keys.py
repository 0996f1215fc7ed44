"""What each key does on the search page and a note's page, in Debian's Chromium.

The rows are those of the table in docs/search-page.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.chromium import needs_chromium

SEARCH = "/-/bear-search"
pytestmark = [*needs_chromium]

# Functions that bring the page into a state. Each begins with the results of "cabin" and the cursor
# in the box.


def in_box(page):
    page.locator("#bear-q").focus()


def on_second_card(page):
    page.keyboard.press("ArrowDown")


def on_first_card(page):
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")


def with_help_from_a_card(page):
    on_second_card(page)
    page.keyboard.press("?")


def with_a_menu(page):
    page.locator("#bear-menu-tag > summary").click()


def with_a_menu_and_the_focus_elsewhere(page):
    page.locator("#bear-menu-modified > summary").click()
    in_box(page)


def with_values(page):
    page.locator("#bear-q").fill("cabin tag:ho")
    page.locator("[role=option]").first.wait_for()


def with_words(page):
    """Show suggestions for a word."""
    page.locator("#bear-q").fill("cab")
    page.locator("[role=option]", has_text="#cabin").wait_for()
    page.wait_for_function("document.title.startsWith('cab ')")


def with_an_empty_box(page):
    page.locator("#bear-q").fill("")
    page.locator(".bear-home").wait_for()


def with_weak_results_only(page):
    page.locator("#bear-q").fill("zxqvwk")
    page.locator(".bear-nothing").wait_for()


STATES = {
    "box": in_box,
    "first card": on_first_card,
    "second card": on_second_card,
    "help opened from a card": with_help_from_a_card,
    "menu open": with_a_menu,
    "menu open, focus in the box": with_a_menu_and_the_focus_elsewhere,
    "suggested values": with_values,
    "suggestions for a word": with_words,
    "empty box": with_an_empty_box,
    "nothing found": with_weak_results_only,
}

# Functions that check what happened. Each gets the page and the titles that were listed.


def focus(page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.innerText")


def opens(number: int):
    def check(page, titles, opened):
        page.wait_for_url("**/note/**")
        expect(page.locator("h1")).to_have_text(titles[number])
        assert "q=cabin" in page.url

    return check


def opens_in_app(number: int):
    def check(page, titles, opened):
        page.wait_for_function("window.opened")
        assert page.evaluate("window.opened") == opened[number]

    return check


def focuses_card(number: int):
    def check(page, titles, opened):
        assert focus(page) == titles[number]
        current = page.locator(".bear-card[aria-current] .bear-title")
        assert current.all_inner_texts() == [titles[number]]

    return check


def focuses_box(text: str | None = "cabin"):
    """Check that the box has the focus, and that this text is selected."""

    def check(page, titles, opened):
        assert focus(page) == "bear-q"
        selected = "e => e.value.slice(e.selectionStart, e.selectionEnd)"
        assert text is None or page.locator("#bear-q").evaluate(selected) == text
        assert page.locator(".bear-menu[open]").count() == 0

    return check


def closes_help_only(page, titles, opened):
    assert not page.locator("#bear-help .bear-panel").is_visible()
    assert focus(page) == titles[1]


def closes_menu(page, titles, opened):
    assert page.locator(".bear-menu[open]").count() == 0
    assert page.evaluate("document.activeElement.localName") == "summary"


def closes_suggestions(page, titles, opened):
    assert not page.locator("#bear-suggestions").is_visible()
    assert page.locator("#bear-q").input_value().startswith("cab")
    assert focus(page) == "bear-q"


def selects_suggestion(page, titles, opened):
    page.locator("[role=option][aria-selected=true]").wait_for()
    assert focus(page) == "bear-q"


def selects_second_result(page, titles, opened):
    assert not page.locator("#bear-suggestions").is_visible()
    assert focus(page) == page.locator(".bear-title").nth(1).inner_text()


def shows_what_can_be_typed(page, titles, opened):
    page.locator("[role=option]", has_text="#cabin").or_(
        page.locator("[role=option]", has_text="linked-to:")
    ).first.wait_for()


def searches_again(page, titles, opened):
    page.wait_for_function("window.asked")
    assert "/note/" not in page.url
    assert page.locator(".bear-card[aria-current]").count() == 0


def opens_help(page, titles, opened):
    assert page.locator("#bear-help .bear-panel").is_visible()


def shows_ranks(page, titles, opened):
    assert page.locator("#bear-results.bear-ranks").count()


# state, key, what happens in the words of the docs, check
KEYS = [
    ("box", "ArrowDown", "to the second result", focuses_card(1)),
    ("box", "Enter", "open the first result", opens(0)),
    ("box", "Control+Enter", "open the first result in its app", opens_in_app(0)),
    ("box", "Escape", "select the text", focuses_box()),
    ("box", "Alt+ArrowDown", "show suggestions", shows_what_can_be_typed),
    ("empty box", "ArrowDown", "show suggestions", shows_what_can_be_typed),
    ("first card", "ArrowUp", "to the box", focuses_box(None)),
    ("second card", "ArrowUp", "to the result above", focuses_card(0)),
    ("second card", "k", "to the result above", focuses_card(0)),
    ("second card", "ArrowDown", "to the result below", focuses_card(2)),
    ("second card", "j", "to the result below", focuses_card(2)),
    ("second card", "Enter", "open it", opens(1)),
    ("second card", "Control+Enter", "open it in its app", opens_in_app(1)),
    ("second card", "o", "open it in its app", opens_in_app(1)),
    ("second card", "i", "show ranks", shows_ranks),
    ("second card", "Escape", "to the box, its text selected", focuses_box()),
    ("second card", "/", "to the box, its text selected", focuses_box()),
    ("second card", "Control+k", "to the box, its text selected", focuses_box()),
    ("second card", "?", "show help", opens_help),
    ("help opened from a card", "Escape", "close help, focus stays", closes_help_only),
    ("menu open", "Escape", "close it, focus on its button", closes_menu),
    ("menu open, focus in the box", "Escape", "close it", focuses_box(None)),
    ("suggested values", "ArrowDown", "to the first suggestion", selects_suggestion),
    ("suggested values", "Escape", "close the list", closes_suggestions),
    ("suggestions for a word", "ArrowDown", "to the second result", selects_second_result),
    ("suggestions for a word", "Alt+ArrowDown", "to the first suggestion", selects_suggestion),
    ("suggestions for a word", "Escape", "close the list", closes_suggestions),
    ("nothing found", "Enter", "search again", searches_again),
]


@pytest.fixture
def page(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    page.evaluate(
        """() => document.addEventListener("click", (event) => {
            const link = event.target.closest("a[href^='bear:']");
            if (link) { event.preventDefault(); window.opened = link.href; }
        })"""
    )
    page.locator(".bear-preview-title").wait_for()
    return page


def parameters() -> Iterator:
    """Yield the rows. On Datasette 1.0, which has keys of its own, each key is tested once."""
    known = set()
    for state, key, meaning, check in KEYS:
        marks = [] if key in known else [pytest.mark.datasette]
        known.add(key)
        yield pytest.param(state, key, meaning, check, marks=marks, id=f"{state}: {key}")


@pytest.mark.parametrize(("state", "key", "meaning", "check"), [*parameters()])
def test_a_key_has_one_meaning(page, state, key, meaning, check):
    titles = page.locator(".bear-card .bear-title").all_inner_texts()
    links = page.locator(".bear-card .bear-open")
    opened = [link.get_attribute("href") for link in links.all()]
    STATES[state](page)
    if check is searches_again:
        page.on("request", lambda request: page.evaluate("window.asked = true"))
    page.keyboard.press(key)
    check(page, titles, opened)


def test_the_docs_have_the_table_of_keys():
    text = Path("docs/search-page.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert {(state, key.strip("`"), what) for state, key, what in rows} >= {
        (state, key, what) for state, key, what, _ in KEYS
    }


@pytest.mark.parametrize("delay", [0, 150, 400])
def test_enter_opens_the_first_result_although_its_answer_is_under_way(page, delay):
    def late(route):
        page.wait_for_timeout(300)
        route.continue_()

    page.route(re.compile(r"bear-search\?"), late)
    page.locator("#bear-q").fill("composting toilet")
    page.wait_for_timeout(delay)
    page.keyboard.press("Enter")
    page.wait_for_url("**/note/**")
    expect(page.locator("h1")).to_have_text("Composting toilet")


def test_another_key_forgets_enter(page):
    held = []
    page.route(re.compile(r"bear-search\?"), lambda route: held.append(route))
    page.locator("#bear-q").fill("slugs")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    page.unroute_all()
    for route in held:
        with suppress(Exception):  # the page has given it up
            route.continue_()
    expect(page.locator(".bear-title").first).to_have_text("What the slugs taught me")
    page.wait_for_timeout(300)
    assert "/note/" not in page.url


def test_escape_never_erases_the_text(page):
    page.keyboard.press("ArrowDown")
    page.keyboard.press("?")
    for _ in range(5):
        page.keyboard.press("Escape")
    assert page.locator("#bear-q").input_value() == "cabin"
    assert "q=cabin" in page.url


@pytest.fixture
def reading(open_page, address):
    """Show a note with several matches beside the results, with the focus on its card."""
    page = open_page(f"{address}{SEARCH}?q=water")
    page.locator("#bear-preview .bear-text mark").nth(1).wait_for()
    on_first_card(page)
    return page


def test_n_goes_from_match_to_match_in_the_note_beside_the_results(reading):
    marks = reading.locator("#bear-preview .bear-text mark")
    current = "[...document.querySelectorAll('.bear-text mark')].findIndex(m => m.ariaCurrent)"
    for key, place in [("n", 0), ("n", 1), ("N", 0)]:
        reading.keyboard.press(key)
        assert reading.evaluate(current) == place
        expect(marks.nth(place)).to_be_in_viewport()


def test_n_goes_from_match_to_match_on_the_page_of_a_note(reading):
    reading.keyboard.press("Enter")
    reading.wait_for_url("**/note/**")
    reading.wait_for_load_state()
    reading.keyboard.press("n")
    expect(reading.locator("mark[aria-current]").first).to_be_in_viewport()


def test_escape_in_the_box_of_a_note_page_keeps_its_text(reading):
    reading.keyboard.press("Enter")
    reading.wait_for_url("**/note/**")
    reading.wait_for_load_state()
    reading.keyboard.press("/")
    reading.keyboard.press("Escape")
    assert reading.locator("#bear-q").input_value() == "water"
    reading.keyboard.press("Escape")
    reading.wait_for_url("**?q=water#note-*")


def test_why_a_note_is_missing_can_be_asked_by_keyboard(page):
    page.goto(page.url.replace("cabin", "stove"))
    page.get_by_role("link", name="Why isn't my note here?").press("Enter")
    field = page.get_by_label("Title of the note that isn't here")
    expect(field).to_be_focused()
    assert field.bounding_box()["width"] > 200
    page.keyboard.type("Shed plans")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“Shed plans”")).to_be_in_viewport()
