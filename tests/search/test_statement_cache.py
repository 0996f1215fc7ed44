"""SQLite prepares a statement once, however many others a connection has run.

Tests ``search/connection.py``.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.request import read_request
from datasette_bear_search.sqlite import execute, sqlite3
from tests.support.bear_database import BearNote

SQL = "select upper(:word), :number"
# More than any statement cache holds.
OTHERS = [f"select {number}" for number in range(300)]


@pytest.fixture
def connection():
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


class Preparing:
    """Count SQLite's authorizer calls while it prepares statements: hundreds per statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.requests = 0
        connection.set_authorizer(self._ask)

    def _ask(self, *_) -> int:
        self.requests += 1
        return sqlite3.SQLITE_OK


def run_others(connection) -> None:
    for sql in OTHERS:
        connection.execute(sql).fetchall()


def test_a_statement_is_prepared_once(connection):
    run_others(connection)
    preparing = Preparing(connection)
    execute(connection, SQL, {"word": "roof", "number": 1})
    assert preparing.requests
    for number in range(3):
        execute(connection, "select :another", {"another": number})
        preparing.requests = 0
        rows = execute(connection, SQL, {"word": "roof", "number": number}).fetchall()
        assert rows == [("ROOF", number)]
        assert not preparing.requests


def test_a_statement_without_values_runs_once(connection):
    counted = []
    connection.create_function("count_me", 0, lambda: counted.append(1))
    execute(connection, "select count_me()", {}).fetchall()
    assert len(counted) == 1


def test_missing_and_wrong_parameters_are_still_errors(connection):
    with pytest.raises(sqlite3.ProgrammingError):
        execute(connection, SQL, {"word": "roof"})
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        execute(connection, "select * from nowhere where id = :id", {"id": 1})


def test_a_second_search_prepares_hardly_any_statement(write, bear_index, sidecar_path):
    write(BearNote("# Cabin roof\n\nThe ceiling leaks."), BearNote("# Soup\n\nRed lentils."))
    bear_index()
    request = read_request({"q": ["roof"], "mode": ["hybrid"]})
    with open_sidecar(sidecar_path) as connection:
        run_others(connection)
        preparing = Preparing(connection)
        asked = []
        for _ in range(3):
            preparing.requests = 0
            assert search(connection, request).results.hits[0].title == "Cabin roof"
            asked.append(preparing.requests)
    first, *others = asked
    # The ranking statement causes most calls. The small ones about the index are prepared again.
    assert first > 1000
    assert max(others) < first / 10
