"""The notes most similar to a note, with reasons.

This is one statement. It needs no model, because the vectors are in the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...index import freshness
from ...index.file import database, vectors
from ...index.file.nearest import similarity
from ...index.file.schema import EMBEDDED, MAX_EMBEDDED, OWN_TEXT, PENDING, REFUSED, VECTORS
from ...sqlite import sqlite3
from ..planning import planner
from ..ranking.statement import Statement, statement_sql
from ..results.records import ListedNote, MatchedPassage
from ..results.retrieve import NOTE_COLUMNS, PASSAGE_COLUMNS, checked_rows, note_fields, passage_of
from ..results.snippets import passage_text, readable

SIMILAR_NOTES = 10

# The score is the weighted sum of three numbers from 0 to 1. Measured by predicting hidden links of
# the sample notes (39 notes), MRR is .67 with similarity alone and .83 with tags, for any weight of
# tags from .2 to .4. The most similar pair of passages does as well as the mean of the three best
# pairs, and better than mean vectors.
SIMILARITY_WEIGHT = 1.0
TAGS_WEIGHT = 0.25
LINK_WEIGHT = 0.25

# What suffices to list a note: a similarity from the library's threshold of closeness on that is
# beyond that of average notes by this share of what is possible; or this much in shared tags: a tag
# of 56 of 1,000 notes, or of 320 of 10,000. Notes of another collection, which nothing is like, get
# .15 to .86 notes (five English collections, all-MiniLM-L6-v2; without the threshold, .5 to 3.6).
# Of the notes listed for a paragraph of XQuAD, with MiniLM and multilingual-e5-small, .58
# to .88 are of the same article, which are .47 to .68 of all these (without it, .39 to .85, and
# .62 to .76).
MIN_CLOSENESS = 0.25
MIN_SHARED_TAGS = 0.25

# Passages of the note to compare, evenly spread. Each costs a scan of the vector index.
OWN_PASSAGES = 6

# Nearest passages to retrieve for each of those, and notes of either kind (near, related) to score.
NEAREST_PER_PASSAGE = 100
SIMILAR_CANDIDATES = 100

# First passages of a candidate to compare, in addition to the nearest ones. For a huge note, a
# thousand took as long as everything else.
COMPARED_PASSAGES = 100

# Passages sampled to find out how similar the average note is, which differs by model and by note.
SAMPLED_PASSAGES = 200

# A mean of few passages isn't reliable, so it is computed as if this many more were unrelated
# (similarity 0).
ASSUMED_UNRELATED = 10

_ONLY = "Notes are compared by tags and links only."
UNKNOWN_TEXT = f"{_ONLY} The embedding model doesn't know most of this note's text."


@dataclass(frozen=True)
class SimilarNote(ListedNote):
    similarity: float | None  # of the most similar two passages: 1 the same, about 0 unrelated
    score: float  # determines the order
    reasons: tuple[str, ...]  # for people
    # The most similar passage; None if it is below the threshold or the note is encrypted.
    passage: MatchedPassage | None

    @property
    def text(self) -> str:
        return readable(passage_text(self.passage, self.title)).text if self.passage else ""

    @property
    def why(self) -> str:
        return " · ".join(self.reasons)


@dataclass(frozen=True)
class SimilarNotes:
    id: int
    title: str
    notes: tuple[SimilarNote, ...]
    notices: tuple[str, ...]
    statement: Statement

    def __iter__(self) -> Iterator[SimilarNote]:
        return iter(self.notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": True,
            "note": {"id": self.id, "title": self.title},
            "rows": [asdict(note) for note in self.notes],
            "notices": self.notices,
        }


def find_similar(
    connection: sqlite3.Connection,
    note_id: int,
    *,
    size: int = SIMILAR_NOTES,
    unlinked: bool = False,
) -> SimilarNotes | None:
    """Return the notes most similar to the note with this id; None if there is no such note.

    :param unlinked: leave out notes that it links to or that link to it
    """
    sql = "select title, language from notes where id = ?"
    found = connection.execute(sql, [note_id]).fetchone()
    if found is None:
        return None
    obstacle = _obstacle(connection, note_id)
    parts = [RELATED, SIMILAR if obstacle is None else NO_SIMILAR, SCORED]
    threshold = planner.threshold(connection, found[1])
    values = {"note": note_id, "size": size, "unlinked": int(unlinked)}
    sql = statement_sql(parts, SIMILAR_ROWS_SQL)
    statement = Statement(sql, {**values, "threshold": threshold})
    return SimilarNotes(
        id=note_id,
        title=found[0],
        notes=tuple(_note(row) for row in checked_rows(connection, statement)),
        notices=(obstacle,) if obstacle else (),
        statement=statement,
    )


def _obstacle(connection: sqlite3.Connection, note_id: int) -> str | None:
    # Explains why the note can't be compared by meaning.
    sql = "select distinct vector_state from passages where note_id = ?"
    states = {state for (state,) in connection.execute(sql, [note_id])}
    if REFUSED in states and not states & {PENDING, EMBEDDED}:
        return UNKNOWN_TEXT
    state = database.read_state(connection)
    state = replace(state, has_vectors=state.has_vectors and PENDING not in states)
    obstacle = freshness.vectors_obstacle(state, vectors.has_extension(connection))
    return f"{_ONLY} {obstacle}" if obstacle else None


def _note(row: dict[str, Any]) -> SimilarNote:
    passage = passage_of(row) if row["is_close"] and not row["encrypted"] else None
    heading = passage.heading if passage else None
    return SimilarNote(
        **note_fields(row, heading),
        similarity=row["similarity"],
        score=row["score"],
        reasons=tuple(_reasons(row, heading)),
        passage=passage,
    )


def _reasons(row: dict[str, Any], heading: str | None) -> list[str]:
    reasons = []
    if row["is_close"]:
        place = f": {heading}" if heading else ""
        reasons.append(f"similar{place}")
    if row["shared_tags"] and (tags := sorted(json.loads(row["shared_tags"]))):
        names = ", ".join(f"#{tag}" for _, tag in tags)
        reasons.append(f"same tag{'s' if len(tags) > 1 else ''} {names}")
    if row["links_here"]:
        reasons.append("links to this note")
    if row["linked_from_here"]:
        reasons.append("linked from this note")
    return reasons


# --- The statement. :note is the note's id, :size the number of results, :unlinked whether to leave
# out linked notes, and :threshold the similarity from which a note may be close. Passages that many
# notes share (from a template) are ignored.

RELATED = f"""
-- the note's tags. A tag of two notes among many counts almost 1, a tag of all notes 0, and a
-- tag of ten notes plus 1 % of all notes about half
own_tags as materialized (
  select
    folded, name,
    (1 - notes / total) * (10 + total / 100) / (10 + total / 100 + notes) as rarity
  from (
    select
      mine.folded, min(mine.name) as name, count(distinct theirs.note_id) * 1.0 as notes,
      (select count(*) from notes) * 1.0 as total
    from note_tags
    join tags as mine on mine.id = note_tags.tag_id
    join tags as same on same.folded = mine.folded
    join note_tags as theirs on theirs.tag_id = same.id
    where note_tags.note_id = :note
    group by mine.folded
  )
),
shared_tags as materialized (
  select distinct note_tags.note_id, own_tags.folded, own_tags.name, own_tags.rarity
  from own_tags
  join tags on tags.folded = own_tags.folded
  join note_tags on note_tags.tag_id = tags.id
  where own_tags.rarity > 0
),
-- tags and links that relate notes to this one. Of work and work/projects only the latter counts
relations as materialized (
  select note_id, name as tag, rarity, 0 as links_here, 0 as linked_from_here
  from shared_tags
  where not exists (
    select 1
    from shared_tags as deeper
    where deeper.note_id = shared_tags.note_id
      and substr(deeper.folded, 1, length(shared_tags.folded) + 1) = shared_tags.folded || '/'
  )
  union all
  select note_id, null, 0, 1, 0 from links where target_id = :note
  union all
  select target_id, null, 0, 0, 1 from links where note_id = :note
),
related as materialized (
  select
    note_id, min(1, sum(rarity)) as tags, max(links_here) as links_here,
    max(linked_from_here) as linked_from_here,
    json_group_array(json_array(-rarity, tag)) filter (where tag is not null) as shared_tags
  from relations
  where note_id != :note
  group by note_id
  order by
    {TAGS_WEIGHT} * min(1, sum(rarity))
      + {LINK_WEIGHT} * max(max(links_here), max(linked_from_here)) desc,
    note_id
  limit {SIMILAR_CANDIDATES}
)"""

SIMILAR = f"""
-- the note's passages
own_passages as materialized (
  select {VECTORS}.vector
  from passages
  join {VECTORS} on {VECTORS}.passage_id = passages.id
  where note_id = :note
    and text_kind = '{OWN_TEXT}'
    and position % (
      1 + (
        select min(max(position), {MAX_EMBEDDED}) from passages where note_id = :note
      ) / {OWN_PASSAGES}
    ) = 0
),
-- the passages nearest to each of them. k includes the note's own
near as materialized (
  select passages.id, passages.note_id, max(near.value) as similarity
  from own_passages
  cross join json_each(
    nearest_passages(
      own_passages.vector,
      {NEAREST_PER_PASSAGE} + (
        select min(max(position) + 1, {MAX_EMBEDDED}) from passages where note_id = :note
      )
    )
  ) as near
  join passages on passages.id = near.key + 0
  where passages.note_id != :note
    and text_kind = '{OWN_TEXT}'
  group by passages.id
),
candidates as materialized (
  select note_id from (
    select note_id from near
    group by note_id
    order by max(similarity) desc, note_id
    limit {SIMILAR_CANDIDATES}
  )
  union
  select note_id from related
),
compared as (
  select note_id, id as passage_id from near where note_id in candidates
  union
  select note_id, id
  from candidates
  cross join passages using (note_id)
  where position < {COMPARED_PASSAGES} and text_kind = '{OWN_TEXT}'
),
-- each note's most similar pair of passages. With max(), SQLite takes the other columns from the
-- same row
similarities as materialized (
  select
    note_id, passage_id,
    max({similarity("own_passages.vector", f"{VECTORS}.vector")}) as similarity
  from compared
  join {VECTORS} using (passage_id)
  cross join own_passages
  group by note_id
),
-- avoids a scan of all passages: huge notes have many that aren't embedded
first_passages as materialized (
  select passages.id
  from notes
  cross join passages on note_id = notes.id and position < {MAX_EMBEDDED}
),
-- how similar an average passage is to this note
usual as materialized (
  select sum(similarity) / (count(*) + {ASSUMED_UNRELATED}) as similarity
  from (
    select max({similarity("own_passages.vector", f"{VECTORS}.vector")}) as similarity
    from passages
    join {VECTORS} on {VECTORS}.passage_id = passages.id
    cross join own_passages
    where passages.id in (
        select id
        from first_passages
        where id % (1 + (select count(*) from first_passages) / {SAMPLED_PASSAGES}) = 0
      )
      and note_id != :note
      and text_kind = '{OWN_TEXT}'
    group by passages.id
  )
)"""

NO_SIMILAR = """
candidates as (
  select note_id from related
),
similarities as (
  select null as note_id, null as passage_id, null as similarity
  where false
),
usual as (
  select null as similarity
)"""

SCORED = """
-- each reason as a number from 0 to 1
scored as materialized (
  select
    candidates.note_id, similarities.passage_id, similarities.similarity,
    max(0, coalesce((similarities.similarity - usual.similarity) / (1 - usual.similarity), 0))
      as closeness,
    coalesce(related.tags, 0) as tags, related.shared_tags,
    coalesce(related.links_here, 0) as links_here,
    coalesce(related.linked_from_here, 0) as linked_from_here
  from candidates
  cross join usual
  left join similarities on similarities.note_id = candidates.note_id
  left join related on related.note_id = candidates.note_id
)"""

_IS_CLOSE = f"scored.closeness >= {MIN_CLOSENESS} and scored.similarity >= :threshold"
SIMILAR_ROWS_SQL = f"""
select
  notes.id, notes.title, scored.shared_tags, scored.links_here, scored.linked_from_here,
  {_IS_CLOSE} as is_close,
  round(scored.similarity, 4) as similarity, round(
    {SIMILARITY_WEIGHT} * closeness + {TAGS_WEIGHT} * scored.tags
      + {LINK_WEIGHT} * max(links_here, linked_from_here), 4
  ) as score,
  {PASSAGE_COLUMNS},
  {NOTE_COLUMNS}
from scored
join notes on notes.id = scored.note_id
join sources on sources.name = notes.source
left join passages on passages.id = scored.passage_id
where (is_close or scored.tags >= {MIN_SHARED_TAGS} or links_here or linked_from_here)
  and not (:unlinked and (links_here or linked_from_here))
  -- leave out copies of the same note from other sources
  and notes.copy_of is null
  and notes.id is not (select copy_of from notes where id = :note)
order by score desc, notes.id
limit :size
"""
