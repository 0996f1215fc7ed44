"""Typing on the search page in Debian's Chromium.

This covers live results, keys, suggestions and the browser's history.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from datasette_bear_search.embeddings import registry
from datasette_bear_search.web.pages.search import FIRST_RESULTS
from tests.support.bear_database import BearNote, write_library
from tests.support.chromium import needs_chromium
from tests.support.datasettes import indexed, served
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [*needs_chromium]

SEARCH = "/-/bear-search"
IS_FIRST = "bear-search-first"


@pytest.fixture
def page(chromium):
    """Open a page that fails the test if one of its scripts fails."""
    context = chromium.new_context()
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    context.close()
    assert errors == []


@pytest.fixture
def search(page, address):
    """Return a function that opens the search page: ``search("?q=roof")``."""

    def open_page(query: str = "", at: str = address):
        page.goto(f"{at}{SEARCH}{query}")
        # Reloading the page removes this.
        page.evaluate("window.isTheSamePage = true")

    return open_page


def type_text(page, text: str) -> None:
    """Type at the end of the search box."""
    page.locator("#bear-q").focus()
    page.keyboard.press("End")
    page.keyboard.type(text, delay=40)


def first_title(page):
    return page.locator(".bear-card .bear-title").first


def expect_first(page, title: str) -> None:
    from playwright.sync_api import expect

    expect(first_title(page)).to_have_text(title)


def expect_focus_on(page, title: str) -> None:
    page.wait_for_function("title => document.activeElement.innerText === title", arg=title)


def options(page) -> list[str]:
    page.locator("#bear-suggestions [role=option]").first.wait_for()
    return page.locator("#bear-suggestions bdi:first-child").all_inner_texts()


def expect_options(page, labels: list[str]) -> None:
    from playwright.sync_api import expect

    expect(page.locator("#bear-suggestions bdi:first-child")).to_have_text(labels)


def box_text(page) -> str:
    return page.locator("#bear-q").input_value()


def requests_of(page, pattern: str) -> list[str]:
    """Return the URLs of requests from now on; the list grows by itself."""
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if re.search(pattern, request.url) else None,
    )
    return asked


def typed_searches_of(page) -> list[str]:
    """Do the same for requests of first results, which are sent while somebody types."""
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if IS_FIRST in request.headers else None,
    )
    return asked


def ways_asked_for(page) -> list[str]:
    """Return how first results are requested from now on; the list grows by itself.

    Each is "words" or "meaning".
    """
    asked: list[str] = []
    page.on(
        "request",
        lambda request: (
            asked.append(request.headers[IS_FIRST]) if IS_FIRST in request.headers else None
        ),
    )
    return asked


def hold_the_others(page) -> list:
    """Hold all requests but those of first results.

    Return the list of held requests, which grows by itself.
    """
    held: list = []

    def hold(route):
        is_first = IS_FIRST in route.request.headers
        route.continue_() if is_first else held.append(route)

    page.route(re.compile(r"bear-search\?"), hold)
    return held


def release(page, held: list) -> None:
    """Let a held request continue, once there is one."""
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()


def rest(page) -> None:
    """Wait until what is shown becomes an entry in the browser's history."""
    page.wait_for_timeout(1200)


# Live results


@pytest.mark.datasette
def test_results_and_address_follow_what_is_typed(page, search):
    search()
    type_text(page, "composting toilet")
    expect_first(page, "Composting toilet")
    page.wait_for_url("**?q=composting+toilet")
    assert "composting toilet" in page.title()
    assert page.evaluate("window.isTheSamePage")
    assert page.evaluate("document.activeElement.id") == "bear-q"
    assert box_text(page) == "composting toilet"


def test_keys_in_quick_succession_are_one_search(page, search):
    search()
    asked = typed_searches_of(page)
    page.evaluate(
        """
        for (const text of ["s", "sl", "slu", "slug"]) {
            const box = document.getElementById("bear-q");
            box.value = text;
            box.dispatchEvent(new InputEvent("input", {bubbles: true}));
        }
        """
    )
    expect_first(page, "What the slugs taught me")
    assert len(asked) == 1


