"""A note → the notes most like it, each with its reasons.

One statement, which needs no model: the vectors are there. What counts, and how much, is on top.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..index import database
from ..index.schema import LINES, MAX_EMBEDDED, SHARED_LINES, VECTORS
from ..notes import counted
from ..sqlite import sqlite3
from .results import (
    NOTE_COLUMNS,
    PASSAGE_COLUMNS,
    ListedNote,
    MatchedPassage,
    fetch_rows,
    note_fields,
    passage_of,
)
from .snippets import passage_text
from .sql import Statement, statement_sql

SIZE = 10

# The score is the sum of four numbers from 0 to 1, each times its weight. Measured by guessing the
# sample notes' hidden links (39 notes): MRR .67 by similarity alone, .83 with tags, of .2 to .4
# alike. The most similar two passages do as well as the mean of the three best, and better than
# mean vectors.
SIMILARITY = 1.0
TAGS = 0.25
LINK = 0.25
TIME = 0.05

# Similarity, above that of any two notes, that shows a note for that alone.
THRESHOLD = 0.25

# Created within so many days of each other. A nudge: it makes no note similar by itself.
DAYS = 7

# Passages of the note that are compared, evenly spread. Each costs a scan of the vector index.
OWN_PASSAGES = 6

# Nearest passages to each of those, and notes of either kind (nearest, related) scored.
NEAREST_PASSAGES = 100
CANDIDATES = 100

# First passages of a candidate that are compared beside the nearest: of a huge note, a thousand
# took as long as all else.
COMPARED_PASSAGES = 100

# Passages that show how similar any two notes are, which differs by model and by note.
SAMPLE = 200

# The mean of few passages says little: it is taken as if so many more were not similar at all.
UNSEEN = 10

_ONLY = "Notes are compared by tags and links only."
NO_VECTORS = f"{_ONLY} To compare them by meaning, too, run: datasette bear-index"
NO_EXTENSION = (
    f"{_ONLY} This Python can't load sqlite-vec; pip install pysqlite3 fixes that on most machines."
)


@dataclass(frozen=True)
class SimilarNote(ListedNote):
    """A note that is like another, and why."""

    similarity: float | None  # cosine of the most similar two passages, -1 to 1
    score: float  # what the order follows
    reasons: tuple[str, ...]  # for people
    # The most similar; None if it is below the threshold, or the note is encrypted.
    passage: MatchedPassage | None

    @property
    def text(self) -> str:
        """The most similar passage, as text."""
        return passage_text(self.passage, self.title) if self.passage else ""

    @property
    def why(self) -> str:
        return " · ".join(self.reasons)


@dataclass(frozen=True)
class SimilarNotes:
    """The notes most like one note, most similar first."""

    id: int
    title: str
    notes: tuple[SimilarNote, ...]
    notices: tuple[str, ...]
    statement: Statement

    def __iter__(self) -> Iterator[SimilarNote]:
        return iter(self.notes)

    def to_json(self) -> dict[str, Any]:
        """Return them for programs, in the shapes of Datasette 1.0."""
        return {
            "ok": True,
            "note": {"id": self.id, "title": self.title},
            "rows": [asdict(note) for note in self.notes],
            "notices": self.notices,
        }


def find_similar(
    connection: sqlite3.Connection, note_id: int, *, size: int = SIZE, unlinked: bool = False
) -> SimilarNotes | None:
    """Return the notes most like the note with that id; None if there is no such note.

    :param unlinked: leave out notes that it links to, or that link to it
    """
    found = connection.execute("select title from notes where id = ?", [note_id]).fetchone()
    if found is None:
        return None
    obstacle = _obstacle(connection, note_id)
    parts = [RELATED, SIMILAR if obstacle is None else NO_SIMILAR, SCORED]
    statement = Statement(
        statement_sql(parts, ROWS), {"note": note_id, "size": size, "unlinked": int(unlinked)}
    )
    return SimilarNotes(
        id=note_id,
        title=found[0],
        notes=tuple(_note(row) for row in fetch_rows(connection, statement)),
        notices=tuple(filter(None, [obstacle, _template(connection, note_id)])),
        statement=statement,
    )


def _obstacle(connection: sqlite3.Connection, note_id: int) -> str | None:
    # What keeps the note from being compared by meaning.
    [waits] = connection.execute(
        "select exists (select 1 from passages where note_id = ? and not embedded)", [note_id]
    ).fetchone()
    if waits or not database.read_state(connection).has_vectors:
        return NO_VECTORS
    return None if database.has_vector_extension(connection) else NO_EXTENSION


def _template(connection: sqlite3.Connection, note_id: int) -> str | None:
    sql = f"select max(notes) from {LINES} join {SHARED_LINES} using (hash) where note_id = ?"
    [count] = connection.execute(sql, [note_id]).fetchone()
    return f"Left out: a text that {counted(count, 'note')} share." if count else None


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
        reasons.append(f"close in meaning ({row['similarity']:.2f}){place}")
    if row["shared_tags"] and (tags := sorted(json.loads(row["shared_tags"]))):
        reasons.append("also tagged " + ", ".join(f"#{tag}" for _, tag in tags))
    if row["links_here"]:
        reasons.append("links to this note")
    if row["linked_from_here"]:
        reasons.append("linked from this note")
    if row["same_week"]:
        reasons.append("written the same week")
    return reasons


# --- The statement: :note is the note's id, :size how many are wanted, :unlinked whether without
# those that are linked. Passages that many notes share (a template) are no reason.

RELATED = f"""
-- the note's tags. One that two notes of many have counts nearly 1, one that all have nothing;
-- halfway is a tag on ten notes and a hundredth of all
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
-- what relates other notes to this one. Of work and work/projects only the deeper tag counts
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
    {TAGS} * min(1, sum(rarity)) + {LINK} * max(max(links_here), max(linked_from_here)) desc,
    note_id
  limit {CANDIDATES}
)"""

SIMILAR = f"""
-- the note's passages
own_passages as materialized (
  select {VECTORS}.vector
  from passages
  join {VECTORS} on {VECTORS}.passage_id = passages.id
  where note_id = :note
    and shared_by is null
    and position % (
      1 + (
        select min(max(position), {MAX_EMBEDDED}) from passages where note_id = :note
      ) / {OWN_PASSAGES}
    ) = 0
),
-- the passages nearest to each of them; the note's own are among them
near as materialized (
  select passages.id, passages.note_id, max(near.value) as similarity
  from own_passages
  cross join json_each(
    nearest_passages(
      own_passages.vector,
      {NEAREST_PASSAGES} + (
        select min(max(position) + 1, {MAX_EMBEDDED}) from passages where note_id = :note
      )
    )
  ) as near
  join passages on passages.id = near.key + 0
  where passages.note_id != :note
    and shared_by is null
  group by passages.id
),
candidates as materialized (
  select note_id from (
    select note_id from near
    group by note_id
    order by max(similarity) desc, note_id
    limit {CANDIDATES}
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
  where position < {COMPARED_PASSAGES} and shared_by is null
),
-- the most similar two passages stand for the notes; beside max(), SQLite takes the other columns
-- from the same row
similarities as materialized (
  select
    note_id, passage_id,
    max(1 - vec_distance_cosine(own_passages.vector, {VECTORS}.vector)) as similarity
  from compared
  join {VECTORS} using (passage_id)
  cross join own_passages
  group by note_id
),
-- not a scan of all passages: huge notes have many that aren't embedded
embedded as materialized (
  select passages.id
  from notes
  cross join passages on note_id = notes.id and position < {MAX_EMBEDDED}
),
-- how similar a passage of any note is to this note
usual as materialized (
  select sum(similarity) / (count(*) + {UNSEEN}) as similarity
  from (
    select max(1 - vec_distance_cosine(own_passages.vector, {VECTORS}.vector)) as similarity
    from passages
    join {VECTORS} on {VECTORS}.passage_id = passages.id
    cross join own_passages
    where passages.id in (
        select id from embedded where id % (1 + (select count(*) from embedded) / {SAMPLE}) = 0
      )
      and note_id != :note
      and shared_by is null
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

SCORED = f"""
-- each reason as a number from 0 to 1
scored as materialized (
  select
    candidates.note_id, similarities.passage_id, similarities.similarity,
    max(0, coalesce((similarities.similarity - usual.similarity) / (1 - usual.similarity), 0))
      as closeness,
    coalesce(related.tags, 0) as tags, related.shared_tags,
    coalesce(related.links_here, 0) as links_here,
    coalesce(related.linked_from_here, 0) as linked_from_here,
    max(0, coalesce(1 - abs(julianday(theirs.created) - julianday(mine.created)) / {DAYS}, 0))
      as nearness
  from candidates
  cross join usual
  join notes as mine on mine.id = :note
  join notes as theirs on theirs.id = candidates.note_id
  left join similarities on similarities.note_id = candidates.note_id
  left join related on related.note_id = candidates.note_id
)"""

ROWS = f"""
select
  notes.id, notes.title, scored.shared_tags, scored.links_here, scored.linked_from_here,
  scored.nearness > 0 as same_week, scored.closeness >= {THRESHOLD} as is_close,
  round(scored.similarity, 4) as similarity, round(
    {SIMILARITY} * closeness + {TAGS} * scored.tags
      + {LINK} * max(links_here, linked_from_here) + {TIME} * nearness, 4
  ) as score,
  {PASSAGE_COLUMNS},
  {NOTE_COLUMNS}
from scored
join notes on notes.id = scored.note_id
join sources on sources.name = notes.source
left join passages on passages.id = scored.passage_id
where (scored.closeness >= {THRESHOLD} or scored.tags > 0 or links_here or linked_from_here)
  and not (:unlinked and (links_here or linked_from_here))
  -- the same note from another source is no other note
  and notes.copy_of is null
  and notes.id is not (select copy_of from notes where id = :note)
order by score desc, notes.id
limit :size
"""
