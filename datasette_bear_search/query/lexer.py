"""The text of the search box, character by character → its pieces: words, phrases, operators, parentheses.

A piece says what it looks like. What it means depends on the others, and is decided by whoever reads them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from .filters import operators

# What people's keyboards make of straight quotation marks. One for one, so that places stay the same.
QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))

# A tag without quotes: Bear ends it at punctuation.
_TAG_SIGNS = set("-_/&+.")
# Not a tag but a color; one of digits alone begins with none of a tag's letters anyway.
_COLOR = r"(?=.*\d)(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})"

# Punctuation around a word, which isn't the word's own. Signs that may be are missing here: .net, #1, @anna, C++.
_BEFORE = "([{<'‘’*_^`|,;:!?…¡¿–—"
_AFTER = tuple(">'‘’*_^`|.,;:!?…–—-")
_BRACKETS = (")(", "][", "}{")

# Letters after a minus that still look like an option of a command.
_LONGEST_OPTION = 2


# Not dataclasses: each of those costs a millisecond at the start of every datasette command.
class Piece(NamedTuple):
    """A part of the text, from ``start`` to before ``end``."""

    kind: Literal["word", "phrase", "operator", "open", "close"]
    text: str  # without the quotes, the minus and the operator's name
    start: int
    end: int
    minus: bool = False  # a minus stands directly before it
    name: str = ""  # of the operator
    quoted: bool = False

    @property
    def is_sign(self) -> bool:
        """Whether it is a lone dash, ampersand or the like; an emoji is more than a sign."""
        return self.kind == "word" and all(
            (sign.isascii() and not sign.isalnum()) or unicodedata.category(sign).startswith("P")
            for sign in self.text
        )

    @property
    def bare(self) -> str:
        """The text without the punctuation around it; empty if there is nothing else."""
        return _bare(self.text)

    @property
    def beginning(self) -> str:
        """What ``roof*`` asks words to begin with; empty if this is no such word."""
        text = self.text.rstrip(".,;:!?)")
        beginning = _bare(text[:-1])
        is_beginning = text.endswith("*") and text.count("*") == 1 and text[-2:-1].isalnum()
        # Half of a library has words with any one letter; in Chinese, a letter is a word.
        is_long_enough = len(beginning) > 1 or not beginning.isascii()
        return beginning if self.kind == "word" and is_beginning and is_long_enough else ""


class Scan(NamedTuple):
    """All pieces of a text, in its order."""

    pieces: tuple[Piece, ...]
    has_unpaired_quote: bool


def scan(text: str) -> Scan:
    """Take a text apart. Any text can be."""
    return _Scanner(text.translate(QUOTES)).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.depth = 0  # parentheses that are open here
        self.has_unpaired_quote = False
        self.pieces: list[Piece] = []

    def scan(self) -> Scan:
        while self.place < len(self.text):
            if self.text[self.place] == " ":
                self.place += 1
            elif self.text[self.place] == '"' and self._closing_quote(self.place) is None:
                self.has_unpaired_quote = True
                self.place += 1
            else:
                piece = self._piece(self.place)
                self.depth += {"open": 1, "close": -1}.get(piece.kind, 0)
                self.pieces.append(piece)
                self.place = piece.end
        return Scan(tuple(self.pieces), self.has_unpaired_quote)

    def _piece(self, start: int) -> Piece:
        character = self.text[start]
        if character == "(":
            return Piece("open", "(", start, start + 1)
        if character == ")" and self.depth:
            return Piece("close", ")", start, start + 1)
        begins_word = start == 0 or self.text[start - 1] in " ("
        minus = begins_word and character == "-" and self._can_be_left_out(start + 1)
        if minus and self.text[start + 1] == "(":
            return Piece("word", "-", start, start + 1)
        return (
            self._operator(start, start + minus)
            or (self._tag(start, start + minus) if begins_word else None)
            or self._phrase(start, start + minus)
            or self._word(start, start + minus)
        )

    def _can_be_left_out(self, place: int) -> bool:
        """Whether a minus before this place means "without".

        It does before a word, not before -5 and --force, nor before what rather is an option, as in "ls -la".
        """
        following = self.text[place : place + 1]
        if following == '"':
            return self._closing_quote(place) is not None
        if following == "#":
            return self.text[place + 1 : place + 2].isalpha()
        if following == "(":
            return True
        word = self.text[place : place + _LONGEST_OPTION + 1].split(" ")[0]
        is_option = len(word) <= _LONGEST_OPTION and word.isascii() and word.isalnum()
        return following.isalpha() and not is_option

    def _operator(self, start: int, at: int) -> Piece | None:
        colon = self.text.find(":", at)
        name = self.text[at:colon].lower()
        if colon < 0 or name not in operators():
            return None
        if self.text[colon + 1 : colon + 2] == '"':
            closing = self._closing_quote(colon + 1)
            if closing is None:
                return None
            value, end = self.text[colon + 2 : closing], closing + 1
        else:
            end = self._word_end(colon + 1)
            value = self.text[colon + 1 : end].rstrip(",;!?")
            if not value:
                return None
        quoted = self.text[end - 1] == '"'
        return Piece("operator", value, start, end, start < at, name, quoted)

    def _tag(self, start: int, at: int) -> Piece | None:
        """``#work/projects``, or as Bear writes a tag of several words: ``#two words#``."""
        if self.text[at] != "#" or not self.text[at + 1 : at + 2].isalpha():
            return None
        word_end = self._word_end(at)
        closing = self.text.find("#", at + 1)
        # What ends in C# is no tag of several words.
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
            if self.text[end : end + 1] in ("#", "/"):
                end += 1
            if re.fullmatch(_COLOR, value):
                return None
            if not all(sign.isalnum() or sign in _TAG_SIGNS for sign in value):
                return None
        return Piece("operator", value, start, end, start < at, "tag", quoted=True)

    def _phrase(self, start: int, at: int) -> Piece | None:
        if self.text[at] != '"':
            return None
        closing = self._closing_quote(at)
        return closing and Piece(
            "phrase", self.text[at + 1 : closing].strip(), start, closing + 1, start < at
        )

    def _word(self, start: int, at: int) -> Piece:
        end = self._word_end(at)
        return Piece("word", self.text[at:end], start, end, start < at)

    def _word_end(self, start: int) -> int:
        """Where the word ends: at a space, a quotation mark, or a parenthesis that was opened before it."""
        own_parentheses = 0
        for place in range(start, len(self.text)):
            character = self.text[place]
            if character == " ":
                return place
            # 5" are five inches.
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

    def _closing_quote(self, opening: int) -> int | None:
        closing = self.text.find('"', opening + 1)
        return closing if closing >= 0 else None


def _bare(text: str) -> str:
    text = text.strip().lstrip(_BEFORE)
    if not text[1:2].isalpha():
        text = text.lstrip("." + _BEFORE)
    while text.endswith(_AFTER) or any(
        text.endswith(closing) and opening not in text for closing, opening in _BRACKETS
    ):
        text = text[:-1]
    return text
