"""Find the query's words in the notes of a page: the passages that have them, and their marks.

An FTS5 table in memory finds them, so that they match as in the index: by their stems, which depend
on the note's language.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from ...index.file.metadata import json_value
from ...index.file.schema import LONG_NOTES, TOKENIZER
from ...notes import files_of
from ...query import fts5
from ...query.fts5 import Terms
from ...sqlite import like_literal, sqlite3
from ...text import languages
from ..planning.planner import Plan
from ..ranking.statement_functions import SearchFunctions
from .marks import CHARACTERS, MATCH, MarkedText, Span

# Passages of a long note to read for each word, and how many of its first passages to search for
# parts of words.
MAX_PASSAGES_PER_WORD, MAX_PASSAGES = 8, 1000
# Characters to show around the words in an image's or file's text.
FILE_TEXT = 450


_MARKS = tuple(CHARACTERS[MATCH])
# With each key that a person types, mostly the same notes are found. To cache 1,000 passages takes
# some megabytes.
_indexed = lru_cache(1000)(languages.indexed_note)


class MatchedText(NamedTuple):
    """A passage, or a part of the text of an image or file, that may have the words."""

    note_id: int
    passage_id: int | None
    file_name: str  # "" if unknown
    text: str
    language: str | None

    @property
    def file_text(self) -> str:
        return self.text if self.passage_id is None else ""


def expressions(planned: Plan) -> list[str]:
    """Return FTS5 expressions for the words, phrases and prefixes of a query."""
    terms = planned.terms
    parts = [part for word in terms.words for part in _parts(word)]
    words = (*terms.phrases, *terms.identifiers, *parts, *terms.completions, *planned.beginnings)
    found = [*map(fts5.quoted, words), *map(fts5.starting_with, terms.prefixes)]
    pasted = [planned.pasted.match] if planned.pasted else []
    # The texts of a page, and passages, have no tones.
    return [*pasted, *(languages.without_tones(planned.in_forms(each)) for each in found)]


def missing(functions: SearchFunctions, planned: Plan, note_id: int) -> tuple[str, ...]:
    """Return the words that a note lacks."""
    return tuple(
        word.text
        for word in planned.named
        if functions.having(word)[note_id - 1 : note_id] != b"\1"
    )


def notes_with(
    connection: sqlite3.Connection, expression: str, note_ids: Sequence[int]
) -> set[int]:
    """Return those of the notes that an FTS5 expression matches."""
    # With a plus, or FTS5 would look for the phrase again for each note.
    sql = """
    select rowid from notes_fts
    where notes_fts match ? and +rowid in (select value from json_each(?))
    """
    return {note for (note,) in connection.execute(sql, [expression, json.dumps(note_ids)])}


def _parts(word: str) -> Sequence[str]:
    # In scripts without spaces, a "word" may be a whole sentence. §12 is found by 12, too, and
    # dell'arte by l'arte.
    if languages.is_unspaced(word):
        return fts5.tokens(word)
    tokens = fts5.words(word)
    if len(tokens) < len(fts5.tokens(word)):
        return [word, *tokens]
    elided = tokens[1:] if re.fullmatch(r"\w+['’]\w\w+", word) else ()
    return [word, *elided]


def beginnings(terms: Terms) -> list[str]:
    """Return the beginnings of the query's words, in lower case: an approximation of stems."""
    phrases = (token for phrase in terms.phrases for token in fts5.tokens(phrase))
    words = (*terms.identifiers, *terms.words, *terms.prefixes, *phrases)
    lower = (part.lower() for word in words for part in _parts(word))
    # Of a "*" alone, nothing is left.
    return [word if len(word) < 5 else word[: max(4, len(word) - 3)] for word in lower if word]


