"""Tokens → filters, exclusions and, where boolean syntax is meant, one FTS5 expression.

A text counts as boolean syntax if all of it parses, operators join all neighbors (in a text with
parentheses, no operator means AND), and it isn't a sentence: ``apple AND pear``, ``(apple OR pear)
tart``. In ``apple AND``, ``pros AND cons of work`` and ``WHAT IS AND``, AND is a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import fts5
from .filter_values import describe_operator, is_beginning, read_operator
from .filters import Filters, operators
from .lexer import Token

# Words that reveal a sentence. In capitals they may be abbreviations: IT, US.
WORDS_OF_SENTENCES = frozenset(
    "a an the this that these those is are was were be been do does did has have had i you he she "
    "it we they my your his her its our their me us them of to in on at for from with by as about "
    "into than how what why when where which who whose should can could would will must may might "
    "if because there".split()
)

# Nobody nests parentheses deeper, and Python's recursion is limited.
MAX_DEPTH = 20

# FTS5's default for NEAR without a number.
NEAR_WORDS = 10
MAX_NEAR_WORDS = 1000

# Maximum words of a date without quotation marks, as in "created:3 weeks ago".
WORDS_OF_A_DATE = 3


class Clause(NamedTuple):
    """The text from ``start`` to before ``end``, which was read as more than plain words."""

    kind: str  # the operator's name, "not", "phrase" or "boolean"; prefixed with "-" if negated
    value: str
    label: str  # for people
    start: int
    end: int

    @property
    def is_filter(self) -> bool:
        return self.kind not in ("phrase", "boolean")


class Reading:
    """The meaning of the tokens, apart from boolean syntax."""

    def __init__(self) -> None:
        # The words and phrases to search for; filters and exclusions are tokens of kind "filter".
        self.tokens: list[Token] = []
        self.filters = Filters()
        self.excluded: tuple[str, ...] = ()
        self.in_title = False
        self.clauses: list[Clause] = []
        self.notices: list[str] = []

    def add_clause(self, kind: str, value: str, token: Token, label: str) -> None:
        kind = f"-{kind}" if token.minus else kind
        self.clauses.append(Clause(kind, value, label, token.start, token.end))


def read(tokens: Sequence[Token], *, has_boolean: bool, is_typing: bool = False) -> Reading:
    """Read filters, exclusions and phrases.

    :param has_boolean: whether NOT may be an operator
    :param is_typing: whether the last token may be incomplete
    """
    reading = Reading()
    knows_not = has_boolean and not is_sentence(tokens)
    depth = place = 0
    while place < len(tokens):
        token = tokens[place]
        depth += (token.kind == "open") - (token.kind == "close")
        place += 1
        following = tokens[place] if place < len(tokens) else token
        is_not = knows_not and token.kind == "word" and token.text == "NOT"
        is_minus = token.kind == "word" and token.text == "-" and following.start == token.end
        # Inside parentheses, NOT before a word is left to read_boolean().
        if (is_not or is_minus) and depth == 0 and (group := _alternatives(tokens[place:])):
            _exclude(reading, [token, *group])
            place += len(group)
            continue
        if is_not and _can_be_negated(following, depth):
            token = following._replace(start=token.start, minus=True)
            place += 1
        if token.kind == "filter":
            place += _read_filter(reading, token, tokens[place:], is_typing)
        elif token.minus:
            _exclude(reading, [token])
        else:
            reading.tokens.append(token)
            if token.kind == "phrase" and fts5.tokens(token.text):
                reading.add_clause("phrase", token.text, token, f"“{token.text}”")
    return reading


def _alternatives(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of ``(pear OR "old plum" OR …)`` if ``tokens`` begins like that."""
    kinds = [token.kind for token in tokens]
    if kinds[:1] != ["open"] or "close" not in kinds:
        return ()
    group = tokens[: kinds.index("close") + 1]
    terms, joints = group[1:-1:2], group[2:-1:2]
    are_terms = all(_can_be_negated(token) and token.kind != "filter" for token in terms)
    is_complete = len(terms) == len(joints) + 1
    return group if are_terms and is_complete and all(j.text == "OR" for j in joints) else ()


def _can_be_negated(token: Token, depth: int = 0) -> bool:
    if token.kind == "filter":
        return not token.minus
    is_term = token.kind in ("word", "phrase") and not is_operator(token)
    return is_term and not token.minus and depth == 0


