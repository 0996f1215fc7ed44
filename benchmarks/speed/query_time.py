"""How long a search takes, compared to the bare retrievers.

    python -m benchmarks.speed.query_time --folder FOLDER [--write]

Runs queries of several kinds on libraries of several sizes (made in FOLDER if they are missing, see
scale), with warm caches, and prints a table in Markdown for each size, with the median and the 95th
percentile in milliseconds:

- whole: the search of the terminal and the agents, with planning, the statement and the closest
  sentences, but without embedding the query;
- words, meaning: the same with a single retriever;
- served: the same as whole, measured by a Datasette in a process of its own; HTTP adds: how much
  longer a request to its JSON API takes, over a connection that stays open;
- FTS5: only ``order by bm25() limit 100`` for the same words; all words: including those that the
  planner leaves out;
- vec0: the 50 and the 300 nearest vectors by sqlite-vec, exact; numpy: the same 50 by matrix
  multiplication, which shows the limit set by memory bandwidth;
- ratio: whole divided by the sum of bare FTS5 and bare vec0 (50 nearest), of the medians;
- × vec0: how many times faster a search by meaning alone is than that scan of all vectors, of the
  medians;
- recall: the share of the exact 50 nearest notes that a search by meaning alone returns.

Filters apply to our search only; the bare retrievers always scan everything. All ways take turns,
query by query, so that other load on the machine affects them alike. The vectors are synthetic.
The numbers are also written to FOLDER, as JSON and as a plot.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.lib.measuring import cell, publish, summary, table, timed, write_json
from benchmarks.lib.servers import Server, serving
from benchmarks.lib.synthetic_vectors import register
from benchmarks.lib.workload import Asked, workload
from benchmarks.speed.floor import Floor
from benchmarks.speed.scale import SIZE_HELP, SIZES, scaled_sidecar
from datasette_bear_search.embeddings.base import Embedder
from datasette_bear_search.query.fts5 import Terms, any_of, quoted
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.request import read_request
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.api.openapi import SEARCH_PATH

QUERIES = 25
# Queries of each kind before measuring starts.
WARM_UP = 2
# Nearest neighbors for the recall.
RECALL_AT = 50

ALL = "all kinds"

# The parts of a whole search, as in its response.
PARTS = ("plan", "sql", "highlight")

# The measurements of each query, and the headings of their columns.
COLUMNS = {
    "whole": "whole",
    "keyword": "words",
    "semantic": "meaning",
    "served": "served",
    "http_adds": "HTTP adds",
    "fts5": "FTS5",
    "fts5_all_words": "all words",
    "vec0_50": "vec0, 50",
    "vec0_300": "vec0, 300",
    "numpy": "numpy",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help=SIZE_HELP)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each kind")
    parser.add_argument("--json", type=Path, help="instead of FOLDER/query_time.json")
    parser.add_argument("--no-plot", action="store_true", help="where matplotlib isn't installed")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count only the processor's time, on a machine that has other work; without HTTP",
    )
    arguments = parser.parse_args()
    path = arguments.json or arguments.folder / "query_time.json"
    measured = []
    for size in arguments.sizes:
        http = not arguments.processor_time
        measured.append(measure(arguments.folder, size, arguments.queries, http))
        print(report(measured[-1]), flush=True)
    write_json(path, measured)
    if not arguments.no_plot:
        from benchmarks.lib.plots import plot_query_time

        plot_query_time(path, path.with_suffix(".png"))


def measure(folder: Path, size: int, count: int, http: bool = True) -> dict[str, Any]:
    """Return the numbers of one library by kind of query; without HTTP, processor time."""
    path = scaled_sidecar(folder, size)
    embedder = register(folder)
    floor = Floor(path)
    try:
        with ExitStack() as opened:
            connection = opened.enter_context(open_sidecar(path))
            server = opened.enter_context(serving([path], synthetic=folder)) if http else None
            bench = Bench(connection, embedder, floor, server)
            [passages] = connection.execute("select count(*) from passages").fetchone()
            asked = workload(connection, count + WARM_UP)
            kinds = list(dict.fromkeys(query.kind for query in asked))
            warm_up = WARM_UP * len(kinds)
            planned = [
                plan(connection, read_request(query.parameters()).query).terms for query in asked
            ]
            taken = [
                (query.kind, bench.ask_everywhere(query, understood))
                for query, understood in zip(asked, planned)
            ][warm_up:]
    finally:
        floor.close()
    by_kind: dict[str, list[dict[str, float]]] = defaultdict(list)
    for kind, times in taken:
        by_kind[kind].append(times)
        by_kind[ALL].append(times)
    return {
        "notes": size,
        "passages": passages,
        "too_slow": bench.too_slow,
        "kinds": {kind: _numbers(by_kind[kind]) for kind in [*kinds, ALL]},
    }


class Bench:
    """A library, and all ways to search it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        embedder: Embedder,
        floor: Floor,
        server: Server | None,
    ) -> None:
        self._connection = connection
        self._embedder = embedder
        self._floor = floor
        self._server = server
        self._clock = time.perf_counter if server else time.process_time
        self.too_slow = 0  # requests that Datasette's time limit stopped

    def ask_everywhere(self, asked: Asked, understood: Terms) -> dict[str, float]:
        """Return the milliseconds that one query takes in each way, and the recall."""
        # Put the vector into the cache before measuring.
        vector = self._embedder.embed_query(understood.meaning)
        all_words = any_of(quoted(word) for word in asked.text.split() if ":" not in word)
        floor = self._floor
        whole, timing = self._ours(asked, "auto")
        times = {"whole": whole}
        if self._server is not None:
            times |= {f"of it {part}": timing.get(part, 0.0) for part in PARTS}
            times["served"], times["http_adds"] = self._over_http(self._server, asked)
        times["fts5"] = self._timed(lambda: floor.fts5(understood.match or all_words))
        times["fts5_all_words"] = self._timed(lambda: floor.fts5(all_words))
        times["vec0_50"] = self._timed(lambda: floor.vec0(vector, 50))
        times["vec0_300"] = self._timed(lambda: floor.vec0(vector, 300))
        for mode in ("keyword", "semantic"):
            times[mode], _ = self._ours(asked, mode)
        times["numpy"] = self._timed(lambda: floor.numpy(vector, 50))
        times["recall"] = self._recall(asked, vector)
        return times

    def _timed(self, function: Callable[[], object]) -> float:
        return timed(function, self._clock)[0]

    def _ours(self, asked: Asked, mode: str) -> tuple[float, dict[str, float]]:
        request = read_request(asked.parameters(mode=mode))
        milliseconds, answer = timed(lambda: search(self._connection, request), self._clock)
        return milliseconds, answer.timing_ms

    def _over_http(self, server: Server, asked: Asked) -> tuple[float, float]:
        """Return the time of the search there, without the query's vector, and what HTTP adds."""
        milliseconds, (status, body) = timed(
            lambda: server.get(f"{SEARCH_PATH}.json", q=asked.text)
        )
        if status != 200:
            self.too_slow += 1
            return milliseconds, milliseconds
        timing = json.loads(body)["timing_ms"]
        return timing["total"] - timing["embed"], milliseconds - timing["total"]

    def _recall(self, asked: Asked, vector: bytes) -> float:
        # Without a threshold, because a search lists only a few notes that aren't close.
        request = read_request(asked.parameters(mode="semantic"), size=RECALL_AT)
        request = replace(request, ranking=replace(request.ranking, min_similarity=-1.0))
        results = search(self._connection, request).results
        conditions, parameters = results.plan.filters.conditions()
        allowed = None
        if conditions:
            rows = self._connection.execute(
                f"select id from notes where {' and '.join(conditions)}", parameters
            )
            allowed = [note_id for (note_id,) in rows]
        vectors = self._floor.nearest_notes(vector, RECALL_AT, allowed)
        found = {hit.id for hit in results.hits}
        return len(found & vectors.keys()) / len(vectors) if vectors else 1.0


