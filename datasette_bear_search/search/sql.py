"""``Plan`` → the one SQL statement that finds and ranks notes, and the one that counts them.

Its parts, common table expressions, stand here in the order in which they run. A retriever that
takes no part is an empty table of the same columns. "View as SQL" shows the whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ..index.schema import VECTORS
from .planner import Plan

# Weights of the FTS5 columns title, body, tags, attachments. A title of weight 10 gains .01
# nDCG@10 on no test collection and loses .01 on two; text recognized in images is noisy.
COLUMN_WEIGHTS = "3.0, 1.0, 3.0, 0.5"

# Passages that the dense retriever finds. Several passages of a note count once, so this is more
# than the notes that anyone pages through.
NEAREST_PASSAGES = 300

# Notes that have a lexical rank. More would cost sorting all of them.
RANKED = 1000

# BM25 of a word that is searched for anywhere in the text: about that of one in 2 % of the notes.
ANYWHERE_WEIGHT = 4.0

# Notes of each retriever that are scored by both. Further notes with the words follow in order.
CANDIDATES = 100

# The best of poor matches isn't a good one: BM25 is divided by at least this share of what all the
# words could have. Without it, a note that has one word of a question comes first.
BM25_NORMALIZER = 0.7

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
REGULARIZATION = 0.3

# Around matches in a snippet: characters that no note should have; markup replaces them.
MARK, END_MARK = "\x02", "\x03"
ELLIPSIS = "…"
SNIPPET_TOKENS = 40

# What makes the score.
FUSIONS = {"blend": "blend", "rrf": "rrf(keyword_rank, semantic_rank)"}

SORTS = ("relevance", "newest", "oldest", "title")


@dataclass(frozen=True)
class Ranking:
    """How results are ordered, where the caller decides."""

    balance: float | None = None  # 0 words alone … 1 meaning alone; None: by the shape of the query
    fusion: str = "blend"  # one of FUSIONS
    sort: str = "relevance"  # one of SORTS
    recency: float | None = None  # half-life in days; None: age doesn't matter
    rerank: str | None = None  # name of the reranker of the first results


DEFAULT_RANKING = Ranking()


@dataclass(frozen=True)
class Statement:
    """SQL that Datasette's own SQL page can run, and the values of its parameters."""

    sql: str
    parameters: dict[str, str | int | float]


def search_statement(
    planned: Plan,
    retrievers: Sequence[str],
    ranking: Ranking = DEFAULT_RANKING,
    size: int = 20,
    offset: int = 0,
) -> Statement:
    """Return the statement that ranks.

    :param retrievers: ``keyword`` is FTS5's BM25 (and substrings where it finds nothing), ``like``
        substrings alone, ``semantic`` the nearest passages. With none of them the statement lists
        what the filters allow, newest first.
    """
    parts, parameters = _filters_and_parameters(planned, retrievers)
    is_filtered, sort = bool(parts), ranking.sort
    has_words, is_semantic = "keyword" in retrievers, "semantic" in retrievers
    if not retrievers:
        sort = "newest" if sort == "relevance" else sort
        parts.append(_listed(is_filtered, sort, size, offset))
    else:
        parameters["bm25_normalizer"] = BM25_NORMALIZER * planned.max_bm25
        balance = planned.balance if has_words or "like" in retrievers else 1.0
        parameters["balance"] = balance if is_semantic else 0.0
        # Such a page shows candidates only: each retriever gives enough of them.
        is_shallow = sort == "relevance" and offset + size <= CANDIDATES
        is_pruned = has_words and is_shallow and planned.pruned_match is not None
        if is_pruned:
            parameters["pruned_match"] = planned.pruned_match or ""
        score, is_close = FUSIONS[ranking.fusion], IS_CLOSE if is_semantic else "false"
        if ranking.recency:
            # A note as old as the half-life keeps three quarters of its score, an ancient one half.
            score = f"{score} * (0.5 + 0.5 * decay(modified, :half_life))"
            parameters["half_life"] = ranking.recency
        parts.append(_dense(is_filtered) if is_semantic else NO_DENSE)
        parts.append(_exact(is_filtered, "exact" in parameters))
        if has_words:
            parts.append(_words(is_filtered, "anywhere" in parameters, is_pruned))
        if has_words or "like" in retrievers:
            parts.append(_substrings(is_filtered, has_words, "anywhere" in parameters))
            parts.append(_lexical(has_words))
        else:
            parts.append(NO_LEXICAL)
        parts += [BOTH_CANDIDATES, DENSE_SCORES if is_semantic else NO_DENSE_SCORES, SCORED]
        ranked = "scored"
        if len(retrievers) > 1:
            parts += [FEEDBACK, REGULARIZED]
            ranked = "regularized"
        if not is_shallow:
            parts.append(_with_further(ranked, is_close))
            ranked = "with_further"
        # Notes are looked up one by one: only where the order follows from more than the query.
        has_notes = bool(ranking.recency) or sort != "relevance"
        parts.append(_fused(ranked, score, is_close, has_notes))
        if is_shallow:
            parts.append(_further(is_filtered, is_close, is_pruned))
        # In any order but relevance, what isn't close would stand among what is.
        found_only = is_semantic and sort != "relevance"
        parts.append(_page(is_shallow, found_only, sort, size, offset))
    parts.append(SNIPPETS if has_words else NO_SNIPPETS)
    order = _order(sort, "page.", "notes.")
    return Statement(statement_sql(parts, f"{ROWS}\norder by {order}\n"), parameters)


