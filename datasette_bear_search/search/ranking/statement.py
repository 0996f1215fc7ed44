"""``Plan`` → the one SQL statement that finds and ranks notes, and the one that counts them.

Everything is derived from ``:q`` by SQL functions (``statement_functions``), so that people can
change the text on Datasette's SQL page. Common table expressions are in this module in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...index.file.nearest import candidates_sql, similarity
from ...index.file.schema import MAX_EMBEDDED, TEMPLATE_TEXT, VECTORS
from ..planning.planner import Plan

# Weights of the FTS5 columns title, body, tags, attachments. A title of weight 10 gains .01
# nDCG@10 on no test collection and loses .01 on two; text recognized in images is noisy.
COLUMN_WEIGHTS = "3.0, 1.0, 3.0, 0.5"

# Notes of the lexical retriever that get both scores. The others follow in its order.
LEXICAL_CANDIDATES = 100

# Passages of the dense retriever. Only the best one of each note counts.
NEAREST_PASSAGES = 300

# The similarity of a passage whose text many notes share is multiplied by this.
TEMPLATE_WEIGHT = 0.75
# Methods of fusion, which makes the score.
FUSIONS = ("blend", "rrf")

SORTS = ("relevance", "newest", "oldest", "title")

# Notes that are merely nearest, listed after the notes that are found.
WEAKER_MATCHES = 10


@dataclass(frozen=True)
class Ranking:
    """How to order the results, as far as the caller decides."""

    balance: float | None = None  # 0: words only … 1: meaning only; None: by the query's shape
    fusion: str = "blend"  # one of FUSIONS
    sort: str = "relevance"  # one of SORTS
    recency: float | None = None  # half-life in days; None: age doesn't matter
    rerank: str | None = None  # name of the reranker of the first results
    min_similarity: float | None = None  # threshold of closeness; None: the library's threshold
    found_only: bool = False  # whether to leave out notes that are merely nearest


DEFAULT_RANKING = Ranking()


@dataclass(frozen=True)
class Statement:
    """SQL that Datasette's own SQL page can run, and the values of its parameters."""

    sql: str
    parameters: dict[str, str | int | float]


# Textbook hybrid search, which the statement below refines.
TEXTBOOK = """\
with q as (select embed(meaning(:q)) as asked),
words as (
  select rowid as note_id, rank() over (order by bm25(notes_fts)) as rank
  from notes_fts
  where notes_fts match fts_query(:q)
),
meaning as (
  select note_id, rank() over (order by min(vec_distance_cosine(vector, asked))) as rank
  from q cross join _passage_index as near join _vectors on passage_id = near.rowid
  join passages on id = passage_id
  where asked is not null and k = nearest_candidates(:q)
    and embedding match vec_quantize_binary(vec_sub(asked, mean_vector()))
  group by note_id
)
select id, title, rrf(words.rank, meaning.rank) as score
from (select note_id from words union select note_id from meaning) join notes on id = note_id
left join words using (note_id) left join meaning using (note_id) order by score desc limit 10
"""


def search_statement(
    planned: Plan,
    retrievers: Sequence[str],
    ranking: Ranking = DEFAULT_RANKING,
    size: int = 20,
    offset: int = 0,
) -> Statement:
    """Return the ranking statement.

    :param retrievers: ``keyword`` (FTS5's BM25, or substrings if it finds nothing), ``like`` (only
        substrings), ``semantic`` (the nearest passages). Without any, the statement lists the notes
        that pass the filters, newest first.
    """
    parts, parameters = _retrieved(planned, retrievers, ranking)
    sort = ranking.sort
    if not retrievers:
        sort = "newest" if sort == "relevance" else sort
        parts.append(_listed(sort, size, offset))
    else:
        parts += [CANDIDATES_SQL, _scored(planned, retrievers, ranking)]
        # Such a page shows only candidates.
        is_shallow = sort == "relevance" and offset + size <= LEXICAL_CANDIDATES
        parts.append(_fused(planned, retrievers, ranking, is_shallow))
        weaker = f"weaker_matches({_q(planned)})" if len(retrievers) > 1 else f"{WEAKER_MATCHES}"
        is_complete = not is_shallow or _is_cut(retrievers, ranking)
        has_words = "" if is_complete else _has_words(planned, retrievers)
        parts.append(_page(has_words, "" if ranking.found_only else weaker, sort, size, offset))
    order = _order(sort, "is_found desc, " if retrievers else "")
    return Statement(statement_sql(parts, f"{HIT_ROWS_SQL}{order}\n"), parameters)


