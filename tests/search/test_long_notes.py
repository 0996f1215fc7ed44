"""A huge note doesn't slow searches down, and its snippet is as good as a short note's."""

from __future__ import annotations

import time
from shutil import copyfile

import pytest

from datasette_bear_search.index.file import database, schema
from datasette_bear_search.query.query import parse
from datasette_bear_search.search import engine
from datasette_bear_search.search import request as search_request
from datasette_bear_search.search.connection import open_sidecar
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit
from tests.support.marks import with_marks

# FTS5's snippet() takes 2 s of processor time for these repetitions, and 100 times as long for ten
# times as many.
REPEATED = "# Repeated\n\nBefore it all. " + "The roof leaks. " * 15_000
FILLER = "Nothing of interest was said on that day, nor on the next one.\n\n" * 4000
LONG = f"# A log\n\n{FILLER}The boiler lost pressure, said Ada.\n\n{FILLER}"
NOTES = [
    BearNote(REPEATED),
    BearNote(LONG),
    BearNote("# Short\n\nThe roof leaks again."),
    BearNote("# Middling\n\n" + "Some words. " * 2000 + "The chimneys were swept, and the flue."),
]
SECONDS = 0.5  # of processor time; the slowest took .08


def search(path, text, mode="keyword"):
    with open_sidecar(path) as connection:
        engine.search(connection, search_request.SearchRequest(parse("warm", mode)))
        started = time.process_time()
        found = engine.search(connection, search_request.SearchRequest(parse(text, mode))).results
        assert time.process_time() - started < SECONDS
    return {hit.title: hit for hit in found.hits}


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "like"])
@pytest.mark.parametrize("text", ["roof", '"roof leaks"', "roo*", "roof OR leaks", "the roof rof"])
def test_a_word_repeated_15_000_times_takes_no_time(index_notes, text, mode):
    found = search(index_notes(NOTES), text, mode)
    if mode != "like":
        assert all("⦗roof" in with_marks(hit.snippet) for hit in found.values())


@pytest.mark.parametrize(
    ("text", "snippet"),
    [
        ("boiler", "The ⦗boiler⦘ lost pressure, said Ada."),
        ("pressure boiler", "The ⦗boiler⦘ lost ⦗pressure⦘, said"),
        ('"lost pressure"', "The boiler ⦗lost pressure⦘, said"),
        ("boi*", "The ⦗boiler⦘ lost"),
        ("boilers", "The ⦗boiler⦘ lost"),
        ("boiler AND ada", "The ⦗boiler⦘ lost pressure, said ⦗Ada⦘."),
    ],
)
def test_the_snippet_is_from_the_place_with_the_words(index_notes, text, snippet):
    hit = search(index_notes(NOTES), text)["A log"]
    assert snippet in with_marks(hit.snippet)
    assert hit.text.startswith("…")
    assert hit.text.endswith("…")
    assert "boiler" in hit.passage.text
    assert "Nothing of interest" in hit.text


def test_a_text_of_some_pages_is_read_whole(index_notes):
    hit = search(index_notes(NOTES), "chimney sweeping")["Middling"]
    assert "The ⦗chimneys⦘ were swept, and the flue." in with_marks(hit.snippet)


HUGE = (
    f"# Huge\n\n{FILLER * 3}[A link](https://example.org). The kiln was lit, said Ada.\n\n{FILLER}"
)


@pytest.mark.parametrize("redact", [False, True])
@pytest.mark.parametrize(
    ("text", "mode"),
    [
        *[("kiln", mode) for mode in ("auto", "keyword", "hybrid")],
        *[(text, "auto") for text in ('"kiln was lit"', "kil*", "kil", "kiln OR ada", "has:link")],
    ],
)
def test_no_search_reads_the_text_of_a_huge_note(index_notes, tmp_path, text, mode, redact):
    path = tmp_path / "copy.db"
    copyfile(index_notes([*NOTES, BearNote(HUGE)]), path)
    expected = _hits(path, text, mode, redact)
    edit(path, "drop trigger notes_au")
    edit(path, "update notes set body = 'gone' where length(body) > 100000")
    assert expected == _hits(path, text, mode, redact)
    assert any(hit.title == "Huge" for hit in expected)


def _hits(path, text, mode, redact):
    with open_sidecar(path) as connection:
        request = search_request.SearchRequest(parse(text, mode))
        return engine.search(connection, request, redact=redact).results.hits


def test_only_the_beginning_of_a_huge_note_is_embedded(index_notes):
    with open_sidecar(index_notes([BearNote("# Log\n\n" + "A line of a log.\n\n" * 60_000)])) as db:
        [vectors] = db.execute("select count(*) from _vectors").fetchone()
        [passages] = db.execute("select count(*) from passages").fetchone()
        assert vectors == schema.MAX_EMBEDDED < passages
        assert not database.read_state(db).pending