def matches_statement(planned: Plan, retrievers: Sequence[str], rest: str) -> Statement:
    """Return a statement about all notes that a search finds, in its table ``matches``.

    A note is found if it has one of the words, if its title is the query, or if it is close in
    meaning. That depends on the note alone: filters take notes away, they add none. These are the
    very notes that the statement that ranks calls ``is_found``; it lists the nearest in meaning,
    too, however far they are.

    :param rest: parts that may read ``matches`` (some notes are in it more than once), and a select
    """
    parts, parameters = _filters_and_parameters(planned, retrievers)
    is_filtered, matches = bool(parts), []
    if retrievers:
        has_words, anywhere = "keyword" in retrievers, "anywhere" in parameters
        if has_words:
            parts.append(_words(is_filtered, anywhere, scored=False))
            matches.append("note_id from words")
        if has_words or "like" in retrievers:
            parts.append(_substrings(is_filtered, has_words, anywhere))
            matches.append("note_id from substrings")
        if "semantic" in retrievers:
            parts.append(_dense(is_filtered))
            matches.append(f"note_id from dense where {IS_CLOSE}")
        parts.append(_exact(is_filtered, "exact" in parameters))
        matches.append("note_id from exact")
    else:
        matches.append(f"id as note_id from notes{_where_allowed(is_filtered)}")
    parts.append(_matches(matches))
    return Statement(statement_sql(parts, f",{rest}"), parameters)


def statement_sql(parts: Sequence[str], rest: str) -> str:
    """Return the text of a whole statement."""
    return f"with{','.join(parts)}{rest}"


def _filters_and_parameters(
    planned: Plan, retrievers: Sequence[str]
) -> tuple[list[str], dict[str, str | int | float]]:
    query = planned.query
    conditions, values = query.filters.conditions()
    parameters: dict[str, str | int | float] = {**values}
    if retrievers:
        # What a title must be to be what was asked for.
        parameters["q"] = query.meaning if query.understood else query.text
    if "keyword" in retrievers:
        parameters["match"] = query.match or ""
        if planned.anywhere:
            parameters["anywhere"] = json.dumps(planned.anywhere, ensure_ascii=False)
        if query.exact:
            parameters["exact"] = query.exact
            parameters["exact_substrings"] = json.dumps(query.exact_substrings, ensure_ascii=False)
    if "keyword" in retrievers or "like" in retrievers:
        parameters["substrings"] = json.dumps(query.substrings, ensure_ascii=False)
    if "semantic" in retrievers:
        parameters["meaning"] = query.meaning
        parameters["threshold"] = planned.threshold or 0.0
    return [_filtered(conditions)] if conditions else [], parameters


# --- What the filters allow


