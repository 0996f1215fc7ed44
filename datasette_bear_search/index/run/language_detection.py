"""Detect the languages of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...notes import ForeseenError
from ...text.languages import SNOWBALL, STOP_WORDS, is_unspaced

# Languages to detect besides Snowball's: those of a script of their own, and others so unlike these
# that of 1,700 texts, none in another language is taken for one of them.
_OTHERS = "en bg bn cy gu he hr is ja ka km kn ko lo ml my pa si sk sl sw te th uk vi zh".split()
# The language is detected from the first LETTERS of a note. The last FEW_LETTERS of them are tried
# first: they decide for .97 of 4,800 texts, with the same result. A shorter note
# has no language, nor has one whose likeliest language is less probable than MIN_PROBABILITY. Among
# 57 languages, the right one is found for .70 to .90 of pieces of 5 words from English, German and
# Spanish texts (12 words: .98 to .99), a wrong one for .006 (.000). Of 539 short notes in 26 other
# languages, .011 have none (with .8, .032: 7 of 19 Danish ones); with .5, .004 have a wrong one.
LETTERS, FEW_LETTERS, MIN_LETTERS, MIN_PROBABILITY = 300, 100, 20, 0.6
# A text with this many closed-class words that only English has needs no model: of 87,000 texts in
# 33 languages 5,400, for all of which the model says the same (with three, not for 23 of 6,200). It
# saves nine of ten English notes .1 ms, a tenth of what indexing their text takes.
MIN_ENGLISH_WORDS = 4
_OTHER_STOPS = frozenset().union(*(STOP_WORDS[each] for each in STOP_WORDS if each != "en"))
_ONLY_ENGLISH = {word for word in STOP_WORDS["en"] - _OTHER_STOPS if len(word) > 1}
_FOREIGN = {word for word in _OTHER_STOPS - STOP_WORDS["en"] if len(word) > 1}
# Links, code, digits and punctuation say nothing. Single blanks needn't be replaced by blanks.
_NO_LANGUAGE = re.compile(
    r"(?s)```.*?(?:```|$)|`[^`\n]*`|\b\w+://\S+|\]\([^)\s]*\)"
    r"|(?! [^\s\d!-/:-@[-`{-~])[\s\d!-/:-@[-`{-~]+"
)


def detect(texts: Sequence[str]) -> list[str | None]:
    """Return the language of each text (ISO 639-1), or None if it is uncertain."""
    samples = [_NO_LANGUAGE.sub(" ", text[: 2 * LETTERS])[:LETTERS] for text in texts]
    # Texts from a template may have the same sample.
    found = {each: _language(each) for each in dict.fromkeys(samples)}
    return [found[each] for each in samples]


def _language(sample: str) -> str | None:
    if len(sample) < MIN_LETTERS and not is_unspaced(sample):
        return None
    words = set(sample.lower().split())
    own, foreign = len(words & _ONLY_ENGLISH), len(words & _FOREIGN)
    is_latin = len(sample.encode(errors="replace")) < 1.03 * len(sample)
    if own >= MIN_ENGLISH_WORDS and 3 * foreign <= own and is_latin:
        return "en"
    for text in dict.fromkeys([sample[-FEW_LETTERS:], sample]):
        language, probability = _model().classify(text)
        if probability >= MIN_PROBABILITY:
            return str(language)
    return None


@lru_cache(None)
def _model() -> Any:
    # Loading takes .5 s and 90 MB of memory, and only new notes need it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # the model is unpacked into a temporary file
        raise ForeseenError(
            "There is no room for a temporary file of some megabytes "
            f"({error.strerror}), without which the language of the notes can't be detected."
        ) from error
    model.set_languages([*SNOWBALL, *_OTHERS])
    return model
