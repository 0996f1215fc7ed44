"""Notes that attack their readers, in Debian's Chromium.

This includes our pages under a strict Content-Security-Policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from datasette import hookimpl
from datasette.app import Datasette
from datasette.plugins import pm

from tests.support.agents import serving
from tests.support.chromium import needs_chromium
from tests.support.unsafe_library import unsafe_index

pytestmark = [pytest.mark.datasette, *needs_chromium]

POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'"

# The script that records a page's violations from the start.
LISTEN = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI}`));
"""


class StrictPolicy:
    """A plugin that makes browsers run and load only files from this server.

    A test turns it on with ``is_on``.
    """

    __name__ = "StrictPolicy"  # Datasette expects plugins to have a name
    is_on = False

    @hookimpl
    def asgi_wrapper(self, datasette):
        def wrapped(app):
            async def policed(scope, receive, send):
                async def send_with_policy(event):
                    if self.is_on and event["type"] == "http.response.start":
                        others = [
                            pair
                            for pair in event["headers"]
                            if pair[0].lower() != b"content-security-policy"
                        ]
                        policy = (b"content-security-policy", POLICY.encode())
                        event = {**event, "headers": [*others, policy]}
                    await send(event)

                await app(scope, receive, send_with_policy)

            return policed

        return wrapped  # fmt: skip


@pytest.fixture(scope="module")
def policy() -> Iterator[StrictPolicy]:
    plugin = StrictPolicy()
    pm.register(plugin, name="strict_policy")
    yield plugin
    pm.unregister(name="strict_policy")


@pytest.fixture(scope="module")
def address(policy, tmp_path_factory) -> Iterator[str]:
    path = unsafe_index(tmp_path_factory.mktemp("unsafe"))
    with serving(Datasette([str(path)], settings={"sql_time_limit_ms": 20_000})) as url:
        yield url


@pytest.fixture
def page(chromium, policy):
    context = chromium.new_context()
    context.add_init_script(LISTEN)
    page = context.new_page()
    yield page
    policy.is_on = False
    context.close()


PAGES = (
    "/-/bear-search?q=window&_size=100",
    "/-/bear-search",
    "/-/bear-search?q=%3Cimg+src%3Dx+onerror%3Dwindow.pwned%3D1%3E",
    "/-/bear-search?mode=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E",
    "/-/bear-search/note/4?q=window",
    "/-/bear-search/note/60?q=window",
    "/-/bear-search/similar/4",
)
OF_DATASETTE = ("/notes/notes?_size=100", "/notes/notes/4", "/notes/tags?_size=100")


def test_nothing_runs_on_any_page(page, address):
    dialogs: list[str] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    for path in (*PAGES, *OF_DATASETTE):
        page.goto(address + path, wait_until="load")
        page.evaluate(
            "() => { for (const kind of ['mouseover', 'focus', 'toggle', 'pointerover', "
            "'animationstart'])"
            "  for (const e of document.querySelectorAll('body *')) e.dispatchEvent(new "
            "Event(kind, {bubbles: true})); }"
        )
        assert page.evaluate("window.pwned") is None, path
    assert dialogs == []
    assert [url for url in asked if not url.startswith(address)] == []


def test_nothing_runs_while_somebody_types(page, address):
    page.goto(f"{address}/-/bear-search")
    box = page.locator("#bear-q")
    for text in ("window", "onerror", "tag:<", "<img src=x onerror=window.pwned=1>"):
        box.fill("")
        box.press_sequentially(text)
        page.wait_for_timeout(400)
        assert page.evaluate("window.pwned") is None
    assert page.locator("main script, main img, main iframe").count() == 0


def test_our_pages_keep_a_strict_policy(page, address, policy):
    policy.is_on = True

    def violations(path: str) -> Counter:
        page.goto(address + path, wait_until="load")
        page.wait_for_timeout(200)
        return Counter(page.evaluate("window.violations"))

    # Datasette's own base.html has inline scripts. Our pages add no inline scripts or styles.
    of_datasette = violations("/-/versions") | violations("/-/settings")
    for path in PAGES:
        ours = violations(path) - of_datasette
        assert not ours, (path, ours)
    assert all(kind.startswith("script-src") for kind in of_datasette)


def test_the_search_follows_the_box_under_a_strict_policy(page, address, policy):
    policy.is_on = True
    page.goto(f"{address}/-/bear-search")
    page.locator("#bear-q").press_sequentially("window")
    page.locator(".bear-card").first.wait_for()
    page.locator(".bear-card mark", has_text="window").first.wait_for(state="attached")
