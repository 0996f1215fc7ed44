"""Which of very many notes are worth ranking by their words: those that have a rare one, or several of the others.

FTS5 tells in a few milliseconds which of a hundred thousand notes have a word, and needs ten times as long for their BM25.
A note that has only one of the common words is not among the first hundred where hundreds of notes have more of them. And
to a word that is in half of the notes or more BM25 gives no weight: only in a title it may mean something.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..index import database
from ..index import rows as folding
from ..query import fts5
from ..query.query import Query, completed, literal, relaxed, rewritten
from ..sqlite import sqlite3
from . import spelling

# Notes that have one of the words, counted once for each; up to so many are all ranked.
FROM_HITS = 10_000
# Words are rare as long as so many notes have them together. Each of these notes is ranked.
RARE_HITS = 3000
# How many notes are ranked: as few as possible above the first number, if the second doesn't stand against it.
AT_LEAST, AT_MOST = 500, 6000
# The expression grows with the number of words. Those that most notes have say least.
COMMON_WORDS = 6


def promising(having: Mapping[str, int], library_notes: int) -> str | None:
    """The FTS5 expression for the notes that are worth ranking; None if all are that have a word.

    :param having: FTS5 expressions, each for a word, and how many notes have it
    """
    if sum(having.values()) <= FROM_HITS:
        return None
    if min(having.values()) * 2 >= library_notes:
        return f"{{title}} : ({fts5.any_of(having)})"
    rare: list[str] = []
    common = sorted(having, key=lambda word: having[word])
    rare_hits = 0
    while common and rare_hits + having[common[0]] <= RARE_HITS:
        rare_hits += having[common[0]]
        rare.append(common.pop(0))
    common = common[:COMMON_WORDS]
    shares = [min(having[word] / max(library_notes, 1), 1.0) for word in common]
    # How many notes are to be expected that have one of the words, two of them, and so on.
    expected = [rare_hits + share * library_notes for share in _shares_with_at_least(shares)]
    count = next((n for n, notes in enumerate(expected, 1) if notes <= AT_MOST), len(common))
    if expected[count - 1 : count] < [AT_LEAST]:
        count -= 1
    if count < 2:
        return None
    return fts5.any_of([*rare, _with_at_least(count, common)])


def _shares_with_at_least(shares: Sequence[float]) -> list[float]:
    """The share of notes with at least one of the words, two of them … all, if words were independent of each other.

    They aren't: what is written about one thing has more of them, and so there are rather more such notes.
    """
    exactly = [1.0]
    for share in shares:
        exactly = [
            without * (1 - share) + with_one_less * share
            for without, with_one_less in zip([*exactly, 0.0], [0.0, *exactly])
        ]
    return [sum(exactly[count:]) for count in range(1, len(exactly))]


def _with_at_least(count: int, words: Sequence[str]) -> str:
    """The expression for notes that have so many of the words."""
    if count == 1:
        return f"({fts5.any_of(words)})"
    if count == len(words):
        return f"({' AND '.join(words)})"
    first, *others = words
    with_first = f"({first} AND {_with_at_least(count - 1, others)})"
    return f"({with_first} OR {_with_at_least(count, others)})"


# What a query means in this library: which words matter, which are mistyped, and how words and meaning are balanced.

# Closed-class words of English, which say nothing about what a note is about. Leaving them out of the words that are
# searched for gains .007 nDCG@10 on average and half of the time. They are kept where there is nothing else.
STOP_WORDS = frozenset(
    "a about all also am an and any are as at be been being but by can could did do does for from had has have he her "
    "him his how i if in into is it its just me more most my no not of on or our out over s she should so some such t "
    "than that the their them then there these they this to under up us very was we were what when where which who "
    "will with would you your".split()
)

# A word in more than this share of the notes is left out, too: in other languages it does what stop words do in
# English, and it is what makes a search slow. In a small library the share means little.
COMMON_SHARE = 0.5
COMMON_FROM_NOTES = 200

# FTS5 looks at every note that has one of the words, at some five hundred a millisecond. Of a query's words, the rarest are
# searched for until they are in so many notes together; those that are left out say least. On test collections six tenths
# of the notes cost at most .008 nDCG@10, three tenths up to .027.
HITS_AT_MOST = 60_000

# The share of meaning in the blend, by the shape of the query; the rest is words. On five test collections .7 is best on
# average for sentences and for one or two words, with little between .65 and .8 (benchmarks/fusion.py). A word's share
# runs from 0 to 1, a cosine's from about .6 to 1: at .5 words decide nearly alone.
BALANCES = {
    "literal": 0.5,  # quotation marks, boolean syntax, identifiers: somebody knows what is written there
    "keywords": 0.7,  # one or two words
    "sentence": 0.7,
}
# A sentence in which an identifier is named is a sentence all the same.
KEYWORDS_AT_MOST = 2

# Filters allow few notes if they are less than one in so many.
FEW = 5

# The most that FTS5's BM25 (k1 = 1.2) gives for a word, as a multiple of its inverse document frequency.
BM25_K1_PLUS_1 = 2.2

# Thai, Lao, Burmese, Khmer, Japanese and Chinese: FTS5 takes what stands between two marks for one word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


_Terms = Callable[[str], list[spelling.Term]]


@dataclass(frozen=True)
class Plan:
    """A query as it is run."""

    query: Query
    shape: str  # one of BALANCES
    balance: float  # 0 is words alone, 1 is meaning alone
    # What a note with all of the words, again and again, would have; 0 if that isn't known.
    max_bm25: float = 0.0
    pruned_match: str | None = None
    anywhere: tuple[str, ...] = ()  # words in scripts that put no spaces between words
    threshold: float | None = None  # cosine below which nothing is really close in meaning
    corrections: tuple[tuple[str, str], ...] = ()  # what was typed, what was searched for
    notices: tuple[str, ...] = ()


def plan(
    connection: sqlite3.Connection,
    query: Query,
    *,
    balance: float | None = None,
    correct: bool = True,
) -> Plan:
    """Fit a query to the library.

    :param balance: the share of meaning; None decides by the query
    :param correct: whether words that no note has may be taken for mistyped ones
    """
    if _is_title(connection, query):
        # A title is searched for as it stands, whatever looks like syntax in it.
        query = literal(query)
    asked = _shape(query)
    # Both which words are left out and how much the others could be worth follow from how common they are.
    terms = cache(lambda word: spelling.terms(connection, [word]))
    library_notes = spelling.library_notes(connection)
    corrections: tuple[tuple[str, str], ...] = ()
    notices: list[str] = []
    if not query.is_boolean and query.mode != "like":
        # If the word index is broken, the statement will find out, and knows what to do.
        with suppress(sqlite3.DatabaseError):
            query, corrections = _fitted(connection, query, correct, terms, library_notes)
    demands = query.is_boolean or query.phrases
    if demands and query.mode != "like" and not _matches(connection, query):
        demanded = "what AND, OR and NOT ask for" if query.is_boolean else "this exact phrase"
        notices.append(f"No note has {demanded}; the words were searched for one by one.")
        query = relaxed(query)
    if folding.has_copies(connection):
        query = replace(query, filters=replace(query.filters, deduplicated=True))
    max_bm25, worth_ranking = 0.0, None
    with suppress(sqlite3.DatabaseError):
        max_bm25 = 0.0 if query.is_boolean else _max_bm25(query, terms, library_notes)
        worth_ranking = _promising(connection, query, terms, library_notes)
    threshold = database.get_meta(connection, "floor")
    return Plan(
        query,
        anywhere=tuple(word for word in query.words if _UNSPACED.search(word)),
        shape=asked,
        balance=BALANCES[asked] if balance is None else balance,
        max_bm25=max_bm25,
        pruned_match=worth_ranking,
        threshold=float(threshold) if threshold else None,
        corrections=corrections,
        notices=tuple(notices),
    )


def _shape(query: Query) -> str:
    is_short = len(query.words) + len(query.prefixes) <= KEYWORDS_AT_MOST
    if query.is_boolean or query.phrases or (query.identifiers and is_short):
        return "literal"
    return "keywords" if is_short else "sentence"


def _max_bm25(query: Query, terms: _Terms, notes: int) -> float:
    """The BM25 that FTS5 would give a note which has every word so often that once more makes no difference."""
    highest = 0.0
    for word in query.words:
        if not _UNSPACED.search(word):
            # Of a compound, which is searched for as a phrase, the rarest part comes nearest. While notes are indexed,
            # more may have it by now than there were when they were counted.
            having = min((term.notes for term in terms(word)), default=0)
            highest += BM25_K1_PLUS_1 * max(
                math.log((max(notes - having, 0) + 0.5) / (having + 0.5)), 1e-6
            )
    return highest


def _promising(
    connection: sqlite3.Connection, query: Query, terms: _Terms, notes: int
) -> str | None:
    """The notes that are worth ranking, if the query is nothing but words."""
    others = query.phrases or query.identifiers or query.prefixes
    if query.is_boolean or others or any(map(_UNSPACED.search, query.words)):
        return None
    having = {}
    for word in query.words:
        stems = spelling.stems(word)
        if len(stems) != 1:
            return None
        having[stems[0]] = (fts5.quoted(word), max((term.notes for term in terms(word)), default=0))
    expression = promising(dict(having.values()), notes)
    if not expression:
        return None
    matching = "from notes_fts where notes_fts match :match"
    if not _are_at_least(connection, AT_LEAST, matching, {"match": expression}):
        return None  # there were more to be expected
    conditions, parameters = query.filters.conditions()
    allowed = f"from notes where {' and '.join(conditions)}"
    # Among few notes all are ranked that have a word.
    are_many = not conditions or _are_at_least(connection, notes // FEW, allowed, parameters)
    return expression if are_many else None


def _are_at_least(
    connection: sqlite3.Connection, count: int, rows: str, parameters: Mapping[str, Any]
) -> bool:
    """Whether there are so many rows, of which no more are looked at."""
    sql = f"select count(*) from (select 1 {rows} limit {count})"
    [found] = connection.execute(sql, parameters).fetchone()
    return found == count


def _fitted(
    connection: sqlite3.Connection,
    query: Query,
    correct: bool,
    terms: _Terms,
    library_notes: int,
) -> tuple[Query, tuple[tuple[str, str], ...]]:
    """The query in the library's words, and which words were taken for mistyped ones."""
    replacements = _replacements(connection, query, correct, terms, library_notes)
    if replacements:
        query = rewritten(query, replacements)
    if query.prefixes:
        query = completed(
            query,
            (
                word
                for prefix in query.prefixes
                for word in spelling.completions(connection, prefix)
            ),
        )
    return query, tuple(
        (word, other) for word, other in replacements.items() if other and not other.endswith("*")
    )


