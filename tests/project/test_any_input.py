"""Any input at all.

This is a short version of tests/stress/fuzz.py, which runs for hours, and the bugs that it found.
"""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.index.run.chunking import passages
from datasette_bear_search.query.filter_values import read_filters
from datasette_bear_search.search.planning import spelling, word_forms
from datasette_bear_search.search.results.marks import MarkedText
from tests.stress.choices import Choices
from tests.stress.fuzz_targets import TARGETS
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, error_of, sqlite3


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    """Return name → the function of the target that is called with each input."""
    return {name: target.prepare(tmp_path_factory.mktemp(name)) for name, target in TARGETS.items()}


@pytest.mark.datasette
@pytest.mark.parametrize("name", TARGETS)
def test_any_input_gets_a_response(targets, name):
    run = targets[name]

    @settings(
        max_examples=10 if name == "http" else 40,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.binary(min_size=20, max_size=400))
    def any_input(data):
        run(Choices(data))

    any_input()


def test_a_library_with_an_undecodable_error_is_called_damaged(tmp_path):
    """SQLite quotes the damaged part of the schema in its message."""
    path = bear_library(tmp_path / "database.sqlite", [BearNote("# Note")])
    schema = b"CREATE TABLE ZSFNOTETAG"
    damaged = path.read_bytes().replace(schema, schema.replace(b"TABLE", b"T\xffBLE"))
    path.write_bytes(damaged)
    assert "damaged" in error_of(path)


@pytest.mark.parametrize("name", ["tag", "source"])
def test_half_a_surrogate_pair_can_be_searched_for(name):
    """Programs send lone surrogates in JSON."""
    conditions, parameters = read_filters({name: ["\ud83d", "a\udfff"]}).conditions()
    with closing(sqlite3.connect(":memory:")) as db:
        for value in parameters.values():
            db.execute("select ?", [value])
    assert conditions


def test_an_accent_without_a_letter_is_not_a_word():
    """FTS5 returns an empty token for it."""
    assert word_forms.unstemmed_words("\u0326 a") == ["a"]
    assert spelling.word_completions(sqlite3.connect(":memory:"), "\u0326") == []


@pytest.mark.parametrize("sign", ["\x1f", "\x85", "\u2028", "\u3000"])
def test_a_passage_of_signs_that_nobody_sees_does_not_end_before_it_begins(sign):
    body = f"~~~\nprint\n{sign * 400}\nmore\n"
    for passage in passages("Title", body, max_tokens=32):
        assert 0 <= passage.start <= passage.end <= len(body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ⦗b⦘ c", "a <mark>b</mark> c"),
        ("⦗a ⦗b⦘ c", "a <mark>b</mark> c"),
        ("⦘⦗⦘a⦗", "a"),
        ("⦗<b>⦘", "<mark>&lt;b&gt;</mark>"),
    ],
)
def test_a_note_cannot_mark_the_rest_of_the_page(text, expected):
    assert MarkedText.read(text).html() == expected
