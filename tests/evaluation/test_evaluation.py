"""``datasette bear-eval``: metrics checked by hand, and what it says when it can't measure.

Tests ``cli/eval.py`` and ``evaluation/collections.py``.
"""

from __future__ import annotations

import json
from contextlib import closing
from math import log2
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from datasette.cli import cli

from datasette_bear_search import evaluation
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.evaluation import judgments
from datasette_bear_search.evaluation.judgments import JudgedQuery, QuerySet
from datasette_bear_search.index import config
from datasette_bear_search.index.file import database
from datasette_bear_search.index.run.calibration import unrelated
from datasette_bear_search.search import engine, request
from datasette_bear_search.search.ranking.statement import DEFAULT_RANKING
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.tiny_embedder import TINY, TinyEmbedder

# Documents by id, as title and text. A word in a title ranks before the same word in a text,
# a short text before a long one.
DOCUMENTS = {
    "zebra/1": ("Zebra", "Stripes, and more stripes."),
    "zebra/2": ("Horses", "A zebra is one of them."),
    "lion/1": ("Lion", "A mane."),
    "lion/2": ("Cats", "A lion is one of them."),
    **{f"tiger/{n}": ("", "One tiger" + " on the move" * n) for n in range(12)},
}
QUERIES = {"z": "zebra", "l": "lion", "t": "tiger"}
QRELS = [("z", "zebra/2", 1), ("l", "lion/1", 1), ("l", "lion/2", 2), ("t", "tiger/11", 1)]


def lines(records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def collection(tmp_path):
    """Write a collection: ``collection(queries={...}, qrels=[...])``; it gives back its folder."""

    def write(name="animals", documents=DOCUMENTS, queries=QUERIES, qrels=QRELS) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "corpus.jsonl").write_text(
            lines(
                {"_id": key, "title": title, "text": text}
                for key, (title, text) in documents.items()
            )
        )
        (folder / "queries.jsonl").write_text(
            lines({"_id": key, "text": text} for key, text in queries.items())
        )
        rows = [("query-id", "corpus-id", "score"), *qrels]
        (folder / "qrels.tsv").write_text("".join("{}\t{}\t{}\n".format(*row) for row in rows))
        return folder

    return write


@pytest.fixture
def bear_eval(tmp_path):
    """Run ``datasette bear-eval`` with a cache of its own; it must end well unless ``fails``."""

    def run(*arguments, fails: bool = False) -> Result:
        arguments = ["bear-eval", "--cache", tmp_path / "cache", *arguments]
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
        if fails:
            assert result.exit_code == 1, result.output
            assert isinstance(result.exception, SystemExit), "a traceback"
        else:
            assert result.exit_code == 0, result.output
        return result

    return run


def measured(result: Result) -> dict:
    """The only evaluation of a run with ``--json``."""
    [found] = json.loads(result.stdout)["collections"]
    return found


def per_query(result: Result, mode: str = "keyword") -> dict[str, dict[str, float]]:
    return {query["id"]: query["modes"][mode] for query in measured(result)["per_query"]}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # The answer is second.
        ("z", {"nDCG@10": 1 / log2(3), "Recall@10": 1, "Recall@100": 1, "MRR@10": 1 / 2}),
        # Both are there, the better one second.
        (
            "l",
            {
                "nDCG@10": (1 + 2 / log2(3)) / (2 + 1 / log2(3)),
                "Recall@10": 1,
                "Recall@100": 1,
                "MRR@10": 1,
            },
        ),
        # The answer is twelfth.
        ("t", {"nDCG@10": 0, "Recall@10": 0, "Recall@100": 1, "MRR@10": 0}),
    ],
)
def test_metrics_agree_with_those_computed_by_hand(collection, bear_eval, query, expected):
    found = per_query(bear_eval(collection(), "--mode", "keyword", "--json"))[query]
    assert {metric: found[metric] for metric in expected} == pytest.approx(expected)


def test_means_are_over_all_queries(collection, bear_eval):
    result = bear_eval(collection(), "--mode", "keyword", "--json")
    values = [found["nDCG@10"] for found in per_query(result).values()]
    assert measured(result)["modes"]["keyword"]["nDCG@10"] == pytest.approx(sum(values) / 3)


def test_the_table_has_a_row_per_mode_and_compares_with_the_better_retriever(collection, bear_eval):
    text = bear_eval(collection()).stdout
    assert f"animals: 3 queries, 16 notes, {TINY}" in text
    header, *rows = (line.split() for line in text.splitlines()[2:6])
    assert header == ["nDCG@10", "Recall@10", "Recall@100", "MRR@10", "ms/query"]
    assert [row[0] for row in rows] == ["keyword", "semantic", "hybrid"]
    assert "without embedding the query" in text
    assert "hybrid against the better retriever (" in text


