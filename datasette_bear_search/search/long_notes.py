"""Snippets of notes that are too long for FTS5's ``snippet()``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from ..index.schema import TOKENIZER
from ..query import fts5
from ..query.query import Query
from ..sqlite import sqlite3
from .sql import ELLIPSIS, IS_LONG, SNIPPET

# Characters of a piece, and those that the next one has, too.
PIECE, OVERLAP = 1200, 200
# Pieces of a text that are read for words. 200,000 characters take 5 ms.
MAX_PIECES = 200
# Of longer texts: characters that are searched for words, once for each word; places of a word that
# count; and characters that are searched at once. A million take about 1 ms.
SEARCHED, MAX_PLACES = 30_000_000, 8
CHUNK = 100_000


def snippets(
    connection: sqlite3.Connection, query: Query, note_ids: Sequence[int]
) -> Mapping[int, str]:
    """Return the snippets of those of the notes that are long, by id.

    ``snippet()`` compares each match in a note with all others: of 100,000 it would take minutes.
    So each note is cut into pieces, and FTS5 finds the piece that says most.
    """
    words = [*query.identifiers, *query.words, *query.completions]
    expression = fts5.any_of(
        [*map(fts5.quoted, [*query.phrases, *words]), *map(fts5.starting_with, query.prefixes)]
    )
    marks = ",".join("?" * len(note_ids))
    sql = f"""
    select id, title, body, attachments from notes where id in ({marks}) and {IS_LONG}
    """
    notes = connection.execute(sql, note_ids).fetchall() if note_ids and expression else []
    if not notes:
        return {}
    tokens = (token for phrase in query.phrases for token in fts5.tokens(phrase))
    terms = [_beginning(term) for term in (*query.phrases, *words, *query.prefixes, *tokens)]
    reach = SEARCHED // len(terms) // len(notes)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as pieces:
        pieces.execute(
            "create virtual table notes_fts using fts5(title, body, tags, attachments,"
            f" note_id unindexed, cut unindexed, tokenize='{TOKENIZER}')"
        )
        pieces.execute("begin")
        insert = "insert into notes_fts (note_id, cut, {0}) values (?, ?, ?)"
        for note_id, *texts in notes:
            for column, text in zip(("title", "body", "attachments"), texts):
                pieces.executemany(
                    insert.format(column),
                    ((note_id, cut, piece) for cut, piece in _pieces(text or "", terms, reach)),
                )
        # The title only if nothing else has the words.
        best = """
        select rowid, note_id, row_number() over (
          partition by note_id order by title is not null, rank
        ) as place
        from notes_fts where notes_fts match :expression
        """
        sql = f"""
        select note_id, cut, {SNIPPET} from notes_fts
        where notes_fts match :expression and +rowid in (select rowid from ({best}) where place = 1)
        """
        rows = pieces.execute(sql, {"expression": expression}).fetchall()
    return {note_id: _with_ellipsis(snippet, cut) for note_id, cut, snippet in rows}


def _beginning(term: str) -> str:
    # Near enough to a stem: the pieces found by it need not match.
    return term.lower() if len(term) < 5 else term.lower()[: max(4, len(term) - 3)]


def _pieces(text: str, terms: Sequence[str], reach: int) -> Iterator[tuple[str, str]]:
    """Yield pieces of a text that may match, each with where it is cut: "", "<", ">" or "<>"."""
    step = PIECE - OVERLAP
    starts: Sequence[int] = range(0, max(1, len(text) - OVERLAP), step)
    if len(starts) > MAX_PIECES:
        found = {max(0, place - OVERLAP) // step * step for place in _places(text, terms, reach)}
        starts = sorted(found) or starts
    for start in starts[:MAX_PIECES]:
        end = start + PIECE
        # Whole words, where there are spaces.
        first = text.find(" ", start, start + OVERLAP // 2) + 1 if start else 0
        last = text.rfind(" ", end - OVERLAP // 2, end) if end < len(text) else len(text)
        piece = text[first or start : last if last > 0 else end]
        yield "<" * (start > 0) + ">" * (end < len(text)), piece


def _places(text: str, terms: Sequence[str], reach: int) -> Iterator[int]:
    missing = dict.fromkeys(terms, MAX_PLACES)
    for start in range(0, min(len(text), reach), CHUNK):
        lower = text[start : start + CHUNK].lower()
        for term in list(missing):
            place = lower.find(term)
            while place >= 0 and missing[term]:
                missing[term] -= 1
                yield start + place
                place = lower.find(term, place + PIECE)
            if not missing[term]:
                del missing[term]
        if not missing:
            return


def _with_ellipsis(snippet: str, cut: str) -> str:
    before = ELLIPSIS if "<" in cut and not snippet.startswith(ELLIPSIS) else ""
    return before + snippet + (ELLIPSIS if ">" in cut and not snippet.endswith(ELLIPSIS) else "")
