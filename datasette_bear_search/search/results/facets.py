"""Facets: values by which a search can be narrowed, each with its number of notes.

The counts include notes that have the words or the title, or are close in meaning. So a value's
count is what the search finds when narrowed by it. Only the nearest passages are compared by
meaning. If all of them are close, there may be more, so every count is a lower bound (at_least).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...index.file import database
from ...index.file.nearest import MAX_NOTE_ID, note_set
from ...notes import fold_tag
from ...query.filters import FILTERS
from ...sqlite import execute, snapshot, sqlite3
from ..ranking.statement import matches_statement
from ..ranking.statement_functions import functions_of
from .records import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Boolean facets: a parameter of the page, its value, and its condition.
KINDS = (
    ("pinned", "1", FILTERS["pinned"].condition),
    ("archived", "1", "archived"),
    ("has", "todo", FILTERS["has"].choices["todo"].condition),
    ("has", "image", FILTERS["has"].choices["image"].condition),
    ("untagged", "1", FILTERS["untagged"].condition),
)

# Files whose notes' values are cached until the file changes: to read those of 10,000 notes takes
# 20 ms, half of the time of a page.
CACHED_FILES = 3


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
    planned, ids = results.plan, results.found_ids
    state = database.file_state(connection)
    with snapshot(connection):
        values = _values_of.get(state) or _Values.read(connection)
        if planned.has_copies or not ids:
            functions_of(connection).plan = planned
            statement = matches_statement(planned, ids)
            [[ids]] = execute(connection, statement.sql, statement.parameters)
    counts = values.counts(ids)
    sources = counts["source"]
    # A search within a source shows its copies of other sources' notes, so they count there.
    if planned.has_copies and not planned.filters.names_source():
        counts = values.counts(ids, without=values.copies)
    if state:
        database.keep(_values_of, state, values, CACHED_FILES)
    return Facets(
        total=sum(counts["month"].values()),
        at_least=results.at_least,
        tags=_tree(values.paths(counts)),
        months=dict(sorted(item for item in counts["month"].items() if item[0])),
        sources=dict(sorted(sources.items(), key=lambda item: (-item[1], item[0]))),
        kinds={(name, of): counts[name][of] for name, of, _ in KINDS if of in counts[name]},
    )


# By facet and value, how many notes have it; only values that some have.
Counts = dict[str, dict[Any, int]]


@dataclass(frozen=True)
class _Values:
    """Which notes of an index file have which values, to count those of any set of notes."""

    values: list[tuple[str, Any]]  # facets and values
    notes: NDArray[Any]  # ids, less 1, of the notes with the first value, with the next one, …
    starts: NDArray[Any]  # where those of each value begin
    copies: list[int]  # ids, less 1
    tags: list[tuple[int, list[tuple[str, str]]]]  # ids, and _with_tags_above()

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> _Values:
        import numpy

        rows = connection.execute(_VALUES).fetchall()
        notes = {row[:2]: numpy.fromstring(row[2], "i4", sep=",") - 1 for row in rows if row[2]}
        copies = [*notes.pop(("copy", None), ())]
        sql = "select id, trim(name, '#/'), folded from tags"
        tags = [(tag, [*_with_tags_above(*names)]) for tag, *names in connection.execute(sql)]
        # A note also has the tags above its own, even if none is tagged with them, as in filters.
        below: dict[str, list[NDArray[Any]]] = {}
        for tag, paths in tags:
            for _, folded in paths if ("tag", tag) in notes else ():
                below.setdefault(folded, []).append(notes["tag", tag])
        notes |= {("path", path): numpy.unique(numpy.concatenate(of)) for path, of in below.items()}
        starts = numpy.cumsum([0, *map(len, notes.values())])[:-1]
        every = numpy.concatenate([numpy.empty(0, "i4"), *notes.values()])
        return cls([*notes], every, starts, copies, tags)

    def counts(self, ids: str | None, without: Sequence[int] = ()) -> Counts:
        """Count by value the notes with these ids, a JSON array or what group_concat() returned."""
        import numpy

        size = int(self.notes.max(initial=-1)) + 1
        flags = bytearray(note_set((ids or "").strip("[]")).ljust(size, b"\0"))
        found = numpy.frombuffer(flags, "u1")
        found[numpy.array(without, int)] = 0
        numbers = numpy.add.reduceat(found[self.notes], self.starts, dtype="i8").tolist()
        counts: Counts = defaultdict(dict)
        for (facet, value), number in zip(self.values, numbers):
            if number:
                counts[facet][value] = number
        return counts

    def paths(self, counts: Counts) -> list[tuple[str, str, int]]:
        """Return folded tags, their spelling and their number of notes."""
        paths: dict[str, str] = {}
        for tag, names in self.tags:
            for path, folded in names if tag in counts["tag"] else ():
                paths[folded] = min(path, paths.get(folded, path))
        return [(folded, path, counts["path"][folded]) for folded, path in paths.items()]


_values_of: dict[tuple[object, ...], _Values] = {}


def _with_tags_above(path: str, folded: str) -> Iterator[tuple[str, str]]:
    """Yield a tag, and the tags above it, as written and folded."""
    while folded:
        yield path, folded
        path, folded = (text.rpartition("/")[0].rstrip("/") for text in (path, folded))


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


# --- Values and the notes that have them, from an index that has all that is read

# On these days, the month is the same in all time zones. Converting to local time is slow.
_MONTH = """case
    when substr(modified, 9, 2) between '02' and '27' then cast(substr(modified, 1, 7) as text)
    else strftime('%Y-%m', modified, 'localtime')
  end"""
_IS_ID = f"between 1 and {MAX_NOTE_ID}"
_IDS = f"group_concat(id) from notes indexed by notes_counts where id {_IS_ID}"
_VALUES = f"""
select 'month', {_MONTH} as month, {_IDS} group by month
union all
select 'source', cast(source as text), {_IDS} group by source
union all
select 'copy', null, {_IDS} and copy_of is not null
{"".join(f"union all select '{name}', '{value}', {_IDS} and {of} " for name, value, of in KINDS)}
union all
select 'tag', tag_id, group_concat(note_id) from note_tags where note_id {_IS_ID} group by tag_id
"""
