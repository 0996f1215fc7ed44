"""SQL functions that derive from ``:q`` what the statement that ranks needs.

Each takes the text, and may take how it is to be read: ``'like'`` as it is written, or
``'uncorrected'``. A text is planned once a statement.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..index.vectors import note_set
from ..query.query import Query, parse
from ..sqlite import sqlite3
from .planner import Plan, plan
from .scoring import Refine
from .sql import COLUMN_WEIGHTS

# BM25 of a word that is searched for anywhere in the text: about that of one in 2 % of the notes.
ANYWHERE_WEIGHT = 4.0
# What the notes with the words inside of others differ by, from the newest to the oldest.
RECENCY_WEIGHT = 0.001

# FTS5's expression that no note matches; NULL is an error.
NO_WORDS = '""'

TEXT = "lower(title || ' ' || body || ' ' || tags || ' ' || attachments)"

# The plan that each connection used last, by text, reading, and state of the index file.
_plans: dict[int, tuple[tuple[str, str, int], Plan]] = {}


def remember(connection: sqlite3.Connection, planned: Plan) -> None:
    """Let the functions use a plan instead of making it again."""
    key = planned.query.text, planned.reading, _version(connection)
    _plans[id(connection)] = key, planned


def planned_for(connection: sqlite3.Connection, text: str, reading: str = "") -> Plan:
    """Return the plan for a text, on a connection that :func:`register` was called for."""
    key, planned = _plans.get(id(connection), (None, None))
    if planned is None or key != (text, reading, _version(connection)):
        query = parse(text, "like" if reading == "like" else "auto")
        planned = plan(connection, query, correct=not reading)
        _plans[id(connection)] = (text, reading, _version(connection)), planned
    return planned


def _version(connection: sqlite3.Connection) -> int:
    [version] = connection.execute("pragma data_version").fetchone()
    return int(version)


def register(connection: sqlite3.Connection) -> None:
    """Give a connection to an index file the functions that read ``:q``, and ``refine()``."""
    # Another connection may have had the same id.
    _plans.pop(id(connection), None)
    for name, function in {
        "fts_query": lambda _, planned: planned.query.match or NO_WORDS,
        "meaning": lambda _, planned: planned.query.meaning,
        "balance": lambda _, planned: planned.balance,
        "bm25_normalizer": lambda _, planned: planned.bm25_normalizer,
        "names_source": lambda _, planned: planned.query.typed_filters.names_source(),
        "allowed_notes": allowed_notes,
        "exact_matches": exact_matches,
        "substring_matches": substring_matches,
    }.items():
        # Deterministic, or SQLite would call them once a row.
        connection.create_function(name, -1, _of_text(connection, function), deterministic=True)
    connection.create_aggregate("refine", 7, Refine)


def _of_text(
    connection: sqlite3.Connection, function: Callable[[sqlite3.Connection, Plan], Any]
) -> Callable[..., Any]:
    def called(text: Any = None, reading: Any = "") -> Any:
        try:
            return function(connection, planned_for(connection, str(text or ""), str(reading)))
        except sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                # The time limit is the whole statement's.
                connection.interrupt()
            raise

    return called


def allowed_notes(connection: sqlite3.Connection, planned: Plan) -> bytes | None:
    """Return the notes that the text's operators allow, as a set; None if it has none."""
    conditions, values = planned.query.typed_filters.conditions()
    if not conditions:
        return None
    sql = f"select group_concat(id) from notes where {' and '.join(conditions)}"
    [ids] = connection.execute(sql, values).fetchone()
    return note_set(ids)


def exact_matches(connection: sqlite3.Connection, planned: Plan) -> str:
    """Return a JSON object of notes: 2 if the title is the text, 1 for phrases and identifiers."""
    query = planned.query
    found = {}
    if query.exact and planned.reading != "like":
        # The word index takes C++ for c.
        sql = f"""
        select rowid
        from notes_fts
        where notes_fts match ?
          and not exists (
            select 1 from json_each(?) where instr({TEXT}, lower(value)) = 0
          )
        """
        substrings = json.dumps(query.exact_substrings, ensure_ascii=False)
        found = dict.fromkeys(_ids(connection, sql, query.exact, substrings), 1)
    sql = "select id from notes where title = ? collate nocase"
    found.update(dict.fromkeys(_ids(connection, sql, _title(query)), 2))
    return json.dumps(found)


def substring_matches(connection: sqlite3.Connection, planned: Plan) -> str:
    """Return a JSON object of notes and scores: those that the word index can't find by words.

    In scripts without spaces a word may stand anywhere; where no note has the words, they may be
    parts of longer ones.
    """
    found: dict[int, float] = {}
    query = planned.query
    if planned.reading != "like":
        if planned.anywhere:
            found = _anywhere(connection, planned)
        if found or planned.has_matches:
            return json.dumps(found)
    sql = f"""
    select id, instr(lower(title), lower(?)) > 0
    from notes
    where not exists (select 1 from json_each(?) where instr({TEXT}, lower(value)) = 0)
    order by modified desc, id
    """
    substrings = json.dumps(query.substrings, ensure_ascii=False)
    rows = connection.execute(sql, [_title(query), substrings]).fetchall()
    recency = RECENCY_WEIGHT / max(len(rows), 1)
    return json.dumps(
        {note: 1 + in_title - place * recency for place, (note, in_title) in enumerate(rows)}
    )


def _anywhere(connection: sqlite3.Connection, planned: Plan) -> dict[int, float]:
    sql = f"""
    select note_id, sum(bm25)
    from (
      select rowid as note_id, -bm25(notes_fts, {COLUMN_WEIGHTS}) as bm25
      from notes_fts
      where notes_fts match ?
      union all
      select notes.id, {ANYWHERE_WEIGHT}
      from notes
      join json_each(?) on instr({TEXT}, lower(json_each.value)) > 0
    )
    group by note_id
    """
    words = json.dumps(planned.anywhere, ensure_ascii=False)
    return dict(connection.execute(sql, [planned.query.match or NO_WORDS, words]).fetchall())


def _title(query: Query) -> str:
    # What a title must be to be what was asked for.
    return query.meaning if query.understood else query.text


def _ids(connection: sqlite3.Connection, sql: str, *values: str) -> list[int]:
    return [note_id for (note_id,) in connection.execute(sql, values)]
