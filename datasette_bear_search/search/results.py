"""``Plan`` → ``Results`` and ``Facets``: run the statements of a search and make its records."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any
from urllib.parse import quote

from ..index import database
from ..index.chunking import line_hash
from ..index.database import json_value
from ..index.rows import shared_lines
from ..markdown import plain_text
from ..notes import fold_tag
from ..query.filters import FILTERS
from ..query.query import Query
from ..sqlite import execute, snapshot, sqlite3
from . import matching
from .planner import Plan
from .query_functions import remember, rrf
from .sql import (
    CODE,
    DEFAULT_RANKING,
    END_CODE,
    END_MARK,
    END_SENTENCE,
    MARK,
    NEAREST_PASSAGES,
    SENTENCE,
    Ranking,
    Statement,
    counting_statement,
    search_statement,
)

NOTHING_CLOSE = "No note closely matches this."
PAGE_SIZE = 20

# The answer may be beside the closest passage. So read those within NEAR characters of it (for the
# first hits, NEAR_FIRST), at most MAX_NEAR on each side. Of 632 XQuAD questions in German, Spanish
# and English, .995, .987 and .998 have the answer there; in adjacent passages, .965, .941 and .981.
FIRST_HITS, NEAR_FIRST, NEAR, MAX_NEAR = 5, 1200, 300, 3


@dataclass(frozen=True)
class MatchedPassage:
    """A passage of a note that answers the query. Offsets count characters of the note's body."""

    text: str
    heading: str | None
    start: int
    end: int
    id: int | None = None  # in the table passages
    line: int | None = None  # its first line in the note, from 1
    # The sentence closest in meaning, if one was looked for.
    sentence_start: int | None = None
    sentence_end: int | None = None


@dataclass(frozen=True)
class ListedNote:
    id: int
    source: str
    key: str
    title: str
    url: str | None  # opens the note, at the passage's heading if it has one
    app: str  # the app that the url opens; "" if unnamed
    tags: tuple[str, ...]
    created: str | None
    modified: str | None
    pinned: bool
    archived: bool
    encrypted: bool


@dataclass(frozen=True)
class Hit(ListedNote):
    snippet: str  # plain text around the answer, marked (see snippets)
    passage: MatchedPassage | None
    keyword_rank: int | None
    semantic_rank: int | None
    similarity: float | None  # of the query and the passage: 1 the same, about 0 unrelated
    score: float | None  # determines the order: blend or rrf, times the weight of recency
    blend: float | None  # lexical and dense score, before feedback and regularization
    rrf: float | None
    is_exact: bool  # its title is the query, or it has the query's phrases and identifiers
    # Whether it has the words or is close in meaning. If not, it is merely one of the nearest.
    is_found: bool = True
    rerank_score: float | None = None  # on the reranker's own scale
    language: str | None = None
    also_in: tuple[str, ...] = ()  # other sources that have the same note
    # Text around the words if only an image or file of the note has them, and its name if known.
    file_text: str = ""
    file_name: str = ""
    # The passage with those near it, and its offset in the note.
    around: str = ""
    around_start: int = 0
    goes_on: bool = False  # whether the note has more text after it
    templates: tuple[int, ...] = ()  # offsets in it of lines that many notes share
    # As displayed, with MARK and END_MARK around the query's words.
    marked_title: str = ""
    marked_tags: tuple[str, ...] = ()
    why: str = ""  # for people: "words, 3rd · meaning, 1st (0.71) · title"

    @property
    def text(self) -> str:
        return unmarked(self.snippet)

    @property
    def file(self) -> str:
        """The file or image that has the words; empty if the note's own text has them."""
        return (self.file_name or "an image or file") if self.file_text else ""

    def snippet_html(self) -> str:
        """Return the snippet, escaped, with ``<mark>`` around matches."""
        return marked_html(self.snippet)


def marked_html(text: str) -> str:
    """Return the text as HTML: escaped, with ``<mark>`` in place of MARK and END_MARK.

    Notes may contain these characters, too. Unpaired ones are left out, because an unclosed tag
    would mark the rest of the page.
    """
    paired = _PAIR.sub(r"<mark>\1</mark>", escape(text))
    return unmarked(paired)


def unmarked(text: str) -> str:
    return _ALL_MARKS.sub("", text)


