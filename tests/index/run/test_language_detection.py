"""The languages of notes, many at a time."""

import errno
import os

import pytest

from datasette_bear_search.index.run import language_detection
from datasette_bear_search.index.run.language_detection import detect
from datasette_bear_search.notes import ForeseenError

SENTENCES = {
    "de": "Am Abend gingen die Kinder langsam über die nasse Wiese nach Hause.",
    "el": "Το βράδυ τα παιδιά γύρισαν σπίτι με τα πόδια μέσα από το λιβάδι.",
    "en": "The children went slowly home through the wet meadow in the evening.",
    "es": "Por la tarde los niños volvieron despacio a casa por el prado mojado.",
    "ja": "夕方、子どもたちは濡れた草原をゆっくり歩いて家に帰りました。",
    "ru": "Вечером дети медленно шли домой через мокрый луг, потому что было уже поздно.",
    "sr": "Увече су се деца полако враћала кући преко мокре ливаде.",
    "zh": "傍晚，孩子们穿过潮湿的草地慢慢走回家。",
}


def test_each_text_has_its_own_language():
    assert detect([*SENTENCES.values()]) == [*SENTENCES]


@pytest.mark.parametrize("text", ["", "Milk, bread", "1234 5678", "```\nwhile der die das\n```"])
def test_too_little_text_has_no_language(text):
    assert detect([text]) == [None]
    assert detect([SENTENCES["de"], text, SENTENCES["de"]]) == ["de", None, "de"]


def test_if_the_end_of_a_sample_is_unclear_all_of_it_decides():
    letters = " ".join("qx" for _ in range(40))
    assert detect([letters, f"{SENTENCES['es']} {letters}"]) == [None, "es"]


def test_without_room_to_unpack_the_model_the_error_says_so(monkeypatch):
    def full(*_, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    language_detection._model.cache_clear()
    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", full)
    with pytest.raises(ForeseenError, match="No space left on device"):
        language_detection._model()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("da", "Naboens hunde\nNaboens hunde gør om natten."),
        ("ru", "План огорода\nКартошка у забора, горох на солнце, тыква на компосте."),
    ],
)
def test_a_short_note_in_a_language_like_others_has_its_language(language, text):
    assert detect([text]) == [language]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bn", "ইলিশ মাছ, সর্ষে, কাঁচা লঙ্কা। বিশ মিনিট ভাপে।"),
        ("cy", "Mae cŵn y cymdogion yn cyfarth yn y nos."),
        ("is", "Hundar nágrannans gelta á nóttunni."),
        ("ka", "მეზობლის ძაღლები ღამით ყეფენ."),
        ("sw", "Mashine ya kahawa imeharibika, dhamana hadi Septemba."),
    ],
)
def test_languages_without_a_stemmer_are_told_from_those_with_one(language, text):
    assert detect([text]) == [language]
