"""``Query`` → the one statement → ``Results``. Nothing else in the package ranks anything.

The page, the JSON API, the terminal and "View as SQL" all run the statement that :func:`statement` writes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from . import sidecar
from .query import Query, without_phrases

# Weights of the FTS5 columns title, body, tags, attachments. A title says what a note is about in few words; text
# recognized in images is noisy.
COLUMN_WEIGHTS = "10.0, 1.0, 4.0, 0.5"

# Passages that the semantic leg considers. Several passages of a note count once, so this is more than the
# notes that anyone pages through; the cost of a vec0 scan grows with it.
NEAREST_PASSAGES = 300

# Around matches in a snippet, where no note can have them; replaced by markup when shown.
MARK, END_MARK = "\x02", "\x03"
ELLIPSIS = "…"
SNIPPET_TOKENS = 40

PAGE_SIZE = 20


@dataclass(frozen=True)
class Passage:
    """The part of a note that answers best; ``start`` and ``end`` count characters of the note's body."""

    text: str
    heading: str | None
    start: int
    end: int


@dataclass(frozen=True)
class Hit:
    """A note that was found, and why."""

    id: int
    source: str
    key: str
    title: str
    url: str | None  # opens the note, at the passage's heading where it has one
    tags: tuple[str, ...]
    created: str | None
    modified: str | None
    pinned: bool
    archived: bool
    encrypted: bool
    snippet: str  # plain text with MARK and END_MARK around matches
    passage: Passage | None
    keyword_rank: int | None
    semantic_rank: int | None
    similarity: float | None  # cosine of the query and the passage, -1 to 1
    score: float | None

    def snippet_html(self) -> str:
        """The snippet, escaped, with ``<mark>`` around matches."""
        return escape(self.snippet).replace(MARK, "<mark>").replace(END_MARK, "</mark>")


@dataclass(frozen=True)
class Statement:
    """SQL that Datasette's own SQL page can run, and the values of its parameters."""

    sql: str
    parameters: dict[str, str | int]


@dataclass(frozen=True)
class Results:
    """One page of hits."""

    hits: tuple[Hit, ...]
    total: int  # notes that were found in all
    query: Query
    legs: tuple[str, ...]  # which of "keyword", "semantic", "like" answered
    statement: Statement | None  # None if there was nothing to run
    notices: tuple[str, ...]
    next_offset: int | None
    milliseconds: float


def search(
    connection: sidecar.sqlite3.Connection,
    query: Query,
    *,
    semantic: bool,
    size: int = PAGE_SIZE,
    offset: int = 0,
) -> Results:
    """Run a query on a connection to a sidecar that has our SQL functions.

    :param semantic: whether ``embed(query.text)`` can be answered at once; the caller has asked the model
    """
    started = time.perf_counter()
    notices = list(query.notices)
    if query.text and not query.substrings:
        notices.append("There is nothing in this query that can be searched for.")
        return Results((), 0, query, (), None, tuple(notices), None, 0.0)
    if query.phrases and query.mode != "like" and not _any_note_matches(connection, query):
        query = without_phrases(query)
        notices.append("No note has this exact phrase; its words were searched for one by one.")
    legs = _legs(query, semantic)
    plan = statement(query, legs, size, offset)
    try:
        rows = _run(connection, plan)
    except sidecar.sqlite3.DatabaseError as error:
        if "keyword" not in legs or "interrupted" in str(error):
            raise
        # FTS5 could not answer, whatever its reason. Substrings always can.
        legs = tuple("like" if leg == "keyword" else leg for leg in legs)
        plan = statement(query, legs, size, offset)
        rows = _run(connection, plan)
        notices.append(
            "The word index could not answer; these notes contain the text as it stands."
        )
    if "keyword" in legs and any(row["found_by"] == "like" for row in rows):
        notices.append("No note has these words; some contain them inside longer words.")
    total = rows[0]["total"] if rows else 0
    return Results(
        hits=tuple(_hit(row) for row in rows),
        total=total,
        query=query,
        legs=legs,
        statement=plan,
        notices=tuple(notices),
        next_offset=offset + size if offset + size < total else None,
        milliseconds=(time.perf_counter() - started) * 1000,
    )


