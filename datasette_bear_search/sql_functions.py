"""The SQL functions: ``rrf``, ``rrf_weighted`` and ``decay`` on every connection, ``embed`` on sidecars."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import Any

from . import nearest, precision, sidecar
from .embedders import ModelUnavailable, get_embedder

# Reciprocal Rank Fusion's constant: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
# individual Rank Learning Methods", SIGIR 2009.
RRF_K = 60


def rrf(*ranks: Any) -> float | None:
    """Reciprocal Rank Fusion: the sum of 1/(60 + rank) over the 1-based ranks that aren't NULL; NULL if all are."""
    return rrf_weighted(RRF_K, *(argument for rank in ranks for argument in (1, rank)))


def rrf_weighted(k: Any = RRF_K, *weights_and_ranks: Any) -> float | None:
    """The sum of weight/(k + rank) over pairs of weight and 1-based rank; pairs with a NULL don't count.

    What isn't a number, and a rank below 1, counts as NULL: a function in a query must not end the query.
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
    """0.5 ^ (age / half-life): 1 for now or later, 0.5 after one half-life. NULL if either argument makes no sense.

    :param timestamp: ISO 8601; without a time zone it is UTC
    """
    half_life = _number(half_life_days)
    if half_life is None or half_life <= 0 or not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    age = (datetime.now(timezone.utc) - moment).total_seconds() / 86400
    return 0.5 ** (max(age, 0.0) / half_life)


class MeanVector:
    """The weighted mean of vectors: float32 BLOBs of one length. NULL if there are none; a NULL doesn't count."""

    def __init__(self) -> None:
        self._vectors: list[Any] = []
        self._weights: list[float] = []

    def step(self, vector: Any, weight: Any) -> None:
        weight = _number(weight)
        if isinstance(vector, bytes) and weight is not None:
            self._vectors.append(vector)
            self._weights.append(weight)

    def finalize(self) -> bytes | None:
        if not self._vectors or len(set(map(len, self._vectors))) > 1 or not sum(self._weights):
            return None
        import numpy

        rows = numpy.frombuffer(b"".join(self._vectors), "<f4").reshape(len(self._vectors), -1)
        weights = numpy.array(self._weights)
        return (weights @ rows / weights.sum()).astype("<f4").tobytes()


# Rows that each other row's score may follow, and of how many rows all are compared with all.
NEIGHBOURS = 5
COMPARED_AT_MOST = 1000


class ScoresAround:
    """For each row the mean score of the NEIGHBOURS other rows whose vectors are most like its own: JSON, by the rows' ids.

    They count by their squared cosine similarity; those at a right angle or beyond don't. Rows without a vector or a score
    have no part. NULL for more than COMPARED_AT_MOST rows, or vectors that can't be compared. This is the local score
    regularization of Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005.
    """

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._vectors: list[bytes] = []
        self._scores: list[float] = []

    def step(self, row_id: Any, vector: Any, score: Any) -> None:
        score = _number(score)
        if isinstance(vector, bytes) and score is not None and len(self._ids) <= COMPARED_AT_MOST:
            self._ids.append(row_id)
            self._vectors.append(vector)
            self._scores.append(score)

    def finalize(self) -> str | None:
        rows = len(self._ids)
        sizes = set(map(len, self._vectors))
        if not 1 < rows <= COMPARED_AT_MOST or len(sizes) > 1 or sizes.pop() % 4:
            return None
        import numpy

        vectors = numpy.frombuffer(b"".join(self._vectors), "<f4").reshape(rows, -1)
        lengths = numpy.linalg.norm(vectors, axis=1)
        # Not by @, whose threads take longer to wake up than this takes.
        cosines = numpy.einsum("in,jn->ij", vectors, vectors) / numpy.maximum(
            numpy.outer(lengths, lengths), 1e-12
        )
        numpy.fill_diagonal(cosines, -1)
        cosines = numpy.clip(cosines, 0, None)
        nearest = numpy.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
        weights = numpy.take_along_axis(cosines, nearest, axis=1) ** 2
        totals = weights.sum(axis=1)
        sums = (weights * numpy.array(self._scores)[nearest]).sum(axis=1)
        return json.dumps(
            {
                str(row_id): float(sum_of / total)
                for row_id, sum_of, total in zip(self._ids, sums, totals)
                if total > 0
            }
        )


def register(connection: sidecar.sqlite3.Connection) -> None:
    """Give a connection the functions that need no sidecar."""
    connection.create_function("rrf", -1, rrf, deterministic=True)
    connection.create_function("rrf_weighted", -1, rrf_weighted, deterministic=True)
    connection.create_function("decay", 2, decay)


def register_embed(connection: sidecar.sqlite3.Connection) -> None:
    """Give a connection to a sidecar ``embed(text)``, which answers with a vector of the sidecar's own model."""

    def embed(text: Any) -> bytes | None:
        """The float32 vector of a text, of unit length, as sqlite-vec reads it; NULL for NULL and without a model."""
        if text is None:
            return None
        model = sidecar.get_meta(connection, "model")
        if model is None:
            return None
        if _is_over_time(connection):
            connection.interrupt()
            return None
        try:
            return get_embedder(model).embed_query(str(text))
        except ModelUnavailable as error:
            # SQLite would only say that a function raised something. NULL and a line in the log say more.
            print(error, file=sys.stderr)
            return None

    nearest.register(connection)
    precision.register(connection)
    connection.create_aggregate("mean_vector", 2, MeanVector)
    connection.create_aggregate("scores_around", 3, ScoresAround)
    # Deterministic, or SQLite would call it once a row.
    connection.create_function("embed", 1, embed, deterministic=True)


# Datasette looks at the clock once in 1,000 of SQLite's instructions, of which a row takes twenty: a query that embeds each row
# would embed fifty more after its time is up. This has some thousand instructions, and takes a small part of a millisecond.
_LOOK_AT_THE_CLOCK = """
with recursive counted(number) as (
  select 1
  union all
  select number + 1 from counted limit 80
)
select count(*) from counted
"""


def _is_over_time(connection: sidecar.sqlite3.Connection) -> bool:
    """Whether the time is up for the query that is running on this connection."""
    try:
        connection.execute(_LOOK_AT_THE_CLOCK).fetchone()
    except sidecar.sqlite3.OperationalError:
        return True
    return False


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number else None
