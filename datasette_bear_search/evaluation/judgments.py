"""Queries for a person's own library: the ones they judged, or ones made from the notes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..index.file.schema import WORD_INDEX
from ..notes import ForeseenError
from ..query.query import MAX_QUERY_CHARACTERS
from ..sqlite import sqlite3
from ..text.languages import WORD
from ..text.markdown import plain_text

THIS_WAS_IT, NOT_IT = 1, 0  # the grades that a person gives


class EvaluationError(ForeseenError):
    """Nothing can be measured."""


@dataclass(frozen=True)
class JudgedQuery:
    id: str
    text: str
    grades: Mapping[int, int]  # note id → grade: above 0 is an answer, higher is better


@dataclass(frozen=True)
class QuerySet:
    name: str
    queries: tuple[JudgedQuery, ...]
    left_out: int = 0  # queries without a known answer
    notices: tuple[str, ...] = ()
    chooses: bool = False  # whether these queries may choose a setting


def answered(name: str, queries: Sequence[JudgedQuery], *, chooses: bool = False) -> QuerySet:
    """Return a set of the queries that have an answer, which may be empty."""
    kept = tuple(query for query in queries if max(query.grades.values(), default=0) > 0)
    return QuerySet(name, kept, len(queries) - len(kept), chooses=chooses)


def normalized(query: str) -> str:
    """Return the form under which a query's judgments are stored, with single spaces."""
    return " ".join(query.split())[:MAX_QUERY_CHARACTERS]


def store(
    connection: sqlite3.Connection, query: str, source: str, key: str, grade: int | None
) -> None:
    """Store whether a note answers a query, in place of an earlier judgment; None takes it back."""
    judged = [normalized(query), source, key]
    if grade is None:
        sql = "delete from judgments where query = ? and source = ? and key = ?"
        connection.execute(sql, judged)
        return
    connection.execute(
        """
        insert into judgments (query, source, key, grade, judged)
        values (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
        on conflict (query, source, key)
        do update set grade = excluded.grade, judged = excluded.judged
        """,
        [*judged, grade],
    )


def grades(connection: sqlite3.Connection, query: str) -> dict[tuple[str, str], int]:
    """Return the judgments of a query: (source, key) → grade."""
    sql = "select source, key, grade from judgments where query = ?"
    rows = connection.execute(sql, [normalized(query)])
    return {(source, key): grade for source, key, grade in rows}


def judged_queries(connection: sqlite3.Connection) -> QuerySet | None:
    """Return the judged queries, without notes that left the index; None if none has an answer."""
    grades_by_query: dict[str, dict[int, int]] = {}
    for query, note_id, grade in connection.execute(
        """
        select judgments.query, notes.id, judgments.grade
        from judgments
        left join notes on notes.source = judgments.source and notes.key = judgments.key
        order by judgments.id
        """
    ):
        known = grades_by_query.setdefault(query, {})
        if note_id is not None:
            known[note_id] = grade
    queries = [JudgedQuery(query, query, known) for query, known in grades_by_query.items()]
    judged = answered("Your judgments", queries, chooses=True)
    return judged if judged.queries else None


# --- questions made from the notes

# The number of questions (200 can show a difference of .05 in nDCG@10), and of words in one.
KNOWN_ITEMS, MIN_ITEM_WORDS, MAX_ITEM_WORDS = 200, 4, 16
# Minimum sum of 1 / (notes with the word): "here is how I did that" would fit any note.
LEAST_RARITY = 0.3
# Characters of a note that are searched for its rarest sentence.
LOOKED_AT = 20_000
HOW = (
    "To measure that, open the search page with: datasette bear-serve. Turn on “Judge results” in "
    "its options, search as usual, and click “Right note” below the note that you were looking for."
)
PROVES = (
    "You haven't judged any results yet, so these questions are generated from the notes. Each one "
    "is a heading or sentence of a note, without the words that no other note has.",
    "They show whether notes are found again and whether the index is complete. Because they use "
    "the notes' own words, they favor search by words. They don't show how well questions in other "
    f"words are answered, or which setting is best for you. {HOW}",
)

# The same notes every time, in an arbitrary order, without copies from other sources.
_SAMPLE = f"""
select id, title, substr(body, 1, {LOOKED_AT})
from notes
where copy_of is null and not encrypted and not trashed and length(body) > 100
order by (id * 2654435761) % 4294967296
"""


def known_items(connection: sqlite3.Connection, count: int = KNOWN_ITEMS) -> QuerySet:
    """Return questions made from notes; the answer to each is the note that it comes from.

    After Azzopardi, de Rijke and Balog, "Building simulated queries for known-item topics", SIGIR
    2007, but with all words of a sentence instead of words drawn one by one.

    :raises EvaluationError: if no note has enough text
    """

    @cache
    def notes_with(word: str) -> int:
        found = connection.execute(
            f"""
            select count(*)
            from (select 1 from {WORD_INDEX} where {WORD_INDEX} match ? limit 1000)
            """,
            [f'"{word}"'],
        )
        return int(found.fetchone()[0])

    queries = []
    for note_id, title, body in connection.execute(_SAMPLE):
        asked: dict[str, float] = {}
        for text in _PARTS.split(plain_text(_CODE.sub("\n", body))):
            words = [] if "://" in text else WORD.findall(text)
            shared = [word for word in words if notes_with(word) > 1]
            has_length = len(words) <= MAX_ITEM_WORDS and len(shared) >= MIN_ITEM_WORDS
            if has_length and text.strip() != title:
                asked[" ".join(shared)] = sum(1 / notes_with(word) for word in set(shared))
        text = max(asked, key=lambda each: asked[each], default="")
        if text and asked[text] >= LEAST_RARITY:
            queries.append(JudgedQuery(str(note_id), text, {note_id: THIS_WAS_IT}))
        if len(queries) == count:
            break
    if not queries:
        raise EvaluationError(
            "You haven't judged any results, and no note has enough text to generate a question. "
            f"{HOW}"
        )
    return QuerySet("Questions generated from your notes", tuple(queries), notices=PROVES)


_PARTS = re.compile(r"(?<=[.!?])\s+|\n+")
# Skip code blocks: nobody remembers a note by a line of its code.
_CODE = re.compile(r"^[ \t>]*(?P<marks>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=marks)|\Z)", re.M | re.S)
