"""The SQL functions: ``rrf``, ``rrf_weighted`` and ``decay`` on every connection, ``embed`` on sidecars."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import Any

from . import sidecar
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
        try:
            return get_embedder(model).embed_query(str(text))
        except ModelUnavailable as error:
            # SQLite would only say that a function raised something. NULL and a line in the log say more.
            print(error, file=sys.stderr)
            return None

    # Deterministic, or SQLite would call it once a row.
    connection.create_function("embed", 1, embed, deterministic=True)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number else None