def test_spaces_alone_start_no_search(page, search):
    search("?q=slugs")
    asked = requests_of(page, r"bear-search\?")
    page.keyboard.press("End")
    type_text(page, "  ")
    page.wait_for_timeout(300)
    assert asked == []


def test_a_late_response_never_replaces_a_newer_one(page, search):
    search()
    held = []
    page.route(re.compile(r"bear-search\?q=slugs$"), lambda route: held.append(route))
    type_text(page, "slugs")
    page.wait_for_timeout(200)
    assert held
    page.locator("#bear-q").fill("composting toilet")
    expect_first(page, "Composting toilet")
    with suppress(Exception):  # the page has given it up
        held[0].continue_()
    page.wait_for_timeout(300)
    expect_first(page, "Composting toilet")
    assert page.url.endswith("?q=composting+toilet")


def test_a_key_at_the_end_of_a_pause_starts_a_search(page, search):
    page.add_init_script(
        """
        const [set, clear] = [window.setTimeout, window.clearTimeout];
        const waiting = new Map();
        window.setTimeout = (callback, delay) => {
            const timer = set(callback, delay);
            waiting.set(timer, [callback, delay]);
            return timer;
        };
        window.clearTimeout = (timer) => { clear(timer); waiting.delete(timer); };
        window.endTimersOf = (delay) => {
            for (const [callback, its] of [...waiting.values()]) if (its === delay) callback();
        };
        """
    )
    search()
    hold_the_others(page)
    page.locator("#bear-q").fill("composting toilet")
    expect_first(page, "Composting toilet")
    page.evaluate(
        """
        const box = document.getElementById("bear-q");
        box.value = "slugs";
        box.dispatchEvent(new InputEvent("input", {bubbles: true}));
        endTimersOf(200);
        """
    )
    expect_first(page, "What the slugs taught me")


def test_a_search_that_is_undone_is_forgotten(page, search):
    search("?q=composting+toilet")
    held = []
    page.route(re.compile(r"q=composting\+toilet\+"), lambda route: held.append(route))
    type_text(page, " slugs")
    page.wait_for_timeout(200)
    assert held
    page.locator("#bear-q").fill("composting toilet")
    page.wait_for_timeout(200)
    assert page.locator("#bear-results").get_attribute("aria-busy") is None
    for route in held:
        with suppress(Exception):  # the page has given it up
            route.continue_()
    page.wait_for_timeout(300)
    expect_first(page, "Composting toilet")
    assert page.url.endswith("?q=composting+toilet")


def test_the_first_results_come_first_and_a_moment_later_the_others(page, search):
    search()
    asked = requests_of(page, r"bear-search\?q=garden$")
    asked_first = typed_searches_of(page)
    held = hold_the_others(page)
    page.locator("#bear-q").fill("garden")
    page.locator("#bear-menus[inert]").wait_for(state="attached")
    assert page.locator(".bear-card").count() == FIRST_RESULTS
    kept = page.locator(".bear-card").first.element_handle()
    release(page, held)
    page.wait_for_function("document.querySelectorAll('.bear-card').length > 10")
    assert kept.evaluate("card => card.isConnected")  # existing results aren't rendered again
    assert page.locator("[inert]").count() == 0
    assert (len(asked), len(asked_first)) == (2, 1)


def test_nothing_moves_when_the_others_come(page, search):
    search()
    first = f"[...document.querySelectorAll('.bear-card')].slice(0, {FIRST_RESULTS})"
    places = f"{first}.map(card => card.offsetTop)"
    held = hold_the_others(page)
    for text in ("garden", "zzzzzz", "slug", "garden"):
        page.locator("#bear-q").fill(text)
        page.wait_for_function("text => document.title.startsWith(text)", arg=text)
        before = page.evaluate(places)
        release(page, held)
        page.wait_for_function("!document.querySelector('[data-first], [aria-busy], [inert]')")
        assert page.evaluate(places) == before, text


def test_all_results_follow_the_first_ones_though_a_space_was_typed(page, search):
    search()
    page.locator("#bear-q").fill("garden")
    page.locator("#bear-menus[inert]").wait_for(state="attached")
    page.keyboard.press("End")
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelectorAll('.bear-card').length > 10")
    assert page.locator("[inert]").count() == 0


