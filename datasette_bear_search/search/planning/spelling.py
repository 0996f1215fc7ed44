"""Corrections for mistyped words, and completions: words that the notes have."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

from ...index.file import database, metadata
from ...index.file.schema import SPELLINGS, WORD_INDEX, WORD_VOCABULARY
from ...sqlite import sqlite3
from ...text import folding
from . import dictionary
from .word_forms import stems, unstemmed_words

# Minimum letters, maximum edits. An edit is a letter inserted, deleted or replaced, or two swapped.
# Short words have too many neighbors, and four of five misspellings are one edit away (Damerau,
# CACM 1964).
MAX_EDITS = ((8, 2), (4, 1))

# Corrections to offer if several words are equally near, so that none of them is sure.
MAX_CORRECTIONS = 3

# In words of at least this many letters, a slip of the fingers can be corrected safely. Swedish has
# no dictionary here, but of its 2,000 most common words none is then replaced; with 5, three are.
MIN_SLIP_LETTERS = 6
# In words of so many letters or more, a letter more or less is a slip, and a vowel for another, but
# not in the ending, the last letters: "decisiones" may be Spanish for "decisions". Another
# consonant makes another word: of 2,000 Swedish or Finnish words, two or three.
LONG_WORD_LETTERS, ENDING_LETTERS = 9, 3
_VOWELS = frozenset("aeiouy")
# The last letters that a word must share with a sure correction, unless the typed word ends in a
# consonant and isn't shorter (flashign). Of the 7,900 most common words of eleven languages,
# without it and the accents 126 are replaced by words of another language or form in notes in 46
# languages, with both 87.
SAME_LETTERS = 2

# The keys' places; each row begins half a key further right.
_KEYS = {
    letter: (row, column + row / 2)
    for row, letters in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for column, letter in enumerate(letters)
}
NEIGHBORING = 1.2  # keys: the next ones in the same row and in the rows above and below

# With more notes than this, only words with the first or the second letter of a mistyped word are
# compared to it. (The first two letters may be swapped, or the first one superfluous.)
ALL_WORDS_UP_TO = 20_000

# Completions of a prefix. Each costs a scan of the notes that have the word.
MAX_COMPLETIONS = 20

# An unknown word is taken for a form of those that have the longest beginning in common with it,
# MIN_ROOT letters or more, before MAX_ENDING letters at most. nDCG@10 on XQuAD without stems, with
# all words of four or of six letters in common, and with these: German .949 .952 .956 .954, Spanish
# .968 .964 .967 .970 (with stems .960 and .975).
MIN_ROOT, MAX_ENDING = 4, 3

# Words with accents to look at for a prefix without them.
MAX_SPELLINGS = 500

# Notes to read to see how a word is written.
MAX_READ = 20

# Cached word lists of a megabyte or a few each.
CACHED_LISTS = 8


class Correction(NamedTuple):
    """Words of the notes that may have been meant by a mistyped one, likeliest first."""

    words: tuple[str, ...]
    is_sure: bool  # whether to search for the first without asking


def correction(
    connection: sqlite3.Connection, word: str, *, has_notes: bool = False
) -> Correction | None:
    """Return the words of the notes that a word was probably meant to be; None if none is near.

    :param has_notes: whether notes have its stem, not itself: it is only offered another word

    These are the words with the fewest edits (Damerau-Levenshtein distance) without accents. One is
    sure if it is the only one, a slip away from the typed word (not at the end, where päivää is
    another form of päivä), and that is no word in any language: not in a dictionary, no name
    (capitalized, unlike the other).
    """
    word = folding.normalized(word)
    edits = next((edits for length, edits in MAX_EDITS if len(word) >= length), 0)
    if not edits or not re.fullmatch(r"[^\W\d_]+", word):
        return None
    lower = word.lower()
    is_word = dictionary.has_word(lower)
    if has_notes and is_word:
        return None
    # Importing it takes milliseconds, and only words that no note has need it.
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    typed = folding.plain(word)
    has_few_notes = metadata.count_notes(connection) <= ALL_WORDS_UP_TO
    near = {
        form: (distance, words[form])
        for initial in ([""] if has_few_notes else sorted(set(typed[:2])))
        for length, words in _words_beginning_with(connection, initial).items()
        if abs(length - len(typed)) <= edits
        for form, distance, _ in process.extract(
            typed, list(words), scorer=OSA.distance, score_cutoff=edits, limit=None
        )
    }
    if not near:
        return None
    fewest = min(distance for distance, _ in near.values())
    slips = {form for form in near if fewest == 1 and _is_slip(typed, form)}
    found = sorted(
        (form for form, (distance, _) in near.items() if distance == fewest),
        # Prefer swapped letters, then other slips, then the same first letter, which people usually
        # get right.
        key=lambda form: (
            sorted(form) != sorted(typed),
            form not in slips,
            form[0] != typed[0],
            -sum(near[form][1].values()),
            form,
        ),
    )
    is_slip, is_long = found[0] in slips, len(typed) >= MIN_SLIP_LETTERS
    is_other = (is_word or has_notes) and not is_slip
    if is_other or (is_word and not is_long):
        return None  # "cold" isn't "could", nor "password" "passport"
    spelled = [
        min(notes, key=lambda each: (OSA.distance(lower, each), -notes[each]))
        for notes in (near[form][1] for form in found[:MAX_CORRECTIONS])
    ]
    written = [_as_written(connection, each) for each in spelled]
    # Nobody types an accent by accident, and to leave one out is one difference more.
    accents = {letter for letter in lower if not letter.isascii()}
    is_sure = (
        is_slip
        and is_long
        and _has_same_end(typed, found[0])
        and len({stem for form in found for stem in stems(form)}) == 1
        and accents <= {*spelled[0]}
        and OSA.distance(lower, spelled[0]) == 1
        and (word.islower() or (word.istitle() and written[0].istitle()))
        and not (is_word or has_notes)
    )
    return Correction(tuple(written), is_sure)


def _as_written(connection: sqlite3.Connection, word: str) -> str:
    """Return a word of the vocabulary as some notes have it, in capitals if all of them do."""
    sql = f"""
    select title || char(10) || coalesce(body, '') || char(10) || tags || coalesce(attachments, '')
    from notes
    where id in (select rowid from {WORD_INDEX} where {WORD_INDEX} match ? limit {MAX_READ})
    """
    found: Counter[str] = Counter()
    for (text,) in connection.execute(sql, [f'"{word}"']):
        if re.search(rf"\b{word}\b", text):
            return word  # as are most, and to normalize a long note takes half a second
        found.update(re.findall(rf"\b{word}\b", folding.normalized(text), re.IGNORECASE))
    return word if word in found else max(found, key=found.__getitem__, default=word)


def word_completions(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """Return at most MAX_COMPLETIONS words of the notes with a prefix, most frequent first."""
    written, typed = folding.normalized(prefix).lower(), folding.plain(prefix)
    if not unstemmed_words(prefix):
        return []
    sql = f"""
    select term, doc from {WORD_VOCABULARY}
    where term >= :written and term < :written || char(0x10ffff)
    union
    select term, doc
    from (
      select spelling from {SPELLINGS}
      where typed >= :typed and typed < :typed || char(0x10ffff) limit {MAX_SPELLINGS}
    )
    join {WORD_VOCABULARY} on term = spelling
    order by doc desc, term limit {MAX_COMPLETIONS}
    """
    rows = connection.execute(sql, {"written": written, "typed": typed})
    return [term for term, _ in rows]


def same_root(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return the words of the notes that have the longest beginning in common with a word."""
    for letters in range(len(word), max(MIN_ROOT, len(word) - MAX_ENDING) - 1, -1):
        known = word_completions(connection, word[:letters])
        if found := [other for other in known if len(other) <= letters + MAX_ENDING]:
            return found
    return []


