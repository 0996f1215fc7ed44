"""The words that mistyped ones are corrected to, which are kept in memory while the index is the same."""

from contextlib import closing

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database, watch
from datasette_bear_search.search import spelling
from tests.support.bear_libraries import day

ORCHARD, QUARRY = (
    BearNote("# Orchard\n\nPruning the orchard.", created=day(1)),
    BearNote("# Quarry\n\nThe quarry in the hills.", created=day(2)),
)


@pytest.fixture(autouse=True)
def written_long_ago(monkeypatch):
    """What was just written may be written again in the same tick, and isn't kept."""
    monkeypatch.setattr(watch, "TICK_NS", 0)


def corrected(path, word: str) -> str | None:
    with closing(database.connect(path)) as connection:
        return spelling.corrected(connection, word)


def kept_lists(path) -> dict[str, list[tuple[str, int]]]:
    with closing(database.connect(path)) as connection:
        return spelling._lists.of(database.file_of(connection))


@pytest.mark.parametrize("all_words_up_to", [20_000, 1])
def test_a_word_that_left_the_library_corrects_nothing(
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
    kept = [word for words in kept_lists(sidecar_path).values() for word, _ in words]
    assert "quarry" in kept
    assert "orchard" not in kept


def test_the_words_are_read_once_while_the_index_is_the_same(write, bear_index, sidecar_path):
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    with closing(database.connect(sidecar_path)) as connection:
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        for word in ("orchrad", "orhcard", "quary"):
            assert spelling.corrected(connection, word)
    assert sum("_word_vocabulary" in sql for sql in asked) == 1


def test_few_lists_are_kept(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setattr(spelling, "KEPT", 2)
    monkeypatch.setattr(spelling, "ALL_WORDS_UP_TO", 0)
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    for word in ("orchrad", "quary", "hlils"):
        corrected(sidecar_path, word)
    assert len(kept_lists(sidecar_path)) == 2


def test_common_words_are_counted_once_while_the_index_is_the_same(
    write, bear_index, sidecar_path, monkeypatch
):
    monkeypatch.setattr(spelling, "COMMON_FROM", 2)

    def counted(*words: str) -> tuple[list[int], int]:
        with closing(database.connect(sidecar_path)) as connection:
            asked: list[str] = []
            connection.set_trace_callback(asked.append)
            notes = [term.notes for term in spelling.terms(connection, words)]
        return notes, sum("_stem_vocabulary" in sql for sql in asked)

    third = BearNote("# Third\n\nThe third.", created=day(3))
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    assert counted("the", "hills") == ([2, 1], 2)
    assert counted("the", "hills") == ([2, 1], 1)
    write(ORCHARD, QUARRY, third)
    bear_index("--no-semantic")
    assert counted("the", "hills") == ([3, 1], 2)


def test_notes_are_counted_once_while_the_index_is_the_same(write, bear_index, sidecar_path):
    def counted() -> tuple[int, int]:
        with closing(database.connect(sidecar_path)) as connection:
            asked: list[str] = []
            connection.set_trace_callback(asked.append)
            return spelling.library_notes(connection), sum("count(*)" in sql for sql in asked)

    write(ORCHARD)
    bear_index("--no-semantic")
    assert [counted(), counted()] == [(1, 1), (1, 0)]
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    assert counted() == (2, 1)


def test_nothing_is_kept_of_what_was_just_written(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setattr(watch, "TICK_NS", 10**12)
    write(ORCHARD)
    bear_index("--no-semantic")
    assert corrected(sidecar_path, "orchrad") == "orchard"
    assert not kept_lists(sidecar_path)
