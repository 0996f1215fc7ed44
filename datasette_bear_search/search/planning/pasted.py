"""A text → the notes that it was pasted from, whole or nearly."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

from ...query import fts5
from ...query.query import Query
from ...sqlite import sqlite3
from ...text import languages
from ...text.folding import normalized

# Fewer words, or fewer that say something, are in many notes: "what is the name of".
WORDS, CONTENT_WORDS = 5, 2
# Characters of a text in a script without spaces, which may have words of others, and of its runs.
CHARACTERS = 8
# Notes with one of RUNS runs of words are compared; the best NOTES of them, up to some length.
RUN, RUNS, NOTES, LONGEST_NOTE = 3, 3, 10, 100_000
# What is compared of the text, and how similar (100: the same) it must be to a part of the note. A
# mistyped letter in twelve words leaves 98, another word of six 92.
COMPARED, SIMILARITY = 300, 93
# Characters around that part in which a number of the text may stand.
LONGEST_NUMBER = 10
# Labels of links, addresses, file names and rows of tables name other notes and aren't sentences of
# this one. With them, TIL loses .016 nDCG@10, of which names such as how-to-drain-the-pipes.md .001
# (.004 on 467 titles of another TIL).
_NAMES = re.compile(
    rf"\[\[?(?:[^\s\[\]]+\s+){{{WORDS - 1},}}[^\[\]]*\]\]?|\b\w+://\S+"
    rf"|\b(?:[^\W\d_]+[-_/.]+){{{WORDS - 1},}}\S*"
    r"|^(?=[^|\n]*\|).*\S[ \t]\|[ \t].*$",
    re.MULTILINE,
)
_KOREAN = re.compile(languages.UNSPACED_LANGUAGES["ko"])  # which has spaces


class Pasted(NamedTuple):
    notes: tuple[int, ...]
    match: str  # FTS5 expression for runs of its words


def find(
    connection: sqlite3.Connection, query: Query, searched: Sequence[str], stop_words: Set[str]
) -> Pasted | None:
    """Return the notes that have this text, but for a slip; None if there are none.

    :param searched: the languages in whose word forms is searched
    """
    sentence = _NAMES.sub(".", query.text)
    runs = [] if query.mode == "like" else _runs(sentence, stop_words)
    found = [languages.in_languages(fts5.quoted(run), searched) for run in runs]
    match = fts5.any_of(found)
    if match is None:
        return None
    joint = "" if languages.is_unspaced(sentence) else " "
    text = _text(sentence, joint)[:COMPARED]
    # One slip leaves all of the runs but one.
    needed = fts5.any_of(f"(({a}) AND ({b}))" for a, b in combinations(found, 2))
    needed = needed if needed and len(found) == RUNS else match
    sql = f"""
    select notes.id, notes.title || ' ' || notes.body
    from notes_fts
    join notes on notes.id = notes_fts.rowid
    where notes_fts match ?
      and length(notes.body) between {len(text) // 2} and {LONGEST_NOTE}
    order by bm25(notes_fts)
    limit {NOTES}
    """
    candidates: list[tuple[int, str]] = []
    with suppress(sqlite3.DatabaseError):  # the search says so
        candidates = connection.execute(sql, [needed]).fetchall()
    similarities = {
        note_id: _similarity(_text(_NAMES.sub(".", body), joint), text)
        for note_id, body in candidates
    }
    best = max(similarities.values(), default=0.0)
    notes = tuple(note_id for note_id, each in similarities.items() if each == best > 0)
    return Pasted(notes, match) if notes else None


def _similarity(body: str, text: str) -> float:
    """Return how similar a text is to the most similar part of a note; 0 if it isn't from it."""
    from rapidfuzz import fuzz

    # With the shorter text as the part, a note of one word would be like any text that has it.
    if len(body) < len(text):
        return 0.0
    found = fuzz.partial_ratio_alignment(text, body, score_cutoff=SIMILARITY)
    if found is None:
        return 0.0
    # Another number isn't a slip. The part that is most like the text may end before it.
    part = body[max(0, found.dest_start - LONGEST_NUMBER) : found.dest_end + LONGEST_NUMBER]
    has_numbers = all(re.search(rf"(?<!\d){number}", part) for number in re.findall(r"\d+", text))
    return found.score if has_numbers else 0.0


def _text(text: str, joint: str) -> str:
    return joint.join(re.findall(r"[^\W_]+", normalized(text).casefold()))


def _runs(text: str, stop_words: Set[str]) -> list[str]:
    """Return runs of words by which to look for notes, the telling ones of a text."""
    words = languages.tokens(text)
    if languages.is_unspaced(text) and not _KOREAN.search(text):
        return _long_runs(words)
    is_content = [word.lower() not in stop_words for word in words]
    if len(words) < WORDS or sum(is_content) < CONTENT_WORDS:
        return []
    best: list[int] = []  # apart from each other, so that one slip isn't in all of them
    starts = range(len(words) - RUN + 1)
    for start in sorted(starts, key=lambda start: -sum(is_content[start : start + RUN])):
        if len(best) < RUNS and all(abs(start - other) >= RUN for other in best):
            best.append(start)
    return [" ".join(words[start : start + RUN]) for start in best]


def _long_runs(words: Sequence[str]) -> list[str]:
    runs, run = [], ""
    for word in words:
        run = f"{run} {word}".strip()
        if len(run) >= CHARACTERS:
            runs.append(run)
            run = ""
    return runs[:RUNS]
