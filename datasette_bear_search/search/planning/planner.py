"""``Query`` → ``Plan``: how to search these notes for a query.

How to balance words and meaning, which notes have enough of the words, and which are close.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from ...index.file import database, metadata, nearest
from ...index.file.notes import has_copies
from ...notes import is_within
from ...query import fts5
from ...query.filters import FILTERS, Filters
from ...query.fts5 import Terms, unique
from ...query.query import Query, literal, text_with, without_guess, without_times
from ...sqlite import read_value, sqlite3
from ...text import languages
from . import spelling
from .offers import (
    VALUES_SQL,
    Narrower,
    find_alternatives,
    has_any,
    notes_of_its_time,
    nothing_from,
)
from .pasted import Pasted
from .pasted import find as find_pasted
from .word_forms import exists
from .words import MAX_NAMED, ContentWord, QueryWords

# The weight of meaning in the blend, by the shape of the query; the rest is for words. On five test
# collections, .7 is best on average for sentences and for one or two words, with little difference
# from .65 to .8 (benchmarks/quality/fusion.py). Lexical scores range from 0 to 1, dense ones from
# about .6 to 1, so at .5 words decide almost alone.
BALANCES = {
    "literal": 0.5,  # quotation marks, boolean syntax, identifiers: the person knows the wording
    "keywords": 0.7,  # one or two words
    "sentence": 0.7,
}
# The weight of meaning, at most, for texts of more than MAX_NAMED words where the model is weak: in
# a language that it wasn't made for, or if it is a static one, which knows no context. nDCG@10 on
# XQuAD with 0, .1, .2, .25, .3 and .4, all-MiniLM-L6-v2: German .926 .930 .931 .932 .929 .927;
# Spanish .936 .939 .938 .939 .941 .943; Romanian .984 .983 .985 .986 .985 .985. A static model
# (WordLlama) with .25 and .7: Chroma .794 .750, Cranfield .402 .402, XQuAD Chinese .972 .963.
# Shorter ones have the usual balance, since they have fewer words to tell notes apart. With .25 and
# .7, 1,868 headings in 14 languages, to find their sections (MiniLM): .524 .542; WordLlama: TIL
# .938 .950, NFCorpus .319 .331, XQuAD English .895 .945.
WEAK_BALANCE = 0.25
# No similarity is so high.
NOTHING_IS_CLOSE = 2.0
# The threshold until the first vectors of an index are complete, and measured, and in a language
# without nonsense to measure it with: the highest of five collections, which have .26 to .39.
# Above .33 were three notes for "zxqvwk", with a quarter of a library's vectors.
UNMEASURED_THRESHOLD = 0.39
# Characters of a text that is offered in place of the typed one. Nobody compares longer ones.
LONGEST_OFFER = 200
# A query of more words is a sentence, even with an identifier or a phrase (+.001 on Chroma).
MAX_KEYWORDS = 2

# The best of poor matches isn't a good match, so BM25 is divided by at least this share of the
# maximum for all words. Otherwise, a note with one word of a question could rank first.
BM25_NORMALIZER = 0.7

# For a question, a note that isn't close in meaning is found only if its BM25 is at least this
# share of the normalizer. Of the relevant notes in the first ten results, this loses one of 353 on
# Chroma and none on four collections. Of ten results for a question from another field, 2 to 6 are
# then found, and 8 to 10 without it (benchmarks/quality/threshold.py).
MIN_BM25_SHARE = 0.15

# A note with less than this share of the words' weight (their idf) is a weaker match.
ENOUGH = 0.5
# And so is one that lacks any of the words if its BM25 is less than this share of the normalizer:
# of two words, the rarer one isn't enough in passing. nDCG@10 by words with 0, .3, .4, .5 and .6:
# TIL .9199 .9209 .9234 .9240 .9236, NFCorpus .2990 .2992 .3005 .3026 .3039; with .6, 74 instead of
# 57 of NFCorpus's 198 short queries find nothing closely (45 with 0).
ENOUGH_BM25_SHARE = 0.5


@dataclass(frozen=True)
class Plan:
    query: Query  # what was typed
    terms: Terms  # what to search for
    shape: str  # one of BALANCES
    balance: float  # 0: words only, 1: meaning only
    # BM25 is divided by the best one, but by at least this; 0 if unknown.
    bm25_normalizer: float = 0.0
    has_matches: bool = True  # whether the word index has a note with any of the words
    beginnings: tuple[str, ...] = ()  # words of the notes that begin with the last word
    languages: tuple[str, ...] = ()  # languages whose word forms are searched for
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the terms' words
    stop_words: frozenset[str] = frozenset()
    threshold: float | None = None  # similarity from which a passage is close in meaning
    is_foreign: bool = False  # whether the model wasn't made for the query's language
    foreign: frozenset[str] = frozenset()  # languages whose notes no query finds by meaning alone
    text_mode: str = ""  # how to read the text: "like" (as written), "uncorrected" or "" (normal)
    has_copies: bool = False  # whether some notes are copies of others
    is_large: bool = False  # whether there are more passages than vec0 searches quickly
    corrections: tuple[tuple[str, str], ...] = ()  # typed word, word that is searched for
    # Typed words, and the words that may be meant.
    uncertain_corrections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    other_texts: tuple[str, ...] = ()  # other texts that may be meant
    narrower: Narrower | None = None
    notices: tuple[str, ...] = ()
    content: tuple[ContentWord, ...] = ()  # the words that tell what is asked about
    pasted: Pasted | None = None  # the notes that the text was pasted from

    @cached_property
    def match(self) -> str | None:
        """The FTS5 expression for the terms, in all their forms."""
        return self.terms.match and self.in_forms(self.terms.match, once=True)

    def in_forms(self, expression: str, *, once: bool = False) -> str:
        """Return an FTS5 expression that also matches its words' other forms."""
        return languages.in_languages(expression, self.languages, self.forms, once=once)

    @property
    def enough(self) -> float:
        """The share of the words' weight from which a note matches closely; 0: any word does."""
        is_short = 0 < len(self.content) <= MAX_NAMED and not self.terms.phrases
        return ENOUGH if is_short and self.named == self.content else 0.0

    @property
    def named(self) -> tuple[ContentWord, ...]:
        """The words that results name if they lack them: all of a short query, or identifiers."""
        if self.terms.phrases or 2 <= len(self.content) <= MAX_NAMED:
            return self.content
        return tuple(word for word in self.content if word.text in self.terms.identifiers)

    @cached_property
    def text_filters(self) -> Filters:
        """What the text requires of every result."""
        return self.query.filters_with(self.terms)

    @property
    def filters(self) -> Filters:
        return self.query.filters_beside & self.text_filters

    @property
    def offers(self) -> tuple[str, ...]:
        """Other texts that may be meant: with the likeliest corrections, then the next ones."""
        if len(self.query.text) > LONGEST_OFFER:
            return ()
        texts = [*self.other_texts]
        uncertain = self.uncertain_corrections
        for place in range(max((len(words) for _, words in uncertain), default=0)):
            meant = {typed: words[min(place, len(words) - 1)] for typed, words in uncertain}
            texts.append(text_with(self.query.text, dict(self.corrections) | meant))
        return unique(texts)

    @property
    def hints(self) -> tuple[str, ...]:
        """Lines for people where the results have no links to offers and no chips of filters."""
        offers = " or ".join(f"“{text}”" for text in self.offers)
        hints = [f"Did you mean {offers}?"] if offers else []
        if self.narrower:
            label, text = self.narrower
            hints.append(f"For only notes from {label}, search for “{text}”.")
        elif self.query.is_of_time and self.query.time:
            hints.append(
                f"Only notes created or modified at that time: {self.query.time.label}. "
                "In quotation marks it is searched for as words."
            )
        return tuple(hints)

    @property
    def revealed_words(self) -> tuple[str, ...]:
        """Words of the notes that a response shows although the person didn't type them."""
        return (
            *(word for _, word in self.corrections),
            *(word for _, words in self.uncertain_corrections for word in words),
        )

    def is_title(self, title: str) -> bool:
        """Return whether a note's title is the text, or the text without its filters."""
        return title.casefold() in (self.query.text.casefold(), self.terms.meaning.casefold())

    @property
    def is_exact(self) -> bool:
        """Whether only notes with the words are wanted, not those merely close in meaning."""
        terms = self.terms
        names = terms.identifiers and not terms.words and not terms.prefixes
        return self.has_matches and bool(terms.boolean or terms.phrases or names)

    @property
    def least_bm25(self) -> float:
        """The BM25 from which a note is found by its words."""
        is_question = self.shape == "sentence" and not self.is_exact
        return MIN_BM25_SHARE * self.bm25_normalizer if is_question else 0.0

    @property
    def enough_bm25(self) -> float:
        """The BM25 from which a note that lacks some of the words is found."""
        has_exact = self.pasted or self.terms.identifiers
        return 0.0 if has_exact else ENOUGH_BM25_SHARE * self.bm25_normalizer

    @property
    def closeness(self) -> float:
        """The similarity from which a passage is found by its meaning; above 1: none is."""
        return NOTHING_IS_CLOSE if self.is_exact else self.threshold or 0.0


