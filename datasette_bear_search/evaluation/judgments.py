"""Judgments: that a note is what somebody looked for with a query, or that it isn't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..notes import ForeseenError
from ..sqlite import sqlite3

THIS_WAS_IT, NOT_IT = 1, 0  # the grades that a person gives
# Characters of a query that are kept: no more than the search reads of it.
QUERY_CHARACTERS = 1000


class EvaluationError(ForeseenError):
    """Nothing can be measured."""


@dataclass(frozen=True)
class JudgedQuery:
    """A query and the notes that answer it."""

    id: str
    text: str
    grades: Mapping[int, int]  # note id → grade: above 0 is an answer, and the higher the better


@dataclass(frozen=True)
class QuerySet:
    """Queries to measure a search with."""

    name: str
    queries: tuple[JudgedQuery, ...]
    left_out: int  # queries without a known answer


def answered(name: str, queries: Sequence[JudgedQuery], none_message: str) -> QuerySet:
    """Return the queries with an answer, or raise EvaluationError if there are none."""
    kept = tuple(query for query in queries if max(query.grades.values(), default=0) > 0)
    if not kept:
        raise EvaluationError(none_message)
    return QuerySet(name, kept, len(queries) - len(kept))


def normalized(query: str) -> str:
    """Return the form in which a query is judged: the same words, however they are spaced."""
    return " ".join(query.split())[:QUERY_CHARACTERS]


def store(connection: sqlite3.Connection, query: str, source: str, key: str, grade: int) -> None:
    """Keep whether a note answers a query, in place of an earlier judgment."""
    connection.execute(
        """
        insert into judgments (query, source, key, grade, judged)
        values (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
        on conflict (query, source, key)
        do update set grade = excluded.grade, judged = excluded.judged
        """,
        [normalized(query), source, key, grade],
    )


def forget(connection: sqlite3.Connection, query: str, source: str, key: str) -> None:
    sql = "delete from judgments where query = ? and source = ? and key = ?"
    connection.execute(sql, [normalized(query), source, key])


def grades(connection: sqlite3.Connection, query: str) -> dict[tuple[str, str], int]:
    """Return the judgments of a query: (source, key) → grade."""
    sql = "select source, key, grade from judgments where query = ?"
    rows = connection.execute(sql, [normalized(query)])
    return {(source, key): grade for source, key, grade in rows}


def judged_queries(connection: sqlite3.Connection) -> QuerySet:
    """Return every judged query, less notes no longer indexed, or raise EvaluationError."""
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
    return answered(
        "Your judgments",
        queries,
        "No note was found to be the right one yet. Open the search page with: datasette "
        "bear-serve. Search as you always do, and press “Right note” below the note that you were "
        "looking for.",
    )
