import json
import sqlite3
from datetime import datetime, timedelta, timezone
from functools import partial

import numpy
import pytest

from datasette_bear_search.index.file.metadata import UNRELATED
from datasette_bear_search.search import connection as search_connection
from datasette_bear_search.search.ranking import scores as search_ranking_scores


@pytest.fixture
def connection():
    db = sqlite3.connect(":memory:")
    search_connection.register(db)
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
        ("decay('2024-01-01', null)", None),
        ("decay('2024-99', 30)", None),
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


@pytest.mark.parametrize("timestamp", ["'2020'", "2020", "'2020-01'"])
def test_decay_takes_years_and_months(connection, timestamp):
    sql = f"select decay({timestamp}, 365) - decay('2020-01-01', 365)"
    [difference] = connection.execute(sql).fetchone()
    assert difference == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("days", ["0", "-1", "'a month'"])
def test_an_invalid_half_life_is_an_error_and_the_log_says_why(connection, days, capsys):
    with pytest.raises(sqlite3.OperationalError):
        connection.execute(f"select decay('2024-01-01', {days})").fetchone()
    assert "decay: the half-life must be days, not" in capsys.readouterr().err


def test_rrf_can_be_used_in_an_index():
    # SQLite allows only deterministic functions in an index.
    db = sqlite3.connect(":memory:")
    search_connection.register(db)
    db.execute("create table ranks (a, b)")
    db.execute("create index scores on ranks (rrf(a, b))")


def refined(rows, query=(1.0, 0.0), balance=0.7, unrelated=1.0):
    """Refine rows of id, vector, exact_level, blend and dense score."""
    db = sqlite3.connect(":memory:")
    db.execute("create table meta (key, value)")
    db.execute("insert into meta values (?, ?)", [UNRELATED, 1 - unrelated])
    db.create_aggregate("refine", 7, partial(search_ranking_scores.Refine, db))
    db.execute("create table scored (id, vector, exact_level, blend, dense)")
    blob = lambda vector: vector and numpy.array(vector, "<f4").tobytes()  # noqa: E731
    db.executemany(
        "insert into scored values (?, ?, ?, ?, ?)",
        [(row_id, blob(vector), *scores) for row_id, vector, *scores in rows],
    )
    sql = "select refine(?, vector, id, exact_level, blend, dense, ?) from scored"
    [answer] = db.execute(sql, [blob(query), balance]).fetchone()
    return answer and {int(row_id): blend for row_id, blend in json.loads(answer).items()}


def test_the_first_rows_move_the_query_vector(monkeypatch):
    monkeypatch.setattr(search_ranking_scores, "REGULARIZATION", 0)
    # Both have a cosine of .6 to the query. The one that is similar to the first row gains.
    rows = [
        (1, [0.6, 0.8], None, 0.9, 1.0),
        (2, [0.6, 0.8], None, 0.5, 1.0),
        (3, [0.6, -0.8], None, 0.5, 1.0),
    ]
    monkeypatch.setattr(search_ranking_scores, "FEEDBACK_NOTES", 1)
    moved = numpy.array([1, 0]) + search_ranking_scores.FEEDBACK_WEIGHT * numpy.array([0.6, 0.8])
    moved /= numpy.linalg.norm(moved)
    near, far = moved @ [0.6, 0.8] + 1, moved @ [0.6, -0.8] + 1
    assert refined(rows) == {
        1: pytest.approx(0.9),
        2: pytest.approx(0.5),
        3: pytest.approx(0.5 + 0.7 * (far / near - 1)),
    }


def test_a_part_that_all_vectors_have_in_common_changes_nothing():
    random = numpy.random.default_rng(5)
    vectors = random.standard_normal((40, 8))
    query, *others = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)

    def rows(vectors):
        return [(n, [*it], None, 1 - n / 50, 1 - n / 60) for n, it in enumerate(vectors)]

    def crowded(vector):  # cosines are .75 + .25 of the plain ones
        return [*(vector / 2), 0.75**0.5]

    plain = refined(rows(others), query=[*query])
    assert len({*plain.values()}) == 39
    found = refined(rows(map(crowded, others)), query=crowded(query), unrelated=0.25)
    assert found == pytest.approx(plain, abs=1e-5)


def test_the_highest_scored_rows_feed_back(monkeypatch):
    monkeypatch.setattr(search_ranking_scores, "REGULARIZATION", 0)
    monkeypatch.setattr(search_ranking_scores, "FEEDBACK_NOTES", 1)
    rows = [(1, [0.6, 0.8], None, 0.9, 1.0), (2, [0.6, -0.8], 2, 0.5, 1.0)]
    found = refined(rows)
    assert found[2] == pytest.approx(0.5)
    assert found[1] < 0.9


def test_scores_move_toward_those_of_the_most_similar_rows():
    # With a balance of 0, feedback changes nothing. The third vector is at 45 degrees to the
    # others, so its squared cosine is one half.
    rows = [
        (7, [1, 0], None, 0.9, 1.0),
        (8, [2, 0], None, 0.3, 1.0),
        (9, [1, 1], None, 0.6, 1.0),
    ]
    around = {7: (0.3 + 0.6 / 2) / 1.5, 8: (0.9 + 0.6 / 2) / 1.5, 9: (0.9 + 0.3) / 2}
    share = search_ranking_scores.REGULARIZATION
    assert refined(rows, balance=0) == {
        row_id: pytest.approx((1 - share) * blend + share * around[row_id])
        for row_id, _, _, blend, _ in rows
    }


def test_only_the_nearest_five_count():
    others = [(number, [1, number / 100], None, 0.0, 1.0) for number in range(1, 6)]
    rows = [(0, [1, 0], None, 0.5, 1.0), *others, (6, [0.1, 1], None, 1.0, 1.0)]
    found = refined(rows, balance=0)
    assert found[0] == pytest.approx(0.5 * (1 - search_ranking_scores.REGULARIZATION))


def test_a_row_that_is_like_no_other_keeps_its_score():
    rows = [(1, [1, 0], None, 0.5, 1.0), (2, [0, 1], None, 0.9, 1.0)]
    assert refined(rows, balance=0) == {1: pytest.approx(0.5), 2: pytest.approx(0.9)}


@pytest.mark.parametrize(
    ("rows", "blends"),
    [
        ([], None),
        ([(1, None, None, None, 1.0)], None),
        ([(1, None, None, 0.5, None)], {1: 0.5}),
        ([(1, [1], None, 0.5, 1.0), (2, [1, 0, 0], None, 0.4, 1.0)], {1: 0.5, 2: 0.4}),
        ([(1, [1, 0], None, "much", 1.0)], {1: "much"}),
        ([(1, [0, 0], None, 0.5, 0.5)], {1: 0.5 + 0.7 * 0.5}),
    ],
    ids=["none", "no blend", "no vector", "other sizes", "no numbers", "zeros"],
)
def test_a_row_without_a_vector_keeps_its_score(rows, blends):
    assert refined(rows) == (blends and {row_id: pytest.approx(b) for row_id, b in blends.items()})
