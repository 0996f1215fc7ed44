"""Rows out of Bear's tables, the same for every version of Bear from 1.0 to the current Bear 2.

Bear stores its notes through Apple's Core Data, which numbers its entities anew whenever one is
added, so that ``Z_5TAGS`` of one version is ``Z_7TAGS`` of another. Which tables and columns there
are is found out each time; what a version does not have is read as null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sqlite3


class NoteRow(NamedTuple):
    """A note as Bear stores it: nothing is checked, anything can be null, and text is bytes."""

    pk: int
    key: Any
    title: Any
    text: Any  # null for an encrypted note
    created: Any  # seconds since 2001-01-01 UTC, as the next
    modified: Any
    pinned: Any
    archived: Any
    trashed: Any
    encrypted: int
    todos_open: Any
    todos_done: Any
    has_image: Any
    has_file: Any
    has_code: Any


class LibraryRows(NamedTuple):
    """Everything in one library. Notes and tags go by their Z_PK, which means nothing elsewhere."""

    notes: list[NoteRow]
    tags: dict[int, Any]  # tag → title
    tagged: list[tuple[int, int]]  # note, tag
    pinned: list[tuple[int, int]]  # note, tag that it is pinned in
    files: list[tuple[int, Any]]  # note, recognized text
    links: list[tuple[int, int, Any]]  # note, note that it links to, title of that


def is_bear_library(db: sqlite3.Connection) -> bool:
    """Whether there are notes of Bear's in this database."""
    return {"Z_PK", "ZUNIQUEIDENTIFIER", "ZTITLE", "ZTEXT"} <= _columns(db, "ZSFNOTE")


def fetch(db: sqlite3.Connection, *, include_trashed: bool) -> LibraryRows:
    """All that is to be known of the library's notes, each table read once."""
    # Not as pairs of tuples and rows: there may be a hundred thousand.
    notes = list(map(NoteRow._make, _rows(db, _NOTES, {"include_trashed": include_trashed})))
    links = list(_rows(db, _LINKS))
    # Bear 1.7 to 1.9 had a mere join table for links, without titles.
    links += [(*pair, None) for pair in _pairs(db, "LINKEDBYNOTES", "LINKEDNOTES", "SFNote")]
    return LibraryRows(
        notes=notes,
        tags=dict(_rows(db, _TAGS)),
        tagged=_pairs(db, "NOTES", "TAGS", "SFNoteTag"),
        pinned=_pairs(db, "PINNEDNOTES", "PINNEDINTAGS", "SFNoteTag"),
        files=list(_rows(db, _FILES)),
        links=links,
    )


# What is read of each table. Nothing else is, least of all ZSFPASSWORD.
_COLUMNS = {
    "ZSFNOTE": (
        *("Z_PK", "ZUNIQUEIDENTIFIER", "ZTITLE", "ZTEXT", "ZCREATIONDATE", "ZMODIFICATIONDATE"),
        *("ZPINNED", "ZARCHIVED", "ZTRASHED", "ZPERMANENTLYDELETED", "ZENCRYPTED"),
        *("ZTODOINCOMPLETED", "ZTODOCOMPLETED", "ZHASIMAGES", "ZHASFILES", "ZHASSOURCECODE"),
    ),
    "ZSFNOTETAG": ("Z_PK", "ZTITLE"),
    "ZSFNOTEFILE": (
        *("Z_PK", "ZNOTE", "ZINDEX", "ZSEARCHTEXT"),
        *("ZUNUSED", "ZPERMANENTLYDELETED", "ZENCRYPTED"),
    ),
    "ZSFNOTEBACKLINK": ("Z_PK", "ZLINKEDBY", "ZLINKINGTO", "ZLOCATION", "ZTITLE"),
}

# Only flags say what became of a note: the dates of archiving and trashing outlive their undoing.
# A flag can be null, from an old version. The text of an encrypted note is not even looked at.
_NOTES = """
select
  Z_PK,
  ZUNIQUEIDENTIFIER,
  ZTITLE,
  case when coalesce(ZENCRYPTED, 0) = 0 then ZTEXT end,
  ZCREATIONDATE,
  ZMODIFICATIONDATE,
  ZPINNED,
  ZARCHIVED,
  ZTRASHED,
  coalesce(ZENCRYPTED, 0) <> 0,
  ZTODOINCOMPLETED,
  ZTODOCOMPLETED,
  ZHASIMAGES,
  ZHASFILES,
  ZHASSOURCECODE
from ({ZSFNOTE})
where coalesce(ZPERMANENTLYDELETED, 0) = 0
and (:include_trashed or coalesce(ZTRASHED, 0) = 0)
order by Z_PK
"""

