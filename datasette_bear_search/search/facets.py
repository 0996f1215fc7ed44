"""What a search can be narrowed by: tags, months, sources, states, each with how many notes that leaves.

The counts are over the notes that the search finds: those that have its words, those whose title it is, and those that
are close in meaning (at least as close as the floor that was measured on the library). Whether a note is found depends
on that note alone and not on the others, so that a value's count is what the search narrowed by it has ``found``. What
is only nearest in meaning is listed, but not counted.

One limit: meaning looks at the nearest passages only. Where all of them are close, every count is a lower bound, and
says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..notes import fold_tag
from ..query.filters import FILTERS
from ..sqlite import execute, sqlite3
from .planner import Plan
from .sql import IS_CLOSE, NEAREST_PASSAGES, matches_statement

# The states that are worth a line of their own: a parameter of the page, its value, and the condition behind it.
KINDS = (
    ("pinned", "1", "pinned"),
    ("archived", "1", "archived"),
    ("has", "todo", FILTERS["has"].choices["todo"].condition),
    ("has", "image", FILTERS["has"].choices["image"].condition),
    ("untagged", "1", FILTERS["untagged"].condition),
)


@dataclass(frozen=True)
class TagCount:
    """A tag with those that are nested in it."""

    path: str  # as the library writes it: Work/Projects
    folded: str
    notes: int
    nested: tuple[TagCount, ...] = ()


@dataclass(frozen=True)
class Facets:
    """How many of the notes that a search finds have what."""

    total: int
    at_least: bool = False  # there may be more of everything
    tags: tuple[TagCount, ...] = ()
    months: dict[str, int] = field(default_factory=dict)  # of modification, local: 2024-05
    sources: dict[str, int] = field(default_factory=dict)
    kinds: dict[tuple[str, str], int] = field(default_factory=dict)  # (parameter, value)

    @property
    def years(self) -> dict[str, int]:
        """The months, year by year."""
        years: dict[str, int] = {}
        for month, notes in self.months.items():
            year = month.rpartition("-")[0]
            years[year] = years.get(year, 0) + notes
        return years


def count(connection: sqlite3.Connection, planned: Plan, retrievers: Sequence[str]) -> Facets:
    """Count what the notes have that a search finds with these retrievers."""
    # Who asks for a source is shown its copies of notes that other sources have, too, so that they count there.
    filters = planned.query.filters
    unfolded = replace(filters, deduplicated=False)
    is_folded = unfolded.conditions() != filters.conditions()
    told = COUNTED.format(
        copies=COPIES if is_folded else "0", no_copies=NO_COPIES if is_folded else ""
    )
    select = SELECT.format(close=COUNTED_CLOSE if "semantic" in retrievers else "")
    planned = replace(planned, query=replace(planned.query, filters=unfolded))
    statement = matches_statement(planned, retrievers, [told], select)
    counts: dict[str, list[tuple[str, str, int]]] = {}
    for facet, value, label, notes in execute(connection, statement.sql, statement.parameters):
        if notes:
            counts.setdefault(facet, []).append((value, label, notes))

    def of(facet: str) -> dict[str, int]:
        return {value: notes for value, _, notes in counts.get(facet, [])}

    return Facets(
        total=of("found").get("", 0),
        at_least=of("close").get("", 0) >= NEAREST_PASSAGES,
        tags=_tree(counts.get("tag", [])),
        months=dict(sorted(of("month").items())),
        sources=dict(sorted(of("source").items(), key=lambda item: (-item[1], item[0]))),
        kinds={(name, value): of(name)[value] for name, value, _ in KINDS if value in of(name)},
    )


def _tree(counts: Sequence[tuple[str, str, int]]) -> tuple[TagCount, ...]:
    """Tags from (folded, path, notes), each below the one that it is nested in, those of most notes first."""
    # What isn't the same when it is folded again can't be asked for by an address: "a " of the tag "a /b".
    known = {folded: (path, notes) for folded, path, notes in counts if fold_tag(folded) == folded}
    below: dict[str, list[str]] = {}
    for folded in known:
        above = folded.rpartition("/")[0]
        while above and above not in known:
            above = above.rpartition("/")[0]
        below.setdefault(above, []).append(folded)

    def tags(above: str) -> tuple[TagCount, ...]:
        found = (
            TagCount(path if fold_tag(path) == folded else folded, folded, notes, tags(folded))
            for folded, (path, notes) in (
                (folded, known[folded]) for folded in below.get(above, [])
            )
        )
        return tuple(sorted(found, key=lambda tag: (-tag.notes, tag.folded)))

    return tags("")


# Of so many notes each is looked up. Of more, the index notes_counts is read from end to end, and no note itself.
FEW = 2000

# Nowhere is it another month on these days, and to ask for local time takes long.
_MONTH = """case
        when substr(modified, 9, 2) between '02' and '27' then substr(modified, 1, 7)
        else strftime('%Y-%m', modified, 'localtime')
      end"""

_COLUMNS = ",\n      ".join(
    ["source", "{copies} as is_copy", f"{_MONTH} as month"]
    + [f'({condition}) as "{name}={value}"' for name, value, condition in KINDS]
)

# A tag counts for every tag above it, whether or not its source has those as tags, too: the filter does the same. Notes with
# the same tags are counted together, as most have one or two of a few.
COUNTED = f"""
-- once more as a set of bytes, 1 for a note that is in it
found_notes as materialized (
  select note_set(group_concat(note_id)) as ids
  from matches
),
few as materialized (
  select 1
  where (select count(*) from (select 1 from matches limit {FEW + 1})) <= {FEW}
),
counted as materialized (
  select
    source, is_copy, month, count(*) as notes,
    {", ".join(f'sum("{name}={value}") as "{name}={value}"' for name, value, _ in KINDS)}
  from (
    select
      {_COLUMNS}
    from few
    cross join notes
    where id in (select note_id from matches)
    union all
    select
      {_COLUMNS}
    from (select 1 where not exists (select 1 from few))
    cross join notes
    where substr((select ids from found_notes), id, 1) = x'01'
  )
  group by source, is_copy, month
),
tag_sets as materialized (
  select tag_ids, count(*) as notes
  from (
    select group_concat(tag_id) as tag_ids
    from note_tags
    where note_id in (select note_id from matches){{no_copies}}
    group by note_id
  )
  group by tag_ids
),
-- each tag and those above it
tag_paths as (
  select id as tag_id, trim(name, '#/') as path, folded
  from tags
  union
  select
    tag_id, rtrim(rtrim(path, replace(path, '/', '')), '/'), rtrim(rtrim(folded, replace(folded, '/', '')), '/')
  from tag_paths
  where instr(folded, '/') > 0
)"""
SELECT = """
select 'found' as facet, '' as value, '' as label, sum(notes) as notes
from counted
where not is_copy{close}
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

COPIES = "copy_of is not null"
NO_COPIES = " and note_id not in (select id from notes where copy_of is not null)"

COUNTED_CLOSE = f"""
union all
select 'close', '', '', count(*)
from nearest
where {IS_CLOSE}"""
