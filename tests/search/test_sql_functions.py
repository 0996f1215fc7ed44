import json
import sqlite3
from datetime import datetime, timedelta, timezone

import numpy
import pytest

from datasette_bear_search.search import functions


@pytest.fixture
def connection():
    db = sqlite3.connect(":memory:")
    functions.register(db)
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
    functions.register(db)
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
    db.create_aggregate("mean_vector", 2, functions.MeanVector)
    db.execute("create table vectors (vector, weight)")
    blobs = [(None if v is None else numpy.array(v, "<f4").tobytes(), w) for v, w in rows]
    db.executemany("insert into vectors values (?, ?)", blobs)
    [answer] = db.execute("select mean_vector(vector, weight) from vectors").fetchone()
    assert (answer if answer is None else numpy.frombuffer(answer, "<f4").tolist()) == mean


def scores_around(rows):
    db = sqlite3.connect(":memory:")
    db.create_aggregate("scores_around", 3, functions.NeighborScores)
    db.execute("create table scored (id, vector, score)")
    blobs = [(i, v if v is None else numpy.array(v, "<f4").tobytes(), s) for i, v, s in rows]
    db.executemany("insert into scored values (?, ?, ?)", blobs)
    [answer] = db.execute("select scores_around(id, vector, score) from scored").fetchone()
    return answer if answer is None else json.loads(answer)


def test_the_mean_score_of_a_row_s_neighbors_is_weighted_by_likeness():
    # The first two point the same way, the third is at 45 degrees: its squared cosine is one half.
    rows = [(7, [1, 0], 0.9), (8, [2, 0], 0.3), (9, [1, 1], 0.6)]
    around = scores_around(rows)
    assert around == {
        "7": pytest.approx((0.3 + 0.6 / 2) / 1.5),
        "8": pytest.approx((0.9 + 0.6 / 2) / 1.5),
        "9": pytest.approx((0.9 + 0.3) / 2),
    }


def test_only_the_nearest_five_count():
    others = [(number, [1, number / 100], 0.0) for number in range(1, 6)]
    around = scores_around([(0, [1, 0], 0.5), *others, (6, [0.1, 1], 1.0)])
    assert around["0"] == 0
    assert around["6"] == 0


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(1, [1, 0], 0.5)],
        [(1, [1, 0], 0.5), (2, None, 0.5), (3, [1, 0], None)],
        [(1, [1, 0], 0.5), (2, [1], 0.5)],
        [(number, [1, 0], 0.5) for number in range(functions.MAX_COMPARED + 1)],
    ],
    ids=["none", "one", "unknown", "two sizes", "too many"],
)
def test_what_can_not_be_compared_has_no_neighbors(rows):
    assert scores_around(rows) is None


def test_a_vector_at_a_right_angle_to_all_has_no_neighbors():
    rows = [(1, [1, 0, 0], 0.5), (2, [1, 0, 0], 0.7), (3, [0, 0, 1], 0.9), (4, [0, 0, 0], 0.9)]
    assert scores_around(rows) == {"1": pytest.approx(0.7), "2": pytest.approx(0.5)}
