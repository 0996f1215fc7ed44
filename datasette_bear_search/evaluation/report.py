"""Evaluations as text for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import METRICS, MILLISECONDS, RESULTS, Comparison, Evaluation

# Below it a p from random exchanges says no more than that it is small.
SMALLEST_P = 0.001


def as_text(evaluations: Sequence[Evaluation]) -> str:
    """A table for each evaluation, and the means if there are several."""
    parts = [_one(evaluation) for evaluation in evaluations]
    if len(evaluations) > 1:
        parts.append(_means(evaluations))
    return "\n\n".join(parts)


def as_json(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Everything that was measured, down to the single query."""
    return {
        "collections": [
            {
                "name": evaluation.name,
                "notes": evaluation.notes,
                "model": evaluation.model,
                "left_out": evaluation.left_out,
                "notices": evaluation.notices,
                "embed_ms": evaluation.embed_milliseconds,
                **_summary(evaluation),
                "by_shape": {shape: _summary(part) for shape, part in evaluation.by_shape.items()},
                "per_query": [
                    {
                        "id": outcome.id,
                        "text": outcome.text,
                        "shape": outcome.shape,
                        "embed_ms": outcome.embed_milliseconds,
                        "modes": outcome.values,
                    }
                    for outcome in evaluation.outcomes
                ],
            }
            for evaluation in evaluations
        ],
        "mean": {
            mode: {value: _mean(evaluations, mode, value) for value in _COLUMNS}
            for mode in evaluations[0].modes
        },
    }


_COLUMNS = (*METRICS, MILLISECONDS)


def _one(evaluation: Evaluation) -> str:
    count = len(evaluation.outcomes)
    queries = "1 query" if count == 1 else f"{count:,} queries"
    if evaluation.left_out:
        queries += f" ({evaluation.left_out:,} more without a known answer)"
    head = f"{evaluation.name}: {queries}, {evaluation.notes:,} notes"
    if evaluation.model:
        head += f", {evaluation.model}"
    rows = [
        [mode, *(_cell(value, evaluation.mean(mode, value)) for value in _COLUMNS)]
        for mode in evaluation.modes
    ]
    lines = [head, *evaluation.notices, "", *_table(["", *_COLUMNS], rows)]
    times = f"The times are for {RESULTS} results"
    if embed := evaluation.embed_milliseconds:
        times += f"; where meaning takes part, the query's vector takes {embed:.1f} ms more"
    lines.append(f"{times}.")
    lines += [_sentence(comparison) for comparison in evaluation.comparisons]
    if reranked := evaluation.reranked:
        lines.append(
            f"{reranked.mode} against {reranked.leg}: {reranked.difference:+.3f}, {_p(reranked.p)}"
        )
    if shapes := evaluation.by_shape:
        lines += ["", *_shape_table(evaluation, shapes)]
    return "\n".join(lines)


def _shape_table(evaluation: Evaluation, shapes: dict[str, Evaluation]) -> list[str]:
    rows = []
    for shape, part in shapes.items():
        row = [shape, f"{len(part.outcomes):,}"]
        row += [_cell("nDCG@10", part.mean(mode, "nDCG@10")) for mode in part.modes]
        row += [
            f"{comparison.difference:+.3f} ({comparison.leg}), {_p(comparison.p)}"
            for comparison in part.comparisons
        ]
        rows.append(row)
    against = [f"{comparison.mode} - better leg" for comparison in evaluation.comparisons]
    return _table(["nDCG@10", "queries", *evaluation.modes, *against], rows)


def _means(evaluations: Sequence[Evaluation]) -> str:
    modes = evaluations[0].modes
    rows = [
        [mode, *(_cell(value, _mean(evaluations, mode, value)) for value in _COLUMNS)]
        for mode in modes
    ]
    lines = [f"Mean of {len(evaluations)} collections", "", *_table(["", *_COLUMNS], rows)]
    for number, comparison in enumerate(evaluations[0].comparisons):
        differences = {
            evaluation.name: evaluation.comparisons[number].difference for evaluation in evaluations
        }
        worst = min(differences, key=differences.__getitem__)
        lines.append(
            f"{comparison.mode} against the better leg of each: "
            f"{sum(differences.values()) / len(differences):+.3f}, at worst {differences[worst]:+.3f} ({worst})"
        )
    return "\n".join(lines)


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "queries": len(evaluation.outcomes),
        "modes": {
            mode: {value: evaluation.mean(mode, value) for value in _COLUMNS}
            for mode in evaluation.modes
        },
        "against_better_leg": [
            {
                "mode": comparison.mode,
                "leg": comparison.leg,
                "difference": comparison.difference,
                "p": comparison.p,
            }
            for comparison in evaluation.comparisons
        ],
    }


def _mean(evaluations: Sequence[Evaluation], mode: str, value: str) -> float:
    return sum(evaluation.mean(mode, value) for evaluation in evaluations) / len(evaluations)


def _sentence(comparison: Comparison) -> str:
    return (
        f"{comparison.mode} against the better leg ({comparison.leg}): "
        f"{comparison.difference:+.3f}, {_p(comparison.p)}"
    )


def _p(p: float) -> str:
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p = {p:.3f}"


def _cell(column: str, value: float) -> str:
    return f"{value:.1f}" if column == MILLISECONDS else f"{value:.3f}"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of equal columns, the first of which is flush left."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in [header, *rows]
    ]
