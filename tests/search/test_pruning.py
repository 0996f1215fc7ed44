"""Which notes are ranked by their words where very many notes have one of them."""

from dataclasses import replace
from itertools import combinations

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.query.query import parse
from datasette_bear_search.search import planner
from datasette_bear_search.search.functions import open_sidecar
from datasette_bear_search.search.planner import plan
from datasette_bear_search.search.results import retrieve
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_libraries import day

WORDS = ("quince", "zither", "mambo", "fjord", "pixel")
# A note for each subset of the words, and others.
NOTES = [
    BearNote(
        f"# Number {number}\n\n"
        + " ".join(word for place, word in enumerate(WORDS) if number >> place & 1),
        tags=("even" if number % 2 == 0 else "odd",),
        created=day(number % 28 + 1),
    )
    for number in range(64)
] + [BearNote(f"# Other {number}\n\nNothing of that.", created=day(1)) for number in range(20)]


@pytest.fixture
def connection(index_notes):
    with open_sidecar(index_notes(NOTES)) as connection:
        yield connection


@pytest.fixture(autouse=True)
def small_thresholds(monkeypatch):
    for name, value in {
        "PRUNE_FROM": 20,
        "RARE_HITS": 3,
        "MIN_PRUNED": 10,
        "MAX_PRUNED": 24,
    }.items():
        monkeypatch.setattr(planner, name, value)


@pytest.mark.parametrize(
    ("text", "pruned_match"),
    [
        ("other", None),  # few notes: all are ranked
        ("quince", None),  # nothing but one word, which says something
        ("number", '{title} : ("number")'),  # to a word in most notes BM25 gives no weight
        ("quince zither", '("quince" AND "zither")'),
        ("7 quince zither", '"7" OR ("quince" AND "zither")'),
        # Eight notes have all three, which are too few.
        (
            "quince zither mambo",
            '(("quince" AND ("zither" OR "mambo")) OR ("zither" AND "mambo"))',
        ),
        ("quince zither tag:odd", None),
        ('"quince zither" mambo', None),
        ("quince AND zither", None),
        ("quince zither mamb*", None),
    ],
)
def test_notes_with_a_rare_word_or_several_are_ranked(connection, text, pruned_match):
    assert plan(connection, parse(text)).pruned_match == pruned_match


@pytest.mark.parametrize("semantic", [True, False])
def test_the_first_results_and_the_count_stay_what_they_are(connection, semantic):
    pruned = plan(connection, parse("quince zither mambo fjord"))
    results = [
        retrieve(connection, planned, semantic=semantic, size=5)
        for planned in (pruned, replace(pruned, pruned_match=None))
    ]
    assert ["pruned_match" in found.statement.sql for found in results] == [True, False]
    assert len({(found.total, found.found) for found in results}) == 1
    # Which note comes first among equals is another matter.
    scores, all_scores = ([hit.score for hit in found.hits] for found in results)
    assert scores == pytest.approx(all_scores)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_expression_matches_notes_with_so_many_of_the_words(count):
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table notes_fts using fts5(title, body)")
    subsets = {" ".join(some) for n in range(5) for some in combinations("abcd", n)}
    connection.executemany("insert into notes_fts values ('', ?)", [[body] for body in subsets])
    expression = planner._with_at_least(count, ["a", "b", "c", "d"])
    found = connection.execute("select body from notes_fts where notes_fts match ?", [expression])
    assert {body for (body,) in found} == {body for body in subsets if len(body.split()) >= count}
