"""How long a statement may run: by the work that it does, not by how long it waits for a busy machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .schema import sqlite3

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