def plan(
    connection: sqlite3.Connection,
    query: Query,
    *,
    balance: float | None = None,
    correct: bool = True,
) -> Plan:
    """Plan a search of these notes for a query.

    :param balance: the weight of meaning; None: by the shape of the query
    :param correct: whether to correct words that no note has
    """
    query, notices = _with_guess(connection, query)
    query = _with_tag_prefix(connection, query)
    if _is_title(connection, query):
        # Search for a title literally, even if it contains something like syntax.
        query = literal(query)
    words = QueryWords(connection, query.terms)
    pasted = find_pasted(connection, query, words.languages, words.stop_words)
    if pasted and query.clauses:
        query = literal(query)
    terms, is_like = query.terms, query.mode == "like"
    shape = _shape(terms)
    replacements: dict[str, str | None] = {}
    uncertain: dict[str, tuple[str, ...]] = {}
    if not terms.boolean and not is_like:
        # If the word index is broken, the statement itself fails, and retrieve() handles that.
        with suppress(sqlite3.DatabaseError):
            found, uncertain = words.replacements(query, correct)
            terms, replacements = terms.rewritten(found), found
            known = (spelling.word_completions(connection, prefix) for prefix in terms.prefixes)
            terms = replace(terms, completions=unique(chain.from_iterable(known)))
    has_matches = not is_like and words.matches(terms)
    if (terms.boolean or terms.phrases) and not is_like and not has_matches:
        notices.append(
            "No note matches this combination, so the words were searched for separately."
            if terms.boolean
            else "No note contains this exact phrase, so it was searched for without quotes."
        )
        terms = terms.relaxed()
        has_matches = words.matches(terms)
    normalizer = 0.0
    if has_matches and not terms.boolean:
        with suppress(sqlite3.DatabaseError):
            normalizer = BM25_NORMALIZER * words.max_bm25(terms.words)
    others: list[str] = []
    narrower = None
    if not is_like:
        with suppress(sqlite3.DatabaseError):
            narrower = notes_of_its_time(connection, query)
            others, found_notices = find_alternatives(connection, query, words.is_known)
            notices += found_notices
    foreign = metadata.foreign_languages(connection)
    is_foreign = words.language in foreign
    is_weak = is_foreign or bool(metadata.get_meta(connection, database.STATIC_MODEL))
    # Symbols without a word are searched for as such: models put → near many texts.
    has_closeness = not is_foreign and languages.WORD.search(terms.meaning)
    return Plan(
        query,
        terms,
        text_mode="like" if is_like else "" if correct else "uncorrected",
        beginnings=words.beginnings(query.unfinished_word, terms) if has_matches else (),
        languages=words.languages,
        forms={} if is_like else words.known_forms(terms),
        stop_words=words.stop_words,
        shape=shape,
        balance=_balance(shape, query.terms, is_weak) if balance is None else balance,
        bm25_normalizer=normalizer,
        has_matches=has_matches,
        threshold=threshold(connection, words.language) if has_closeness else NOTHING_IS_CLOSE,
        is_foreign=is_foreign,
        # Nothing is close to a query in one of them anyway.
        foreign=frozenset() if is_foreign else foreign,
        has_copies=has_copies(connection),
        is_large=nearest.is_large(connection),
        corrections=tuple(
            (word, meant) for word, meant in replacements.items() if meant and meant[-1] != "*"
        ),
        uncertain_corrections=tuple(uncertain.items()),
        other_texts=tuple(others),
        narrower=narrower,
        notices=tuple(notices),
        content=words.content(terms) if has_matches else (),
        pasted=pasted,
    )


