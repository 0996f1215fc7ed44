"""Queries for other tools' databases, run on tables as these tools create them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from datasette_bear_search.sources.sql import SQLQuery
from tests.support.other_tools import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_exports_of_other_tools_are_read(name: str, tmp_path: Path) -> None:
    sql, options, tables, note = EXAMPLES[name]
    with closing(sqlite3.connect(tmp_path / "export.db")) as db:
        db.executescript(tables)
    source = SQLQuery(tmp_path / "export.db", sql=sql, **options)
    assert list(source.read()) == [note]
    assert source.skipped == []
