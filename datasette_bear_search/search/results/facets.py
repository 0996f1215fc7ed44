"""Facets: values by which a search can be narrowed, each with its number of notes.

The counts include notes that have the words or the title, or are close in meaning. So a value's
count is what the search finds when narrowed by it. Only the nearest passages are compared by
meaning. If all of them are close, there may be more, so every count is a lower bound (at_least).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...index.file import database
from ...notes import fold_tag
from ...query.filters import FILTERS
from ...sqlite import execute, snapshot, sqlite3
from ..ranking.statement import counting_statement
from ..ranking.statement_functions import functions_of
from .records import Results

# Boolean facets: a parameter of the page, its value, and its condition.
KINDS = (
    ("pinned", "1", "pinned"),
    ("archived", "1", "archived"),
    ("has", "todo", FILTERS["has"].choices["todo"].condition),
    ("has", "image", FILTERS["has"].choices["image"].condition),
)

# Cached counts of searches without text. They are valid until the file changes.
CACHED_COUNTS = 20

# From so many found notes on, read an index that has all that is counted instead of each note:
# 10,000 of 10,000 notes take 9 ms instead of 16.
MANY_FOUND = 3000


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
    has_copies = planned.has_copies and not planned.filters.names_source()
    statement = counting_statement(planned, found, _values(has_copies, results.found))
    # Without text, the counts depend only on the filters and may include all notes (start page).
    state = () if found else database.file_state(connection)
    key = state and (*state, statement.sql, *statement.parameters.items())
    if key and (known := _counts_of_all.get(key)):
        return known
    with snapshot(connection):
        functions_of(connection).plan = planned
        [row] = execute(connection, statement.sql, statement.parameters)
        tags = connection.execute("select id, trim(name, '#/'), folded from tags").fetchall()
    tagged, tag_ids, sources, months = map(json.loads, row[:4])
    kinds = {kind[:2]: notes for kind, notes in zip(KINDS, row[4:]) if notes}
    if untagged := len(months) - len({*tagged}):
        kinds["untagged", "1"] = untagged
    facets = Facets(
        total=len(months),
        at_least=results.at_least,
        tags=_tree(_notes_of_tags(tags, tagged, tag_ids)),
        months=dict(sorted(Counter(filter(None, months)).items())),
        sources=dict(sorted(Counter(sources).items(), key=lambda item: (-item[1], item[0]))),
        kinds=kinds,
    )
    if key:
        database.keep(_counts_of_all, key, facets, CACHED_COUNTS)
    return facets


_counts_of_all: dict[tuple[object, ...], Facets] = {}


def _notes_of_tags(
    tags: Iterable[tuple[int, str, str]], tagged: Sequence[int], tag_ids: Sequence[int]
) -> list[tuple[str, str, int]]:
    """Return folded tags, their spelling and their number of notes, from pairs of note and tag.

    A note with a tag also has the tags above it, even if none is tagged with them, as in filters.
    """
    notes_of: dict[int, list[int]] = {}
    for note_id, tag_id in zip(tagged, tag_ids):
        notes_of.setdefault(tag_id, []).append(note_id)
    paths: dict[str, str] = {}
    having: dict[str, set[int]] = {}
    for tag_id, path, folded in tags:
        while folded and tag_id in notes_of:
            paths[folded] = min(path, paths.get(folded, path))
            having.setdefault(folded, set()).update(notes_of[tag_id])
            path, folded = (text.rpartition("/")[0].rstrip("/") for text in (path, folded))
    return [(folded, paths[folded], len(notes)) for folded, notes in having.items()]


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
    end"""


def _values(has_copies: bool, found: int) -> str:
    # Python counts them: to group the notes by a value, SQLite sorts them, which takes much longer.
    own, of_own = "", ""
    if has_copies:
        own = " filter (where copy_of is null)"
        of_own = "\n  where note_id not in (select id from notes where copy_of is not null)"
    kinds = "".join(f",\n    sum({condition}){own}" for *_, condition in KINDS)
    notes = "matches cross join notes on id = note_id"
    if found >= MANY_FOUND:
        notes = "notes indexed by notes_counts where id in (select note_id from matches)"
    return f"""
of_notes as (
  select json_group_array(source), json_group_array({_MONTH}){own}{kinds}
  from {notes}
),
of_tags as (
  select json_group_array(note_id), json_group_array(tag_id)
  from matches cross join note_tags using (note_id){of_own}
)
select * from of_tags, of_notes"""
