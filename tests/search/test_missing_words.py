"""Words that a result lacks, words next to each other, and sentences pasted from a note.

Tests ``search/planning/planner.py``, ``search/planning/words.py``, ``search/planning/pasted.py``
and ``search/results/word_matches.py``.
"""

import pytest

from datasette_bear_search import Library
from datasette_bear_search.search.planning import planner
from datasette_bear_search.search.results.marks import MATCH
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day

SENTENCE = (
    "Before the first frost, drain the **copper** pipes behind the boiler, "
    "and leave every tap open."
)
NOTES = [
    BearNote("# Crash rates\n\nThe rate of crashes went down.", created=day(1)),
    BearNote("# Bank\n\nThe rates that the bank asks for.", created=day(2)),
    BearNote("# Windows\n\nA window, a window and a function of the window.", created=day(3)),
    BearNote("# Running totals\n\nOf sums over rows, see window functions. More.", created=day(4)),
    BearNote("# Remote\n\nFrom afar.", created=day(5)),
    *(BearNote(f"# Work {n}\n\nWork, {n}.", created=day(6 + n)) for n in range(5)),
    BearNote(f"# Winter\n\nMouse traps too.\n\n{SENTENCE}\n\nThen lock up.", created=day(12)),
    BearNote("# Taps\n\nPipes, frost, boiler, copper: drain and leave open.", created=day(13)),
    BearNote("# Colours\n\nThe colour of the theatre, by normalisation.", created=day(14)),
    BearNote("# Colors\n\nThe color of the theater, by normalization.", created=day(15)),
    BearNote("# Release\n\nThat is 2.10.11 of the server.", created=day(16)),
    BearNote("# Bills\n\nWhat we paid to mend the oven in 2012. It was 2013.", created=day(17)),
    BearNote("# Twice\n\nHumour and humour.", created=day(18)),
    BearNote("# Both\n\nHumour and humor.", created=day(19)),
    BearNote("# Files\n\nRename house/how-to-mend-the-stove.md to stove.md.", created=day(20)),
]  # fmt: skip


@pytest.fixture
def library(index_notes, monkeypatch) -> Library:
    monkeypatch.setattr(planner, "threshold", lambda *arguments: 0.999)  # nothing is close
    return Library(index_notes(NOTES))


def test_a_stop_word_of_a_language_that_no_note_is_in_does_not_lack(library):
    response = library.search("was ist über rate")
    assert response.results.found == 2
    assert response.hits[0].missing == ()
    assert library.search("war rate").hits[0].missing == ("war",)  # German for was


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_result_names_the_word_that_it_lacks(library, mode):
    response = library.search("mortgage rate", mode=mode)
    by_words = [hit for hit in response.hits if hit.keyword_rank]
    assert {hit.title for hit in by_words} == {"Crash rates", "Bank"}
    assert {hit.missing for hit in by_words} == {("mortgage",)}
    assert all("missing: mortgage" in hit.why for hit in by_words)
    assert response.results.found == 0
    assert any(notice.startswith("No note matches closely") for notice in response.notices)


def test_word_in_another_form_is_not_missing(library):
    [first, *_] = library.search("crash rating", mode="keyword")
    assert (first.title, first.missing) == ("Crash rates", ())


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_notes_with_the_commoner_word_alone_are_weaker_and_not_counted(library, mode):
    response = library.search("remote work", mode=mode)
    assert [hit.title for hit in response.hits if hit.is_found] == ["Remote"]
    assert response.results.found == 1
    weak = {hit.title for hit in response.hits if not hit.is_found}
    assert {f"Work {n}" for n in range(5)} <= weak


def test_question_whose_content_words_a_note_has_is_no_poor_match(library):
    assert library.search("why not crash rates", mode="hybrid").notices == ()


def test_note_with_the_words_next_to_each_other_is_first(library):
    [first, *others] = library.search("window function", mode="keyword")
    assert (first.title, first.is_phrase) == ("Running totals", True)
    assert not any(hit.is_phrase for hit in others)


@pytest.mark.parametrize(
    ("words", "is_phrase"), [("the running totals", True), ("mouse traps too before", True),
                             ("sums over rows", True), ("see window functions more sums", False)],
)  # fmt: skip
def test_two_to_four_words_are_a_phrase(library, words, is_phrase):
    assert library.search(words, mode="keyword").hits[0].is_phrase == is_phrase


