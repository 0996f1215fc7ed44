"""Notes from any SQLite database, with a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..sqlite import sqlite3, time_limit
from .base import SourceError, checked_option
from .files import readonly
from .files.archive import LARGEST_NOTE
from .files.states import digest
from .records import NEEDED, OPTIONAL, Records

# Seconds. Reading all of a large database takes some; a join without a condition takes forever.
QUERY_SECONDS = 300.0


class SQLQuery(Records):
    """Any SQLite database, by a query in a configuration file (option sql)."""

    default_name = "sql"

    def __init__(
        self, location: Path | str, name: str = "", *, sql: str = "", **options: Any
    ) -> None:
        super().__init__(location, name, **options)
        wanted = f"a SELECT of {', '.join(NEEDED)}, and of {', '.join(OPTIONAL)} if there are such"
        self.sql = checked_option("sql", sql, isinstance(sql, str) and sql.strip(), wanted)
        self._settings += (sql,)

    def state(self) -> str:
        return f"{readonly.state(self.path)} {digest(self._settings, size=8)}"

    def _records(self) -> Iterator[dict[str, Any]]:
        columns, rows = _run(self.path, self.sql)
        names = [name.lower() for name in columns]
        if missing := [name for name in NEEDED if name not in names]:
            raise SourceError(
                f"The query of {self.location} lacks the columns {', '.join(missing)}."
                f" It has {', '.join(names) or 'none'}. Name them with “as”, as in “select id as"
                " key”."
            )
        if unknown := set(names).difference(NEEDED, OPTIONAL):
            self.skipped.append(
                f"the columns {', '.join(sorted(unknown))}: what is read besides"
                f" {', '.join(NEEDED)} is {', '.join(OPTIONAL)}"
            )
        return (dict(zip(names, row, strict=True)) for row in rows)


# Parts of SQLite's and Python's messages about statements → what to tell people.
_ADVICE = {
    "interrupted": f"The query of {{file}} took longer than {QUERY_SECONDS:g} seconds. Make it"
    " faster.",
    "too big": "The query of {file} makes texts that are too long. Leave them out, or cut them with"
    " substr().",
    "one statement|not authorized|authorization denied|prohibited|within a transaction": "The query"
    " of {file} is more than one SELECT that only reads ({words}). Nothing else is run.",
    **readonly.ADVICE,
    "": "SQLite can't run the query of {file}: {words}.",
}

_READING = {
    getattr(sqlite3, f"SQLITE_{action}") for action in ("SELECT", "READ", "FUNCTION", "RECURSIVE")
}


def _run(path: Path, sql: str) -> tuple[list[str], list[Sequence[Any]]]:
    """Run a single SELECT and return the names of its columns and its rows. Raise SourceError."""
    owner = replace(readonly.ANY_PROGRAM, advice=_ADVICE)
    with readonly.read_transaction(path, owner) as db, time_limit(db, QUERY_SECONDS * 1000):
        db.set_authorizer(_authorize)
        cursor = db.execute(sql)
        return [column[0] for column in cursor.description or ()], [*_bounded(cursor)]


def _bounded(rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    # SQLite itself makes texts of up to a gigabyte: a view could ask printf() for one in each row.
    for row in rows:
        if any(isinstance(each, (str, bytes)) and len(each) > LARGEST_NOTE for each in row):
            raise sqlite3.DataError("string or blob too big")
        yield row


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    reads = action in _READING and second not in ("load_extension", "zeroblob", "randomblob")
    # FTS5 runs this pragma to find out whether its index has changed.
    checks = action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", None)
    return sqlite3.SQLITE_OK if reads or checks else sqlite3.SQLITE_DENY


# The columns of a table that a note can be made of, as options of bear-index; --text is its body.
TABLE_OPTIONS = ("key", "title", "text", "created", "modified", "tags", "url")


def table_query(path: Path, table: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return a table's or view's name and the query of notes from its rows; or raise SourceError.

    :param columns: one of TABLE_OPTIONS → columns; several texts are joined, and without a key it
        is the primary key
    """
    with readonly.read_transaction(path) as db:
        tables = dict(db.execute(_TABLES_AND_VIEWS).fetchall())  # name → whether it is a view
        wanted = next((name for name in tables if name.lower() == table.lower()), None)
        # pragma_table_info() leaves generated columns out.
        sql = "select name, pk from pragma_table_xinfo(?) where hidden != 1"
        known = dict(db.execute(sql, [wanted]).fetchall())
    if wanted is None:
        raise SourceError(f"There is no table {table} in {path}. There are: {', '.join(tables)}.")
    names = {name.lower() for name in known}
    for option, given in columns.items():
        if unknown := [name for name in given if name.lower() not in names]:
            column, has = f"{unknown[0]} (--{option})", f"It has: {', '.join(known)}."
            raise SourceError(f"The table {wanted} has no column {column}. {has}")
    keys = columns.get("key") or sorted(filter(known.get, known), key=lambda name: known[name])
    if not keys and tables[wanted]:
        raise SourceError(f"{wanted} is a view. Say with --key which column identifies its rows.")

    between = {"title": "' '", "text": "char(10) || char(10)"}
    selected = {"key": "rowid", "title": "''"}
    for option in TABLE_OPTIONS:
        given = keys if option == "key" else columns.get(option, ())
        texts = [_identifier(name) for name in given]
        if len(texts) > 1:
            texts = [f"coalesce({text}, '')" for text in texts]
        if texts:
            mark = between.get(option, "','")
            selected["body" if option == "text" else option] = f" || {mark} || ".join(texts)
    listed = ", ".join(f"{value} as {name}" for name, value in selected.items())
    return wanted, f"select {listed} from {_identifier(wanted)}"


_TABLES_AND_VIEWS = """
select name, type = 'view' from sqlite_master
where type in ('table', 'view') and name not like 'sqlite^_%' escape '^'
order by name
"""


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
