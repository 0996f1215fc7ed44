"""What index files contain, and what a search finds in them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from datasette_bear_search.index.file import database
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import SearchResponse, search
from datasette_bear_search.search.request import read_request


def rows(path: Path, sql: str, *parameters) -> list[tuple]:
    with closing(database.connect(path)) as connection:
        return connection.execute(sql, parameters).fetchall()


def titles(path: Path) -> list[str]:
    return [title for (title,) in rows(path, "select title from notes order by title")]


def ids(path: Path) -> dict[str, int]:
    """Return the ids of the notes, by key."""
    return dict(rows(path, "select key, id from notes"))


def meta(path: Path) -> dict[str, str]:
    return dict(rows(path, "select key, value from meta"))


def name_model(path: Path, model: str) -> None:
    """Let an index say that its vectors are this model's."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update meta set value = ? where key = 'model'", [model])


def found(path: Path, text: str, mode: str = "keyword") -> SearchResponse:
    with open_sidecar(path) as connection:
        return search(connection, read_request({"q": [text], "mode": [mode]}))