def test_options_apply_as_they_are_changed(page, search):
    search("?q=compost")
    page.locator("#bear-options > summary").click()
    page.get_by_label("Sort by").select_option("title")
    page.wait_for_url("**?q=compost&sort=title")
    assert page.evaluate("window.isTheSamePage")


@pytest.mark.datasette
def test_links_to_other_searches_are_followed_in_place_and_the_form_with_them(page, search):
    search("?q=composting+toilet")
    page.locator(".bear-card").first.get_by_role("link", name="#cabin").click()
    page.wait_for_url("**tag=cabin**")
    page.locator(".bear-chip").first.wait_for()
    assert page.evaluate("window.isTheSamePage")
    assert page.locator("form.bear-form [name=tag][type=hidden]").input_value() == "cabin"
    type_text(page, " barrels")
    page.wait_for_url(re.compile("q=composting.*barrels&tag=cabin"))


def test_other_links_are_left_to_the_browser(page, search):
    search("?q=composting+toilet")
    page.locator("#bear-options > summary").click()
    page.locator("#bear-developers > summary").click()
    page.get_by_role("link", name="JSON", exact=True).click()
    page.wait_for_url("**/-/bear-search.json?**")


def test_the_count_is_announced_after_a_pause_and_the_list_is_not(page, search):
    from playwright.sync_api import expect

    search()
    type_text(page, "slugs")
    expect_first(page, "What the slugs taught me")
    status = page.locator("[role=status].bear-hidden")
    expect(status).to_have_text(re.compile(r"^\d+ results?"))
    assert page.locator("#bear-results").get_attribute("aria-live") is None


def test_the_focused_element_keeps_the_focus(page, search):
    search("?q=composting+toilet")
    page.locator(".bear-card .bear-title").nth(1).focus()
    focused = page.evaluate("document.activeElement.innerText")
    page.evaluate(
        """
        const box = document.getElementById("bear-q");
        box.value = "toilet composting";
        box.dispatchEvent(new InputEvent("input", {bubbles: true}));
        """
    )
    page.wait_for_url("**?q=toilet+composting")
    expect_focus_on(page, focused)


def test_a_chosen_value_of_a_filter_keeps_the_focus(page, search):
    search("?q=cabin")
    page.locator("#bear-menu-tag > summary").click()
    choice = page.locator("#bear-menu-tag .bear-choice:visible").first
    value = choice.locator(".bear-value").inner_text()
    choice.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**tag=**")
    page.locator(".bear-choice[aria-current]").wait_for()
    focused = "document.activeElement.querySelector('.bear-value')?.textContent"
    page.wait_for_function("document.activeElement !== document.body")
    assert page.evaluate(focused) == value


def test_the_list_has_the_focus_if_the_focused_card_is_gone(page, search):
    search("?q=composting+toilet")
    page.locator(".bear-card .bear-title").nth(1).focus()
    page.evaluate("document.querySelector('#bear-q').value = 'zxqvwk'")
    page.evaluate("document.querySelector('.bear-form').requestSubmit()")
    page.wait_for_url("**?q=zxqvwk")
    page.wait_for_function("document.activeElement.closest('#bear-results')")


@pytest.mark.datasette
def test_opened_details_stay_open(page, search):
    search("?q=cabi")
    page.locator("#bear-menu-modified > summary").click()
    page.locator("#bear-menu-modified li summary").first.click()
    type_text(page, "n")
    page.wait_for_url("**?q=cabin")
    page.wait_for_function("!document.querySelector('[inert]')")
    menu = page.locator("#bear-menu-modified")
    assert menu.get_attribute("open") is not None
    assert page.locator("#bear-menu-modified li details").first.get_attribute("open") is not None
    # After any click outside, Datasette before 1.0 closes every <details>, not just menus.
    page.mouse.click(4, 400)  # beside the results
    assert menu.get_attribute("open") is None
    assert page.locator("#bear-menu-modified li details").first.get_attribute("open") is not None


# When something fails


