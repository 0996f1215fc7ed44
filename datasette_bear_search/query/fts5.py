"""FTS5's language: what its tokenizer makes of a text, and how a text is written into an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What unicode61 makes tokens of, near enough: letters and digits of any script.
_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """The words that FTS5 sees in a text."""
    return _TOKEN.findall(text)


def survives_tokenizer(text: str) -> bool:
    """Whether FTS5 can tell a word or phrase from a shorter one: ``C++`` and ``.net`` are ``c`` and ``net`` to it."""
    return text[:1].isalnum() and text[-1:].isalnum()


def quoted(text: str) -> str:
    """The text as a string of an FTS5 expression, in which nothing is syntax."""
    return '"' + text.replace('"', '""') + '"'


def starting_with(text: str) -> str:
    """The expression for words that begin with the text; of several words, the last one."""
    return quoted(text) + "*"


def any_of(expressions: Iterable[str]) -> str | None:
    """The expression for what one of these matches; None without any."""
    return " OR ".join(dict.fromkeys(expressions)) or None


# Which words are names of one particular thing: file names, versions, dates, ISBNs, error codes, ``C++``.
#
# Such a word is looked for as it stands, and a note that has it comes first. A word of ordinary language must not be
# taken for one, or whatever note contains it would come before better answers.

# A number of so many digits is an ISBN, a ticket, a telephone: no year and no amount.
LONG_NUMBER = 5
# Letters mixed with digits are a code from so many characters on: E404 and utf8, not B2 or h2o.
SHORTEST_CODE = 4

# Signs that stand inside of identifiers. Between words of a sentence stand others: don't, a…b, this—that.
_JOINING = set("-‐‑./\\:_@+#&=~%")
# Between letters, these also join ordinary words: well-known, and/or.
_HYPHENS = set("-‐‑/")
# Patterns are compiled when they are first used, since every datasette command imports this module.
_NUMBER_AND_UNIT = r"\d+[a-zA-Z]{1,3}"  # 20th, 100km, 1990s
_MEASURE = r"\d{1,3}(?:[-‐‑/][^\W\d_]{3,})+"  # 30-day, 90-year-old
# .NET, @anna, $HOME, --force; C++, F#, A+
_NAMED_BY_SIGNS = r"(?:[.@$~/\\]|--)[^\W\d_].*|.*[^\W\d_](?:\+|\+\+|#)"


def is_identifier(word: str) -> bool:
    """Whether a word, without the punctuation around it, names one particular thing."""
    parts = tokens(word)
    if not parts:
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
    """Whether a word is several, joined as identifiers are: one if it is all that was asked for."""
    return len(tokens(word)) > 1 and _joints(word) <= _JOINING


def _joints(word: str) -> set[str]:
    """The signs between the first and the last letter or digit of a word."""
    places = [place for place, character in enumerate(word) if character.isalnum()]
    return {sign for sign in word[places[0] : places[-1]] if not sign.isalnum()}


def _is_code(token: str) -> bool:
    digits = sum(character.isdigit() for character in token)
    if digits in (0, len(token)):
        return digits >= LONG_NUMBER
    if digits >= LONG_NUMBER:
        return True
    return len(token) >= SHORTEST_CODE and not re.fullmatch(_NUMBER_AND_UNIT, token)