def _read_filter(
    reading: Reading, token: Token, following: Sequence[Token], is_typing: bool
) -> int:
    """Read a filter such as ``tag:work``; return how many of the following tokens belong to it."""
    if token.is_open:
        reading.tokens.append(token)
        return 0
    if token.name == "in" and token.text.lower() == "title" and not token.minus:
        reading.in_title = True
        reading.add_clause("in", "title", token, "in the title")
        reading.tokens.append(token)
        return 0
    operator = operators()[token.name]
    readings = [(token, 0)]
    if operator.kind == "date" and not token.quoted:
        # Try the longest date first: "3 weeks ago" before "3 weeks" and "3".
        longer = token
        for count, word in enumerate(following[: WORDS_OF_A_DATE - 1], 1):
            if word.kind != "word" or word.minus:
                break
            text = f"{longer.text} {word.text.rstrip(',.;!?')}"
            longer = longer._replace(text=text, end=word.end)
            readings.insert(0, (longer, count))
    for longer, count in readings:
        try:
            demanded = read_operator(longer.name, longer.text)
        except ValueError:
            continue
        reading.filters &= Filters(without=(demanded,)) if longer.minus else demanded
        value = longer.text.strip()
        label = describe_operator(longer.name, value, is_negated=longer.minus)
        reading.add_clause(longer.name, value, longer, label)
        reading.tokens.append(longer)
        return count
    typed = f"“{token.name}:{token.text}”"
    takes = f"“{token.name}:” takes {operator.takes}."
    if is_typing and not following and is_beginning(token.name, token.text):
        reading.notices.append(f"{typed} isn't complete. {takes}")
        reading.tokens.append(token)
        return 0
    reading.notices.append(f"{typed} was searched for as text. {takes}")
    reading.tokens.extend(
        token._replace(kind="word", text=word, minus=False)
        for word in (token.name, *token.text.split())
    )
    return 0


def _exclude(reading: Reading, tokens: Sequence[Token]) -> None:
    """Read ``-draft``, or a minus (or NOT) before alternatives in parentheses."""
    terms = [token for token in tokens if token.kind in ("word", "phrase")]
    excluded = [
        f"{term.prefix}*" if term.prefix else term.bare
        for term in terms
        if term.bare and not is_operator(term)
    ]
    whole = Token("filter", " OR ".join(excluded), tokens[0].start, tokens[-1].end, name="not")
    reading.tokens.append(whole)
    if excluded:
        reading.excluded = fts5.unique([*reading.excluded, *excluded])
        reading.add_clause("not", whole.text, whole, f"not {whole.text}")


# --- Boolean syntax


def is_operator(token: Token) -> bool:
    return token.kind == "word" and token.text in ("AND", "OR", "NOT")


def is_sentence(tokens: Sequence[Token]) -> bool:
    """Return whether AND, OR and NOT are mere words here, judging by capitals and little words."""
    words = [token.bare for token in tokens if token.kind == "word" and not is_operator(token)]
    if any(map(_opens_near, tokens, tokens[1:])) or all(len(word) == 1 for word in words):
        return False  # no sentence has NEAR( in it, and the a of "a AND b" isn't an article
    if any(word in WORDS_OF_SENTENCES for word in words):
        return True
    letters = [letter for word in words for letter in word if letter.isalpha()]
    has_group = any(token.kind == "open" for token in tokens)
    return bool(letters) and not has_group and all(letter.isupper() for letter in letters)


def seems_boolean(tokens: Sequence[Token]) -> bool:
    """Return whether operators and parentheses suggest boolean syntax, complete or not."""
    has_group = any(token.kind == "open" for token in tokens)
    has_operator = any(is_operator(token) or token.text == "NEAR" for token in tokens)
    return has_group and has_operator and not is_sentence(tokens)


class Boolean(NamedTuple):
    match: str | None  # FTS5 expression; None if the operators join only filters such as tag:
    wanted: tuple[Token, ...]  # the words and phrases that aren't negated
    ignores_or: bool  # whether an OR joins a filter, which applies to every result anyway


def read_boolean(tokens: Sequence[Token]) -> Boolean | None:
    if is_sentence(tokens):
        return None
    parser = _Parser([token for token in tokens if not token.is_punctuation])
    try:
        match = parser.any_of()
    except _NotBoolean:
        return None
    if parser.token.kind != "end" or not parser.has_operator:
        return None
    if parser.has_loose_neighbors and not parser.has_group_with_operator:
        return None
    return Boolean(match if parser.joins_terms else None, tuple(parser.wanted), parser.ignores_or)


