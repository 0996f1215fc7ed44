"""Queries with known answers → nDCG, recall, MRR and time, by mode."""

# numpy takes .1 s to import, so only functions import it.
from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from math import log2
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..embeddings import names, registry
from ..embeddings.base import ModelUnavailable
from ..embeddings.rerankers import Reranker, get_reranker
from ..index.file import database, metadata
from ..index.run import indexer
from ..index.run.report import Hooks
from ..notes import counted, printable
from ..query.query import EVALUATED_MODES, RETRIEVERS, parse
from ..search import engine
from ..search.connection import open_sidecar
from ..search.engine import Pipeline
from ..search.ranking.statement import DEFAULT_RANKING, Ranking
from ..search.request import SearchRequest
from ..search.results import rerank
from ..search.results.records import RankedNote
from ..sources.files.readonly import COPIES
from ..sqlite import sqlite3
from .judgments import EvaluationError, JudgedQuery, QuerySet

# Results per query, for Recall@100.
RESULTS = 100

METRICS = ("nDCG@10", "Recall@10", "Recall@100", "MRR@10")
MILLISECONDS = "ms/query"
# Random permutations for the significance test: p is accurate to about 0.005.
PERMUTATIONS = 9_999
# Smaller values of p aren't reliable and are shown as "p < 0.001".
SMALLEST_P = 0.001


class Run(NamedTuple):
    connection: sqlite3.Connection
    mode: str
    ranking: Ranking = DEFAULT_RANKING
    reranker: Reranker | None = None


@dataclass(frozen=True)
class Outcome:
    """The measurements of one query, as in the JSON."""

    id: str
    text: str
    modes: dict[str, dict[str, float]]  # mode → metric or MILLISECONDS → value


@dataclass(frozen=True)
class Comparison:
    """How much better one mode's nDCG@10 is than another's."""

    mode: str
    baseline: str  # the other mode
    difference: float
    p: float  # two-sided: how likely such a difference is if both are equally good

    def __str__(self) -> str:
        p = f"p < {SMALLEST_P}" if self.p < SMALLEST_P else f"p = {self.p:.3f}"
        return f"{self.difference:+.3f}, {p}"


@dataclass(frozen=True)
class Evaluation:
    name: str
    modes: tuple[str, ...]  # the modes, then the other runs by their names
    outcomes: tuple[Outcome, ...]
    left_out: int  # queries without a known answer
    notes: int
    model: str | None
    notices: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # the names of the other runs

    def mean(self, mode: str, value: str) -> float:
        return fmean(outcome.modes[mode][value] for outcome in self.outcomes)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Compare each hybrid mode with the better retriever, if both retrievers were measured."""
        if not set(RETRIEVERS) <= set(self.modes):
            return ()
        better = max(RETRIEVERS, key=lambda mode: self.mean(mode, "nDCG@10"))
        others = [mode for mode in self.modes if mode not in (*RETRIEVERS, *self.others)]
        return tuple(self._compare(mode, better) for mode in others)

    @cached_property
    def other_comparisons(self) -> tuple[Comparison, ...]:
        """Compare each of the other runs with the last mode."""
        last = self.modes[-len(self.others) - 1]
        return tuple(self._compare(other, last) for other in self.others)

    def _compare(self, mode: str, baseline: str) -> Comparison:
        outcomes = [outcome.modes for outcome in self.outcomes]
        gains = [modes[mode]["nDCG@10"] - modes[baseline]["nDCG@10"] for modes in outcomes]
        return Comparison(mode, baseline, fmean(gains), _p_value(gains))


def semantic_modes(modes: Sequence[str]) -> list[str]:
    return [mode for mode in modes if engine.is_semantic(parse("warm up", mode))]


def evaluate(
    connection: sqlite3.Connection,
    query_set: QuerySet,
    modes: Sequence[str] = EVALUATED_MODES,
    *,
    ranking: Ranking = DEFAULT_RANKING,
    others: Mapping[str, Run] | None = None,
    on_query: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Run every query in every mode, as the search page does, and measure the results.

    :param connection: one of :func:`~datasette_bear_search.search.connection.open_sidecar`
    :param others: further runs to compare with the last mode, by their names
    :param on_query: called with the number of queries done (from 0 on) and their total
    :raises EvaluationError: if a mode needs vectors and there are none
    """
    state = database.read_state(connection)
    semantic = semantic_modes(modes)
    if semantic:
        _require_vectors(connection, semantic[0])
    runs = {mode: Run(connection, mode, ranking) for mode in modes} | dict(others or {})
    outcomes: list[Outcome] = []
    on_query(0, len(query_set.queries))
    for query in query_set.queries:
        outcomes.append(_measure(query, runs))
        on_query(len(outcomes), len(query_set.queries))
    pending = engine.pending_notice(state) if semantic else None
    return Evaluation(
        name=query_set.name,
        modes=tuple(runs),
        outcomes=tuple(outcomes),
        left_out=query_set.left_out,
        notes=metadata.count_notes(connection),
        model=state.model if semantic else None,
        notices=tuple(filter(None, [pending])),
        others=tuple(others or ()),
    )


