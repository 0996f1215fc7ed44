"""The words of the notes: how many notes have each, and the corrections for mistyped words."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from ...embeddings import registry
from ...index.file import database, metadata
from ...index.file.schema import (
    SPELLINGS,
    STEM_VOCABULARY,
    TOKENIZER,
    WORD_INDEX,
    WORD_VOCABULARY,
    WORDS_TOKENIZER,
)
from ...index.file.spellings import spellings
from ...processes import user_folder, write_file
from ...query import fts5
from ...sqlite import read_value, sqlite3
from ...text import folding, languages

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

# Words with accents to look at for a prefix without them.
MAX_SPELLINGS = 500

# Notes with a form to look at before it counts as one that no note of its language has.
MAX_FOREIGN = 1000

# Letters of a word that notes may have in two parts, and notes to read to see it or a number.
MIN_JOINED, MAX_JOINED = 4, 30
MAX_TEXTS = 50
NUMBER = r"\d[\d ()/.‐-]+\d"

# Notes to read to see how a word is written.
MAX_READ = 20

# Cached word lists of a megabyte or a few each.
CACHED_LISTS = 8


def forms(connection: sqlite3.Connection, searched: Sequence[str], text: str) -> list[str]:
    """Return a text's words as the index has them: as typed, and as the notes write them.

    :param searched: the languages whose stems count, if notes in the language have them
    """
    texts = [text, *_respelled(connection, text)]
    found = languages.distinct(form for each in texts for form in languages.forms(each, ()))
    if languages.TONAL in searched and languages.WORD.fullmatch(text):
        tonal = languages.with_tones(folding.normalized(text))
        if tonal and _has_notes(connection, languages.TONAL, tonal):
            # Without accents, it may be another word, so only for notes in other languages.
            others = (it for it in found if _has_notes(connection, languages.TONAL, it, "is not"))
            return [tonal, *others]
    for language in searched:
        for form in (form for each in texts for form in languages.forms(each, [language])):
            is_new = len(languages.distinct([*found, form])) > len(found)
            if is_new and _has_notes(connection, language, form):
                found.append(form)
    return found


def _respelled(connection: sqlite3.Connection, text: str) -> list[str]:
    """Return a text with its words as the notes spell them; a single word in all spellings."""
    if fts5.is_phone_number(text):
        return _written_numbers(connection, text)
    words = languages.tokens(text)
    if len(words) == 1:
        others, is_written = spellings(connection, words[0])
        return others if is_written else [*others, *_in_two_parts(connection, words[0].lower())]
    found = [next(iter(spellings(connection, word)[0]), word) for word in words]
    respelled = [" ".join(found)] if found != words else []
    if not re.fullmatch(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)+", text):
        return respelled
    return [*respelled, *written(connection, ["".join(words).lower()])]


def _in_two_parts(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return an unknown word in two parts if a note joins them with a sign: e-mail, don't."""
    if not MIN_JOINED <= len(word) <= MAX_JOINED:
        return []
    pairs = [(word[:at], word[at:]) for at in range(1, len(word))]
    pattern = "|".join(rf"\b{one}[^\w\s]{other}\b" for one, other in pairs)
    for text in _texts(connection, [" ".join(pair) for pair in pairs]):
        if found := re.search(pattern, text, re.IGNORECASE):
            return [re.sub(r"[^\w\s]", " ", found[0].lower())]
    return []


def _written_numbers(connection: sqlite3.Connection, number: str) -> list[str]:
    """Return a phone number in the notes' groups of digits, with a country's code or without."""
    digits = _significant_digits(number)
    sql = f"select term from {STEM_VOCABULARY} where term between '0' and ':' and length(term) > 1"
    terms = [term for (term,) in connection.execute(sql)]
    groups = [term for term in terms if term.lstrip("0") in digits or term.endswith(digits)]
    found = (each for text in _texts(connection, groups) for each in re.findall(NUMBER, text))
    return [
        " ".join(re.findall(r"\d+", other))
        for other in dict.fromkeys(found)
        if (own := _significant_digits(other)).endswith(digits) or digits.endswith(own)
        if min(len(own), len(digits)) >= min(fts5.PHONE_DIGITS)
    ]


def _significant_digits(number: str) -> str:
    return re.sub(r"\(0\)|\D", "", number).lstrip("0")


def _texts(connection: sqlite3.Connection, phrases: Sequence[str]) -> Iterator[str]:
    """Yield the texts of the notes that have most of the phrases."""
    sql = f"""
    select title || char(10) || coalesce(body, '') from notes
    where id in (
      select rowid from notes_fts where notes_fts match ? order by bm25(notes_fts) limit {MAX_TEXTS}
    )
    """
    rows = connection.execute(sql, [fts5.any_of(map(fts5.quoted, phrases)) or '""'])
    return (text for (text,) in rows)


