"""Huge notes may at most double the time of a query: python -m tests.stress.huge_notes

Indexes the same notes with and without four huge ones, and runs each query on both in turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.run import indexer
from datasette_bear_search.search import engine
from datasette_bear_search.search import request as search_request
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.notes.similar import find_similar
from datasette_bear_search.sources.base import SourceConfig
from tests.support.tiny_embedder import TinyEmbedder

MODEL = "test/tiny"
MOST = 2.0
WORDS = (
    "boiler chimney garden harvest lantern meadow notary orchard pebble quarry river saddle timber "
    "umbrella valley walnut yeast zipper anchor basket candle drawer engine feather gutter hammer"
).split()
QUERIES: list[dict[str, str]] = [
    *({"q": text, "mode": mode} for text in ("vitamin", "boiler") for mode in
      ("auto", "keyword", "semantic", "like")),
    *({"q": text} for text in (
        "vitamin boiler", "what vitamin is in the garden", '"vitamin vitamin"', '"boiler chimney"',
        "vita*", "boi*", "vit", "vitamin OR boiler", "vitamin AND boiler", "vitamin -boiler",
        "title:vitamin", "in:title boiler", "vitamin tag:home", "has:link boiler", "has:todo",
        "is:untagged vitamin", "created:2024 vitamin", "tag:home", "", "which river was in flood",
        "zzqq", "vitamni", "itami", "error 4711", "2024-05-01", "how do we keep the gutter clean",
        "vitamin gutter hammer lantern meadow", "[drawer] vitamin")),
    {"q": "vitamin", "sort": "newest"}, {"q": "vitamin", "fusion": "rrf"},
    {"q": "itami", "mode": "like"}, {"q": "no such thing", "mode": "like"},
    {"q": "vitamin", "redact": "1"}, {"similar": "Note 7"},
]  # fmt: skip


def write_notes(folder: Path, count: int, size: int) -> None:
    """Write notes and, unless ``size`` is 0, a huge one of that size and three of half of it."""
    folder.mkdir()
    for number in range(count):
        words = [
            WORDS[(number * 7 + place * (number % 11 + 1)) % len(WORDS)] for place in range(80)
        ]
        tag = "#home" if number % 9 else "#work"
        text = (
            f"# Note {number}\n\n{' '.join(words[:40])}.\n\nSee {tag} and {' '.join(words[40:])}."
        )
        (folder / f"{number}.md").write_text(f"{text}\n\nA vitamin.\n" if number % 5 == 0 else text)
    if size:
        filler = " ".join(WORDS[number * number % len(WORDS)] for number in range(997)) + ".\n\n"
        texts = {
            "Vitamins": "A vitamin a day. " * min(100_000, size // 34),
            "Diary": "On that day nothing grew in the garden.\n\n" * min(100_000, size // 100),
            "Log": "10:00:01 error 4711: the boiler has lost pressure\n"
            * min(100_000, size // 100),
            "One line": "gutter and vitamin, " * min(10_000, size // 40),
        }
        for title, text in texts.items():
            own = size if title == "Vitamins" else size // 2
            text += filler.replace("boiler", "hammer") * ((own - len(text)) // len(filler))
            (folder / f"{title}.md").write_text(f"# {title}\n\n{text}\n")


def run(path: Path, query: dict[str, str]) -> float:
    """Return the CPU time of a query in milliseconds."""
    with open_sidecar(path) as connection:
        parameters = {name: [value] for name, value in query.items()}
        started = time.process_time()
        if title := query.get("similar"):
            sql = "select id from notes where title = ?"
            find_similar(connection, connection.execute(sql, [title]).fetchone()[0])
        else:
            request = search_request.read_request(parameters)
            engine.search(connection, request, redact="redact" in query)
        return (time.process_time() - started) * 1000


def ratios(folder: Path, count: int, size: int, repeats: int) -> dict[str, tuple[float, float]]:
    """Return the median times of each query, without and with huge notes."""
    registry.register(MODEL, lambda: TinyEmbedder(MODEL))
    embedder = registry.get_embedder(MODEL)
    paths = []
    for name, huge in (("without", 0), ("with", size)):
        write_notes(folder / name, count, huge)
        paths.append(folder / f"{name}.db")
        indexer.update(paths[-1], [SourceConfig("notes", "", str(folder / name))], embedder)
    found = {}
    for query in QUERIES:
        times: list[list[float]] = [[], []]
        for _ in range(repeats + 1):
            for path, taken in zip(paths, times):
                taken.append(run(path, query))
        without, huge = (statistics.median(taken[1:]) for taken in times)
        found[" ".join(query.values())] = without, huge
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--size", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = ratios(Path(folder), options.notes, options.size, options.repeats)
    for query, (without, huge) in sorted(found.items(), key=lambda item: item[1][0] - item[1][1]):
        print(f"{huge / without:5.2f}  {without:6.1f} ms  {huge:6.1f} ms  {query}")
    worst = max(huge / without for without, huge in found.values())
    print(f"{len(found)} queries, at most {worst:.2f} times as long with huge notes")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
