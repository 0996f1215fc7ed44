"""The search page notices saved notes, and a server that is gone, in Debian's Chromium.

Tests ``static/bear_fresh.js``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import uvicorn
from playwright.sync_api import expect

from datasette_bear_search.index.watch import Activity
from datasette_bear_search.web.requests import freshness
from tests.support.bear_database import BearNote, write_library
from tests.support.bear_libraries import day
from tests.support.chromium import needs_chromium
from tests.support.datasettes import configured, indexed
from tests.support.threads import serving

SEARCH = "/-/bear-search"
pytestmark = [*needs_chromium]
LOOK = "window.dispatchEvent(new Event('focus'))"  # as if coming back from another program


@pytest.fixture
def notes():
    return [
        BearNote(f"# Roof {n}\n\n{'The ridge leaks in rain. ' * 12}", id=f"ROOF-{n}")
        for n in range(30)
    ]


@pytest.fixture
def save(tmp_path, notes):
    """Return a function that saves one more note and indexes it."""
    library = tmp_path / "database.sqlite"
    write_library(library, notes)

    def write(text: str) -> None:
        notes.append(BearNote(text, created=day(30)))
        time.sleep(1)  # the page knows when the index was last updated to the second
        library.unlink()
        write_library(library, notes)
        indexed(library, "--no-semantic")

    save.path = indexed(library, "--no-semantic")
    return write


@pytest.fixture
def address(save, tmp_path) -> Iterator[str]:
    datasette = configured([tmp_path / "notes.db"], {})
    freshness.updaters[datasette] = SimpleNamespace(
        activity=Activity(), has_notes=1, update=lambda _: None, give_way=lambda: None
    )
    with serving(uvicorn.Server(uvicorn.Config(datasette.app(), log_level="warning"))) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.datasette
def test_a_saved_note_appears_in_the_results(open_page, address, save):
    page = open_page(f"{address}{SEARCH}?q=zebra")
    page.locator(".bear-nothing").wait_for()
    save("# Zebra\n\nStripes.")
    page.evaluate(LOOK)
    expect(page.locator(".bear-title").first).to_have_text("Zebra")
    expect(page.locator(".bear-preview-title")).to_have_text("Zebra")
    assert page.locator("#bear-q").input_value() == "zebra"


@pytest.mark.datasette
def test_new_notes_are_offered_if_somebody_has_scrolled(open_page, address, save):
    page = open_page(f"{address}{SEARCH}?q=roof&sort=newest")
    page.evaluate("scrollTo(0, 700)")
    page.wait_for_timeout(300)
    place = page.evaluate("scrollY")
    save("# Roof at last\n\nNew.")
    page.evaluate(LOOK)
    page.get_by_role("button", name="1 new").wait_for()
    assert page.evaluate("scrollY") == place
    page.get_by_role("button", name="1 new").click()
    expect(page.locator(".bear-title").first).to_have_text("Roof at last")
    expect(page.locator(".bear-title").first).to_be_in_viewport()
    assert not page.get_by_role("button", name="1 new").is_visible()


def test_the_note_beside_the_results_is_renewed(open_page, address, save, notes):
    page = open_page(f"{address}{SEARCH}?q=leaks+%22Roof+7%22")
    expect(page.locator("#bear-preview")).to_contain_text("ridge leaks")
    notes[7] = BearNote("# Roof 7\n\nThe gutter leaks.", modified=day(30))
    save("# Another")
    page.evaluate(LOOK)
    expect(page.locator("#bear-preview")).to_contain_text("gutter leaks")


@pytest.mark.datasette
def test_the_keys_go_on_after_the_focused_note_was_renamed_or_deleted(
    open_page, address, save, notes
):
    page = open_page(f"{address}{SEARCH}?q=ridge&sort=newest")
    focused = page.locator(".bear-title:focus")
    page.keyboard.press("ArrowDown")
    old = focused.inner_text()
    number = int(old.removeprefix("Roof "))
    notes[number] = BearNote(notes[number].text.replace("# Roof", "# Barn"), id=f"ROOF-{number}")
    save("# Ridge\n\nOther.")
    page.evaluate(LOOK)
    expect(focused).to_have_text(old.replace("Roof", "Barn"))
    notes[number] = BearNote("# Gone\n\nText.")
    save("# Another\n\nOther.")
    page.evaluate(LOOK)
    expect(page.get_by_text("Barn")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_count(1)


@pytest.mark.datasette
def test_a_server_that_is_gone_is_said_and_everything_comes_back(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=roof")
    page.locator(".bear-preview-title").wait_for()
    page.route(re.compile(r"/-/bear-search"), lambda route: route.abort())
    page.keyboard.press("ArrowDown")
    expect(page.locator("#bear-preview")).to_contain_text("Can't load this note")
    page.evaluate(LOOK)
    expect(page.locator("#bear-fresh")).to_contain_text("Can't reach the server")
    expect(page.locator(".bear-failure")).to_contain_text("Can't reach the server")
    page.unroute_all()
    second = page.locator(".bear-title").nth(1).inner_text()
    expect(page.locator(".bear-preview-title")).to_have_text(second)
    expect(page.locator("#bear-fresh")).to_contain_text("Updated")
    expect(page.locator(".bear-failure")).to_be_empty()


def test_a_search_that_got_no_answer_is_repeated(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=roof")
    page.route(re.compile(r"bear-search\?"), lambda route: route.abort())
    page.locator("#bear-q").fill("ridge")
    expect(page.locator(".bear-failure")).to_contain_text("Can't reach the server")
    expect(page.locator("#bear-preview")).to_contain_text("Can't load this note")
    page.unroute_all()
    page.wait_for_function("document.title.startsWith('ridge')")
    page.locator(".bear-preview-title").wait_for()
