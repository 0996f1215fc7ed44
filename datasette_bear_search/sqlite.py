"""How long a statement may run: by the work that it does, not by how long it waits for a busy machine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

try:
    import pysqlite3 as sqlite3
except ImportError:  # pragma: no cover - where pysqlite3 has no wheel
    import sqlite3


# By the clock it may take this many times as long as its own work: for a slow disk, and for fifty searches at once. An error
# instead of an answer that comes late would only make people ask again.
PATIENCE = 10

# Steps of SQLite's machine between two looks at the clock, for each millisecond allowed. Each look needs Python's lock, for
# which other searches wait, too: Datasette's own limit looks as often as every 1,000 steps, which here takes longer than the
# steps themselves once a few people search at once.
STEPS_A_MILLISECOND = 20
FEWEST_STEPS, MOST_STEPS = 1000, 20_000


@contextmanager
def time_limit(connection: sqlite3.Connection, milliseconds: float | None) -> Iterator[None]:
    """Interrupt statements that need more than that of the processor's time; None lets them run.

    :raises sqlite3.OperationalError: "interrupted", from the statement
    """
    if milliseconds is None:
        yield
        return
    work = time.thread_time() + milliseconds / 1000
    end = time.perf_counter() + milliseconds / 1000 * PATIENCE
    steps = max(FEWEST_STEPS, min(MOST_STEPS, int(milliseconds * STEPS_A_MILLISECOND)))
    # Called in the thread that runs the statement, whose time it is.
    connection.set_progress_handler(
        lambda: time.thread_time() >= work or time.perf_counter() >= end, steps
    )
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def like_literal(text: str) -> str:
    """Return the text as ``like … escape '^'`` finds it: no character stands for others."""
    return re.sub(r"[%_^]", r"^\g<0>", text)


# Statements that stay prepared: SQLite takes about as long to prepare the one that ranks as to run it in a small library.


def execute(
    connection: sqlite3.Connection, sql: str, parameters: Mapping[str, Any]
) -> sqlite3.Cursor:
    """Run a statement that is run again and again.

    pysqlite3 keeps the hundred statements that were used most often. Datasette runs more than these when it opens a file;
    after that each new one takes the place of the last new one, and is prepared anew whenever it is run. Here it is used
    twice at once, the first time without its values: that fails before anything is run, in some millionths of a second.
    """
    if parameters:
        with suppress(sqlite3.ProgrammingError):
            connection.execute(sql)
    return connection.execute(sql, parameters)