def report(measured: dict[str, Any]) -> str:
    """Return the numbers of one library as a table."""
    columns = {name: head for name, head in COLUMNS.items() if name in measured["kinds"][ALL]}
    rows = [
        [
            kind,
            *(cell(numbers[name]) for name in columns),
            f"{numbers['ratio']:.2f}",
            f"{numbers['times_vec0']:.1f}",
            f"{numbers['recall']:.3f}",
        ]
        for kind, numbers in measured["kinds"].items()
    ]
    title = f"\n{measured['notes']:,} notes, {measured['passages']:,} passages: p50 / p95 in ms"
    if measured["too_slow"]:
        title += f". {measured['too_slow']} requests took longer than Datasette allows."
    lines = [title, table(["", *columns.values(), "ratio", "× vec0", "recall"], rows)]
    overall = measured["kinds"][ALL]
    parts = [
        f"{part} {overall[f'of it {part}']['p50']}" for part in PARTS if f"of it {part}" in overall
    ]
    if parts:
        lines.append(f"Of the whole, medians: {', '.join(parts)}.")
    return "\n\n".join(lines)


def _numbers(times: Sequence[dict[str, float]]) -> dict[str, Any]:
    numbers: dict[str, Any] = {"queries": len(times)}
    for name in times[0]:
        if name != "recall":
            numbers[name] = summary(one[name] for one in times)
    for k in (50, 300):
        bare = summary(one["fts5"] + one[f"vec0_{k}"] for one in times)
        numbers[f"floor_{k}"] = bare
        numbers[f"ratio_{k}"] = round(numbers["whole"]["p50"] / bare["p50"], 3)
    numbers["ratio"] = numbers["ratio_50"]
    numbers["times_vec0"] = round(numbers["vec0_50"]["p50"] / numbers["semantic"]["p50"], 2)
    numbers["recall"] = round(sum(one["recall"] for one in times) / len(times), 4)
    return numbers


if __name__ == "__main__":
    publish(main, __file__)
