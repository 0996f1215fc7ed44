import sqlite3
from datetime import datetime, timedelta, timezone

import numpy
import pytest

from datasette_bear_search import sql_functions


@pytest.fixture
def connection():
    db = sqlite3.connect(":memory:")
    sql_functions.register(db)
    return db


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("rrf(1)", 1 / 61),
        ("rrf(1, 3)", 1 / 61 + 1 / 63),
        ("rrf(null, 3)", 1 / 63),
        ("rrf(null, null)", None),
        ("rrf()", None),
        ("rrf('2')", 1 / 62),
        ("rrf('second', 0, -4)", None),
        ("rrf_weighted(10, 2, 1, 1, 5)", 2 / 11 + 1 / 15),
        ("rrf_weighted(10, 2, null, 1, 5)", 1 / 15),
        ("rrf_weighted(10, null, 1)", None),
        ("rrf_weighted(null, 1, 1)", None),
        ("decay(null, 30)", None),
        ("decay('someday', 30)", None),
        ("decay('2024-01-01', 0)", None),
        ("decay(20240101, 30)", None),
    ],
)
def test_functions_answer_what_they_are_documented_to(connection, expression, value):
    [answer] = connection.execute(f"select {expression}").fetchone()
    assert answer == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(("days", "value"), [(0, 1.0), (30, 0.5), (60, 0.25), (-5, 1.0)])
def test_decay_halves_with_each_half_life(connection, days, value):
    timestamp = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
    [answer] = connection.execute("select decay(?, 30)", [timestamp]).fetchone()
    assert answer == pytest.approx(value, abs=1e-5)


def test_rrf_can_be_used_in_an_index():
    # SQLite allows only deterministic functions there.
    db = sqlite3.connect(":memory:")
    sql_functions.register(db)
    db.execute("create table ranks (a, b)")
    db.execute("create index scores on ranks (rrf(a, b))")


@pytest.mark.parametrize(
    ("rows", "mean"),
    [
        ([([1, 0], 1), ([0, 1], 1)], [0.5, 0.5]),
        ([([1, 0], 3), ([0, 1], 1)], [0.75, 0.25]),
        ([([1, 0], 1), (None, 1)], [1, 0]),
        ([([1, 0], 1), ([1, 0, 0], 1)], None),
        ([([1, 0], 0)], None),
        ([([1, 0], None)], None),
        ([], None),
    ],
)
def test_mean_vector_is_the_weighted_mean(rows, mean):
    db = sqlite3.connect(":memory:")
    db.create_aggregate("mean_vector", 2, sql_functions.MeanVector)
    db.execute("create table vectors (vector, weight)")
    blobs = [(None if v is None else numpy.array(v, "<f4").tobytes(), w) for v, w in rows]
    db.executemany("insert into vectors values (?, ?)", blobs)
    [answer] = db.execute("select mean_vector(vector, weight) from vectors").fetchone()
    assert (answer if answer is None else numpy.frombuffer(answer, "<f4").tolist()) == mean
