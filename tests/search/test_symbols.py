"""Symbols are found alone, glued to a word and in any of their forms, and words without them."""

from __future__ import annotations

import pytest

from tests.support.bear_database import BearNote
from tests.support.index_files import found
from tests.support.marks import with_marks

NOTES = (
    BearNote("# Dentist\n\nBook the 🦷 cleaning for Ada."),
    BearNote("# Law\n\nRead §12 of the act, and chapter 12 too."),
    BearNote("# Chapter\n\nOnly chapter 12 of the novel."),
    BearNote("# Market\n\nApples are 5€ a box, pears 7 dollars."),
    BearNote("# Coins\n\nA € sign on the wall."),
    BearNote("# Route\n\nHome →next stop. ✓ done"),
    BearNote("# Sorry\n\nNo idea 🤷🏽‍♀️ about it. Thanks ❤️!"),
    BearNote("# Trips\n\nBerlin 🇩🇪 in May."),
    BearNote("# Spain\n\nMadrid 🇪🇸 in June, ≥ 30 degrees."),
    BearNote("# Résumé\n\nIl a vu la → maison et les maisons de la rue, et il est content."),
    BearNote("# 旅行\n\n我从北京→上海去旅行，看见了很多人和大学。"),
    BearNote("# Signs\n\nI don\u00b4t like the cafe\u0301 │ttree│ in \ufffdgaps\ufffd."),
    BearNote("# More signs\n\nI won\u00b4t like the bistre\u0301⇒bar │branch│ in \ufffdholes."),
    BearNote("# Code\n\nUse `git commit` in C++ where a=b, x^2, +1 and $50 | <tag> ~~strike~~."),
)
FOUND = (
    ("🦷", {"Dentist"}), ("🦷 cleaning", {"Dentist"}), ("§", {"Law"}), ("§12", {"Law", "Chapter"}),
    ("§ 12", {"Law", "Chapter"}), ("12", {"Law", "Chapter"}), ("€", {"Market", "Coins"}),
    ("5€", {"Market"}), ('"5€"', {"Market"}), ("€ wall", {"Market", "Coins"}), ("next", {"Route"}),
    ("→", {"Route", "Résumé", "旅行"}), ("→next", {"Route"}), ("→ AND next", {"Route"}),
    ("→ AND NOT next", {"Résumé", "旅行"}), ("✓", {"Route"}), ("🤷", {"Sorry"}),
    ("wall -🦷", {"Coins"}),
    ("🤷‍♀️", {"Sorry"}), ("🤷🏿", {"Sorry"}), ("🤷🏽‍♂️", {"Sorry"}), ("❤", {"Sorry"}),
    ("❤️", {"Sorry"}), ("🇩🇪", {"Trips"}), ("🇪🇸", {"Spain"}), ("≥", {"Spain"}),
    ("→ maison", {"Route", "Résumé", "旅行"}), ("北京→上海", {"旅行"}),
    ('"git commit"', {"Code"}), ("`git commit`", {"Code"}), ("C++", {"Code"}),
    ("a=b", {"Code"}), ("x^2", {"Code"}), ("+1", {"Code"}), ("$50", {"Code"}), ("50", {"Code"}),
    ("<tag>", {"Code"}), ("tag", {"Code"}), ("~~strike~~", {"Code"}), ("|", {"Code"}),
    ("$", {"Code"}), ("`", {"Code"}), ("+", {"Code"}), ("^ =", {"Code"}), ("🧶", set()),
    ("don\u00b4t", {"Signs"}), ("don't", {"Signs"}), ("café", {"Signs"}), ("ttree", {"Signs"}),
    ("gaps", {"Signs"}), ("won\u00b4t", {"More signs"}), ("bistré", {"More signs"}),
    ("bar", {"More signs"}), ("branch", {"More signs"}), ("holes", {"More signs"}),
    ("│", {"Signs", "More signs"}),
)  # fmt: skip


@pytest.mark.parametrize(("text", "titles"), FOUND, ids=[text for text, _ in FOUND])
def test_symbol_is_found_alone_and_glued_to_a_word(index_notes, text, titles):
    response = found(index_notes(NOTES, "--no-semantic"), text)
    assert {hit.title for hit in response} == titles
    assert not response.notices


def test_asterisk_alone_is_searched_for(index_notes):
    path = index_notes([BearNote("# Stars\n\n" + "Two * or three ** of them. " * 40)])
    for text in ("*", "* ", "*\n"):
        assert [hit.title for hit in found(path, text)] == ["Stars"]


@pytest.mark.parametrize(
    ("text", "first", "mark"),
    [
        ("§12", "Law", "⦗§12⦘"),
        ("§12", "Chapter", "chapter ⦗12⦘"),
        ("5€", "Market", "⦗5€⦘"),
        ("€ apples", "Market", "⦗€⦘"),
        ("🦷", "Dentist", "the ⦗🦷⦘ cleaning"),
        ("→ maison", "Résumé", "⦗→⦘ ⦗maison⦘ et les ⦗maisons⦘"),
        ("→ 上海", "旅行", "⦗→上海⦘"),
        ("🤷‍♀️", "Sorry", "⦗🤷"),
        ("🇩🇪", "Trips", "⦗🇩🇪⦘"),
    ],
)
def test_symbol_is_marked_with_its_word(index_notes, text, first, mark):
    hits = found(index_notes(NOTES, "--no-semantic"), text).hits
    assert mark in with_marks(next(hit.snippet for hit in hits if hit.title == first))


def test_word_with_its_symbol_ranks_above_the_word_alone(index_notes):
    path = index_notes(NOTES, "--no-semantic")
    assert [hit.title for hit in found(path, "§12")] == ["Law", "Chapter"]


def test_symbol_in_a_title_or_tag_is_found(index_notes):
    path = index_notes([BearNote("# 🚀 Launch\n\nSoon. #work/→later")], "--no-semantic")
    for text in ("🚀", "🚀 launch", "in:title 🚀", "later", "→later"):
        assert [hit.title for hit in found(path, text)] == ["🚀 Launch"]
