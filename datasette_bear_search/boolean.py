"""Boolean syntax, where it is really meant: pieces → one FTS5 expression.

It is meant if

- all of it can be read: every operator has something on both sides, every parenthesis its partner;
- an operator stands between every two neighbors, or parentheses enclose one. Then neighbors without an operator are
  joined by AND;
- it is no sentence: it has no little words such as "the" or "how", and isn't all in capitals, since there AND is
  nothing but a word.

So ``apple AND pear`` and ``(apple OR pear) tart`` are boolean; ``pros AND cons of remote work``, ``apple AND``
and ``WHAT IS AND`` are words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import fts5
from .scanner import Piece

OPERATORS = ("AND", "OR", "NOT")

# The words by which a sentence is known. In capitals they may be others: IT, US.
SENTENCE_WORDS = frozenset(
    "a an the this that these those is are was were be been do does did has have had i you he she it we they my your "
    "his her its our their me us them of to in on at for from with by as about into than how what why when where "
    "which who whose should can could would will must may might if because there".split()
)

# Nobody opens more, and Python's stack ends somewhere.
MAX_DEPTH = 20

# What FTS5 takes if NEAR has no number.
NEAR_WORDS = 10
MAX_NEAR_WORDS = 1000


class Boolean(NamedTuple):
    """Boolean syntax as it was read."""

    match: str | None  # FTS5 expression; None if it joins nothing but operators such as tag:
    wanted: tuple[Piece, ...]  # the words and phrases that aren't negated
    ignores_or: bool  # OR stands beside an operator such as tag:, which holds for every result


def is_sentence(pieces: Sequence[Piece]) -> bool:
    """Whether capitals and little words tell that AND, OR and NOT are words here."""
    words = [piece.bare for piece in pieces if piece.kind == "word" and not is_operator(piece)]
    if any(map(_opens_near, pieces, pieces[1:])) or all(len(word) == 1 for word in words):
        return False  # nobody writes NEAR( in a sentence, and in a AND b, a is a letter
    if any(word in SENTENCE_WORDS for word in words):
        return True
    letters = [letter for word in words for letter in word if letter.isalpha()]
    has_group = any(piece.kind == "open" for piece in pieces)
    return bool(letters) and not has_group and all(letter.isupper() for letter in letters)


def is_operator(piece: Piece) -> bool:
    """Whether a piece is AND, OR or NOT."""
    return piece.kind == "word" and piece.text in OPERATORS


def seems_meant(pieces: Sequence[Piece]) -> bool:
    """Whether there are both operators and parentheses, so that someone meant boolean syntax, complete or not."""
    has_group = any(piece.kind == "open" for piece in pieces)
    has_operator = any(is_operator(piece) or piece.text == "NEAR" for piece in pieces)
    return has_group and has_operator and not is_sentence(pieces)


def read_boolean(pieces: Sequence[Piece]) -> Boolean | None:
    """Boolean syntax, or None if these pieces are none. Pieces of the kind "operator" hold for all results anyway."""
    if is_sentence(pieces):
        return None
    pieces = [piece for piece in pieces if not piece.is_sign]
    parser = _Parser(pieces)
    try:
        match = parser.any_of()
    except _NotBoolean:
        return None
    if parser.place < len(pieces) or not parser.has_operator:
        return None
    if parser.has_loose_neighbors and not parser.has_group_with_operator:
        return None
    if not parser.joins_terms:
        match = None
    return Boolean(match, tuple(parser.wanted), parser.ignores_or)


class _NotBoolean(Exception):
    """These pieces can't be read as boolean syntax."""


