"""``Query`` → ``Plan``: how to search these notes for a query.

Which words matter, which are mistyped, how to balance words and meaning, which notes are close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import NamedTuple

from ...index.file import database, metadata, nearest
from ...index.file.notes import has_copies
from ...notes import is_within
from ...query import fts5
from ...query.filters import FILTERS, Filters
from ...query.fts5 import Terms, unique
from ...query.parser import WORDS_OF_SENTENCES
from ...query.query import Query, literal, text_with, without_guess, without_times
from ...sqlite import read_value, sqlite3
from ...text import languages
from ...text.folding import plain
from . import spelling
from .offers import (
    MAX_DOUBTFUL,
    VALUES_SQL,
    Narrower,
    find_alternatives,
    has_any,
    notes_of_its_time,
    nothing_from,
)
from .pasted import Pasted
from .pasted import find as find_pasted

# The minimum share of the notes in a main language. Rare words weigh much in BM25: if the French
# stem of "cancer" is searched for, too, three of 3,395 notes cost NFCorpus .008 nDCG@10.
MAIN_LANGUAGE_SHARE = 0.05

# A word in more than this share of the notes is treated as a stop word. Such words say little in
# any language and make searches slow. Among few notes the share isn't meaningful.
COMMON_SHARE = 0.5
COMMON_FROM_NOTES = 200

# FTS5 reads every note that has any of the words, about five hundred per millisecond. Words are
# added, rarest first, until this many notes have them; the others say least. On test collections, a
# limit of .6 of the notes costs at most .008 nDCG@10, a limit of .3 up to .027.
MAX_HITS = 60_000

# The weight of meaning in the blend, by the shape of the query; the rest is for words. On five test
# collections, .7 is best on average for sentences and for one or two words, with little difference
# from .65 to .8 (benchmarks/quality/fusion.py). Lexical scores range from 0 to 1, dense ones from
# about .6 to 1, so at .5 words decide almost alone.
BALANCES = {
    "literal": 0.5,  # quotation marks, boolean syntax, identifiers: the person knows the wording
    "keywords": 0.7,  # one or two words
    "sentence": 0.7,
}
# The weight of meaning, at most, where the model is weak: in a language that it wasn't made for, or
# if it is a static one, which knows no context. nDCG@10 on XQuAD with 0, .1, .2, .25, .3 and .4,
# all-MiniLM-L6-v2: German .926 .930 .931 .932 .929 .927; Spanish .936 .939 .938 .939 .941 .943;
# Romanian .984 .983 .985 .986 .985 .985; Chinese .927 .925 .926 .926 .932 .931; with .7, Chinese
# .869. A static model (WordLlama) with .25 and .7: Chroma .796 .757, NFCorpus .313 .315, Cranfield
# .429 .433, TIL .921 .931; XQuAD English .973 .974, Spanish .976 .967.
WEAK_BALANCE = 0.25
# No similarity is so high.
NOTHING_IS_CLOSE = 2.0
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

# The maximum of FTS5's BM25 (k1 = 1.2) for a word, as a multiple of its inverse document frequency.
BM25_K1_PLUS_1 = 2.2


# A note with less than this share of the words' weight (their idf) is a weaker match: of two words,
# the rarer one is enough. For three to five words, half would lose .003 nDCG@10 on TIL and .002 on
# NFCorpus and on other TILs by words, against .4.
ENOUGH, ENOUGH_OF_MORE = 0.5, 0.4
# For queries of two to so many words, results name the words that they lack.
MAX_NAMED = 5
# A text that ends so, has more words than that, or a stop word, is a sentence.
QUESTION_MARKS = ("?", "؟", "？")


class ContentWord(NamedTuple):
    """A word, prefix or identifier of the query that isn't a stop word."""

    text: str
    match: str  # FTS5 expression for it in all forms
    weight: float  # inverse document frequency


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
        return self.terms.match and self.in_forms(self.terms.match)

    def in_forms(self, expression: str) -> str:
        """Return an FTS5 expression that also matches its words' other forms."""
        return languages.in_languages(expression, self.languages, self.forms)

    @property
    def enough(self) -> float:
        """The share of the words' weight from which a note matches closely; 0: any word does."""
        is_short = len(self.content) <= MAX_NAMED and not self.terms.phrases
        if not is_short or self.named != self.content:
            return 0.0
        return ENOUGH if len(self.content) < 3 else ENOUGH_OF_MORE

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
    searched, stop_words, language = _languages(connection, query.terms)
    pasted = find_pasted(connection, query, searched, stop_words)
    if pasted and query.clauses:
        query = literal(query)
    terms, is_like = query.terms, query.mode == "like"
    shape = _shape(terms)
    forms = cache(partial(spelling.forms, connection, searched))
    counts = cache(lambda word: spelling.note_counts(connection, forms(word)))
    notes = metadata.count_notes(connection)
    replacements: dict[str, str | None] = {}
    uncertain: dict[str, tuple[str, ...]] = {}
    if not terms.boolean and not is_like:
        # If the word index is broken, the statement itself fails, and retrieve() handles that.
        with suppress(sqlite3.DatabaseError):
            found, uncertain = _replacements(connection, query, correct, counts, notes, stop_words)
            terms, replacements = terms.rewritten(found), found
            known = (spelling.word_completions(connection, prefix) for prefix in terms.prefixes)
            terms = replace(terms, completions=unique(chain.from_iterable(known)))
    has_matches = not is_like and _matches(connection, terms, searched, forms, counts)
    if (terms.boolean or terms.phrases) and not is_like and not has_matches:
        demanded = "matches this combination"
        if not terms.boolean:
            demanded = "contains this exact phrase"
        notices.append(f"No note {demanded}, so the words were searched for separately.")
        terms = terms.relaxed()
        has_matches = _matches(connection, terms, searched, forms, counts)
    normalizer = 0.0
    if has_matches and not terms.boolean:
        with suppress(sqlite3.DatabaseError):
            normalizer = BM25_NORMALIZER * _max_bm25(terms.words, counts, notes)
    others: list[str] = []
    narrower = None
    if not is_like:
        with suppress(sqlite3.DatabaseError):
            narrower = notes_of_its_time(connection, query)
            others, found_notices = find_alternatives(connection, query)
            notices += found_notices
    beginnings: tuple[str, ...] = ()
    if has_matches:
        beginnings = _beginnings(connection, query.unfinished_word, terms, stop_words)
    foreign = metadata.foreign_languages(connection)
    is_foreign = language in foreign
    is_weak = is_foreign or bool(metadata.get_meta(connection, database.STATIC_MODEL))
    # Symbols without a word are searched for as such: models put → near many texts.
    has_closeness = not is_foreign and languages.WORD.search(terms.meaning)
    return Plan(
        query,
        terms,
        text_mode="like" if is_like else "" if correct else "uncorrected",
        beginnings=beginnings,
        languages=searched,
        forms={} if is_like else _known_forms(terms, forms),
        stop_words=stop_words,
        shape=shape,
        balance=_balance(shape, is_weak) if balance is None else balance,
        bm25_normalizer=normalizer,
        has_matches=has_matches,
        threshold=threshold(connection, language) if has_closeness else NOTHING_IS_CLOSE,
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
        content=_content(connection, terms, forms, counts, notes) if has_matches else (),
        pasted=pasted,
    )


