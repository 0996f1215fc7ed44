"""Which notes are ranked by their words where very many notes have one of them."""

from itertools import combinations

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.search import planner
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.functions import open_sidecar
from datasette_bear_search.search.planner import promising
from datasette_bear_search.search.request import Parameters, read_request
from datasette_bear_search.search.results import Results
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_libraries import day

NOTES = 100_000


@pytest.fixture
def notes_of() -> sqlite3.Connection:
    """An index of sixteen notes, one for each subset of the words a, b, c and d."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table notes_fts using fts5(title, body)")
    for number in range(16):
        words = [word for place, word in enumerate("abcd") if number >> place & 1]
        connection.execute("insert into notes_fts values ('', ?)", [" ".join(words)])
    yield connection
    connection.close()


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_expression_matches_notes_with_so_many_of_the_words(notes_of, count):
    expression = planner._with_at_least(count, ["a", "b", "c", "d"])
    found = notes_of.execute("select body from notes_fts where notes_fts match ?", [expression])
    wanted = {" ".join(some) for n in range(count, 5) for some in combinations("abcd", n)}
    assert {body for (body,) in found} == wanted


def test_so_many_notes_are_expected_to_have_so_many_words():
    assert planner._shares_with_at_least([0.5, 0.5]) == pytest.approx([0.75, 0.25])
    assert planner._shares_with_at_least([0.1, 0.2, 0.3]) == pytest.approx([0.496, 0.098, 0.006])


@pytest.mark.parametrize(
    ("having", "expression"),
    [
        # Few notes: all are ranked.
        ({"a": 4000, "b": 5000}, None),
        # Nothing but one word, which says something.
        ({"a": 30_000}, None),
        # Too few would be left.
        ({"a": 6000, "b": 6000}, None),
        ({"a": 10, "b": 30_000}, None),
        ({"a": 20_000, "b": 20_000}, "(a AND b)"),
        ({"a": 2000, "b": 20_000, "c": 20_000}, "a OR (b AND c)"),
        (
            {"a": 30_000, "b": 30_000, "c": 30_000},
            "(a AND b AND c)",
        ),
        (
            {"a": 10_000, "b": 10_000, "c": 10_000},
            "((a AND (b OR c)) OR (b AND c))",
        ),
        # BM25 gives them no weight.
        ({"a": 50_000, "b": 90_000}, "{title} : (a OR b)"),
    ],
)
def test_notes_with_a_rare_word_or_several_are_ranked(having, expression):
    assert promising(having, NOTES) == expression


def test_the_expression_stays_short():
    having = {f"w{number}": 40_000 + number for number in range(30)}
    expression = promising(having, NOTES)
    assert expression is not None
    assert len(expression.split()) < 100


LIBRARY = [
    BearNote(
        f"# Number {number}\n#{'even' if number % 2 == 0 else 'odd'}\n\n"
        + " ".join(word for place, word in enumerate(WORDS) if number >> place & 1),
        tags=("even" if number % 2 == 0 else "odd",),
        created=day(number % 28 + 1),
    )
    for WORDS in [("quince", "zither", "mambo", "fjord", "pixel")]
    for number in range(64)
] + [BearNote(f"# Other {number}\n\nNothing of that.", created=day(1)) for number in range(20)]


@pytest.mark.parametrize("mode", ["auto", "keyword"])
@pytest.mark.parametrize("more", ["", " tag:odd", " created:1990.."])
def test_the_first_results_and_the_count_stay_what_they_are(
    write, bear_index, sidecar_path, monkeypatch, mode, more
):
    def found() -> Results:
        parameters = Parameters({"q": [f"quince zither mambo fjord{more}"], "mode": [mode]})
        with open_sidecar(sidecar_path) as connection:
            return search(connection, read_request(parameters, size=5)).results

    write(*LIBRARY)
    bear_index()
    all_ranked = found()
    assert "pruned_match" not in all_ranked.statement.sql
    monkeypatch.setattr(planner, "FROM_HITS", 20)
    monkeypatch.setattr(planner, "RARE_HITS", 3)
    monkeypatch.setattr(planner, "AT_LEAST", 4)
    monkeypatch.setattr(planner, "AT_MOST", 24)
    some_ranked = found()
    assert "pruned_match" in some_ranked.statement.sql
    assert (some_ranked.total, some_ranked.found) == (all_ranked.total, all_ranked.found)
    # Which note comes first among equals is another matter.
    assert [hit.score for hit in some_ranked.hits] == pytest.approx(
        [hit.score for hit in all_ranked.hits]
    )


def test_among_few_notes_all_are_ranked(write, bear_index, sidecar_path, monkeypatch):
    write(*LIBRARY)
    bear_index()
    for name in ("FROM_HITS", "RARE_HITS"):
        monkeypatch.setattr(planner, name, 3)
    monkeypatch.setattr(planner, "AT_MOST", 20)
    monkeypatch.setattr(planner, "AT_LEAST", 1)
    monkeypatch.setattr(planner, "AT_LEAST", 1)
    for text, is_promising in (
        ("quince zither", True),
        ("quince zither created:2024-01-01", False),
    ):
        with open_sidecar(sidecar_path) as connection:
            results = search(connection, read_request(Parameters({"q": [text]}))).results
        assert ("pruned_match" in results.statement.sql) == is_promising


def test_all_are_ranked_where_fewer_have_several_words_than_was_to_be_expected(
    write, bear_index, sidecar_path, monkeypatch
):
    # Half of them have the one word, half of them the other one.
    write(
        *(BearNote(f"# A {number}\n\nquince", created=day(1)) for number in range(20)),
        *(BearNote(f"# B {number}\n\nzither", created=day(2)) for number in range(20)),
        *(BearNote(f"# C {number}\n\nmambo", created=day(2)) for number in range(20)),
    )
    bear_index()
    for place, name in ((planner, "FROM_HITS"), (planner, "AT_LEAST"), (planner, "AT_LEAST")):
        monkeypatch.setattr(place, name, 3)
    monkeypatch.setattr(planner, "RARE_HITS", 3)
    monkeypatch.setattr(planner, "AT_MOST", 10)
    assert promising({"quince": 20, "zither": 20}, 60)
    with open_sidecar(sidecar_path) as connection:
        request = read_request(Parameters({"q": ["quince zither"], "mode": ["keyword"]}))
        results = search(connection, request).results
    assert results.total == 40
    assert len(results.hits) == 20