def statement(
    query: Query, legs: Sequence[str], size: int = PAGE_SIZE, offset: int = 0
) -> Statement:
    """The one statement, with the legs that take part.

    ``keyword`` is FTS5's BM25 (and substrings where it finds nothing), ``like`` substrings alone, ``semantic`` the
    nearest passages. With none of them the statement lists what the filters allow, newest first.
    """
    conditions, parameters = query.filters.conditions()
    if legs:
        parameters["q"] = query.text
    if "keyword" in legs:
        parameters["match"] = query.match
    if "keyword" in legs or "like" in legs:
        parameters["substrings"] = json.dumps(query.substrings, ensure_ascii=False)

    ctes = []
    if conditions:
        ctes.append(ALLOWED_SQL.format(conditions="\n    and ".join(conditions)))
    if "keyword" in legs:
        ctes.append(KEYWORD_SQL)
    elif "like" in legs:
        ctes.append(LIKE_SQL)
    elif legs:
        ctes.append(NO_KEYWORD_SQL)
    ctes.append(SEMANTIC_SQL if "semantic" in legs else NO_SEMANTIC_SQL)
    ctes.append(FUSED_SQL if legs else LISTED_SQL)
    ctes.append(PAGE_SQL.format(limit=int(size), offset=int(offset)))
    ctes.append(CLOSEST_SQL if "semantic" in legs else NO_CLOSEST_SQL)
    ctes.append(SNIPPETS_SQL if "keyword" in legs else NO_SNIPPETS_SQL)
    sql = "with\n" + ",\n".join(cte.strip("\n") for cte in ctes) + SHOWN_SQL
    # A line that ends in "-- filtered" is there for the filters only.
    if not conditions:
        sql = re.sub(r"\n[^\n]*-- filtered(?=\n)", "", sql)
    return Statement(sql.replace(" -- filtered", ""), parameters)


# The statement, part by part, in the order in which the parts stand. One that doesn't take part in a search is
# replaced by an empty table of the same shape, so that what follows need not know.

ALLOWED_SQL = """
-- what the filters allow
allowed as materialized (
  select id
  from notes
  where {conditions}
)"""

KEYWORD_SQL = f"""
-- words: every note that has one of them; bm25() is the more negative the better
word_hits as materialized (
  select rowid as note_id, -bm25(notes_fts, {COLUMN_WEIGHTS}) as bm25
  from notes_fts
  where notes_fts match :match
    and +rowid in (select id from allowed) -- filtered
),
-- where there is none, notes that contain the text inside longer words
substring_hits as materialized (
  select id as note_id, instr(lower(title), lower(:q)) > 0 as in_title, modified
  from notes
  where not exists (select 1 from word_hits)
    and id in (select id from allowed) -- filtered
    and not exists (
      select 1
      from json_each(:substrings)
      where instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), lower(value)) = 0
    )
),
keyword as materialized (
  select note_id, 'words' as found_by, row_number() over (order by bm25 desc, note_id) as rank
  from word_hits
  union all
  select note_id, 'like', row_number() over (order by in_title desc, modified desc, note_id)
  from substring_hits
)"""

LIKE_SQL = """
-- notes that contain every part of the text as it stands
substring_hits as materialized (
  select id as note_id, instr(lower(title), lower(:q)) > 0 as in_title, modified
  from notes
  where not exists (
      select 1
      from json_each(:substrings)
      where instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), lower(value)) = 0
    )
    and id in (select id from allowed) -- filtered
),
keyword as materialized (
  select note_id, 'like' as found_by, row_number() over (order by in_title desc, modified desc, note_id) as rank
  from substring_hits
)"""

NO_KEYWORD_SQL = """
keyword as (
  select null as note_id, null as found_by, null as rank
  where false
)"""

SEMANTIC_SQL = f"""
-- meaning: the passages nearest to the query; the filters are applied before the nearest are counted
nearest as materialized (
  select rowid as passage_id, 1 - distance as similarity
  from {sidecar.PASSAGE_INDEX}
  where embedding match embed(:q)
    and k = {NEAREST_PASSAGES}
    and rowid in (select id from passages where note_id in (select id from allowed)) -- filtered
),
-- the best passage stands for its note: beside max(), SQLite takes the other columns from the same row
best_passages as materialized (
  select passages.note_id, passages.id as passage_id, max(nearest.similarity) as similarity
  from nearest
  join passages on passages.id = nearest.passage_id
  group by passages.note_id
),
semantic as materialized (
  select note_id, passage_id, similarity, row_number() over (order by similarity desc, note_id) as rank
  from best_passages
)"""

NO_SEMANTIC_SQL = """
semantic as (
  select null as note_id, null as passage_id, null as similarity, null as rank
  where false
)"""

FUSED_SQL = """
-- both: Reciprocal Rank Fusion, in which a note that one leg didn't find has no rank there
fused as materialized (
  select
    note_id, found_by, keyword.rank as keyword_rank, semantic.rank as semantic_rank,
    passage_id, similarity, rrf(keyword.rank, semantic.rank) as score
  from (select note_id from keyword union select note_id from semantic)
  left join keyword using (note_id)
  left join semantic using (note_id)
)"""

LISTED_SQL = """
-- nothing was asked for: the newest first
fused as materialized (
  select
    id as note_id, null as found_by, null as keyword_rank, null as semantic_rank,
    null as passage_id, null as similarity, julianday(modified) as score
  from notes
  where id in (select id from allowed) -- filtered
)"""