# A text → its forms in the index.
_FormsOf = Callable[[str], Sequence[str]]
# A word → how many notes have each of its stems.
_Counts = Callable[[str], dict[str, int]]


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
    return _exists(connection, languages.in_languages(match, present), if_broken=False)


def _shape(terms: Terms) -> str:
    is_short = len(terms.words) + len(terms.prefixes) <= MAX_KEYWORDS
    if terms.boolean or (is_short and (terms.phrases or terms.identifiers)):
        return "literal"
    return "keywords" if is_short else "sentence"


def _balance(shape: str, is_weak: bool) -> float:
    return min(BALANCES[shape], WEAK_BALANCE) if is_weak else BALANCES[shape]


def threshold(connection: sqlite3.Connection, language: str | None) -> float | None:
    """Return the threshold for queries in a language; for others, the highest; or None."""
    stored = metadata.json_value(metadata.get_meta(connection, metadata.THRESHOLDS) or "{}", dict)
    known = {name: metadata.number(str(value)) for name, value in stored.items()}
    return known.get(language or "", max(known.values(), default=None))


def _matches(
    connection: sqlite3.Connection,
    terms: Terms,
    searched: Sequence[str],
    forms: _FormsOf,
    counts: _Counts,
) -> bool:
    if terms.match is None:
        return False
    with suppress(sqlite3.DatabaseError):
        for word in () if terms.boolean or terms.phrases else terms.words:
            if list(map(bool, counts(word).values())) == [True]:  # a compound's parts may be apart
                return True
    match = languages.in_languages(terms.match, searched, _known_forms(terms, forms))
    return _exists(connection, match, if_broken=True)


