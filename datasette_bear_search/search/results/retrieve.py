"""Run the ranking statement and read the details of the notes in its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ...index.file.metadata import json_value
from ...index.file.passages import shared_lines
from ...index.run.chunking import line_hash
from ...notes import title_line
from ...sqlite import execute, read_value, sqlite3
from ...text.markdown import joined, plain_text
from ..planning.planner import Plan
from ..ranking.scores import rrf
from ..ranking.statement import (
    DEFAULT_RANKING,
    NEAREST_PASSAGES,
    Ranking,
    Statement,
    search_statement,
)
from ..ranking.statement_functions import functions_of
from ..request import PAGE_SIZE
from . import word_matches
from .items import READ, kinds
from .records import FIRST_HITS, MAX_NEAR, NEAR, NEAR_FIRST, Found, FoundNote, MatchedPassage

NOTHING_CLOSE = "No note matches closely."


def retrieve(
    connection: sqlite3.Connection,
    planned: Plan,
    *,
    semantic: bool,
    ranking: Ranking = DEFAULT_RANKING,
    size: int = PAGE_SIZE,
    offset: int = 0,
) -> Found[FoundNote]:
    """Run a planned query on a connection to an index file that has our SQL functions.

    :param semantic: use the dense retriever; the caller has already embedded the query, so that
        ``embed(planned.terms.meaning)`` is cached
    """
    query, notices = planned.query, [*planned.query.notices, *planned.notices]
    retrievers = _retrievers(planned, semantic)
    if ranking.min_similarity is not None and retrievers and "semantic" not in retrievers:
        notices.append("Without a search by meaning, no minimum similarity was applied.")
    functions = functions_of(connection)
    statement = None
    rows: list[dict[str, Any]] = []
    if query.text and not planned.terms.substrings and not planned.filters:
        notices.append("Nothing to search for: type at least one word.")
    else:
        functions.plan = planned
        statement = search_statement(planned, retrievers, ranking, size, offset)
        try:
            rows = checked_rows(connection, statement)
        except sqlite3.DatabaseError as error:
            if "keyword" not in retrievers or "interrupted" in str(error):
                raise
            # FTS5 failed, for whatever reason. Searching for substrings always works.
            retrievers = ("like", *retrievers[1:])
            planned = replace(planned, text_mode="like", has_matches=False, bm25_normalizer=0.0)
            functions.plan = planned
            statement = search_statement(planned, retrievers, ranking, size, offset)
            rows = checked_rows(connection, statement)
            notices.append("The word index failed; these notes contain the text exactly as typed.")
    has_words = any(row["bm25"] for row in rows)
    if has_words and "keyword" in retrievers and not planned.has_matches:
        notices.append("No whole-word matches. Your words were found inside longer words.")
    has_named = "keyword" in retrievers
    for row in rows:
        row["missing"] = word_matches.missing(functions, planned, row["id"]) if has_named else ()
    if _nothing_is_close(connection, planned, rows):
        some = " These contain some of your words." if has_words else ""
        notices.append(NOTHING_CLOSE + some)
    counts = rows
    if statement and not rows and offset:
        # The counts are in each row, but there are no rows past the end.
        counts = checked_rows(
            connection, search_statement(planned, retrievers, ranking, size=1, offset=0)
        )
    total = counts[0]["total"] if counts else 0
    return Found(
        hits=_notes(connection, planned, rows),
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


def checked_rows(connection: sqlite3.Connection, statement: Statement) -> list[dict[str, Any]]:
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
    return MatchedPassage(
        *(text, heading, start, end, row.get("passage_id"), row["line"]),
        soft_breaks=bool(row["soft_breaks"]),
    )


def _retrievers(planned: Plan, semantic: bool) -> tuple[str, ...]:
    if not planned.terms.substrings:
        return ()
    mode = planned.query.mode
    words = "keyword" if planned.terms.match and mode != "like" else "like"
    if mode == "semantic" and semantic:
        return ("semantic",)
    if mode in ("auto", "hybrid") and semantic:
        return (words, "semantic")
    return (words,)


def _nothing_is_close(
    connection: sqlite3.Connection, planned: Plan, rows: Sequence[dict[str, Any]]
) -> bool:
    """Return whether no note has all words, and none is nearer than those found for nonsense."""
    if not rows or rows[0]["exact_level"]:
        return False
    if rows[0]["closest"] is None or planned.threshold is None:
        is_near = bool(rows[0]["found"])
    else:
        # Nor is it near if all that are nearer are in languages that the model wasn't made for.
        is_close = rows[0]["closest"] >= planned.threshold
        is_near = is_close and bool(rows[0]["close_passages"] or not planned.foreign)
    return not is_near and not _has_all_words(connection, planned, rows)


def _has_all_words(
    connection: sqlite3.Connection, planned: Plan, rows: Sequence[dict[str, Any]]
) -> bool:
    words = planned.content
    if not words:
        return planned.shape != "sentence" and any(row["bm25"] for row in rows)
    if all(word.text in planned.terms.identifiers for word in words):
        return True  # the plan's notices name an identifier that no note has
    if planned.named == words and any(row["bm25"] and not row["missing"] for row in rows):
        return True
    sql = "select exists (select 1 from notes_fts where notes_fts match ?)"
    return bool(read_value(connection, sql, [" AND ".join(word.match for word in words)]))


# --- the details of the notes in the statement's rows

# Shared with the statement for similar notes.
PASSAGE_COLUMNS = """case when passages.length > 0 then ifnull(
    substr(passages.text, 1, passages.length),
    substr(notes.body, passages.start + 1, passages.length)
  ) end as passage,
  passages.heading, passages.line"""
NOTE_COLUMNS = """passages.start, passages.length, notes.tags, notes.created, notes.modified,
  notes.pinned, notes.archived, notes.encrypted, notes.soft_breaks, notes.language, notes.source,
  notes.key, notes.url, sources.app, sources.heading_link"""

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
  (
    select length(before) - length(replace(replace(before, '```', '..'), '~~~', '..'))
    from (select substr(notes.body, 1, around_start) as before)
  ) % 2 as is_in_code,
  iif(:whole, substr(notes.body, 1, {READ}), '') as whole,
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


def _notes(
    connection: sqlite3.Connection, planned: Plan, rows: Sequence[dict[str, Any]]
) -> tuple[FoundNote, ...]:
    if not rows:
        return ()
    # Show the passage closest in meaning if it is close enough, otherwise the one with the words.
    by_words = [
        row["id"]
        for row in rows
        if row["bm25"]
        and (
            (planned.pasted and row["exact_level"])
            or (row["similarity"] or -1.0) < planned.closeness
            or row["language"] in planned.foreign
        )
    ]
    # Nor does a note that has the words only in its title have an answer, so show its beginning.
    starts = tuple(word_matches.beginnings(planned.terms)) if planned.shape != "sentence" else ()
    titled = [
        row["id"]
        for row in rows
        if row["bm25"] and any(start in row["title"].lower() for start in starts)
    ]
    ids = [*dict.fromkeys((*by_words, *titled))]
    places = word_matches.best_places(connection, planned, ids)
    shown = []
    for rank, row in enumerate(rows):
        place = places.get(row["id"])
        if row["id"] in ids and not place:
            row["passage_id"] = None
        place = place if row["id"] in by_words else None
        row |= {"file_text": place.file_text, "file_name": place.file_name} if place else {}
        row["passage_id"] = (place and place.passage_id) or row["passage_id"]
        shown.append((row["id"], row["passage_id"], NEAR if rank >= FIRST_HITS else NEAR_FIRST))
    whole = bool(kinds(planned.filters))
    details = Statement(_DETAILS, {"rows": json.dumps(shown), "whole": whole})
    found = checked_rows(connection, details)
    if [row["id"] for row in found] != [row["id"] for row in rows]:
        raise sqlite3.DatabaseError("an index names a row that is missing")
    adjacent: set[int] = set()
    if planned.terms.adjacent and planned.has_matches and planned.text_mode != "like":
        expression = planned.in_forms(planned.terms.adjacent)
        complete = [row["id"] for row in rows if row["bm25"] and not row["missing"]]
        adjacent = word_matches.notes_with(connection, expression, complete)
    for row in rows:
        row["is_phrase"] = row["id"] in adjacent
    shared = shared_lines(connection)
    return tuple(_note({**row, **more}, shared) for row, more in zip(rows, found))


def _note(row: dict[str, Any], shared: Container[int]) -> FoundNote:
    passage, around = passage_of(row), row["around"] or ""
    if end := title_line(row["title"], around):  # the part that isn't in the title may answer
        begins = around.startswith(row["title"][:-1])
        end = len(row["title"]) - 1 if begins else end
        around = " " * end + around[end:]
    lines = re.finditer(r"[^\n]+", around) if shared else ()
    if row["soft_breaks"]:
        around = joined(around)
    return FoundNote(
        **note_fields(row, passage.heading if passage else None),
        passage=passage,
        file_text=row.get("file_text", ""),
        file_name=row.get("file_name", ""),
        around=around,
        around_start=row["around_start"] or 0,
        is_in_code=bool(row["is_in_code"]),
        whole=row["whole"] or "",
        goes_on=bool(row["goes_on"]),
        templates=tuple(line.start() for line in lines if line_hash(plain_text(line[0])) in shared),
        keyword_rank=row["lexical_rank"],
        semantic_rank=row["dense_rank"],
        similarity=None if row["similarity"] is None else round(row["similarity"], 4),
        score=row["score"],
        blend=row["blend"],
        rrf=rrf(row["lexical_rank"], row["dense_rank"]),
        is_exact=(row["exact_level"] or 0) >= 1,
        is_found=bool(row["is_found"]),
        missing=row["missing"],
        is_phrase=row["is_phrase"],
        language=row["language"],
        also_in=tuple(json.loads(row["also_in"])),
    )
