"""The words of a query in the forms that the notes have: stems, spellings, and how many have them.

A word may also be in the notes in parts, as e-mail is, and a phone number in other groups.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise

from ...index.file.schema import (
    SPELLINGS,
    STEM_VOCABULARY,
    TOKENIZER,
    WORD_VOCABULARY,
    WORDS_TOKENIZER,
)
from ...index.file.spellings import spellings
from ...query import fts5
from ...sqlite import read_value, sqlite3
from ...text import folding, languages, regional
from .dictionary import has_word

# Notes with a form to look at before it counts as one that no note of its language has.
MAX_FOREIGN = 1000

# Letters of a word that notes may have in parts, and notes to read to see it or a number.
MIN_JOINED, MAX_JOINED = 2, 24
MAX_TEXTS = 50
# What joins parts: a sign, with a blank if it is an apostrophe (rock 'n' roll) or ends a letter
# (z. B.); nothing more between a number and its unit, and in a word that is in no dictionary
# (in fact, but not may be).
_JOINT = r"(?:[^\w\s]|\s['’]|['’]\s|(?<=\b\w)\.\s|(?<=\d)\s(?=\D){})?"
_BLANK = r"|(?<=\w\w)\s(?=\w\w)"
_LETTER = rf"[^\W{languages.UNSPACED}]"  # of a word with spaces around it
_NUMBER = r"\d[\d ()/.‐–－-]+\d"


def forms(
    connection: sqlite3.Connection, searched: Sequence[str], texts: Sequence[str]
) -> list[str]:
    """Return a text's words as the index has them.

    :param searched: the languages whose stems count, if notes in the language have them
    :param texts: the text as :func:`as_written` returns it
    """
    text = texts[0]
    found = languages.distinct(form for each in texts for form in languages.forms(each, ()))
    if languages.TONAL in searched and languages.WORD.fullmatch(text):
        tonal = languages.with_tones(folding.normalized(text))
        if tonal and _has_notes(connection, languages.TONAL, tonal):
            # Without accents, it may be another word, so only for notes in other languages.
            others = (it for it in found if _has_notes(connection, languages.TONAL, it, "is not"))
            return [tonal, *others]
    word = folding.normalized(text)
    for language in searched:
        own = [*texts]
        if language in languages.PARTICLES:
            own += sorted(written(connection, languages.with_particles(word, language)))
        add_forms(connection, found, own, language)
    return found


def add_forms(
    connection: sqlite3.Connection, found: list[str], texts: Iterable[str], language: str
) -> None:
    """Add the texts' forms in a language that are new and that notes in the language have."""
    for form in (form for each in texts for form in languages.forms(each, [language])):
        is_new = len(languages.distinct([*found, form])) > len(found)
        if is_new and _has_notes(connection, language, form):
            found.append(form)


def as_written(connection: sqlite3.Connection, text: str) -> list[str]:
    """Return a text as typed, as the notes write it, and in British or American spelling."""
    others = (*_in_groups(text), *regional.other_spellings(text))
    known = (it for it in others if exists(connection, fts5.quoted(it), if_broken=False))
    return [text, *_respelled(connection, text), *known]


def _in_groups(text: str) -> list[str]:
    """Return a number with its thousands apart, in any of the ways; or joined, if they are."""
    if re.fullmatch(fts5.GROUPED_NUMBER, text):
        return [re.sub(r"\D", "", text)]
    return [f"{int(text):,}"] if re.fullmatch(r"[1-9]\d{3,14}", text) else []


def _respelled(connection: sqlite3.Connection, text: str) -> list[str]:
    """Return a text with its words as the notes spell them; a single word in all spellings."""
    if fts5.is_phone_number(text) or re.fullmatch(r"[0-9]{9,15}", text):
        return _written_numbers(connection, text)
    words = languages.tokens(text)
    if len(words) == 1:
        others, is_written = spellings(connection, words[0])
        return others if is_written else [*others, *_in_parts(connection, words[0].lower())]
    found = [next(iter(spellings(connection, word)[0]), word) for word in words]
    respelled = [" ".join(found)] if found != words else []
    if not re.fullmatch(r"[^\W\d_]+(?:[-‐‑.״][^\W\d_]+)+|\d+ [^\W\d_]{1,3}", text):
        return respelled
    return [*respelled, *written(connection, ["".join(words).lower()])]


def _in_parts(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return an unknown word in the parts that a note joins: e-mail, don't, rock'n'roll, I.B.M."""
    if not MIN_JOINED <= len(word) <= MAX_JOINED:
        return []
    pairs = combinations(range(len(word) + 1), 2)
    known = written(connection, {word[start:end] for start, end in pairs})
    # Two parts, three, or single letters.
    places = range(1, len(word))
    cuts = chain.from_iterable(combinations(places, n) for n in {1, 2, len(places)})
    parts = ([word[start:end] for start, end in pairwise((0, *cut, len(word)))] for cut in cuts)
    phrases = [" ".join(each) for each in parts if known.issuperset(each)]
    if not phrases:  # the dictionary needn't be read
        return []
    joint = _JOINT.format("" if has_word(word) else _BLANK)
    pattern = rf"(?<!{_LETTER}){joint.join(folding.plain(word))}(?!{_LETTER})"
    for text in _texts(connection, phrases):
        if found := re.search(pattern, folding.plain(text)):
            return [" ".join(re.findall(r"\w+", found[0]))]
    return []


def _written_numbers(connection: sqlite3.Connection, number: str) -> list[str]:
    """Return a phone number in the notes' groups of digits, with a country's code or without."""
    digits = _significant_digits(number)
    sql = f"select term from {STEM_VOCABULARY} where term between '0' and ':' and length(term) > 1"
    terms = [term for (term,) in connection.execute(sql)]
    groups = [term for term in terms if term.lstrip("0") in digits or term.endswith(digits)]
    texts = map(folding.normalized, _texts(connection, groups))
    found = (each for text in texts for each in re.findall(_NUMBER, text))
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
    if not phrases:
        return iter(())
    sql = f"""
    select title || char(10) || coalesce(body, '') from notes
    where id in (
      select rowid from notes_fts where notes_fts match ? order by bm25(notes_fts) limit {MAX_TEXTS}
    )
    """
    match = " OR ".join(map(fts5.quoted, phrases))
    rows = connection.execute(sql, [languages.in_languages(match, languages.present(connection))])
    return (text for (text,) in rows)


def exists(connection: sqlite3.Connection, match: str, *, if_broken: bool) -> bool:
    """Return whether a note matches an FTS5 expression, and ``if_broken`` if that fails."""
    sql = "select exists (select 1 from notes_fts where notes_fts match ?)"
    try:
        return bool(read_value(connection, sql, [match]))
    except sqlite3.DatabaseError:
        return if_broken  # the statement itself fails, and retrieve() handles that


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


def written(connection: sqlite3.Connection, words: Iterable[str]) -> set[str]:
    """Return those of the words that a note has itself, not only another with its stem."""
    sql = f"""
    select value ->> 0 from json_each(?)
    where exists (select 1 from {WORD_VOCABULARY} where term in (value ->> 0, value ->> 1))
      or exists (select 1 from {SPELLINGS} where typed = value ->> 1)
    """
    pairs = json.dumps([(word, folding.plain(word)) for word in words])
    return {word for (word,) in connection.execute(sql, [pairs])}


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
