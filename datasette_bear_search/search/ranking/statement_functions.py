"""SQL functions of the ranking statement that derive facts from ``:q``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import languages
from ...index.file.schema import MAX_EMBEDDED
from ...index.file.vectors import MAX_CANDIDATES, candidates, note_set
from ...query import fts5
from ...query.filters import Filters
from ...query.query import Query, parse
from ...sqlite import interruption, like_literal, read_value, sqlite3
from ..planning.planner import Plan, plan
from .statement import COLUMN_WEIGHTS, WEAKER_MATCHES

if TYPE_CHECKING:
    pass


from .scores import RECENCY_WEIGHT, Refine

# A note that lacks the query's last word but has words that begin with it gets this share of their
# BM25, so that it ranks below notes with the word itself.
BEGINNING_WEIGHT = 0.25

# An FTS5 expression that matches no note. NULL would be an error.
NO_WORDS = '""'

# LIKE takes 13 ms for 15 MB. instr(lower(…)) copies the texts and takes 94 ms.
# For a huge note, only its embedded passages are searched.
_LIKE = "like '%' || value || '%' escape '^'"
HAS = f"""
  title {_LIKE} or tags {_LIKE} or attachments {_LIKE} or case when {{id}} in (
    select note_id from passages where position = 0 and text is not null
  ) then exists (
    select 1 from passages
    where note_id = {{id}} and position < {MAX_EMBEDDED} and text {_LIKE}
  ) else body {_LIKE} end
"""

# Each connection's last plan, with its key: text, reading and data_version of the index file.
_plans: dict[int, tuple[tuple[str, str, int | None], Plan]] = {}


# --- facts about the text
#
# Each function takes the text and, optionally, how to read it: ``'like'`` (as it is written) or
# ``'uncorrected'``. A text is planned once per statement.


def remember(connection: sqlite3.Connection, planned: Plan) -> None:
    """Give the functions a plan, so that they needn't make it again."""
    # Within a transaction the file can't change, so its version needn't be checked.
    version = None if connection.in_transaction else _version(connection)
    _plans[id(connection)] = (planned.query.typed, planned.text_mode, version), planned


def planned_for(connection: sqlite3.Connection, text: str, reading: str = "") -> Plan:
    """Return the plan for a text. Call :func:`register` for the connection first."""
    key, planned = _plans.get(id(connection), (None, None))
    if planned and connection.in_transaction and key == (text, reading, None):
        return planned
    if planned is None or key != (text, reading, _version(connection)):
        query = parse(text, "like" if reading == "like" else "auto")
        planned = plan(connection, query, correct=not reading)
        _plans[id(connection)] = (text, reading, _version(connection)), planned
    return planned


def _version(connection: sqlite3.Connection) -> int:
    return int(read_value(connection, "pragma data_version"))


def register(connection: sqlite3.Connection) -> None:
    """Add the functions that read ``:q``, and ``refine()``, to a connection to an index file."""
    # A closed connection may have had the same id.
    _plans.pop(id(connection), None)
    for name, function in {
        "fts_query": lambda _, planned: planned.match or NO_WORDS,
        "meaning": lambda _, planned: planned.query.meaning,
        "balance": lambda _, planned: planned.balance,
        "bm25_normalizer": lambda _, planned: planned.bm25_normalizer,
        "least_bm25": lambda _, planned: planned.least_bm25,
        "nearest_candidates": nearest_candidates,
        "closeness": lambda _, planned: planned.closeness,
        "foreign_notes": foreign_notes,
        "weaker_matches": lambda _, planned: 0 if planned.is_exact else WEAKER_MATCHES,
        "names_source": lambda _, planned: planned.query.typed_filters.names_source(),
        "allowed_notes": allowed_notes,
        "exact_matches": exact_matches,
        "substring_matches": substring_matches,
    }.items():
        # Deterministic, or SQLite would call them once per row.
        connection.create_function(name, -1, _of_text(connection, function), deterministic=True)
    languages.register(connection)
    connection.create_aggregate("refine", 7, partial(Refine, connection))


def _of_text(connection: sqlite3.Connection, function: Callable[..., Any]) -> Callable[..., Any]:
    def called(text: Any = None, reading: Any = "", *more: str) -> Any:
        with interruption(connection):
            planned = planned_for(connection, str(text or ""), str(reading))
            return function(connection, planned, *more)

    return called


