"""SQL functions of the statement that ranks: what it needs to know of ``:q``, and its scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .. import languages
from ..index.schema import MAX_EMBEDDED
from ..index.vectors import MAX_CANDIDATES, candidates, note_set
from ..query import fts5
from ..query.filters import Filters
from ..query.query import Query, parse
from ..sqlite import like_literal, sqlite3, wrong_argument
from .planner import Plan, plan
from .sql import COLUMN_WEIGHTS, WEAKER_MATCHES

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# Reciprocal Rank Fusion's constant (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
# outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009).
RRF_K = 60

# Pseudo-relevance feedback (Rocchio, in "The SMART Retrieval System", 1971): the best passages of
# the first results move the query vector by this weight. Gains .008 nDCG@10 on average, and more
# notes or weight gain no more.
FEEDBACK_NOTES = 3
FEEDBACK_WEIGHT = 0.5

# Score regularization (Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005): notes that are
# alike are worth about the same. Each score of the first results moves by this share toward those
# of the five others most like it. Gains .004 nDCG@10 on average, and loses on no test collection;
# 20 to 100 results, 3 to 10 others and .2 to .4 differ by .002.
REGULARIZED_NOTES = 30
NEIGHBORS = 5
REGULARIZATION = 0.3

# What the notes with the words inside of others differ by, from the newest to the oldest.
RECENCY_WEIGHT = 0.001

# Of a note without the last word, but with words that it may be the beginning of: this share of
# their BM25, so that it stands below those that have the word itself.
BEGINNING_WEIGHT = 0.25

# FTS5's expression that no note matches; NULL is an error.
NO_WORDS = '""'

# Not instr(lower(…)), which copies the texts: 15 MB take 94 ms so, and 13 ms with LIKE.
# Of a huge note, only what is embedded of it is searched.
_LIKE = "like '%' || value || '%' escape '^'"
HAS = f"""
  title {_LIKE} or tags {_LIKE} or attachments {_LIKE} or case when {{id}} in (
    select note_id from passages where position = 0 and text is not null
  ) then exists (
    select 1 from passages
    where note_id = {{id}} and position < {MAX_EMBEDDED} and text {_LIKE}
  ) else body {_LIKE} end
