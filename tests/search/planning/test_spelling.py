"""Corrections of mistyped words, which are made or only offered, and the word lists behind them.

Tests ``search/planning/spelling.py`` and ``search/planning/dictionary.py``.
"""

from array import array
from contextlib import closing

import pytest

from datasette_bear_search.embeddings.files import bundled_folder
from datasette_bear_search.index.file import database
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.planning import dictionary, spelling
from datasette_bear_search.search.planning.planner import Plan, plan
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.full_disk import full_disk

ORCHARD, QUARRY = (
    BearNote("# Orchard\n\nPruning the orchard.", created=day(1)),
    BearNote("# Quarry\n\nThe quarry in the hills.", created=day(2)),
)


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    monkeypatch.setattr(spelling, "_word_lists", {})


def corrected(path, word: str) -> str | None:
    with closing(database.connect(path)) as connection:
        found = spelling.correction(connection, word)
        return found and found.words[0]


SIX = [
    BearNote("# House rules\n\nEarly guests close the porch door. The passport is in the safe."),
    BearNote("# Soup\n\nCream, broken eggs, a problem with the address of the professor."),
    BearNote("# Compost\n\nThe composting toilet, the contents of a mountain garden."),
    BearNote("# Work\n\nA common project takes a part of the route. Official commerce, contact."),
    BearNote("# Travel\n\nA possible occasion, an apartment, the train to the target."),
    BearNote("# Bike\n\nA bicycle with broken brakes and much momentum, via the bridge."),
]


def planned(path, text: str) -> Plan:
    with closing(database.connect(path)) as connection:
        return plan(connection, parse(text))


@pytest.mark.parametrize(
    "words",
    [
        "mouse horse taxes router password yearly party diet dream movie mountains driver brake",
        "Garten Mutter Vater fern adresse kontakt projekt problem brücke gast tod reise",
        "como manter fora hoje comum endereço contato professora comercial possível",
        "problème adresse hors garder occasion appartement pont contrat crème traîne",
        "profesor posible comercial oficial ocasión problema contacto proyecto casa",
        "indirizzo contatto progetto possibile occasione treno bicicletta",
    ],
)
def test_no_word_of_any_language_is_replaced(index_notes, words):
    path = index_notes(SIX, "--no-semantic")
    plans = {word: planned(path, word) for word in words.split()}
    assert {word: each.corrections for word, each in plans.items() if each.corrections} == {}
    assert all(each.terms.meaning == word for word, each in plans.items())


@pytest.mark.parametrize(
    ("typed", "replaced", "offers"),
    [
        ("compsoting toilet", {"compsoting": "composting"}, ()),  # swapped
        ("composing toilet", {}, ("composting toilet",)),  # a different word
        ("momenttum", {"momenttum": "momentum"}, ()),  # doubled
        ("bicyle", {"bicyle": "bicycle"}, ()),  # dropped
        ("bicycke", {}, ("bicycle",)),  # another letter
        ("bicyclel", {}, ("bicycle",)),  # a letter more at the end
        ("bicyclee", {}, ("bicycle",)),  # a vowel doubled at the end, as in Finnish and Romanian
        ("momentumm", {"momentumm": "momentum"}, ()),
        ("brokne", {}, ("broken",)),  # swapped at the end, before a vowel
        ("bicycel", {"bicycel": "bicycle"}, ()),
        ("bicyce", {}, ("bicycle",)),  # dropped before the end
        ("apertment", {"apertment": "apartment"}, ()),  # long, another vowel
        ("apartwent", {}, ("apartment",)),  # another consonant
        ("Bicyle", {}, ("bicycle",)),  # a name
        ("bicýle", {}, ("bicycle",)),  # nobody types an accent by accident
        ("soupp", {}, ("Soup",)),  # short
        ("trian", {}, ("train",)),
        ('tag:work "bicycke" ride', {}, ('tag:work "bicycle" ride',)),
        ("bicyle momentun", {"bicyle": "bicycle"}, ("bicycle momentum",)),
        ("wie fährt man bicyle", {}, ()),  # another language
        ("NOT bicycke AND soup", {}, ()),
        ("mouse", {}, ()),  # a common word
        ("broken mouse", {}, ()),
        ("Mutter", {}, ()),
    ],
)
def test_only_what_is_surely_mistyped_is_replaced(index_notes, typed, replaced, offers):
    found = planned(index_notes(SIX, "--no-semantic"), typed)
    assert (dict(found.corrections), found.offers) == (replaced, offers)


@pytest.mark.parametrize(
    ("typed", "replaced", "offers"),
    [
        ("kühlshcrank", {"kühlshcrank": "Kühlschrank"}, ()),
        ("kuhlshcrank", {}, ("Kühlschrank",)),  # perhaps a word of another language: snakke, snake
        ("разгвор", {"разгвор": "разговор"}, ()),
    ],
)
def test_a_slip_is_not_sure_in_a_word_that_lacks_accents_too(index_notes, typed, replaced, offers):
    path = index_notes([BearNote("# Küche\n\nDer Kühlschrank, ein разговор.")], "--no-semantic")
    found = planned(path, typed)
    assert (dict(found.corrections), found.offers) == (replaced, offers)


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("commiting", ("committing",)),
        ("committed", ()),  # another form
    ],
)
def test_a_typo_with_the_stem_of_a_word_of_the_notes_is_offered_that_word(
    index_notes, typed, offers
):
    path = index_notes([BearNote("# Branches\n\nOn committing early.")], "--no-semantic")
    found = planned(path, typed)
    assert (found.has_matches, found.corrections, found.offers) == (True, (), offers)


