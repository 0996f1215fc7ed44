"""The statements of a request can be stopped from outside."""

from __future__ import annotations

import asyncio

import pytest

from datasette_bear_search import interruption
from datasette_bear_search.sqlite import sqlite3


class Connection:
    """A fake connection that counts how often it was interrupted."""

    in_transaction = False
    interrupted = 0

    def interrupt(self):
        self.interrupted += 1


def test_a_connection_that_does_other_work_is_not_interrupted():
    work, connection = interruption.Work(), Connection()
    with work.reading(connection):
        pass
    asyncio.run(work.end())
    assert connection.interrupted == 0
    with pytest.raises(sqlite3.OperationalError, match="interrupted"), work.reading(connection):
        pass


def test_an_interrupted_search_leaves_no_transaction_open():
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    work = interruption.Work()

    def read():
        with work.reading(connection):
            connection.execute("begin")
            work._interrupt()
            raise sqlite3.OperationalError("interrupted")

    with pytest.raises(sqlite3.OperationalError):
        read()
    assert not connection.in_transaction