"""

# The plan that each connection used last, by text, reading, and state of the index file.
_plans: dict[int, tuple[tuple[str, str, int | None], Plan]] = {}


# --- what is to be known of the text
#
# Each function takes the text, and may take how it is to be read: ``'like'`` as it is written, or
# ``'uncorrected'``. A text is planned once a statement.


def remember(connection: sqlite3.Connection, planned: Plan) -> None:
    """Let the functions use a plan instead of making it again."""
    # Within a transaction the file stays as it is, which they then needn't ask.
    version = None if connection.in_transaction else _version(connection)
    _plans[id(connection)] = (planned.query.typed, planned.reading, version), planned


def planned_for(connection: sqlite3.Connection, text: str, reading: str = "") -> Plan:
    """Return the plan for a text, on a connection that :func:`register` was called for."""
    key, planned = _plans.get(id(connection), (None, None))
    if planned and connection.in_transaction and key == (text, reading, None):
        return planned
    if planned is None or key != (text, reading, _version(connection)):
        query = parse(text, "like" if reading == "like" else "auto")
        planned = plan(connection, query, correct=not reading)
        _plans[id(connection)] = (text, reading, _version(connection)), planned
    return planned


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma data_version").fetchone()[0])


def register(connection: sqlite3.Connection) -> None:
    """Give a connection to an index file the functions that read ``:q``, and ``refine()``."""
    # Another connection may have had the same id.
    _plans.pop(id(connection), None)
    for name, function in {
        "fts_query": lambda _, planned: planned.match or NO_WORDS,
        "meaning": lambda _, planned: planned.query.meaning,
        "balance": lambda _, planned: planned.balance,
        "bm25_normalizer": lambda _, planned: planned.bm25_normalizer,
        "least_bm25": lambda _, planned: planned.least_bm25,
        "nearest_candidates": nearest_candidates,
        "closeness": lambda _, planned: planned.closeness,
        "weaker_matches": lambda _, planned: 0 if planned.is_exact else WEAKER_MATCHES,
        "names_source": lambda _, planned: planned.query.typed_filters.names_source(),
        "allowed_notes": allowed_notes,
        "exact_matches": exact_matches,
        "substring_matches": substring_matches,
    }.items():
        # Deterministic, or SQLite would call them once a row.
        connection.create_function(name, -1, _of_text(connection, function), deterministic=True)
    languages.register(connection)
    connection.create_aggregate("refine", 7, Refine)


def _of_text(connection: sqlite3.Connection, function: Callable[..., Any]) -> Callable[..., Any]:
    def called(text: Any = None, reading: Any = "", *more: str) -> Any:
        try:
            planned = planned_for(connection, str(text or ""), str(reading))
            return function(connection, planned, *more)
        except sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                # The time limit is the whole statement's.
                connection.interrupt()
            raise

    return called


def nearest_candidates(connection: sqlite3.Connection, planned: Plan) -> int:
    """Return how many passages are looked for by their signs."""
    # Operators that are typed into :q on Datasette's SQL page are looked at behind them.
    has_filters = bool(planned.query.typed_filters)
    return MAX_CANDIDATES if has_filters else candidates(connection)


def allowed_notes(connection: sqlite3.Connection, planned: Plan, *tags: str) -> bytes | None:
    """Return the notes that the text's operators allow, as a set; None if it has none.

    :param tags: that are demanded beside the text, within which a note may be pinned
    """
    conditions, values = (planned.query.typed_filters & Filters({"tag": tags})).conditions()
    if not conditions:
        return None
    sql = f"select group_concat(id) from notes where {' and '.join(conditions)}"
    [ids] = connection.execute(sql, values).fetchone()
    return note_set(ids)


def exact_matches(connection: sqlite3.Connection, planned: Plan) -> str:
    """Return a JSON object of notes: 2 if the title is the text, 1 for phrases and identifiers.

    And .5 if the title goes on where the text breaks off in a word.
    """
    query = planned.query
    title = _title(query)
    found: dict[int, float] = {}
    if query.beginning and planned.reading != "like":
        # Of a whole word such titles are not better: they lose .001 nDCG@10.
        sql = "select id, title from notes where title collate nocase between ? and ?"
        rows = connection.execute(sql, [title, title + "\U0010ffff"])
        found = {note: 0.5 for note, other in rows if other[len(title) :][:1].isalnum()}
    if query.exact and planned.reading != "like":
        # The word index takes C++ for c.
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
    """Return a JSON object of notes and scores: those that the word index can't find by words.

    The last word may be the beginning of another; where no note has the words, they may be parts of
    longer ones.
    """
    found: dict[int, float] = {}
    query = planned.query
    if planned.reading != "like":
        if planned.beginnings:
            found = _begun(connection, planned)
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


def _begun(connection: sqlite3.Connection, planned: Plan) -> dict[int, float]:
    sql = f"""
    select rowid, {BEGINNING_WEIGHT} * -bm25(notes_fts, {COLUMN_WEIGHTS})
    from notes_fts
    where notes_fts match in_languages(?)
    """
    words = fts5.any_of(map(fts5.quoted, planned.beginnings))
    expression = f"({words}) NOT ({planned.query.match})"
    return dict(connection.execute(sql, [expression]).fetchall())


def _literals(texts: Iterable[str]) -> str:
    return json.dumps([like_literal(text) for text in texts], ensure_ascii=False)


def _title(query: Query) -> str:
    # What a title must be to be what was asked for.
    return query.meaning if query.understood else query.text


def _ids(connection: sqlite3.Connection, sql: str, *values: str) -> list[int]:
    return [note_id for (note_id,) in connection.execute(sql, values)]


# --- scores: ranks fused, age, feedback and regularization


def rrf(*ranks: Any) -> float | None:
    """Return the sum of 1/(60 + rank) over 1-based ranks that aren't NULL; NULL if all are."""
    return rrf_weighted(RRF_K, *(argument for rank in ranks for argument in (1, rank)))


def rrf_weighted(k: Any = RRF_K, *weights_and_ranks: Any) -> float | None:
    """Return the sum of weight/(k + rank) over pairs of weight and rank; NULL pairs don't count.

    What isn't a number, and a rank below 1, counts as NULL: a function must not end the query.
    """
    constant = _number(k)
    if constant is None:
        return None
    total = None
    for weight, rank in zip(weights_and_ranks[::2], weights_and_ranks[1::2]):
        weight, rank = _number(weight), _number(rank)
        if weight is not None and rank is not None and rank >= 1 and constant + rank > 0:
            total = (total or 0.0) + weight / (constant + rank)
    return total


