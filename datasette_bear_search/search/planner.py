"""``Query`` → ``Plan``: what a query means among these notes.

Which words matter, which are mistyped, how words and meaning are balanced, which notes are ranked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial

from ..index import database
from ..index.rows import has_copies
from ..query import fts5
from ..query.query import Query, completed, literal, relaxed, rewritten
from ..sqlite import sqlite3
from . import spelling

# Closed-class words of English, which say nothing about what a note is about. To search without
# them gains .007 nDCG@10 on average and half of the time. They stay where there is nothing else.
STOP_WORDS = frozenset(
    "a about all also am an and any are as at be been being but by can could did do does for from "
    "had has have he her him his how i if in into is it its just me more most my no not of on or "
    "our out over s she should so some such t than that the their them then there these they this "
    "to under up us very was we were what when where which who will with would you your".split()
)

# A word in more than this share of the notes is left out, too: in other languages it does what stop
# words do in English, and it is what makes a search slow. Among few notes the share means little.
COMMON_SHARE = 0.5
COMMON_FROM_NOTES = 200

# FTS5 reads every note that has one of the words, about five hundred a millisecond. The rarest
# words are searched for until so many notes have them; what is left out says least. On test
# collections six tenths of the notes cost at most .008 nDCG@10, three tenths up to .027.
MAX_HITS = 60_000

# The share of meaning in the blend, by the shape of the query; the rest is words. On five test
# collections .7 is best on average for sentences and for one or two words, with little between .65
# and .8 (benchmarks/quality/fusion.py). A word's share runs from 0 to 1, a cosine's from about .6
# to 1: at .5 words decide nearly alone.
BALANCES = {
    "literal": 0.5,  # quotation marks, boolean syntax, identifiers: somebody knows what is written
    "keywords": 0.7,  # one or two words
    "sentence": 0.7,
}
# A sentence in which an identifier is named is a sentence all the same.
MAX_KEYWORDS = 2

# The most that FTS5's BM25 (k1 = 1.2) gives for a word, as a multiple of its inverse document
# frequency.
BM25_K1_PLUS_1 = 2.2

# Candidate pruning: FTS5 tells in a few milliseconds which of 100,000 notes have a word, and needs
# ten times as long for their BM25. With more hits than this (each word's notes added up), only
# notes that have a rare word or several of the others are ranked: a note with one common word isn't
# among the first hundred where hundreds have more. On 100,000 notes and seven kinds of queries it
# saves 17 % of a search's time at the median, 40 % at the 95th percentile.
PRUNE_FROM = 10_000
# Words are rare as long as so many notes have them together.
RARE_HITS = 3000
# How many words a note must have: as few as leave at most the second number, or else the first.
MIN_PRUNED, MAX_PRUNED = 500, 6000
# The FTS5 expression grows with the number of words. The most common ones say least.
MAX_COMMON_WORDS = 6

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: FTS5 takes what is between two marks for one word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class Plan:
    """A query as it is run."""

    query: Query
    shape: str  # one of BALANCES
    balance: float  # 0 is words alone, 1 is meaning alone
    # BM25 of a note that has all of the words, again and again; 0 if that isn't known.
    max_bm25: float = 0.0
    # FTS5 expression for the notes that are ranked by their words; None: all that have one.
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
    """Fit a query to the notes.

    :param balance: the share of meaning; None decides by the query
    :param correct: whether words that no note has may be taken for mistyped ones
    """
    if _is_title(connection, query):
        # A title is searched for as it stands, whatever looks like syntax in it.
        query = literal(query)
    shape = _shape(query)
    counts = cache(partial(spelling.note_counts, connection))
    notes = database.count_notes(connection)
    replacements: dict[str, str | None] = {}
    notices: list[str] = []
    if not query.is_boolean and query.mode != "like":
        # If the word index is broken, the statement will find out, and knows what to do.
        with suppress(sqlite3.DatabaseError):
            found = _replacements(connection, query, correct, counts, notes)
            query, replacements = _fitted(connection, query, found), found
    demands = query.is_boolean or query.phrases
    if demands and query.mode != "like" and not _matches(connection, query):
        demanded = "fits what AND, OR and NOT ask for"
        if not query.is_boolean:
            demanded = "contains this exact phrase"
        notices.append(f"No note {demanded}, so the words were searched for separately.")
        query = relaxed(query)
    if has_copies(connection):
        query = replace(query, filters=replace(query.filters, deduplicated=True))
    max_bm25, pruned_match = 0.0, None
    with suppress(sqlite3.DatabaseError):
        max_bm25 = 0.0 if query.is_boolean else _max_bm25(query, counts, notes)
        pruned_match = _pruned_match(connection, query, counts, notes)
    threshold = database.get_meta(connection, "floor")
    return Plan(
        query,
        anywhere=tuple(word for word in query.words if _UNSPACED.search(word)),
        shape=shape,
        balance=BALANCES[shape] if balance is None else balance,
        max_bm25=max_bm25,
        pruned_match=pruned_match,
        threshold=float(threshold) if threshold else None,
        corrections=tuple(
            (word, other)
            for word, other in replacements.items()
            if other and not other.endswith("*")
        ),
        notices=tuple(notices),
    )


# How many notes have each stem of a word.
_Counts = Callable[[str], dict[str, int]]


def _is_title(connection: sqlite3.Connection, query: Query) -> bool:
    [found] = connection.execute(
        "select exists (select 1 from notes where title = ? collate nocase)", [query.text]
    ).fetchone()
    return bool(query.text and found)


def _shape(query: Query) -> str:
    is_short = len(query.words) + len(query.prefixes) <= MAX_KEYWORDS
    if query.is_boolean or query.phrases or (query.identifiers and is_short):
        return "literal"
    return "keywords" if is_short else "sentence"


def _matches(connection: sqlite3.Connection, query: Query) -> bool:
    try:
        [found] = connection.execute(
            "select exists (select 1 from notes_fts where notes_fts match ?)", [query.match]
        ).fetchone()
    except sqlite3.DatabaseError:
        return True  # the statement itself will find out, and knows what to do
    return bool(found)


# --- Words


def _fitted(
    connection: sqlite3.Connection, query: Query, replacements: dict[str, str | None]
) -> Query:
    if replacements:
        query = rewritten(query, replacements)
    if query.prefixes:
        words = (spelling.completions(connection, prefix) for prefix in query.prefixes)
        query = completed(query, (word for found in words for word in found))
    return query


def _replacements(
    connection: sqlite3.Connection, query: Query, correct: bool, counts: _Counts, all_notes: int
) -> dict[str, str | None]:
    """Return what replaces some words: ``x*`` for a beginning, None for nothing."""
    replacements: dict[str, str | None] = {}
    has_rare = bool(query.phrases or query.prefixes or query.identifiers)
    common: list[str] = []
    known: list[str] = []
    for word in query.words:
        if word.lower() in STOP_WORDS:
            common.append(word)  # to count its notes takes long
            continue
        notes = max(counts(word).values(), default=0)
        # Of waste-to-energy, only a part may be common.
        is_one = len(counts(word)) == 1
        if notes and is_one:
            is_common = all_notes >= COMMON_FROM_NOTES and notes > COMMON_SHARE * all_notes
            (common if is_common else known).append(word)
        elif notes:
            has_rare = True
        elif is_one and (other := _near_word(connection, word, correct)):
            replacements[word] = other
            has_rare = True
    if not known and not has_rare:
        # Common words are all there is to go by in "to be or not to be".
        known, common = common, []
    hits = 0
    for notes, word in sorted((max(counts(word).values(), default=0), word) for word in known):
        hits += notes
        if hits > MAX_HITS and has_rare:
            common.append(word)
        has_rare = True
    return replacements | dict.fromkeys(common)


def _near_word(connection: sqlite3.Connection, word: str, correct: bool) -> str | None:
    # A word that no note has may be the beginning of one, or mistyped.
    if spelling.completions(connection, word):
        return f"{word}*"
    return spelling.corrected(connection, word) if correct else None


# --- Scores


def _max_bm25(query: Query, counts: _Counts, notes: int) -> float:
    """Return the BM25 of a note that has every word so often that once more makes no difference."""
    highest = 0.0
    for word in query.words:
        if not _UNSPACED.search(word):
            # Of a compound, which is searched for as a phrase, the rarest part comes nearest. While
            # notes are indexed, more may have it by now than there were when they were counted.
            having = min(counts(word).values(), default=0)
            idf = math.log((max(notes - having, 0) + 0.5) / (having + 0.5))
            highest += BM25_K1_PLUS_1 * max(idf, 1e-6)
    return highest


# --- Candidate pruning


def _pruned_match(
    connection: sqlite3.Connection, query: Query, counts: _Counts, notes: int
) -> str | None:
    """Return the FTS5 expression for the notes that are worth ranking; None for all.

    Only for queries that are nothing but words: filters leave few notes to rank, anyway.
    """
    others = query.phrases or query.identifiers or query.prefixes or query.filters
    if query.is_boolean or others or any(map(_UNSPACED.search, query.words)):
        return None
    hits: dict[str, int] = {}  # by words that differ in their stems
    for stem, word in {tuple(counts(word)): word for word in query.words}.items():
        if len(stem) != 1:
            return None
        hits[fts5.quoted(word)] = counts(word)[stem[0]]
    if sum(hits.values()) <= PRUNE_FROM:
        return None
    if min(hits.values()) * 2 >= notes:
        # BM25 gives no weight to a word in half of the notes, but in a title it may mean something.
        matches = [f"{{title}} : ({fts5.any_of(hits)})"]
    else:
        rare: list[str] = []
        common = sorted(hits, key=lambda word: hits[word])
        while common and sum(hits[word] for word in [*rare, common[0]]) <= RARE_HITS:
            rare.append(common.pop(0))
        common = common[:MAX_COMMON_WORDS]
        counts_of_words = range(2, len(common) + 1)
        matches = [fts5.any_of([*rare, _with_at_least(n, common)]) or "" for n in counts_of_words]
    pruned = None
    for match in matches:
        sql = "select count(*) from (select 1 from notes_fts where notes_fts match ? limit ?)"
        [found] = connection.execute(sql, [match, MAX_PRUNED + 1]).fetchone()
        if found >= MIN_PRUNED:
            pruned = match
        if found <= MAX_PRUNED:
            break
    return pruned


def _with_at_least(count: int, words: Sequence[str]) -> str:
    """Return the FTS5 expression for notes that have so many of the words."""
    if count == 1:
        return f"({fts5.any_of(words)})"
    if count == len(words):
        return f"({' AND '.join(words)})"
    first, *others = words
    with_first = f"({first} AND {_with_at_least(count - 1, others)})"
    return f"({with_first} OR {_with_at_least(count, others)})"
