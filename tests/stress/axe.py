"""What axe-core finds on the pages: 15 states, each light and dark, wide and on a phone.

    BEAR_SEARCH_AXE=…/axe.min.js python -m tests.stress.axe DEMO [--empty URL] [--first-run URL]

DEMO and the others are addresses such as http://127.0.0.1:8001, of ``bear-demo``, and of
``bear-serve`` with an empty library and without an index.
"""

from __future__ import annotations

import argparse
import os
import sys
from urllib.parse import quote

from tests.support.chromium import launched

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
    parser.add_argument("--empty")
    parser.add_argument("--first-run")
    arguments = parser.parse_args()
    pages = {name: (arguments.demo, *state) for name, state in STATES.items()}
    if arguments.empty:
        pages["empty library"] = (arguments.empty, "", "")
    if arguments.first_run:
        pages["first run"] = (arguments.first_run, "", "")
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
                # Datasette before 1.0 doesn't say in what language its pages are.
                found = [each for each in found if each["id"] != "html-has-lang"]
                for each in found:
                    targets = [node["target"] for node in each["nodes"]][:3]
                    print(name, width, scheme, each["id"], targets, file=sys.stderr)
                problems += len(found)
                row.append(str(len(found)))
                context.close()
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    sys.exit(bool(problems))


WINDOWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

if __name__ == "__main__":
    main()
