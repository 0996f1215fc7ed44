"""Further passages of the notes on a page that are close to the query, too."""

from __future__ import annotations

import json
from collections.abc import Sequence

from . import sidecar
from .planning import Plan
from .schema import VECTORS
from .search import Hit, Passage

# For each note, beside the one that is shown.
AT_MOST = 4

_SQL = f"""
with close as (
  select
    passages.id, passages.note_id, passages.heading, passages.start, passages.length,
    1 - vec_distance_cosine({VECTORS}.vector, embed(:meaning)) as similarity
  from passages
  join {VECTORS} on {VECTORS}.passage_id = passages.id
  where passages.note_id in (select value from json_each(:notes))
    and passages.id not in (select value from json_each(:shown))
    and passages.length > 0
),
ranked as (
  select *, row_number() over (partition by note_id order by similarity desc, id) as rank
  from close
  where similarity >= :floor
)
select
  ranked.id, ranked.note_id, ranked.heading, ranked.start, ranked.length,
  substr(notes.body, ranked.start + 1, ranked.length) as text
from ranked
join notes on notes.id = ranked.note_id
where rank <= {AT_MOST} and not notes.encrypted
order by ranked.note_id, rank
"""


def more_passages(
    connection: sidecar.sqlite3.Connection, planned: Plan, hits: Sequence[Hit]
) -> dict[int, list[Passage]]:
    """For each note (by id) its other passages that are as close as the floor, the closest first.

    Without a floor nothing is known to be close. ``embed()`` must answer at once, as for the search itself.
    """
    if planned.floor is None or not hits:
        return {}
    parameters = {
        "meaning": planned.query.meaning,
        "floor": planned.floor,
        "notes": json.dumps([hit.id for hit in hits]),
        "shown": json.dumps([hit.passage.id for hit in hits if hit.passage and hit.passage.id]),
    }
    found: dict[int, list[Passage]] = {}
    for passage_id, note_id, heading, start, length, text in connection.execute(_SQL, parameters):
        passage = Passage(text, heading or None, start, start + length, id=passage_id)
        found.setdefault(note_id, []).append(passage)
    return found
