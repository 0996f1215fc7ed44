"""No note, file or query keeps this program busy for long: tests/stress/scaling.py at 1 MB."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import datasette_bear_search
from datasette_bear_search.agents import notes as agent_notes
from datasette_bear_search.search.redaction import masking
from datasette_bear_search.sources.formats import documents
from datasette_bear_search.sources.registry import OUR_KINDS
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.note_html import render, renderer
from tests.support.parsers import PARSERS, READERS
from tests.support.pathological_markdown import hostile_text, pathological

# Shapes that took quadratic time. At this length, the addresses, "<a " and "<br " once took 8 to
# 25 s (measured in a security review); for the others, only tests/stress/scaling.py shows it.
ONCE_SLOW = [
    ("note page", "addresses without a scheme"),
    ("note page", "addresses of unknown schemes"),
    ("note page", "addresses with a password"),
    ("HTML", "tags that only begin"),
    ("HTML", "breaks that only begin"),
    ("HTML", "attributes that don't end"),
    ("HTML", "names of tags"),
    ("HTML", "blocks in blocks"),
    ("redaction", "passwords"),
    ("redaction", "card numbers"),
    ("Logseq", "properties"),
]
SECONDS = 2  # of CPU time; the slowest took .3


@pytest.mark.parametrize(("parser", "shape"), ONCE_SLOW)
def test_a_shape_that_was_quadratic_takes_no_time(parser, shape):
    text = hostile_text(shape, 50_000)
    started = time.process_time()
    PARSERS[parser](text)
    assert time.process_time() - started < SECONDS


# Where each module reads texts, but for these, which have no loop over one.
READING = (
    *("query", "text", "sources/exports", "sources/folders", "sources/formats", "web/note_html"),
    *("search/planning", "search/redaction", "search/results"),
)
OTHERS = {
    "sources/folders/git_dates.py",  # reads what git prints
    "sources/formats/pdf.py",  # another process, which ends after 20 s
    "search/results/facets.py",  # counts in SQL
    "search/results/json.py",
    "web/note_html/attachments.py",  # sends files
}


def test_every_reader_is_among_those_that_get_hostile_texts():
    assert (READERS.keys(), {*READERS.values()} - PARSERS.keys()) == (OUR_KINDS.keys(), set())
    package = Path(datasette_bear_search.__file__).parent
    called = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, *_: called.add(frame.f_code))
    try:
        for parser in PARSERS.values():
            parser("# Roof\n\nA #tag, [[a link]] and https://a.example\n\n- [ ] a to-do")
    finally:
        sys.setprofile(before)
    files = {code.co_filename for code in called if code.co_name != "<module>"}
    modules = {
        file.relative_to(package).as_posix()
        for folder in READING
        for file in (package / folder).rglob("*.py")
        if file.name != "__init__.py" and str(file) not in files
    }
    assert modules == OTHERS


@pytest.mark.parametrize("parser", PARSERS)
def test_everything_that_reads_text_reads_any_text(parser):
    started = time.process_time()
    for text in pathological(300).values():
        PARSERS[parser](text)
    assert time.process_time() - started < 10 * SECONDS


def test_addresses_are_links_beside_a_word_that_is_too_much():
    page = render.render(
        f"https://a.example {'a://' * 9000}b https://b.example", renderer.References()
    )
    assert [f'href="https://{name}.example"' in page.html for name in "ab"] == [True, True]
    assert page.html.count("<a ") == 2


def test_a_page_that_is_nested_too_deeply_keeps_its_words_and_says_so():
    page = documents.parse_html("<div>" * 20_000 + "The roof leaks")
    assert (page.body, "only its words" in page.problem) == ("The roof leaks", True)


def test_overlapping_secrets_are_masked_once():
    assert masking._with_masks("a secret b", [(4, 8), (2, 6), (2, 8)]) == "a ●●●●●● b"


def test_a_title_of_a_megabyte_is_compared_by_its_beginning():
    library = SimpleNamespace(shown=str)
    connection = sqlite3.connect(":memory:")
    connection.execute("create table notes (id, title)")
    titles = [(number, f"A note about roof {number}") for number in range(2000)]
    connection.executemany("insert into notes values (?, ?)", titles)
    started = time.process_time()
    problem = agent_notes._no_such_title(library, connection, "roof " * 200_000)
    assert time.process_time() - started < SECONDS
    assert len(problem) < 1000
