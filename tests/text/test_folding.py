"""Words that look the same are the same, in the text and in the query, and are marked in place."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.request import read_request
from datasette_bear_search.search.results.marks import MATCH
from datasette_bear_search.text import folding
from tests.support.bear_database import BearNote

# What a note has, and what people type for it. Each note has its number beside the word.
SAME = (
    ("cœur", "coeur"), ("Ærø", "aeroe"), ("smørrebrød", "smorrebrod"), ("Łódź", "lodz"),
    ("anđeo", "andeo"), ("Þórður", "thordur"), ("Ħamrun", "hamrun"), ("kılıç", "kilic"),
    ("Straße", "strasse"), ("STRASSE", "straße"), ("GROẞ", "gross"), ("ёлка", "елка"),
    ("ɓarna", "barna"), ("əliyev", "eliyev"),
    ("\ufb01nance", "finance"), ("e\ufb03cient", "efficient"), ("\u017fecret", "secret"),
    ("ＡＢＣ１２３", "abc123"), ("ﾊﾞﾅﾅ", "バナナ"), ("アプリ", "ｱﾌﾟﾘ"), ("H₂SO₄", "h2so4"),
    ("x²y", "x2y"), ("𝐌athbold", "mathbold"), ("Ⅷ", "viii"), ("٢٠٢٤", "2024"),
    ("5㎏", "5kg"), ("㌔", "キロ"), ("⽇本語", "日本語"), ("צה״ל", "צהל"),
    ("Donau\u00addampf", "donaudampf"), ("zero\u200bwidth", "zerowidth"),
    ("bom\ufeffmark", "bommark"),
    ("می\u200cخواهم", "میخواهم"), ("ශ්\u200dරී", "ශ්රී"), ("col·lecció", "colleccio"),
    ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("أسماء", "اسماء"), ("کتاب", "كتاب"), ("قـــمر", "قمر"),
    ("القرآن", "القران"), ("مسؤول", "مسوول"), ("مكتبة", "مكتبه"), ("کوچہ", "كوچه"),
    ("دیدهٔ", "دیدۀ"), ("می\u200cروم", "می روم"), ("نمیگوید", "نمی گوید"), ("گل های", "گل\u200cهای"),
    ("क़लम", "कलम"), ("हिन्दी", "हिंदी"), ("मुम्बई", "मुंबई"), ("पाँच", "पांच"),
    ("डॉक्टर", "डाक्टर"), ("ऑफ़िस", "आफिस"),
    ("за\u0301мок", "замок"), ("Ελλάδα", "ελλαδα"), ("λόγος", "ΛΟΓΟΣ"),
    (unicodedata.normalize("NFD", "한국어"), "한국어"), 
    (unicodedata.normalize("NFD", "ガギグ"), "ガギグ"),
    ("Müller", unicodedata.normalize("NFD", "müller")), ("ố", "o\u0302\u0301"), ("đồng", "dong"),
)  # fmt: skip
NOTES = [BearNote(f"# Note {number}\n\nHere: {text}.") for number, (text, _) in enumerate(SAME)]


@pytest.mark.parametrize("typed_first", [False, True], ids=["text", "query"])
@pytest.mark.parametrize("number", range(len(SAME)), ids=[typed for _, typed in SAME])
def test_a_word_is_found_as_people_type_it_and_marked_as_it_stands(
    index_notes, number, typed_first
):
    notes = NOTES
    text, typed = SAME[number]
    if typed_first:
        text, typed = typed, text
        notes = [
            BearNote(f"# Note {place}\n\nHere: {other}.") for place, (_, other) in enumerate(SAME)
        ]
    with open_sidecar(index_notes(notes, "--no-semantic")) as connection:
        response = search(connection, read_request({"q": [typed], "mode": ["keyword"]}))
    found = {hit.title: hit.snippet for hit in response}
    assert f"Note {number}" in found
    assert response.notices == ()
    marked = found[f"Note {number}"]
    words = [span for span in marked.spans if span.kind == MATCH]
    assert marked.text[words[0].start : words[-1].end] == text


def test_other_letters_stay_apart(index_notes):
    notes = [BearNote(f"# {word}\n\nHere.") for word in ("йод", "мой", "½ cup", "foo™ bar", "1½")]
    with open_sidecar(index_notes(notes, "--no-semantic")) as connection:

        def titles(text: str) -> set[str]:
            request = read_request({"q": [text], "mode": ["keyword"]})
            return {hit.title for hit in search(connection, request)}

        assert titles("мои") == set()
        assert titles("foo") == {"foo™ bar"}
        assert titles("cup") == {"½ cup"}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example("e\u0301te\u0301 \u00ad\u200bﾊﾞ l·l ශ්\u200dරී 🤷\u200d♀️")
def test_each_normalized_character_has_a_place_in_the_text(text):
    normalized = folding.normalized_with_places(text)
    places = normalized.places or [*range(len(text) + 1)]
    assert len(places) == len(normalized.text) + 1
    assert places == sorted(places)
    assert places[-1] == len(text)
    for at in range(len(normalized.text)):
        start, end = normalized.span(at, at + 1)
        assert 0 <= start < end <= len(text)


@given(st.text(st.characters(exclude_categories=["Cs", "Mn", "Cf"]), max_size=30))
def test_a_normalized_text_is_normal(text):
    normalized = folding.normalized(text)
    assert folding.normalized(normalized) == normalized


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("Wärmepumpe", {"warmepumpe", "waermepumpe"}),
        ("Ångström", {"angstrom", "aangstroem"}),
        ("transformação", {"transformacao"}),
        ("Straße", {"strasse"}),
        ("мой", {"мой"}),
        ("Việt", {"viet"}),
    ],
)
def test_a_word_is_typed_without_its_accents(word, typed):
    assert folding.typed_forms(word) == typed
