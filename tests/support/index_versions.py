"""Index files as if from other versions of the package."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from datasette_bear_search.index.file import schema
from datasette_bear_search.sqlite import sqlite3


def make_older(index: Path) -> Path:
    """Turn an index file into one of an earlier version, with parts missing."""
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("drop index notes_known")
        connection.execute("alter table notes drop column stamp")
        for column in ("tried", "error", "missed"):
            connection.execute(f"alter table sources drop column {column}")
        connection.execute("create table _left_over (id integer primary key, words text)")
        connection.execute("insert into _left_over (words) select body from notes")
        connection.execute(f"pragma user_version = {schema.VERSION - 1}")
    return index


def make_newer(index: Path) -> Path:
    """Turn an index file into one of a future version."""
    with closing(sqlite3.connect(index)) as connection:
        connection.execute(f"pragma user_version = {schema.VERSION + 1}")
    return index
