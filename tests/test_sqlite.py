"""A search has a time limit, but other work of a busy machine is no reason to refuse it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from datasette_bear_search.sqlite import sqlite3, time_limit

ENDLESS = """
with recursive numbers(n) as (select 1 union all select n + 1 from numbers)
select count(*) from numbers
"""


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.create_function("wait", 1, lambda seconds: time.sleep(seconds))
    yield connection
    connection.close()


@pytest.mark.parametrize("milliseconds", [1, 100])
def test_a_statement_that_works_for_too_long_is_interrupted(connection, milliseconds):
    with (
        time_limit(connection, milliseconds),
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
    ):
        connection.execute(ENDLESS).fetchall()


def test_a_statement_that_waits_for_others_is_not_interrupted(connection):
    steps = """
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers limit 5000)
    select max(n) from numbers
    """
    with time_limit(connection, 100):
        connection.execute("select wait(0.3)")
        assert connection.execute(steps).fetchone() == (5000,)


def test_nobody_waits_for_ever(connection):
    with time_limit(connection, 10):
        connection.execute("select wait(0.2)")
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(ENDLESS).fetchall()


def test_statements_after_a_limited_block_have_no_limit(connection):
    with time_limit(connection, 1):
        pass
    connection.execute("select wait(0.1)")
    assert connection.execute("select 1").fetchone() == (1,)