def _exists(connection: sqlite3.Connection, match: str, *, if_broken: bool) -> bool:
    sql = "select exists (select 1 from notes_fts where notes_fts match ?)"
    try:
        return bool(read_value(connection, sql, [match]))
    except sqlite3.DatabaseError:
        return if_broken  # the statement itself fails, and retrieve() handles that


# --- Words


def _languages(
    connection: sqlite3.Connection, terms: Terms
) -> tuple[tuple[str, ...], frozenset[str], str]:
    """Return the languages to search in, the stop words, and the query's likeliest language.

    The languages are the query's, if that is clear, or else the library's main ones. If no note has
    a word as it is typed, other languages are added in which notes have a form of it.
    """
    present = languages.present(connection)
    shares = metadata.language_shares(connection)
    main = next((language for language in shares if language in languages.STOP_WORDS), "en")
    likely = languages.likely(terms.words, present)
    stop_words = languages.STOP_WORDS[likely or main]
    mains = [language for language in present if shares.get(language, 1) >= MAIN_LANGUAGE_SHARE]
    chosen = [likely] if likely else mains
    others = [language for language in present if language not in chosen and language != "en"]
    with suppress(sqlite3.DatabaseError):  # the statement itself will fail, too
        for word in terms.words if others else ():
            if not _has_notes(connection, (), word):
                chosen += [
                    language
                    for language in others
                    if language not in chosen and _has_notes(connection, [language], word)
                ]
    if languages.is_unspaced(terms.meaning):
        own = languages.likely_unspaced(terms.meaning, shares)
    else:
        own = likely or next((it for it in shares if it not in languages.UNSPACED_LANGUAGES), None)
    return tuple(chosen), stop_words, own or main


def _has_notes(connection: sqlite3.Connection, searched: Sequence[str], word: str) -> bool:
    forms = spelling.forms(connection, searched, word)
    return any(spelling.note_counts(connection, forms).values())


def _known_forms(terms: Terms, forms: _FormsOf) -> dict[str, tuple[str, ...]]:
    texts = unique(languages.strings(terms.match or ""))
    # Scripts without spaces have one form, and the notes have completions as they are.
    others = (it for it in texts if it not in terms.completions and not languages.is_unspaced(it))
    return {text: tuple(forms(text)) for text in others}


def _replacements(
    connection: sqlite3.Connection,
    query: Query,
    correct: bool,
    counts: _Counts,
    all_notes: int,
    stop_words: Set[str],
) -> tuple[dict[str, str | None], dict[str, tuple[str, ...]]]:
    """Return replacements of words, and for uncertain ones, what may be meant.

    A word is replaced by ``word*`` if it is a prefix, and by None if it is to be left out.
    """
    replacements: dict[str, str | None] = {}
    terms = query.terms
    is_long = len(terms.words) > MAX_NAMED or query.text.endswith(QUESTION_MARKS)
    is_sentence = is_long or any(word.lower() in stop_words for word in terms.words)
    has_rare = bool(terms.phrases or terms.prefixes or terms.identifiers)
    common: list[str] = []
    known: list[str] = []
    unknown: list[str] = []
    for word in terms.words:
        if word.lower() in stop_words:
            common.append(word)  # counting its notes would take long
            continue
        notes = max(counts(word).values(), default=0)
        # In a compound such as waste-to-energy, a single part may be common.
        is_one = len(counts(word)) == 1
        if notes and is_one:
            is_common = all_notes >= COMMON_FROM_NOTES and notes > COMMON_SHARE * all_notes
            (common if is_common else known).append(word)
        elif notes:
            has_rare = True
        elif is_one:
            unknown.append(word)
    uncertain: dict[str, tuple[str, ...]] = {}
    for word in unknown:
        # Numbers and words of a sentence count as complete, except for the last word. As prefixes
        # they cost Hindi questions .014 nDCG@10, Russian ones .007, German .004, NFCorpus .001.
        is_whole = is_sentence or word.isdecimal()
        may_go_on = word == query.unfinished_word or not is_whole
        if may_go_on and spelling.word_completions(connection, word):
            replacements[word], has_rare = f"{word}*", True
        elif not correct or len(unknown) > max(len(known), MAX_DOUBTFUL):
            pass
        elif found := spelling.correction(connection, word):
            if found.is_sure:
                replacements[word], has_rare = found.words[0], True
            else:
                uncertain[word] = found.words
    if not known and not has_rare and not unknown:
        # Texts such as "to be or not to be" have only common words, so search for these.
        known, common = common, []
    hits = 0
    for notes, word in sorted((max(counts(word).values(), default=0), word) for word in known):
        hits += notes
        if hits > MAX_HITS and has_rare:
            common.append(word)
        has_rare = True
    return replacements | dict.fromkeys(common), uncertain


