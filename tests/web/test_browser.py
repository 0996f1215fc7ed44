"""The search page in Debian's Chromium, on the sample notes, with and without JavaScript."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.chromium import needs_chromium

pytestmark = [pytest.mark.datasette, *needs_chromium]


@pytest.fixture(scope="module")
def address(sidecar, tmp_path_factory) -> Iterator[str]:
    """Serve the sample notes as ``bear-serve`` does."""
    own = Path(shutil.copy(sidecar, tmp_path_factory.mktemp("served")))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "datasette", "bear-serve", "--sidecar", str(own), "--no-open"]
    with subprocess.Popen([*command, "--port", str(port)]) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url)
            yield url
        finally:
            server.terminate()


@pytest.mark.parametrize("width", [1280, 1024, 390])
def test_the_box_keeps_its_place_from_results_to_note(chromium, address, width):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    places = []
    for path in ("?q=cabin", "/note/1?q=cabin", "/similar/1?q=cabin"):
        page.goto(f"{address}/-/bear-search{path}")
        box = page.locator("#bear-q").bounding_box()
        places.append((box["x"], box["y"]))
    page.close()
    assert len(set(places)) == 1


@pytest.fixture(params=[True, False], ids=["JavaScript", "no JavaScript"])
def page(chromium, request):
    context = chromium.new_context(java_script_enabled=request.param)
    page = context.new_page()
    yield page
    context.close()


def test_a_person_searches_and_narrows(page, address):
    page.goto(f"{address}/-/bear-search")
    # This browser hasn't searched for anything yet.
    assert page.locator(".bear-home").is_visible()
    assert not page.locator("#bear-recent-searches").is_visible()
    page.locator("#bear-q").fill("composting toilet")
    page.locator("form.bear-form").evaluate("form => form.requestSubmit()")
    first = page.locator(".bear-card").first
    first.locator("h2", has_text="Composting toilet").wait_for()
    assert first.locator("mark").first.inner_text() in ("Composting", "toilet")
    assert (
        first.get_by_role("link", name="Open in Bear").get_attribute("href").startswith("bear://")
    )
    first.get_by_role("link", name="#cabin").click()
    page.wait_for_url("**tag=cabin**")
    assert set(page.locator(".bear-tag").all_inner_texts()) >= {"#cabin"}
    page.locator(".bear-chip").first.click()
    page.wait_for_url(lambda url: "tag=" not in url)
    page.go_back()
    page.wait_for_url("**tag=cabin**")
    page.locator(".bear-chip").wait_for()
    assert page.locator(".bear-chip").count() == 1


def test_view_as_sql_opens_the_rows_in_datasette(page, address):
    page.goto(f"{address}/-/bear-search?q=composting+toilet")
    page.locator("#bear-options > summary").click()
    page.locator("#bear-developers > summary").click()
    page.get_by_role("link", name="View as SQL").click()
    page.wait_for_url("**/notes**")
    first_row = page.locator("table.rows-and-columns tbody tr").first
    assert "Composting toilet" in first_row.inner_text()


@pytest.mark.parametrize("width", [320, 768, 1440])
def test_the_page_fits_its_window(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/-/bear-search?q=composting&tag=cabin")
    overflow = page.locator(".bear-card, .bear-form").evaluate_all(
        "elements => elements.filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert overflow == 0


def test_on_a_phone_tags_shrink_before_the_reason_why_a_note_was_found(page, address):
    page.set_viewport_size({"width": 320, "height": 800})
    page.goto(f"{address}/-/bear-search?q=when+is+the+boiler+serviced")
    badges = page.locator(".bear-card:has-text('home/appliances') .bear-badge")
    bottoms = badges.evaluate_all(
        """badges => badges.map(badge => [
            badge.closest(".bear-details").getBoundingClientRect().bottom,
            badge.getBoundingClientRect().bottom,
        ])"""
    )
    assert bottoms
    assert all(inside <= outside for outside, inside in bottoms)


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            with urlopen(url):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing answers at {url}")
