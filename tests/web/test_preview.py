"""The list with the selected note beside it, and the page of a result, in Debian's Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from datasette_bear_search.search.results.marks import MarkedText
from datasette_bear_search.search.results.snippets import LEAD_CHARACTERS, lead
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.chromium import needs_chromium
from tests.support.datasettes import indexed, served
from tests.support.marks import with_marks

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
        page.add_style_tag(content=".bear-notice { display: none }")  # this index has no vectors
        first, in_sight = page.evaluate(IN_SIGHT)
        assert first < top
        assert in_sight >= cards, query


@pytest.mark.datasette
def test_the_selected_note_stands_beside_the_list_and_the_address_holds_it(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    titles = page.locator(".bear-title")
    expect(preview(page)).to_have_text(titles.first.inner_text())
    assert page.url.endswith("?q=cabin")
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


@pytest.mark.parametrize("number", [0, 2], ids=["selected", "another"])
def test_actions_under_the_mouse_are_not_mixed_with_the_title(open_page, address, number):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    card = page.locator(".bear-card").nth(number)
    card.hover()
    color = "e => getComputedStyle(e).backgroundColor"
    assert card.locator(".bear-actions").evaluate(color) == card.evaluate(color)


def test_a_note_opens_at_the_file_that_has_the_words(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=harbourview")
    page.set_viewport_size({"width": 1280, "height": 420})
    page.reload()
    place = page.locator("#bear-preview .bear-attachments mark")
    expect(place).to_be_in_viewport()
    page.locator(".bear-title").first.click()
    page.wait_for_url("**/note/**#passage")
    expect(page.locator(".bear-attachments mark")).to_be_in_viewport()


def test_a_note_is_shown_from_its_title_or_at_a_passage_further_down(open_page, tmp_path):
    rest = "\n\n".join(f"{number}. {'Something else. ' * 30}" for number in range(40))
    long = f"{rest}\n\nThe walnut tree was planted here.\n\n"
    high = f"{'A title of several lines ' * 6}\n#tree\n\nA walnut.\n\n{rest}"
    notes = [BearNote(f"# {text}") for text in (f"Far\n\n{long}{rest}", high, f"End\n\n{long}")]
    sidecar = indexed(bear_library(tmp_path / "database.sqlite", notes), "--no-semantic")
    with served(sidecar) as address:
        page = open_page(f"{address}{SEARCH}?q=walnut")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
            title = page.locator("[aria-current] .bear-title").inner_text()
            expect(preview(page)).to_have_text(title)
            expect(page.locator("#bear-preview mark").last).to_be_in_viewport()
            if title.startswith("A title"):
                expect(preview(page)).to_be_in_viewport(ratio=1)


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
        page.locator("#bear-developers > summary").click()
        page.get_by_role("link", name="Rate results").click()
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
    page.wait_for_url("**/note/**")
    page.goto(f"{address}{SEARCH}")
    page.keyboard.press("ArrowDown")
    page.locator("[role=option]", has_text="searched before").click()
    page.wait_for_url("**?q=composting+toilet")


def test_links_to_copy_are_short(open_page, address):
    page = open_page(
        f"{address}{SEARCH}?q=build+log", permissions=["clipboard-read", "clipboard-write"]
    )
    page.locator(".bear-preview-title").wait_for()
    for name, expected in [
        ("Copy link", rf"{address}{SEARCH}/note/\d+"),
        ("Copy link for Bear", "bear://.*"),
    ]:
        page.locator("#bear-preview").get_by_role("link", name=name, exact=True).click()
        page.get_by_text("Copied").wait_for()
        assert re.fullmatch(expected, page.evaluate("navigator.clipboard.readText()"))
        page.get_by_text("Copied").wait_for(state="detached")


def test_links_to_other_notes_keep_the_query(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=cabin")
    page.locator("#bear-preview .bear-around a").first.click()
    page.wait_for_url(re.compile(r"/note/\d+\?q=cabin"))
    page.wait_for_load_state()
    page.keyboard.press("Escape")
    page.wait_for_url("**?q=cabin#note-*")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_timeline_is_at_the_end_of_the_line_or_in_the_menu(open_page, address, width):
    page = open_page(f"{address}{SEARCH}?q=cabin", width=width)
    bars = page.locator(".bear-time svg")
    assert bars.is_visible() is (width == 1280)
    page.locator("#bear-menu-modified > summary").click()
    box, panel = (
        page.locator(each).bounding_box()
        for each in (".bear-time svg", "#bear-menu-modified .bear-panel")
    )
    if width == 1280:
        assert box["x"] + box["width"] > 1000
        assert box["y"] + box["height"] <= panel["y"]
    else:
        assert (
            panel["y"]
            <= box["y"]
            < page.locator("#bear-menu-modified .bear-choice").first.bounding_box()["y"] - 30
        )


def test_meta_lines_are_whole_with_two_sources_on_a_phone(open_page, tmp_path):
    from tests.support.bear_database import BearNote, write_library
    from tests.support.datasettes import indexed, served

    library = tmp_path / "database.sqlite"
    write_library(library, [BearNote("# Roof\n\nLeaks.", tags=("kitchen/long/names/of/tags",))])
    vault = tmp_path / "A vault with a long name"
    vault.mkdir()
    (vault / "Roof plan.md").write_text("The roof #kitchen/long/names/of/tags #another/long/tag")
    indexed(library, str(vault), "--no-semantic")
    with served(tmp_path / "notes.db") as at:
        page = open_page(f"{at}{SEARCH}?q=roof", width=390)
        inside = page.locator(".bear-details").evaluate_all(
            """lines => lines.flatMap(line => [...line.children].map(child => [
                line.getBoundingClientRect().bottom, child.getBoundingClientRect().bottom]))"""
        )
        assert len(inside) >= 6
        assert all(child <= line + 1 for line, child in inside)


# Lists in snippets


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("short ⦗roof⦘", "short ⦗roof⦘"),
        ("a " * 200 + "⦅⟪The roof leaks.⟫⦆ Nothing else.", "⟪The roof leaks.⟫ Nothing else."),
        (
            "b " * 150 + "End. ⦅The ⦗roof⦘ and the ⦗ridge⦘ " + "c " * 150 + "⦆",
            "The ⦗roof⦘ and the ⦗ridge⦘ c",
        ),
        ("b " * 250 + "the ⦗roof⦘ and the ⦗ridge⦘ " + "c " * 50, "the ⦗roof⦘ and the ⦗ridge⦘ c"),
    ],
)
def test_marked_text_is_always_visible(snippet, shown):
    marked = MarkedText.read(snippet)
    start, end = lead(marked)
    assert shown in with_marks(marked[start:end])
    assert end - start <= max(LEAD_CHARACTERS, len(shown))
    parts = (marked[:start], marked[start:end], marked[end:])
    assert "".join(map(with_marks, parts)).replace("⟫⟪", "") == with_marks(marked)
