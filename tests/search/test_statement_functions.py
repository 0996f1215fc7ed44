"""Each connection has functions of its own, which plan a text once and again when notes change."""

from __future__ import annotations

import gc
import json
from contextlib import closing
from functools import partial
from weakref import ref

import pytest

from datasette_bear_search import Library
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.planning import planner
from datasette_bear_search.search.ranking import statement_functions
from datasette_bear_search.search.ranking.statement_functions import functions_of
from datasette_bear_search.sqlite import read_value, snapshot, sqlite3
from tests.support.bear_database import BearNote
from tests.support.threads import running

ROOF = BearNote("# Roof\n\nThe roof leaks near the chimney.")
BARN = BearNote("# Barn\n\nA barn with a rooster on its ridge.")


@pytest.fixture
def path(index_notes):
    return index_notes([ROOF], "--no-semantic")


@pytest.fixture
def plans(monkeypatch) -> list[str]:
    """Return the texts that the functions have planned so far."""
    texts = []

    def plan(connection, query, **options):
        texts.append(query.text)
        return planner.plan(connection, query, **options)

    monkeypatch.setattr(statement_functions, "plan", plan)
    return texts


def facts(connection: sqlite3.Connection, text: str) -> tuple[str, list[int]]:
    """Return two facts that one statement derives from a text."""
    sql = "select fts_query(:q), exact_matches(:q)"
    match, exact = connection.execute(sql, {"q": text}).fetchone()
    return match, [int(note) for note in json.loads(exact)]


def test_a_statement_plans_its_text_once(path, plans):
    with open_sidecar(path) as connection:
        assert facts(connection, "roof") == ('"roof"', [1])
        assert facts(connection, "roof") == ('"roof"', [1])
        assert plans == ["roof"]
        facts(connection, "chimney")
        assert plans == ["roof", "chimney"]


def test_a_given_plan_is_not_made_again(path, plans):
    with open_sidecar(path) as connection, snapshot(connection):
        planned = planner.plan(connection, parse("roof"), balance=0.25)
        functions_of(connection).plan = planned
        assert read_value(connection, "select balance('roof')") == 0.25
        assert plans == []
        assert read_value(connection, "select balance('chimney')") != 0.25


def test_a_text_is_planned_again_when_the_notes_have_changed(path, plans, write, bear_index):
    with open_sidecar(path) as connection:
        assert facts(connection, "barn")[1] == []
        write(ROOF, BARN)
        bear_index("--no-semantic")
        assert facts(connection, "barn")[1] == [2]
        assert plans == ["barn", "barn"]


def test_a_plan_of_a_transaction_does_not_outlive_it(path, plans, write, bear_index):
    with open_sidecar(path) as connection:
        with snapshot(connection):
            facts(connection, "barn")
        write(ROOF, BARN)
        bear_index("--no-semantic")
        assert facts(connection, "barn")[1] == [2]


def test_connections_do_not_share_plans(path):
    with open_sidecar(path) as one, open_sidecar(path) as other:
        functions_of(one).plan = planner.plan(one, parse("roof"), balance=0.25)
        assert functions_of(one) is functions_of(one) is not functions_of(other)
        assert functions_of(other).plan is None
        assert read_value(other, "select balance('roof')") != 0.25


def test_a_closed_connection_takes_its_functions_along(path):
    with open_sidecar(path) as connection:
        functions = ref(functions_of(connection))
        assert functions() is not None
    del connection
    gc.collect()
    assert functions() is None


def test_a_connection_that_threads_share_keeps_its_functions(path):
    """As with Datasette's num_sql_threads=0."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        statement_functions.register(connection)
        found = []
        with running(lambda: found.append(functions_of(connection))):
            pass
        assert found == [functions_of(connection)]


def test_a_library_that_threads_share_answers_each_with_its_own(path):
    library, answers = Library(path), {}

    def ask(text: str) -> None:
        for _ in range(5):
            answers.setdefault(text, []).append([hit.title for hit in library.search(text)])

    with running(*(partial(ask, text) for text in ("roof", "chimney", "xylophone"))):
        pass
    assert answers == {"roof": [["Roof"]] * 5, "chimney": [["Roof"]] * 5, "xylophone": [[]] * 5}