def test_json_names_the_better_retriever(collection, bear_eval):
    [compared] = measured(bear_eval(collection(), "--json"))["against_better_retriever"]
    assert compared["mode"] == "hybrid"
    assert compared["baseline"] in ("keyword", "semantic")


def test_a_single_mode_is_not_compared(collection, bear_eval):
    text = bear_eval(collection(), "--mode", "hybrid").stdout
    assert "keyword" not in text
    assert "better retriever" not in text


def test_several_collections_end_with_their_mean(collection, bear_eval):
    other = collection("others", queries={"z": "zebra"}, qrels=[("z", "zebra/1", 1)])
    result = bear_eval(collection(), other, "--json")
    data = json.loads(result.stdout)
    means = [found["modes"]["keyword"]["MRR@10"] for found in data["collections"]]
    assert data["mean"]["keyword"]["MRR@10"] == pytest.approx(sum(means) / 2)
    text = bear_eval(collection(), other).stdout
    assert "Mean of 2 collections" in text
    assert "hybrid against the better retriever of each" in text


def test_queries_without_an_answer_are_left_out_and_counted(collection, bear_eval):
    folder = collection(
        queries={**QUERIES, "n": "nothing known", "no": "only a no"},
        qrels=[*QRELS, ("no", "zebra/1", 0)],
    )
    text = bear_eval(folder, "--mode", "keyword").stdout
    assert "3 queries (2 more without a known answer)" in text


def test_a_second_run_embeds_nothing(collection, bear_eval):
    class Counting(TinyEmbedder):
        def embed_documents(self, texts):
            embedded.extend(texts)
            return super().embed_documents(texts)

    embedded = []
    registry.register(TINY, lambda: Counting(TINY))
    first = per_query(bear_eval(collection(), "--json"), "semantic")
    nonsense = len(unrelated())
    assert len(embedded) == nonsense + len(DOCUMENTS)
    second = per_query(bear_eval(collection(), "--json"), "semantic")
    assert len(embedded) == nonsense + len(DOCUMENTS)
    assert [found["nDCG@10"] for found in first.values()] == [
        found["nDCG@10"] for found in second.values()
    ]


def test_words_alone_need_no_model(collection, bear_eval, monkeypatch):
    def load(self):
        raise AssertionError("loaded")

    monkeypatch.setattr(TinyEmbedder, "load", load)
    assert "keyword" in bear_eval(collection(), "--mode", "keyword").stdout


def test_an_index_of_the_same_documents_as_bear_notes_measures_the_same(
    collection, bear_eval, write, bear_index, sidecar_path
):
    write(
        *(
            BearNote(f"# {title}\n{text}" if title else text, id=key)
            for key, (title, text) in DOCUMENTS.items()
        )
    )
    bear_index()
    own = bear_eval(collection(), "--json")
    bears = bear_eval(collection(), "--sidecar", sidecar_path, "--json")
    for mode in ("keyword", "semantic", "hybrid"):
        for query, found in per_query(own, mode).items():
            same = per_query(bears, mode)[query]
            assert all(found[metric] == same[metric] for metric in evaluation.METRICS)


def test_measuring_a_collection_ignores_the_index_in_the_environment(
    collection, bear_eval, sidecar_path, monkeypatch
):
    monkeypatch.setenv(database.SIDECAR_VARIABLE, str(sidecar_path))
    bear_eval(collection(), "--mode", "keyword")
    assert not sidecar_path.exists()


