"""``Query`` → the one statement → ``Results``. Nothing else in the package ranks anything.

The page, the JSON API, the terminal and "View as SQL" all run the statement that :func:`statement` gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from ..embeddings.base import Embedder
from ..index import vectors
from ..query.query import Query
from ..sqlite import execute, sqlite3
from .found import found_sql
from .planner import Plan
from .sql import (
    END_MARK,
    ENOUGH,
    MARK,
    NEAREST_PASSAGES,
    SNIPPET_TOKENS,
    among_candidates,
    statement_sql,
)

PAGE_SIZE = 20


@dataclass(frozen=True)
class Ranking:
    """How results are put in order, where it isn't left to us."""

    balance: float | None = None  # 0 words alone … 1 meaning alone; None: by the shape of the query
    fusion: str = "blend"  # or "rrf"
    sort: str = "relevance"  # or "newest", "oldest", "title"
    recency: float | None = None  # half-life in days; None: age doesn't matter
    rerank: str | None = None  # the reranker that looks at the first results


DEFAULT_RANKING = Ranking()


@dataclass(frozen=True)
class MatchedPassage:
    """The part of a note that answers best; where it starts and ends counts characters of the note's body."""

    text: str
    heading: str | None
    start: int
    end: int
    id: int | None = None  # in the table passages
    # Its sentence that is closest in meaning, of those that were looked for.
    sentence_start: int | None = None
    sentence_end: int | None = None

    def marked(self) -> str:
        """The text with MARK and END_MARK around its closest sentence."""
        if self.sentence_start is None or self.sentence_end is None:
            return self.text
        start, end = self.sentence_start - self.start, self.sentence_end - self.start
        return f"{self.text[:start]}{MARK}{self.text[start:end]}{END_MARK}{self.text[end:]}"


@dataclass(frozen=True)
class Hit:
    """A note that was found, and why."""

    id: int
    source: str
    key: str
    title: str
    url: str | None  # opens the note, at the passage's heading where it has one
    app: str  # what that opens; "" if it has no name
    tags: tuple[str, ...]
    created: str | None
    modified: str | None
    pinned: bool
    archived: bool
    encrypted: bool
    snippet: str  # plain text with MARK and END_MARK around matches
    passage: MatchedPassage | None
    keyword_rank: int | None
    semantic_rank: int | None
    similarity: float | None  # cosine of the query and the passage, -1 to 1
    score: float | None  # what the order follows: blend or rrf, times the weight of recency
    blend: float | None
    rrf: float | None
    is_exact: bool  # its title is the query, or it has the query's phrases and identifiers
    is_found: bool = (
        True  # has the words or is close in meaning; else it is one of the nearest, however far
    )
    rerank_score: float | None = None  # the reranker's, on its own scale
    also_in: tuple[str, ...] = ()  # other sources that have the same note

    def snippet_html(self) -> str:
        """The snippet, escaped, with ``<mark>`` around matches."""
        return marked_html(self.snippet)


def marked_html(text: str) -> str:
    """Text with MARK and END_MARK as HTML: escaped, with ``<mark>`` in their place.

    Notes may have these characters, too. Those that are no pair are left out, or an open tag would mark the rest of the page.
    """
    paired = _PAIR.sub(r"<mark>\1</mark>", escape(text))
    return paired.replace(MARK, "").replace(END_MARK, "")


_PAIR = re.compile(f"{MARK}([^{MARK}{END_MARK}]*){END_MARK}")


@dataclass(frozen=True)
class Statement:
    """SQL that Datasette's own SQL page can run, and the values of its parameters."""

    sql: str
    parameters: dict[str, str | int | float]


@dataclass(frozen=True)
class Results:
    """One page of hits."""

    hits: tuple[Hit, ...]
    total: int  # notes that can be paged through
    found: int  # those of them that have the words or are close in meaning; the others are only nearest
    plan: Plan
    retrievers: tuple[str, ...]  # which of "keyword", "semantic", "like" answered
    statement: Statement | None  # None if there was nothing to run
    notices: tuple[str, ...]
    next_offset: int | None

    @property
    def nothing_found(self) -> bool:
        """Whether these are only the nearest, as there is nothing else."""
        return bool(self.hits) and not self.found

    @property
    def query(self) -> Query:
        """The query as it was run."""
        return self.plan.query


