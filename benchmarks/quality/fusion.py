"""How much fusion improves the ranking.

    python -m benchmarks.quality.fusion --folder FOLDER [COLLECTION…] [--write]

Uses the indexes that ``benchmarks.speed.indexing`` left in FOLDER, and prints tables of nDCG@10 in
Markdown:

- each retriever alone; plain Reciprocal Rank Fusion (k = 60 over 100 notes of each: FTS5 with all
  words joined by OR and weights of 10 for the title and 1 for the body, and each note's best
  passage); the textbook query from the documentation; the statement with ``fusion=rrf``; and our
  search with the balance chosen by the query's shape;
- our search with each fixed balance;
- leave one out: for each shape of query, the balance that is best on the other collections,
  measured on the collection that was left out. As long as this is no better than the balances in
  ``search.planner``, those stay.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytrec_eval

from benchmarks.lib.collections import collections
from benchmarks.lib.measuring import publish
from datasette_bear_search.embeddings import registry
from datasette_bear_search.evaluation.collections import read_collection
from datasette_bear_search.evaluation.judgments import JudgedQuery
from datasette_bear_search.index.file import metadata
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import Pipeline
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.ranking.statement import TEXTBOOK, Ranking
from datasette_bear_search.search.request import SearchRequest
from datasette_bear_search.sqlite import sqlite3

BALANCES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
DEPTH = 100
# A note counts once, however many passages it has, so DEPTH notes need more passages.
PASSAGES = 1000
RRF_K = 60

# Name of a search → query id → nDCG@10.
Scores = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="COLLECTION")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--queries", type=int, help="only so many of each collection")
    arguments = parser.parse_args()
    scores: dict[str, Scores] = {}
    shapes: dict[str, dict[str, str]] = {}
    for folder in collections():
        path = arguments.folder / f"{folder.name}.db"
        if path.exists() and (not arguments.names or folder.name in arguments.names):
            with open_sidecar(path) as connection:
                judged = read_collection(folder).judged_queries(connection).queries
                judged = judged[: arguments.queries]
                scores[folder.name] = measured(connection, judged)
                shapes[folder.name] = {
                    query.id: plan(connection, parse(query.text)).shape for query in judged
                }
    searches = list(next(iter(scores.values())))
    _print_table(
        ["search", *scores],
        [[name, *(_mean(of[name].values()) for of in scores.values())] for name in searches],
    )
    _print_table(["leave one out", *scores], [_left_out(scores, shapes)])


def measured(connection: sqlite3.Connection, judged: list[JudgedQuery]) -> Scores:
    """Return the scores of every search on every query."""
    model = metadata.get_meta(connection, "model")
    vectors = registry.trust(model).embed_queries([query.text for query in judged])
    found: dict[str, dict[str, list[int]]] = {}
    for query, vector in zip(judged, vectors):
        ours = {
            "keyword": found_by_us(connection, query.text, "keyword"),
            "semantic": found_by_us(connection, query.text, "semantic"),
            "plain RRF": plain_rrf(connection, query.text, vector or b""),
            "textbook": textbook(connection, query.text),
            "fusion=rrf": found_by_us(connection, query.text, "hybrid", fusion="rrf"),
            "hybrid": found_by_us(connection, query.text, "hybrid"),
        }
        for balance in BALANCES:
            ours[f"balance {balance}"] = found_by_us(connection, query.text, "hybrid", balance)
        for name, notes in ours.items():
            found.setdefault(name, {})[query.id] = notes
    grades = {
        query.id: {str(note): grade for note, grade in query.grades.items()} for query in judged
    }
    judge = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"})
    return {
        name: {
            query: values["ndcg_cut_10"]
            for query, values in judge.evaluate(
                {
                    query: {str(note): -float(rank) for rank, note in enumerate(notes)}
                    for query, notes in by_query.items()
                }
            ).items()
        }
        for name, by_query in found.items()
    }


def found_by_us(
    connection: sqlite3.Connection,
    text: str,
    mode: str,
    balance: float | None = None,
    fusion: str = "blend",
) -> list[int]:
    ranking = Ranking(balance=balance, fusion=fusion)
    pipeline = Pipeline(SearchRequest(parse(text, mode), ranking, size=10))
    pipeline.plan(connection)
    pipeline.embed()
    pipeline.retrieve(connection)
    return [hit.id for hit in pipeline.found.hits]


def textbook(connection: sqlite3.Connection, text: str) -> list[int]:
    return [note for note, *_ in connection.execute(TEXTBOOK, {"q": text})]


def plain_rrf(connection: sqlite3.Connection, text: str, vector: bytes) -> list[int]:
    """Rank as most hybrid searches do."""
    match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    words = connection.execute(
        """
        select rowid
        from notes_fts
        where notes_fts match ?
        order by bm25(notes_fts, 10.0, 1.0, 1.0, 1.0), rowid
        limit ?
        """,
        [match, DEPTH],
    ).fetchall()
    meaning = connection.execute(
        """
        select note_id
        from json_each(nearest_passages(?, ?)) as near
        join passages on passages.id = near.key
        group by note_id
        order by max(near.value) desc
        limit ?
        """,
        [vector, PASSAGES, DEPTH],
    ).fetchall()
    scores: dict[int, float] = {}
    for retriever in (words, meaning):
        for rank, (note,) in enumerate(retriever, 1):
            scores[note] = scores.get(note, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda note: -scores[note])[:10]


def _left_out(scores: dict[str, Scores], shapes: dict[str, dict[str, str]]) -> list[str | float]:
    cells: list[str | float] = ["balances of the others"]
    for name in scores:
        best = _best_balances({n: s for n, s in scores.items() if n != name}, shapes)
        cells.append(
            _mean(
                scores[name][best.get(shape, "hybrid")][query]
                for query, shape in shapes[name].items()
            )
        )
    return cells


def _best_balances(scores: dict[str, Scores], shapes: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return for each shape the fixed balance with the best mean of the collections' means."""
    best = {}
    for shape in {shape for name in scores for shape in shapes[name].values()}:
        means = {}
        for balance in BALANCES:
            search_name = f"balance {balance}"
            by_collection = [
                [of[search_name][query] for query, its in shapes[name].items() if its == shape]
                for name, of in scores.items()
            ]
            means[search_name] = _mean(_mean(values) for values in by_collection if values)
        best[shape] = max(means, key=lambda name: means[name])
    return best


def _mean(values) -> float:
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def _print_table(head: list[str], rows: list[list[str | float]]) -> None:
    print("\n| " + " | ".join([*head, "mean"]) + " |")
    print("|---" * (len(head) + 1) + "|")
    for name, *values in rows:
        cells = [f"{value:.4f}" for value in [*values, _mean(values)]]
        print("| " + " | ".join([str(name), *cells]) + " |", flush=True)


if __name__ == "__main__":
    publish(main, __file__)
