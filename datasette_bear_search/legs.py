"""What finds notes, part by part: what the filters allow, words, meaning, and what comes first.

A leg that doesn't take part in a search is replaced by an empty table of the same shape, so that what follows need not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
