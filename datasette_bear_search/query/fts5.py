"""FTS5's language: what its tokenizer makes of a text, expressions, and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .. import languages


def tokens(text: str) -> list[str]:
    """Return the words that FTS5 sees in a text; pairs of characters where no spaces part words."""
    if not languages.is_unspaced(text):
        return languages.TOKEN.findall(text)
    parts = languages.TOKEN.findall(text)
    return [pair for part in parts for pair in languages.pairs(part)]


def survives_tokenizer(text: str) -> bool:
    """Return whether FTS5 tells a text from a shorter one: to it ``C++`` is ``c``."""
    return text[:1].isalnum() and text[-1:].isalnum()


def quoted(text: str) -> str:
    """Return the text as a string of an FTS5 expression, in which nothing is syntax."""
    return '"' + text.replace('"', '""') + '"'


def starting_with(text: str) -> str:
    """Return the expression for words that begin with the text; of several, the last one."""
    return quoted(text) + "*"


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def any_of(expressions: Iterable[str]) -> str | None:
    """Return the expression for what one of these matches; None without any."""
    return " OR ".join(dict.fromkeys(expressions)) or None


# --- Identifiers: file names, versions, dates, ISBNs, error codes, C++. They are looked for as they
# are written and come first, so that no word of ordinary language may be taken for one.

# Digits of an ISBN, a ticket, a telephone; fewer may be a year or an amount.
LONG_NUMBER = 5
# Characters of a code of letters and digits: E404 and utf8, not B2 or h2o.
SHORTEST_CODE = 4

# Signs inside of identifiers. Words of a sentence have others: don't, a…b, this—that.
_JOINING = set("-‐‑./\\:_@+#&=~%")
# Between letters, these also join ordinary words: well-known, and/or.
_HYPHENS = set("-‐‑/")
# Patterns are compiled when they are first used, since every datasette command imports this module.
_NUMBER_AND_UNIT = r"\d+[a-zA-Z]{1,3}"  # 20th, 100km, 1990s
_MEASURE = r"\d{1,3}(?:[-‐‑/][^\W\d_]{3,})+"  # 30-day, 90-year-old
# .NET, @anna, $HOME, --force; C++, F#, A+
_NAMED_BY_SIGNS = r"(?:[.@$~/\\]|--)[^\W\d_].*|.*[^\W\d_](?:\+|\+\+|#)"


def is_identifier(word: str) -> bool:
    """Return whether a word, without the punctuation around it, names one thing."""
    parts = tokens(word)
    # A whole question may be one word.
    if not parts or languages.is_unspaced(word):
        return False
    if re.fullmatch(_NAMED_BY_SIGNS, word) or "://" in word:
        return True
    if len(parts) == 1:
        return _is_code(parts[0])
    joints = _joints(word)
    if not joints <= _JOINING or re.fullmatch(_MEASURE, word):
        return False
    if any(character.isdigit() for character in word):
        return sum(map(len, parts)) > 2  # 24/7 and v1.2, not 2-3
    # Of e.g. and U.S. nothing is left but single letters.
    return not joints <= _HYPHENS and any(len(token) > 1 for token in parts)


def is_compound(word: str) -> bool:
    """Return whether a word is several, joined as in identifiers: alone it is one."""
    is_one = len(tokens(word)) < 2 or languages.is_unspaced(word)
    return not is_one and _joints(word) <= _JOINING


def _joints(word: str) -> set[str]:
    """Return the signs between the first and the last letter or digit of a word."""
    places = [place for place, character in enumerate(word) if character.isalnum()]
    return {sign for sign in word[places[0] : places[-1]] if not sign.isalnum()}


def _is_code(token: str) -> bool:
    digits = sum(character.isdigit() for character in token)
    if digits in (0, len(token)):
        return digits >= LONG_NUMBER
    if digits >= LONG_NUMBER:
        return True
    return len(token) >= SHORTEST_CODE and not re.fullmatch(_NUMBER_AND_UNIT, token)
