"""The ways of searching, as people name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from . import fts5
from .filters import Filters
from .fts5 import is_compound, is_identifier
from .lexer import QUOTES, Piece, scan
from .parser import Boolean, Token, is_operator, read_boolean, read_pieces, seems_meant

# auto is hybrid where it can be at once, and words alone where it can't.
MODES = ("auto", "hybrid", "keyword", "semantic", "like")

# The modes that search in one way only. What combines them has to be better than either.
LEGS = ("keyword", "semantic")
MEASURED = (*LEGS, "hybrid")


# What a person typed → ``Query``: its words, phrases and filters, the FTS5 expressions, and what to tell the person.

# A question is some dozens of words; a pasted page is cut, because each word costs a scan.
MAX_CHARACTERS = 1000
MAX_WORDS = 64


@dataclass(frozen=True)
class Query:
    """A search as it was understood."""

    text: str  # as typed, cleaned of control characters, cut to MAX_CHARACTERS
    meaning: str = ""  # what is embedded: the text without operators, exclusions and syntax
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()  # what words begin with, without the "*"
    completions: tuple[str, ...] = ()  # the library's words that begin so
    identifiers: tuple[str, ...] = ()  # names of particular things: looked for as they stand
    excluded: tuple[str, ...] = ()  # words, phrases and beginnings* that no result may have
    is_boolean: bool = False
    in_title: bool = False
    match: str | None = None  # FTS5 expression; None if there is no word that FTS5 can find
    # FTS5 expression for what comes first, if it has the exact_substrings, too; None if nothing must
    exact: str | None = None
    mode: str = "auto"
    filters: Filters = field(default_factory=Filters)  # those of the text and those beside it
    notices: tuple[str, ...] = ()
    understood: tuple[Token, ...] = ()
    filters_beside: Filters = field(default_factory=Filters)  # those that don't stand in the text

    @property
    def substrings(self) -> tuple[str, ...]:
        """What LIKE looks for: every word and phrase as it stands."""
        return tuple(dict.fromkeys([*self.phrases, *self.identifiers, *self.words, *self.prefixes]))

    @property
    def exact_substrings(self) -> tuple[str, ...]:
        """What must stand in a note that matches ``exact``: FTS5 takes ``C++`` for ``c``, and so finds too much."""
        return tuple(word for word in self.identifiers if not fts5.is_told_apart(word))

    def text_without(self, token: Token) -> str:
        """The text without one of the things that were understood."""
        before, after = self.text[: token.start].rstrip(), self.text[token.end :].lstrip()
        space = "" if before.endswith("(") or after.startswith(")") else " "
        return f"{before}{space}{after}".strip()


def parse(
    text: str, mode: str = "auto", filters: Filters | None = None, now: datetime | None = None
) -> Query:
    """Read what was typed. Any text will do: what is no syntax is words.

    :param filters: what else narrows the search, beside the text
    :param now: what "today" is reckoned from
    """
    text, notices = _cleaned(text)
    scanned = scan(text)
    if scanned.has_unpaired_quote:
        notices.append(
            "A quotation mark has no partner, so the words after it were searched for one by one."
        )
    # Who looks for text as it stands means AND and OR as they stand, too.
    has_boolean = mode != "like"
    reading = read_pieces(scanned.pieces, has_boolean=has_boolean, now=now)
    boolean = read_boolean(reading.pieces) if has_boolean else None
    if boolean:
        leaves = boolean.wanted
    else:
        leaves = tuple(piece for piece in reading.pieces if piece.kind in ("word", "phrase"))
    if len(leaves) > MAX_WORDS:
        leaves, boolean = leaves[:MAX_WORDS], None
        notices.append(f"Only the first {MAX_WORDS} words were searched for.")
    understood = reading.tokens
    if boolean:
        understood = _with_boolean(text, reading.pieces, boolean, understood)
    if boolean and boolean.ignores_or:
        notices.append(
            "OR can't stand beside an operator such as tag: or a minus; those hold for every result."
        )
    if not boolean and has_boolean and seems_meant(reading.pieces):
        notices.append(
            "AND, OR, NOT and NEAR were searched for as words, because the parentheses or what is in them "
            "is not complete."
        )
    query = Query(
        text=text,
        mode=mode,
        excluded=reading.excluded,
        is_boolean=bool(boolean and boolean.match),
        in_title=reading.in_title,
        match=boolean.match if boolean else None,
        filters=(filters or Filters()) & reading.filters,
        notices=(*notices, *reading.notices),
        understood=tuple(sorted(understood, key=lambda token: token.start)),
        filters_beside=filters or Filters(),
    )
    return _with_expressions(_with_leaves(query, leaves))


def literal(query: Query) -> Query:
    """The same search with its whole text taken as words, whatever looks like syntax in it."""
    words = re.sub(r'["*]', " ", query.text.translate(QUOTES)).split()
    pieces = [Piece("word", word, 0, 0) for word in words]
    plain = Query(
        text=query.text,
        mode=query.mode,
        filters=query.filters_beside,
        filters_beside=query.filters_beside,
    )
    return _with_expressions(_with_leaves(plain, pieces[:MAX_WORDS]))


def relaxed(query: Query) -> Query:
    """The same search with nothing required: phrases and boolean syntax are loose words. Filters and exclusions hold."""
    words = [*query.words, *(word for phrase in query.phrases for word in fts5.tokens(phrase))]
    return _with_expressions(replace(query, words=_unique(words), phrases=(), is_boolean=False))


def rewritten(query: Query, replacements: Mapping[str, str | None]) -> Query:
    """The same search for other words: each for the one that it is mapped to, ``roo*`` for words that begin so.

    A word that is mapped to None is left out of what is looked for, though not of the meaning.
    """
    words = [replacements.get(word, word) for word in query.words]
    beginnings = [word[:-1] for word in words if word and word.endswith("*")]
    meaning = query.meaning
    for word, other in replacements.items():
        if other and not other.endswith("*"):
            whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
            meaning = re.sub(whole_word, lambda _, other=other: other, meaning)
    return _with_expressions(
        replace(
            query,
            meaning=meaning,
            words=_unique(word for word in words if word and not word.endswith("*")),
            prefixes=_unique([*query.prefixes, *beginnings]),
        )
    )


def completed(query: Query, completions: Iterable[str]) -> Query:
    """The same search, in which the prefixes stand for these words, too."""
    return _with_expressions(replace(query, completions=_unique(completions)))


def _cleaned(text: str) -> tuple[str, list[str]]:
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", " ", text).split())
    if len(text) <= MAX_CHARACTERS:
        return text, []
    return text[:MAX_CHARACTERS].rstrip(), [
        f"Only the first {MAX_CHARACTERS:,} characters were searched for."
    ]


def _with_boolean(
    text: str, pieces: Sequence[Piece], boolean: Boolean, tokens: Sequence[Token]
) -> list[Token]:
    """The tokens, with one for the boolean syntax; AND and OR beside an operator go when the operator goes."""
    joints = [piece for piece in pieces if is_operator(piece)]
    ends = {joint.end: joint.start for joint in joints}
    starts = {joint.start: joint.end for joint in joints}
    widened = []
    for token in tokens:
        if token.kind == "phrase":
            continue  # a part of the boolean syntax
        if token.start - 1 in ends:
            token = token._replace(start=ends[token.start - 1])
        elif token.end + 1 in starts:
            token = token._replace(end=starts[token.end + 1])
        widened.append(token)
    if boolean.match:
        own = [piece for piece in pieces if piece.kind != "operator"]
        terms = [piece for piece in own if not is_operator(piece)]
        value = text[terms[0].start : terms[-1].end]
        widened.append(Token("boolean", value, f"boolean: {value}", own[0].start, own[-1].end))
    return widened


def _with_leaves(query: Query, leaves: Sequence[Piece]) -> Query:
    """The query with what it looks for, each in the group to which it belongs."""
    phrases, prefixes, identifiers, words, signs, meaning = [], [], [], [], [], []
    for piece in leaves:
        meaning.append(piece.text.strip("*"))
        if piece.is_sign:
            signs.append(piece.text)
        elif piece.beginning:
            prefixes.append(piece.beginning)
        elif _names_something(piece):
            identifiers.append(piece.bare)
        elif piece.kind == "phrase" and len(fts5.tokens(piece.text)) > (len(leaves) > 1):
            # One word in quotation marks among others is that word.
            phrases.append(piece.text)
        elif piece.bare:
            words.append(piece.bare)
    if len(words) == len(leaves) == 1 and is_compound(words[0]):
        identifiers, words = words, []
    if not (query.understood or len(signs) < len(leaves)):
        words = signs  # who types nothing else means the signs themselves
    return replace(
        query,
        meaning=" ".join(filter(None, meaning)),
        phrases=_unique(phrases),
        prefixes=_unique(prefixes),
        identifiers=_unique(identifiers),
        words=_unique(words),
    )


def _names_something(piece: Piece) -> bool:
    """Whether a piece is an identifier. In quotation marks it is one if FTS5 can't find it as a phrase."""
    if not is_identifier(piece.bare):
        return False
    return piece.kind == "word" or not fts5.is_told_apart(piece.bare)


