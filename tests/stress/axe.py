"""Check 15 states of the pages with axe-core, each light and dark, wide and on a phone.

    BEAR_SEARCH_AXE=…/axe.min.js python -m tests.stress.axe DEMO [--only STATE]

DEMO is the URL of a running ``bear-demo``, such as http://127.0.0.1:8001. For two of the states, a
``bear-serve`` is started: on an empty library, and without an index or any app.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.support.bear_libraries import bear_library
from tests.support.chromium import launched
from tests.support.datasettes import indexed

OPEN = """
for (const each of document.querySelectorAll('main details:not(.bear-menu)')) each.open = true
"""
MENU = "id => (document.getElementById(id).open = true)"
STATES = {
    "home": ("", ""),
    "results": ("?q=cabin+winter", ""),
    "note": ("/note/13?q=cabin", ""),
    "nothing found": ("?q=zxqvwk&tag=cabin", ""),
    "weak matches": ("?q=mortgage+rate", ""),
    "judging": ("?q=cabin&judge=1", ""),
    "help open": ("?q=cabin", "bear-help"),
    "options open": ("?q=cabin", "bear-options"),
    "tags open": ("?q=cabin", "bear-menu-tag"),
    "dates open": ("?q=cabin", "bear-menu-modified"),
    "more like this": ("/similar/13", ""),
    "right to left": (f"?q={quote('الخبز')}", ""),
    "Japanese": (f"?q={quote('京都')}", ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo")
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    pages = {name: (arguments.demo, *state) for name, state in STATES.items()}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        home = Path(folder)
        library = bear_library(home / "database.sqlite", [])
        empty = indexed(library, "--no-semantic")
        for name, path in (("empty library", empty), ("first run", home / "none.db")):
            pages[name] = (servers.enter_context(bear_serve(path, home)), "", "")
        chosen = {name: pages[name] for name in arguments.only or pages}
        sys.exit(bool(problems(chosen)))


@contextmanager
def bear_serve(path: Path, home: Path) -> Iterator[str]:
    """Serve an index to a person with this home folder; yield the URL."""
    command = ["bear-serve", "--no-open", "--port", "0", "--sidecar", str(path)]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "datasette", *command],
        stdout=subprocess.PIPE, text=True, env=environment,
    ) as server:  # fmt: skip
        try:
            yield re.findall(r"http://[\d.:]+", server.stdout.readline())[0]
        finally:
            server.terminate()


def problems(pages: dict[str, tuple[str, str, str]]) -> int:
    """Print how many rules each page violates, and return the total."""
    problems = 0
    print("| state | " + " | ".join(f"{w} {scheme}" for w, scheme in WINDOWS) + " |")
    print("|---|" + "---|" * len(WINDOWS))
    with launched() as browser:
        for name, (address, path, menu) in pages.items():
            row = []
            for width, scheme in WINDOWS:
                context = browser.new_context(
                    viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
                )
                page = context.new_page()
                page.goto(f"{address.rstrip('/')}/-/bear-search{path}")
                page.wait_for_timeout(600)  # for the note beside the results
                page.evaluate(OPEN)
                if menu:
                    page.evaluate(MENU, menu)
                page.add_script_tag(path=os.environ["BEAR_SEARCH_AXE"])
                found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
                # Datasette before 1.0 doesn't declare the language of its pages.
                found = [each for each in found if each["id"] != "html-has-lang"]
                for each in found:
                    targets = [node["target"] for node in each["nodes"]][:3]
                    print(name, width, scheme, each["id"], targets, file=sys.stderr)
                problems += len(found)
                row.append(str(len(found)))
                context.close()
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    return problems


WINDOWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

if __name__ == "__main__":
    main()