def marked(planned: Plan, texts: Sequence[tuple[str, str | None]]) -> list[MarkedText]:
    """Return the texts, each given with its language, with the query's words marked."""
    plain = [(MarkedText.read(text).text, language) for text, language in texts]
    if _is_inside_words(planned):
        return [_with_substrings(planned, text) for text, _ in plain]
    found: dict[int, str] = {}
    cut: dict[int, list[languages.Word]] = {}
    if match := fts5.any_of(expressions(planned)):
        rows = [text for text, _ in plain]
        for place, text in enumerate(plain):
            if languages.needs_cutting(*text):
                cut[place] = [*languages.words(*text)]
                rows[place] = " ".join(word.form for word in cut[place])
        with _word_index() as index:
            index.executemany("insert into texts (rowid, text) values (?, ?)", enumerate(rows))
            sql = "select rowid, highlight(texts, 0, ?, ?) from texts where texts match ?"
            found = dict(index.execute(sql, [*_MARKS, match]).fetchall())
    highlighted = [
        _highlighted(found.get(place, text), text, cut.get(place, ()))
        for place, (text, _) in enumerate(plain)
    ]
    verbatim = "|".join(map(re.escape, planned.terms.exact_substrings))
    return [_marked_whole(verbatim, text) for text in highlighted] if verbatim else highlighted


def _marked_whole(verbatim: str, marked: MarkedText) -> MarkedText:
    """Return a text with C++ marked whole, of which FTS5 knows only the letter."""
    whole = re.finditer(verbatim, marked.text, re.IGNORECASE)
    found = [Span(*match.span(), MATCH) for match in whole]
    others = (
        each
        for each in marked.spans
        if not any(each.start < other.end and other.start < each.end for other in found)
    )
    return MarkedText(marked.text, tuple(sorted([*found, *others]))) if found else marked


def _highlighted(highlighted: str, text: str, words: Sequence[languages.Word]) -> MarkedText:
    """Return a text with the marks that FTS5 put around its indexed words.

    :param words: of the text, if it had to be cut for FTS5
    """
    found = MarkedText.read(highlighted)
    if found.text == text:
        return found
    opening, closing = _MARKS
    spans: list[tuple[int, int]] = []
    is_open = False
    for word, seen in zip(words, highlighted.split(" ")):
        goes_on = is_open or (spans and word.start <= spans[-1][1])
        if is_open or opening in seen:
            start = spans.pop()[0] if goes_on and spans else word.start
            spans.append((start, word.end))
        if opening in seen or closing in seen:
            is_open = seen.rfind(opening) > seen.rfind(closing)
    return MarkedText(text, tuple(Span(*span, MATCH) for span in spans))


def _with_substrings(planned: Plan, text: str) -> MarkedText:
    # Marks words inside of longer ones, and words in scripts without spaces.
    parts = sorted(map(re.escape, planned.terms.substrings), key=len, reverse=True)
    if planned.text_mode == "like":
        # What was typed as a whole, or else its words, but not the it of "quite".
        typed = re.escape(planned.terms.meaning)
        if re.search(typed, text, flags=re.IGNORECASE):
            parts = [typed]
        elif len(parts) > 1:
            parts = [rf"(?<!\w){part}(?!\w)" for part in parts]
    found = re.finditer("|".join(parts), text, flags=re.IGNORECASE) if parts else ()
    return MarkedText(text, tuple(Span(*match.span(), MATCH) for match in found))


def best_places(
    connection: sqlite3.Connection, planned: Plan, note_ids: Sequence[int]
) -> Mapping[int, MatchedText]:
    """Return the place in each note that matches the query's words best, by note id."""
    searched = planned.terms
    wanted = [] if _is_inside_words(planned) else expressions(planned)
    match = fts5.any_of(wanted)
    terms = [*map(str.lower, searched.phrases), *beginnings(searched)]
    if match is None:
        terms = [text.lower() for text in searched.substrings]
    if not terms or not note_ids:
        return {}
    candidates = list(_candidates(connection, note_ids, terms, wanted))
    if match is None:
        counts = [sum(term in each.text.lower() for term in terms) for each in candidates]
        scores = {number: -count for number, count in enumerate(counts) if count}
    else:
        rows = enumerate(_indexed(each.text, each.language) for each in candidates)
        with _word_index() as index:
            index.executemany("insert into places (rowid, text) values (?, ?)", rows)
            sql = "select rowid, rank from places where places match ?"
            scores = dict(index.execute(sql, [match]).fetchall())
    verbatim = [text.lower() for text in searched.exact_substrings]  # C++, which is c to FTS5
    # The note's own text comes before its files.
    best = sorted(
        (
            each.passage_id is None,
            -sum(text in each.text.lower() for text in verbatim),
            scores[n],
            n,
        )
        for n, each in enumerate(candidates)
        if n in scores
    )
    found: dict[int, MatchedText] = {}
    for *_, number in best:
        found.setdefault(candidates[number].note_id, candidates[number])
    return found


