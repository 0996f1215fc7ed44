"""A query's words → which of them to search for in these notes, in which forms, how telling.

Which are stop words, prefixes or mistyped, how many notes have them, and how much they weigh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from typing import NamedTuple

from ...index.file import metadata
from ...query import fts5
from ...query.fts5 import Terms, unique
from ...query.parser import WORDS_OF_SENTENCES
from ...query.query import Query
from ...sqlite import sqlite3
from ...text import languages
from ...text.folding import normalized, plain
from . import dictionary, spelling, word_forms
from .offers import MAX_DOUBTFUL, contains
from .word_forms import exists

# A word in more than this share of the notes is treated as a stop word. Such words say little in
# any language and make searches slow. Among few notes the share isn't meaningful.
COMMON_SHARE = 0.5
COMMON_FROM_NOTES = 200

# FTS5 reads every note that has any of the words, about five hundred per millisecond. Words are
# added, rarest first, until this many notes have them; the others say least. On test collections, a
# limit of .6 of the notes costs at most .008 nDCG@10, a limit of .3 up to .027.
MAX_HITS = 60_000

# The maximum of FTS5's BM25 (k1 = 1.2) for a word, as a multiple of its inverse document frequency.
BM25_K1_PLUS_1 = 2.2

# For queries of two to so many words, results name the words that they lack.
MAX_NAMED = 5
# A text that ends so, has more words than that, or a stop word, is a sentence.
QUESTION_MARKS = ("?", "؟", "？")


class ContentWord(NamedTuple):
    """A word, prefix or identifier of the query that isn't a stop word."""

    text: str
    match: str  # FTS5 expression for it in all forms
    weight: float  # inverse document frequency
    verbatim: str = ""  # what its notes contain: C++, which is c to FTS5