PAGE_SQL = """
page as materialized (
  select *, count(*) over () as total
  from fused
  order by score desc, keyword_rank is null, note_id
  limit {limit} offset {offset}
)"""

CLOSEST_SQL = f"""
-- notes on this page that were found by their words only: their closest passage, too
closest as materialized (
  select
    passages.note_id, passages.id as passage_id,
    max(1 - vec_distance_cosine({sidecar.VECTORS}.vector, embed(:q))) as similarity
  from page
  join passages on passages.note_id = page.note_id
  join {sidecar.VECTORS} on {sidecar.VECTORS}.passage_id = passages.id
  where page.passage_id is null
  group by passages.note_id
)"""

NO_CLOSEST_SQL = """
closest as (
  select null as note_id, null as passage_id, null as similarity
  where false
)"""

SNIPPETS_SQL = f"""
snippets as materialized (
  select note_id, (
    select snippet(notes_fts, -1, char({ord(MARK)}), char({ord(END_MARK)}), '{ELLIPSIS}', {SNIPPET_TOKENS})
    from notes_fts
    where notes_fts match :match and rowid = page.note_id
  ) as snippet
  from page
)"""

NO_SNIPPETS_SQL = """
snippets as (
  select null as note_id, null as snippet
  where false
)"""

SHOWN_SQL = f"""
select
  notes.id, notes.title, snippets.snippet,
  case when passages.length > 0 then substr(notes.body, passages.start + 1, passages.length) end as passage,
  passages.heading, page.keyword_rank, page.semantic_rank,
  round(coalesce(page.similarity, closest.similarity), 4) as similarity, page.score,
  notes.tags, notes.created, notes.modified, notes.pinned, notes.archived, notes.encrypted,
  notes.source, notes.key, notes.url, sources.heading_link,
  passages.start, passages.length, page.found_by, page.total
from page
join notes on notes.id = page.note_id
join sources on sources.name = notes.source
left join closest on closest.note_id = page.note_id
left join snippets on snippets.note_id = page.note_id
-- the passage that is closest in meaning, else the one that the snippet was taken from
left join passages on passages.id = coalesce(page.passage_id, closest.passage_id, (
  select id
  from passages
  where note_id = page.note_id
    and start < max(1, instr(notes.body, trim(
      replace(replace(snippets.snippet, char({ord(MARK)}), ''), char({ord(END_MARK)}), ''), '{ELLIPSIS}'
    )))
  order by start desc
  limit 1
))
order by page.score desc, page.keyword_rank is null, page.note_id
"""


def _legs(query: Query, semantic: bool) -> tuple[str, ...]:
    if not query.substrings:
        return ()
    words = "keyword" if query.match and query.mode != "like" else "like"
    if query.mode == "semantic" and semantic:
        return ("semantic",)
    if query.mode in ("auto", "hybrid") and semantic:
        return (words, "semantic")
    return (words,)


def _any_note_matches(connection: sidecar.sqlite3.Connection, query: Query) -> bool:
    try:
        [found] = connection.execute(
            "select exists (select 1 from notes_fts where notes_fts match ?)", [query.match]
        ).fetchone()
    except sidecar.sqlite3.DatabaseError:
        return True  # the statement itself will find out, and knows what to do
    return bool(found)


def _run(
    connection: sidecar.sqlite3.Connection, plan: Statement
) -> list[dict[str, str | int | float | None]]:
    cursor = connection.execute(plan.sql, plan.parameters)
    columns = [column[0] for column in cursor.description]
    return [dict(zip(columns, row)) for row in cursor.fetchall()]


def _hit(row: dict) -> Hit:
    start, length, heading = row["start"], row["length"], row["heading"] or None
    passage = None
    if start is not None:
        passage = Passage(row["passage"] or row["title"], heading, start, start + length)
    url = row["url"]
    if url and heading and row["heading_link"]:
        url += row["heading_link"] + quote(heading.split(" › ")[-1], safe="")
    snippet = row["snippet"] or (" ".join(passage.text.split()[:SNIPPET_TOKENS]) if passage else "")
    return Hit(
        id=row["id"],
        source=row["source"],
        key=row["key"],
        title=row["title"],
        url=url,
        tags=tuple(json.loads(row["tags"])),
        created=row["created"],
        modified=row["modified"],
        pinned=bool(row["pinned"]),
        archived=bool(row["archived"]),
        encrypted=bool(row["encrypted"]),
        snippet=snippet,
        passage=passage,
        keyword_rank=row["keyword_rank"],
        semantic_rank=row["semantic_rank"],
        similarity=row["similarity"],
        score=row["score"] if row["keyword_rank"] or row["semantic_rank"] else None,
    )
