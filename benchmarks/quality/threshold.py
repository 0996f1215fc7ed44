"""How often the threshold between results and weaker matches is wrong.

    python -m benchmarks.quality.threshold --folder CACHE [--foreign 80]

CACHE is the folder in which ``datasette bear-eval --cache`` keeps its indexes. For each collection:

- of the relevant notes in the top ten, the share not counted as results, and the share not
  counted as close in meaning;
- of queries from another collection, which nothing answers, the share with a result, with a note
  counted as close, and with a marked sentence.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.lib.collections import collections, queries
from benchmarks.lib.measuring import publish
from datasette_bear_search.evaluation.collections import read_collection
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.request import SearchRequest
from datasette_bear_search.search.results.marks import SENTENCE
from datasette_bear_search.search.results.records import Results
from datasette_bear_search.search.results.sentences import is_close
from datasette_bear_search.sqlite import sqlite3

COLUMNS = (
    "relevant, of the first ten", "not found", "not close", "queries of", "found", "close", "marked"
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--foreign", type=int, default=80, help="queries of another collection")
    arguments = parser.parse_args()
    folders = [each for each in collections() if any(arguments.folder.glob(f"{each.name}-*.db"))]
    print("| collection |", " | ".join(COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for folder, other in zip(folders, folders[2:] + folders[:2]):
        [path] = arguments.folder.glob(f"{folder.name}-*.db")
        with open_sidecar(path) as connection:
            relevant = _relevant(connection, folder)
            foreign = [_first_ten(connection, text) for text in queries(other)[: arguments.foreign]]
        found = sum(bool(results.found) for results in foreign) / len(foreign)
        close, marked = (
            sum(any(test(results, hit) for hit in results.hits) for results in foreign)
            / len(foreign)
            for test in (
                lambda results, hit: is_close(hit, results.plan),
                lambda _, hit: any(span.kind == SENTENCE for span in hit.snippet.spans),
            )
        )
        shares = [sum(not each[place] for each in relevant) / len(relevant) for place in (0, 1)]
        numbers = [f"{each:.3f}" for each in (*shares, found, close, marked)]
        cells = [folder.name, str(len(relevant)), *numbers[:2], other.name, *numbers[2:]]
        print("|", " | ".join(cells), "|")


def _relevant(connection: sqlite3.Connection, folder: Path) -> list[tuple[bool, bool]]:
    """Return for each relevant note in the top ten whether it is a result, and whether close."""
    judged = read_collection(folder).judged_queries(connection).queries
    return [
        (hit.is_found, is_close(hit, results.plan))
        for query in judged
        for results in [_first_ten(connection, query.text)]
        for hit in results.hits
        if query.grades.get(hit.id, 0) > 0
    ]


def _first_ten(connection: sqlite3.Connection, text: str) -> Results:
    return search(connection, SearchRequest(parse(text), size=10)).results


if __name__ == "__main__":
    publish(main, __file__)