class QueryWords:
    """The words of a query in these notes.

    :param terms: of the query; without its words, the library's languages are searched in
    """

    def __init__(self, connection: sqlite3.Connection, terms: Terms) -> None:
        self._connection = connection
        self._as_written = cache(partial(word_forms.as_written, connection))
        found = _languages(connection, terms, self._as_written)
        self.languages, self.stop_words, self.language = found
        self._forms = cache(self._find_forms)
        self._note_counts = cache(partial(word_forms.note_counts, connection))
        self._notes = metadata.count_notes(connection)

    def _find_forms(self, word: str) -> list[str]:
        """Return a word's forms in these notes; of a word that they don't have, likely ones."""
        found = word_forms.forms(self._connection, self.languages, self._as_written(word))
        inflected = [it for it in self.languages if it not in languages.UNINFLECTED]
        if inflected and " " not in word:
            with suppress(sqlite3.DatabaseError):  # the statement itself will fail, too
                if not any(self._note_counts(tuple(found)).values()):
                    self._add_likely(found, normalized(word).lower(), inflected)
        return found

    def _add_likely(self, found: list[str], word: str, inflected: Sequence[str]) -> None:
        """Add the forms that an unknown word may have in these languages."""
        if dictionary.has_word(word):
            # Stemmers know the endings of real words, and "banking" isn't in Icelandic.
            others = [it for it in inflected if it not in languages.SNOWBALL]
            inflected = [] if word.isascii() else others
        likely = spelling.same_root(self._connection, word) if inflected else []
        for language in inflected:
            word_forms.add_forms(self._connection, found, likely, language)

    def _counts(self, word: str) -> dict[str, int]:
        """Return how many notes have each of a word's stems."""
        return self._note_counts(tuple(self._forms(word)))

    def _most_notes(self, word: str) -> int:
        return max(self._counts(word).values(), default=0)

    def is_known(self, word: str) -> bool:
        """Return whether notes have a word; it isn't asked about stop words, which takes long."""
        return word.lower() in self.stop_words or self._most_notes(word) > 0

    def matches(self, terms: Terms) -> bool:
        """Return whether the word index has a note with any of the terms."""
        if terms.match is None:
            return False
        match = languages.in_languages(terms.match, self.languages, self.known_forms(terms))
        return exists(self._connection, match, if_broken=True)

    def known_forms(self, terms: Terms) -> dict[str, tuple[str, ...]]:
        """Return the forms in the index of each string of the terms' FTS5 expression."""
        texts = unique(languages.strings(terms.match or ""))
        # Scripts without spaces have one form, and the notes have completions as they are.
        return {
            text: tuple(self._forms(text))
            for text in texts
            if text not in terms.completions and not languages.is_unspaced(text)
        }

    def replacements(
        self, query: Query, correct: bool
    ) -> tuple[dict[str, str | None], dict[str, tuple[str, ...]]]:
        """Return replacements of words, and for uncertain ones, what may be meant.

        A word is replaced by ``word*`` if it is a prefix, and by None if it is to be left out.
        """
        replacements: dict[str, str | None] = {}
        uncertain: dict[str, tuple[str, ...]] = {}
        terms = query.terms
        is_long = len(terms.words) > MAX_NAMED or query.text.endswith(QUESTION_MARKS)
        is_sentence = is_long or any(word.lower() in self.stop_words for word in terms.words)
        has_rare = bool(terms.phrases or terms.prefixes or terms.identifiers)
        common: list[str] = []
        known: list[str] = []
        unknown: list[str] = []
        counted = (word for word in terms.words if word.lower() not in self.stop_words)
        lower = {word: normalized(word).lower() for word in counted}
        written = word_forms.written(self._connection, lower.values()) if correct else ()
        for word in terms.words:
            if word not in lower:
                common.append(word)  # counting its notes would take long
                continue
            notes = self._most_notes(word)
            # In a compound such as waste-to-energy, a single part may be common.
            is_one = len(self._counts(word)) == 1
            if notes and is_one:
                is_common = self._notes >= COMMON_FROM_NOTES and notes > COMMON_SHARE * self._notes
                # Of a few keywords, each matters, at least beside the others: "email marketing".
                (common if is_common and is_sentence else known).append(word)
                if correct and lower[word] not in written:
                    found = spelling.correction(self._connection, word, has_notes=True)
                    if found and found.words[0].lower() not in self._forms(word):
                        uncertain[word] = found.words
            elif notes:
                has_rare = True
            elif is_one:
                unknown.append(word)
        # The query may be in a language that the notes aren't in.
        is_foreign = len(unknown) > max(len(known), MAX_DOUBTFUL)
        if unknown and (own := languages.likely(query.text.split(), languages.STOP_WORDS)):
            common += [word for word in unknown if word.lower() in languages.STOP_WORDS[own]]
            unknown = [word for word in unknown if word not in common]
        for word in unknown:
            # Numbers and words of a sentence count as complete, except for the last word. As
            # prefixes they cost Hindi questions .014 nDCG@10, Russian ones .007, German .004,
            # NFCorpus .001.
            is_whole = is_sentence or word.isdecimal()
            may_go_on = word == query.unfinished_word or not is_whole
            if may_go_on and spelling.word_completions(self._connection, word):
                replacements[word], has_rare = f"{word}*", True
            elif not correct or is_foreign:
                pass
            elif found := spelling.correction(self._connection, word):
                if found.is_sure:
                    replacements[word], has_rare = found.words[0], True
                else:
                    uncertain[word] = found.words
        if not known and not has_rare and not unknown:
            # Texts such as "to be or not to be" have only common words, so search for these.
            known, common = common, []
        hits = 0
        for notes, word in sorted((self._most_notes(word), word) for word in known):
            hits += notes
            if hits > MAX_HITS and has_rare:
                common.append(word)
            has_rare = True
        return replacements | dict.fromkeys(common), uncertain

    def beginnings(self, word: str, terms: Terms) -> tuple[str, ...]:
        """Return the notes' words that begin with a word, but not its own forms.

        There are none if the query has other words, by which the notes can be found.
        """
        if terms.substrings != (word,) or word.lower() in self.stop_words:
            return ()
        if languages.is_unspaced(word):
            return ()
        words = spelling.word_completions(self._connection, word)
        own = word_forms.stems(word)
        return tuple(word for word in words if word_forms.stems(word) != own)

    def content(self, terms: Terms) -> tuple[ContentWord, ...]:
        """Return the words, prefixes and identifiers that are searched for, with their weights."""
        if terms.boolean or languages.is_unspaced(terms.meaning):
            return ()
        found: list[ContentWord] = []

        def add(text: str, match: str, having: int, verbatim: str = "") -> None:
            found.append(ContentWord(text, match, _idf(having, self._notes), verbatim))

        with suppress(sqlite3.DatabaseError):
            for name in terms.identifiers:
                known = {name: tuple(self._forms(name))}
                match = languages.in_languages(fts5.quoted(name), (), known)
                having = min(self._counts(name).values(), default=0)
                is_known = having and contains(self._connection, name)
                add(name, match, having if is_known else 0, name if fts5.is_verbatim(name) else "")
            # Not why and who, which aren't stop words.
            words = [word for word in terms.words if word not in WORDS_OF_SENTENCES] or terms.words
            for word in words:
                tokens = fts5.words(word)
                parts = [part for part in tokens if len(part) > 1 or not part.isascii()] or tokens
                known = {part: tuple(self._forms(part)) for part in parts}
                match = languages.in_languages(" AND ".join(map(fts5.quoted, parts)), (), known)
                if parts:
                    having = min(chain.from_iterable(self._counts(part).values() for part in parts))
                    add(word, f"({match})", having)
            for prefix in terms.prefixes:
                own = [it for it in terms.completions if plain(it).startswith(plain(prefix))]
                starting = " OR ".join([fts5.starting_with(prefix), *map(fts5.quoted, own)])
                having = max((n for it in own for n in self._counts(it).values()), default=0)
                add(prefix, f"({starting})", having)
        return tuple(found)

    def max_bm25(self, words: Sequence[str]) -> float:
        """Return the limit of the BM25 of a note that has every word more and more often."""
        highest = 0.0
        for word in words:
            parts = sorted(self._counts(word).values())
            # A compound is searched for as a phrase, so its rarest part is the best estimate.
            for having in parts if languages.is_unspaced(word) else parts[:1] or [0]:
                highest += BM25_K1_PLUS_1 * _idf(having, self._notes)
        return highest


