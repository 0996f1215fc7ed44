"""The README's pictures, made from the sample notes: python docs/screenshots.py

Needs Chromium (``apt-get install chromium``) and the packages of ``pip install -e '.[test]'``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote_plus

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "images"
SIZE = {"width": 1280, "height": 760}
PHONE = {"width": 390, "height": 844}
# In containers Chromium has no sandbox of its own.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
QUERY = "when should I sweep the chimney"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=FLAGS,
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        # The first visit loads the model; the JSON waits for it.
        page.goto(f"{address}.json?q=warm+up")
        page.goto(f"{address}?q={quote_plus(QUERY)}")
        page.wait_for_selector("#bear-reading")
        page.screenshot(path=FOLDER / "search.png")
        page.set_viewport_size(PHONE)
        page.screenshot(path=FOLDER / "phone.png")
        page.set_viewport_size(SIZE)
        page.click(".bear-card:nth-child(2) a.bear-title")
        page.wait_for_load_state()
        page.screenshot(path=FOLDER / "note.png")
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yield the address of a search page for the sample notes."""
    datasette = [sys.executable, "-m", "datasette"]
    subprocess.run([*datasette, "bear-demo", "--no-serve", "--directory", folder], check=True)
    server = subprocess.Popen(
        [*datasette, "bear-serve", "--sidecar", folder / "notes.db", "--port", "0", "--no-open"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = server.stdout.readline() if server.stdout else ""
        yield next(word for word in line.split() if word.startswith("http"))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
