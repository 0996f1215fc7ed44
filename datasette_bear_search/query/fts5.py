"""``Terms`` → FTS5 expressions; tokens; and identifiers, which are searched verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from ..text import languages

T = TypeVar("T")

# Queries of at most so many words are searched for as a phrase, too.
MAX_ADJACENT = 4


@dataclass(frozen=True)
class Terms:
    """What to search for, and the FTS5 expressions for it."""

    meaning: str = ""  # the text to embed, without filters, exclusions and syntax
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()  # without the "*"
    completions: tuple[str, ...] = ()  # the library's words with these prefixes
    identifiers: tuple[str, ...] = ()  # file names, versions, codes: searched verbatim
    open_phrase: str = ""  # the phrase without a closing quotation mark; more of it may follow
    boolean: str | None = None  # the expression for all of this, if it is boolean syntax

    @property
    def substrings(self) -> tuple[str, ...]:
        """The texts that LIKE searches for: all words and phrases verbatim."""
        return unique([*self.phrases, *self.identifiers, *self.words, *self.prefixes])

    @property
    def exact_substrings(self) -> tuple[str, ...]:
        """The texts that an exact match must contain, because to FTS5 ``C++`` is ``c``."""
        return tuple(filter(is_verbatim, self.identifiers))

    @cached_property
    def match(self) -> str | None:
        """All phrases and any words; None if there is no word for FTS5. More words rank higher."""
        if self.boolean:
            return self.boolean
        loose = []
        for word in (*self.identifiers, *self.words):
            if is_number(word):
                loose.append(quoted(word))
                continue
            found = words(word)
            # Useless alone: the s of Anna's, the letters of V(D)J, single digits of an ISBN.
            parts = [token for token in found if len(token) > 1 or not token.isascii()]
            # foo-bar counts more than foo and bar, but in a sentence it would count twice.
            counts_whole = word in self.identifiers or len(self.words) <= 2 or not parts
            has_symbols = len(tokens(word)) > len(found)  # §12 counts more than 12
            if has_symbols or (len(found) > 1 and len(parts) != 1 and counts_whole):
                loose.append(quoted(word))
            loose.extend(map(quoted, parts if len(found) > 1 else found))
        loose.extend(map(starting_with, self.prefixes))
        # The index has stems, which may be shorter: runn* doesn't match running (run).
        loose.extend(map(quoted, self.completions))
        loose.extend(filter(None, [self.adjacent]))
        required = self._phrases()
        if not required:
            return any_of(loose)
        if loose:
            # The first phrase satisfies this part, so the words only add to the score.
            required.append(f"({any_of([*loose, required[0]])})")
        return " AND ".join(required)

    @cached_property
    def exact(self) -> str | None:
        """Its matches rank first if they contain the ``exact_substrings``, too."""
        required = [*self._phrases(), *map(quoted, self.identifiers)]
        return None if self.boolean else " AND ".join(required) or None

    @cached_property
    def adjacent(self) -> str | None:
        """The expression for two to four words next to each other, as typed; None for others.

        BM25 counts it like one more word, so it is worth the more the fewer notes have it.
        """
        searched = (*self.words, *self.prefixes)
        parts = [part for word in searched for part in tokens(word)]
        typed = tokens(self.meaning)
        places = [place for place, token in enumerate(typed) if token in parts] or [0]
        found = typed[places[0] : places[-1] + 1]
        is_plain = not (self.phrases or self.identifiers or self.boolean)
        if not is_plain or languages.is_unspaced(self.meaning):
            return None
        if len(searched) < 2 or not 2 <= len(found) <= MAX_ADJACENT:
            return None
        goes_on = any(found[-1].lower() == prefix.lower() for prefix in self.prefixes)
        if self.prefixes and not goes_on:
            return None
        return starting_with(" ".join(found)) if goes_on else quoted(" ".join(found))

    def _phrases(self) -> list[str]:
        return [
            starting_with(phrase) if phrase == self.open_phrase else quoted(phrase)
            for phrase in self.phrases
        ]

    def relaxed(self) -> Terms:
        """Return loose words instead of phrases and operators."""
        loose = [*self.words, *(word for phrase in self.phrases for word in tokens(phrase))]
        return replace(self, words=unique(loose), phrases=(), boolean=None)

    def rewritten(self, replacements: Mapping[str, str | None]) -> Terms:
        """Return the terms with words replaced by others or by prefixes such as ``roo*``.

        A word that is mapped to None isn't searched for anymore, but stays in ``meaning``.
        """
        found = [word for word in (replacements.get(word, word) for word in self.words) if word]
        meaning = self.meaning
        for word, other in replacements.items():
            if other and not other.endswith("*"):
                whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
                meaning = re.sub(whole_word, other.replace("\\", r"\\"), meaning)
        prefixes = [*self.prefixes, *(word[:-1] for word in found if word.endswith("*"))]
        whole = [word for word in found if not word.endswith("*")]
        return replace(self, meaning=meaning, words=unique(whole), prefixes=unique(prefixes))


def tokens(text: str) -> list[str]:
    """Return the words and symbols that FTS5 sees in a text; in unspaced scripts, n-grams."""
    return [part for token in languages.tokens(text) for part in languages.ngrams(token)]


def words(text: str) -> list[str]:
    """Return the tokens of a word without the symbols glued to it.

    Of symbols alone, return those that aren't joined to the one before: of 🤷‍♀️ the 🤷.
    """
    found = [token for token in tokens(text) if not languages.is_symbol(token[0])]
    return found or tokens(re.sub("\u200d.", "", text))


def survives_tokenizer(text: str) -> bool:
    """Return whether FTS5 keeps both ends of a text. For it, ``C++`` is ``c``."""
    return languages.is_word(text[:1]) and languages.is_word(text[-1:])


def is_verbatim(identifier: str) -> bool:
    """Return whether notes have to contain an identifier as it is written, signs included."""
    return not survives_tokenizer(identifier) and not is_phone_number(identifier)


def quoted(text: str) -> str:
    """Return the text as an FTS5 string, in which nothing is syntax."""
    return '"' + text.replace('"', '""') + '"'


def starting_with(text: str) -> str:
    """Return the expression for a word, or a phrase's last word, that begins with this text."""
    return quoted(text) + "*"


