import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasette_bear_search.query import MAX_CHARACTERS, MAX_WORDS, parse, rewritten


@pytest.fixture(scope="module")
def fts():
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table notes_fts using fts5(title, body, tags, attachments)")
    db.execute("insert into notes_fts values ('Garden', 'Prune the old apple tree', '', '')")
    return db


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("apple", '"apple"'),
        ("apple tree", '"apple" OR "tree"'),
        ('"apple tree"', '"apple tree"'),
        ("“apple tree”", '"apple tree"'),
        ('"apple tree" prune', '"apple tree" AND ("prune" OR "apple tree")'),
        ("apple-tree", '"apple-tree" OR "apple" OR "tree"'),
        ('"apple"', '"apple"'),
        ("apple AND tree", '"apple" OR "AND" OR "tree"'),
        ("apple apple", '"apple"'),
        ("🎉", None),
        ("", None),
    ],
)
def test_words_are_joined_by_or_and_phrases_are_required(text, match):
    assert parse(text).match == match


def test_an_unpaired_quotation_mark_is_said_so():
    query = parse('prune "apple tree')
    assert query.words == ("prune", "apple", "tree")
    assert "no partner" in query.notices[0]


def test_a_pasted_page_is_cut_and_said_so():
    query = parse("word " * 5000)
    assert len(query.text) <= MAX_CHARACTERS
    assert f"{MAX_CHARACTERS:,} characters" in query.notices[0]


def test_too_many_words_are_cut_and_said_so():
    query = parse(" ".join(f"w{number}" for number in range(200)))
    assert len(query.words) == MAX_WORDS


def test_control_characters_are_spaces():
    assert parse("apple\x00tree\x02\n").text == "apple tree"


def test_phrases_can_be_taken_as_words():
    assert rewritten(parse('"apple tree" prune'), {}, loosen_phrases=True).words == ("prune", "apple", "tree")


@given(st.text())
@example('"')
@example('""')
@example('"" ""')
@example("AND OR NOT NEAR(a b)")
@example("title: body^ -x {a b}: *")
@example("'; drop table notes; --")
@example("\ud800")
def test_no_text_makes_an_expression_that_fts5_refuses(fts, text):
    match = parse(text).match
    if match is not None:
        fts.execute("select count(*) from notes_fts where notes_fts match ?", [match]).fetchall()