def _is_slip(typed: str, meant: str) -> bool:
    """Return whether an edit is a slip: two letters swapped, or one inside doubled or missing.

    Or one of a neighboring key. Words with another letter or ending are as often different words:
    mouse and house, problem and problema.
    """
    if typed[0] != meant[0]:
        return False
    is_long = len(typed) >= LONG_WORD_LETTERS
    is_inside = typed[-ENDING_LETTERS:] == meant[-ENDING_LETTERS:]
    if len(typed) == len(meant):
        differing = [pair for pair in zip(typed, meant) if len({*pair}) > 1]
        if len(differing) > 1:
            return sorted(typed) == sorted(meant)
        are_vowels = is_long and {*differing[0]} <= _VOWELS
        return is_inside and (are_vowels or _are_neighbors(*differing[0]))
    if is_long and is_inside:
        return True
    if len(typed) < len(meant):
        return typed[-1] == meant[-1]
    doubled = (at for at in range(1, len(typed)) if typed[at] == typed[at - 1])
    return any(typed[:at] + typed[at + 1 :] == meant for at in doubled)


def _has_same_end(typed: str, meant: str) -> bool:
    may_differ = len(typed) >= len(meant) and typed[-1] not in _VOWELS
    return may_differ or typed[-SAME_LETTERS:] == meant[-SAME_LETTERS:]


def _are_neighbors(letter: str, other: str) -> bool:
    places = _KEYS.get(letter), _KEYS.get(other)
    return None not in places and math.dist(*places) < NEIGHBORING  # type: ignore[arg-type]


def _words_beginning_with(
    connection: sqlite3.Connection, initial: str
) -> dict[int, dict[str, dict[str, int]]]:
    """Return words without accents, by length, with the number of notes of each spelling.

    They are cached until the file changes: counting the notes of all words in 10,000 notes takes
    SQLite .07 s, three quarters of a search, and a person who goes on typing after a mistake starts
    a search with each key.
    """
    state = database.file_state(connection)
    key = state and (*state, initial)
    words = _word_lists.get(key)
    if words is None:
        words = {}
        for term, notes in connection.execute(
            f"""
            select term, doc from {WORD_VOCABULARY} where term >= :initial and term < :end
            union select term, doc from {SPELLINGS} join {WORD_VOCABULARY} on term = spelling
            where typed >= :initial and typed < :end
            """,
            {"initial": initial, "end": initial + "\U0010ffff"},
        ):
            form = term if term.isascii() else folding.plain(term)
            words.setdefault(len(form), {}).setdefault(form, {})[term] = notes
        if key:
            database.keep(_word_lists, key, words, CACHED_LISTS)
    return words


_word_lists: dict[tuple[object, ...], dict[int, dict[str, dict[str, int]]]] = {}
