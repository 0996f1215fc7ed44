"""The words that mistyped ones are corrected to, which are cached while the index is the same."""

from contextlib import closing

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database
from datasette_bear_search.search import spelling
from tests.support.bear_libraries import day

ORCHARD, QUARRY = (
    BearNote("# Orchard\n\nPruning the orchard.", created=day(1)),
    BearNote("# Quarry\n\nThe quarry in the hills.", created=day(2)),
)


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    """Begin without lists, and cache them though the file was just written."""
    monkeypatch.setattr(spelling, "TICK_NS", 0)
    monkeypatch.setattr(spelling, "_word_lists", {})


def corrected(path, word: str) -> str | None:
    with closing(database.connect(path)) as connection:
        return spelling.corrected(connection, word)


@pytest.mark.parametrize("all_words_up_to", [20_000, 1])
def test_a_word_that_left_the_notes_corrects_nothing(
    write, bear_index, sidecar_path, monkeypatch, all_words_up_to
):
    monkeypatch.setattr(spelling, "ALL_WORDS_UP_TO", all_words_up_to)
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    assert corrected(sidecar_path, "orchrad") == "orchard"
    assert corrected(sidecar_path, "quary") == "quarry"
    write(QUARRY)
    bear_index("--no-semantic")
    assert corrected(sidecar_path, "orchrad") is None
    assert corrected(sidecar_path, "quary") == "quarry"


def test_the_words_are_read_once_while_the_index_is_the_same(write, bear_index, sidecar_path):
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    with closing(database.connect(sidecar_path)) as connection:
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        for word in ("orchrad", "orhcard", "quary"):
            assert spelling.corrected(connection, word)
    assert sum("_word_vocabulary" in sql for sql in asked) == 1


def test_few_lists_are_cached(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setattr(spelling, "CACHED_LISTS", 2)
    monkeypatch.setattr(spelling, "ALL_WORDS_UP_TO", 0)
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    for word in ("orchrad", "quary", "hlils"):
        corrected(sidecar_path, word)
    assert len(spelling._word_lists) == 2


def test_nothing_is_cached_of_what_was_just_written(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setattr(spelling, "TICK_NS", 10**12)
    write(ORCHARD)
    bear_index("--no-semantic")
    assert corrected(sidecar_path, "orchrad") == "orchard"
    assert not spelling._word_lists
