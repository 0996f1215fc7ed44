"""A page of another website in the same browser can't find out anything about the notes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from datasette import handle_exception
from datasette.app import Datasette

from datasette_bear_search.web import server
from tests.stress.cross_site import WAYS, attack, other_website
from tests.support.chromium import needs_chromium
from tests.support.threads import serving

pytestmark = [pytest.mark.datasette, *needs_chromium]


@pytest.fixture(scope="module")
def address(sidecar) -> Iterator[str]:
    """Run the server of ``bear-serve`` in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handle_exception, "rich", None)  # the server sets this, too
        served = server.server(Datasette([str(sidecar)]), ())
        with serving(served) as port:
            yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def page(chromium):
    with other_website() as website:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(website)
        yield page
        context.close()


@pytest.mark.parametrize("way", WAYS)
def test_another_website_cannot_tell_whether_a_text_or_note_exists(page, address, way):
    pairs = attack(page, address, way, guesses=1, times=1)
    assert len(pairs) == 2  # a text and a note
    assert len({event for pair in pairs for event, _ in pair}) == 1


def test_a_link_from_another_website_asks_for_one_more_click(page, address):
    page.evaluate("url => { location = url }", f"{address}/-/bear-search?q=cabin")
    page.get_by_role("link", name="Continue to your notes").click()
    page.locator(".bear-card").first.wait_for()