def _languages(
    connection: sqlite3.Connection, terms: Terms, as_written: Callable[[str], list[str]]
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
    least = metadata.MAIN_LANGUAGE_SHARE
    mains = [language for language in present if shares.get(language, 1) >= least]
    chosen = [likely] if likely else mains
    others = [language for language in present if language not in chosen and language != "en"]
    with suppress(sqlite3.DatabaseError):  # the statement itself will fail, too
        for word in terms.words if others else ():
            is_known = exists(connection, fts5.quoted(word), if_broken=False)  # fast, most are
            texts = [] if is_known else as_written(word)
            if texts and not _has_forms(connection, (), texts):
                chosen += [
                    language
                    for language in others
                    if language not in chosen and _has_forms(connection, [language], texts)
                ]
    if languages.is_unspaced(terms.meaning):
        own = languages.likely_unspaced(terms.meaning, shares)
    else:
        own = likely or next((it for it in shares if it not in languages.UNSPACED_LANGUAGES), None)
    return tuple(chosen), stop_words, own or main


def _has_forms(
    connection: sqlite3.Connection, searched: Sequence[str], texts: Sequence[str]
) -> bool:
    forms = word_forms.forms(connection, searched, texts)
    return all(word_forms.note_counts(connection, forms).values())  # dell'università


def _idf(having: int, notes: int) -> float:
    # During indexing, more notes may have a word than existed when the notes were counted.
    return max(math.log((max(notes - having, 0) + 0.5) / (having + 0.5)), 1e-6)
