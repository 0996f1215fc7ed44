"""How long it takes from the last key to results on the screen.

    python -m benchmarks.speed.typing http://127.0.0.1:8001

Types queries into a running search page (such as that of ``datasette bear-demo``) in headless
Chromium, with a key every 120 ms like a practiced typist. Prints a table in Markdown with the
median and the 95th percentile in milliseconds, from the last key until the frame with the results
is drawn. The first queries only warm up.
"""

from __future__ import annotations

import argparse
import shutil
import statistics

from playwright.sync_api import Page, sync_playwright

MILLISECONDS_A_KEY = 120
WARM_UP = 3

QUERIES = (
    "composting toilet",
    "roof leaks",
    "dinner when everyone is tired",
    "how do I talk to a manager",
    "bicycle insurance",
    "tag:cabin water",
    "slugs",
    "first aid for a burn",
    "what did we decide about the launch",
    "sourdough",
    "created:2024 garden",
    "portuguese verbs",
    "knee pain after running",
    '"city compost"',
    "is:pinned",
)

# Waits until the frame is drawn: the callback runs before it, the message is delivered after it.
MEASURE = """
(text) => {
    const box = document.getElementById("bear-q");
    let typed;
    box.addEventListener("input", () => (typed = performance.now()));
    window.measured = new Promise((resolve) => {
        new MutationObserver((_, observer) => {
            if (box.value !== text || !document.title.startsWith(text)) return;
            observer.disconnect();
            requestAnimationFrame(() => {
                const channel = new MessageChannel();
                channel.port1.onmessage = () => resolve(performance.now() - typed);
                channel.port2.postMessage(null);
            });
        }).observe(document.documentElement, { childList: true, subtree: true });
    });
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="such as http://127.0.0.1:8001")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page()
        texts = [*QUERIES[:WARM_UP], *QUERIES * arguments.rounds]
        times = [measure(page, arguments.address, text) for text in texts][WARM_UP:]
        browser.close()
    p95 = statistics.quantiles(times, n=20)[18]
    print("| searches | p50 | p95 |")
    print("|---|---|---|")
    print(f"| {len(times)} | {statistics.median(times):.0f} | {p95:.0f} |")


def measure(page: Page, address: str, text: str) -> float:
    """Return the milliseconds from the last key of a text to its results on the screen."""
    page.goto(f"{address.rstrip('/')}/-/bear-search")
    page.evaluate(MEASURE, text)
    page.keyboard.type(text, delay=MILLISECONDS_A_KEY)
    return page.evaluate("window.measured")


if __name__ == "__main__":
    main()
