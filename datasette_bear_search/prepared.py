"""Statements that stay prepared: SQLite takes about as long to prepare the one that ranks as to run it in a small library."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .schema import sqlite3


def execute(
    connection: sqlite3.Connection, sql: str, parameters: Mapping[str, Any]
) -> sqlite3.Cursor:
    """Run a statement that is run again and again.

    pysqlite3 keeps the hundred statements that were used most often. Datasette runs more than these when it opens a file;
    after that each new one takes the place of the last new one, and is prepared anew whenever it is run. Here it is used
    twice at once, the first time without its values: that fails before anything is run, in some millionths of a second.
    """
    if parameters:
        with suppress(sqlite3.ProgrammingError):
            connection.execute(sql)
    return connection.execute(sql, parameters)