def matches_statement(planned: Plan, found: str | None) -> Statement:
    """Return a statement that returns the ids of all notes that a search finds, with commas.

    :param found: the ids that the ranking statement returned, a JSON array; None for a search
        without text, which finds all notes that pass the filters
    """
    if found:
        return Statement(_FOUND_AND_COPIES, {"found": found})
    # A search without a named source finds no copies, but its source's count includes them.
    parts, parameters = _retrieved(replace(planned, has_copies=False), ())
    matches = f"\nselect group_concat(id) from notes {_join_filtered('id')}"
    return Statement(statement_sql(parts, matches), parameters)


_FOUND_AND_COPIES = """
with found as (select value as note_id from json_each(:found))
select group_concat(note_id) from (
  select note_id from found
  union
  select id from notes where copy_of in (select note_id from found)
)"""


def statement_sql(parts: Sequence[str], rest: str) -> str:
    return f"with {','.join(parts).lstrip()}{rest}"


def close_condition(planned: Plan, retrievers: Sequence[str], ranking: Ranking) -> str:
    """Return the condition that a passage is closer in meaning than those found for nonsense."""
    if ranking.min_similarity is not None:
        return f"similarity >= {ranking.min_similarity:.4f}"
    least = f"closeness({_q(planned)})"
    if len(retrievers) == 1:
        least = f"{planned.threshold or 0.0:.4f}"
    known = f" and substr(foreign_notes({_q(planned)}), note_id, 1) <> x'01'"
    return f"similarity >= {least}{known if planned.foreign else ''}"


def _is_cut(retrievers: Sequence[str], ranking: Ranking) -> bool:
    # Only candidates have a similarity, so the other notes with the words aren't listed.
    return ranking.min_similarity is not None and "semantic" in retrievers


def _has_words(planned: Plan, retrievers: Sequence[str]) -> str:
    # All of the words, or half of their weight and of the BM25 that a good match has.
    least = f"bm25 >= least_bm25({_q(planned)})" if len(retrievers) > 1 else "bm25"
    return f"{least} and coverage + (bm25 >= enough_bm25({_q(planned)})) > 1"


def _similarity() -> str:
    weight = f"iif(text_kind = '{TEMPLATE_TEXT}', {TEMPLATE_WEIGHT}, 1)"
    return f"{weight} * (\n      {similarity('vector', QUERY_VECTOR)})"


def _q(planned: Plan) -> str:
    # The arguments of the SQL functions: the text and, unless it is normal, how to read it.
    return f":q, '{planned.text_mode}'" if planned.text_mode else ":q"


def _empty(name: str, *columns: str) -> str:
    nulls = ", ".join(f"null as {column}" for column in columns)
    return f"""
{name} as (
  select {nulls} where false
)"""


# --- Filters


def _retrieved(
    planned: Plan, retrievers: Sequence[str], ranking: Ranking = DEFAULT_RANKING
) -> tuple[list[str], dict[str, str | int | float]]:
    """Return the parts with filters and retrievers, and the parameters of the whole statement."""
    q, beside = _q(planned), planned.query.filters_beside
    conditions, values = beside.conditions()
    if planned.has_copies and not beside.names_source():
        conditions.append(f"(copy_of is null or names_source({q}))")
    parts = [_filtered(conditions, f"allowed_notes({q})")]
    if retrievers:
        parts.append(_exact(q))
        if "keyword" in retrievers:
            parts.append(_lexical(q))
        else:
            parts.append(_substrings(q) if "like" in retrievers else NO_LEXICAL)
        if "semantic" in retrievers:
            is_filtered = bool(planned.filters or conditions)
            close = close_condition(planned, retrievers, ranking)
            parts.append(_dense(q, is_filtered, planned.is_large, close))
        else:
            parts.append(NO_DENSE)
    return parts, {"q": planned.query.typed, **values}


def _join_filtered(note_id: str) -> str:
    return f"join filtered on ids is null or substr(ids, {note_id}, 1) = x'01'"


def _filtered(conditions: Sequence[str], allowed: str) -> str:
    if not conditions:
        return f"""
-- the set of ids that operators in :q allow; null: all
filtered as (select {allowed} as ids)"""
    where = "\n    and ".join(conditions)
    return f"""
-- the set of ids that the filters and operators in :q allow
filtered as (
  select note_set(group_concat(id)) as ids
  from notes
  where {where}
    and ifnull(substr({allowed}, id, 1) = x'01', 1)
)"""