class _Parser:
    """Recursive descent. Each method gives an expression, or None for what doesn't narrow: a filter, ``()``."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.place = 0
        self.depth = 0  # open parentheses
        self.negations = 0  # open NOTs
        self.wanted: list[Piece] = []
        self.has_operator = False
        self.has_group_with_operator = False
        self.has_loose_neighbors = False
        self.joins_terms = False
        self.ignores_or = False

    def any_of(self) -> str | None:
        parts = [self.all_of()]
        while self.takes("OR"):
            parts.append(self.all_of())
        if len(parts) > 1 and None in parts:
            self.ignores_or = True
        return self.joined(" OR ", parts)

    def all_of(self) -> str | None:
        wanted, unwanted = [], []
        while True:
            if self.takes("NOT"):
                self.negations += 1
                unwanted.append(self.one())
                self.negations -= 1
            else:
                wanted.append(self.one())
            if self.takes("AND") or self.is_at("NOT"):
                continue
            if self.place == len(self.pieces) or self.piece.kind == "close" or self.is_at("OR"):
                break
            if "operator" not in (self.piece.kind, self.pieces[self.place - 1].kind):
                self.has_loose_neighbors = True
        positive, negative = self.joined(" AND ", wanted), self.joined(" OR ", unwanted)
        if negative is None:
            return positive
        if positive is None:
            raise _NotBoolean  # FTS5 can't look for what isn't there
        self.joins_terms = True
        return f"{_grouped(positive)} NOT {_grouped(negative)}"

    def one(self) -> str | None:
        if self.place == len(self.pieces) or is_operator(self.piece):
            raise _NotBoolean
        piece = self.piece
        self.place += 1
        if piece.kind == "operator":
            return None
        if piece.kind == "open":
            return self.group()
        if piece.kind == "close" or piece.minus:
            raise _NotBoolean
        if self.place < len(self.pieces) and _opens_near(piece, self.piece):
            return self.near()
        if not self.negations:
            self.wanted.append(piece)
        return _leaf(piece)

    def group(self) -> str | None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotBoolean
        if self.place < len(self.pieces) and self.piece.kind == "close":
            inside = None
        else:
            outside, self.has_operator = self.has_operator, False
            inside = self.any_of()
            self.has_group_with_operator |= self.has_operator
            self.has_operator |= outside
        if self.place == len(self.pieces):
            raise _NotBoolean
        self.place += 1
        self.depth -= 1
        return inside

    def near(self) -> str:
        """``NEAR(apple "old tree", 5)``"""
        inside = []
        self.place += 1
        while self.place < len(self.pieces) and self.piece.kind in ("word", "phrase"):
            inside.append(self.piece)
            self.place += 1
        if self.place == len(self.pieces) or self.piece.kind != "close":
            raise _NotBoolean
        self.place += 1
        self.has_operator = self.has_group_with_operator = self.joins_terms = True
        inside, words = _with_distance(inside)
        if len(inside) < 2 or any(piece.minus for piece in inside):
            raise _NotBoolean
        if not self.negations:
            self.wanted.extend(inside)
        return f"NEAR({' '.join(map(_leaf, inside))}, {words})"

    def joined(self, operator: str, parts: Sequence[str | None]) -> str | None:
        expressions = [part for part in parts if part]
        if len(expressions) < 2:
            return expressions[0] if expressions else None
        self.joins_terms = True
        return operator.join(map(_grouped, dict.fromkeys(expressions)))

    @property
    def piece(self) -> Piece:
        return self.pieces[self.place]

    def is_at(self, operator: str) -> bool:
        at_word = self.place < len(self.pieces) and self.piece.kind == "word"
        return at_word and self.piece.text == operator

    def takes(self, operator: str) -> bool:
        if not self.is_at(operator):
            return False
        self.place += 1
        self.has_operator = True
        return True


def _opens_near(piece: Piece, following: Piece) -> bool:
    is_near = piece.kind == "word" and piece.text == "NEAR"
    return is_near and following.kind == "open" and following.start == piece.end


def _with_distance(inside: Sequence[Piece]) -> tuple[list[Piece], int]:
    """The pieces inside of NEAR() without the comma and the number behind it, and that number."""
    *others, last = inside or [Piece("word", "", 0, 0)]
    rest, comma, number = last.text.rpartition(",")
    has_comma = comma or (others and others[-1].text.endswith(","))
    if last.kind == "phrase" or not has_comma or not number.isdecimal():
        return list(inside), NEAR_WORDS
    terms = [
        piece._replace(text=piece.text.rstrip(",")) if piece.kind == "word" else piece
        for piece in (*others, last._replace(text=rest))
    ]
    return [piece for piece in terms if piece.text], min(int(number[:9]), MAX_NEAR_WORDS)


def _leaf(piece: Piece) -> str:
    if not fts5.tokens(piece.bare):
        raise _NotBoolean
    return fts5.starting_with(piece.beginning) if piece.beginning else fts5.quoted(piece.bare)


def _grouped(expression: str) -> str:
    """In parentheses, unless it is a single string."""
    is_single = expression.count('"') == 2
    return expression if is_single else f"({expression})"