def _filtered(conditions: Sequence[str]) -> str:
    where = "\n    and ".join(conditions)
    return f"""
-- what the filters allow; once more as a set of bytes, 1 for a note that is in it: SQLite takes
-- longer to sort many ids into an index than for all the rest
filtered as not materialized (
  select id
  from notes
  where {where}
),
filtered_set as materialized (
  select note_set(group_concat(id)) as ids
  from filtered
)"""


def _and_allowed(is_filtered: bool, note_id: str) -> str:
    if not is_filtered:
        return ""
    return f"\n    and substr((select ids from filtered_set), {note_id}, 1) = x'01'"


def _where_allowed(is_filtered: bool) -> str:
    return "\n  where notes.id in (select id from filtered)" if is_filtered else ""


def empty_cte(name: str, *columns: str) -> str:
    nulls = ", ".join(f"null as {column}" for column in columns)
    return f"""
{name} as (
  select {nulls}
  where false
)"""


# --- Dense retriever: the passages nearest to the query

# Values in a URL are text, and text is greater than any number.
IS_CLOSE = "similarity >= :threshold + 0"


def _dense(is_filtered: bool) -> str:
    only = ", (select ids from filtered_set)" if is_filtered else ""
    return f"""
-- meaning: the query as a vector, and the passages nearest to it
query_vector as materialized (
  select embed(:meaning) as vector
),
nearest as materialized (
  select key + 0 as passage_id, value as similarity
  from json_each(
    nearest_passages((select vector from query_vector), {NEAREST_PASSAGES}{only})
  )
),
-- the best passage stands for its note
dense as materialized (
  select
    note_id, passage_id, similarity,
    row_number() over (order by similarity desc, note_id) as rank
  from (
    select note_id, passage_id, max(similarity) as similarity
    from nearest
    join passages on passages.id = nearest.passage_id
    group by note_id
  )
)"""


NO_DENSE = empty_cte("dense", "note_id", "passage_id", "similarity", "rank")


# --- What comes first

TEXT = "lower(title || ' ' || body || ' ' || tags || ' ' || attachments)"


def _exact(is_filtered: bool, has_phrases: bool) -> str:
    phrases = f"""
  union all
  select rowid, 1
  from notes_fts
  where notes_fts match :exact{_and_allowed(is_filtered, "+rowid")}
    -- the word index takes C++ for c
    and not exists (
      select 1
      from json_each(:exact_substrings)
      where instr({TEXT}, lower(value)) = 0
    )"""
    return f"""
-- what comes first: a note whose title is the query, then those with its phrases and identifiers
exact as materialized (
  select note_id, max(level) as level
  from (
  select id as note_id, 2 as level
  from notes
  where title = :q collate nocase{_and_allowed(is_filtered, "id")}{phrases if has_phrases else ""}
  )
  group by note_id
)"""


# --- Lexical retriever: the notes that have the words


def _word_matches(is_filtered: bool) -> str:
    # With the plus: without it FTS5 would be asked once an id.
    return f"""
  from notes_fts
  where notes_fts match :match{_and_allowed(is_filtered, "+rowid")}"""


def _words(is_filtered: bool, anywhere: bool, is_pruned: bool = False, scored: bool = True) -> str:
    score = f", -bm25(notes_fts, {COLUMN_WEIGHTS}) as bm25" if scored else ""
    words = f"""
  select rowid as note_id{score}{_word_matches(is_filtered)}"""
    if is_pruned:
        words += """
    -- of very many notes, only those are ranked that have a rare word or several
    and +rowid in (
      select rowid from notes_fts where notes_fts match :pruned_match
      union all
      select note_id from dense
      union all
      select note_id from exact
    )"""
    if anywhere:
        words += f"""
  union all
  -- scripts without spaces between words
  select notes.id{f", {ANYWHERE_WEIGHT}" if scored else ""}
  from notes
  join json_each(:anywhere) on
    instr({TEXT}, lower(json_each.value)) > 0{_where_allowed(is_filtered)}"""
        if scored:
            words = f"""
  select note_id, sum(bm25) as bm25
  from ({words}
  )
  group by note_id"""
    # Read once it needs no table of its own.
    hint = "materialized " if anywhere or not scored else ""
    return f"""
-- words: every note that has one of them; bm25() is the more negative the better
words as {hint}({words}
)"""