def page_html(text: str) -> str:
    """Return the text as HTML, with elements for all marks: matches, sentences and code."""
    active: set[str] = set()
    html = []
    for part in _EACH_MARK.split(text):
        if part in _ELEMENTS:
            active.add(part)
        elif part in _ENDS:
            active.discard(_ENDS[part])
        elif part:
            # Each stretch of text has its own elements, because marks may overlap but tags may not.
            around = [element for mark, element in _ELEMENTS.items() if mark in active]
            ends = (f"</{element.split()[0]}>" for element in reversed(around))
            html += [*(f"<{element}>" for element in around), escape(part), *ends]
    return "".join(html)


def cut(text: str, place: tuple[int, int]) -> tuple[str, str, str]:
    """Return the parts of a marked text before, in and after a span that doesn't count marks."""
    parts = ["", "", ""]
    at = number = 0
    active: list[str] = []  # marks that the next part has to open again
    for piece in _EACH_MARK.split(text):
        if piece in _ENDS:
            active = [mark for mark in active if mark != _ENDS[piece]]
            parts[number] += piece
            continue
        if piece in _ELEMENTS:
            active.append(piece)
            parts[number] += piece
            continue
        while number < 2 and at + len(piece) > place[number]:
            here = max(0, place[number] - at)
            parts[number] += piece[:here] + "".join(_CLOSING[mark] for mark in reversed(active))
            piece, at = piece[here:], at + here
            number += 1
            parts[number] = "".join(active)
        parts[number] += piece
        at += len(piece)
    return parts[0], parts[1], parts[2]


_PAIR = re.compile(f"{MARK}([^{MARK}{END_MARK}]*){END_MARK}")
_ELEMENTS = {SENTENCE: 'span class="bear-sentence"', CODE: "code", MARK: "mark"}
_ENDS = {END_SENTENCE: SENTENCE, END_CODE: CODE, END_MARK: MARK}
_CLOSING = {mark: end for end, mark in _ENDS.items()}
_ALL_MARKS = re.compile(f"[{''.join([*_ELEMENTS, *_ENDS])}]")
_EACH_MARK = re.compile(f"({_ALL_MARKS.pattern})")


@dataclass(frozen=True)
class Results:
    hits: tuple[Hit, ...]
    total: int  # notes that can be paged through
    found: int  # those with the words or close in meaning; the others are merely the nearest
    plan: Plan
    retrievers: tuple[str, ...]  # which of "keyword", "semantic", "like" were used
    statement: Statement | None  # None if there was nothing to run
    notices: tuple[str, ...]
    next_offset: int | None
    ranking: Ranking = DEFAULT_RANKING
    found_ids: str | None = None  # of all found notes, a JSON array; None if there is no text
    # Whether more notes may be close in meaning: all of the nearest passages are.
    at_least: bool = False

    @property
    def nothing_found(self) -> bool:
        """Whether all hits are merely the nearest notes."""
        return bool(self.hits) and not self.found

    @property
    def query(self) -> Query:
        return self.plan.query


def retrieve(
    connection: sqlite3.Connection,
    planned: Plan,
    *,
    semantic: bool,
    ranking: Ranking = DEFAULT_RANKING,
    size: int = PAGE_SIZE,
    offset: int = 0,
) -> Results:
    """Run a planned query on a connection to an index file that has our SQL functions.

    :param semantic: use the dense retriever; the caller has already embedded the query, so that
        ``embed(planned.query.meaning)`` is cached
    """
    query, notices = planned.query, [*planned.query.notices, *planned.notices]
    retrievers = _retrievers(query, semantic)
    statement = None
    rows: list[dict[str, Any]] = []
    if query.text and not query.substrings and not query.filters:
        notices.append("Nothing to search for: type at least one word.")
    else:
        remember(connection, planned)
        statement = search_statement(planned, retrievers, ranking, size, offset)
        try:
            rows = fetch_rows(connection, statement)
        except sqlite3.DatabaseError as error:
            if "keyword" not in retrievers or "interrupted" in str(error):
                raise
            # FTS5 failed, for whatever reason. Searching for substrings always works.
            retrievers = ("like", *retrievers[1:])
            planned = replace(planned, reading="like", has_matches=False, bm25_normalizer=0.0)
            remember(connection, planned)
            statement = search_statement(planned, retrievers, ranking, size, offset)
            rows = fetch_rows(connection, statement)
            notices.append("The word index failed; these notes contain the text exactly as typed.")
    has_words = any(row["bm25"] for row in rows)
    if has_words and "keyword" in retrievers and not planned.has_matches:
        notices.append("No exact matches. These notes contain the words inside longer words.")
    if _nothing_is_close(planned, rows):
        some = " These contain some of the words." if has_words else ""
        notices.append(NOTHING_CLOSE + some)
    counts = rows
    if statement and not rows and offset:
        # The counts are in each row, but there are no rows past the end.
        counts = fetch_rows(
            connection, search_statement(planned, retrievers, ranking, size=1, offset=0)
        )
    total = counts[0]["total"] if counts else 0
    return Results(
        hits=_hits(connection, planned, rows),
        total=total,
        found=counts[0]["found"] if counts else 0,
        plan=planned,
        retrievers=retrievers,
        statement=statement,
        notices=tuple(notices),
        next_offset=offset + size if offset + size < total else None,
        ranking=ranking,
        found_ids=counts[0]["found_ids"] if counts else None,
        at_least=bool(counts) and (counts[0]["close_passages"] or 0) >= NEAREST_PASSAGES,
    )