PLAIN = SENTENCE.replace("*", "")


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    "pasted",
    [
        SENTENCE,
        PLAIN,
        PLAIN.replace(" pipes", "\npipes"),
        PLAIN.replace("boiler", "biolerx"),
        f"> - {PLAIN}",
        f"“{PLAIN}”",
        PLAIN.replace("copper", "`copper`"),
    ],
)
def test_note_is_first_and_exact_for_a_sentence_pasted_from_it(library, mode, pasted):
    response = library.search(pasted, mode=mode)
    first = response.hits[0]
    assert (first.title, first.is_exact, response.results.found) == ("Winter", True, 1)
    assert "leave every tap open" in first.snippet.text


def test_five_words_in_a_row_are_exact(library):
    assert library.search("and leave every tap open", mode="keyword").hits[0].is_exact
    assert not library.search("leave every tap open", mode="keyword").hits[0].is_exact


def test_text_with_five_words_of_a_note_among_many_others_is_not_pasted(library):
    text = "how do people who have old houses drain the copper pipes behind a stove that is cold"
    assert not library.search(text, mode="keyword").hits[0].is_exact


@pytest.mark.parametrize(("year", "is_pasted"), [(2012, True), (2013, False)])
def test_text_with_another_number_is_not_pasted(library, year, is_pasted):
    text = f"What we paid to mend the oven in {year}"
    assert library.search(text, mode="keyword").hits[0].is_exact == is_pasted


@pytest.mark.parametrize(
    ("text", "is_pasted"), [("how to mend the stove", False),
                            ("Rename house/how-to-mend-the-stove.md to stove.md", True)],
)  # fmt: skip
def test_name_of_a_file_is_no_sentence(library, text, is_pasted):
    assert library.search(text, mode="keyword").hits[0].is_exact == is_pasted


def test_verbatim_search_marks_what_was_typed(library):
    def marks(typed):
        for hit in library.search(typed, mode="like"):
            text = hit.snippet.text
            yield from (text[s.start : s.end] for s in hit.snippet.spans if s.kind == MATCH)

    assert {*marks("at is")} == {"at is"}
    assert {*marks("of theatre")} == {"of", "theatre"}


@pytest.mark.parametrize(
    "typed", ["normalisation", "normalization", "colour", "color", "theatre", "theater"]
)
def test_british_and_american_spelling_find_both(library, typed):
    response = library.search(typed, mode="keyword")
    assert {hit.title for hit in response.hits if hit.is_found} == {"Colours", "Colors"}
    plan = response.results.plan
    assert (plan.offers, plan.corrections) == ((), ())


def test_word_in_two_spellings_counts_once_and_is_marked_twice(library):
    first, second = library.search("humour", mode="keyword")
    assert (first.title, second.title) == ("Twice", "Both")
    marks = [text for text, kinds in second.snippet.stretches() if kinds]
    assert marks == ["Humour", "humor"]


@pytest.mark.parametrize("typed", ["^remote", "{title body}: remote", "body:remote", "from + afar"])
def test_sign_of_fts5_is_said_not_to_work(library, typed):
    response = library.search(typed, mode="keyword")
    assert response.hits[0].title == "Remote"
    assert len(response.notices) == 1
    assert "FTS5" in response.notices[0]
    assert response.results.plan.offers == ()


def test_minimum_similarity_leaves_less_similar_notes_out(library):
    similarities = sorted(hit.similarity for hit in library.search("remote work", mode="hybrid"))
    least = similarities[len(similarities) // 2] - 0.00005
    response = library.search("remote work", mode="hybrid", min_similarity=least)
    assert all(hit.similarity >= least for hit in response.hits)
    assert 0 < len(response.hits) == response.results.total < len(similarities)
    words = library.search("remote work", mode="keyword", min_similarity=0.2)
    assert len(words.hits) == 6
    assert "no minimum similarity was applied" in words.notices[0]


def test_identifier_that_no_note_has_does_not_count_as_its_parts(library):
    response = library.search("v2.11.0", mode="keyword")
    assert response.results.found == 0
    assert {hit.missing for hit in response.hits} == {("v2.11.0",)}
    assert [hit.title for hit in response.hits] == ["Release"]
    assert response.notices == ("No note contains “v2.11.0”.",)