def _substrings(is_filtered: bool, has_words: bool, anywhere: bool) -> str:
    comment = "notes that contain every part of the text as it stands"
    unless = ""
    if has_words:
        comment = "where there is none, notes that contain the text inside longer words"
        unless = " where not exists (select 1 from notes_fts where notes_fts match :match)"
    if has_words and anywhere:
        # Of words that are searched for anywhere the word index knows nothing.
        unless += " and not exists (select 1 from words)"
    allowed = "\n    and id in (select id from filtered)" if is_filtered else ""
    # The first table decides whether there is anything to do: a condition would run for each note.
    return f"""
-- {comment}
substrings as materialized (
  select id as note_id, instr(lower(title), lower(:q)) > 0 as in_title, modified
  from (select 1{unless}) as needed
  cross join notes
  where not exists (
      select 1
      from json_each(:substrings)
      where instr({TEXT}, lower(value)) = 0
    ){allowed}
)"""


def _lexical(has_words: bool) -> str:
    words = """
  select note_id, 'words' as found_by, bm25, null as recent
  from words
  union all"""
    # Ranks follow the order of the rows: to give row_number() that order, too, would sort twice.
    return f"""
lexical as materialized ({words if has_words else ""}
  select note_id, 'like' as found_by, 1.0 + in_title as bm25, modified as recent
  from substrings
),
lexical_ranks as materialized (
  select note_id, row_number() over () as rank
  from (
    select note_id from lexical order by bm25 desc, recent desc, note_id limit {RANKED}
  )
)"""


NO_LEXICAL = ",".join(
    [
        empty_cte("lexical", "note_id", "found_by", "bm25"),
        empty_cte("lexical_ranks", "note_id", "rank"),
    ]
)

# --- Both scores of every candidate

BOTH_CANDIDATES = f"""
candidates as materialized (
  select note_id from lexical_ranks where rank <= {CANDIDATES}
  union
  select note_id from dense where rank <= {CANDIDATES}
  union
  select note_id from exact
),
-- which of them, and of all that is near in meaning, have the words
lexical_scores as materialized (
  select note_id, found_by, bm25
  from lexical
  where note_id in (select note_id from candidates union select note_id from dense)
)"""

DENSE_SCORES = f"""
-- the best passage of every candidate: known of those near in meaning, looked up of the others;
-- beside max(), SQLite takes the other columns from the same row
dense_scores as materialized (
  select note_id, passage_id, similarity, rank
  from dense
  union all
  select
    passages.note_id, passages.id,
    max(1 - vec_distance_cosine({VECTORS}.vector, (select vector from query_vector))), null
  from candidates
  cross join passages on passages.note_id = candidates.note_id
  cross join {VECTORS} on {VECTORS}.passage_id = passages.id
  where candidates.note_id not in (select note_id from dense)
  group by candidates.note_id
)"""

NO_DENSE_SCORES = empty_cte("dense_scores", "note_id", "passage_id", "similarity", "rank")

BLEND = ":balance * coalesce(meaning_share, 0) + (1 - :balance) * coalesce(words_share, 0)"

SCORED = f"""
-- both scores, each as a share of the best (of words, if the best has enough of them), and their
-- convex combination: balance 0 is words alone, 1 is meaning alone
scored as materialized (
  select *, {BLEND} as blend
  from (
    select
      candidates.note_id, lexical_scores.found_by, lexical_ranks.rank as keyword_rank,
      dense_scores.rank as semantic_rank, dense_scores.passage_id, dense_scores.similarity,
      coalesce(exact.level, 0) as exact,
      coalesce(lexical_scores.bm25, 0) / max(
        max(lexical_scores.bm25) over (),
        iif(lexical_scores.found_by = 'words', :bm25_normalizer + 0, 0), 1e-9
      ) as words_share,
      (coalesce(dense_scores.similarity, -1) + 1)
        / (max(dense_scores.similarity) over () + 1) as meaning_share
    from candidates
    left join lexical_scores on lexical_scores.note_id = candidates.note_id
    left join lexical_ranks on lexical_ranks.note_id = candidates.note_id
    left join dense_scores on dense_scores.note_id = candidates.note_id
    left join exact on exact.note_id = candidates.note_id
  )
)"""

