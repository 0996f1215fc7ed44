"""Pieces of the search box → what narrows the search, and the pieces that are left for it to look for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from . import fts5
from .boolean import is_operator, is_sentence
from .filters import Filters
from .operators import DATES, TAKES, read_operator
from .scanner import Piece

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
        f"{typed} was searched for as words, because {piece.name}: takes {TAKES[piece.name]}."
    )
    reading.pieces.extend(
        piece._replace(kind="word", text=word, minus=False)
        for word in (piece.name, *piece.text.split())
    )
    return 0


def _longer_dates(piece: Piece, following: Sequence[Piece]) -> list[tuple[Piece, int]]:
    """The operator with the words after it that may belong to its date, and how many these are; the most come first."""
    readings = [(piece, 0)]
    if piece.name in DATES and not piece.quoted:
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
