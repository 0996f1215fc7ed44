"""SQL functions of the ranking statement: facts about the text in ``:q``, and scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import languages
from ..index.database import unrelated_distance
from ..index.schema import MAX_EMBEDDED
from ..index.vectors import MAX_CANDIDATES, candidates, note_set
from ..query import fts5
from ..query.filters import Filters
from ..query.query import Query, parse
from ..sqlite import interruption, like_literal, read_value, sqlite3, wrong_argument
from .planner import Plan, plan
from .sql import COLUMN_WEIGHTS, WEAKER_MATCHES

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# Reciprocal Rank Fusion's constant (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
# outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009).
RRF_K = 60

# Pseudo-relevance feedback (Rocchio, in "The SMART Retrieval System", 1971): the best passages of
# the first results are added to the query vector with this weight. This gains .008 nDCG@10 on
# average; more notes or a higher weight gain no more.
FEEDBACK_NOTES = 3
FEEDBACK_WEIGHT = 0.5

# Score regularization (Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005): similar notes
# should have similar scores. The score of each of the first results moves by this share toward the
# mean of its five nearest neighbors. This gains .004 nDCG@10 on average and loses on no collection;
# 20 to 100 results, 3 to 10 neighbors and .2 to .4 differ by .002.
REGULARIZED_NOTES = 30
NEIGHBORS = 5
REGULARIZATION = 0.3

# Matches of parts of words are ranked by age: the newest and the oldest differ by this much.
RECENCY_WEIGHT = 0.001

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
    _plans[id(connection)] = (planned.query.typed, planned.reading, version), planned


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
    """Return a JSON object of levels by note id: 2 for notes whose title is the text.

    1 for phrases and identifiers; .5 if the title begins with the text and completes its last word.
    """
    query = planned.query
    title = _title(query)
    found: dict[int, float] = {}
    if query.beginning and planned.reading != "like":
        # Not if the last word is complete: preferring such titles then loses .001 nDCG@10.
        sql = "select id, title from notes where title collate nocase between ? and ?"
        rows = connection.execute(sql, [title, title + "\U0010ffff"])
        found = {note: 0.5 for note, other in rows if other[len(title) :][:1].isalnum()}
    if query.exact and planned.reading != "like":
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
    if planned.reading != "like":
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
    return query.meaning if query.understood else query.text


def _ids(connection: sqlite3.Connection, sql: str, *values: str) -> list[int]:
    return [note_id for (note_id,) in connection.execute(sql, values)]


# --- scores: fusion of ranks, decay by age, feedback and regularization


def rrf(*ranks: Any) -> float | None:
    """Return the sum of 1/(60 + rank) over 1-based ranks that aren't NULL; NULL if all are."""
    return rrf_weighted(RRF_K, *(argument for rank in ranks for argument in (1, rank)))


def rrf_weighted(k: Any = RRF_K, *weights_and_ranks: Any) -> float | None:
    """Return the sum of weight/(k + rank) over pairs of weight and rank; skip NULLs.

    A value that isn't a number, or a rank below 1, counts as NULL instead of ending the query.
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
    """Return 0.5 ^ (age / half-life), 1 for the future, NULL for NULL or an invalid timestamp.

    :param timestamp: ISO 8601, which may be only a year or month; UTC if it has no time zone
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
    """Aggregate: the refined blend of each row, as a JSON object by id; NULL if there are no rows.

    ``refine(query_vector, vector, id, level, blend, dense_score, balance)``: vectors are float32
    BLOBs of one length. A row without a vector keeps its blend; a row without a blend is left out.
    Similarities are relative to unrelated texts, as in the statement.

    1. Feedback: the weighted mean vector of the first rows, by ``level`` and ``blend``, is added to
       the query's vector. ``blend`` changes by ``balance`` times the change of ``dense_score``,
       which is (similarity + 1) relative to the best.
    2. Regularization: the ``blend`` of each of the first rows then moves toward the mean of its
       nearest neighbors, weighted by their squared similarity.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._unrelated = unrelated_distance(connection)
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
        with suppress(TypeError, ValueError):  # a value that isn't a number mustn't end the query
            numbers = float(self._balance), self._unrelated
            refined |= _refined(query, comparable, *numbers) if comparable else {}
        return json.dumps(refined)


def _refined(
    query: bytes, rows: Sequence[tuple[Any, ...]], balance: float, unrelated: float
) -> dict[Any, float]:
    """Return refined blends by id, from rows of (vector, id, level, blend, dense score)."""
    import numpy

    # The operator @ would start threads, which takes longer than einsum does.
    ids = [row[1] for row in rows]
    level, blend, dense = numpy.array([row[2:] for row in rows], "f8").T
    vectors = numpy.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)
    vectors = vectors / _lengths(vectors)[:, None]
    first = numpy.lexsort((ids, -blend, -level))[:FEEDBACK_NOTES]
    ranks = 1 / numpy.arange(1, len(first) + 1, dtype="f4")
    weights = numpy.array([1, *FEEDBACK_WEIGHT * ranks / ranks.sum()])
    asked = numpy.vstack([numpy.frombuffer(query, "<f4"), vectors[first]])
    # Products with a sum of vectors, and its length, from the similarities of the vectors: so they
    # are relative to unrelated texts, too.
    products = numpy.einsum("i,ij->j", weights, _similarities(asked, vectors, unrelated))
    square = numpy.einsum("i,ij,j->", weights, _similarities(asked, asked, unrelated), weights)
    scores = numpy.clip(products / max(square, 1e-12) ** 0.5 + 1, 0, None)
    blend += balance * (scores / max(scores.max(), 1e-9) - dense)
    first = numpy.lexsort((ids, -blend, -level))[:REGULARIZED_NOTES]
    around = _neighborhood(_similarities(vectors[first], vectors[first], unrelated), blend[first])
    blend[first] += REGULARIZATION * (around - blend[first])
    return dict(zip(ids, blend.tolist()))


def _similarities(some: NDArray[Any], others: NDArray[Any], unrelated: float) -> NDArray[Any]:
    """Return the similarity of each row of ``some`` and ``others``, as similarity() in vectors."""
    import numpy

    return 1 - (1 - numpy.einsum("in,jn->ij", some, others)) / unrelated


def _neighborhood(similarities: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Return the weighted mean score of each row's nearest neighbors; its own if it has none."""
    import numpy

    similarities = numpy.clip(similarities, 0, None)
    numpy.fill_diagonal(similarities, 0)
    nearest = numpy.argsort(-similarities, axis=1, kind="stable")[:, :NEIGHBORS]
    weights = numpy.take_along_axis(similarities, nearest, axis=1) ** 2
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
