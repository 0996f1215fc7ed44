"""What finds notes, part by part: what the filters allow, words, meaning, and what comes first.

A leg that doesn't take part in a search is replaced by an empty table of the same shape, so that what follows need not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..index.schema import VECTORS

# Weights of the FTS5 columns title, body, tags, attachments. A title of weight 10 wins .01 nDCG@10 on no test collection
# and loses .01 on two; text recognized in images is noisy.
COLUMN_WEIGHTS = "3.0, 1.0, 3.0, 0.5"

# Passages that the semantic leg considers. Several passages of a note count once, so this is more than the
# notes that anyone pages through.
NEAREST_PASSAGES = 300

# Notes whose rank among those that have the words is told. More would cost a sorting of all.
RANKED = 1000


def allowed_part(conditions: Sequence[str]) -> str:
    """The part that holds what the conditions allow."""
    return ALLOWED.format(conditions="\n    and ".join(conditions))


def joined(parts: Sequence[str], conditions: Sequence[str]) -> str:
    """The parts as one statement, whose last part is what it selects."""
    sql = "with\n" + ",\n".join(part.strip("\n") for part in parts[:-1]) + parts[-1]
    # A line that ends in "-- filtered" is there for the filters only.
    if not conditions:
        sql = re.sub(r"\n[^\n]*-- filtered(?=\n)", "", sql)
    return sql.replace(" -- filtered", "")


ALLOWED = """
-- what the filters allow; once more as a set of bytes, 1 for a note that is in it: SQLite takes longer to sort many ids into
-- an index than for all the rest
allowed as not materialized (
  select id
  from notes
  where {conditions}
),
allowed_notes as materialized (
  select note_set(group_concat(id)) as ids
  from allowed
)"""

_IS_ALLOWED = "substr((select ids from allowed_notes), {id}, 1) = x'01' -- filtered"

# Substrings stand in for words where no note has any of the words. The first table decides whether there is anything to do:
# a condition would be asked of note after note.
_SUBSTRING_HITS = """
substring_hits as materialized (
  select id as note_id, instr(lower(title), lower(:q)) > 0 as in_title, modified
  from (select 1{unless}) as needed
  cross join notes
  where not exists (
      select 1
      from json_each(:substrings)
      where instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), lower(value)) = 0
    )
    and id in (select id from allowed) -- filtered
)"""

_ROW_IS_ALLOWED = f"""
    and {_IS_ALLOWED.format(id="+rowid")}"""

FTS_MATCHES = f"""
  from notes_fts
  where notes_fts match :match{_ROW_IS_ALLOWED}"""

# The same inside a part.
ALL_WORD_HITS = FTS_MATCHES.replace("\n", "\n    ")

_FTS_HITS = f"""
  select rowid as note_id, -bm25(notes_fts, {COLUMN_WEIGHTS}) as bm25{FTS_MATCHES}"""

WORD_HITS = f"""
-- words: every note that has one of them; bm25() is the more negative the better
word_hits as ({_FTS_HITS}
)"""

# What a word found anywhere is worth: about the BM25 of a word that one note in fifty has.
ANYWHERE_WEIGHT = 4.0

ANYWHERE_MATCHES = """
    from notes
    join json_each(:anywhere)
      on instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), lower(json_each.value)) > 0
    where true
      and notes.id in (select id from allowed) -- filtered"""

WORD_HITS_ANYWHERE = f"""
-- words: every note that has one of them; bm25() is the more negative the better. Scripts without spaces between their
-- words are searched for anywhere in the text
word_hits as materialized (
  select note_id, sum(bm25) as bm25
  from (
    select * from ({_FTS_HITS}
    )
    union all
    select notes.id, {ANYWHERE_WEIGHT}{ANYWHERE_MATCHES}
  )
  group by note_id
)"""

_NO_WORD_HITS = """
    where not exists (select 1 from notes_fts where notes_fts match :match)
  """

# Of words that are searched for anywhere the word index knows nothing.
_NO_WORD_HITS_ANYWHERE = f"""{_NO_WORD_HITS.rstrip()}
      and not exists (select 1 from word_hits)
  """

# Where very many notes have one of the words: not all of them are ranked.
PROMISING_WORD_HITS = f"""
-- words: of the notes that have one of them, those that have a rare one or several; and what else is a candidate
promising as materialized (
  select rowid as note_id
  from notes_fts
  where notes_fts match :promising
  union all
  select note_id from semantic
  union all
  select note_id from exact
),
-- bm25() is the more negative the better
word_hits as ({_FTS_HITS}
    and +rowid in (select note_id from promising)
)"""


def instead_of_words(anywhere: bool) -> str:
    """The part that finds text inside longer words where no note has one of the words.

    :param anywhere: whether some words are searched for anywhere in the text
    """
    unless = _NO_WORD_HITS_ANYWHERE if anywhere else _NO_WORD_HITS
    return _INSTEAD_OF_WORDS + _SUBSTRING_HITS.format(unless=unless)


_INSTEAD_OF_WORDS = """
-- where there is none, notes that contain the text inside longer words"""

# Ranks follow the order in which the rows come: to give row_number() that order, too, would sort them twice.
_RANKED = f"""
hits as materialized ({{words}}
  select note_id, 'like' as found_by, 1.0 + in_title as bm25, modified as recent
  from substring_hits
),
keyword as materialized (
  select note_id, row_number() over () as rank
  from (select note_id from hits order by bm25 desc, recent desc, note_id limit {RANKED})
)"""

_WORDS_TOO = """
  select note_id, 'words' as found_by, bm25, null as recent
  from word_hits
  union all"""

RANKED_KEYWORD = _RANKED.format(words=_WORDS_TOO)

LIKE = f"""
-- notes that contain every part of the text as it stands{_SUBSTRING_HITS.format(unless="")},{_RANKED.format(words="")}"""

NO_KEYWORD = """
hits as (
  select null as note_id, null as found_by, null as bm25
  where false
),
keyword as (
  select null as note_id, null as rank
  where false
)"""

# Values of an address are text, and text is greater than any number.
IS_CLOSE = "similarity >= :floor + 0"

ASKED = "(select vector from asked)"

SEMANTIC = f"""
-- meaning: what is asked for as a vector, and the passages nearest to it; the filters are applied before these are counted
asked as materialized (
  select embed(:meaning) as vector
),
nearest as materialized (
  select key + 0 as passage_id, value as similarity
  from json_each(
    nearest_passages(
      {ASKED}, {NEAREST_PASSAGES}
      , (select ids from allowed_notes) -- filtered
    )
  )
),
-- the best passage stands for its note
semantic as materialized (
  select note_id, passage_id, similarity, row_number() over (order by similarity desc, note_id) as rank
  from (
    select note_id, passage_id, max(similarity) as similarity
    from nearest
    join passages on passages.id = nearest.passage_id
    group by note_id
  )
)"""

NO_SEMANTIC = """
semantic as (
  select null as note_id, null as passage_id, null as similarity, null as rank
  where false
)"""

EXACT_TITLE = f"""
-- what comes first: a note whose title is the query
exact as materialized (
  select id as note_id, 2 as level
  from notes
  where title = :q collate nocase
    and {_IS_ALLOWED.format(id="id")}
)"""

EXACT = f"""
-- what comes first: a note whose title is the query, then those with its phrases and identifiers as they stand
exact as materialized (
  select note_id, max(level) as level
  from (
    select id as note_id, 2 as level
    from notes
    where title = :q collate nocase
      and {_IS_ALLOWED.format(id="id")}
    union all
    select rowid, 1
    from notes_fts
    where notes_fts match :exact
      and {_IS_ALLOWED.format(id="+rowid")}
      -- the word index takes C++ for c
      and not exists (
        select 1
        from json_each(:exact_substrings)
        where instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), lower(value)) = 0
      )
  )
  group by note_id
)"""


# The one statement that ranks: what the legs find is scored, ordered and told, part by part in the order in which they stand.
#
# Every part can be read on its own; "View as SQL" shows the whole.

# The best of poor matches isn't a good one: a note's words count in full if its BM25 is at least this share of what all of the
# query's words together could have. Without it, a note that happens to have one word of a question comes first.
ENOUGH = 0.7

# Pseudo relevance feedback (Rocchio, in "The SMART Retrieval System", 1971), in the space of the vectors: the best passages of
# the first results move the query towards them by this weight. Gains .008 nDCG@10 on average; more notes or weight gain no more.
FEEDBACK_NOTES = 3
FEEDBACK_WEIGHT = 0.5

# Score regularization (Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005): notes that are alike are worth about the same.
# The score of each of the first results moves by this share towards those of the five others that are most like it. Gains .004
# nDCG@10 on average, and loses on no test collection; 20 to 100 results, 3 to 10 others and .2 to .4 differ by .002.
SMOOTHED_NOTES = 30
SMOOTHING = 0.3

# Notes of each leg that are scored by both. What is found by its words beyond that follows in their order.
CANDIDATES = 100

# {page} and {notes} are the tables in which the columns stand.
SORTS = {
    "relevance": "{page}exact desc, {page}score desc nulls last, {page}keyword_rank, {page}note_id",
    "newest": "{notes}modified desc, {page}note_id",
    "oldest": "{notes}modified, {page}note_id",
    "title": "{notes}title collate nocase, {page}note_id",
}

# What makes the score.
FUSIONS = {"blend": "blend", "rrf": "rrf(keyword_rank, semantic_rank)"}


def statement_sql(
    legs: Sequence[str],
    conditions: Sequence[str],
    *,
    exact: bool = False,
    anywhere: bool = False,
    promising: bool = False,
    fusion: str = "blend",
    sort: str = "relevance",
    recency: bool = False,
    found_only: bool = False,
    limit: int,
    offset: int,
) -> str:
    """The statement's text. Values are parameters; what stands in the text comes from code only.

    :param legs: of ``keyword``, ``like`` and ``semantic`` those that take part; without any the notes are listed
    :param conditions: SQL conditions on ``notes`` that every result fulfils
    :param exact: whether there are phrases or identifiers that come first (``:exact``, ``:exact_substrings``)
    :param anywhere: whether there are words that may stand inside others (``:anywhere``)
    :param promising: whether not all notes with a word are ranked (``:promising``); if :func:`among_candidates`
    :param fusion: one of FUSIONS
    :param recency: whether newer notes weigh more (``:half_life`` in days)
    :param found_only: leave out what is only nearest: has none of the words and isn't close in meaning (``:floor``),
        unless there is nothing else
    """
    parts = [allowed_part(conditions)] if conditions else []
    if not legs:
        sort = "newest" if sort == "relevance" else sort
        order = SORTS[sort].format(page="", notes="")
        parts.append(LISTED.format(order=order, limit=int(limit), offset=int(offset)))
    else:
        parts.append(SEMANTIC if "semantic" in legs else NO_SEMANTIC)
        parts.append(EXACT if exact else EXACT_TITLE)
        if "keyword" in legs:
            all_words = WORD_HITS_ANYWHERE if anywhere else WORD_HITS
            parts.append(PROMISING_WORD_HITS if promising else all_words)
            parts.append(instead_of_words(anywhere))
            parts.append(RANKED_KEYWORD)
        else:
            parts.append(LIKE if "like" in legs else NO_KEYWORD)
        parts.append(CANDIDATES_OF_BOTH)
        parts.append(SIMILARITIES if "semantic" in legs else NO_SIMILARITIES)
        parts.append(SCORED)
        parts += [FEEDBACK, SMOOTHED] if len(legs) > 1 else [BLENDED]
        score = FUSIONS[fusion]
        if recency:
            # A note as old as the half-life keeps three quarters of its score, an ancient one half.
            score = f"{score} * (0.5 + 0.5 * decay(modified, :half_life))"
        is_close = IS_CLOSE if "semantic" in legs else "false"
        notes = NOTES_OF_RANKED if recency or sort != "relevance" else ""
        if among_candidates(sort, limit, offset):
            ranked = "blended"
            all_hits = ALL_WORD_HITS if promising else "\n    from hits"
            count = COUNT_FURTHER.format(is_close=is_close, all_hits=all_hits)
        else:
            ranked = AND_FURTHER.format(is_close=is_close)
            count = NO_FURTHER
        parts.append(
            FUSED.format(score=score, is_close=is_close, ranked=f"{ranked} as ranked", notes=notes)
        )
        parts.append(count)
        order = SORTS[sort].format(page="", notes="")
        only = FOUND_ONLY if found_only else ""
        parts.append(PAGE.format(only=only, order=order, limit=int(limit), offset=int(offset)))
    parts.append(SNIPPETS if "keyword" in legs else NO_SNIPPETS)
    parts.append(ROWS.format(order=SORTS[sort].format(page="page.", notes="notes.")))
    return joined(parts, conditions)


def among_candidates(sort: str, limit: int, offset: int) -> bool:
    """Whether such a page shows none but candidates: each leg gives enough of them."""
    return sort == "relevance" and offset + limit <= CANDIDATES


CANDIDATES_OF_BOTH = f"""
candidates as materialized (
  select note_id from keyword where rank <= {CANDIDATES}
  union
  select note_id from semantic where rank <= {CANDIDATES}
  union
  select note_id from exact
),
-- which of them, and of all that is near in meaning, have the words
hits_among as materialized (
  select note_id, found_by, bm25
  from hits
  where note_id in (select note_id from candidates union select note_id from semantic)
)"""

SIMILARITIES = f"""
-- the best passage of every candidate: of those that are near in meaning it is known, of the others it is looked for; beside
-- max(), SQLite takes the other columns from the same row
similarities as materialized (
  select note_id, passage_id, similarity, rank
  from semantic
  union all
  select
    passages.note_id, passages.id, max(1 - vec_distance_cosine({VECTORS}.vector, {ASKED})), null
  from candidates
  cross join passages on passages.note_id = candidates.note_id
  cross join {VECTORS} on {VECTORS}.passage_id = passages.id
  where candidates.note_id not in (select note_id from semantic)
  group by candidates.note_id
)"""

NO_SIMILARITIES = """
similarities as (
  select null as note_id, null as passage_id, null as similarity, null as rank
  where false
)"""

SCORED = """
-- both numbers of both legs, each as a share of the best; of words, if the best has enough of them
scored as materialized (
  select
    candidates.note_id, hits_among.found_by, keyword.rank as keyword_rank, similarities.rank as semantic_rank,
    similarities.passage_id, similarities.similarity, coalesce(exact.level, 0) as exact,
    coalesce(hits_among.bm25, 0) / max(
      max(hits_among.bm25) over (), iif(hits_among.found_by = 'words', :enough + 0, 0), 1e-9
    ) as words_share,
    (coalesce(similarities.similarity, -1) + 1) / (max(similarities.similarity) over () + 1) as meaning_share
  from candidates
  left join hits_among on hits_among.note_id = candidates.note_id
  left join keyword on keyword.note_id = candidates.note_id
  left join similarities on similarities.note_id = candidates.note_id
  left join exact on exact.note_id = candidates.note_id
)"""

_BLEND = ":balance * coalesce(meaning_share, 0) + (1 - :balance) * coalesce(words_share, 0)"

BLENDED = f"""
-- balance 0 is words alone, 1 is meaning alone
blended as materialized (
  select *, {_BLEND} as blend
  from scored
)"""

FEEDBACK = f"""
-- a second look: what the first results have to say counts as if it had been asked for, too
feedback as materialized (
  select {VECTORS}.vector, 1.0 / first.rank as weight
  from (
    select passage_id, row_number() over (order by exact desc, {_BLEND} desc, note_id) as rank
    from scored
    where passage_id is not null
  ) as first
  cross join {VECTORS} on {VECTORS}.passage_id = first.passage_id
  where first.rank <= {FEEDBACK_NOTES}
),
asked_again as materialized (
  select mean_vector(vector, weight) as vector
  from (
    select vector, 1.0 as weight from asked
    union all
    select vector, {FEEDBACK_WEIGHT} * weight / sum(weight) over () from feedback
  )
),
scored_again as materialized (
  select
    note_id, found_by, keyword_rank, semantic_rank, passage_id, similarity, exact, words_share,
    (coalesce(seen_again, -1) + 1) / (max(seen_again) over () + 1) as meaning_share
  from (
    select
      scored.*,
      (
        select 1 - vec_distance_cosine({VECTORS}.vector, asked_again.vector)
        from {VECTORS}
        where {VECTORS}.passage_id = scored.passage_id
      ) as seen_again
    from scored
    cross join asked_again
  )
)"""

SMOOTHED = f"""
-- a third look: the first results move towards those of them that are most like them
first_results as materialized (
  select first.note_id, first.blend, {VECTORS}.vector
  from (
    select note_id, passage_id, {_BLEND} as blend
    from scored_again
    where passage_id is not null
    order by exact desc, blend desc, note_id
    limit {SMOOTHED_NOTES}
  ) as first
  cross join {VECTORS} on {VECTORS}.passage_id = first.passage_id
),
around as materialized (
  select json_each.key + 0 as note_id, json_each.value as blend
  from (select scores_around(note_id, vector, blend) as scores from first_results)
  cross join json_each(scores)
),
-- balance 0 is words alone, 1 is meaning alone
blended as materialized (
  select
    scored_again.*,
    {_BLEND} + coalesce({SMOOTHING} * (around.blend - ({_BLEND})), 0) as blend
  from scored_again
  left join around on around.note_id = scored_again.note_id
)"""

FUSED = """
fused as materialized (
  select
    *, {score} as score,
    -- found, and not only nearest
    (found_by is not null or exact or coalesce({is_close}, false)) as is_found
  from {ranked}{notes}
)"""

# Only where the order follows from more than the query: notes are looked up one by one.
NOTES_OF_RANKED = """
  cross join (select id, title, modified from notes) as noted on noted.id = ranked.note_id"""

# Only for who pages beyond the candidates, or wants another order: there may be very many.
AND_FURTHER = """(
    select * from blended
    union all
    -- further notes that have the words
    select hits.note_id, hits.found_by, keyword.rank, null, null, null, 0, null, null, null
    from hits
    left join keyword on keyword.note_id = hits.note_id
    where hits.note_id not in (select note_id from candidates)
    union all
    -- further notes that are close in meaning
    select semantic.note_id, null, null, semantic.rank, passage_id, similarity, 0, null, null, null
    from semantic
    where {is_close}
      and semantic.note_id not in (select note_id from candidates union all select note_id from hits_among)
  )"""

# How many those are.
COUNT_FURTHER = """
further as materialized (
  select
    (
      select count(*){all_hits}
    )
    - (select count(*) from hits_among where note_id in (select note_id from candidates))
    + (
      select count(*)
      from semantic
      where {is_close}
        and note_id not in (select note_id from candidates union all select note_id from hits_among)
    ) as notes
)"""

NO_FURTHER = """
further as (
  select 0 as notes
)"""

LISTED = """
-- nothing was asked for
listed as materialized (
  select count(*) as notes
  from notes
  where id in (select id from allowed) -- filtered
),
page as materialized (
  select
    id as note_id, null as found_by, null as keyword_rank, null as semantic_rank, null as passage_id,
    null as similarity, 0 as exact, null as blend, julianday(modified) as score, 1 as is_found,
    listed.notes as total, listed.notes as found, null as closest
  from notes
  cross join listed
  where true
    and id in (select id from allowed) -- filtered
  order by {order}
  limit {limit} offset {offset}
)"""

PAGE = """
page as materialized (
  select
    note_id, found_by, keyword_rank, semantic_rank, passage_id, similarity, exact, blend, score, is_found,
    count(*) over () + further.notes as total, sum(is_found) over () + further.notes as found,
    max(similarity) over () as closest
  from fused
  cross join further{only}
  order by {order}
  limit {limit} offset {offset}
)"""

FOUND_ONLY = """
  -- what is only nearest, if there is nothing else
  where is_found or not exists (select 1 from fused where is_found)"""


# What is told of the notes on a page, once they are ranked: snippets, passages, and the notes themselves.
#
# The last parts of the statement, which see only the rows that are shown.

# Around matches in a snippet, where no note can have them; replaced by markup when shown.
MARK, END_MARK = "\x02", "\x03"
ELLIPSIS = "…"
SNIPPET_TOKENS = 40

SNIPPETS = f"""
-- one scan for all of them: FTS5 takes a millisecond to look up one note among many
snippets as materialized (
  select
    rowid as note_id,
    snippet(notes_fts, -1, char({ord(MARK)}), char({ord(END_MARK)}), '{ELLIPSIS}', {SNIPPET_TOKENS}) as snippet
  from notes_fts
  where notes_fts match :match
    and +rowid in (select note_id from page)
)"""

NO_SNIPPETS = """
snippets as (
  select null as note_id, null as snippet
  where false
)"""

ROWS = f"""
select
  notes.id, notes.title, snippets.snippet,
  case when passages.length > 0 then substr(notes.body, passages.start + 1, passages.length) end as passage,
  passages.heading, page.keyword_rank, page.semantic_rank, round(page.similarity, 4) as similarity,
  page.score, page.blend, rrf(page.keyword_rank, page.semantic_rank) as rrf, page.exact,
  notes.tags, notes.created, notes.modified, notes.pinned, notes.archived, notes.encrypted,
  notes.source, notes.key, notes.url, sources.app, sources.heading_link,
  -- the other sources that have the same note
  (
    select json_group_array(distinct source)
    from notes as copies
    where (copies.copy_of in (notes.id, notes.copy_of) or copies.id = notes.copy_of)
      and copies.source != notes.source
  ) as also_in,
  passages.id as passage_id, passages.start, passages.length, page.found_by,
  page.is_found, page.total, page.found, page.closest
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
      replace(replace(snippets.snippet, char({ord(MARK)}), ''), char({ord(END_MARK)}), ''), '{ELLIPSIS}'
    )))
  order by start desc
  limit 1
))
order by {{order}}
"""