def _beginnings(
    connection: sqlite3.Connection, word: str, terms: Terms, stop_words: Set[str]
) -> tuple[str, ...]:
    """Return the notes' words that begin with a word if it is the only one, except its own forms.

    If the query has other words, the notes can be found by those.
    """
    if terms.substrings != (word,) or word.lower() in stop_words or languages.is_unspaced(word):
        return ()
    words = spelling.word_completions(connection, word)
    own = spelling.stems(word)
    return tuple(word for word in words if spelling.stems(word) != own)


def _content(
    connection: sqlite3.Connection,
    terms: Terms,
    forms: _FormsOf,
    counts: _Counts,
    notes: int,
) -> tuple[ContentWord, ...]:
    """Return the words, prefixes and identifiers that are searched for, with their weights."""
    if terms.boolean or languages.is_unspaced(terms.meaning):
        return ()
    found: list[ContentWord] = []
    with suppress(sqlite3.DatabaseError):
        for name in terms.identifiers:
            match = languages.in_languages(fts5.quoted(name), (), {name: tuple(forms(name))})
            has_it = _exists(connection, match, if_broken=False)
            having = min(counts(name).values(), default=0) if has_it else 0
            found.append(ContentWord(name, match, _idf(having, notes)))
        # Not why and who, which aren't stop words.
        words = [word for word in terms.words if word not in WORDS_OF_SENTENCES] or terms.words
        for word in words:
            tokens = fts5.words(word)
            parts = [part for part in tokens if len(part) > 1 or not part.isascii()] or tokens
            known = {part: tuple(forms(part)) for part in parts}
            match = languages.in_languages(" AND ".join(map(fts5.quoted, parts)), (), known)
            if parts:
                having = min(chain.from_iterable(counts(part).values() for part in parts))
                found.append(ContentWord(word, f"({match})", _idf(having, notes)))
        for prefix in terms.prefixes:
            own = [it for it in terms.completions if plain(it).startswith(plain(prefix))]
            starting = " OR ".join([fts5.starting_with(prefix), *map(fts5.quoted, own)])
            having = max((n for it in own for n in counts(it).values()), default=0)
            found.append(ContentWord(prefix, f"({starting})", _idf(having, notes)))
    return tuple(found)


# --- Scores


def _idf(having: int, notes: int) -> float:
    # During indexing, more notes may have a word than existed when the notes were counted.
    return max(math.log((max(notes - having, 0) + 0.5) / (having + 0.5)), 1e-6)


def _max_bm25(words: Sequence[str], counts: _Counts, notes: int) -> float:
    """Return the limit of the BM25 of a note that has every word more and more often."""
    highest = 0.0
    for word in words:
        parts = sorted(counts(word).values())
        # A compound is searched for as a phrase, so its rarest part is the best estimate.
        for having in parts if languages.is_unspaced(word) else parts[:1] or [0]:
            highest += BM25_K1_PLUS_1 * _idf(having, notes)
    return highest
