"""Work for clients: it stops when they disconnect, and only so many requests may wait at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, TypeVar

from datasette.app import Datasette
from datasette.database import Database

from ..index.file.database import (
    OtherVersion,
    SidecarError,
    as_damage,
    is_locked,
    undo_half_a_commit,
)
from ..search.connection import open_sidecar
from ..search.ranking.statement_functions import functions_of
from ..sqlite import sqlite3

T = TypeVar("T")
Receive = Callable[[], Awaitable[dict[str, Any]]]

# Requests that wait for one of Datasette's SQL threads (num_sql_threads, 3 by default).
MAX_WAITING = 50
RETRY_AFTER_SECONDS = "5"
# Seconds between two looks at what another thread or program does.
POLL_SECONDS = 0.02

# Seconds that requests wait for a program that writes the index. A commit takes less; if a program
# was stopped in one, the first requests wait in vain, and later ones don't wait.
LOCKED_SECONDS = 5.0


class Work:
    """The statements of one request, which stop when its client disconnects."""

    def __init__(self) -> None:
        # Held while a connection is interrupted, so that it can't run another request's statement.
        self._lock = threading.Lock()
        self._connections: set[sqlite3.Connection] = set()
        self._is_ended = False

    @contextmanager
    def reading(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Make the reads inside this block interruptible.

        :raises sqlite3.OperationalError: "interrupted", if the work was ended
        """
        with self._lock:
            if self._is_ended:
                raise sqlite3.OperationalError("interrupted")
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)
            if self._is_ended and connection.in_transaction:
                connection.rollback()  # the commit at the end of a snapshot was interrupted

    async def end(self) -> None:
        """Allow no more statements, and wait until the running ones have stopped."""
        while self._interrupt():
            # An interrupt between two statements has no effect, so repeat it.
            await asyncio.sleep(POLL_SECONDS)

    def _interrupt(self) -> bool:
        with self._lock:
            self._is_ended = True
            for connection in self._connections:
                connection.interrupt()
            return bool(self._connections)


current: ContextVar[Work] = ContextVar("work")  # of the request that is being answered


def reading(connection: sqlite3.Connection) -> AbstractContextManager[None]:
    """Make the reads inside this block stop with the current request."""
    return (current.get(None) or Work()).reading(connection)


_working: set[Work] = set()
# The restricted index that the current request reads, if its actor may not see all notes.
restricted: ContextVar[Path | None] = ContextVar("restricted", default=None)


def index_file(database: Database) -> str | Path:
    """Return the path of the index that the current request reads."""
    return restricted.get() or str(database.path)


async def execute(database: Database, function: Callable[[sqlite3.Connection], T]) -> T:
    """Run a function that reads the index for the current request; return its result.

    The request has waited for a writer. Looking before each of its reads took .6 ms of a page.
    """

    def read(connection: sqlite3.Connection) -> T:
        with ExitStack() as stack:
            path = restricted.get()  # Datasette's connection serves others, too
            if path or is_replaced(connection):
                opened = open_sidecar(path or Path(str(database.path)))
                connection = stack.enter_context(opened)
            stack.enter_context(reading(connection))
            try:
                return function(connection)
            except sqlite3.OperationalError as error:
                if "readonly database" not in str(error):
                    raise
                # Since the request looked, a run was killed in a commit, which only a connection
                # that may write can undo.
                undo_half_a_commit(Path(str(index_file(database))))
                return function(connection)

    context = copy_context()  # Datasette 0.65 doesn't pass it to its threads
    if str(database.path) in _locked:
        raise sqlite3.OperationalError("database is locked")
    try:
        with as_damage():
            return await database.execute_fn(lambda connection: context.run(read, connection))
    except OtherVersion:
        raise
    except SidecarError as error:
        raise sqlite3.DatabaseError(str(error)) from None


def is_replaced(connection: sqlite3.Connection) -> bool:
    """Return whether the index that Datasette opened is gone: deleted, restored or made anew."""
    try:
        return functions_of(connection).is_replaced
    except sqlite3.OperationalError:  # when it was opened, the file was none
        return True


_locked: set[str] = set()  # files of indexes for which a request has waited in vain


async def wait_for_writer(database: Database) -> None:
    """Wait while another program writes the index, without keeping one of Datasette's threads.

    :raises sqlite3.OperationalError: "locked", if it takes too long, or did when last tried
    """
    path = str(database.path)
    end = time.monotonic() + (0 if path in _locked else LOCKED_SECONDS)
    while is_locked(Path(path), wait=0):
        if time.monotonic() >= end:
            _locked.add(path)
            raise sqlite3.OperationalError("database is locked")
        await asyncio.sleep(POLL_SECONDS)
    _locked.discard(path)


def are_too_many(datasette: Datasette) -> bool:
    """Return whether another request would have to wait too long."""
    return len(_working) >= MAX_WAITING + datasette.setting("num_sql_threads")


async def while_connected(receive: Receive, respond: Callable[[], Awaitable[T]]) -> T:
    """Return the response to a request whose body was read; stop if the client disconnects."""
    work = Work()

    async def end_work() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        _working.discard(work)
        await work.end()

    _working.add(work)
    token = current.set(work)
    ending = asyncio.ensure_future(end_work())
    try:
        return await respond()
    finally:
        ending.cancel()
        current.reset(token)
        _working.discard(work)
