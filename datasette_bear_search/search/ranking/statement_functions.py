"""SQL functions of the ranking statement that derive facts from ``:q``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from operator import and_
from typing import Any
from weakref import ref

from ...index.file.database import file_state
from ...index.file.nearest import MAX_CANDIDATES, candidates, note_set
from ...index.file.schema import MAX_EMBEDDED
from ...query import fts5
from ...query.query import parse
from ...sqlite import interruption, like_literal, read_value, sqlite3
from ...text import languages
from ..planning.planner import Plan, plan
from ..planning.words import ContentWord
from .scores import RECENCY_WEIGHT, Refine
from .statement import COLUMN_WEIGHTS, WEAKER_MATCHES

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


# To the word index "C++" is "c", so the text itself is checked, too.
_VERBATIM = (
    f" and not exists (select 1 from json_each(?) where not ({HAS.format(id='notes_fts.rowid')}))"
)


def register(connection: sqlite3.Connection) -> None:
    """Add the functions that read ``:q``, and ``refine()``, to a connection to an index file."""
    functions = SearchFunctions(connection)
    for name, function in {
        "fts_query": lambda planned: planned.match or NO_WORDS,
        "meaning": lambda planned: planned.terms.meaning,
        "balance": lambda planned: planned.balance,
        "bm25_normalizer": lambda planned: planned.bm25_normalizer,
        "least_bm25": lambda planned: planned.least_bm25,
        "enough_bm25": lambda planned: planned.enough_bm25,
        "coverage": functions.coverage,
        "closeness": lambda planned: planned.closeness,
        "foreign_notes": functions.foreign_notes,
        "weaker_matches": lambda planned: 0 if planned.is_exact else WEAKER_MATCHES,
        "names_source": lambda planned: planned.text_filters.names_source(),
        "allowed_notes": functions.allowed_notes,
        "exact_matches": functions.exact_matches,
        "substring_matches": functions.substring_matches,
    }.items():
        # Deterministic, or SQLite would call them once per row.
        connection.create_function(name, -1, functions.of_text(function), deterministic=True)
    count = functions.nearest_candidates
    connection.create_function("nearest_candidates", -1, count, deterministic=True)
    connection.create_function("search_functions", 0, functions.hand_over)
    connection.create_aggregate("refine", 7, partial(Refine, connection))
    languages.register(connection)


def functions_of(connection: sqlite3.Connection) -> SearchFunctions:
    """Return the functions that were registered for a connection."""
    # SQLite keeps them for it. Python's connections have no room, not even for a weak reference.
    connection.execute("select search_functions()").fetchone()
    functions: SearchFunctions = _asking.functions()
    return functions


_asking = threading.local()  # SQLite calls a function in the thread that runs the statement


class SearchFunctions:
    """The SQL functions of one connection to an index file that derive facts from ``:q``.

    Each takes the text and, optionally, how to read it: ``'like'`` (as it is written) or
    ``'uncorrected'``. A text is planned once per statement, unless ``plan`` was set to its plan.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._file = file_state(connection)[:2]
        self._plan: Plan | None = None
        self._having: dict[ContentWord, bytes] = {}  # notes with each of the plan's words
        self._version: int | None = None  # of the file, when the plan was made or set

    @property
    def is_replaced(self) -> bool:
        """Whether another file, or none, is now where the connection's file was."""
        return file_state(self._connection)[:2] != self._file

    @property
    def plan(self) -> Plan | None:
        return self._plan

    @plan.setter
    def plan(self, planned: Plan) -> None:
        self._plan, self._having, self._version = planned, {}, self._data_version()

    def _data_version(self) -> int | None:
        # Within a transaction the file can't change, so its version needn't be read.
        connection = self._connection
        return None if connection.in_transaction else read_value(connection, "pragma data_version")

    def _plan_of(self, text: str, reading: str) -> Plan:
        known = self._plan
        is_same = known and (known.query.typed, known.text_mode) == (text, reading)
        if known is None or not is_same or self._version != self._data_version():
            query = parse(text, "like" if reading == "like" else "auto")
            self.plan = known = plan(self._connection, query, correct=not reading)
        return known

    def hand_over(self) -> None:
        _asking.functions = ref(self)

    def of_text(self, function: Callable[[Plan], Any]) -> Callable[..., Any]:
        """Return the SQL function that calls one with the plan of its text."""

        def called(text: Any = None, reading: Any = "") -> Any:
            with interruption(self._connection):
                return function(self._plan_of(str(text or ""), str(reading)))

        return called

    def nearest_candidates(self, text: Any = "", reading: Any = "") -> int:
        """Return how many candidates to find by binary quantization."""
        # Operators typed into :q on Datasette's SQL page filter the candidates only afterward. The
        # text is empty if the statement filters them itself: planning it would replace the plan.
        with interruption(self._connection):
            has_filters = text and self._plan_of(str(text), str(reading)).text_filters
            return MAX_CANDIDATES if has_filters else candidates(self._connection)

    def allowed_notes(self, planned: Plan) -> bytes | None:
        """Return the set of notes that the text's operators allow; None if it has no operators."""
        conditions, values = planned.text_filters.conditions()
        if not conditions:
            return None
        sql = f"select group_concat(id) from notes where {' and '.join(conditions)}"
        return note_set(read_value(self._connection, sql, values))

    def coverage(self, planned: Plan) -> bytes | None:
        """Return each note's coverage of the text's words, a byte a note; None: all cover them.

        2: it has all of them; 1: at least half of them, by weight; 0: fewer.
        """
        if planned.pasted:
            return note_set(",".join(map(str, planned.pasted.notes)))
        if not planned.enough:
            return None
        words = sorted(planned.content, key=lambda word: -word.weight)
        # As numbers, so that & and | take whole sets at once.
        sets = [int.from_bytes(self.having(word), "little") for word in words]
        weights = [word.weight for word in words]
        most = _at_least(planned.enough * sum(weights), [*zip(sets, weights)])
        levels = most + reduce(and_, sets)
        return levels.to_bytes(levels.bit_length() // 8 + 1, "little")  # never NULL

    def having(self, word: ContentWord) -> bytes:
        """Return the set of notes that have a word of the plan."""
        if word not in self._having:
            sql = "select group_concat(rowid) from notes_fts where notes_fts match ?"
            values = [word.match]
            if word.verbatim:
                sql += _VERBATIM
                values.append(_literals([word.verbatim]))
            self._having[word] = note_set(read_value(self._connection, sql, values))
        return self._having[word]

    def foreign_notes(self, planned: Plan) -> bytes:
        """Return the set of notes in languages that the model wasn't made for; empty if q is."""
        sql = """
        select group_concat(id) from notes where language in (select value from json_each(?))
        """
        return note_set(read_value(self._connection, sql, [json.dumps(sorted(planned.foreign))]))

    def exact_matches(self, planned: Plan) -> str:
        """Return a JSON object of levels by note id: 2 for notes whose title is the text.

        1 for phrases and identifiers; .5 if the title begins with the text and completes its last
        word.
        """
        terms, title = planned.terms, _title(planned)
        found: dict[int, float] = {}
        if planned.query.unfinished_word and planned.text_mode != "like":
            # Not if the last word is complete: preferring such titles then loses .001 nDCG@10.
            sql = "select id, title from notes where title collate nocase between ? and ?"
            rows = self._connection.execute(sql, [title, title + "\U0010ffff"])
            found = {note: 0.5 for note, other in rows if other[len(title) :][:1].isalnum()}
        if planned.pasted:
            found |= dict.fromkeys(planned.pasted.notes, 1)
        elif terms.exact and planned.text_mode != "like":
            sql = f"select rowid from notes_fts where notes_fts match in_languages(?){_VERBATIM}"
            substrings = _literals(terms.exact_substrings)
            found |= dict.fromkeys(self._ids(sql, terms.exact, substrings), 1)
        sql = "select id from notes where title = ? collate nocase"
        found.update(dict.fromkeys(self._ids(sql, title), 2))
        return json.dumps(found)

    def substring_matches(self, planned: Plan) -> str:
        """Return a JSON object of scores by note id, of notes that lack the words themselves.

        They have words that begin with the last word or, if no note has the words, contain the
        words as parts of longer ones.
        """
        found: dict[int, float] = {}
        if planned.text_mode != "like":
            if planned.beginnings:
                found = self._prefix_matches(planned)
            if found or planned.has_matches:
                return json.dumps(found)
        sql = f"""
        select id, instr(lower(title), lower(?)) > 0
        from notes
        where not exists (select 1 from json_each(?) where not ({HAS.format(id="notes.id")}))
        order by modified desc, id
        """
        substrings = _literals(planned.terms.substrings)
        rows = self._connection.execute(sql, [_title(planned), substrings]).fetchall()
        recency = RECENCY_WEIGHT / max(len(rows), 1)
        return json.dumps(
            {note: 1 + in_title - place * recency for place, (note, in_title) in enumerate(rows)}
        )

    def _prefix_matches(self, planned: Plan) -> dict[int, float]:
        sql = f"""
        select rowid, {BEGINNING_WEIGHT} * -bm25(notes_fts, {COLUMN_WEIGHTS})
        from notes_fts
        where notes_fts match ?
        """
        words = planned.in_forms(" OR ".join(map(fts5.quoted, planned.beginnings)))
        # None of these notes is also found by the word itself.
        expression = f"({words}) NOT ({planned.match})"
        return dict(self._connection.execute(sql, [expression]).fetchall())

    def _ids(self, sql: str, *values: str) -> list[int]:
        return [note_id for (note_id,) in self._connection.execute(sql, values)]


def _at_least(needed: float, weighted: Sequence[tuple[int, float]]) -> int:
    """Return the set of notes that are in sets of this weight."""
    if needed > sum(weight for _, weight in weighted):
        return 0
    (notes, weight), *others = weighted
    without = _at_least(needed, others) if others else 0
    return without | (notes if needed <= weight else notes & _at_least(needed - weight, others))


def _literals(texts: Iterable[str]) -> str:
    return json.dumps([like_literal(text) for text in texts], ensure_ascii=False)


def _title(planned: Plan) -> str:
    # The title that a note must have to count as an exact match.
    return planned.terms.meaning if planned.query.clauses else planned.query.text
