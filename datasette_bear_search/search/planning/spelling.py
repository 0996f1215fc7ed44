"""The words of the notes: how many notes have each, and the corrections for mistyped words."""

from __future__ import annotations

import os
import re
import sys
import threading
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.metadata import version
from mmap import ACCESS_READ, mmap
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from ... import languages
from ...embeddings import registry
from ...index.file import database, metadata
from ...index.file.schema import STEM_VOCABULARY, TOKENIZER, WORD_VOCABULARY, WORDS_TOKENIZER
from ...sqlite import sqlite3

# Minimum letters, maximum edits. An edit is a letter inserted, deleted or replaced, or two swapped.
# Short words have too many neighbors, and four of five misspellings are one edit away (Damerau,
# CACM 1964).
MAX_EDITS = ((8, 2), (4, 1))

# Corrections to offer if several words are equally near, so that none of them is sure.
MAX_CORRECTIONS = 2

# In words of at least this many letters, a slip of the fingers can be corrected safely. Swedish has
# no dictionary here, but of its 2,000 most common words none is then replaced; with 5, three are.
MIN_SLIP_LETTERS = 6
# In words of so many letters or more, any edit is a slip unless it is in the ending, the last
# letters: "decisiones" may be Spanish for "decisions".
LONG_WORD_LETTERS, ENDING_LETTERS = 9, 3

# With more notes than this, only words with the first or the second letter of a mistyped word are
# compared to it. (The first two letters may be swapped, or the first one superfluous.)
ALL_WORDS_UP_TO = 20_000

# Completions of a prefix. Each costs a scan of the notes that have the word.
MAX_COMPLETIONS = 20

# Cached word lists of a megabyte or a few each.
CACHED_LISTS = 8


def note_counts(
    connection: sqlite3.Connection, present: Sequence[str], text: str
) -> dict[str, int]:
    """Return how many notes have each word of a text, by the word's stem.

    :param present: the languages of the notes; a word may have another stem in each
    """
    sql = f"select ifnull(sum(doc), 0) from {STEM_VOCABULARY} where term in ({{}})"
    counts = {}
    for stem, *others in zip(*map(stems, languages.forms(text, present))):
        those = list({stem, *others})
        row = connection.execute(sql.format(", ".join("?" * len(those))), those).fetchone()
        counts[stem] = row[0]
    return counts


@lru_cache(1000)  # a search needs the stems of a word several times
def stems(text: str) -> Sequence[str]:
    """Return the tokens of a text as in the word index: stemmed."""
    return _tokens("stemmed", text)


def unstemmed_words(text: str) -> list[str]:
    """Return the tokens of a text without stemming, as in corrections and completions."""
    return _tokens("unstemmed", text)


class Correction(NamedTuple):
    """Words of the notes that may have been meant by a mistyped one, likeliest first."""

    words: tuple[str, ...]
    is_sure: bool  # whether to search for the first without asking


def correction(connection: sqlite3.Connection, word: str) -> Correction | None:
    """Return the words of the notes that a word was probably meant to be; None if none is near.

    These are the words with the fewest edits (Damerau-Levenshtein distance). One is sure if it is
    the only one, a slip away from the typed word, and that is no word in any language: no token of
    the model, not in a dictionary, no capitalized name, no accents (nobody types them by accident).
    """
    edits = next((edits for length, edits in MAX_EDITS if len(word) >= length), 0)
    if not edits or not re.fullmatch(r"[^\W\d_]+", word):
        return None
    # Importing it takes milliseconds, and only words that no note has need it.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    folded = _folded(word)
    has_few_notes = metadata.count_notes(connection) <= ALL_WORDS_UP_TO
    near = {
        term: (distance, notes[term])
        for initial in ([""] if has_few_notes else sorted(set(folded[:2])))
        for length, notes in _words_beginning_with(connection, initial).items()
        if abs(length - len(word)) <= edits
        for term, distance, _ in process.extract(
            folded, list(notes), scorer=OSA.distance, score_cutoff=edits, limit=None
        )
    }
    if not near:
        return None
    fewest = min(distance for distance, _ in near.values())
    model = metadata.get_meta(connection, "model")
    if fewest > 1 and registry.is_token(model, word):
        return None  # a real word two edits away, such as "password" from "passport"
    found = sorted(
        (term for term, (distance, _) in near.items() if distance == fewest),
        # Prefer swapped letters, then the same first letter, which people usually get right.
        key=lambda term: (
            sorted(term) != sorted(folded),
            term[0] != folded[0],
            -near[term][1],
            term,
        ),
    )
    is_sure = (
        fewest == len({stem for term in found for stem in stems(term)}) == 1
        and word.islower()
        and word == folded
        and _is_slip(word, found[0])
        and not registry.is_token(model, word)
        and not _is_in_dictionary(word)
    )
    return Correction(tuple(found[:MAX_CORRECTIONS]), is_sure)


