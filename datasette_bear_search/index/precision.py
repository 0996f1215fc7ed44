"""How exactly vectors are stored: each number in four bytes, or in one.

In one byte (``int8``) a vector takes a quarter of the room. Its numbers are stored as multiples of the 127th part of the
greatest of them, so that the cosine similarity to another vector is off by .001 or so. Such vectors stand in a table of
their own; under the name of the other one is a view that gives them as float32, so that SQL need not know.
"""

from __future__ import annotations

from typing import Any

from ..sqlite import sqlite3
from .schema import VECTORS, VECTORS_INT8

FLOAT32, INT8 = PRECISIONS = ("float32", "int8")


def of(connection: sqlite3.Connection) -> str:
    """The precision of a sidecar's vectors, one of PRECISIONS."""
    is_int8 = connection.execute(
        "select 1 from sqlite_master where name = ?", [VECTORS_INT8]
    ).fetchone()
    return INT8 if is_int8 else FLOAT32


def table(precision: str) -> str:
    """The name of the table that the vectors stand in."""
    return VECTORS_INT8 if precision == INT8 else VECTORS


def stored(vector: bytes, precision: str) -> bytes:
    """A float32 BLOB as it is stored."""
    if precision != INT8:
        return vector
    import numpy

    numbers = numpy.frombuffer(vector, "<f4")
    greatest = max(float(numpy.abs(numbers).max(initial=0)), 1e-12)
    return numpy.rint(numbers * (127 / greatest)).astype("i1").tobytes()


def change(connection: sqlite3.Connection, precision: str) -> bool:
    """Store the vectors in another precision, inside a transaction; whether those that were there are still there.

    What was rounded can't be told more exactly afterwards: such vectors have to be made anew.
    """
    if precision == INT8:
        connection.execute(f"alter table {VECTORS} rename to replaced_vectors")
        connection.execute(
            f"create table {VECTORS_INT8} (passage_id integer primary key, vector blob)"
        )
        connection.executemany(
            f"insert into {VECTORS_INT8} (passage_id, vector) values (?, ?)",
            (
                (passage_id, stored(vector, INT8))
                for passage_id, vector in connection.execute(
                    "select passage_id, vector from replaced_vectors"
                )
            ),
        )
        connection.execute("drop table replaced_vectors")
        connection.execute(
            f"create view {VECTORS} as select passage_id, float_vector(vector) as vector from {VECTORS_INT8}"
        )
        return True
    connection.execute(f"drop view {VECTORS}")
    connection.execute(f"drop table {VECTORS_INT8}")
    connection.execute(f"create table {VECTORS} (passage_id integer primary key, vector blob)")
    return False


def register(connection: sqlite3.Connection) -> None:
    """Give a connection ``float_vector()``, which the view needs."""
    connection.create_function("float_vector", 1, _float_vector, deterministic=True)


def _float_vector(vector: Any) -> bytes | None:
    """The float32 vector of unit length that was stored in one byte a number."""
    if not isinstance(vector, bytes):
        return None
    import numpy

    numbers = numpy.frombuffer(vector, "i1").astype("<f4")
    return (numbers / max(float(numpy.linalg.norm(numbers)), 1e-12)).astype("<f4").tobytes()
