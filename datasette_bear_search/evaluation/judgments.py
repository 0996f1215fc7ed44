"""Judged queries: a person's own, which are stored in the index file, or a collection's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..notes import ForeseenError
from ..query.query import MAX_QUERY_CHARACTERS
from ..sqlite import sqlite3

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


def answered(name: str, queries: Sequence[JudgedQuery], if_none: str) -> QuerySet:
    """Return a set of the queries that have an answer, or raise EvaluationError(if_none)."""
    kept = tuple(query for query in queries if max(query.grades.values(), default=0) > 0)
    if not kept:
        raise EvaluationError(if_none)
    return QuerySet(name, kept, len(queries) - len(kept))


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


def judged_queries(connection: sqlite3.Connection) -> QuerySet:
    """Return the judged queries, without notes that left the index.

    :raises EvaluationError: if none has an answer
    """
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
    if_none = (
        "You haven't judged any results, so there is nothing to measure. Open the search page "
        "with: datasette bear-serve. Turn on “Rate results” in its options, search as usual, "
        "and click “Right note” below the note that you were looking for."
    )
    return answered("Your judgments", queries, if_none)