@pytest.mark.parametrize(
    "words",
    [
        "password kitchen thought",  # English
        "contrato facture lettre poisson compte",
        "schrijven regering dezelfde",
        "geschichte schreiben detergent",
        "palabra jornal mariage pensiero",
        "сегодня почему человек",
    ],
)
def test_dictionaries_have_words_of_many_languages(words):
    assert [word for word in words.split() if not dictionary.has_word(word)] == []


@pytest.mark.skipif(bundled_folder() is None, reason="the bundled model isn't installed")
def test_names_that_the_bundled_model_knows_are_words():
    words = "everton shenzhen takahashi evertn"
    assert [word for word in words.split() if not dictionary.has_word(word)] == ["evertn"]


def test_dictionaries_stay_on_this_machine_for_the_next_process(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(dictionary, "_hashes_of_words", lambda: array("Q", [1, 2, 3]))
    with full_disk(10):
        assert list(dictionary.hashes.__wrapped__()) == [1, 2, 3]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    for _ in range(2):
        assert list(dictionary.hashes.__wrapped__()) == [1, 2, 3]
        monkeypatch.setattr(dictionary, "_hashes_of_words", lambda: array("Q"))
    [file] = tmp_path.rglob("dictionary-*.bin")
    file.write_bytes(b"cut")
    assert list(dictionary.hashes.__wrapped__()) == []


def test_without_the_bundled_models_vocabulary_the_dictionaries_remain(monkeypatch, tmp_path):
    monkeypatch.setattr(dictionary, "bundled_folder", lambda: tmp_path)
    monkeypatch.setattr("spellchecker.SpellChecker.languages", lambda: ["eu"])
    assert dictionary._hash("etxe") in dictionary._hashes_of_words()


def test_a_short_slip_is_offered_even_if_notes_have_its_stem(index_notes):
    path = index_notes([BearNote("# Trees\n\nA maple.")], "--no-semantic")
    with closing(database.connect(path)) as connection:
        found = spelling.correction(connection, "mapel", has_notes=True)
    assert found == spelling.Correction(("maple",), False)


def test_a_slip_comes_before_a_frequent_word(index_notes):
    texts = "Att installera.", "Vi installera.", "Det installerade."
    path = index_notes([BearNote(f"# Not\n\n{text}") for text in texts], "--no-semantic")
    assert planned(path, "installerae").offers == ("installerade", "installera")


def test_no_other_text_is_offered_for_a_pasted_one(index_notes):
    path = index_notes([BearNote("# Strap\n\nA strip of leather.")], "--no-semantic")
    assert planned(path, "strp " + "of leather " * 20).offers == ()


def test_equally_near_words_are_all_suggested(index_notes):
    path = index_notes([BearNote("# Strap\n\nA strip of leather.")], "--no-semantic")
    found = planned(path, "strp")
    assert (found.offers, found.hints) == (
        ("Strap", "strip"),
        ("Did you mean “Strap” or “strip”?",),
    )


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
            assert spelling.correction(connection, word)
    assert sum("_word_vocabulary" in sql for sql in asked) == 1


def test_an_unknown_word_is_looked_up_as_rarely_among_many_languages(index_notes):
    texts = {
        "Die Brücke über den Fluss wurde im letzten Sommer repariert.",
        "Le pont sur la rivière a été réparé pendant le dernier été.",
        "Il ponte sul fiume è stato riparato durante la scorsa estate.",
        "El puente sobre el río fue reparado durante el último verano.",
    }
    notes = [BearNote(f"# {number}\n\n{text}") for number, text in enumerate(sorted(texts))]
    notes += [BearNote(f"# Notes {number}\n\nThe bridge was closed.") for number in range(90)]
    looked_up = []
    for some in (notes[4:], notes):
        with closing(database.connect(index_notes(some, "--no-semantic"))) as connection:
            asked: list[str] = []
            connection.set_trace_callback(asked.append)
            plan(connection, parse("xylophonie"))
        looked_up.append(sum("_spellings" in sql for sql in asked))
    assert looked_up[1] <= 2 * looked_up[0]


def test_few_lists_are_cached(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setattr(spelling, "CACHED_LISTS", 2)
    monkeypatch.setattr(spelling, "ALL_WORDS_UP_TO", 0)
    write(ORCHARD, QUARRY)
    bear_index("--no-semantic")
    for word in ("orchrad", "quary", "hlils"):
        corrected(sidecar_path, word)
    assert len(spelling._word_lists) == 2


@pytest.mark.parametrize(
    ("typed", "beginnings"),
    [
        ("pass rules", ("pass",)),
        ("early pass guests rules", ("pass",)),
        ("rules of the early pass", ("pass",)),
        ("rules of the early pass ", ()),
        ("early pass of the guests", ()),
        ("19 orchard", ()),
        ("orchard 19", ("19",)),
        ("pass orchard?", ()),
        ("orchard pass pruned orchards plant planted", ()),
    ],
)
def test_only_at_the_end_a_number_or_a_word_of_a_sentence_is_a_beginning(
    index_notes, typed, beginnings
):
    orchard = BearNote("# Orchard\n\nPlanted in 1950, pruned in 1999.")
    path = index_notes([*SIX, orchard], "--no-semantic")
    assert planned(path, typed).terms.prefixes == beginnings