def word_completions(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """Return at most MAX_COMPLETIONS words of the notes with a prefix, most frequent first."""
    if not (folded := _folded(prefix)):
        return []
    rows = connection.execute(
        f"select term from {WORD_VOCABULARY} where term >= ? and term < ? "
        "order by doc desc, term limit ?",
        [folded, folded + "\U0010ffff", MAX_COMPLETIONS],
    )
    return [term for (term,) in rows]


def _is_slip(typed: str, meant: str) -> bool:
    """Return whether an edit is a slip: two letters swapped, or one inside doubled or missing.

    Words with another letter or ending are as often different words: mouse and house, problem and
    problema.
    """
    if len(typed) < MIN_SLIP_LETTERS or typed[0] != meant[0]:
        return False
    if len(typed) >= LONG_WORD_LETTERS and typed[-ENDING_LETTERS:] == meant[-ENDING_LETTERS:]:
        return True
    if len(typed) == len(meant):
        return sorted(typed) == sorted(meant)
    if len(typed) < len(meant):
        return typed[-1] == meant[-1]
    doubled = (at for at in range(1, len(typed)) if typed[at] == typed[at - 1])
    return any(typed[:at] + typed[at + 1 :] == meant for at in doubled)


def _is_in_dictionary(word: str) -> bool:
    """Return whether a dictionary of one of twelve languages has the word."""
    hashes, wanted = dictionary(), _hash(word)
    at = bisect_left(hashes, wanted)
    return at < len(hashes) and hashes[at] == wanted


@cache
def dictionary() -> Sequence[int]:
    """Return the sorted hashes of the dictionaries' words, in a file that is made only once.

    To make it takes four seconds, so bear-index does; its 15 MB are mapped, not read.
    """
    from platformdirs import user_cache_path

    folder = user_cache_path("datasette-bear-search", appauthor=False)
    path = folder / f"dictionary-{version('pyspellchecker')}.bin"
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=folder, delete=False) as new:
                _hashes_of_words().tofile(new)
            os.replace(new.name, path)
        with path.open("rb") as file:
            return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ)).cast("Q")
    except (OSError, TypeError, ValueError):  # a full disk, or a file that was cut off
        return _hashes_of_words()


def _hashes_of_words() -> array[int]:
    from spellchecker import SpellChecker

    words: set[str] = set()
    for language in SpellChecker.languages():
        words.update(SpellChecker(language).word_frequency.keys())
    return array("Q", sorted(map(_hash, words)))


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), sys.byteorder)


def _words_beginning_with(
    connection: sqlite3.Connection, initial: str
) -> dict[int, dict[str, int]]:
    """Return words by length, with their numbers of notes. Cache them until the file changes.

    Counting the notes of all words in 10,000 notes takes SQLite .07 s, three quarters of a search,
    and a person who goes on typing after a mistake starts a search with each key.
    """
    state = database.file_state(connection)
    key = state and (*state, initial)
    words = _word_lists.get(key)
    if words is None:
        words = {}
        for term, notes in connection.execute(
            f"select term, doc from {WORD_VOCABULARY} where term >= ? and term < ?",
            [initial, initial + "\U0010ffff"],
        ):
            words.setdefault(len(term), {})[term] = notes
        if key:
            database.keep(_word_lists, key, words, CACHED_LISTS)
    return words


_word_lists: dict[tuple[object, ...], dict[int, dict[str, int]]] = {}


def _folded(word: str) -> str:
    # As in the vocabulary: lower case, without diacritics, but not stemmed.
    return "".join(_tokens("unstemmed", word))


def _tokens(tokenizer: str, text: str) -> list[str]:
    with _lock:
        _tokenizers.execute(f"delete from {tokenizer}")
        _tokenizers.execute(f"insert into {tokenizer} values (?)", [text])
        rows = _tokenizers.execute(f"select term from {tokenizer}_tokens order by offset")
        return [term for (term,) in rows if term]  # an accent alone gives an empty one


def _new_tokenizers() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    for name, tokenizer in (("stemmed", TOKENIZER), ("unstemmed", WORDS_TOKENIZER)):
        connection.execute(f'create virtual table {name} using fts5(text, tokenize="{tokenizer}")')
        connection.execute(f"create virtual table {name}_tokens using fts5vocab({name}, instance)")
    return connection


_lock = threading.Lock()
_tokenizers = _new_tokenizers()