# --- Pseudo-relevance feedback and score regularization

FEEDBACK = f"""
-- pseudo-relevance feedback: the passages of the first results count as if they had been asked for
feedback as materialized (
  select {VECTORS}.vector, 1.0 / first.rank as weight
  from (
    select passage_id, row_number() over (order by exact desc, blend desc, note_id) as rank
    from scored
    where passage_id is not null
  ) as first
  cross join {VECTORS} on {VECTORS}.passage_id = first.passage_id
  where first.rank <= {FEEDBACK_NOTES}
),
prf_vector as materialized (
  select mean_vector(vector, weight) as vector
  from (
    select vector, 1.0 as weight from query_vector
    union all
    select vector, {FEEDBACK_WEIGHT} * weight / sum(weight) over () from feedback
  )
),
rescored as materialized (
  select *, {BLEND} as blend
  from (
    select
      note_id, found_by, keyword_rank, semantic_rank, passage_id, similarity, exact, words_share,
      (coalesce(prf_similarity, -1) + 1) / (max(prf_similarity) over () + 1) as meaning_share
    from (
      select
        scored.*,
        (
          select 1 - vec_distance_cosine({VECTORS}.vector, prf_vector.vector)
          from {VECTORS}
          where {VECTORS}.passage_id = scored.passage_id
        ) as prf_similarity
      from scored
      cross join prf_vector
    )
  )
)"""

REGULARIZED = f"""
-- score regularization: the first results move toward those most like them
first_results as materialized (
  select first.note_id, first.blend, {VECTORS}.vector
  from (
    select note_id, passage_id, blend
    from rescored
    where passage_id is not null
    order by exact desc, blend desc, note_id
    limit {REGULARIZED_NOTES}
  ) as first
  cross join {VECTORS} on {VECTORS}.passage_id = first.passage_id
),
neighbors as materialized (
  select json_each.key + 0 as note_id, json_each.value as blend
  from (select scores_around(note_id, vector, blend) as scores from first_results)
  cross join json_each(scores)
),
regularized as materialized (
  select
    rescored.note_id, found_by, keyword_rank, semantic_rank, passage_id, similarity, exact,
    words_share, meaning_share,
    rescored.blend + coalesce({REGULARIZATION} * (neighbors.blend - rescored.blend), 0) as blend
  from rescored
  left join neighbors on neighbors.note_id = rescored.note_id
)"""

# --- The order, and one page of it


def _with_further(ranked: str, is_close: str) -> str:
    # Only for a page beyond the candidates, or another order: there may be very many.
    return f"""
with_further as not materialized (
  select * from {ranked}
  union all
  -- further notes that have the words
  select
    lexical.note_id, lexical.found_by, lexical_ranks.rank, null, null, null, 0, null, null, null
  from lexical
  left join lexical_ranks on lexical_ranks.note_id = lexical.note_id
  where lexical.note_id not in (select note_id from candidates)
  union all
  -- further notes that are close in meaning
  select note_id, null, null, rank, passage_id, similarity, 0, null, null, null
  from dense
  where {is_close}
    and note_id not in (select note_id from candidates union all select note_id from lexical_scores)
)"""


def _fused(ranked: str, score: str, is_close: str, has_notes: bool) -> str:
    noted = f"""
  cross join (select id, title, modified from notes) as noted on noted.id = {ranked}.note_id"""
    return f"""
fused as materialized (
  select
    *, {score} as score,
    -- found, and not only nearest
    (found_by is not null or exact or coalesce({is_close}, false)) as is_found
  from {ranked}{noted if has_notes else ""}
)"""


def _further(is_filtered: bool, is_close: str, is_pruned: bool) -> str:
    return f"""
-- how many notes are found beside the candidates
further as materialized (
  select
    (select count(*){_word_matches(is_filtered) if is_pruned else " from lexical"})
    - (select count(*) from lexical_scores where note_id in (select note_id from candidates))
    + (
      select count(*)
      from dense
      where {is_close} and note_id not in (
        select note_id from candidates union all select note_id from lexical_scores
      )
    ) as notes
)"""