def _with_tag_prefix(connection: sqlite3.Connection, query: Query) -> Query:
    """Make an unknown tag at the end of the text, which may be incomplete, a prefix of tags."""
    *others, last = query.clauses or (None,)
    if not last or last.kind != "tag" or query.ends_in_space:
        return query
    tag = FILTERS["tag"].normalized(last.value)
    known = [folded for (folded,) in connection.execute(VALUES_SQL["tag"])]
    has_end = any(is_within(each, tag) for each in known) or not query.text.endswith(last.value)
    if has_end or not tag or not any(is_within(each, f"{tag}*") for each in known):
        return query
    typed = query.typed_filters.values
    tags = tuple(f"{tag}*" if each == last.value else each for each in typed["tag"])
    return replace(
        query,
        typed_filters=replace(query.typed_filters, values={**typed, "tag": tags}),
        clauses=(*others, last._replace(label=f"{last.label}*")),
    )


def _is_title(connection: sqlite3.Connection, query: Query) -> bool:
    sql = "select exists (select 1 from notes where title = ? collate nocase)"
    return bool(query.text and read_value(connection, sql, [query.text]))


def _with_guess(connection: sqlite3.Connection, query: Query) -> tuple[Query, list[str]]:
    """Return the query without the time that it asks for if that is a title's or no note's."""
    if not query.is_of_time or not query.time:
        return query, []
    # A note may be called "Last summer". But many titles have a year or a month, so a single word
    # names a note only together with its preposition.
    name = query.time.name
    if " " not in name:
        name = query.text[query.time.start : query.time.end]
    if _is_in_title(connection, name):
        return without_times(query), []
    with suppress(sqlite3.DatabaseError):
        if not has_any(connection, query.filters):
            return without_guess(query), [nothing_from(query.time)]
    return query, []


