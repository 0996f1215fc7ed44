"""Rows of any table of the index file, written many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ...sqlite import sqlite3

# What a column may hold.
Value = str | bytes | int | None
# Values in one statement. All SQLite versions since 3.32 allow this many.
_MAX_VALUES = 32_000


def insert_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Value, ...]],
    verb: str = "insert",
) -> None:
    for places, values in _in_statements(rows, len(columns)):
        connection.execute(f"{verb} into {table} ({', '.join(columns)}) values {places}", values)


def update_rows(connection: sqlite3.Connection, notes: Mapping[int, Mapping[str, Value]]) -> None:
    """Set columns of notes, given by id."""
    by_columns: dict[tuple[str, ...], list[tuple[Value, ...]]] = {}
    for note_id, values in notes.items():
        by_columns.setdefault(tuple(values), []).append((note_id, *values.values()))
    by_columns.pop((), None)
    for columns, rows in by_columns.items():
        set_columns = ", ".join(f"{column} = new.{column}" for column in columns)
        for places, bound in _in_statements(rows, 1 + len(columns)):
            connection.execute(
                f"""
                with new (id, {", ".join(columns)}) as (values {places})
                update notes set {set_columns} from new where notes.id = new.id
                """,
                bound,
            )


def _in_statements(
    rows: Sequence[tuple[Value, ...]], width: int
) -> Iterator[tuple[str, list[Value]]]:
    """Yield placeholders and values for many rows per statement.

    FTS5 writes after each statement, which would be half of all time with one for each row.
    """
    row = f"({', '.join('?' * width)})"
    size = _MAX_VALUES // width
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        yield ", ".join([row] * len(some)), list(chain.from_iterable(some))