def test_without_a_response_the_old_results_stay_with_a_message(page, search):
    search("?q=composting+toilet")
    page.route(re.compile(r"bear-search\?"), lambda route: route.abort())
    type_text(page, "s")
    failure = page.locator(".bear-failure")
    failure.get_by_text("reach the server").wait_for()
    expect_first(page, "Composting toilet")
    page.unroute_all()
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=composting+toilets")
    assert not failure.is_visible()


@pytest.mark.datasette
def test_a_search_that_took_too_long_leaves_the_old_results_and_says_so(page, search):
    search("?q=composting+toilet")
    answer = """
        <title>Search notes</title><form class="bear-form"><input id="bear-q"></form>
        <div id="bear-results"><p class="message-error">The search took too long.</p></div>
    """
    page.route(
        re.compile(r"bear-search\?"),
        lambda route: route.fulfill(status=503, body=answer, content_type="text/html"),
    )
    type_text(page, "s")
    page.locator(".bear-failure").get_by_text("The search took too long.").wait_for()
    expect_first(page, "Composting toilet")


# History


@pytest.mark.datasette
def test_back_leads_through_searches_and_not_through_letters(page, search):
    search()
    type_text(page, "slugs")
    expect_first(page, "What the slugs taught me")
    rest(page)
    page.locator("#bear-q").fill("")
    type_text(page, "composting toilet")
    expect_first(page, "Composting toilet")
    page.wait_for_url("**?q=composting+toilet")
    page.go_back()
    expect_first(page, "What the slugs taught me")
    assert box_text(page) == "slugs"
    assert page.url.endswith("?q=slugs")
    page.go_back()
    page.wait_for_url(f"**{SEARCH}")
    page.wait_for_function("document.getElementById('bear-q').value === ''")
    page.go_forward()
    expect_first(page, "What the slugs taught me")
    assert page.evaluate("window.isTheSamePage")


def test_sending_the_form_makes_an_entry_of_the_history_at_once(page, search):
    search()
    for text in ("slugs", "composting toilet"):
        page.locator("#bear-q").fill(text)
        page.evaluate("document.querySelector('form.bear-form').requestSubmit()")
        page.wait_for_url(f"**?q={text.replace(' ', '+')}")
    page.go_back()
    expect_first(page, "What the slugs taught me")
    assert page.evaluate("window.isTheSamePage")


