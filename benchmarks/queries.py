"""How long a search takes, warm, by leg: python -m benchmarks.queries COLLECTION [COLLECTION…]

Indexes each collection into ``--folder`` (kept, so that a second run need not embed again) and prints a table in
Markdown with the median and the 95th percentile in milliseconds: making the query's vector, then the statement with
one leg, with the other, and with both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.collections import collections, queries, write_collection
from datasette_bear_search import embedders, indexer, sidecar, sql_functions
from datasette_bear_search.planning import plan
from datasette_bear_search.query import parse
from datasette_bear_search.search import search
from datasette_bear_search.sources.bear import BearLibrary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["til-simonw-titles", "scifact-train"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    print(
        "| library | notes | vector of the query | keyword | semantic | hybrid | whole, by meaning too |"
    )
    print("|---|---|---|---|---|---|---|")
    for collection in collections():
        if collection.name in arguments.names:
            measure(collection, arguments.folder, arguments.queries)


def measure(collection: Path, folder: Path, count: int) -> None:
    library, path = folder / f"{collection.name}.sqlite", folder / f"{collection.name}.db"
    if not library.exists():
        write_collection(collection, library)
    embedder = embedders.get_embedder(embedders.default_model())
    report = indexer.index(path, [indexer.read(BearLibrary(library))], embedder)
    connection = sidecar.connect(path)
    sql_functions.register(connection)
    sql_functions.register_embed(connection)
    texts = queries(collection)[:count]
    embedder.embed_query("warm")
    times: dict[str, list[float]] = {"embed": [], "keyword": [], "semantic": [], "hybrid": []}
    for text in texts:
        meaning = plan(connection, parse(text)).query.meaning
        times["embed"].append(_milliseconds(lambda meaning=meaning: embedder.embed_query(meaning)))
    for mode in ("keyword", "semantic", "hybrid"):
        for text in texts:
            times[mode].append(
                _milliseconds(lambda text=text, mode=mode: _search(connection, text, mode))
            )
    whole = [embed + hybrid for embed, hybrid in zip(times["embed"], times["hybrid"])]
    cells = [_median_and_p95(values) for values in [*times.values(), whole]]
    print(f"| {collection.name} | {report.notes:,} | {' | '.join(cells)} |", flush=True)


def _search(connection: sidecar.sqlite3.Connection, text: str, mode: str) -> None:
    search(connection, plan(connection, parse(text, mode)), semantic=True)


def _milliseconds(function) -> float:
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1000


def _median_and_p95(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} / {statistics.quantiles(values, n=20)[18]:.1f}"


if __name__ == "__main__":
    main()
