"""The ranking statement asks the model once, and retrieves once what a function retrieves.

Tests ``search/ranking/statement_functions.py``.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from datasette_bear_search import Library
from datasette_bear_search.index.file import nearest
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.ranking import statement_functions
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote

ROOT = Path(__file__).parents[3]

# Functions that only calculate, so that every row may call them.
ARITHMETIC = {"rrf", "decay"}
# Functions that return a number of the plan or of the index, called wherever the statement has one.
NUMBERS = {
    "balance", "bm25_normalizer", "closeness", "least_bm25", "nearest_candidates",
    "unrelated_distance", "weaker_matches",
}  # fmt: skip

SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("how do I mend the slate roof", {}),
    ("harbor lantern", {}),
    ("harb", {}),
    ("arbo", {}),
    ("slate -ladder", {}),
    ('"slate roof"', {}),
    ("roof AND (slate OR ladder)", {}),
    ("x-12", {}),
    ("Note 7", {}),
    ("harbor tag:quay", {}),
    ("tag:quay", {}),
    ("harbr", {"correct": False}),
    ("harbor", {"mode": "keyword"}),
    ("harbor", {"mode": "semantic"}),
    ("arbor", {"mode": "like"}),
    ("harbor", {"fusion": "rrf"}),
    ("harbor", {"sort": "title"}),
    ("harbor", {"recency": 30}),
    ("harbor", {"tag": ["quay"]}),
    ("harbor is:pinned", {"tag": ["quay"]}),
    ("harbor", {"offset": 10, "limit": 95}),
]


class CountingConnection(sqlite3.Connection):
    """Counts the calls of each SQL function in Python."""

    calls: ClassVar[Counter[str]] = Counter()

    def create_function(self, name, arguments, function, **options):
        def counted(*values):
            self.calls[name] += 1
            return function(*values)

        return super().create_function(name, arguments, counted, **options)

    def create_aggregate(self, name, arguments, aggregate):
        def counted():
            self.calls[name] += 1
            return aggregate()

        return super().create_aggregate(name, arguments, counted)


@pytest.fixture
def library(write, bear_index, sidecar_path):
    words = "harbor lantern slate roof ladder quince harbormaster".split()
    write(
        *(
            BearNote(f"# Note {number}\n\nThe {words[number % 7]} and the {words[number % 5]}.",
                     tags=("quay",) if number % 2 else (), pinned=number % 3 == 0)
            for number in range(40)
        ),
    )  # fmt: skip
    bear_index()
    return Library(sidecar_path)


@pytest.mark.parametrize("many", [1, 20_000])
def test_each_statement_calls_each_function_once(library, monkeypatch, many):
    monkeypatch.setattr(nearest, "MANY_PASSAGES", many)
    statements = [library.search(text, **options).results.statement for text, options in SEARCHES]
    connect = partial(sqlite3.connect, factory=CountingConnection)
    monkeypatch.setattr(sqlite3, "connect", connect)
    called: Counter[str] = Counter()
    for search, statement in zip(SEARCHES, statements):
        with open_sidecar(library.path) as connection:
            CountingConnection.calls.clear()
            connection.execute(statement.sql, statement.parameters).fetchall()
        for name, calls in CountingConnection.calls.items():
            # A function may call others in statements of its own.
            if named := statement.sql.count(f"{name}("):
                most = calls if name in ARITHMETIC else named if name in NUMBERS else 1
                assert calls <= most, (search, name)
                called[name] += calls
    retrieving = {"embed", "fts_query", "exact_matches", "substring_matches", "allowed_notes"}
    assert {*retrieving, "mean_vector", "refine", *ARITHMETIC, *NUMBERS} <= called.keys()
    assert ("nearest_signs" in called) == (many == 1)
    with closing(sqlite3.connect(":memory:")) as connection:
        assert isinstance(connection, CountingConnection)


def test_statement_makes_no_plan_of_a_search_that_has_one(library, monkeypatch):
    monkeypatch.delattr(statement_functions, "plan")
    for text, options in SEARCHES:
        assert library.search(text, **options).results.statement, (text, options)


def test_documented_statement_finds_what_a_search_finds(library):
    sql = (ROOT / "docs" / "statement.sql").read_text()
    text = "where is the lantern of the harbor tag:quay"
    with open_sidecar(library.path) as connection:
        found = [row[0] for row in connection.execute(sql, {"q": text})]
    assert found == [hit.id for hit in library.search(text, limit=20)]
    assert found


def test_large_library_is_searched_like_a_small_one(library, monkeypatch):
    def found() -> list[list[int]]:
        searched = [library.search(text, **options) for text, options in SEARCHES]
        return [[hit.id for hit in response] for response in searched]

    small = found()
    monkeypatch.setattr(nearest, "MANY_PASSAGES", 1)
    assert found() == small
    assert [note.id for note in library.similar(1).notes]
