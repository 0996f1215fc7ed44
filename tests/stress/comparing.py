"""Compare the contents of sidecars, whatever their histories, and check their integrity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from datasette_bear_search.index.file import schema, vectors
from datasette_bear_search.index.file.vectors import signs
from datasette_bear_search.sqlite import sqlite3

# Everything that a search can see but ids, which depend on history: notes are known by their keys.
_CONTENT = {
    "notes": "select {columns}, (select key from notes as first where first.id = notes.copy_of)"
    " from notes",
    "tags": """
        select notes.source, notes.key, tags.name, tags.folded, note_tags.pinned
        from note_tags join notes on notes.id = note_id join tags on tags.id = tag_id
        """,
    "tag names": "select name from tags",
    "links": """
        select notes.source, notes.key, links.target_key, links.title, target.key
        from links join notes on notes.id = note_id
        left join notes as target on target.id = target_id
        """,
    "passages": """
        select notes.source, notes.key, position, heading, start, length, content_hash, vector_state
        from passages left join notes on notes.id = note_id
        """,
    "vectors": f"""
        select notes.source, notes.key, position, vector
        from {schema.VECTORS}
        left join passages on passages.id = passage_id left join notes on notes.id = note_id
        """,
    # Two indexes may have other signs, because they were last measured with other notes.
    "vectors that are searched": f"""
        select notes.source, notes.key, position, embedding = {signs("vector")}
        from {schema.PASSAGE_INDEX}
        left join {schema.VECTORS} on passage_id = {schema.PASSAGE_INDEX}.rowid
        left join passages on passages.id = {schema.PASSAGE_INDEX}.rowid
        left join notes on notes.id = note_id
        """,
    "sources": "select name, kind, location, options, never, notes, state, skipped from sources",
    "stems": f"select term, doc, cnt from {schema.STEM_VOCABULARY}",
    "words": f"select term, doc from {schema.WORD_VOCABULARY}",
    "judgments": "select query, source, key, grade from judgments",
    "settings": """
        select key, value from meta
        where key in (
          'model', 'dimension', 'fingerprint', 'passage_settings', 'old_text_in_fts',
          'passage_index_stale', 'links_to_resolve', 'next_model', 'next_fingerprint'
        )
        """,
    "tables": "select name from sqlite_master",
}

_MATCHES = """
select source, key, round(bm25(notes_fts), 6), snippet(notes_fts, 1, '[', ']', '…', 12)
from notes_fts join notes on notes.id = notes_fts.rowid
where notes_fts match ?
"""


def content(path: Path, queries: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return everything in a sidecar that a search can see, and FTS5's results of the queries."""
    with opened(path) as db:
        columns = [
            name
            for (name,) in db.execute("select name from pragma_table_info('notes')")
            if name not in ("id", "copy_of")
        ]
        found = {
            what: sorted(db.execute(sql.replace("{columns}", ", ".join(columns))), key=repr)
            for what, sql in _CONTENT.items()
        }
        for query in queries:
            found[f"answers to {query}"] = sorted(db.execute(_MATCHES, [query]), key=repr)
        return found


def differences(path: Path, expected: dict[str, list[Any]], queries: tuple[str, ...]) -> list[str]:
    """Return messages about the differences between a sidecar and the expected content."""
    lines = []
    for what, rows in content(path, queries).items():
        if rows != expected[what]:
            missing = [row for row in expected[what] if row not in rows]
            surplus = [row for row in rows if row not in expected[what]]
            lines.append(f"{what}: {str(missing)[:200]} is missing, {str(surplus)[:200]} too many")
    return lines


def faults(path: Path) -> list[str]:
    """Return messages about the faults that SQLite and FTS5 find in a sidecar."""
    try:
        return _faults(path)
    except sqlite3.DatabaseError as error:
        return [str(error)]


def _faults(path: Path) -> list[str]:
    with opened(path) as db:
        lines = [text for (text,) in db.execute("pragma integrity_check") if text != "ok"]
        lines += [
            f"a row of {row[0]} points nowhere" for row in db.execute("pragma foreign_key_check")
        ]
        tables = {
            name for (name,) in db.execute("select name from sqlite_master where type = 'table'")
        }
        for table in tables & {"notes_fts", schema.WORD_INDEX}:
            # 0 checks the index itself; 1 also compares it with the notes.
            for rank in (0, 1):
                try:
                    db.execute(
                        f"insert into {table} ({table}, rank) values ('integrity-check', ?)", [rank]
                    )
                except sqlite3.DatabaseError as error:
                    lines.append(f"{table}: {error}")
    return lines


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection that may write, and so rolls back a transaction that a kill interrupted."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        vectors.load_extension(db)
        yield db