def _page(is_shallow: bool, found_only: bool, sort: str, size: int, offset: int) -> str:
    more, further = (" + further.notes", "\n  cross join further") if is_shallow else ("", "")
    # What is only nearest, if there is nothing else.
    only = """
  where is_found or not exists (select 1 from fused where is_found)"""
    return f"""
page as materialized (
  select
    note_id, found_by, keyword_rank, semantic_rank, passage_id, similarity, exact, blend, score,
    is_found, count(*) over (){more} as total, sum(is_found) over (){more} as found,
    max(similarity) over () as closest
  from fused{further}{only if found_only else ""}
  order by {_order(sort)}
  limit {int(size)} offset {int(offset)}
)"""


def _listed(is_filtered: bool, sort: str, size: int, offset: int) -> str:
    where = _where_allowed(is_filtered)
    return f"""
-- nothing was asked for
page as materialized (
  select
    id as note_id, null as found_by, null as keyword_rank, null as semantic_rank,
    null as passage_id, null as similarity, 0 as exact, null as blend,
    julianday(modified) as score, 1 as is_found, listed.notes as total, listed.notes as found,
    null as closest
  from notes
  cross join (select count(*) as notes from notes{where}) as listed{where}
  order by {_order(sort)}
  limit {int(size)} offset {int(offset)}
)"""


def _order(sort: str, page: str = "", notes: str = "") -> str:
    # The prefixes name the tables of the columns.
    by = {
        "relevance": f"{page}exact desc, {page}score desc nulls last, {page}keyword_rank, ",
        "newest": f"{notes}modified desc, ",
        "oldest": f"{notes}modified, ",
        "title": f"{notes}title collate nocase, ",
    }
    return f"{by[sort]}{page}note_id"


def _matches(matches: Sequence[str]) -> str:
    union = "\n  union all\n  select ".join(matches)
    return f"""
-- some of them more than once: to remove these would take longer than all that is counted
matches as materialized (
  select {union}
)"""


# --- What a result shows

SNIPPETS = f"""
-- one scan for all of them: FTS5 takes a millisecond to look up one note among many
snippets as materialized (
  select
    rowid as note_id,
    snippet(
      notes_fts, -1, char({ord(MARK)}), char({ord(END_MARK)}), '{ELLIPSIS}', {SNIPPET_TOKENS}
    ) as snippet
  from notes_fts
  where notes_fts match :match
    and +rowid in (select note_id from page)
)"""

NO_SNIPPETS = empty_cte("snippets", "note_id", "snippet")

# Shared with the statement for similar notes.
PASSAGE_COLUMNS = """case when passages.length > 0
    then substr(notes.body, passages.start + 1, passages.length) end as passage, passages.heading"""
NOTE_COLUMNS = """passages.start, passages.length, notes.tags, notes.created, notes.modified,
  notes.pinned, notes.archived, notes.encrypted, notes.source, notes.key, notes.url,
  sources.app, sources.heading_link"""

ROWS = f"""
select
  notes.id, notes.title, snippets.snippet, {PASSAGE_COLUMNS},
  page.keyword_rank, page.semantic_rank, round(page.similarity, 4) as similarity, page.score,
  page.blend, rrf(page.keyword_rank, page.semantic_rank) as rrf, page.exact,
  {NOTE_COLUMNS},
  -- the other sources that have the same note
  (
    select json_group_array(distinct source)
    from notes as copies
    where (copies.copy_of in (notes.id, notes.copy_of) or copies.id = notes.copy_of)
      and copies.source != notes.source
  ) as also_in,
  passages.id as passage_id, page.found_by, page.is_found, page.total, page.found, page.closest
from page
join notes on notes.id = page.note_id
join sources on sources.name = notes.source
left join snippets on snippets.note_id = page.note_id
-- the passage that is closest in meaning, else the one that the snippet was taken from
left join passages on passages.id = coalesce(page.passage_id, (
  select id
  from passages
  where note_id = page.note_id
    and start < max(1, instr(notes.body, trim(
      replace(replace(snippets.snippet, char({ord(MARK)}), ''), char({ord(END_MARK)}), ''),
      '{ELLIPSIS}'
    )))
  order by start desc
  limit 1
))"""