def prefetch(connection: sqlite3.Connection, planned: Plan, embedder: Embedder) -> None:
    """Read into memory what a search by meaning needs, and begin to look for what is near, beside the statement.

    Called before the statement's time is limited: reading into memory isn't part of it.

    :param embedder: one that has the query's vector already
    :raises sqlite3.DatabaseError: if the sidecar is damaged
    """
    index = vectors.load(connection, is_filtered=bool(planned.query.filters))
    if not planned.query.filters:
        index.prefetch(embedder.embed_query(planned.query.meaning), NEAREST_PASSAGES)


def retrieve(
    connection: sqlite3.Connection,
    planned: Plan,
    *,
    semantic: bool,
    ranking: Ranking = DEFAULT_RANKING,
    size: int = PAGE_SIZE,
    offset: int = 0,
) -> Results:
    """Run a planned query on a connection to a sidecar that has our SQL functions.

    :param semantic: whether ``embed(planned.query.meaning)`` is answered at once: the caller has asked the model
    """
    query, notices = planned.query, [*planned.query.notices, *planned.notices]
    retrievers = _retrievers(query, semantic)
    to_run = None
    rows: list[dict] = []
    if query.text and not query.substrings and not query.filters:
        notices.append("There is nothing in this query that can be searched for.")
    else:
        to_run = statement(planned, retrievers, ranking, size, offset)
        try:
            rows = fetch_rows(connection, to_run)
        except sqlite3.DatabaseError as error:
            if "keyword" not in retrievers or "interrupted" in str(error):
                raise
            # FTS5 could not answer, whatever its reason. Substrings always can.
            retrievers = tuple(
                "like" if retriever == "keyword" else retriever for retriever in retrievers
            )
            to_run = statement(planned, retrievers, ranking, size, offset)
            rows = fetch_rows(connection, to_run)
            notices.append(
                "The word index could not answer; these notes contain the text as it stands."
            )
    if "keyword" in retrievers and any(row["found_by"] == "like" for row in rows):
        notices.append("No note has these words; some contain them inside longer words.")
    if _nothing_is_close(planned, rows):
        has_words = " Some notes have words of it." if any(row["found_by"] for row in rows) else ""
        notices.append(f"Nothing is really close to this in meaning.{has_words}")
    total = rows[0]["total"] if rows else 0
    return Results(
        hits=tuple(_hit(row) for row in rows),
        total=total,
        found=rows[0]["found"] if rows else 0,
        plan=planned,
        retrievers=retrievers,
        statement=to_run,
        notices=tuple(notices),
        next_offset=offset + size if offset + size < total else None,
    )


def statement(
    planned: Plan,
    retrievers: Sequence[str],
    ranking: Ranking = DEFAULT_RANKING,
    size: int = PAGE_SIZE,
    offset: int = 0,
) -> Statement:
    """The one statement, with the retrievers that take part and the values of its parameters.

    ``keyword`` is FTS5's BM25 (and substrings where it finds nothing), ``like`` substrings alone, ``semantic`` the
    nearest passages. With none of them the statement lists what the filters allow, newest first.
    """
    conditions, parameters = planned.query.filters.conditions()
    parameters |= _asked(planned, retrievers)
    if retrievers:
        parameters["enough"] = ENOUGH * planned.max_bm25
        parameters["balance"] = {("semantic",): 1.0}.get(
            tuple(retrievers), planned.balance if "semantic" in retrievers else 0.0
        )
    if retrievers and ranking.recency:
        parameters["half_life"] = ranking.recency
    if "semantic" in retrievers:
        parameters["floor"] = planned.threshold or 0.0
    if (
        "keyword" in retrievers
        and planned.promising
        and among_candidates(ranking.sort, size, offset)
    ):
        parameters["promising"] = planned.promising
    sql = statement_sql(
        retrievers,
        conditions,
        exact="exact" in parameters,
        anywhere="anywhere" in parameters,
        promising="promising" in parameters,
        fusion=ranking.fusion,
        sort=ranking.sort,
        recency=bool(ranking.recency),
        # In any order but that of relevance, what isn't close would stand among what is.
        found_only="semantic" in retrievers and ranking.sort != "relevance",
        limit=size,
        offset=offset,
    )
    return Statement(sql, parameters)


