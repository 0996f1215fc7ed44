"""Results follow the keys although responses take longer than the time between two keys.

In Debian's Chromium, which adds the latency.
"""

from __future__ import annotations

import pytest

from tests.support.chromium import needs_chromium

SEARCH = "/-/bear-search"
pytestmark = [*needs_chromium]

TYPED = "how do we keep mice out of the cabin"
COUNT_CHANGES = """() => {
    window.changes = 0;
    new MutationObserver(() => window.changes++)
        .observe(document.getElementById("bear-found"), { childList: true, subtree: true });
}"""


def type_with_latency(open_page, address, latency: int):
    """Type a question, and count changes of the list before the last key."""
    page = open_page(f"{address}{SEARCH}?q=garden")
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    page.locator("#bear-q").fill("")
    page.locator(".bear-home").wait_for()
    page.evaluate(COUNT_CHANGES)
    asked = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if "bear-search?" in request.url else None,
    )
    page.locator("#bear-q").press_sequentially(TYPED, delay=110)
    return page, page.evaluate("window.changes"), asked


@pytest.mark.parametrize(("latency", "changes"), [(100, 20), (600, 5)])
def test_the_list_changes_while_somebody_types(open_page, address, latency, changes):
    page, changed, _ = type_with_latency(open_page, address, latency)
    assert changed >= changes
    page.wait_for_function("text => document.title.startsWith(text)", arg=TYPED)


def test_the_last_key_waits_for_no_other_search(open_page, address):
    page, _, asked = type_with_latency(open_page, address, 600)
    page.wait_for_timeout(60)  # less than a response takes
    assert asked[-1].endswith("the+cabin")


def test_at_most_two_searches_are_under_way(open_page, address):
    page = open_page(f"{address}{SEARCH}?q=garden")
    page.evaluate(
        """() => {
            const original = window.fetch;
            const underWay = new Set();
            window.most = 0;
            window.fetch = async (url, options = {}) => {
                if (!String(url).includes("bear-search?")) return original(url, options);
                const own = options.signal;
                own.addEventListener("abort", () => underWay.delete(own)); // before the next begins
                window.most = Math.max(window.most, underWay.add(own).size);
                try {
                    const wait = new Promise((done, fail) => {
                        setTimeout(done, 400);
                        own.addEventListener("abort", () => fail(new Error("aborted")));
                    });
                    await wait;
                    return await original(url, options);
                } finally {
                    underWay.delete(own);
                }
            };
        }"""
    )
    page.locator("#bear-q").press_sequentially(" hose and pump", delay=60)
    page.wait_for_function("document.title.startsWith('garden hose and pump')")
    assert page.evaluate("window.most") == 2
