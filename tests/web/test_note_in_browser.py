"""Reading a note in Debian's Chromium.

Nothing in the note runs, and the passage that was found is in view.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from datasette.app import Datasette

from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.chromium import needs_chromium
from tests.support.unsafe_markdown import unsafe_notes

SITE = "http://notes.test"

pytestmark = [pytest.mark.datasette, *needs_chromium]

LONG = (
    "# Log\n\n" + "## Start\n\n" + "The beginning. " * 40 + "\n\n" + "Nothing new.\n\n" * 200
    + "## Storm\n\nA big pine fell between the cabin and the shed.\n\n"
    + "| a | b |\n|---|---|\n| " + "wide " * 30 + "| x |\n\n```\n" + "long " * 60 + "\n```\n\n"
    + "![](https://elsewhere.example/x.png)\n\nשלום, זה הגג\n"
)  # fmt: skip


@pytest.fixture
def responses(write, bear_index, sidecar_path):
    """Return a function that indexes a note and returns its path and the responses by path."""

    def fetch(note: BearNote) -> tuple[str, dict]:
        write(note)
        bear_index("--no-semantic")
        with sqlite3.connect(sidecar_path) as db:
            [number] = db.execute("select max(id) from notes").fetchone()
            [passage] = db.execute(
                "select max(id) from passages where heading = 'Storm'"
            ).fetchone()
        path = f"/-/bear-search/note/{number}?q=pine&passage={passage}"

        async def get_all() -> dict:
            datasette = Datasette([str(sidecar_path)])
            page = await datasette.client.get(path)
            files = re.findall(r'"(/-/(?:static|bear-search/static)/[^"?]*(?:css|js))', page.text)
            return {path: page} | {each: await datasette.client.get(each) for each in files}

        # Playwright already runs an event loop in this thread.
        with ThreadPoolExecutor(1) as thread:
            return path, thread.submit(asyncio.run, get_all()).result()

    return fetch


def open_page(context, path: str, found: dict):
    """Open the page at ``path``; return it and the URLs of its requests that ``found`` lacks."""
    page = context.new_page()
    asked: list[str] = []

    def answer(route):
        address = route.request.url.removeprefix(SITE)
        response = found.get(address) or found.get(address.partition("?")[0])
        if response is None:
            asked.append(route.request.url)
            route.fulfill(status=404)
            return
        headers = dict(response.headers)
        headers.pop("content-length", None)
        route.fulfill(status=response.status_code, headers=headers, body=response.content)

    page.route("**/*", answer)
    page.goto(f"{SITE}{path}#passage", wait_until="load")
    return page, asked


def test_nothing_that_people_paste_runs(chromium, responses):
    path, found = responses(
        BearNote("# <img src=x onerror=window.pwned=1>\n\n" + "\n\n".join(unsafe_notes()))
    )
    context = chromium.new_context()
    page, asked = open_page(context, path, found)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for kind in ("mouseover", "click", "focus", "toggle", "pointerover"):
        page.evaluate(
            "kind => document.querySelectorAll('main *').forEach("
            "  e => e.closest('a') || e.dispatchEvent(new Event(kind, {bubbles: true})))",
            kind,
        )
    page.wait_for_timeout(300)
    assert (
        page.locator(".bear-text").inner_text().count("window.pwned") > 100
    )  # all of it is shown as text
    assert page.evaluate("window.pwned") is None
    assert dialogs == []
    assert [url for url in asked if not url.startswith(SITE)] == []
    assert page.locator("main script, main img, main iframe, main svg, main form").count() == 0
    assert page.url.startswith(SITE + path)
    context.close()


@pytest.mark.parametrize("width", [320, 768, 1440])
def test_the_passage_is_in_view_without_javascript(chromium, responses, width):
    path, found = responses(BearNote(LONG))
    context = chromium.new_context(
        java_script_enabled=False, viewport={"width": width, "height": 800}
    )
    page, asked = open_page(context, path, found)
    box = page.locator("#passage").bounding_box()
    assert 0 < box["y"] < 800
    assert page.locator("mark", has_text="pine").count() == 1
    assert [url for url in asked if not url.startswith(SITE)] == []
    right = page.locator("main > *, .bear-reading").evaluate_all(
        "elements => Math.max(...elements.map(e => e.getBoundingClientRect().right))"
    )
    assert right <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folded, beside = page.locator(".bear-outline-folded"), page.locator("nav.bear-outline")
    assert (folded.is_visible(), beside.is_visible()) == (width < 1024, width >= 1024)
    context.close()


def test_a_printed_table_has_all_columns(chromium, responses):
    row = f"|{' some_long_value |' * 12}\n"
    path, found = responses(BearNote(f"# Log\n\n## Storm\n\n{row}|{'---|' * 12}\n{row}"))
    context = chromium.new_context(viewport={"width": 794, "height": 1123})
    page, _ = open_page(context, path, found)
    page.emulate_media(media="print")
    width = page.locator(".bear-table").evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert width[0] == width[1]
    context.close()


def test_hebrew_begins_at_the_right(chromium, responses):
    path, found = responses(BearNote(LONG))
    context = chromium.new_context()
    page, _ = open_page(context, path, found)
    hebrew = page.locator("p", has_text="שלום").last
    assert hebrew.evaluate("e => getComputedStyle(e).direction") == "rtl"
    context.close()


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_page_is_dark_where_the_system_is(chromium, responses, scheme, is_dark):
    path, found = responses(BearNote(LONG))
    context = chromium.new_context(color_scheme=scheme)
    page, _ = open_page(context, path, found)
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(color.removeprefix("rgb(").partition(",")[0])
    assert (red < 128) is is_dark
    context.close()
