"""Words with signs, which FTS5 drops, and numbers that are written in different ways.

Covers ``Terms`` in ``query/fts5.py``, ``search/planning/words.py`` and
``search/planning/word_forms.py``.
"""

from __future__ import annotations

import pytest

from tests.support.bear_database import BearNote
from tests.support.index_files import found
from tests.support.marks import with_marks

SIGNS = {
    "Templates": "Learning C++ this winter.",
    "Services": "Written in C# on .NET last year.",
    "Firmware": "Plain C for the controller, which opens a net.",
    "Ticket": "Fixed #42 at last.",
    "Answer": "It is 42, or 1.",
    "Frost": "It was -1 outside.",
    "Shell": "Put $PATH into ~/.bashrc today.",
    "Woods": "A path to the bashrc.",
}
NUMBERS = {
    "Ann": "Call +49 30 1234567 today.",
    "Plumber": "His number: (030) 765-4321.",
    "Doctor": "In the evening 0305556677.",
    "Paris": "Tel. 01 23 45 67 89.",
    "Shop": "555-123-4567, until 05.06.2024",
    "事務所": "電話は０６−１２３４−５６７８です。",
    "Book": "ISBN 978-3-16-148410-0.",
    "Rooms": "Rooms 30, 49, 123, 765 and 4567.",
}


@pytest.fixture
def signs(index_notes):
    return index_notes([BearNote(f"# {title}\n\n{text}") for title, text in SIGNS.items()])


@pytest.fixture
def numbers(index_notes):
    notes = [BearNote(f"# {title}\n\n{text}") for title, text in NUMBERS.items()]
    return index_notes(notes, "--no-semantic")


@pytest.mark.parametrize(
    ("text", "title", "weaker"),
    [
        ("C++", "Templates", {"Services", "Firmware"}),
        ("c#", "Services", {"Templates", "Firmware"}),
        (".NET", "Services", {"Firmware"}),
        ("#42", "Ticket", {"Answer"}),
        ("fixed #42", "Ticket", {"Answer"}),
        ("-1", "Frost", {"Answer"}),
        ("$PATH", "Shell", {"Woods"}),
        ("~/.bashrc", "Shell", {"Woods"}),
    ],
)
def test_note_without_the_signs_of_a_word_is_a_weaker_match(signs, text, title, weaker):
    hits = found(signs, text, mode="keyword").hits
    assert [hit.title for hit in hits if hit.is_found] == [title]
    assert {hit.title for hit in hits if not hit.is_found} == weaker
    assert all(text.split()[-1] in hit.missing for hit in hits[1:])


@pytest.mark.parametrize(
    ("text", "snippet"),
    [
        ("learning c++", "⦗Learning⦘ ⦗C++⦘ this winter."),
        (".NET c#", "Written in ⦗C#⦘ on ⦗.NET⦘ last year."),
        ("-1", "It was ⦗-1⦘ outside."),
        ("$PATH", "Put ⦗$PATH⦘ into ~/.bashrc today."),
    ],
)
def test_word_is_marked_with_its_signs(signs, text, snippet):
    assert with_marks(found(signs, text, mode="keyword").hits[0].snippet) == snippet


@pytest.mark.parametrize("text", ["F#", "C#minor", "@net", "$bashrc", "-42"])
def test_a_word_whose_signs_no_note_has_is_named(signs, text):
    response = found(signs, text, mode="keyword")
    assert not any(hit.is_found for hit in response)
    assert response.notices[0] == f"No note contains “{text}”."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("+49 30 1234567", "Ann"), ("(030) 123-4567", "Ann"), ("0301234567", "Ann"),
        ("+49 (0)30 123 4567", "Ann"), ("Ann 030/1234567", "Ann"), ("0049 30 1234567", "Ann"),
        ("+49 30 7654321", "Plumber"), ("0307654321", "Plumber"), ("+49 30 555 66 77", "Doctor"),
        ("+493055566 77", "Doctor"), ("+33 1 23 45 67 89", "Paris"), ("0123456789", "Paris"),
        ("(555) 123 4567", "Shop"), ("+1 555 123 4567", "Shop"), ("05.06.2024", "Shop"),
        ('"05.06.2024"', "Shop"), ("030 1234567, today", "Ann"),
        ("06-1234-5678", "事務所"), ("0612345678", "事務所"),
        ("9783161484100", "Book"), ("isbn 9783161484100", "Book"), ("49305556677", "Doctor"),
    ],
)  # fmt: skip
def test_phone_number_is_found_in_another_spacing(numbers, text, title):
    hits = [hit for hit in found(numbers, text) if hit.is_found]
    assert [hit.title for hit in hits] == [title]
    assert "⦗" in with_marks(hits[0].snippet)


@pytest.mark.parametrize(
    "text", ["+49 30 9999999", "(030) 12 34 56", "+1 765 123 4567", "9783161484101"]
)
def test_another_phone_number_is_not_found(numbers, text):
    response = found(numbers, text)
    assert not [hit.title for hit in response]
    assert response.notices == (f"No note contains “{text}”.",)


AMOUNTS = {
    "joined": "1000000", "commas": "1,000,000", "dots": "1.000.000", "blanks": "1 000 000",
    "narrow": "1\u202f000\u202f000", "signs": "1’000’000",
}  # fmt: skip


