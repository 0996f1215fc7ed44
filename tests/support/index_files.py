"""What index files contain."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from datasette_bear_search.index.file import database


def rows(path: Path, sql: str, *parameters) -> list[tuple]:
    with closing(database.connect(path)) as connection:
        return connection.execute(sql, parameters).fetchall()


def titles(path: Path) -> list[str]:
    return [title for (title,) in rows(path, "select title from notes order by title")]
