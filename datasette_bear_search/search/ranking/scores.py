"""Scores: fusion of ranks, decay by age, pseudo-relevance feedback, score regularization."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ...index.file.vectors import unrelated_distance
from ...sqlite import sqlite3, wrong_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Reciprocal Rank Fusion's constant (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
# outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009).
RRF_K = 60

# Pseudo-relevance feedback (Rocchio, in "The SMART Retrieval System", 1971): the best passages of
# the first results are added to the query vector with this weight. This gains .008 nDCG@10 on
# average; more notes or a higher weight gain no more.
FEEDBACK_NOTES = 3
FEEDBACK_WEIGHT = 0.5

# Score regularization (Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005): similar notes
# should have similar scores. The score of each of the first results moves by this share toward the
# mean of its five nearest neighbors. This gains .004 nDCG@10 on average and loses on no collection;
# 20 to 100 results, 3 to 10 neighbors and .2 to .4 differ by .002.
REGULARIZED_NOTES = 30
REGULARIZATION_NEIGHBORS = 5
REGULARIZATION = 0.3

# Matches of parts of words are ranked by age: the newest and the oldest differ by this much.
RECENCY_WEIGHT = 0.001


def rrf(*ranks: Any) -> float | None:
    """Return the sum of 1/(60 + rank) over 1-based ranks that aren't NULL; NULL if all are."""
    return rrf_weighted(RRF_K, *(argument for rank in ranks for argument in (1, rank)))


def rrf_weighted(k: Any = RRF_K, *weights_and_ranks: Any) -> float | None:
    """Return the sum of weight/(k + rank) over pairs of weight and rank; skip NULLs.

    A value that isn't a number, or a rank below 1, counts as NULL instead of ending the query.
    """
    constant = _number(k)
    if constant is None:
        return None
    total = None
    for weight, rank in zip(weights_and_ranks[::2], weights_and_ranks[1::2]):
        weight, rank = _number(weight), _number(rank)
        if weight is not None and rank is not None and rank >= 1 and constant + rank > 0:
            total = (total or 0.0) + weight / (constant + rank)
    return total


def decay(timestamp: Any, half_life_days: Any) -> float | None:
    """Return 0.5 ^ (age / half-life), 1 for the future, NULL for NULL or an invalid timestamp.

    :param timestamp: ISO 8601, which may be only a year or month; UTC if it has no time zone
    """
    if timestamp is None or half_life_days is None:
        return None
    half_life = _number(half_life_days)
    if half_life is None or half_life <= 0:
        raise wrong_argument(f"decay: the half-life must be days, not {half_life_days!r}")
    text = str(timestamp).strip()
    if _YEAR_OR_MONTH.fullmatch(text):
        text += "-01-01"[len(text) - 4 :]
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    age = (datetime.now(timezone.utc) - moment).total_seconds() / 86400
    return float(0.5 ** (max(age, 0.0) / half_life))


_YEAR_OR_MONTH = re.compile(r"[0-9]{4}(-[0-9]{2})?", re.ASCII)


class Refine:
    """Aggregate: the refined blend of each row, as a JSON object by id; NULL if there are no rows.

    ``refine(query_vector, vector, id, exact_level, blend, dense_score, balance)``: vectors are
    float32 BLOBs of one length. A row without a vector keeps its blend; a row without a blend is
    left out. Similarities are relative to unrelated texts, as in the statement.

    1. Feedback: the weighted mean vector of the first rows, by ``exact_level`` and ``blend``, is
       added to the query's vector. ``blend`` changes by ``balance`` times the change of
       ``dense_score``, which is (similarity + 1) relative to the best.
    2. Regularization: the ``blend`` of each of the first rows then moves toward the mean of its
       nearest neighbors, weighted by their squared similarity.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._unrelated = unrelated_distance(connection)
        self._query: Any = None
        self._balance: Any = None
        self._rows: list[tuple[Any, ...]] = []

    def step(
        self, query: Any, vector: Any, row_id: Any, exact: Any, blend: Any, dense: Any, balance: Any
    ) -> None:
        self._query, self._balance = query, balance
        self._rows.append((vector, row_id, exact or 0, blend, dense))

    def finalize(self) -> str | None:
        query, rows = self._query, [row for row in self._rows if row[3] is not None]
        if not rows:
            return None
        refined = {row_id: blend for _, row_id, _, blend, _ in rows}
        size = len(query) if isinstance(query, bytes) and len(query) % 4 == 0 else 0
        comparable = [row for row in rows if isinstance(row[0], bytes) and len(row[0]) == size]
        with suppress(TypeError, ValueError):  # a value that isn't a number mustn't end the query
            numbers = float(self._balance), self._unrelated
            refined |= _refined(query, comparable, *numbers) if comparable else {}
        return json.dumps(refined)


def _refined(
    query: bytes, rows: Sequence[tuple[Any, ...]], balance: float, unrelated: float
) -> dict[Any, float]:
    """Return refined blends by id, from rows of (vector, id, exact level, blend, dense score)."""
    import numpy

    # The operator @ would start threads, which takes longer than einsum does.
    ids = [row[1] for row in rows]
    exact, blend, dense = numpy.array([row[2:] for row in rows], "f8").T
    vectors = numpy.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)
    vectors = vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    first = numpy.lexsort((ids, -blend, -exact))[:FEEDBACK_NOTES]
    ranks = 1 / numpy.arange(1, len(first) + 1, dtype="f4")
    weights = numpy.array([1, *FEEDBACK_WEIGHT * ranks / ranks.sum()])
    asked = numpy.vstack([numpy.frombuffer(query, "<f4"), vectors[first]])
    # Products with a sum of vectors, and its length, from the similarities of the vectors: so they
    # are relative to unrelated texts, too.
    products = numpy.einsum("i,ij->j", weights, _similarities(asked, vectors, unrelated))
    square = numpy.einsum("i,ij,j->", weights, _similarities(asked, asked, unrelated), weights)
    scores = numpy.clip(products / max(square, 1e-12) ** 0.5 + 1, 0, None)
    blend += balance * (scores / max(scores.max(), 1e-9) - dense)
    first = numpy.lexsort((ids, -blend, -exact))[:REGULARIZED_NOTES]
    around = _neighborhood(_similarities(vectors[first], vectors[first], unrelated), blend[first])
    blend[first] += REGULARIZATION * (around - blend[first])
    return dict(zip(ids, blend.tolist()))


def _similarities(some: NDArray[Any], others: NDArray[Any], unrelated: float) -> NDArray[Any]:
    """Return the similarity of each row of ``some`` and ``others``, as similarity() in vectors."""
    import numpy

    return 1 - (1 - numpy.einsum("in,jn->ij", some, others)) / unrelated


def _neighborhood(similarities: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Return the weighted mean score of each row's nearest neighbors; its own if it has none."""
    import numpy

    similarities = numpy.clip(similarities, 0, None)
    numpy.fill_diagonal(similarities, 0)
    nearest = numpy.argsort(-similarities, axis=1, kind="stable")[:, :REGULARIZATION_NEIGHBORS]
    weights = numpy.take_along_axis(similarities, nearest, axis=1) ** 2
    totals = weights.sum(axis=1)
    means = (weights * scores[nearest]).sum(axis=1) / numpy.maximum(totals, 1e-12)
    return numpy.where(totals > 0, means, scores)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number else None
