"""How fast the nearest of very many vectors are found.

    python -m benchmarks.speed.nearest --folder FOLDER [--passages 1000000] [--write]

Makes an index of passages without text: the synthetic vectors of the library of 100,000 notes (see
scale), and mixtures of two of them. Prints in Markdown, with warm caches, the median and the 95th
percentile in milliseconds:

- ours: ``nearest_passages()`` as a search calls it, for the 300 nearest passages with their
  similarities;
- vec0: the 50 and the 300 nearest by sqlite-vec, exact;
- numpy: the 50 nearest by matrix multiplication;
- × vec0: how many times faster ours is than vec0 with 50, of the medians;
- recall: the share of the exact 50 nearest passages that are in our top 50.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import closing
from pathlib import Path

import numpy

from benchmarks.lib.measuring import cell, publish, summary, table, timed, write_json
from benchmarks.lib.synthetic_vectors import register
from benchmarks.lib.workload import workload
from benchmarks.speed.floor import Floor
from benchmarks.speed.scale import scaled_sidecar
from datasette_bear_search.index.file import database, metadata
from datasette_bear_search.index.file import nearest as index_file_nearest
from datasette_bear_search.index.file import vectors as index_file_vectors
from datasette_bear_search.index.file.schema import VECTORS
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.ranking.statement import NEAREST_PASSAGES

PASSAGES = 1_000_000
NOTES = 100_000  # in the library that the vectors come from
SEED = 5
# The weights of the two vectors in a mixture: its cosine similarity to the first is about .9.
SHARES = (0.85, 0.4)
ROWS_AT_ONCE = 20_000
QUERIES = 100
RECALL_AT = 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--queries", type=int, default=QUERIES)
    arguments = parser.parse_args()
    embedder = register(arguments.folder)
    library = scaled_sidecar(arguments.folder, NOTES)
    path = arguments.folder / f"passages-{arguments.passages}.db"
    if not path.exists():
        make(path, library, arguments.passages)
    with closing(database.connect(library)) as connection:
        texts = [asked.text for asked in workload(connection, arguments.queries // 2)]
        questions = [plan(connection, parse(text)).terms.meaning for text in texts]
    asked = [vector for vector in embedder.embed_queries(questions) if vector]
    measured = measure(path, asked[: arguments.queries])
    row = [cell(measured[name]) for name in ("ours", "vec0_50", "vec0_300", "numpy")]
    print(
        table(
            ["passages", "ours", "vec0, 50", "vec0, 300", "numpy", "× vec0", "recall"],
            [
                [
                    f"{arguments.passages:,}",
                    *row,
                    f"{measured['times_vec0']:.1f}",
                    f"{measured['recall']:.3f}",
                ]
            ],
        )
    )
    write_json(arguments.folder / "nearest.json", measured)


def make(path: Path, library: Path, passages: int) -> None:
    """Write an index with only passages and vectors."""
    with closing(database.connect(library)) as connection:
        rows = connection.execute(f"select vector from {VECTORS} limit ?", [passages]).fetchall()
    vectors = numpy.frombuffer(b"".join(vector for (vector,) in rows), "<f4").reshape(len(rows), -1)
    unfinished = path.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    with database.open_for_writing(unfinished) as connection, database.transaction(connection):
        connection.execute("insert into sources (name, location) values ('s', 's')")
        connection.execute("insert into notes (id, title, source, key) values (1, 'n', 's', '1')")
        connection.execute(
            """
            insert into passages (id, note_id, position, vector_state)
            with recursive counted(number) as (
              select 1 union all select number + 1 from counted limit ?
            )
            select number, 1, number, 'pending' from counted
            """,
            [passages],
        )
        metadata.set_meta(connection, dimension=vectors.shape[1], model="synthetic")
        index_file_vectors.prepare(connection)
        for start in range(0, passages, ROWS_AT_ONCE):
            some = _vectors(vectors, start, min(start + ROWS_AT_ONCE, passages))
            numbered = enumerate(some, start + 1)
            index_file_vectors.add(
                connection, [(number, row.tobytes()) for number, row in numbered]
            )
        index_file_vectors.center(connection)
        index_file_nearest.choose_candidates(connection)
    unfinished.rename(path)


def _vectors(vectors: numpy.ndarray, start: int, end: int) -> numpy.ndarray:
    """Return vectors number ``start`` to ``end``: the real ones, and after them mixtures."""
    randomness = numpy.random.default_rng([SEED, start])
    first = numpy.arange(start, end) % len(vectors)
    second = randomness.integers(0, len(vectors), len(first))
    mixed = SHARES[0] * vectors[first] + SHARES[1] * vectors[second]
    is_own = numpy.arange(start, end) < len(vectors)
    mixed[is_own] = vectors[first[is_own]]
    return (mixed / numpy.linalg.norm(mixed, axis=1, keepdims=True)).astype("<f4")


def measure(path: Path, asked: list[bytes]) -> dict:
    """Return the times and the recall. Each query runs in all ways before the next one."""
    floor = Floor(path)
    times: dict[str, list[float]] = {"ours": [], "vec0_50": [], "vec0_300": [], "numpy": []}
    recalls = []
    with closing(database.connect(path)) as connection:
        index_file_nearest.register(connection)
        started = time.perf_counter()
        index_file_nearest.nearest(connection, asked[0], NEAREST_PASSAGES)
        reading = time.perf_counter() - started
        for number, vector in enumerate(asked):
            ours, row = timed(
                lambda vector=vector: connection.execute(
                    "select nearest_passages(?, ?)", [vector, NEAREST_PASSAGES]
                ).fetchone()
            )
            vec0_50, exact = timed(lambda vector=vector: floor.vec0(vector, RECALL_AT))
            vec0_300, _ = timed(lambda vector=vector: floor.vec0(vector, NEAREST_PASSAGES))
            by_numpy, _ = timed(lambda vector=vector: floor.numpy(vector, RECALL_AT))
            found = {int(passage_id) for passage_id in list(json.loads(row[0]))[:RECALL_AT]}
            if number >= 2:  # the first ones warm up
                for name, took in zip(times, (ours, vec0_50, vec0_300, by_numpy)):
                    times[name].append(took)
                recalls.append(len(found & set(exact)) / len(exact))
    floor.close()
    measured: dict = {name: summary(of) for name, of in times.items()}
    measured["times_vec0"] = round(measured["vec0_50"]["p50"] / measured["ours"]["p50"], 1)
    measured["recall"] = round(sum(recalls) / len(recalls), 4)
    measured["reading_seconds"] = round(reading, 2)
    return measured


if __name__ == "__main__":
    publish(main, __file__)