def _has_notes(
    connection: sqlite3.Connection, language: str, form: str, comparison: str = "is"
) -> bool:
    # oil is a German stem of "oilet", but in English notes it is another word.
    sql = f"""
    select exists (
      select 1
      from (select rowid from notes_fts where notes_fts match ? limit {MAX_FOREIGN})
      join notes on notes.id = rowid
      where language {comparison} ?
    )
    """
    return bool(read_value(connection, sql, [fts5.quoted(form), language]))


def note_counts(connection: sqlite3.Connection, forms: Sequence[str]) -> dict[str, int]:
    """Return how many notes have each word of a text, given in all its forms, by its stem."""
    sql = f"select ifnull(sum(doc), 0) from {STEM_VOCABULARY} where term in ({{}})"

    def having(*those: str) -> int:
        marks = ", ".join("?" * len({*those}))
        return int(read_value(connection, sql.format(marks), [*{*those}]))

    first, *others = map(stems, forms)
    same = [first, *(each for each in others if len(each) == len(first))]
    # A form in more or fewer words, as of e-mail, is in at most as many notes as its rarest word.
    more = sum(min(map(having, each)) for each in others if len(each) != len(first))
    return {each[0]: having(*each) + more for each in zip(*same)}


@lru_cache(1000)  # a search needs the stems of a word several times
def stems(text: str) -> Sequence[str]:
    """Return the tokens of a text as in the word index: stemmed."""
    return _tokens("stemmed", text)


def unstemmed_words(text: str) -> list[str]:
    """Return the tokens of a text without stemming, as in corrections and completions."""
    return _tokens("unstemmed", folding.normalized(text))


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
    sure if it is the only one, a slip away from the typed word, and that is no word in any
    language: no token of the model, not in a dictionary, no name (capitalized, unlike the other).
    """
    word = folding.normalized(word)
    edits = next((edits for length, edits in MAX_EDITS if len(word) >= length), 0)
    if not edits or not re.fullmatch(r"[^\W\d_]+", word):
        return None
    lower = word.lower()
    model = metadata.get_meta(connection, "model")
    is_word = registry.is_token(model, lower) or _is_in_dictionary(lower)
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
    found = sorted(
        (form for form, (distance, _) in near.items() if distance == fewest),
        # Prefer swapped letters, then the same first letter, which people usually get right.
        key=lambda form: (
            sorted(form) != sorted(typed),
            form[0] != typed[0],
            -sum(near[form][1].values()),
            form,
        ),
    )
    is_slip = fewest == 1 and _is_slip(typed, found[0])
    if (is_word or has_notes) and not is_slip:
        return None  # "cold" isn't "could", nor "password" "passport"
    spelled = [
        min(notes, key=lambda each: (OSA.distance(lower, each), -notes[each]))
        for notes in (near[form][1] for form in found[:MAX_CORRECTIONS])
    ]
    written = [_as_written(connection, each) for each in spelled]
    # Nobody types an accent by accident.
    accents = {letter for letter in lower if not letter.isascii()}
    is_sure = (
        is_slip
        and len({stem for form in found for stem in stems(form)}) == 1
        and accents <= {*spelled[0]}
        and (word.islower() or (word.istitle() and written[0].istitle()))
        and not (is_word or has_notes)
    )
    return Correction(tuple(written), is_sure)


def written(connection: sqlite3.Connection, words: Iterable[str]) -> set[str]:
    """Return those of the words that a note has itself, not only another with its stem."""
    sql = f"""
    select value ->> 0 from json_each(?)
    where exists (select 1 from {WORD_VOCABULARY} where term in (value ->> 0, value ->> 1))
      or exists (select 1 from {SPELLINGS} where typed = value ->> 1)
    """
    pairs = json.dumps([(word, folding.plain(word)) for word in words])
    return {word for (word,) in connection.execute(sql, [pairs])}


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


def _is_slip(typed: str, meant: str) -> bool:
    """Return whether an edit is a slip: two letters swapped, or one inside doubled or missing.

    Or one of a neighboring key. Words with another letter or ending are as often different words:
    mouse and house, problem and problema.
    """
    if len(typed) < MIN_SLIP_LETTERS or typed[0] != meant[0]:
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


def _are_neighbors(letter: str, other: str) -> bool:
    places = _KEYS.get(letter), _KEYS.get(other)
    return None not in places and math.dist(*places) < NEIGHBORING  # type: ignore[arg-type]


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
    folder = user_folder("cache")
    try:
        path = folder / f"dictionary-{_content_of_dictionaries()}.bin"
        if not path.exists():
            write_file(path, _hashes_of_words().tobytes())
        with path.open("rb") as file:
            return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ)).cast("Q")
    except (OSError, TypeError, ValueError):  # a full disk, or a file that was cut off
        return _hashes_of_words()


def _content_of_dictionaries() -> str:
    # Not the package's version: to import importlib.metadata takes longer than all of this.
    package = Path(find_spec("spellchecker").origin)  # type: ignore[union-attr, arg-type]
    files = sorted((each.name, each.stat().st_size) for each in package.parent.rglob("*.gz"))
    return blake2b(repr(files).encode(), digest_size=8).hexdigest()


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