_TAGS = """
select Z_PK, ZTITLE
from ({ZSFNOTETAG})
"""

_FILES = """
select ZNOTE, ZSEARCHTEXT
from ({ZSFNOTEFILE})
where ZSEARCHTEXT <> ''
and coalesce(ZUNUSED, 0) = 0
and coalesce(ZPERMANENTLYDELETED, 0) = 0
and coalesce(ZENCRYPTED, 0) = 0
order by ZNOTE, ZINDEX, Z_PK
"""

_LINKS = """
select ZLINKEDBY, ZLINKINGTO, ZTITLE
from ({ZSFNOTEBACKLINK})
order by ZLINKEDBY, ZLOCATION, Z_PK
"""


def _rows(
    db: sqlite3.Connection, sql: str, parameters: Mapping[str, object] | Sequence[object] = ()
) -> Iterator[Sequence[Any]]:
    """What a query of complete tables gives, with texts as the bytes that they are.

    Decoding takes longer than all the reading, and one emoji makes a text four times as large. That can wait until Bear's
    file is closed.
    """
    sql = _complete(db, sql)
    with _text_as_bytes(db):
        yield from db.execute(sql, parameters)


@contextmanager
def _text_as_bytes(db: sqlite3.Connection) -> Iterator[None]:
    usual = db.text_factory
    db.text_factory = bytes
    try:
        yield
    finally:
        db.text_factory = usual


def _complete(db: sqlite3.Connection, sql: str) -> str:
    """``sql`` with a select of its columns for each ``{table}``, null for those that it lacks."""
    selects = {}
    for table, wanted in _COLUMNS.items():
        present = _columns(db, table)
        columns = ", ".join(name if name in present else f"null as {name}" for name in wanted)
        selects[table] = (
            f"select {columns} from {table}" if present else f"select {columns} where 0"
        )
    return sql.format_map(selects)


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {name for (name,) in db.execute("select name from pragma_table_info(?)", [table])}


class _Join(NamedTuple):
    """A join table of Core Data's, such as ``Z_5TAGS(Z_5NOTES, Z_13TAGS)``."""

    table: str
    left: str
    right: str


def _pairs(db: sqlite3.Connection, left: str, right: str, other: str) -> list[tuple[int, int]]:
    """What a join table says of notes and of the entity ``other``; [] if this Bear has none.

    ``left`` and ``right`` are the names of its columns, and ``right`` its own, less the numbers.
    """
    if not _columns(db, f"Z{other.upper()}"):
        return []
    join = _numbered_join(db, left, right, other) or _likely_join(db, left, right, other)
    if join is None:
        return []
    return db.execute(f"select {join.left}, {join.right} from {join.table}").fetchall()


def _numbered_join(db: sqlite3.Connection, left: str, right: str, other: str) -> _Join | None:
    """The join table by the numbers that Core Data has given to the two entities."""
    if not {"Z_ENT", "Z_NAME"} <= _columns(db, "Z_PRIMARYKEY"):
        return None
    numbers = dict(db.execute("select Z_NAME, Z_ENT from Z_PRIMARYKEY"))
    note_number, other_number = numbers.get("SFNote"), numbers.get(other)
    if not (isinstance(note_number, int) and isinstance(other_number, int)):
        return None
    join = _Join(f"Z_{note_number}{right}", f"Z_{note_number}{left}", f"Z_{other_number}{right}")
    return join if {join.left, join.right} <= _columns(db, join.table) else None


def _likely_join(db: sqlite3.Connection, left: str, right: str, other: str) -> _Join | None:
    """The join table by the look of its name and columns; of several, the one whose rows fit best.

    The whole name has to match: Z_5PINNEDINTAGS ends like Z_5TAGS, but is another relation.
    """
    joins = []
    for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
        if not re.fullmatch(f"Z_[0-9]+{right}", table):
            continue
        columns = _columns(db, table)
        lefts = [name for name in columns if re.fullmatch(f"Z_[0-9]+{left}", name)]
        rights = [name for name in columns if re.fullmatch(f"Z_[0-9]+{right}", name)]
        if len(lefts) == len(rights) == 1:
            joins.append(_Join(table, lefts[0], rights[0]))

    def rows_that_fit(join: _Join) -> int:
        sql = f"""
        select count(*)
        from {join.table}
        where {join.left} in (select Z_PK from ZSFNOTE)
        and {join.right} in (select Z_PK from Z{other.upper()})
        """
        return db.execute(sql).fetchone()[0]

    return max(joins, key=rows_that_fit, default=None)
