"""Facets: values by which a search can be narrowed, each with its number of notes.

The counts include notes that have the words or the title, or are close in meaning. So a value's
count is what the search finds when narrowed by it. Only the nearest passages are compared by
meaning. If all of them are close, there may be more, so every count is a lower bound (at_least).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...index.file import database
from ...notes import fold_tag
from ...query.filters import FILTERS
from ...sqlite import execute, snapshot, sqlite3
from ..ranking.statement import (
    counting_statement,
)
from ..ranking.statement_functions import functions_of
from .records import Results

# Boolean facets: a parameter of the page, its value, and its condition.
KINDS = (
    ("pinned", "1", "pinned"),
    ("archived", "1", "archived"),
    ("has", "todo", FILTERS["has"].choices["todo"].condition),
    ("has", "image", FILTERS["has"].choices["image"].condition),
    ("untagged", "1", FILTERS["untagged"].condition),
)

# Up to this many notes are looked up one by one. For more, the index notes_counts is scanned.
MAX_LOOKUPS = 2000

# Cached counts of searches without text. They are valid until the file changes.
CACHED_COUNTS = 20


@dataclass(frozen=True)
class TagCount:
    path: str  # as written in the notes: Work/Projects
    folded: str
    notes: int
    nested: tuple[TagCount, ...] = ()


@dataclass(frozen=True)
class Facets:
    total: int
    at_least: bool = False  # whether all counts are lower bounds
    tags: tuple[TagCount, ...] = ()
    months: dict[str, int] = field(default_factory=dict)  # of modification, local time: 2024-05
    sources: dict[str, int] = field(default_factory=dict)
    kinds: dict[tuple[str, str], int] = field(default_factory=dict)  # (parameter, value)

    @property
    def years(self) -> dict[str, int]:
        years: Counter[str] = Counter()
        for month, notes in self.months.items():
            years[month.rpartition("-")[0]] += notes
        return dict(years)


def count_facets(connection: sqlite3.Connection, results: Results) -> Facets:
    """Count the facets of all notes that a search found."""
    planned, found = results.plan, results.found_ids
    # A search within a source shows its copies of other sources' notes, so they count there.
    names_source = planned.filters.names_source()
    has_copies = planned.has_copies and not names_source
    planned = replace(planned, has_copies=False)
    statement = counting_statement(planned, found, _counted(has_copies) + _SELECT)
    # Without text, the counts depend only on the filters and may include all notes (start page).
    state = () if found else database.file_state(connection)
    key = state and (*state, statement.sql, *statement.parameters.items())
    if key and (known := _counts_of_all.get(key)):
        return known
    counts: dict[str, list[tuple[str, str, int]]] = {}
    with snapshot(connection):
        functions_of(connection).plan = planned
        rows = execute(connection, statement.sql, statement.parameters).fetchall()
    for facet, value, label, notes in rows:
        if notes:
            counts.setdefault(facet, []).append((value, label, notes))

    def of(facet: str) -> dict[str, int]:
        return {value: notes for value, _, notes in counts.get(facet, [])}

    facets = Facets(
        total=of("found").get("", 0),
        at_least=results.at_least,
        tags=_tree(counts.get("tag", [])),
        months=dict(sorted(of("month").items())),
        sources=dict(sorted(of("source").items(), key=lambda item: (-item[1], item[0]))),
        kinds={(name, value): of(name)[value] for name, value, _ in KINDS if value in of(name)},
    )
    if key:
        database.keep(_counts_of_all, key, facets, CACHED_COUNTS)
    return facets


_counts_of_all: dict[tuple[object, ...], Facets] = {}


def _tree(counts: Sequence[tuple[str, str, int]]) -> tuple[TagCount, ...]:
    # A tag that changes when folded again can't be in a URL, such as "a " from the tag "a /b".
    known = {folded: (path, notes) for folded, path, notes in counts if fold_tag(folded) == folded}
    below: dict[str, list[str]] = {}
    for folded in known:
        above = folded.rpartition("/")[0]
        while above and above not in known:
            above = above.rpartition("/")[0]
        below.setdefault(above, []).append(folded)

    def tags(above: str) -> tuple[TagCount, ...]:
        nested = (
            TagCount(path if fold_tag(path) == folded else folded, folded, notes, tags(folded))
            for folded in below.get(above, [])
            for path, notes in [known[folded]]
        )
        return tuple(sorted(nested, key=lambda tag: (-tag.notes, tag.folded)))

    return tags("")


# --- The rest of the statement, after the matches

# On these days, the month is the same in all time zones. Converting to local time is slow.
_MONTH = """case
        when substr(modified, 9, 2) between '02' and '27' then substr(modified, 1, 7)
        else strftime('%Y-%m', modified, 'localtime')
      end as month"""
_KINDS = "".join(f',\n      ({condition}) as "{name}={value}"' for name, value, condition in KINDS)
_SUMS = "".join(f',\n    sum("{name}={value}") as "{name}={value}"' for name, value, _ in KINDS)


def _counted(has_copies: bool) -> str:
    columns = f"source, {'copy_of is not null' if has_copies else 0} as is_copy, {_MONTH}{_KINDS}"
    no_copies = " and note_id not in (select id from notes where copy_of is not null)"
    return f"""
-- the same as a set of bytes, 1 for each note in it
match_set as materialized (
  select note_set(group_concat(note_id)) as ids
  from matches
),
are_few as materialized (
  select 1
  where (select count(*) from (select 1 from matches limit {MAX_LOOKUPS + 1})) <= {MAX_LOOKUPS}
),
counted as materialized (
  select source, is_copy, month, count(*) as notes{_SUMS}
  from (
    select
      {columns}
    from are_few
    cross join notes
    where id in (select note_id from matches)
    union all
    select
      {columns}
    from (select 1 where not exists (select 1 from are_few))
    cross join notes
    where substr((select ids from match_set), id, 1) = x'01'
  )
  group by source, is_copy, month
),
-- most notes have one or two of a few tags, so count notes with the same tags together
tag_sets as materialized (
  select tag_ids, count(*) as notes
  from (
    select group_concat(tag_id) as tag_ids
    from note_tags
    where note_id in (select note_id from matches){no_copies if has_copies else ""}
    group by note_id
  )
  group by tag_ids
),
-- each tag and its parents, even if no note is tagged with them (the filter does the same)
tag_paths as (
  select id as tag_id, trim(name, '#/') as path, folded
  from tags
  union
  select
    tag_id, rtrim(rtrim(path, replace(path, '/', '')), '/'),
    rtrim(rtrim(folded, replace(folded, '/', '')), '/')
  from tag_paths
  where instr(folded, '/') > 0
)"""


_SELECT = """
select 'found' as facet, '' as value, '' as label, sum(notes) as notes
from counted
where not is_copy
union all
select 'tag', folded, min(path), sum(notes)
from (
  select folded, min(tag_paths.path) as path, notes
  from tag_sets
  join json_each('[' || tag_ids || ']') as tag
  join tag_paths on tag_paths.tag_id = tag.value
  group by tag_ids, folded
)
group by folded
union all
select 'month', month, month, sum(notes)
from counted
where not is_copy and month is not null
group by month
union all
select 'source', source, source, sum(notes)
from counted
group by source""" + "".join(
    f"""
union all
select '{name}', '{value}', '', sum("{name}={value}")
from counted
where not is_copy"""
    for name, value, _ in KINDS
)
