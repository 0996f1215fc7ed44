"""The text of the search box → tokens: words, phrases, filters, parentheses.

A token says what it looks like. What it means depends on its neighbors, so the parser decides.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

from ..text.folding import joined
from ..text.languages import is_symbol, is_word
from .filters import operators

# Marks that keyboards insert instead of straight quotes. One for one, so that offsets stay valid.
QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))

# Signs allowed in a tag without quotes. As in Bear, other punctuation ends it.
_TAG_SIGNS = set("-_/&+.")
# A color, not a tag. One that begins with a digit isn't taken for a tag anyway.
_COLOR = r"(?=.*\d)(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})"

# Punctuation around a word, without the signs that may be part of one: .net, #1, @anna, C++.
_BEFORE = "([{<'‘’*_^`|,;:!?…¡¿–—"
_AFTER = tuple(">'‘’*_^`|.,;:!?…–—-")
_BRACKETS = ((")", "("), ("]", "["), ("}", "{"))

# 'roof garden', but not the dogs' bones; _ELISION rules out rock 'n' roll, 'tis and the '90s.
_IN_SINGLE_QUOTES = r"""['‘]\w[^'‘’"]*(?:\w['’]\w[^'‘’"]*)*\w['’](?=[\s.,;:!?)]|$)"""
_ELISION = r"(?i:(?:\d|n\b|tis\b|twas\b|em\b|til\b|cause\b|round\b|bout\b))"

# A minus before this many characters or fewer looks like a command's option, such as -la.
_LONGEST_OPTION = 2


# Not a dataclass, because each costs a millisecond at the start of every datasette command.
class Token(NamedTuple):
    """A part of the text, from ``start`` to before ``end``."""

    kind: Literal["word", "phrase", "filter", "open", "close", "end"]
    text: str  # without the quotes, the minus and the operator's name
    start: int
    end: int
    minus: bool = False  # whether a minus comes right before it
    name: str = ""  # the operator's: "tag" in tag:work
    quoted: bool = False
    is_open: bool = False  # whether its value or closing quotation mark is missing

    @property
    def is_punctuation(self) -> bool:
        """Whether this is a lone dash, ampersand or the like. A symbol isn't punctuation."""
        return self.kind == "word" and all(
            (sign.isascii() and not sign.isalnum())
            or (unicodedata.category(sign).startswith("P") and not is_symbol(sign))
            for sign in self.text
        )

    @property
    def bare(self) -> str:
        """The text without the punctuation around it; empty if there is nothing else."""
        return _bare(self.text)

    @property
    def prefix(self) -> str:
        """The ``roof`` of a prefix search such as ``roof*``, or empty."""
        text = self.text.rstrip(".,;:!?)")
        prefix = _bare(text[:-1])
        is_prefix = text.endswith("*") and text.count("*") == 1 and is_word(text[-2:-1])
        # A single letter matches words in half of the notes. In Chinese, a character is a word.
        is_long_enough = len(prefix) > 1 or not prefix.isascii()
        return prefix if self.kind == "word" and is_prefix and is_long_enough else ""


def tokenize(text: str) -> list[Token]:
    return _Lexer(joined(text).translate(QUOTES)).read()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0  # number of open parentheses

    def read(self) -> list[Token]:
        tokens, place = [], 0
        while place < len(self.text):
            is_lone_quote = self.text[place] == '"' and not self.opens_phrase(place)
            if is_lone_quote or self.text[place] == " ":
                place += 1
            else:
                token = self.token(place)
                self.depth += (token.kind == "open") - (token.kind == "close")
                tokens.append(token)
                place = token.end
        return tokens

    def token(self, start: int) -> Token:
        character = self.text[start]
        if character == "(":
            return Token("open", "(", start, start + 1)
        if character == ")" and self.depth:
            return Token("close", ")", start, start + 1)
        begins_word = start == 0 or self.text[start - 1] in " ("
        minus = begins_word and character == "-" and self.can_be_excluded(start + 1)
        if minus and self.text[start + 1] == "(":
            return Token("word", "-", start, start + 1)
        at = start + minus
        narrowing = self.filter(start, at) or (self.tag(start, at) if begins_word else None)
        if narrowing:
            return narrowing
        if self.text[at] == '"':
            # A phrase that is still being typed extends to the end.
            closing = self.closing_quote(at) or len(self.text)
            phrase, end = self.text[at + 1 : closing].strip(), min(closing + 1, len(self.text))
            return Token("phrase", phrase, start, end, minus, is_open=closing == len(self.text))
        if begins_word and (closing := self.single_quote(at)):
            return Token("phrase", self.text[at + 1 : closing], start, closing + 1, minus)
        end = self.word_end(at)
        return Token("word", self.text[at:end], start, end, minus)

    def can_be_excluded(self, place: int) -> bool:
        """Return whether a minus before ``place`` excludes; in -5 and "ls -la" it doesn't."""
        following = self.text[place : place + 1]
        if following == '"':
            return self.opens_phrase(place)
        if following == "#":
            return self.text[place + 1 : place + 2].isalpha()
        if following in ("(", "'", "‘"):
            return following == "(" or bool(self.single_quote(place))
        word = self.text[place : place + _LONGEST_OPTION + 1].split(" ")[0]
        is_option = len(word) <= _LONGEST_OPTION and word.isascii() and word.isalnum()
        is_option = is_option and (len(word) == 1 or not word.isupper())  # -AI, -EU
        can_be_word = following.isalpha() or (following > "\x7f" and is_symbol(following))
        return can_be_word and not is_option

    def filter(self, start: int, at: int) -> Token | None:
        """Read a filter such as ``tag:work`` or ``linked-to:"Roof plan"``, or return None."""
        colon = self.text.find(":", at)
        name = self.text[at:colon].lower()
        if colon < 0 or name not in operators():
            return None
        if quoted := self.text.startswith('"', colon + 1):
            closing = self.closing_quote(colon + 1)
            value, end = self.text[colon + 2 : closing], closing + 1
        else:
            end = self.word_end(colon + 1)
            value, closing = self.text[colon + 1 : end].rstrip(",;!?"), colon
        is_open = not closing or end == len(self.text) == colon + 1
        if is_open:  # the value hasn't been typed yet
            value, end = "", len(self.text)
        elif not value and not quoted:
            return None
        return Token("filter", value, start, end, start < at, name, quoted, is_open)

    def tag(self, start: int, at: int) -> Token | None:
        """Read ``#work/projects`` or, as Bear writes it, ``#two words#``; else return None."""
        if self.text[at] != "#" or not self.text[at + 1 : at + 2].isalpha():
            return None
        word_end = self.word_end(at)
        closing = self.text.find("#", at + 1)
        # In "#code in C#", the second # doesn't close a tag of several words.
        if (
            closing >= word_end
            and self.text[closing + 1 : closing + 2] in ("", " ")
            and self.text[closing - 2 : closing - 1].isalnum()
            and self.text[closing - 1].isalnum()
            and '"' not in self.text[at:closing]
        ):
            value, end = self.text[at + 1 : closing], closing + 1
        else:
            value = self.text[at + 1 : word_end].rstrip(".,;:!?)'’#/")
            end = at + 1 + len(value)
            end += self.text.startswith(("#", "/"), end)
            is_tag = all(sign.isalnum() or sign in _TAG_SIGNS for sign in value)
            if not is_tag or re.fullmatch(_COLOR, value):
                return None
        return Token("filter", value, start, end, start < at, "tag", quoted=True)

    def word_end(self, start: int) -> int:
        """Return where a word ends: at a space, a quotation mark or an enclosing parenthesis."""
        own_parentheses = 0
        for place in range(start, len(self.text)):
            character = self.text[place]
            if character == " ":
                return place
            # 5" is five inches.
            if character == '"' and not self.text[start:place][-1:].isdigit():
                return place
            if character == "(":
                if self.text[start:place] == "NEAR":
                    return place
                own_parentheses += 1
            elif character == ")" and own_parentheses:
                own_parentheses -= 1
            elif character == ")" and self.depth:
                return place
        return len(self.text)

    def single_quote(self, opening: int) -> int:
        """Return where a phrase in single quotes ends, or 0, as for an apostrophe."""
        match = re.match(_IN_SINGLE_QUOTES, self.text[opening:])
        if not match or re.match(_ELISION, self.text[opening + 1 :]):
            return 0
        return opening + match.end() - 1

    def opens_phrase(self, place: int) -> bool:
        """Return whether a quotation mark begins a phrase, complete or not."""
        if self.closing_quote(place):
            return True
        return self.text[:place][-1:] in ("", " ", "(") and any(map(str.isalnum, self.text[place:]))

    def closing_quote(self, opening: int) -> int:
        """Return the position of the closing quotation mark, or 0 if there is none."""
        return max(0, self.text.find('"', opening + 1))


@lru_cache(1000)  # parsing asks for each word several times
def _bare(text: str) -> str:
    text = text.strip().lstrip(_BEFORE)
    if not text[1:2].isalpha():
        text = text.lstrip("." + _BEFORE)
    while text.endswith(_AFTER) or any(
        text.endswith(closing) and opening not in text for closing, opening in _BRACKETS
    ):
        text = text[:-1]
    return text
