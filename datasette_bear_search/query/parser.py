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
from datetime import datetime
from typing import NamedTuple

from . import fts5
from .filters import Filters, operators, read_operator
from .lexer import Piece

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


# Pieces of the search box → what narrows the search, and the pieces that are left for it to look for.

# "created:3 weeks ago": so many words may belong to a date without quotation marks.
WORDS_OF_A_DATE = 3


class Token(NamedTuple):
    """A part of the text that was understood as more than words: from ``start`` to before ``end``."""

    kind: str  # the operator's name, "not", "phrase" or "boolean"; with "-" before it what was negated
    value: str
    label: str  # for people
    start: int
    end: int


class Reading:
    """What the pieces say, but for boolean syntax."""

    def __init__(self) -> None:
        # What the search looks for; in the place of what narrows it stand pieces of the kind "operator".
        self.pieces: list[Piece] = []
        self.filters = Filters()
        self.excluded: tuple[str, ...] = ()
        self.in_title = False
        self.tokens: list[Token] = []
        self.notices: list[str] = []


def read_pieces(
    pieces: Sequence[Piece], *, has_boolean: bool, now: datetime | None = None
) -> Reading:
    """Sort the pieces of a text.

    :param has_boolean: whether NOT may be more than a word
    :param now: what "today" is reckoned from
    """
    reading = Reading()
    knows_not = has_boolean and not is_sentence(pieces)
    depth = place = 0
    while place < len(pieces):
        piece = pieces[place]
        depth += {"open": 1, "close": -1}.get(piece.kind, 0)
        place += 1
        following = pieces[place] if place < len(pieces) else piece
        is_not = knows_not and is_operator(piece) and piece.text == "NOT"
        is_minus = piece.kind == "word" and piece.text == "-" and following.start == piece.end
        # In parentheses, NOT before a word is boolean syntax.
        if (is_not or is_minus) and depth == 0 and (group := _alternatives(pieces[place:])):
            _exclude(reading, [piece, *group])
            place += len(group)
            continue
        if is_not and _can_be_negated(following, depth):
            piece = following._replace(start=piece.start, minus=True)
            place += 1
        if piece.kind == "operator":
            place += _read_operator(reading, piece, pieces[place:], now)
        elif piece.minus:
            _exclude(reading, [piece])
        else:
            reading.pieces.append(piece)
            if piece.kind == "phrase" and fts5.tokens(piece.text):
                _add_token(reading, "phrase", piece.text, piece)
    return reading


def _alternatives(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """``(pear OR "old plum" OR …)`` if the pieces begin with it."""
    kinds = [piece.kind for piece in pieces]
    if kinds[:1] != ["open"] or "close" not in kinds:
        return ()
    group = pieces[: kinds.index("close") + 1]
    terms, joints = group[1:-1:2], group[2:-1:2]
    are_terms = all(_can_be_negated(piece) and piece.kind != "operator" for piece in terms)
    is_complete = len(terms) == len(joints) + 1
    is_list = are_terms and is_complete and all(joint.text == "OR" for joint in joints)
    return group if is_list else ()


def _can_be_negated(piece: Piece, depth: int = 0) -> bool:
    if piece.kind == "operator":
        return not piece.minus
    is_term = piece.kind in ("word", "phrase") and not is_operator(piece)
    return is_term and not piece.minus and depth == 0


def _read_operator(
    reading: Reading, piece: Piece, following: Sequence[Piece], now: datetime | None
) -> int:
    """Read an operator; how many of the following pieces belong to it, too."""
    if piece.name == "in" and piece.text.lower() == "title" and not piece.minus:
        reading.in_title = True
        _add_token(reading, "in", "title", piece)
        reading.pieces.append(piece)
        return 0
    for longer, count in _longer_dates(piece, following):
        try:
            demanded = read_operator(longer.name, longer.text, now)
        except ValueError:
            continue
        if longer.minus:
            demanded = Filters(without=(demanded,))
        reading.filters &= demanded
        _add_token(reading, longer.name, longer.text.strip(), longer)
        reading.pieces.append(longer)
        return count
    typed = f"{piece.name}:{piece.text}"
    reading.notices.append(
        f"{typed} was searched for as words, because {piece.name}: takes {operators()[piece.name].takes}."
    )
    reading.pieces.extend(
        piece._replace(kind="word", text=word, minus=False)
        for word in (piece.name, *piece.text.split())
    )
    return 0


def _longer_dates(piece: Piece, following: Sequence[Piece]) -> list[tuple[Piece, int]]:
    """The operator with the words after it that may belong to its date, and how many these are; the most come first."""
    readings = [(piece, 0)]
    if operators()[piece.name].kind == "date" and not piece.quoted:
        for count, word in enumerate(following[: WORDS_OF_A_DATE - 1], 1):
            if word.kind != "word" or word.minus:
                break
            longer = readings[-1][0]
            text = f"{longer.text} {word.text.rstrip(',.;!?')}"
            readings.append((longer._replace(text=text, end=word.end), count))
    return readings[::-1]


def _exclude(reading: Reading, pieces: Sequence[Piece]) -> None:
    """Read ``-draft``, or a minus and alternatives in parentheses."""
    excluded = [
        f"{piece.beginning}*" if piece.beginning else piece.bare
        for piece in pieces
        if piece.kind in ("word", "phrase") and not is_operator(piece)
    ]
    excluded = [text for text in excluded if text]
    whole = Piece("operator", " OR ".join(excluded), pieces[0].start, pieces[-1].end, name="not")
    reading.pieces.append(whole)
    if excluded:
        reading.excluded = tuple(dict.fromkeys([*reading.excluded, *excluded]))
        _add_token(reading, "not", whole.text, whole)


def _add_token(reading: Reading, kind: str, value: str, piece: Piece) -> None:
    label = f"{kind.replace('-', ' ')}: {value}"
    if piece.minus:
        kind, label = f"-{kind}", f"not {label}"
    reading.tokens.append(Token(kind, value, label, piece.start, piece.end))
