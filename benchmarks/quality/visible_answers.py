"""How often the visible text of a result contains the answer to the question.

    python -m benchmarks.quality.visible_answers INDEX.db COLLECTION [--queries N]

COLLECTION has an ``answer`` beside each query's text, like $BEAR_SEARCH_SHARED/eval/xquad-en, and
INDEX.db has its documents as notes. Of the questions whose note is in the top five, prints the
share with the answer in the title or text of the result: in terminals and for agents, and on the
page in Chromium (visible innerText) at 390 and 1280 pixels. At 1280 pixels the selected note is
beside the list, and the part of it that is visible without scrolling counts, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote_plus

from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.request import SearchRequest
from tests.support.chromium import launched

PORT, FIRST = 8917, 5
IN_PANE = """() => {
  const pane = document.getElementById("bear-preview").getBoundingClientRect(), texts = [];
  const walker = document.createTreeWalker(document.getElementById("bear-preview"), 4);
  for (let node; (node = walker.nextNode()); ) {
    for (const word of node.data.matchAll(/\\S+\\s*/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      const bottom = Math.min(pane.bottom, innerHeight);
      if (box.height && box.top >= pane.top && box.bottom <= bottom) texts.push(word[0]);
    }
  }
  return texts.join("");
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--queries", type=int, default=10**6)
    arguments = parser.parse_args()
    lines = (arguments.collection / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t")[:2] for line in (arguments.collection / "qrels.tsv").open())
    note_of = dict(pairs)
    seen: dict[str, int] = {}
    asked = []  # text, answer, id of the note
    queries = [json.loads(line) for line in lines][: arguments.queries]
    with open_sidecar(arguments.index) as connection:
        for query in queries:
            hits = search(connection, SearchRequest(parse(query["text"]), size=FIRST)).results.hits
            for hit in hits:
                if hit.key == note_of[query["_id"]]:
                    asked.append((query["text"], query["answer"], hit.id))
                    text = f"{hit.title} {hit.text}"
                    seen["snippet"] = seen.get("snippet", 0) + _has(text, query["answer"])
    server = [sys.executable, "-m", "datasette", "serve", str(arguments.index), "-p", str(PORT)]
    process = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_model()
        with launched() as browser:
            phone = browser.new_page(
                viewport={"width": 390, "height": 844}, java_script_enabled=False
            )
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for text, answer, note in asked:
                address = f"http://127.0.0.1:{PORT}/-/bear-search?q={quote_plus(text)}"
                phone.goto(address)
                page.goto("about:blank")
                page.goto(f"{address}#note-{note}")  # which selects it
                page.wait_for_selector("#bear-preview .bear-preview-title")
                at_1280 = page.locator(f"#note-{note}").inner_text()
                for name, shown in {
                    "list at 390": phone.locator(f"#note-{note}").inner_text(),
                    "list at 1280": at_1280,
                    "list and pane at 1280": at_1280 + page.evaluate(IN_PANE),
                }.items():
                    seen[name] = seen.get(name, 0) + _has(shown, answer)
    finally:
        process.terminate()
    print(f"{arguments.collection.name}: {len(asked)} of {len(queries)} among the first {FIRST}")
    for name, count in seen.items():
        print(f"  {name}: {count / len(asked):.3f}")


def _has(text: str, answer: str) -> bool:
    return "".join(answer.split()).casefold() in "".join(text.split()).casefold()


def _wait_for_model() -> None:
    address = f"http://127.0.0.1:{PORT}/-/bear-search.json?q=warm+up"
    for _ in range(60):
        try:
            urllib.request.urlopen(address, timeout=60).read()
            return
        except OSError:
            time.sleep(1)


if __name__ == "__main__":
    main()
