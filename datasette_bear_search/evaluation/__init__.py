"""How well the search ranks: queries whose answers are known → nDCG, recall, MRR and time, mode by mode.

The queries run through the statement that the search page runs. trec_eval computes the metrics, SciPy the significance.
"""

# pytrec_eval, SciPy and numpy are imported when something is measured: they cost a second, and only bear-eval needs them.
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..embeddings import registry
from ..embeddings.base import Embedder, ModelUnavailable
from ..embeddings.rerankers import Reranker, get_reranker
from ..index import database
from ..query.query import EVALUATED_MODES, RETRIEVERS, Query, parse
from ..search import engine, rerank
from ..search.engine import Pipeline
from ..search.functions import open_sidecar
from ..search.request import SearchRequest
from ..search.sql import DEFAULT_RANKING, Ranking
from ..sqlite import sqlite3
from . import judgments
from .judgments import HOW_TO_JUDGE, JudgedQuery, QuerySet

# As deep as Recall@100 looks.
RESULTS = 100

METRICS = ("nDCG@10", "Recall@10", "Recall@100", "MRR@10")
MILLISECONDS = "ms/query"

# What the last of the modes found, reranked, stands among the modes under this name.
RERANK = "rerank"

SHAPES = ("title", "keywords", "question or sentence")
KEYWORDS_AT_MOST = 3
# With fewer queries the mean of a shape says more about these queries than about the shape.
QUERIES_OF_A_SHAPE = 20

# Random exchanges for the significance test: p is exact to about 0.005.
PERMUTATIONS = 9_999


class EvaluationError(Exception):
    """Nothing can be measured; the message says why and what to do."""


@dataclass(frozen=True)
class Outcome:
    """What the modes made of one query."""

    id: str
    text: str
    shape: str
    embed_milliseconds: float | None  # None if no mode needed its vector
    values: dict[str, dict[str, float]]  # mode → metric or MILLISECONDS → value


@dataclass(frozen=True)
class Comparison:
    """How much better than another one a mode's nDCG@10 is."""

    mode: str
    leg: str  # the other, as a rule the better leg
    difference: float
    p: float  # how likely so large a difference is if the two are equally good; two-sided


@dataclass(frozen=True)
class Evaluation:
    """What a search is worth on a set of queries."""

    name: str
    modes: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    left_out: int  # queries without a known answer
    notes: int
    model: str | None
    notices: tuple[str, ...] = ()

    def mean(self, mode: str, value: str) -> float:
        """The mean of a metric, or of MILLISECONDS, over all queries."""
        return _mean([outcome.values[mode][value] for outcome in self.outcomes])

    @property
    def embed_milliseconds(self) -> float | None:
        """The mean time that the vector of a query takes, on top of the search; None if no mode needed it."""
        times = [outcome.embed_milliseconds for outcome in self.outcomes]
        known = [milliseconds for milliseconds in times if milliseconds is not None]
        return _mean(known) if known else None

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Each mode that isn't a leg against the better leg; none unless both legs were measured."""
        if not set(RETRIEVERS) <= set(self.modes):
            return ()
        leg = max(RETRIEVERS, key=lambda mode: self.mean(mode, "nDCG@10"))
        return tuple(
            Comparison(mode, leg, *_difference(self._ndcg(mode), self._ndcg(leg)))
            for mode in self.modes
            if mode not in RETRIEVERS
        )

    @cached_property
    def reranked(self) -> Comparison | None:
        """What reranking adds to the mode that it works on; None without it."""
        if RERANK not in self.modes:
            return None
        mode = self.modes[-2]
        return Comparison(RERANK, mode, *_difference(self._ndcg(RERANK), self._ndcg(mode)))

    @cached_property
    def by_shape(self) -> dict[str, Evaluation]:
        """The same for the queries of each shape of which there are enough; empty unless there are two such shapes."""
        outcomes = {
            shape: tuple(outcome for outcome in self.outcomes if outcome.shape == shape)
            for shape in SHAPES
        }
        parts = {
            shape: replace(self, outcomes=part)
            for shape, part in outcomes.items()
            if len(part) >= QUERIES_OF_A_SHAPE
        }
        return parts if len(parts) > 1 else {}

    def _ndcg(self, mode: str) -> list[float]:
        return [outcome.values[mode]["nDCG@10"] for outcome in self.outcomes]