@contextmanager
def copy_with_model(
    path: Path, model: str, on_embedded: Callable[[int, int], None]
) -> Iterator[sqlite3.Connection]:
    """Open a copy of the index file at ``path`` with vectors of another model."""
    embedder = registry.trust(names.given(model))
    embedder.may_download = True
    with TemporaryDirectory(prefix=COPIES) as folder:  # bear-index removes it after a kill
        copy = Path(folder) / "copy.sqlite"
        shutil.copy(path, copy)
        report = indexer.update(copy, [], embedder, hooks=Hooks(on_embedded=on_embedded))
        if report.model_failure:
            raise EvaluationError(report.model_failure)
        with open_sidecar(copy) as connection:
            yield connection


def as_text(evaluations: Sequence[Evaluation]) -> str:
    """Return a table for each evaluation, and one of the means if there are several."""
    parts = [_evaluation_lines(evaluation) for evaluation in evaluations]
    if len(evaluations) > 1:
        parts.append(_mean_lines(evaluations))
    return "\n\n".join("\n".join(map(printable, lines)) for lines in parts)


def as_json(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return all measurements, down to single queries."""
    facts = ("name", "notes", "model", "left_out", "notices")
    return {
        "collections": [
            {
                **{name: getattr(each, name) for name in facts},
                "queries": len(each.outcomes),
                "modes": _means([each]),
                "against_better_retriever": [vars(it) for it in each.comparisons],
                "others": [vars(it) for it in each.other_comparisons],
                "per_query": [asdict(outcome) for outcome in each.outcomes],
            }
            for each in evaluations
        ],
        "mean": _means(evaluations),
    }


# --- one query


def _measure(query: JudgedQuery, runs: Mapping[str, Run]) -> Outcome:
    """Run a query in all modes in a row, so that a busy machine slows all of them alike."""
    values: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        request = SearchRequest(parse(query.text, run.mode), run.ranking, size=RESULTS)
        pipeline = Pipeline(request)
        pipeline.plan(run.connection)
        pipeline.embed()
        pipeline.retrieve(run.connection)
        seconds, found = pipeline.seconds, pipeline.found
        hits, took = found.hits, seconds["plan"] + seconds["sql"]
        if run.reranker:
            started = time.perf_counter()
            hits, _ = rerank.rerank(hits, found.plan.terms.meaning, run.reranker)
            took += time.perf_counter() - started
        values[name] = {**_metrics(query, hits), MILLISECONDS: took * 1000}
    return Outcome(query.id, query.text, values)


def _require_vectors(connection: sqlite3.Connection, mode: str) -> None:
    """Load the index's model: without it, the search would fall back to words."""
    pipeline = Pipeline(SearchRequest(parse("warm up", mode)))
    pipeline.plan(connection)
    pipeline.embed()
    if pipeline.embedder is None:
        raise EvaluationError(
            f"The mode {mode} can't be measured. {pipeline.obstacle or 'The index is empty.'}",
            "To measure the search by words alone, use --mode keyword.",
        )


def loaded_reranker(name: str) -> Reranker:
    """Return a reranker, or raise EvaluationError."""
    try:
        reranker = get_reranker(name)
        reranker.load()
    except (ValueError, ModelUnavailable) as error:
        raise EvaluationError(str(error)) from None
    return reranker


def _metrics(query: JudgedQuery, hits: Sequence[RankedNote]) -> dict[str, float]:
    found = [query.grades.get(hit.id, 0) for hit in hits[:RESULTS]]
    is_answer = [grade > 0 for grade in found]
    answers = sum(grade > 0 for grade in query.grades.values())
    ideal = sorted(query.grades.values(), reverse=True)
    return {
        "nDCG@10": _gain(found[:10]) / _gain(ideal[:10]),
        "Recall@10": sum(is_answer[:10]) / answers,
        "Recall@100": sum(is_answer[:100]) / answers,
        "MRR@10": 1 / (is_answer.index(True) + 1) if any(is_answer[:10]) else 0.0,
    }


def _gain(grades: Sequence[int]) -> float:
    """Return the discounted cumulative gain: Järvelin and Kekäläinen, TOIS 2002."""
    return sum(max(grade, 0) / log2(rank + 1) for rank, grade in enumerate(grades, 1))


# --- all queries


def _p_value(differences: list[float]) -> float:
    """Return the two-sided p of differences between paired values, by Fisher's randomization.

    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information
    retrieval evaluation", CIKM 2007.
    """
    import numpy as np

    if len(differences) < 2:
        return 1.0
    values, numbers = np.array(differences), np.random.default_rng(0)  # so that p is reproducible
    least = abs(values.sum()) - 1e-9  # the same sum in another order may differ a little
    signs = (numbers.choice((-1, 1), len(values)) for _ in range(PERMUTATIONS))
    return (1 + sum(abs(values @ each) >= least for each in signs)) / (1 + PERMUTATIONS)


def _means(evaluations: Sequence[Evaluation]) -> dict[str, dict[str, float]]:
    values = (*METRICS, MILLISECONDS)
    return {
        mode: {value: fmean(each.mean(mode, value) for each in evaluations) for value in values}
        for mode in evaluations[0].modes
    }


# --- text


def _evaluation_lines(evaluation: Evaluation) -> list[str]:
    count = len(evaluation.outcomes)
    head = f"{evaluation.name}: {count:,} {'query' if count == 1 else 'queries'}"
    if evaluation.left_out:
        head += f" ({evaluation.left_out:,} more without a known answer)"
    head += f", {counted(evaluation.notes, 'note')}"
    if evaluation.model:
        head += f", {evaluation.model}"
    times = f"The times are for {RESULTS} results, without embedding the query."
    lines = [head, *evaluation.notices, "", *_metrics_table([evaluation]), times]
    for comparison in evaluation.comparisons:
        better = f"the better retriever ({comparison.baseline})"
        lines.append(f"{comparison.mode} against {better}: {comparison}")
    compared = evaluation.other_comparisons
    return lines + [f"{each.mode} against {each.baseline}: {each}" for each in compared]


def _mean_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    lines = [f"Mean of {len(evaluations)} collections", "", *_metrics_table(evaluations)]
    for number, comparison in enumerate(evaluations[0].comparisons):
        differences = [(each.comparisons[number].difference, each.name) for each in evaluations]
        worst, name = min(differences)
        lines.append(
            f"{comparison.mode} against the better retriever of each: "
            f"{fmean(difference for difference, _ in differences):+.3f}, "
            f"at worst {worst:+.3f} ({name})"
        )
    return lines


def _metrics_table(evaluations: Sequence[Evaluation]) -> list[str]:
    means = _means(evaluations)
    width = max(map(len, means))
    lines = ["  ".join([" " * width, *METRICS, MILLISECONDS])]
    for mode, values in means.items():
        metrics = (f"{values[each]:>{len(each)}.3f}" for each in METRICS)
        milliseconds = f"{values[MILLISECONDS]:>{len(MILLISECONDS)}.1f}"
        lines.append("  ".join([mode.ljust(width), *metrics, milliseconds]))
    return lines