def _replacements(
    connection: sqlite3.Connection,
    query: Query,
    correct: bool,
    terms: _Terms,
    library_notes: int,
) -> dict[str, str | None]:
    """What is searched for instead of some of the words: ``x*`` for the beginning of one, None for nothing."""
    replacements: dict[str, str | None] = {}
    rare = bool(query.phrases or query.prefixes or query.identifiers)
    common, known = [], []
    for word in query.words:
        # Not waste-to-energy, of which only a part is common.
        is_one = len(spelling.stems(word)) == 1
        if is_one and word.lower() in STOP_WORDS:
            common.append(word)  # without asking in how many notes it is, which takes long
            continue
        notes = max((term.notes for term in terms(word)), default=0)
        if notes and is_one:
            known.append((notes, word))
        elif notes:
            rare = True
        elif is_one and (other := _near_word(connection, word, correct)):
            replacements[word] = other
            rare = True
    hits = 0
    for notes, word in sorted(known):
        hits += notes
        is_common = library_notes >= COMMON_FROM_NOTES and notes > COMMON_SHARE * library_notes
        if is_common or (rare and hits > HITS_AT_MOST):
            common.append(word)
        else:
            rare = True
    if not rare:
        # Common words are all there is to go by in "to be or not to be".
        common = _most_common(common, terms)
    return replacements | dict.fromkeys(common)