def decay(timestamp: Any, half_life_days: Any) -> float | None:
    """Return 0.5 ^ (age / half-life), 1 for now or later; NULL for NULL and what is no time.

    :param timestamp: ISO 8601, a year or a month, too; without a time zone it is UTC
    """
    if timestamp is None or half_life_days is None:
        return None
    half_life = _number(half_life_days)
    if half_life is None or half_life <= 0:
        raise wrong_argument(f"decay: the half-life must be days, not {half_life_days!r}")
    text = str(timestamp).strip()
    if _YEAR_OR_MONTH.fullmatch(text):
        text += "-01-01"[len(text) - 4 :]
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    age = (datetime.now(timezone.utc) - moment).total_seconds() / 86400
    return float(0.5 ** (max(age, 0.0) / half_life))


_YEAR_OR_MONTH = re.compile(r"[0-9]{4}(-[0-9]{2})?", re.ASCII)


class Refine:
    """Aggregate: the refined blend of each row, as a JSON object by its id; NULL of no rows.

    ``refine(query_vector, vector, id, level, blend, dense_score, balance)``: vectors are float32
    BLOBs of one length. A row without one keeps its blend; one without a blend isn't in the object.

    1. The mean of the query's vector and those of the first rows, by ``level`` and ``blend``, takes
       the place of the query's: ``blend`` changes by ``balance`` times the change of
       ``dense_score``, which is a cosine + 1 as a share of the best.
    2. Each of the first rows then moves toward the mean ``blend`` of the rows most like it, which
       count by their squared cosine.
    """

    def __init__(self) -> None:
        self._query: Any = None
        self._balance: Any = None
        self._rows: list[tuple[Any, ...]] = []

    def step(
        self, query: Any, vector: Any, row_id: Any, level: Any, blend: Any, dense: Any, balance: Any
    ) -> None:
        self._query, self._balance = query, balance
        self._rows.append((vector, row_id, level or 0, blend, dense))

    def finalize(self) -> str | None:
        query, rows = self._query, [row for row in self._rows if row[3] is not None]
        if not rows:
            return None
        refined = {row_id: blend for _, row_id, _, blend, _ in rows}
        size = len(query) if isinstance(query, bytes) and len(query) % 4 == 0 else 0
        comparable = [row for row in rows if isinstance(row[0], bytes) and len(row[0]) == size]
        with suppress(TypeError, ValueError):  # what is no number must not end the query
            refined |= _refined(query, comparable, float(self._balance)) if comparable else {}
        return json.dumps(refined)


def _refined(query: bytes, rows: Sequence[tuple[Any, ...]], balance: float) -> dict[Any, float]:
    """Return the refined blend by id, of rows of vector, id, level, blend and dense score."""
    import numpy

    # Not by @, whose threads take longer to wake up than this takes.
    ids = [row[1] for row in rows]
    level, blend, dense = numpy.array([row[2:] for row in rows], "f8").T
    vectors = numpy.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)
    vectors = vectors / _lengths(vectors)[:, None]
    first = numpy.lexsort((ids, -blend, -level))[:FEEDBACK_NOTES]
    weights = 1 / numpy.arange(1, len(first) + 1, dtype="f4")
    mean = numpy.einsum("i,ij->j", weights / weights.sum(), vectors[first])
    feedback = numpy.frombuffer(query, "<f4") + FEEDBACK_WEIGHT * mean
    cosines = numpy.einsum("ij,j->i", vectors, feedback) / _lengths(feedback)
    blend += balance * ((cosines + 1) / max(cosines.max() + 1, 1e-9) - dense)
    first = numpy.lexsort((ids, -blend, -level))[:REGULARIZED_NOTES]
    around = _neighborhood(vectors[first], blend[first])
    blend[first] += REGULARIZATION * (around - blend[first])
    return dict(zip(ids, blend.tolist()))


def _neighborhood(vectors: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Return the mean score of the others most like each row; of one without any, its own."""
    import numpy

    cosines = numpy.clip(numpy.einsum("in,jn->ij", vectors, vectors), 0, None)
    numpy.fill_diagonal(cosines, 0)
    nearest = numpy.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBORS]
    weights = numpy.take_along_axis(cosines, nearest, axis=1) ** 2
    totals = weights.sum(axis=1)
    means = (weights * scores[nearest]).sum(axis=1) / numpy.maximum(totals, 1e-12)
    return numpy.where(totals > 0, means, scores)


def _lengths(vectors: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    import numpy

    return numpy.maximum(numpy.linalg.norm(vectors, axis=-1), 1e-12)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number else None