def require_libraries() -> None:
    """Find out at once, not after minutes of indexing, whether metrics can be computed.

    :raises EvaluationError: if they can't
    """
    missing = [name for name in ("pytrec_eval", "scipy") if find_spec(name) is None]
    if missing:
        raise EvaluationError(
            f"The metrics are computed by the Python package {missing[0]}, which is not installed. "
            "Install it with: datasette install 'datasette-bear-search[eval]'"
        )


def judged_queries(connection: sqlite3.Connection) -> QuerySet:
    """The queries whose results a person judged on the search page.

    :raises EvaluationError: if there are none
    """
    query_set = judgments.judged_queries(connection)
    if not query_set.queries:
        raise EvaluationError(f"No note was found to be the right one yet. {HOW_TO_JUDGE}")
    return query_set


def needs_meaning(modes: Sequence[str]) -> bool:
    """Whether any of the modes searches by meaning, and so needs vectors."""
    return bool(_trials(modes))


def evaluate_sidecar(
    path: Path,
    read_queries: Callable[[sqlite3.Connection], QuerySet],
    modes: Sequence[str] = EVALUATED_MODES,
    **options: Any,
) -> Evaluation:
    """:func:`evaluate` on the sidecar at ``path``, with the queries that ``read_queries`` finds there.

    :raises SidecarError: if there is no sidecar
    :raises EvaluationError: as :func:`evaluate` does
    """
    with open_sidecar(path) as connection:
        return evaluate(connection, read_queries(connection), modes, **options)


