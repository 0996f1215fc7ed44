"""Titles, and text on its way to terminals and agents without what only programs see."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.notes import (
    BREAKS,
    INVISIBLE,
    LONGEST_TITLE,
    Note,
    printable,
    printable_json,
    printable_lines,
    whole_title,
    without_parent_tags,
)

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
UNSEEN = [
    "\x1b", "\x07", "\x00", "\x7f", "\x9b", "\u061c", "\u200b", "\u200e", "\u200f", "\u202a",
    "\u202e", "\u2060", "\u2064", "\u2066", "\u2069", "\ufeff", "\ud83d", "\U000e0001", TAGS,
]  # fmt: skip
TEXTS = ["Zoë 東京", "👩‍🍳 ❤️‍🔥 1️⃣", "می‌خواهم", "क्‍ष", "葛\U000e0100城", "a — “b”"]


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_invisible_characters_are_removed(unseen):
    assert printable(f"a{unseen}b") == printable_lines(f"a{unseen}b") == "ab"


@pytest.mark.parametrize("text", TEXTS)
def test_visible_text_stays(text):
    assert printable(text) == printable_lines(text) == text


def test_bytes_hidden_in_joiners_and_variants_are_removed():
    assert printable("क\u200d\u200c\u200d\u200db") == "क\u200db"
    assert printable("a\ufe0f\ufe01\U000e0123\u200db") == "a\ufe0fb"
    assert printable(f"क\u200d{TAGS}\u200c\u200b\u200db") == "क\u200db"
    assert printable("a\u200db \u200c") == "ab "  # no script that joins


@pytest.mark.parametrize("end", ["\r", "\x0b", "\f", "\x1c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_only_line_feeds_begin_a_line(end):
    assert printable_lines(f"a{end}b\r\n\tc") == "a b\n\tc"
    assert printable(f"a{end}\r\n\tb") == "a b"


@given(st.text())
def test_printable_text_has_only_lines_that_everybody_sees(text):
    lines = printable_lines(text)
    assert lines.splitlines() == lines.removesuffix("\n").split("\n") or not lines
    assert printable_lines(lines) == lines
    assert len(printable(text).splitlines()) <= 1
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(UNSEEN[:-3])))
def test_json_for_terminals_is_the_same_json(text):
    shown = printable_json(json.dumps({"text": text + TAGS}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == {"text": text + TAGS}
    assert not re.search(f"[{BREAKS}{INVISIBLE}]", shown)


def test_parents_of_other_tags_are_left_out():
    assert without_parent_tags(["Home", "home/garden", "homework", "home/garden/beds"]) == [
        "homework",
        "home/garden/beds",
    ]


LONG = " ".join(f"word{number}" for number in range(60))


@pytest.mark.parametrize("body", ["Text", "", LONG, f"{LONG}\n\nText", f"**{LONG}**\nText"])
def test_a_title_that_was_cut_is_whole_in_the_body_once(body):
    note = Note("a", LONG, body)
    assert len(note.title) <= LONGEST_TITLE
    assert note.body.count("word59") == 1
    assert whole_title(note.title, note.body)[0].strip("*") == LONG
    assert "word" not in whole_title(note.title, note.body)[1]


def test_an_encrypted_notes_body_stays_empty():
    assert Note("a", LONG, encrypted=True).body == ""


def test_a_short_title_is_nowhere_else():
    note = Note("a", "A title with an ellipsis…", "A title with an ellipsis in the text")
    assert whole_title(note.title, note.body) == (note.title, note.body)