# A damaged file may contain anything, and mustn't crash the program.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "id": int,
    **dict.fromkeys(("title", "source", "key"), str),
    **dict.fromkeys(("start", "length", "line", "passage_id"), (int, type(None))),
    **dict.fromkeys(("created", "modified", "tags", "url", "heading"), (str, type(None))),
}


def fetch_rows(connection: sqlite3.Connection, statement: Statement) -> list[dict[str, Any]]:
    """Return the rows of a statement by the names of their columns.

    :raises sqlite3.DatabaseError: if a value isn't of its column's type
    """
    cursor = execute(connection, statement.sql, statement.parameters)
    columns = [column[0] for column in cursor.description]
    rows = [dict(zip(columns, row)) for row in cursor.fetchall()]
    for column in _TYPES.keys() & {*columns}:
        if not all(isinstance(row[column], _TYPES[column]) for row in rows):
            raise sqlite3.DatabaseError(f"the column {column} has a value of another type")
    return rows


def note_fields(row: Mapping[str, Any], heading: str | None) -> dict[str, Any]:
    """Return the fields of :class:`ListedNote` from a row; the url opens the heading."""
    columns = ("id", "source", "key", "title", "app", "created", "modified")
    flags = ("pinned", "archived", "encrypted")
    return {
        **{name: row[name] for name in columns},
        **{name: bool(row[name]) for name in flags},
        "url": url_at_heading(row["url"], row["heading_link"], heading),
        "tags": tuple(json_value(row["tags"], list)),
    }


def url_at_heading(url: str | None, heading_link: str | None, heading: str | None) -> str | None:
    """Return the URL that opens a note, at the heading if the source has links to headings."""
    if url and heading_link and heading:
        return url + heading_link + quote(heading.split(" › ")[-1], safe="")
    return url


def passage_of(row: Mapping[str, Any]) -> MatchedPassage | None:
    """Return the passage in a row, if any. If it has no text, its text is the title."""
    if row["start"] is None:
        return None
    start, end = row["start"], row["start"] + row["length"]
    text, heading = row["passage"] or row["title"], row["heading"] or None
    return MatchedPassage(text, heading, start, end, row.get("passage_id"), row["line"])


def _retrievers(query: Query, semantic: bool) -> tuple[str, ...]:
    if not query.substrings:
        return ()
    words = "keyword" if query.match and query.mode != "like" else "like"
    if query.mode == "semantic" and semantic:
        return ("semantic",)
    if query.mode in ("auto", "hybrid") and semantic:
        return (words, "semantic")
    return (words,)


def _nothing_is_close(planned: Plan, rows: Sequence[dict[str, Any]]) -> bool:
    # Whether the nearest passage is no nearer than those that are found for nonsense.
    if not rows or rows[0]["closest"] is None or planned.threshold is None or rows[0]["level"]:
        return False
    # For one or two words, a note that has them is enough: single words are close to few passages.
    found = planned.shape != "sentence" and any(row["bm25"] for row in rows)
    # Nor is it near if all that are nearer are in languages that the model wasn't made for.
    is_near = rows[0]["closest"] >= planned.threshold
    return not found and not (is_near and (rows[0]["close_passages"] or not planned.foreign))


# --- the details of the notes in the statement's rows

# Shared with the statement for similar notes.
PASSAGE_TEXT = """ifnull(
    substr(passages.text, 1, passages.length),
    substr(notes.body, passages.start + 1, passages.length)
  )"""
PASSAGE_COLUMNS = f"""case when passages.length > 0 then {PASSAGE_TEXT} end as passage,
  passages.heading, passages.line"""
NOTE_COLUMNS = """passages.start, passages.length, notes.tags, notes.created, notes.modified,
  notes.pinned, notes.archived, notes.encrypted, notes.language, notes.source, notes.key, notes.url,
  sources.app, sources.heading_link"""

