"""The SQLite module, chosen once, and how statements run."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

try:
    import pysqlite3 as sqlite3  # can load extensions, which many Pythons can't
except ImportError:  # pragma: no cover - where pysqlite3 has no wheel
    import sqlite3

# A statement's limit by the clock is this many times its limit of CPU time. That allows for a slow
# disk and for fifty searches at once, when an error would only make people try again.
PATIENCE = 10
# SQLite's steps between two checks of the clock, per millisecond of the limit: some hundredths of
# it. Each check takes the GIL from other searches: with 20, the slowest 5 % of 50 people searching
# 10,000 notes at once wait 2.8 seconds or more instead of 2.5.
STEPS_PER_MILLISECOND = 100
MIN_STEPS, MAX_STEPS = 1000, 100_000
# Values in one statement. All SQLite versions since 3.32 allow this many.
_MAX_VALUES = 32_000

# What a column may hold.
Value = str | bytes | int | None


def wrong_argument(problem: str) -> sqlite3.DataError:
    """Print why an SQL function's argument is invalid, and return the error to raise."""
    # SQLite's own message says only that a function raised an exception.
    print(problem, file=sys.stderr)
    return sqlite3.DataError(problem)


@contextmanager
def time_limit(connection: sqlite3.Connection, milliseconds: float | None) -> Iterator[None]:
    """Interrupt statements that take more CPU time than that; None sets no limit.

    :raises sqlite3.OperationalError: "interrupted", from the statement
    """
    # CPU time, because wall-clock time also depends on how busy the machine is.
    if milliseconds is None:
        yield
        return
    work = time.thread_time() + milliseconds / 1000
    end = time.perf_counter() + milliseconds / 1000 * PATIENCE
    steps = max(MIN_STEPS, min(MAX_STEPS, int(milliseconds * STEPS_PER_MILLISECOND)))
    # SQLite calls this in the thread that runs the statement, so it measures that thread's time.
    connection.set_progress_handler(
        lambda: time.thread_time() >= work or time.perf_counter() >= end, steps
    )
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def interruption(connection: sqlite3.Connection) -> Iterator[None]:
    """In an SQL function, end the whole statement if one of the function's own is interrupted."""
    # The time limit applies to the whole statement.
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "interrupted" in str(error):
            connection.interrupt()
        raise


def execute(
    connection: sqlite3.Connection, sql: str, parameters: Mapping[str, Any]
) -> sqlite3.Cursor:
    """Run a statement so that it stays in the cache of prepared statements for the next time."""
    # In a small library, preparing the search takes as long as running it. pysqlite3 caches the 100
    # most used statements. Datasette runs more when it opens a file (and opens the connections, so
    # we can't pass cached_statements=): from then on, each new statement replaces the previous one.
    # Used twice in a row it stays; the first run, without values, fails within microseconds.
    if parameters:
        with suppress(sqlite3.ProgrammingError):
            connection.execute(sql)
    return connection.execute(sql, parameters)


def read_value(
    connection: sqlite3.Connection, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
) -> Any:
    """Return the only value of a statement's first row; None if there is no row.

    Datasette's connections return a ``sqlite3.Row``, which never equals a tuple. Comparing the
    value instead of the row gives the same result on every connection.
    """
    row = connection.execute(sql, parameters).fetchone()
    return row[0] if row else None


def insert_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Value, ...]],
    on_conflict: str = "",
) -> None:
    """Insert many rows per statement.

    FTS5 writes after each statement, which would be half of all time with one for each row.

    :param on_conflict: what to do with rows that are there, such as IGNORE
    """
    row = f"({', '.join('?' * len(columns))})"
    size = _MAX_VALUES // len(columns)
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        connection.execute(
            f"insert into {table} ({', '.join(columns)}) values {', '.join([row] * len(some))} "
            f"{on_conflict}",
            list(chain.from_iterable(some)),
        )


IGNORE = "on conflict do nothing"


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all statements see the file as it was when the first one ran."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("commit")


def like_literal(text: str) -> str:
    """Escape the text for ``like … escape '^'``, so that no character is a wildcard."""
    return re.sub(r"[%_^]", r"^\g<0>", text)
