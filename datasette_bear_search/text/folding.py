"""Fold characters, so that words that look the same are the same, in texts and in queries.

This takes two steps. ``normalized`` comes before words are cut and stemmed: letters and digits in
Unicode's compatibility form (NFKC), and none of the characters that aren't seen.
``without_accents`` comes after, because stemmers know æ and ł. It leaves é and å to FTS5's
tokenizer, which removes the marks of Latin letters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

# Increase this when one of the functions returns another text.
RULES = 5

# Letters whose plain form is neither in Unicode's data nor in their names.
_PLAIN = {
    "œ": "oe", "æ": "ae", "ð": "d", "þ": "th", "ı": "i", "ß": "ss", "ŋ": "n", "ĸ": "k", "ə": "e",
    "ё": "е", "ς": "σ",
    # Arabic, Persian and Urdu keyboards have different keys for a letter; hamza is left out.
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ؤ": "و", "ئ": "ي", "ى": "ي", "ی": "ي", "ک": "ك",
    "ة": "ه", "ۀ": "ه", "ہ": "ه", "ۂ": "ه", "ۃ": "ه",
}  # fmt: skip
_WITH_A_MARK = re.compile("LATIN (?:SMALL|CAPITAL) LETTER ([A-Z]) WITH ")
# What is typed for these letters on keyboards that don't have them.
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
# Marks that are often left out: Hebrew points, Arabic vowel signs and tatweel, the nukta of Hindi
# and its neighbors.
_OPTIONAL = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652"
    "\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u093c\u09bc\u0a3c\u0abc\u0b3c]"
)
# Characters that NFC may join to the one before.
_JOINING = re.compile(
    "[\u0300-\u036f\u0653-\u0655\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6"
    "\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e\u1160-\u11ff\u3099\u309a\uff9e\uff9f]"
)
# A character with those that may be joined to it.
_CLUSTER = re.compile(f"(?s:.){_JOINING.pattern}*")
# Marks of no letter, such as the stress in Russian dictionaries and Persian's hamza.
_LOOSE = re.compile("[\u0300-\u036f\u0653-\u0655]+")
# Of the alphabets in which people leave them out: not of й, which is another letter than и.
_ACCENTS = re.compile("(?<=[a-z\u0370-\u03ff])[\u0300-\u036f]+")
# Symbols that stand for letters: the radicals of a PDF's Chinese, and squares such as ㎏ and ㌔.
_LETTERS = re.compile("[\u2e80-\u2fdf\u3300-\u33ff]")
_APOSTROPHES = re.compile("[\u02b9-\u02bf\u02c8]")
# Inside words: a joiner of letters (but not of emoji), and Catalan's dot.
_INVISIBLE = re.compile("\u200d(?=\\w)|(?<=[lL])\u00b7(?=[lL])")
_WORD_JOINER = "\u2060"
# A nasal before a letter of its place in the mouth, or a dot above instead: हिन्दी, हिंदी.
_NASAL = re.compile("ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])")
_VIRAMA, _DOT = "्ं"
# The moon, the vowel of "doctor" (डॉक्टर, डाक्टर), and the sign of minus, else a symbol.
_VARIANTS = {"ँ": _DOT, "ॉ": "ा", "ऑ": "आ", "\u2212": "-"}
# The blank after the prefix of a Persian verb, and before a plural's ending.
_PERSIAN_BLANK = re.compile(r" (?:(?<=\bمی )|(?<=\bنمی ))(?=\w)| (?<=\w )(?=هایی?\b)")


class Normalized(NamedTuple):
    """A normalized text, and where each of its characters, and its end, is in the original."""

    text: str
    places: list[int] | None  # None: at the same place

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the original that became ``text[start:end]``."""
        if self.places is None:
            return start, end
        # Characters that come from the same place were one, so none of them is apart.
        after = bisect_right(self.places, self.places[end - 1])
        return self.places[start], self.places[after]


def normalized(text: str) -> str:
    """Return a text with its letters and digits in one form, and without what isn't seen.

    NFKC (Unicode Standard Annex #15) without most symbols and fractions, which would change the
    words beside them; no format characters (soft hyphens, zero-width spaces, byte order marks), and
    none of the marks that are often left out in Hebrew, Arabic and Hindi.
    """
    if is_normal(text):
        return text
    formed = _with_forms(_normal, _with_joiners(text))
    return _LOOSE.sub("", unicodedata.normalize("NFC", formed))


def is_normal(text: str) -> bool:
    """Return whether ``normalized`` changes none of a text's characters, whatever is around."""
    return text.isascii() or all(map(_is_normal, {*text}))


def normalized_with_places(text: str) -> Normalized:
    """Return a normalized text from whose parts one finds those of the original."""
    if normalized(text) is text:
        return Normalized(text, None)
    parts: list[str] = []
    places: list[int] = []
    for cluster in _CLUSTER.finditer(_with_joiners(text)):
        part = normalized(cluster[0])
        parts.append(part)
        places += [cluster.start()] * len(part)
    return Normalized("".join(parts), [*places, len(text)])


def without_accents(text: str) -> str:
    """Return a text with plain letters in place of those that FTS5 doesn't know as accented."""
    return text if text.isascii() else _with_forms(_plain, text)


def plain(word: str) -> str:
    """Return a word in lower case as one types it without any accent."""
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFD", without_accents(normalized(word).lower()))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", letters))


def joined(text: str) -> str:
    """Return a text of the same length whose Persian words are one each, as in می‌خواهم."""
    return _PERSIAN_BLANK.sub("\u200c", text) if "ی" in text else text


def _with_joiners(text: str) -> str:
    """Return a text of the same length with joiners in place of what is left out inside words."""
    text = _INVISIBLE.sub(_WORD_JOINER, joined(text))
    return _NASAL.sub(_DOT + _WORD_JOINER, text) if _VIRAMA in text else text


def typed_forms(word: str) -> set[str]:
    """Return what is typed for a word where a keyboard lacks its letters: also Waerme."""
    return {plain(word), plain(normalized(word).lower().translate(_DIGRAPHS))}


def _with_forms(form_of: Callable[[str], str], text: str) -> str:
    for character in {*text}:
        if (form := form_of(character)) != character:
            text = text.replace(character, form)
    return text


@lru_cache(None)
def _is_normal(character: str) -> bool:
    may_join = character in f"\u200d\u00b7ی{_VIRAMA}" or _JOINING.match(character)
    return not may_join and _normal(character) == character


@lru_cache(None)
def _normal(character: str) -> str:
    kind = unicodedata.category(character)
    if _OPTIONAL.match(character) or (kind == "Cf" and character != "\u200d"):
        return ""
    if _APOSTROPHES.match(character):
        return "'"
    if character in _VARIANTS:
        return _VARIANTS[character]
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind[0] not in "LN" and not _LETTERS.match(character):
        return character
    form = unicodedata.normalize("NFKC", character)
    if not all(unicodedata.category(each)[0] in "LNM" for each in form):
        return character
    return _OPTIONAL.sub("", form)


@lru_cache(None)
def _plain(character: str) -> str:
    lower = character.lower()
    base = unicodedata.normalize("NFD", lower)[0]
    if character.isascii() or (base.isascii() and base != lower):
        return character  # FTS5 does this
    if found := _WITH_A_MARK.match(unicodedata.name(character, "")):
        return found[1].lower()
    is_greek = "\u0370" <= base <= "\u03ff"
    return _PLAIN.get(lower) or _PLAIN.get(base) or (base if is_greek else character)