def _most_common(words: Sequence[str], terms: _Terms) -> list[str]:
    """Those of the words that are one too many: in a small library none, in any all but the rarest."""
    by_notes = sorted(
        (max((term.notes for term in terms(word)), default=0), word) for word in words
    )
    hits, too_many = 0, []
    for notes, word in by_notes:
        hits += notes
        if hits > HITS_AT_MOST and word != by_notes[0][1]:
            too_many.append(word)
    return too_many


def _near_word(connection: sqlite3.Connection, word: str, correct: bool) -> str | None:
    """What a word that no note has may stand for: the beginning of a word, or a word that was mistyped."""
    if spelling.completions(connection, word):
        return f"{word}*"
    return spelling.corrected(connection, word) if correct else None


def _is_title(connection: sqlite3.Connection, query: Query) -> bool:
    [found] = connection.execute(
        "select exists (select 1 from notes where title = ? collate nocase)", [query.text]
    ).fetchone()
    return bool(query.text and found)


def _matches(connection: sqlite3.Connection, query: Query) -> bool:
    try:
        [found] = connection.execute(
            "select exists (select 1 from notes_fts where notes_fts match ?)", [query.match]
        ).fetchone()
    except sqlite3.DatabaseError:
        return True  # the statement itself will find out, and knows what to do
    return bool(found)