# --- Retrievers


def _lexical(q: str) -> str:
    return f"""
-- words: BM25 of notes with any, coverage (0: few, 1: half by weight, 2: all); else parts of words
lexical as (
  select rowid as note_id, -bm25(notes_fts, {COLUMN_WEIGHTS}) as bm25,
    ifnull(instr(x'000102', substr(coverage({q}), rowid, 1)) - 1, 2) as coverage
  from notes_fts {_join_filtered("rowid")}
  where notes_fts match fts_query({q})
  union all select key + 0, value, 2 from json_each(substring_matches({q}))
  {_join_filtered("key")}
)"""


def _substrings(q: str) -> str:
    return f"""
-- notes that contain every part of the text as written
lexical as materialized (
  select key + 0 as note_id, value as bm25, 2 as coverage
  from json_each(substring_matches({q})) {_join_filtered("key")}
)"""


NO_LEXICAL = _empty("lexical", "note_id", "bm25", "coverage")
# So that the model is asked once, not wherever the vector is needed.
QUERY_VECTOR = "(select vector from q)"


def _dense(q: str, is_filtered: bool, is_large: bool, close: str) -> str:
    # Among allowed passages, operators in the text need no further candidates.
    k, allowed = f"nearest_candidates({q})", ""
    if is_filtered:
        k, allowed = "nearest_candidates('')", _join_filtered("note_id")
    candidates = candidates_sql("vector", k, is_large, allowed, row="q")
    return f"""
q as materialized (select embed(meaning({q})) as vector),
-- meaning: the nearest passages, the best one of each note
dense as materialized (
  select note_id, passage_id, max(similarity) as similarity,
    rank() over (order by max(similarity) desc) as dense_rank,
    count(*) filter (where {close}) as close_passages from (
    select note_id, passage_id, {_similarity()} as similarity
    from (
      {candidates}
    ) join {VECTORS} using (passage_id) join passages on passages.id = passage_id
    {_join_filtered("note_id")}
    order by similarity desc limit {NEAREST_PASSAGES}
  ) group by note_id
)"""


NO_DENSE = _empty("dense", "note_id", "passage_id", "similarity", "dense_rank", "close_passages")


# --- Scores


def _exact(q: str) -> str:
    return f"""
-- titles equal to the text (2), phrases and identifiers (1)
exact as materialized (
  select key + 0 as note_id, value as exact_level
  from json_each(exact_matches({q})) {_join_filtered("key")}
)"""


CANDIDATES_SQL = f"""
candidates as (
  select note_id from (select * from lexical order by bm25 desc, note_id limit {LEXICAL_CANDIDATES})
  union select note_id from dense union select note_id from exact
)"""


def _balance(planned: Plan, retrievers: Sequence[str], ranking: Ranking) -> str:
    if len(retrievers) == 1:
        return "1.0" if retrievers == ("semantic",) else "0.0"
    return f"balance({_q(planned)})" if ranking.balance is None else f"{ranking.balance:g}"


def _scored(planned: Plan, retrievers: Sequence[str], ranking: Ranking) -> str:
    # A note without a vector counts as near as the others on average, so that its words decide.
    q, balance = _q(planned), _balance(planned, retrievers, ranking)
    lexical = """\
left join exact using (note_id)
    left join (select *, rank() over (order by bm25 desc) as lexical_rank from lexical
      where note_id in candidates) using (note_id)"""
    dense = """left join (
      select note_id, passage_id, similarity, dense_rank from dense
    ) using (note_id)"""
    if ranking.fusion == "rrf" and not _is_cut(retrievers, ranking):
        return f"""
scored as materialized (
  select *, null as lexical_score, null as dense_score, null as blend
  from candidates {lexical}
    {dense}
)"""
    if len(retrievers) > 1:
        is_embedded = f"position < {MAX_EMBEDDED}"
        dense = f"""left join (select note_id, passage_id, similarity, dense_rank from dense
      union all select note_id, passage_id, max({_similarity()}), null
      from candidates cross join passages using (note_id) cross join {VECTORS} on passage_id = id
      where note_id not in (select note_id from dense) and {is_embedded}
        and {QUERY_VECTOR} is not null group by note_id
    ) using (note_id)"""
    return f"""
-- both scores relative to the best, and their blend
scored as materialized (
  select *, (1 - {balance}) * lexical_score
    + {balance} * coalesce(dense_score, avg(dense_score) over (), lexical_score) as blend from (
    select *,
      ifnull(bm25 / max(max(bm25) over (), bm25_normalizer({q})), 0) as lexical_score,
      max(similarity + 1, 0) / max(max(similarity) over () + 1, 1e-9) as dense_score
    from candidates {lexical}
    {dense})
)"""