def matches_statement(planned: Plan, retrievers: Sequence[str], told: str) -> Statement:
    """A statement about all notes that a search finds, in its table ``found``: ``told`` is what is said of them."""
    conditions, parameters = planned.query.filters.conditions()
    parameters |= _asked(planned, retrievers)
    if "semantic" in retrievers:
        parameters["floor"] = planned.threshold or 0.0
    sql = found_sql(
        retrievers,
        conditions,
        exact="exact" in parameters,
        anywhere="anywhere" in parameters,
        told=told,
    )
    return Statement(sql, parameters)


def _asked(planned: Plan, retrievers: Sequence[str]) -> dict[str, str | int | float]:
    """The parameters that say what is looked for."""
    query = planned.query
    parameters: dict[str, str | int | float] = {}
    if retrievers:
        # What a title must be to be what was asked for.
        parameters["q"] = query.meaning if query.understood else query.text
    if "keyword" in retrievers:
        parameters["match"] = query.match
        if planned.anywhere:
            parameters["anywhere"] = json.dumps(planned.anywhere, ensure_ascii=False)
        if query.exact:
            parameters["exact"] = query.exact
            parameters["exact_substrings"] = json.dumps(query.exact_substrings, ensure_ascii=False)
    if "keyword" in retrievers or "like" in retrievers:
        parameters["substrings"] = json.dumps(query.substrings, ensure_ascii=False)
    if "semantic" in retrievers:
        parameters["meaning"] = query.meaning
    return parameters


def url_at_heading(url: str | None, heading_link: str | None, heading: str | None) -> str | None:
    """The address that opens a note, at a heading where there is one and the note's source has such links."""
    if url and heading_link and heading:
        return url + heading_link + quote(heading.split(" › ")[-1], safe="")
    return url


def note_fields(row: dict, heading: str | None) -> dict[str, Any]:
    """What every answer says of a note itself, from a row of a statement; ``heading`` is where its url leads."""
    return {
        "id": row["id"],
        "source": row["source"],
        "key": row["key"],
        "title": row["title"],
        "url": url_at_heading(row["url"], row["heading_link"], heading),
        "app": row["app"],
        "tags": tuple(json.loads(row["tags"])),
        "created": row["created"],
        "modified": row["modified"],
        "pinned": bool(row["pinned"]),
        "archived": bool(row["archived"]),
        "encrypted": bool(row["encrypted"]),
    }


def _retrievers(query: Query, semantic: bool) -> tuple[str, ...]:
    if not query.substrings:
        return ()
    words = "keyword" if query.match and query.mode != "like" else "like"
    if query.mode == "semantic" and semantic:
        return ("semantic",)
    if query.mode in ("auto", "hybrid") and semantic:
        return (words, "semantic")
    return (words,)


def _nothing_is_close(planned: Plan, rows: Sequence[dict]) -> bool:
    """Whether the best that meaning found is no better than what is found for nonsense."""
    if not rows or rows[0]["closest"] is None or planned.threshold is None or rows[0]["exact"]:
        return False
    # Of one or two words, having them is enough: a word alone is close to little.
    found = planned.shape != "sentence" and any(row["found_by"] for row in rows)
    return rows[0]["closest"] < planned.threshold and not found


def fetch_rows(
    connection: sqlite3.Connection, statement: Statement
) -> list[dict[str, str | int | float | None]]:
    """What a statement answers, each row by the names of its columns."""
    cursor = execute(connection, statement.sql, statement.parameters)
    columns = [column[0] for column in cursor.description]
    return [dict(zip(columns, row)) for row in cursor.fetchall()]


def _hit(row: dict) -> Hit:
    start, length, heading = row["start"], row["length"], row["heading"] or None
    passage = None
    if start is not None:
        passage = MatchedPassage(
            row["passage"] or row["title"], heading, start, start + length, id=row["passage_id"]
        )
    snippet = row["snippet"] or (" ".join(passage.text.split()[:SNIPPET_TOKENS]) if passage else "")
    return Hit(
        **note_fields(row, heading),
        snippet=snippet,
        passage=passage,
        keyword_rank=row["keyword_rank"],
        semantic_rank=row["semantic_rank"],
        similarity=row["similarity"],
        score=row["score"] if row["found_by"] or row["semantic_rank"] or row["exact"] else None,
        blend=row["blend"],
        rrf=row["rrf"],
        is_exact=bool(row["exact"]),
        is_found=bool(row["is_found"]),
        also_in=tuple(json.loads(row["also_in"])),
    )