def test_enter_makes_an_entry_of_the_history_even_if_the_next_key_comes_before_the_answer(
    page, search
):
    search()
    page.locator("#bear-q").fill("slugs")
    page.wait_for_url("**?q=slugs")
    page.evaluate(
        """() => {
          const box = document.querySelector("#bear-q");
          box.form.requestSubmit();
          box.value = "composting toilet";
          box.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    page.wait_for_url("**?q=composting+toilet")
    page.go_back()
    expect_first(page, "What the slugs taught me")


def test_back_from_a_note_shows_the_search_again(page, search):
    search()
    type_text(page, "composting toilet")
    expect_first(page, "Composting toilet")
    page.wait_for_url("**?q=composting+toilet")
    first_title(page).click()
    page.wait_for_url(lambda url: SEARCH not in url or "/note/" in url)
    page.go_back()
    expect_first(page, "Composting toilet")
    assert box_text(page) == "composting toilet"


# Keys


@pytest.mark.datasette
def test_slash_goes_to_the_box_and_not_to_the_menu_of_datasette(page, search):
    search("?q=slugs")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "bear-q"
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.type("/")
    assert box_text(page) == "/"


def test_letters_are_letters_in_the_box_and_in_other_fields(page, search):
    search()
    type_text(page, "jok?")
    assert box_text(page) == "jok?"
    search()
    page.locator("#bear-menu-tag > summary").click()
    field = page.get_by_label("Find a tag")
    page.wait_for_function("document.activeElement.className === 'bear-tag-search'")
    field.press_sequentially("jok/?")
    assert field.input_value() == "jok/?"


def test_enter_chooses_the_first_tag_that_is_left(page, search):
    search("?q=a")
    page.locator("#bear-menu-tag > summary").click()
    field = page.get_by_label("Find a tag")
    field.press_sequentially("note")  # which isn't in a tag, but beside each
    assert page.locator("#bear-menu-tag li:visible").count() == 0
    field.fill("bin")
    field.press("Enter")
    page.wait_for_url("**tag=cabin**")


def test_a_question_mark_shows_the_keys(page, search):
    search("?q=slugs")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("?")
    shown = page.locator("#bear-help .bear-panel")
    assert "open the note" in shown.inner_text()
    assert "linked-to:" in shown.inner_text()
    page.keyboard.press("?")
    assert not shown.is_visible()
    page.locator("#bear-help summary").click()
    page.keyboard.press("Escape")
    assert not shown.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "?"


def test_keys_with_modifiers_are_the_browsers(page, search):
    search("?q=slugs")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Alt+j")
    page.keyboard.press("Alt+/")
    page.keyboard.press("Control+/")
    assert page.evaluate("document.activeElement.closest('#bear-results, .bear-form')") is None


# Suggestions


@pytest.mark.datasette
def test_a_tag_is_completed_with_the_keyboard(page, search):
    search()
    box = page.get_by_role("combobox", name="Search notes")
    type_text(page, "toilet tag:ca")
    expect_options(page, ["cabin"])
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    active = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
    assert active.get_attribute("aria-selected") == "true"
    assert "11 notes" in active.inner_text()
    page.keyboard.press("Enter")
    assert box_text(page) == "toilet tag:cabin "
    expect_first(page, "Composting toilet")
    page.wait_for_url("**?q=toilet+tag%3Acabin")
    assert box.get_attribute("aria-expanded") == "false"


def test_an_operator_leads_on_to_its_values(page, search):
    search()
    type_text(page, "🏡 ha")
    expect_options(page, ["has:"])
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Enter")
    assert box_text(page) == "🏡 has:"
    page.locator("[role=option]", has_text="todo").click()
    assert box_text(page) == "🏡 has:todo "
    assert page.evaluate("document.activeElement.id") == "bear-q"


def test_enter_without_a_choice_searches_for_what_was_typed(page, search):
    search()
    type_text(page, "tag:ca")
    options(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=tag%3Aca")
    assert box_text(page) == "tag:ca"
    assert not page.locator("#bear-suggestions").is_visible()


@pytest.mark.parametrize("isComposing", [True, False], ids=["Chromium", "Safari"])
def test_enter_that_ends_a_composition_neither_opens_nor_chooses(page, search, isComposing):
    search()
    type_text(page, "slugs")
    expect_first(page, "What the slugs taught me")
    page.wait_for_function("document.querySelector('.bear-card[aria-current]')")
    key = {"key": "Enter", "keyCode": 229, "isComposing": isComposing, "cancelable": True}
    press = "(box, key) => box.dispatchEvent(new KeyboardEvent('keydown', {...key, bubbles: true}))"
    box = page.locator("#bear-q")
    assert box.evaluate(press, key)  # the key is left to the input method
    type_text(page, " #ga")
    assert options(page)
    page.keyboard.press("ArrowDown")
    assert box.evaluate(press, key)
    assert box.input_value() == "slugs #ga"
    assert page.evaluate("window.isTheSamePage")


def test_escape_closes_the_suggestions_and_leaves_the_text(page, search):
    search()
    type_text(page, "tag:ca")
    options(page)
    page.keyboard.press("Escape")
    assert not page.locator("#bear-suggestions").is_visible()
    assert box_text(page) == "tag:ca"


def test_alt_and_arrow_show_what_can_be_typed(page, search):
    search()
    page.locator("#bear-q").press("Alt+ArrowDown")
    assert {"tag:", "created:", "linked-to:"} <= set(options(page))


@pytest.mark.datasette
def test_titles_are_text_and_never_markup(page, search, tmp_path):
    library = tmp_path / "database.sqlite"
    write_library(library, [BearNote("# Roof <img src=x onerror=window.pwned=1>")])
    with served(indexed(library, "--no-semantic")) as address:
        search(at=address)
        type_text(page, "roof")
        expect_first(page, "Roof <img src=x onerror=window.pwned=1>")
        assert page.evaluate("window.pwned") is None
        assert page.locator("#bear-results img, #bear-suggestions img").count() == 0


# Slow models


@pytest.fixture
def library(tmp_path) -> Path:
    library = tmp_path / "database.sqlite"
    write_library(library, [BearNote("# Shingles\n\nA roof."), BearNote("# Roofing the shed")])
    return library


@pytest.mark.datasette
def test_results_by_meaning_follow_when_the_model_is_loaded(page, search, library):
    loads = threading.Event()

    class SlowToLoad(TinyEmbedder):
        def open_model(self):
            loads.wait(10)
            return super().open_model()

    sidecar = indexed(library)
    registry.register(TINY, lambda: SlowToLoad(TINY))
    with served(sidecar) as address:
        search("?q=roof", at=address)
        page.get_by_text("still loading").wait_for()
        loads.set()
        page.locator('.bear-badge[title*="meaning"]').first.wait_for()
        assert page.get_by_text("still loading").count() == 0
        assert page.evaluate("window.isTheSamePage")


def test_results_by_words_come_first_if_meaning_is_slow(page, search, library):
    class SlowToThink(TinyEmbedder):
        def encode(self, texts, *, is_query):
            time.sleep(0.4 if is_query else 0)
            return super().encode(texts, is_query=is_query)

    sidecar = indexed(library)
    registry.register(TINY, lambda: SlowToThink(TINY))
    registry.get_embedder(TINY).load()
    with served(sidecar) as address:
        search(at=address)
        page.locator("#bear-q").fill("shed")
        page.locator('.bear-badge[title*="meaning"]').first.wait_for()
        asked = ways_asked_for(page)
        page.locator("#bear-q").fill("roof")
        page.wait_for_function("!document.querySelector('.bear-badge[title*=meaning]')")
        expect_first(page, "Roofing the shed")
        links = page.locator("#bear-results a").evaluate_all("links => links.map(a => a.href)")
        assert page.locator(".bear-chip").count() == 0  # nobody chose keyword search
        page.locator('.bear-badge[title*="meaning"]').first.wait_for()
        assert asked == ["words", "meaning"]
        assert not any("mode=" in link for link in links)
        assert page.url.endswith("?q=roof")


def test_results_by_words_are_not_loaded_twice_without_a_model(page, search):
    def delay(route):
        page.wait_for_timeout(200)
        route.continue_()

    search()
    page.route(re.compile(r"bear-search\?"), delay)
    asked = ways_asked_for(page)
    for text, title in {
        "composting toilet": "Composting toilet",
        "slugs": "What the slugs taught me",
    }.items():
        page.locator("#bear-q").fill(text)
        expect_first(page, title)
    assert asked == ["meaning", "meaning"]


# Everywhere


@pytest.mark.datasette
def test_everything_works_below_a_base_url(page, search, sidecar):
    with served(sidecar, base_url="/my/") as address:
        search(at=f"{address}/my")
        type_text(page, "composting tag:ca")
        expect_options(page, ["cabin"])
        page.wait_for_url("**/my/-/bear-search?q=composting+tag%3Aca")
        page.locator("[role=option]").click()
        page.wait_for_url("**/my/-/bear-search?q=composting+tag%3Acabin")
        page.keyboard.press("Enter")
        page.wait_for_url("**/my/-/bear-search/note/**")


@pytest.mark.datasette
def test_without_scripts_the_page_is_a_form(chromium, address):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}{SEARCH}")
    page.locator("#bear-q").fill("composting toilet")
    page.get_by_role("button", name="Search").click()
    expect_first(page, "Composting toilet")
    page.locator(".bear-card").first.get_by_role("link", name="#cabin").click()
    page.wait_for_url("**tag=cabin**")
    page.locator("#bear-help summary").click()
    assert page.get_by_role("heading", name="Search syntax").is_visible()
    context.close()


def test_the_first_key_reaches_the_box(page, search):
    # A browser sets autofocus with its first frame, which may be too late for the first key.
    page.add_init_script(
        "document.addEventListener('DOMContentLoaded', () =>"
        " (window.focusedAtFirst = document.activeElement.id))"
    )
    search()
    assert page.evaluate("focusedAtFirst") == "bear-q"