def _is_in_title(connection: sqlite3.Connection, words: str) -> bool:
    match = f"title : {fts5.quoted(words)}"
    present = languages.present(connection)
    return exists(connection, languages.in_languages(match, present), if_broken=False)


def _shape(terms: Terms) -> str:
    is_short = len(terms.words) + len(terms.prefixes) <= MAX_KEYWORDS
    if terms.boolean or (is_short and (terms.phrases or terms.identifiers)):
        return "literal"
    return "keywords" if is_short else "sentence"


def _balance(shape: str, terms: Terms, is_weak: bool) -> float:
    # In scripts without spaces, a character says about as much as a word.
    count = sum(len(it) if languages.is_unspaced(it) else 1 for it in terms.words)
    is_long = count > MAX_NAMED
    return min(BALANCES[shape], WEAK_BALANCE) if is_weak and is_long else BALANCES[shape]


def threshold(connection: sqlite3.Connection, language: str | None) -> float:
    """Return the threshold for queries in a language; for those in a minor one, the highest."""
    stored = metadata.json_value(metadata.get_meta(connection, metadata.THRESHOLDS) or "{}", dict)
    known = {name: metadata.number(str(value)) for name, value in stored.items()}
    share = metadata.language_shares(connection).get(language or "", 0.0)
    measured = known.values() if share < metadata.MAIN_LANGUAGE_SHARE else ()
    return known.get(language or "", max(measured, default=UNMEASURED_THRESHOLD))
