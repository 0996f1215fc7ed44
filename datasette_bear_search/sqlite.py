"""SQLite: the library that speaks to it, chosen once, and how statements run."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

try:
    import pysqlite3 as sqlite3  # can load extensions, which many Pythons can't
except ImportError:  # pragma: no cover - where pysqlite3 has no wheel
    import sqlite3

# A statement may take this many times its work by the clock: for a slow disk, and for fifty
# searches at once, where an error instead of a late result would only make people try again.
PATIENCE = 10
# SQLite's steps between two looks at the clock, per millisecond allowed: some hundredths of it.
# Each look takes Python's lock from other searches: with 20, of 50 people who search 10,000 notes
# at once, one in twenty waits 2.8 seconds or more instead of 2.5.
STEPS_PER_MILLISECOND = 100
MIN_STEPS, MAX_STEPS = 1000, 100_000


def wrong_argument(problem: str) -> sqlite3.DataError:
    """Return the error of an SQL function for an argument that makes no sense."""
    # Of an error, SQLite only says that a function raised something.
    print(problem, file=sys.stderr)
    return sqlite3.DataError(problem)


@contextmanager
def time_limit(connection: sqlite3.Connection, milliseconds: float | None) -> Iterator[None]:
    """Interrupt statements that take more CPU time; None lets them run.

    :raises sqlite3.OperationalError: "interrupted", from the statement
    """
    # CPU time, because a busy machine says nothing about the statement.
    if milliseconds is None:
        yield
        return
    work = time.thread_time() + milliseconds / 1000
    end = time.perf_counter() + milliseconds / 1000 * PATIENCE
    steps = max(MIN_STEPS, min(MAX_STEPS, int(milliseconds * STEPS_PER_MILLISECOND)))
    # Called in the thread that runs the statement, whose time it is.
    connection.set_progress_handler(
        lambda: time.thread_time() >= work or time.perf_counter() >= end, steps
    )
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def execute(
    connection: sqlite3.Connection, sql: str, parameters: Mapping[str, Any]
) -> sqlite3.Cursor:
    """Run a statement that will be run again, so that SQLite needn't prepare it again."""
    # Preparing the search takes as long as running it in a small library. pysqlite3 caches the 100
    # statements used most, and Datasette runs more when it opens a file (it opens the connections,
    # so cached_statements= can't be passed): a new one only replaces the last new one. Used twice
    # at once it stays; the first time, without its values, fails within microseconds.
    if parameters:
        with suppress(sqlite3.ProgrammingError):
            connection.execute(sql)
    return connection.execute(sql, parameters)


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all statements read the file as it is when the first one does."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("commit")


def like_literal(text: str) -> str:
    """Return the text as ``like … escape '^'`` finds it: no character stands for others."""
    return re.sub(r"[%_^]", r"^\g<0>", text)