def evaluate(
    connection: sqlite3.Connection,
    query_set: QuerySet,
    modes: Sequence[str] = EVALUATED_MODES,
    *,
    ranking: Ranking = DEFAULT_RANKING,
    reranker: str | None = None,
    on_query: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Run every query in every mode, as the search page does, and measure what it finds.

    :param connection: to a sidecar, with our SQL functions
    :param reranker: the name of one, to measure what the last mode finds with it, too
    :param on_query: called with how many of how many queries are done: before the first, then after each
    :raises EvaluationError: if a mode goes by meaning and the sidecar can't, or a library is missing
    """
    require_libraries()
    state = database.read_state(connection)
    embedder = _embedder(connection, state, modes)
    loaded_reranker = _reranker(reranker, state) if reranker else None
    runs: dict[str, _Run] = {}
    on_query(0, len(query_set.queries))
    for judged in query_set.queries:
        runs[judged.id] = _run(connection, loaded_reranker, judged, modes, ranking)
        on_query(len(runs), len(query_set.queries))
    modes = (*modes, RERANK) if loaded_reranker else tuple(modes)
    metrics = {
        mode: _metrics(query_set, {query_id: run.found[mode] for query_id, run in runs.items()})
        for mode in modes
    }
    titles = {_folded(title) for (title,) in connection.execute("select title from notes") if title}
    return Evaluation(
        name=query_set.name,
        modes=modes,
        outcomes=tuple(
            Outcome(
                judged.id,
                judged.text,
                _shape(judged.text, titles),
                runs[judged.id].embed_milliseconds,
                {
                    mode: {
                        **metrics[mode][judged.id],
                        MILLISECONDS: runs[judged.id].milliseconds[mode],
                    }
                    for mode in modes
                },
            )
            for judged in query_set.queries
        ),
        left_out=query_set.left_out,
        notes=database.count_notes(connection),
        model=state.model if embedder else None,
        notices=tuple(filter(None, [engine.pending_notice(state) if embedder else None])),
    )


@dataclass
class _Run:
    """A query's results and times by mode."""

    found: dict[str, list[int]] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    embed_milliseconds: float | None = None


def _run(
    connection: sqlite3.Connection,
    reranker: Reranker | None,
    judged: JudgedQuery,
    modes: Sequence[str],
    ranking: Ranking,
) -> _Run:
    """All modes of a query in a row: what slows the machine for a while slows them alike."""
    run = _Run()
    for mode in modes:
        pipeline = Pipeline(SearchRequest(parse(judged.text, mode), ranking, size=RESULTS))
        pipeline.plan(connection)
        pipeline.embed()
        pipeline.retrieve(connection)
        seconds, results = pipeline.laps.seconds, pipeline.results
        if engine.is_semantic(pipeline.planned.query):
            # The modes after the first find the vector in the embedder's cache.
            run.embed_milliseconds = run.embed_milliseconds or seconds["embed"] * 1000
        run.milliseconds[mode] = (seconds["plan"] + seconds["sql"]) * 1000
        run.found[mode] = [hit.id for hit in results.hits]
    if reranker:
        started = time.perf_counter()
        reranked = rerank.rerank(results.hits, results.query.meaning, reranker)
        run.milliseconds[RERANK] = run.milliseconds[mode] + _milliseconds_since(started)
        run.found[RERANK] = [hit.id for hit in reranked.hits]
    return run


def _embedder(
    connection: sqlite3.Connection, state: database.State, modes: Sequence[str]
) -> Embedder | None:
    """The sidecar's model, loaded; None if no mode needs it. Falling back to words would measure something else."""
    trials = _trials(modes)
    if not trials:
        return None
    obstacle = engine.semantic_obstacle(state, database.has_vector_extension(connection))
    if obstacle is None and state.model is not None:
        embedder = registry.get_embedder(state.model)
        obstacle = engine.embed_query(state, embedder, trials[0])
        if obstacle is None:
            return embedder
    raise EvaluationError(
        f"The mode {trials[0].mode} can't be measured. {obstacle or 'The index is empty.'}\n"
        "To measure the search by words alone, use --mode keyword."
    )


def _reranker(name: str, state: database.State) -> Reranker:
    """:raises EvaluationError: if there is none of this name, or its model can't be had"""
    try:
        reranker = get_reranker(name, registry.get_embedder(state.model) if state.model else None)
        reranker.load()
    except (ValueError, ModelUnavailable) as error:
        raise EvaluationError(str(error)) from None
    return reranker


def _trials(modes: Sequence[str]) -> list[Query]:
    """A query in each of the modes that search by meaning."""
    trials = [parse("warm up", mode) for mode in modes]
    return [trial for trial in trials if engine.is_semantic(trial)]


def _metrics(query_set: QuerySet, found: dict[str, list[int]]) -> dict[str, dict[str, float]]:
    """Query's id → metric → value."""
    import pytrec_eval

    grades = {
        query.id: {str(note): grade for note, grade in query.grades.items()}
        for query in query_set.queries
    }
    judge = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10", "recall.10,100", "recip_rank"})
    whole = judge.evaluate(_scores(found, RESULTS))
    # trec_eval's reciprocal rank has no cut: it gets ten results.
    first_ten = judge.evaluate(_scores(found, 10))
    return {
        query_id: {
            "nDCG@10": whole[query_id]["ndcg_cut_10"],
            "Recall@10": whole[query_id]["recall_10"],
            "Recall@100": whole[query_id]["recall_100"],
            "MRR@10": first_ten[query_id]["recip_rank"],
        }
        for query_id in grades
    }


def _scores(found: dict[str, list[int]], depth: int) -> dict[str, dict[str, float]]:
    """Ranks as scores that fall by one: trec_eval sorts by score, and would break ties in its own way."""
    return {
        query: {str(note): float(-rank) for rank, note in enumerate(notes[:depth])}
        for query, notes in found.items()
    }


def _difference(values: list[float], others: list[float]) -> tuple[float, float]:
    """The mean difference of paired values and its two-sided p, by Fisher's randomization test.

    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.
    """
    import numpy
    from scipy.stats import permutation_test

    differences = numpy.array(values) - numpy.array(others)
    if len(differences) < 2:
        return float(differences.mean()), 1.0
    test = permutation_test(
        (differences, numpy.zeros_like(differences)),
        lambda one, other, axis: (one - other).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=1_000,  # bounds the memory
        random_state=0,  # the same p every time
    )
    return float(differences.mean()), float(test.pvalue)


def _shape(text: str, titles: set[str]) -> str:
    if _folded(text) in titles:
        return "title"
    if len(text.split()) <= KEYWORDS_AT_MOST and not text.rstrip().endswith("?"):
        return "keywords"
    return "question or sentence"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