# What can't be measured


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", None, "corpus.jsonl isn't there. A collection is a folder with"),
        ("queries.jsonl", None, "queries.jsonl isn't there"),
        ("qrels.tsv", None, "qrels.tsv isn't there"),
        (
            "queries.jsonl",
            '{"_id": "z", "text": "zebra"}\n{oops\n',
            "queries.jsonl, line 2: this is not JSON",
        ),
        (
            "queries.jsonl",
            '{"_id": "z"}\n',
            'queries.jsonl, line 1: this is not an object with "_id" and "text"',
        ),
        (
            "corpus.jsonl",
            "[1]\n",
            'corpus.jsonl, line 1: this is not an object with "_id" and "text"',
        ),
        (
            "corpus.jsonl",
            '{"_id": "", "text": "x"}\n',
            'corpus.jsonl, line 1: this is not an object with "_id" and "text"',
        ),
        (
            "corpus.jsonl",
            '{"_id": "a", "text": "x"}\n' * 2,
            "line 2: there is another document 'a' above",
        ),
        (
            "queries.jsonl",
            '{"_id": "a", "text": "x"}\n' * 2,
            "line 2: there is another query 'a' above",
        ),
        (
            "qrels.tsv",
            "query-id\tcorpus-id\tscore\nz\tzebra/1\n",
            "qrels.tsv, line 2: this is not a query's id",
        ),
        ("qrels.tsv", "z\tzebra/1\tyes\n", "qrels.tsv, line 1: this is not a query's id"),
        (
            "qrels.tsv",
            "z\tquagga\t1\nz\tdodo\t1\n",
            "names 2 documents that the index doesn't have, such as 'quagga'",
        ),
        ("qrels.tsv", "z\tzebra/1\t0\n", "has no answer to any of the queries in queries.jsonl"),
        ("qrels.tsv", "", "has no answer to any of the queries"),
    ],
)
def test_an_invalid_collection_gives_a_clear_error(collection, bear_eval, file, content, message):
    folder = collection()
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    assert message in bear_eval(folder, "--mode", "keyword", fails=True).output


def test_a_missing_folder_gives_a_clear_error(tmp_path, bear_eval):
    assert "isn't there" in bear_eval(tmp_path / "nowhere", fails=True).output


def test_an_index_without_vectors_is_measured_by_words_only(
    collection, bear_eval, write, bear_index, sidecar_path
):
    write(*(BearNote(f"# {title}\n{text}", id=key) for key, (title, text) in DOCUMENTS.items()))
    bear_index("--no-semantic")
    message = bear_eval(collection(), "--sidecar", sidecar_path, fails=True).output
    assert "The mode semantic can't be measured" in message
    assert "--mode keyword" in message
    bear_eval(collection(), "--sidecar", sidecar_path, "--mode", "keyword")


def test_a_model_that_cannot_be_loaded_gives_a_clear_error(collection, bear_eval):
    class Missing(TinyEmbedder):
        def open_model(self):
            raise ModelUnavailable("The model can't be had.")

    registry.register(TINY, lambda: Missing(TINY))
    assert "The model can't be had." in bear_eval(collection(), fails=True).output


# A person's own judgments


def test_without_a_collection_the_judged_queries_are_measured(
    write, bear_index, bear_eval, sidecar_path
):
    write(*(BearNote(f"# {title}\n{text}", id=key) for key, (title, text) in DOCUMENTS.items()))
    bear_index()
    with closing(sqlite3.connect(sidecar_path)) as db, db:
        judgments.store(db, "zebra", "bear", "zebra/2", judgments.THIS_WAS_IT)
        judgments.store(db, "zebra", "bear", "zebra/1", judgments.NOT_IT)
        judgments.store(db, "lion", "bear", "lion/1", judgments.NOT_IT)
        judgments.store(db, "dodo", "bear", "extinct", judgments.THIS_WAS_IT)
    result = bear_eval("--sidecar", sidecar_path, "--json")
    assert measured(result)["left_out"] == 2
    assert per_query(result)["zebra"]["MRR@10"] == 1 / 2
    assert "Your judgments: 1 query (2 more" in bear_eval("--sidecar", sidecar_path).stdout


def test_with_nothing_judged_it_says_how_to_judge(write, bear_index, bear_eval, sidecar_path):
    write(BearNote("# Roof"))
    bear_index()
    message = bear_eval("--sidecar", sidecar_path, fails=True).output
    assert "datasette bear-serve" in message
    assert "“Right note”" in message


def test_without_an_index_it_says_how_to_make_one(bear_eval, sidecar_path):
    assert "datasette bear-index" in bear_eval("--sidecar", sidecar_path, fails=True).output


# Calculations on results that are given


@pytest.fixture
def index(write, bear_index, sidecar_path):
    write(BearNote("# Roof"))
    bear_index()
    with closing(database.connect(sidecar_path)) as connection:
        yield connection


def query_set(*grades: dict[int, int]) -> QuerySet:
    queries = [JudgedQuery(f"q{n}", f"query {n}", found) for n, found in enumerate(grades)]
    return QuerySet("given", tuple(queries), 0)


def finding(monkeypatch, found: dict[str, list[int]]) -> list[dict]:
    """Let every search in a mode find the notes with these ids; gives back the calls."""
    calls = []

    def retrieve(connection, planned, **options):
        query = planned.query
        calls.append({"mode": query.mode, "text": query.text, **options})
        hits = [SimpleNamespace(id=note) for note in found[query.mode]]
        return SimpleNamespace(hits=hits, plan=planned, found=len(hits), total=len(hits))

    monkeypatch.setattr(engine, "retrieve", retrieve)
    return calls


