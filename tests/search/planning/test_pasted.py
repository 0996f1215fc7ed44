"""Sentences pasted from notes in scripts without spaces, or that many notes have but for a word."""

import pytest

from tests.support.bear_database import BearNote
from tests.support.index_files import found


@pytest.mark.parametrize(
    "pasted",
    [
        "이런 상황은 생각보다 자주 발생한다.",
        "不能创建新的 NTFS 分区。",
        "次の行は 003e で始まる。",
        "The lines must be formatted as follows",
    ],
)
def test_note_in_a_script_without_spaces_is_exact_for_a_sentence_pasted_from_it(
    index_notes, pasted
):
    texts = [
        "이런 상황은 생각보다 자주 발생한다. 새 브랜치를 만든다.",
        "如果没有足够空间，不能创建新的 NTFS 分区。然后重新启动。",
        "次の行は 003e で始まる。それから続く。",
        "下面是一个例子。 The lines must be formatted as follows.",
    ]
    notes = [BearNote(f"# Note {number}\n\n{text}") for number, text in enumerate(texts)]
    response = found(index_notes(notes, "--no-semantic"), pasted, mode="keyword")
    [first] = [hit for hit in response if hit.is_found]
    assert (pasted.rstrip("。.") in texts[int(first.title[-1])], first.is_exact) == (True, True)


def test_two_korean_words_are_no_sentence(index_notes):
    notes = [
        BearNote(f"# Note {n}\n\n{text}")
        for n, text in enumerate(("데이터베이스 인덱스를 만든다.", "인덱스를 데이터베이스에"))
    ]
    response = found(index_notes(notes, "--no-semantic"), "데이터베이스 인덱스를", mode="keyword")
    assert not response.hits[0].is_exact


def test_sentence_that_many_notes_have_but_for_a_word_is_found_in_its_own(index_notes):
    sentence = "Green apples ripen slowly, yellow pears fall early, blue plums need {}."
    notes = [
        BearNote(f"# Note {number}\n\n{sentence.format(word)}")
        for number, word in enumerate("sun wind rain snow frost water earth light".split())
    ]
    response = found(index_notes(notes, "--no-semantic"), sentence.format("light"))
    assert [hit.title for hit in response if hit.is_exact] == ["Note 7"]
    assert response.hits[0].title == "Note 7"


def test_note_of_a_pasted_sentence_is_before_notes_with_a_name_in_it(index_notes):
    sentence = "To see what was left out, we ran the program with --no-merged at last."
    other = "The option --no-merged. " * 3 + "We ran the program with --no-merged, at last."
    notes = [BearNote(f"# Other\n\n{other}"), BearNote(f"# Own\n\n{sentence} {'And so on. ' * 50}")]
    response = found(index_notes(notes, "--no-semantic"), sentence)
    assert [(hit.title, hit.is_exact) for hit in response] == [("Own", True), ("Other", False)]