def _fused(planned: Plan, retrievers: Sequence[str], ranking: Ranking, is_shallow: bool) -> str:
    score, scored, comment, further = "blend", "scored", "", ""
    is_cut = _is_cut(retrievers, ranking)
    has_words = _has_words(planned, retrievers)
    is_close = close_condition(planned, retrievers, ranking)
    if ranking.fusion == "rrf":
        score = "rrf(lexical_rank, dense_rank)"
    elif len(retrievers) > 1 and not planned.is_foreign:
        balance, most = _balance(planned, retrievers, ranking), LEXICAL_CANDIDATES
        score = "ifnull(refined, blend)"
        comment = f"""
-- the best after pseudo-relevance feedback and score regularization
refined as materialized (
  select key + 0 as note_id, value as refined from json_each((
    select refine(
      {QUERY_VECTOR}, vector, note_id, exact_level, blend, dense_score, {balance})
    from (select * from scored order by exact_level desc, blend desc, note_id limit {most})
    left join {VECTORS} using (passage_id)
  ))
),"""
        scored = "scored left join refined using (note_id)"
    if ranking.recency:
        # A note as old as the half-life keeps three quarters of its score, a very old one half.
        score += f" * (0.5 + 0.5 * decay(modified, {ranking.recency:g}))"
        scored += "\n  join (select id as note_id, modified from notes) using (note_id)"
    if is_cut:
        further = f"\n  where ifnull(similarity, 1) >= {ranking.min_similarity:.4f}"
    elif not is_shallow:
        # Only if the page goes beyond the candidates or has another order: there may be very many.
        further = f"""
  union all
  -- further notes that have the words
  select note_id, null, bm25, coverage, null, null, null, null, null, null, null, null, {has_words}
  from lexical
  where note_id not in candidates"""
    return f"""{comment}
fused as materialized (
  select scored.*, {score} as score,
    ifnull({has_words} or exact_level
      or {is_close}, false) as is_found
  from {scored}{further}
)"""


def _page(has_words: str, weaker: str, sort: str, size: int, offset: int) -> str:
    # Without weaker matches, only the notes that are found are listed.
    further, is_listed = "", "is_found"
    if weaker:
        is_listed = f"""is_found or bm25 or note_id in (
    select note_id from fused where not is_found and bm25 is null
    order by {_order("relevance")} limit {weaker})"""
    if has_words:
        # For a shallow page, the other notes that have the words aren't in ``fused``.
        further = f"""
    union all select note_id, {has_words}
    from lexical where note_id not in candidates"""
        if not weaker:
            further += f" and {has_words}"
    notes = "" if sort == "relevance" else " join notes on id = note_id"
    return f"""
-- found notes, others with any of the words, and a few that are only nearest
listed as materialized (
  select * from fused where {is_listed}
),
counts as materialized (
  select count(*) as total, count(*) filter (where is_found) as found,
    json_group_array(note_id) filter (where is_found) as found_ids,
    (select max(similarity) from fused) as closest,
    (select sum(close_passages) from dense) as close_passages from (
    select note_id, is_found from listed{further})
),
page as (
  select * from (select listed.* from listed{notes} order by
  {_order(sort, "is_found desc, ")} limit {int(size)} offset {int(offset)}), counts)"""


def _listed(sort: str, size: int, offset: int) -> str:
    return f"""
page as (
  select
    notes.id as note_id, null as score, null as blend, null as bm25, null as lexical_rank,
    null as similarity, null as dense_rank, null as exact_level, 1 as is_found, null as passage_id,
    null as closest, count(*) over () as total, count(*) over () as found,
    null as found_ids, null as close_passages
  from notes
  {_join_filtered("notes.id")}
  order by {_order(sort)} limit {int(size)} offset {int(offset)}
)"""


def _order(sort: str, first: str = "") -> str:
    by = {
        "relevance": "exact_level desc, score desc, bm25 desc, ",
        "newest": "modified desc, ",
        "oldest": "modified, ",
        "title": "title collate nocase, ",
    }
    return f"{first}{by[sort]}note_id"


HIT_ROWS_SQL = """
select id, title, language, page.* from page join notes on id = note_id
order by """