def unique(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


def any_of(expressions: Iterable[str]) -> str | None:
    """Return an expression that matches where one of these does; None if there are none."""
    return " OR ".join(dict.fromkeys(expressions)) or None


# --- Identifiers: file names, versions, dates, ISBNs, error codes, C++. Notes that contain them
# verbatim rank first, so an ordinary word must never be mistaken for an identifier.

# Minimum digits of an ISBN, ticket or phone number. Shorter numbers may be years or amounts.
LONG_NUMBER = 5
# Minimum characters of a code of letters and digits: E404 and utf8, but not B2 or h2o.
SHORTEST_CODE = 4

# Signs inside identifiers. Ordinary words have other signs: don't, a…b, this—that.
_JOINING = set("-‐‑./\\:_@+#&=~%>")
# These also join ordinary words: well-known, and/or.
_HYPHENS = set("-‐‑/")
# Every datasette command imports this module, so patterns are compiled only when they are used.
_NUMBER_AND_UNIT = r"\d+[a-zA-Z]{1,3}"  # 20th, 100km, 1990s
_MEASURE = r"\d{1,3}(?:[-‐‑/][^\W\d_]{3,})+"  # 30-day, 90-year-old
# .NET, @anna, $HOME, ~/.bashrc, --force, #42; C++, F#, A+
_NAMED_BY_SIGNS = r"(?:[.@$~/\\]|~/\.|--)[^\W\d_].*|#\d\d+|.*[^\W\d_]\+\+?|[^\W\d_]#"
# +49 30 1234567, (030) 123-4567, 030/1234567, (555) 123-4567; but not 05.06.24
PHONE_NUMBER = (
    r"(?<!\S)(?!\d\d([./-])\d\d\1\d\d(?:\d\d)?\b)"
    r"(?:\+|\(?0|\(\d{3}\))[\d ()/.‐-]*\d(?![^\s,;:.!?])"
)
# 1,000, 1'000, 1.000.000, 1 000 000; but not 1.234, which may be a version or a fraction, and not
# 10 100, which may be two numbers.
GROUPED_NUMBER = (
    r"(?<!\S)[1-9]\d{0,2}(?:(?:,\d{3})+|(?:['’]\d{3})+|(?:\.\d{3}){2,}|(?: \d{3}){2,})"
    r"(?![^\s;:.,!?])"
)
# Their digits, by ITU's E.164.
PHONE_DIGITS = range(7, 16)


def is_identifier(word: str) -> bool:
    """Return whether a word is an identifier. Strip the punctuation around it first."""
    parts = languages.WORD.findall(word)
    # Without spaces, a whole question may look like one word.
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
    # Not abbreviations such as e.g. and U.S., which have only single letters.
    return not joints <= _HYPHENS and any(len(token) > 1 for token in parts)


def is_phone_number(word: str) -> bool:
    is_one = bool(re.fullmatch(PHONE_NUMBER, word))
    return is_one and sum(map(str.isdigit, word)) in PHONE_DIGITS


def is_number(word: str) -> bool:
    """Return whether a word is a number in groups of digits, all of which have to match."""
    return is_phone_number(word) or bool(re.fullmatch(GROUPED_NUMBER, word))


def is_compound(word: str) -> bool:
    """Return whether a word has parts joined as in identifiers; typed alone, it is one."""
    is_one = len(languages.WORD.findall(word)) < 2 or languages.is_unspaced(word)
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
