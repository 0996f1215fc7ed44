"""The notes' own words: how many notes have each, and which one a mistyped word was meant to be."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from .. import languages
from ..embeddings import registry
from ..index import database
from ..index.schema import STEM_VOCABULARY, TOKENIZER, WORD_VOCABULARY
from ..sqlite import sqlite3

# From so many letters on, a mistake may have so many edits (a letter more, less, other, or two
# swapped). Short words have too many neighbors, and four of five misspellings are one edit away
# (Damerau, CACM 1964).
MAX_EDITS = ((8, 2), (4, 1))

# Of so many words that are equally near, none is sure; so many are offered.
MAX_CORRECTIONS = 2

# In a word of so many letters, one slip of the fingers leaves no doubt. Of the 2,000 most common
# words of Swedish, of which there is no dictionary, none then takes another's place; with 5, three.
SHORTEST_SURE = 6
# In one that long any edit is one, but in its ending: decisiones may be Spanish for decisions.
LONG, ENDING = 9, 3

# With more notes than this, a mistyped word is looked for among words that begin with its first or
# its second letter, as when the two were swapped or the first is one too many.
ALL_WORDS_UP_TO = 20_000

# Words that the beginning of one stands for. Each costs a scan of the notes that have it.
MAX_COMPLETIONS = 20

# Lists of words in memory: a megabyte or a few each.
CACHED_LISTS = 8


def note_counts(
    connection: sqlite3.Connection, present: Sequence[str], text: str
) -> dict[str, int]:
    """Return how many notes have each word of a text, by the words' stems.

    :param present: the languages of the notes, each of which may have a stem of its own
    """
    sql = f"select ifnull(sum(doc), 0) from {STEM_VOCABULARY} where term in ({{}})"
    counts = {}
    for stem, *others in zip(*map(stems, languages.forms(text, present))):
        those = list({stem, *others})
        row = connection.execute(sql.format(", ".join("?" * len(those))), those).fetchone()
        counts[stem] = row[0]
    return counts


@lru_cache(1000)  # of a word several times a search
def stems(text: str) -> Sequence[str]:
    """Return the tokens of a text as the word index has them."""
    return _tokens("stemmed", text)


def words(text: str) -> list[str]:
    """Return the tokens of a text without stemming, as corrections and completions have them."""
    return _tokens("unstemmed", text)


class Correction(NamedTuple):
    """Words of the notes that another one may be meant to be, the likeliest first."""

    words: tuple[str, ...]
    is_sure: bool  # the first may take the other's place unasked


def correction(connection: sqlite3.Connection, word: str) -> Correction | None:
    """Return the words of the notes that a word was probably meant to be; None if it is near none.

    They are those with the fewest edits (Damerau-Levenshtein distance). One is sure if it is the
    only one and a slip away, and the word is none of any language: neither a whole token of the
    model, nor in a dictionary, nor a name, nor with accents, which nobody types by chance.
    """
    edits = next((edits for length, edits in MAX_EDITS if len(word) >= length), 0)
    if not edits or not re.fullmatch(r"[^\W\d_]+", word):
        return None
    # Takes some milliseconds to import, and only a word that no note has needs it.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    folded = _folded(word)
    has_few_notes = database.count_notes(connection) <= ALL_WORDS_UP_TO
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
    model = database.get_meta(connection, "model")
    if fewest > 1 and registry.is_token(model, word):
        return None  # password is no passport
    found = sorted(
        (term for term, (distance, _) in near.items() if distance == fewest),
        # Letters swapped are no chance, and people get the first letter right.
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


def completions(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """Return the notes' words that begin so, most frequent first, at most MAX_COMPLETIONS."""
    if not (folded := _folded(prefix)):
        return []
    rows = connection.execute(
        f"select term from {WORD_VOCABULARY} where term >= ? and term < ? "
        "order by doc desc, term limit ?",
        [folded, folded + "\U0010ffff", MAX_COMPLETIONS],
    )
    return [term for (term,) in rows]


def _is_slip(typed: str, meant: str) -> bool:
    """Return whether, at one edit, letters are swapped, or one is doubled or missing inside.

    What differs by another letter or by its end is as often a word of its own: mouse and house,
    problem and problema.
    """
    if len(typed) < SHORTEST_SURE or typed[0] != meant[0]:
        return False
    if len(typed) >= LONG and typed[-ENDING:] == meant[-ENDING:]:
        return True
    if len(typed) == len(meant):
        return sorted(typed) == sorted(meant)
    if len(typed) < len(meant):
        return typed[-1] == meant[-1]
    doubled = (at for at in range(1, len(typed)) if typed[at] == typed[at - 1])
    return any(typed[:at] + typed[at + 1 :] == meant for at in doubled)


@lru_cache(1000)
def _is_in_dictionary(word: str) -> bool:
    """Return whether a dictionary of any language has the word.

    They are searched as they are packed: .2 s, which is seldom needed, instead of 150 MB in memory.
    """
    entry = f'"{word}":'.encode()
    dictionaries = files("spellchecker").joinpath("resources").iterdir()
    return any(entry in gzip.decompress(each.read_bytes()) for each in dictionaries)


def _words_beginning_with(
    connection: sqlite3.Connection, initial: str
) -> dict[int, dict[str, int]]:
    """Return words by their length, and how many notes have each; kept while the file is the same.

    SQLite counts the notes of each word: of all words in 10,000 notes that takes .07 s, three
    quarters of a search, and a person who types on after a mistake searches with each key.
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
    # As the vocabulary has it: lower case, without diacritics, but not stemmed.
    return "".join(_tokens("unstemmed", word))


def _tokens(tokenizer: str, text: str) -> list[str]:
    with _lock:
        _tokenizers.execute(f"delete from {tokenizer}")
        _tokenizers.execute(f"insert into {tokenizer} values (?)", [text])
        rows = _tokenizers.execute(f"select term from {tokenizer}_tokens order by offset")
        return [term for (term,) in rows if term]  # an accent alone has none


def _new_tokenizers() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    for name, tokenizer in (
        ("stemmed", TOKENIZER),
        ("unstemmed", TOKENIZER.removeprefix("porter ")),
    ):
        connection.execute(f'create virtual table {name} using fts5(text, tokenize="{tokenizer}")')
        connection.execute(f"create virtual table {name}_tokens using fts5vocab({name}, instance)")
    return connection


_lock = threading.Lock()
_tokenizers = _new_tokenizers()