def _is_inside_words(planned: Plan) -> bool:
    # Whether the notes were found by parts of words.
    return planned.text_mode == "like" or not planned.has_matches


def _candidates(
    connection: sqlite3.Connection,
    note_ids: Sequence[int],
    terms: Sequence[str],
    wanted: Sequence[str],
) -> Iterator[MatchedText]:
    """Yield places that may have the terms: each note's passages in order, then its files."""
    notes = """
    select notes.id, coalesce(attachments, ''), attachment_names, language,
      case when first.text is null then coalesce(body, '') end
    from notes
    left join passages as first on first.note_id = notes.id and first.position = 0
    where notes.id in (select value from json_each(?))
    """  # nulls only in a damaged file
    ids = json.dumps(note_ids)
    for note_id, attachments, names, language, body in connection.execute(notes, [ids]):
        if body is None:
            for passage_id, text in _of_long_note(connection, note_id, terms, wanted):
                yield MatchedText(note_id, passage_id, "", text, language)
        else:
            sql = "select id, start, length from passages where note_id = ? order by position"
            passages = connection.execute(sql, [note_id]).fetchall()
            for passage_id, start, length in passages if attachments or passages[1:] else ():
                yield MatchedText(note_id, passage_id, "", body[start : start + length], language)
        for name, text in files_of(attachments, json_value(names, list)) if attachments else ():
            lower = text.lower()
            if places := [place for term in terms if (place := lower.find(term)) >= 0]:
                start = max(0, min(places) - FILE_TEXT // 3)
                yield MatchedText(note_id, None, name, text[start : start + FILE_TEXT], language)


def _of_long_note(
    connection: sqlite3.Connection, note_id: int, terms: Sequence[str], wanted: Sequence[str]
) -> list[tuple[int, str]]:
    """Return some passages for each word, so that common words don't crowd out the others."""
    found: set[int] = set()
    for match in wanted:
        sql = f"""
        select rowid from {LONG_NOTES} where {LONG_NOTES} match ? limit {MAX_PASSAGES_PER_WORD}
        """
        rows = connection.execute(sql, [f'note_id : "{note_id}" AND text : ({match})'])
        found.update(passage_id for (passage_id,) in rows)
    for term in () if wanted else terms:
        sql = f"""
        select id from passages
        where note_id = ? and position < {MAX_PASSAGES} and text like ? escape '^'
        limit {MAX_PASSAGES_PER_WORD}
        """
        rows = connection.execute(sql, [note_id, f"%{like_literal(term)}%"])
        found.update(passage_id for (passage_id,) in rows)
    sql = """
    select id, substr(text, 1, length) from passages
    where id in (select value from json_each(?))
    """
    return connection.execute(sql, [json.dumps([*found])]).fetchall()


@contextmanager
def _word_index() -> Iterator[sqlite3.Connection]:
    # One per thread, because creating the table takes as long as a page's texts. It is left empty.
    index: sqlite3.Connection | None = getattr(_of_thread, "index", None)
    if index is None:
        index = sqlite3.connect(":memory:", isolation_level=None)
        # Where no text is read again, FTS5 needn't store it.
        for table, options in (("texts", ""), ("places", "content='', ")):
            columns = f'text, {options}tokenize="{TOKENIZER}"'
            index.execute(f"create virtual table {table} using fts5({columns})")
        _of_thread.index = index
    index.execute("begin")
    try:
        yield index
    finally:
        index.execute("rollback")


_of_thread = threading.local()
