"""The time of our ranking compared to the bare retrievers.

    python -m benchmarks.speed.queries --folder FOLDER [COLLECTION…] [--write]

Indexes each collection into FOLDER (kept, so that a second run needn't embed again), runs its
queries on warm caches, and prints a table in Markdown with the medians in milliseconds:

- vector: embedding the query, which the other times don't include;
- ranking: planning, and the ranking part of the statement, without details of the notes it found;
- whole: the whole statement, with snippets, passages and all details;
- FTS5, vec0: the hundred best notes by FTS5 alone, with all words joined by OR, and the hundred
  nearest passages by sqlite-vec;
- ranking and whole as multiples of the sum of FTS5 and vec0.

Each query is run in all ways before the next query, so that other load on the machine affects all
ways alike.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from pathlib import Path

from benchmarks.lib.collections import collections, queries, write_collection
from benchmarks.lib.measuring import publish, short, summary, table, timed
from benchmarks.speed.floor import ROWS, Floor
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder
from datasette_bear_search.index.run import indexer
from datasette_bear_search.query.fts5 import any_of, quoted
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import Pipeline
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.ranking.statement import search_statement
from datasette_bear_search.search.ranking.statement_functions import functions_of
from datasette_bear_search.search.request import SearchRequest
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sqlite import sqlite3

SEED = 3
WARM_UP = 4

COLUMNS = ("vector", "ranking", "whole", "FTS5", "vec0")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="COLLECTION", help="all if none is named")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=40, help="of each collection")
    arguments = parser.parse_args()
    rows = [
        measure(collection, arguments.folder, arguments.queries)
        for collection in collections()
        if not arguments.names or collection.name in arguments.names
    ]
    print(table(["", "notes", *COLUMNS, "ranking, ratio", "whole, ratio"], rows))


def measure(collection: Path, folder: Path, count: int) -> list[str]:
    """Return the row of one collection."""
    library, path = folder / f"{collection.name}.sqlite", folder / f"{collection.name}.db"
    if not library.exists():
        write_collection(collection, library)
    embedder = registry.get_embedder(registry.default_model())
    report = indexer.index(path, [indexer.read(BearLibrary(library))], embedder)
    texts = queries(collection)
    asked = random.Random(SEED).sample(texts, min(count + WARM_UP, len(texts)))
    embedder.embed_query("warm")
    floor = Floor(path)
    times: dict[str, list[float]] = defaultdict(list)
    try:
        with open_sidecar(path) as connection:
            for number, text in enumerate(asked):
                for name, milliseconds in _ask(connection, embedder, floor, text).items():
                    if number >= WARM_UP:
                        times[name].append(milliseconds)
    finally:
        floor.close()
    medians = {name: summary(each)["p50"] for name, each in times.items()}
    bare = medians["FTS5"] + medians["vec0"]
    ratios = [f"{medians[name] / bare:.2f}" for name in ("ranking", "whole")]
    cells = [short(medians[name]) for name in COLUMNS]
    return [collection.name, f"{report.notes:,}", *cells, *ratios]


def _ask(
    connection: sqlite3.Connection, embedder: Embedder, floor: Floor, text: str
) -> dict[str, float]:
    """Return the milliseconds that one query takes in each way."""
    meaning = plan(connection, parse(text)).terms.meaning
    all_words = any_of(quoted(word) for word in re.findall(r"\w+", text))
    times = {}
    times["vector"], vector = timed(lambda: embedder.embed_query(meaning))

    def whole() -> None:
        pipeline = Pipeline(SearchRequest(parse(text)))
        pipeline.plan(connection)
        pipeline.embed()
        pipeline.retrieve(connection)

    def ranking() -> None:
        planned = plan(connection, parse(text))
        functions_of(connection).plan = planned
        run = search_statement(planned, ("keyword", "semantic"))
        parts, _, _ = run.sql.partition(",\nsnippets as ")
        connection.execute(f"{parts}\nselect note_id, score from page", run.parameters).fetchall()

    for name, way in (("ranking", ranking), ("whole", whole)):
        times[name], _ = timed(way)
    times["FTS5"], _ = timed(lambda: floor.fts5(all_words))
    times["vec0"], _ = timed(lambda: floor.vec0(vector, ROWS))
    return times


if __name__ == "__main__":
    publish(main, __file__)
