"""The list with the selected note beside it, and the page of a result, in Debian's Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from datasette_bear_search.web.pages.cards import LEAD, lead
from tests.support.chromium import needs_chromium

SEARCH = "/-/bear-search"
pytestmark = [*needs_chromium]

IN_SIGHT = """() => {
    const cards = [...document.querySelectorAll(".bear-card")].map((each) => each.getBoundingClientRect());
    const [title] = document.querySelectorAll(".bear-title");
    return [title.getBoundingClientRect().top, cards.filter((each) => each.bottom <= innerHeight).length];
}"""  # noqa: E501
SHIFTS = """() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({ type: "layout-shift" });
}"""


def preview(page):
    return page.locator("#bear-preview .bear-preview-title")


@pytest.mark.parametrize(
    ("width", "height", "top", "cards"), [(1280, 900, 230, 6), (390, 844, 250, 3)]
)
def test_many_results_are_in_sight(open_page, address, width, height, top, cards):
    for query in ("garden", "cabin", "how do we keep mice out of the cabin"):
        page = open_page(f"{address}{SEARCH}?q={query}", width=width)
        page.set_viewport_size({"width": width, "height": height})
        first, in_sight = page.evaluate(IN_SIGHT)
        assert first < top
        assert in_sight >= cards, query


@pytest.mark.datasette
def test_the_selected_note_stands_beside_the_list_and_the_address_holds_it(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    titles = page.locator(".bear-title")
    expect(preview(page)).to_have_text(titles.first.inner_text())
    assert page.url.endswith("?q=cabin")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(preview(page)).to_have_text(titles.nth(1).inner_text())
    assert page.url.endswith(f"#{page.locator('.bear-card').nth(1).get_attribute('id')}")
    page.reload()
    expect(preview(page)).to_have_text(titles.nth(1).inner_text())
    assert page.evaluate("document.activeElement.className") == "bear-title"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "bear-q"
    page.keyboard.press("Enter")
    page.wait_for_url("**/note/**")
    page.keyboard.press("Escape")
    page.wait_for_url("**?q=cabin#note-*")


def test_back_at_the_results_the_note_has_the_focus(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    page.locator(".bear-title").nth(1).click()
    page.wait_for_url("**/note/**")
    page.keyboard.press("Escape")
    page.wait_for_url("**?q=cabin#note-*")
    page.wait_for_load_state("load")
    page.wait_for_timeout(200)  # the browser goes to the fragment, and takes the focus away
    assert page.evaluate("document.activeElement.className") == "bear-title"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "bear-q"


def test_actions_under_the_mouse_dont_cover_why_a_note_was_found(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    card = page.locator(".bear-card").nth(2)
    card.hover()
    expect(card.locator(".bear-similar")).to_be_visible()
    card.locator(".bear-badge").last.hover(timeout=3_000)  # for its ranks


def test_a_bad_date_is_named_at_its_field_and_the_panel_stays(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    page.locator("#bear-options > summary").click()
    page.locator("[name=created_after]").fill("foo")
    page.keyboard.press("Enter")
    expect(page.locator("#bear-error-created_after")).to_contain_text("isn't a date")
    assert page.locator("#bear-error-created_after").is_visible()
    assert page.locator(".bear-card").count()


def test_a_note_opens_at_the_file_that_has_the_words(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=harbourview")
    page.set_viewport_size({"width": 1280, "height": 420})
    page.reload()
    place = page.locator("#bear-preview .bear-attachments mark")
    expect(place).to_be_in_viewport()
    page.locator(".bear-title").first.click()
    page.wait_for_url("**/note/**#passage")
    expect(page.locator(".bear-attachments mark")).to_be_in_viewport()


def test_a_click_beside_the_title_selects_and_one_on_it_opens(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    card = page.locator(".bear-card").nth(2)
    title = card.locator(".bear-title").inner_text()
    card.locator(".bear-snippet").click()
    expect(preview(page)).to_have_text(title)
    card.locator(".bear-title").click()
    page.wait_for_url("**/note/**")
    assert page.locator("h1").inner_text() == title


@pytest.mark.parametrize("options", [{"width": 1000}, {"java_script_enabled": False}])
def test_in_narrow_windows_only_the_list_is_shown(open_page, address, options):
    page = open_page(f"{address}{SEARCH}?q=cabin", **options)
    assert not page.locator("#bear-preview").is_visible()
    assert page.locator(".bear-card[aria-current]").count() == 0


def test_control_k_goes_to_the_box_from_everywhere(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    for _ in range(2):
        page.locator(".bear-title").first.focus()
        page.keyboard.press("Control+k")
        assert page.evaluate("document.activeElement.id") == "bear-q"
        if "/note/" not in page.url:
            page.locator(".bear-title").first.click()
            page.wait_for_url("**/note/**")
            page.evaluate("document.querySelector('h1').classList.add('bear-title')")


def test_i_shows_the_ranks(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin&mode=keyword")
    expect(preview(page)).to_have_text(page.locator(".bear-title").first.inner_text())
    page.keyboard.press("ArrowDown")
    badge = page.locator(".bear-badge").first
    expect(badge).to_have_text("Words", use_inner_text=True)
    page.keyboard.press("i")
    expect(badge).to_have_text("Words 1", use_inner_text=True)


def test_nothing_moves_after_results_appeared(open_page, address):
    page = open_page(f"{address}{SEARCH}")
    page.evaluate(SHIFTS)
    page.locator("#bear-q").press_sequentially("scrape website", delay=30)
    page.wait_for_function("document.title.startsWith('scrape website')")
    page.evaluate("window.shifts = 0")
    page.wait_for_timeout(900)
    assert page.evaluate("window.shifts") < 0.001


@pytest.mark.datasette
@pytest.mark.parametrize("has_script", [True, False])
def test_the_note_page_leads_to_the_next_and_previous_result(open_page, address, has_script):
    page = open_page(f"{address}{SEARCH}?q=cabin&_size=20", java_script_enabled=has_script)
    titles = page.locator(".bear-title").all_inner_texts()
    page.locator(".bear-title").first.click()
    page.wait_for_url("**/note/**")
    page.get_by_role("link", name="Next result").click()
    expect(page.locator("h1")).to_have_text(titles[1])
    if has_script:
        page.wait_for_load_state()  # now its script listens for keys
        page.keyboard.press("k")
    else:
        page.get_by_role("link", name="Previous result").click()
    expect(page.locator("h1")).to_have_text(titles[0])
    page.get_by_role("link", name="Previous result").click()
    page.wait_for_url(f"**{SEARCH}?q=cabin**")  # the first result is preceded by the list


def test_a_heading_and_the_markdown_can_be_copied(open_page, address):
    page = open_page(
        f"{address}{SEARCH}?q=build+log", permissions=["clipboard-read", "clipboard-write"]
    )
    page.locator(".bear-title", has_text="build log").click()
    page.wait_for_url("**/note/**")
    heading = page.locator(".bear-text h2, .bear-text h3").first
    heading.hover()
    heading.locator(".bear-anchor").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"/note/\d+.*#h-", copied)
    page.get_by_role("link", name="Copy Markdown").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('# ')")


@pytest.mark.datasette
def test_a_judgment_is_stored_without_leaving_the_page(open_page, sidecar, tmp_path):
    import shutil

    from datasette_bear_search.web.requests.settings import PLUGIN
    from tests.support.datasettes import served

    copy = shutil.copy(sidecar, tmp_path / "notes.db")
    with served(copy, config={"plugins": {PLUGIN: {"judgments": True}}}) as at:
        page = open_page(f"{at}{SEARCH}?q=cabin")
        assert page.locator(".bear-judge").count() == 0
        page.locator("#bear-options > summary").click()
        page.get_by_label("Show buttons below each result").check()
        button = page.get_by_role("button", name="Right note").first
        page.keyboard.press("Escape")
        page.evaluate("window.isTheSamePage = true")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert page.evaluate("window.isTheSamePage")
        page.reload()
        expect(button).to_have_attribute("aria-pressed", "true")


def test_a_tag_is_found_among_many(open_page, address):
    page = open_page(f"{address}{SEARCH}?sort=newest")
    page.locator("#bear-menu-tag > summary").click()
    page.get_by_label("Find a tag").fill("gard")
    values = page.locator("#bear-menu-tag .bear-choice:visible .bear-value")
    assert sorted(values.all_inner_texts()) == ["garden", "home"]


def test_searches_that_were_used_are_offered_again(open_page, address):
    page = open_page(f"{address}{SEARCH}")
    page.locator("#bear-q").fill("composting toilet")
    page.keyboard.press("Enter")
    page.wait_for_url("**?q=composting+toilet")
    page.locator("#bear-q").fill("")
    page.keyboard.press("ArrowDown")
    page.locator("[role=option]", has_text="searched before").click()
    page.wait_for_url("**?q=composting+toilet")


# Lists in snippets


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("short ⦗roof⦘", "short ⦗roof⦘"),
        ("a " * 200 + "⟪The roof leaks.⟫ Nothing else.", "⟪The roof leaks.⟫ Nothing else."),
        (
            "b " * 150 + "End. The ⦗roof⦘ and the ⦗ridge⦘ " + "c " * 150,
            "The ⦗roof⦘ and the ⦗ridge⦘ c",
        ),
    ],
)
def test_marked_text_is_always_visible(snippet, shown):
    from datasette_bear_search.search.results.marks import cut

    place = lead(snippet)
    before, text, after = cut(snippet, place)
    assert shown in text
    assert place[1] - place[0] <= max(LEAD, len(shown))
    assert (before + text + after).replace("⟫⟪", "") == snippet