def test_every_query_runs_once_per_mode_for_a_hundred_results(index, monkeypatch):
    calls = finding(monkeypatch, {"keyword": [1], "hybrid": [1]})
    evaluation.evaluate(index, query_set({1: 1}), ["keyword", "hybrid"])
    assert calls == [
        {
            "mode": "keyword",
            "text": "query 0",
            "semantic": False,
            "ranking": DEFAULT_RANKING,
            "size": 100,
            "offset": 0,
        },
        {
            "mode": "hybrid",
            "text": "query 0",
            "semantic": True,
            "ranking": DEFAULT_RANKING,
            "size": 100,
            "offset": 0,
        },
    ]


@pytest.mark.parametrize(
    ("found", "reciprocal_rank"), [([2, 10, 9], 1 / 2), ([9, 10, 2], 1 / 2), ([9, 2, 10], 1 / 3)]
)
def test_the_order_of_results_counts_whatever_their_ids(index, monkeypatch, found, reciprocal_rank):
    finding(monkeypatch, {"keyword": found})
    result = evaluation.evaluate(index, query_set({10: 1}), ["keyword"])
    assert result.mean("keyword", "MRR@10") == pytest.approx(reciprocal_rank)


def test_a_query_that_finds_nothing_counts_as_zero(index, monkeypatch):
    finding(monkeypatch, {"keyword": []})
    result = evaluation.evaluate(index, query_set({1: 1}), ["keyword"])
    assert result.mean("keyword", "nDCG@10") == 0


def test_two_modes_with_the_same_results_do_not_differ(index, monkeypatch):
    finding(monkeypatch, {"keyword": [1], "semantic": [1], "hybrid": [1]})
    result = evaluation.evaluate(index, query_set(*[{1: 1}] * 12))
    [comparison] = result.comparisons
    assert (comparison.difference, comparison.p) == (0, 1)


def test_a_mode_that_is_better_for_every_query_is_significantly_better(index, monkeypatch):
    finding(monkeypatch, {"keyword": [2, 1], "semantic": [3, 2, 1], "hybrid": [1]})
    result = evaluation.evaluate(index, query_set(*[{1: 1}] * 12))
    [comparison] = result.comparisons
    assert comparison.baseline == "keyword"
    assert comparison.difference == pytest.approx(1 - 1 / log2(3))
    # Of the 2^12 ways to exchange the pairs, only two give so large a difference.
    assert comparison.p == pytest.approx(2 / 2**12, abs=0.001)
    assert "(keyword): +0.369, p < 0.001" in evaluation.as_text([result])


@pytest.fixture
def judged(write, bear_index, sidecar_path):
    """Index a note and judge it for 24 queries."""
    write(BearNote("# Roof", id="roof"), BearNote("# Other"))
    bear_index()
    with closing(sqlite3.connect(sidecar_path)) as db, db:
        for number in range(24):
            judgments.store(db, f"query {number}", "bear", "roof", judgments.THIS_WAS_IT)
    return sidecar_path


@pytest.mark.parametrize("wrong", ["balance: high", "balance: 2", "balanec: 1"])
def test_an_invalid_ranking_in_the_configuration_gives_a_clear_error(tmp_path, wrong):
    file = tmp_path / "bear-search.yaml"
    file.write_text(f"ranking:\n  {wrong}\n")
    with pytest.raises(config.ConfigurationError, match="balance"):
        config.read_configuration(file)


def test_judgments_are_measured_with_the_configured_ranking(judged, bear_eval, monkeypatch):
    config.default_path().parent.mkdir(parents=True)
    config.default_path().write_text("ranking:\n  balance: 0.8\n")
    assert request.read_ranking({"balance": ["0.3"]}).balance == 0.3
    calls = finding(monkeypatch, {"keyword": [1]})
    bear_eval("--sidecar", judged, "--mode", "keyword")
    assert {call["ranking"].balance for call in calls} == {0.8}


def test_another_model_is_tried_in_a_copy(judged, bear_eval):
    registry.register("test/other", lambda: TinyEmbedder("test/other"))
    before = judged.read_bytes()
    result = bear_eval("--sidecar", judged, "--model", "test/other", "--mode", "semantic")
    assert "model test/other against semantic: +0.000, p = 1.000" in result.stdout
    assert judged.read_bytes() == before
