"""Marks move with the text that they mark: they can be cut, put after others, and shown."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.search.results.marks import KINDS, MarkedText
from tests.support.marks import with_marks

TEXTS = st.text("ab <&⦗⦘⟪⟫⟬⟭", max_size=30)


@pytest.mark.parametrize(
    ("typed", "html"),
    [
        ("a ⦗b⦘ c", "a <mark>b</mark> c"),
        ("⟪a ⦗b⦘⟫", "a <mark>b</mark>"),
        ("⦗a⟪b⦘c⟫", "<mark>ab</mark>c"),
    ],
)
def test_html_for_programs_has_only_the_matches(typed, html):
    assert MarkedText.read(typed).html() == html


def test_html_of_marks_that_overlap_is_well_formed():
    html = MarkedText.read("⦗a⟪b⦘c⟫").html(KINDS)
    sentence = '<span class="bear-sentence">'
    assert html == f"<mark>a</mark>{sentence}<mark>b</mark></span>{sentence}c</span>"


@pytest.mark.parametrize("kinds", [("mark",), KINDS])
def test_html_of_a_note_s_words_is_escaped(kinds):
    html = MarkedText.read("<script>a()</script> & ⦗<b>⦘").html(kinds)
    escaped = "&lt;script&gt;a()&lt;/script&gt; &amp; <mark>&lt;b&gt;</mark>"
    assert html == escaped


@given(TEXTS)
def test_html_of_marks_is_well_formed_whatever_they_enclose(text):
    html = MarkedText.read(text).html(KINDS)
    open_tags: list[str] = []
    for is_end, name in re.findall(r"<(/?)(\w+)[^>]*>", html):
        if is_end:
            assert open_tags.pop() == name
        else:
            open_tags.append(name)
    assert not open_tags


@given(TEXTS)
def test_html_says_what_the_text_says(typed):
    marked = MarkedText.read(typed)
    assert marked.text == re.sub("[⦗⦘⟪⟫⟬⟭]", "", typed)
    assert unescape(re.sub("<[^>]*>", "", marked.html(KINDS))) == marked.text


@given(TEXTS, st.integers(0, 30))
def test_a_cut_keeps_all_marks(typed, place):
    marked = MarkedText.read(typed)
    before, after = marked[:place], marked[place:]
    assert before.text + after.text == marked.text
    assert marks_of(before) + marks_of(after) == marks_of(marked)


@given(TEXTS, st.text("xy", max_size=5), st.text("xy", max_size=5))
def test_what_stands_before_and_after_is_not_marked(typed, before, after):
    marked = MarkedText.read(typed)
    assert with_marks(before + marked + after) == before + with_marks(marked) + after


def test_many_marks_take_no_time():
    marked = MarkedText.read("⦗a⦘ " * 100_000)
    assert len(marked.html(KINDS)) == len("<mark>a</mark> ") * 100_000


def marks_of(text: MarkedText) -> list[set[str]]:
    """Return the marks of each character."""
    return [
        {kind for start, end, kind in text.spans if start <= at < end}
        for at in range(len(text.text))
    ]