def _with_expressions(query: Query) -> Query:
    """The query with the FTS5 expressions that follow from the rest of it."""
    if query.is_boolean:
        # What it demands, whatever is found by meaning must fulfil, too.
        match, exact, required = query.match, None, query.match
    else:
        match, required = _match(query), None
        exact = " AND ".join(map(fts5.quoted, [*query.phrases, *query.identifiers])) or None
    if query.in_title and match:
        required = f"{{title}} : ({match})"
    filters = replace(
        query.filters,
        excluded=query.excluded,
        required=required,
        # Parts of words, too, as everywhere; but they know no AND and OR.
        required_in_title=query.substrings if query.in_title and not query.is_boolean else (),
    )
    return replace(query, match=match, exact=exact, filters=filters)


def _match(query: Query) -> str | None:
    """Every phrase, and of the words as many as there are: BM25 ranks a note that has more of them higher."""
    loose = []
    for word in (*query.identifiers, *query.words):
        tokens = fts5.tokens(word)
        # The s of Anna's, the letters of V(D)J and the single digits of an ISBN say nothing by themselves.
        telling = [token for token in tokens if len(token) > 1 or not token.isascii()]
        # foo-bar as it stands counts more than foo and bar; but in a sentence it would count twice.
        as_it_stands = word in query.identifiers or len(query.words) <= 2 or not telling
        if len(tokens) > 1 and len(telling) != 1 and as_it_stands:
            loose.append(fts5.quoted(word))
        loose.extend(map(fts5.quoted, telling if len(tokens) > 1 else tokens))
    loose.extend(map(fts5.starting_with, query.prefixes))
    # The word index has stems, which needn't begin so: running is found by run, not by runn*.
    loose.extend(map(fts5.quoted, query.completions))
    required = [fts5.quoted(phrase) for phrase in query.phrases]
    if not required:
        return fts5.any_of(loose)
    if loose:
        # The phrases alone satisfy the last part, so that the words only add to the rank.
        required.append(f"({fts5.any_of([*loose, required[0]])})")
    return " AND ".join(required)


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