class _NotBoolean(Exception):
    """These tokens can't be read as boolean syntax."""


class _Parser:
    """A recursive-descent parser. An expression is None for filters and ``()``: it adds nothing."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = [*tokens, Token("end", "", 0, 0)]
        self.place = 0
        self.depth = 0  # open parentheses
        self.negations = 0  # open NOTs
        self.wanted: list[Token] = []
        self.has_operator = False
        self.has_group_with_operator = False
        self.has_loose_neighbors = False
        self.joins_terms = False
        self.ignores_or = False

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

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
            if self.token.kind in ("close", "end") or self.is_at("OR"):
                break
            if "filter" not in (self.token.kind, self.tokens[self.place - 1].kind):
                self.has_loose_neighbors = True
        positive, negative = self.joined(" AND ", wanted), self.joined(" OR ", unwanted)
        if negative is None:
            return positive
        if positive is None:
            raise _NotBoolean  # FTS5 can't search with NOT alone
        self.joins_terms = True
        return f"{_grouped(positive)} NOT {_grouped(negative)}"

    def one(self) -> str | None:
        token = self.token
        if token.kind in ("close", "end") or is_operator(token):
            raise _NotBoolean
        self.place += 1
        if token.kind == "filter":
            return None
        if token.kind == "open":
            return self.group()
        if token.minus:
            raise _NotBoolean
        if _opens_near(token, self.token):
            return self.near()
        if not self.negations:
            self.wanted.append(token)
        return _term(token)

    def group(self) -> str | None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotBoolean
        inside = None
        if self.token.kind != "close":
            outside, self.has_operator = self.has_operator, False
            inside = self.any_of()
            self.has_group_with_operator |= self.has_operator
            self.has_operator |= outside
        self.close()
        self.depth -= 1
        return inside

    def near(self) -> str:
        """Read ``NEAR(apple "old tree", 5)``."""
        self.place += 1
        first = self.place
        while self.token.kind in ("word", "phrase"):
            self.place += 1
        terms, words = _near_terms(self.tokens[first : self.place])
        self.close()
        self.has_operator = self.has_group_with_operator = self.joins_terms = True
        if len(terms) < 2 or any(term.minus for term in terms):
            raise _NotBoolean
        if not self.negations:
            self.wanted.extend(terms)
        return f"NEAR({' '.join(map(_term, terms))}, {words})"

    def close(self) -> None:
        if self.token.kind != "close":
            raise _NotBoolean
        self.place += 1

    def joined(self, operator: str, parts: Sequence[str | None]) -> str | None:
        expressions = [part for part in parts if part]
        if len(expressions) < 2:
            return expressions[0] if expressions else None
        self.joins_terms = True
        return operator.join(map(_grouped, dict.fromkeys(expressions)))

    def is_at(self, operator: str) -> bool:
        return self.token.kind == "word" and self.token.text == operator

    def takes(self, operator: str) -> bool:
        if not self.is_at(operator):
            return False
        self.place += 1
        self.has_operator = True
        return True


def _opens_near(token: Token, following: Token) -> bool:
    is_near = token.kind == "word" and token.text == "NEAR"
    return is_near and following.kind == "open" and following.start == token.end


def _near_terms(inside: Sequence[Token]) -> tuple[Sequence[Token], int]:
    """Return the terms inside NEAR(), and the number after the comma, or its default."""
    *others, last = inside or [Token("end", "", 0, 0)]
    rest, comma, number = last.text.rpartition(",")
    has_comma = comma or (others and others[-1].text.endswith(","))
    if last.kind != "word" or not has_comma or not number.isdecimal():
        return inside, NEAR_WORDS
    terms = [
        token._replace(text=token.text.rstrip(",")) if token.kind == "word" else token
        for token in (*others, last._replace(text=rest))
    ]
    return [token for token in terms if token.text], min(int(number[:9]), MAX_NEAR_WORDS)


def _term(token: Token) -> str:
    if not fts5.tokens(token.bare):
        raise _NotBoolean
    return fts5.starting_with(token.prefix) if token.prefix else fts5.quoted(token.bare)


def _grouped(expression: str) -> str:
    """Put the expression in parentheses unless it is a single string."""
    return expression if expression.count('"') == 2 else f"({expression})"
