"""The library's own words: how many notes have each, and which one a mistyped word was meant to be."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ..index import database
from ..index.schema import STEM_VOCABULARY, TOKENIZER, WORD_VOCABULARY
from ..index.watch import WhileUnchanged
from ..sqlite import sqlite3

# Edits (a letter more, less, other, or two swapped) that a mistake may have, by the length of the word. Short words
# have too many neighbors, and four of five misspellings are one edit away (Damerau, CACM 1964).
MAX_EDITS = ((8, 2), (4, 1))

# In a library of more notes, a mistyped word is looked for among those that begin with its first letter or its second, as when
# the two were swapped or the first is missing.
ALL_WORDS_UP_TO = 20_000

# The count of a word in at least so many notes is kept in memory.
COMMON_FROM = 1000

# Words that the beginning of one stands for. Each costs a scan of the notes that have it.
MAX_COMPLETIONS = 20


@dataclass(frozen=True)
class Term:
    """A token of a query in the word index."""

    token: str  # as it was typed
    stem: str  # as it is indexed
    notes: int  # how many notes have it


def terms(connection: sqlite3.Connection, tokens: Iterable[str]) -> list[Term]:
    """How common each token is in the library."""
    known = common_words(connection)
    found = []
    for token in tokens:
        for stem in stems(token):
            notes = known.get(stem)
            if notes is None:
                row = connection.execute(
                    f"select doc from {STEM_VOCABULARY} where term = ?", [stem]
                ).fetchone()
                notes = row[0] if row else 0
                # Its notes are counted one by one, and who types a query asks for its words with each key.
                if notes >= COMMON_FROM:
                    known[stem] = notes
            found.append(Term(token, stem, notes))
    return found


def common_words(connection: sqlite3.Connection) -> dict[str, int]:
    """The words that are known to be in many notes, until the file is another one; more are written into it."""
    return _common.of(database.file_of(connection))


_common: WhileUnchanged[str, int] = WhileUnchanged()


def library_notes(connection: sqlite3.Connection) -> int:
    """How many notes there are, counted once while the file is the same: SQLite counts them one by one."""
    file = database.file_of(connection)
    return _totals.get(file, "notes", lambda: database.count_notes(connection))


_totals: WhileUnchanged[str, int] = WhileUnchanged()


@lru_cache(4096)
def stems(text: str) -> tuple[str, ...]:
    """The tokens of a text as the word index has them, made by the tokenizer itself."""
    with _tokenizer_lock:
        _tokenizer.execute("delete from texts")
        _tokenizer.execute("insert into texts values (?)", [text])
        return tuple(
            term for (term,) in _tokenizer.execute("select term from tokens order by offset")
        )


def corrected(connection: sqlite3.Connection, word: str) -> str | None:
    """The word of the library that a word was probably meant to be; None if it is near none.

    Of the words with the fewest edits (Damerau-Levenshtein distance) it is the one in most notes.
    """
    edits = next((edits for length, edits in MAX_EDITS if len(word) >= length), 0)
    if not edits or not re.fullmatch(r"[^\W\d_]+", word):
        return None
    # Costs some milliseconds to import, and only a word that the library doesn't have needs it.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    folded = _folded(word)
    # Every word's notes are counted as it is read, which in a large library takes too long to do for all words.
    initials = [""] if library_notes(connection) <= ALL_WORDS_UP_TO else sorted(set(folded[:2]))
    candidates = [
        (term, having)
        for initial in initials
        for term, having in _beginning_with(connection, initial)
        if abs(len(term) - len(word)) <= edits
    ]
    near = process.extract(
        folded,
        [term for term, _ in candidates],
        scorer=OSA.distance,
        score_cutoff=edits,
        limit=None,
    )
    if not near:
        return None
    # People get the first letter right.
    _, _, best = min(
        near,
        key=lambda match: (match[1], match[0][0] != folded[0], -candidates[match[2]][1], match[0]),
    )
    return candidates[best][0]


def completions(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """The words of the library that begin with this, those in most notes first, at most MAX_COMPLETIONS."""
    folded = _folded(prefix)
    rows = connection.execute(
        f"select term from {WORD_VOCABULARY} where term >= ? and term < ? order by doc desc, term limit ?",
        [folded, folded + "\U0010ffff", MAX_COMPLETIONS],
    )
    return [term for (term,) in rows]


def _beginning_with(connection: sqlite3.Connection, initial: str) -> list[tuple[str, int]]:
    """The library's words that begin so, each with how many notes have it; kept until the file is another one.

    To count the notes of all words takes a tenth of a second in a library of ten thousand, and who types on after a mistake
    asks for them with each key.
    """
    kept = _lists.of(database.file_of(connection))
    words = kept.get(initial)
    if words is None:
        words = connection.execute(
            f"select term, doc from {WORD_VOCABULARY} where term >= ? and term < ?",
            [initial, initial + "\U0010ffff"],
        ).fetchall()
        with _lists_lock:
            kept[initial] = words
            while len(kept) > KEPT:
                del kept[next(iter(kept))]
    return words


# Lists of words: a megabyte or a few each.
KEPT = 8

_lists: WhileUnchanged[str, list[tuple[str, int]]] = WhileUnchanged()
_lists_lock = threading.Lock()


def _folded(word: str) -> str:
    """A word as the vocabulary has it: lower case, without diacritics, but not stemmed."""
    with _tokenizer_lock:
        _tokenizer.execute("delete from words")
        _tokenizer.execute("insert into words values (?)", [word])
        return "".join(
            term for (term,) in _tokenizer.execute("select term from word_tokens order by offset")
        )


def _new_tokenizer() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    unstemmed = TOKENIZER.removeprefix("porter ")
    connection.execute(f"create virtual table texts using fts5(text, tokenize='{TOKENIZER}')")
    connection.execute("create virtual table tokens using fts5vocab(texts, instance)")
    connection.execute(f"create virtual table words using fts5(text, tokenize='{unstemmed}')")
    connection.execute("create virtual table word_tokens using fts5vocab(words, instance)")
    return connection


_tokenizer_lock = threading.Lock()
_tokenizer = _new_tokenizer()