_DETAILS = f"""
with places as materialized (
  select
    row.key as rank, json_extract(row.value, '$[0]') as note_id, passages.id as passage_id,
    min(near.position) as first_position, max(near.position) as last_position,
    min(near.start) as around_start, max(near.start + near.length) as around_end
  from json_each(:rows) as row
  left join passages on passages.id = ifnull(json_extract(row.value, '$[1]'), (
    select id from passages where note_id = json_extract(row.value, '$[0]') and position = 0
  ))
  left join passages as near on near.note_id = passages.note_id
    and near.position between passages.position - {MAX_NEAR} and passages.position + {MAX_NEAR}
    and near.start >= passages.start - json_extract(row.value, '$[2]')
    and near.start + near.length
      <= passages.start + passages.length + json_extract(row.value, '$[2]')
  group by row.key
)
select
  notes.id, {PASSAGE_COLUMNS}, {NOTE_COLUMNS}, passage_id, around_start,
  (select max(position) from passages where note_id = notes.id) > last_position as goes_on,
  substr(
    iif(passages.text is null, notes.body, (
      select group_concat(text, '') from (
        select text from passages
        where note_id = notes.id and position between first_position and last_position
        order by position
      )
    )),
    iif(passages.text is null, around_start + 1, 1), around_end - around_start
  ) as around,
  -- other sources that have the same note
  (
    select json_group_array(distinct source)
    from notes as copies
    where (copies.copy_of in (notes.id, notes.copy_of) or copies.id = notes.copy_of)
      and copies.source != notes.source
  ) as also_in
from places
join notes on notes.id = places.note_id
join sources on sources.name = notes.source
left join passages on passages.id = passage_id
order by rank
"""


def _hits(
    connection: sqlite3.Connection, planned: Plan, rows: Sequence[dict[str, Any]]
) -> tuple[Hit, ...]:
    if not rows:
        return ()
    # Show the passage closest in meaning if it is close enough, otherwise the one with the words.
    by_words = [
        row["id"]
        for row in rows
        if row["bm25"]
        and ((row["similarity"] or -1.0) < planned.closeness or row["language"] in planned.foreign)
    ]
    places = matching.best_places(connection, planned, by_words)
    shown = []
    for rank, row in enumerate(rows):
        place = places.get(row["id"])
        row |= {"file_text": place.file_text, "file_name": place.file_name} if place else {}
        row["passage_id"] = (place and place.passage_id) or row["passage_id"]
        shown.append((row["id"], row["passage_id"], NEAR if rank >= FIRST_HITS else NEAR_FIRST))
    found = fetch_rows(connection, Statement(_DETAILS, {"rows": json.dumps(shown)}))
    if [row["id"] for row in found] != [row["id"] for row in rows]:
        raise sqlite3.DatabaseError("an index names a row that is missing")
    hits = [_hit({**row, **more}) for row, more in zip(rows, found)]
    shared = shared_lines(connection)
    return tuple(_with_templates(hit, shared) for hit in hits) if shared else tuple(hits)


def _with_templates(hit: Hit, shared: Container[int]) -> Hit:
    lines = re.finditer(r"[^\n]+", hit.around)
    found = tuple(line.start() for line in lines if line_hash(plain_text(line[0])) in shared)
    return replace(hit, templates=found) if found else hit


def _hit(row: dict[str, Any]) -> Hit:
    passage = passage_of(row)
    return Hit(
        **note_fields(row, passage.heading if passage else None),
        snippet="",
        passage=passage,
        file_text=row.get("file_text", ""),
        file_name=row.get("file_name", ""),
        around=row["around"] or "",
        around_start=row["around_start"] or 0,
        goes_on=bool(row["goes_on"]),
        keyword_rank=row["lexical_rank"],
        semantic_rank=row["dense_rank"],
        similarity=None if row["similarity"] is None else round(row["similarity"], 4),
        score=row["score"],
        blend=row["blend"],
        rrf=rrf(row["lexical_rank"], row["dense_rank"]),
        is_exact=(row["level"] or 0) >= 1,
        is_found=bool(row["is_found"]),
        language=row["language"],
        also_in=tuple(json.loads(row["also_in"])),
    )


# --- facets: values by which a search can be narrowed, each with its number of notes
#
# The counts include notes that have the words or the title, or are close in meaning. So a value's
# count is what the search finds when narrowed by it. Only the nearest passages are compared by
# meaning. If all of them are close, there may be more, so every count is a lower bound (at_least).

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
    names_source = planned.query.filters.names_source()
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
        remember(connection, planned)
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