def nearest_candidates(connection: sqlite3.Connection, planned: Plan) -> int:
    """Return how many candidates to find by binary quantization."""
    # Operators typed into :q on Datasette's SQL page filter the candidates only afterward.
    has_filters = bool(planned.query.typed_filters)
    return MAX_CANDIDATES if has_filters else candidates(connection)


def allowed_notes(connection: sqlite3.Connection, planned: Plan, *tags: str) -> bytes | None:
    """Return the set of notes that the text's operators allow; None if it has no operators.

    :param tags: tags required by the other filters; a note may be pinned within one of them
    """
    conditions, values = (planned.query.typed_filters & Filters({"tag": tags})).conditions()
    if not conditions:
        return None
    sql = f"select group_concat(id) from notes where {' and '.join(conditions)}"
    return note_set(read_value(connection, sql, values))


def foreign_notes(connection: sqlite3.Connection, planned: Plan) -> bytes:
    """Return the set of notes in languages that the model wasn't made for, unless the text is."""
    sql = "select group_concat(id) from notes where language in (select value from json_each(?))"
    return note_set(read_value(connection, sql, [json.dumps(sorted(planned.foreign))]))


def exact_matches(connection: sqlite3.Connection, planned: Plan) -> str:
    """Return a JSON object of exact levels by note id: 2 for notes whose title is the text.

    1 for phrases and identifiers; .5 if the title begins with the text and completes its last word.
    """
    query = planned.query
    title = _title(query)
    found: dict[int, float] = {}
    if query.unfinished_word and planned.text_mode != "like":
        # Not if the last word is complete: preferring such titles then loses .001 nDCG@10.
        sql = "select id, title from notes where title collate nocase between ? and ?"
        rows = connection.execute(sql, [title, title + "\U0010ffff"])
        found = {note: 0.5 for note, other in rows if other[len(title) :][:1].isalnum()}
    if query.exact and planned.text_mode != "like":
        # To the word index "C++" is "c", so check the text itself, too.
        sql = f"""
        select rowid
        from notes_fts
        where notes_fts match in_languages(?)
          and not exists (
            select 1 from json_each(?) where not ({HAS.format(id="notes_fts.rowid")})
          )
        """
        substrings = _literals(query.exact_substrings)
        found |= dict.fromkeys(_ids(connection, sql, query.exact, substrings), 1)
    sql = "select id from notes where title = ? collate nocase"
    found.update(dict.fromkeys(_ids(connection, sql, _title(query)), 2))
    return json.dumps(found)


def substring_matches(connection: sqlite3.Connection, planned: Plan) -> str:
    """Return a JSON object of scores by note id, of notes that lack the words themselves.

    They have words that begin with the last word or, if no note has the words, contain the words as
    parts of longer ones.
    """
    found: dict[int, float] = {}
    query = planned.query
    if planned.text_mode != "like":
        if planned.beginnings:
            found = _prefix_matches(connection, planned)
        if found or planned.has_matches:
            return json.dumps(found)
    sql = f"""
    select id, instr(lower(title), lower(?)) > 0
    from notes
    where not exists (select 1 from json_each(?) where not ({HAS.format(id="notes.id")}))
    order by modified desc, id
    """
    substrings = _literals(query.substrings)
    rows = connection.execute(sql, [_title(query), substrings]).fetchall()
    recency = RECENCY_WEIGHT / max(len(rows), 1)
    return json.dumps(
        {note: 1 + in_title - place * recency for place, (note, in_title) in enumerate(rows)}
    )


def _prefix_matches(connection: sqlite3.Connection, planned: Plan) -> dict[int, float]:
    sql = f"""
    select rowid, {BEGINNING_WEIGHT} * -bm25(notes_fts, {COLUMN_WEIGHTS})
    from notes_fts
    where notes_fts match in_languages(?)
    """
    # Both in all languages, so none of these notes is also found by the word itself.
    words = fts5.any_of(map(fts5.quoted, planned.beginnings))
    expression = f"({words}) NOT ({planned.query.match})"
    return dict(connection.execute(sql, [expression]).fetchall())


def _literals(texts: Iterable[str]) -> str:
    return json.dumps([like_literal(text) for text in texts], ensure_ascii=False)


def _title(query: Query) -> str:
    # The title that a note must have to count as an exact match.
    return query.meaning if query.clauses else query.text


def _ids(connection: sqlite3.Connection, sql: str, *values: str) -> list[int]:
    return [note_id for (note_id,) in connection.execute(sql, values)]