@pytest.mark.parametrize("text", [*AMOUNTS.values(), "1\xa0000\xa0000", "1'000'000"])
def test_a_number_is_found_whatever_is_between_its_thousands(index_notes, text):
    others = {"zeros": "1 and 000", "long": "7000000", "short": "1000", "version": "1.000"}
    notes = [BearNote(f"# {name}\n\nIt cost {n}.") for name, n in {**AMOUNTS, **others}.items()]
    hits = found(index_notes(notes, "--no-semantic"), text)
    assert {hit.title for hit in hits} == {*AMOUNTS}


def test_a_number_in_a_question_is_a_word_and_no_identifier(index_notes):
    notes = [BearNote("# A\n\nA thousand children have palsy."), BearNote("# B\n\nPaid 1,000.")]
    hits = found(index_notes(notes, "--no-semantic"), "how many children of 1,000 have palsy")
    assert [hit.title for hit in hits] == ["A", "B"]


JOINED = {
    "Answer": "The follow-up is by e-mail, and it isn’t urgent, says O'Brien.",
    "Sheet": "A GPT-4 prompt, a database.",
    "Ateneo": "Nell'anno della grande neve l'università rimase chiusa per la prima volta.",
    "Path": "A path that may be follow or up, in fact.",
    "Concert": "They play rock 'n' roll, then punk'n'roll.",
    "Plan": "A Kosten-Nutzen-Analyse by I.B.M., z. B. of 5 kg and of 8gb.",
    "Mainframe": "An IBM mainframe.",
    "ルーター": "型番はWXR-5700AX7Sで、Wi-Fi設定です。",
    "Pite": "Az almás pite receptje, és egy nagy tányér.",
    "Island": "To O\u02bbahu by ferry.",  # with an ʻokina, a letter of Hawaiian
    "Bericht": "Wir haben mit dem Berater über die Liste mit den Steuer-Spar-Modellen gesprochen.",
}


@pytest.mark.parametrize(
    ("text", "titles", "mark"),
    [
        ("followup", ["Answer"], "⦗follow-up⦘"),
        ("email", ["Answer"], "⦗e-mail⦘"),
        ("isnt", ["Answer"], "⦗isn’t⦘"),
        ("OBrien", ["Answer"], "⦗O'Brien⦘"),
        ("oahu", ["Island"], "⦗O\u02bbahu⦘"),
        ("GPT4", ["Sheet"], "⦗GPT-4⦘"),
        ("data-base", ["Sheet"], "⦗database⦘"),
        ("the data-base", ["Sheet"], "⦗database⦘"),
        ("nell’università", ["Ateneo"], "⦗università⦘"),
        ("maybe", [], ""),
        ("rocknroll", ["Concert"], "⦗rock 'n' roll⦘"),
        ("punknroll", ["Concert"], "⦗punk'n'roll⦘"),
        ("Kostennutzenanalyse", ["Plan"], "⦗Kosten-Nutzen-Analyse⦘"),
        ("zB", ["Plan"], "⦗z. B⦘"),
        ("5kg", ["Plan"], "⦗5 kg⦘"),
        ("wifi", ["ルーター"], "⦗Wi-Fi⦘"),
        ("WXR5700AX7S", ["ルーター"], "⦗WXR-5700AX7S⦘"),
        ("almáspite", ["Pite"], "⦗almás pite⦘"),
        ("infact", ["Path"], "⦗in fact⦘"),
        ("almaspite", ["Pite"], "⦗almás pite⦘"),
        ("I.B.M.", ["Plan", "Mainframe"], "⦗I"),
        ("Steuersparmodellen", ["Bericht"], "⦗Steuer-Spar-Modellen⦘"),
    ],
)
def test_word_is_found_with_a_hyphen_or_apostrophe_or_without(index_notes, text, titles, mark):
    notes = [BearNote(f"# {title}\n\n{note}") for title, note in JOINED.items()]
    hits = [hit for hit in found(index_notes(notes, "--no-semantic"), text) if hit.is_found]
    assert [hit.title for hit in hits] == titles
    assert all(mark in with_marks(hit.snippet) for hit in hits)


def test_note_with_a_number_joined_to_its_unit_is_first(index_notes):
    notes = [BearNote("# Box\n\nOnly 5 кг."), BearNote("# Gym\n\nЖим 80кг.")]
    hits = found(index_notes(notes, "--no-semantic"), "80 кг").hits
    assert [hit.title for hit in hits] == ["Gym", "Box"]


def test_an_abbreviation_without_dots_is_found_with_them(index_notes):
    path = index_notes([BearNote("# Shop\n\nBy I.B.M., not i b m.")], "--no-semantic")
    [hit] = found(path, "IBM").hits
    assert (hit.is_found, with_marks(hit.snippet)) == (True, "By ⦗I.B.M⦘., not ⦗i b m⦘.")


def test_word_in_two_parts_is_offered_as_one(index_notes):
    notes = [BearNote(f"# {title}\n\n{note}") for title, note in JOINED.items()]
    response = found(index_notes(notes, "--no-semantic"), "data base prompt")
    assert response.results.plan.offers == ("database prompt",)


def test_text_as_it_was_typed_is_no_offer(index_notes):
    notes = [BearNote(f"# {title}\n\n{note}") for title, note in JOINED.items()]
    response = found(index_notes(notes, "--no-semantic"), "data, base prompt")
    assert response.results.plan.offers == ()
