"""How close in meaning is close? The cosine below which nothing in this library is really about a query."""

from __future__ import annotations

import statistics

from . import nearest, sidecar
from .embedders import Embedder

# Words that have nothing to do with each other: what a library holds that is nearest to them is near by chance. Each
# triple is about nothing, so that no library is about it.
UNRELATED = (
    "purple anvil homework", "tax giraffe clarinet", "velvet tractor vowel", "marble insurance penguin",
    "yogurt satellite glove", "violin gravel election", "cactus invoice lullaby", "hammer mist parliament",
    "pillow uranium bishop", "lobster algebra curtain", "candle bicycle enzyme", "trumpet moss mortgage",
    "snow ledger papaya", "dragon sewer almanac", "pepper orbit sandal", "thimble glacier jury",
    "carpet volcano tuba", "button harvest sonar", "wig monsoon calculus", "ladder saffron treaty",
    "walrus zipper opera", "kettle comet lawyer", "broom plasma verse", "igloo mustard census",
)  # fmt: skip

# Standard deviations above the mean nearest similarity of unrelated queries. On five test collections that comes to .26
# to .39; 95 of 100 of their own queries are closer than .43 (single words than .27), of nonsense at most one in ten than that.
DEVIATIONS = 1.5

# Of a large library, the nearest passages by signs among which the nearest one is looked for.
LOOKED_AT = 50


def floor(connection: sidecar.sqlite3.Connection, embedder: Embedder) -> float | None:
    """The cosine similarity that few unrelated queries reach; None without vectors.

    Something is nearer by chance in a larger library, or in one of many subjects: that is why it is measured on the
    library itself.

    :raises ModelUnavailable: if the model can't be loaded
    """
    nearest = [
        closest
        for vector in embedder.embed_queries(UNRELATED)
        if vector and (closest := _closest(connection, vector)) is not None
    ]
    if len(nearest) < 2:
        return None
    return statistics.mean(nearest) + DEVIATIONS * statistics.stdev(nearest)


def _closest(connection: sidecar.sqlite3.Connection, vector: bytes) -> float | None:
    """The greatest similarity of a vector to a passage; None if there are no passages."""
    nearest.register(connection)
    [similarity] = connection.execute(
        f"select max(value) from json_each(nearest_passages(:vector, {LOOKED_AT}))",
        {"vector": vector},
    ).fetchone()
    return similarity


def calibrate(connection: sidecar.sqlite3.Connection, embedder: Embedder) -> None:
    """Measure the floor and keep it in the sidecar.

    :raises ModelUnavailable: if the model can't be loaded
    """
    measured = floor(connection, embedder)
    with sidecar.transaction(connection):
        sidecar.set_meta(connection, floor=None if measured is None else round(measured, 4))
