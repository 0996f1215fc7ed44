"""What clients wait for: it ends when they go away, and only so many may wait at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from datasette.app import Datasette
from datasette.database import Database

from ..sqlite import sqlite3

T = TypeVar("T")
Receive = Callable[[], Awaitable[dict[str, Any]]]

# Requests that wait for one of Datasette's SQL threads (num_sql_threads, 3 by default). Fifty
# clients that ask all the time wait half a second each with 10,000 notes.
MAX_WAITING = 50
RETRY_AFTER_SECONDS = "5"

_POLL_SECONDS = 0.02


class Work:
    """What one request runs on SQLite's connections, so that it can be ended from outside."""

    def __init__(self) -> None:
        # Held while a connection is interrupted: it must not begin another request's statement.
        self._lock = threading.Lock()
        self._connections: set[sqlite3.Connection] = set()
        self._is_ended = False

    @contextmanager
    def reading(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Let what reads from a connection be interrupted.

        :raises sqlite3.OperationalError: "interrupted", if the work is ended
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
                connection.rollback()  # if the end of a snapshot was interrupted

    async def end(self) -> None:
        """Let nothing more begin, and wait until what runs has ended."""
        while self._interrupt():
            # Between two statements there is nothing to interrupt: the next one has to be.
            await asyncio.sleep(_POLL_SECONDS)

    def _interrupt(self) -> bool:
        with self._lock:
            self._is_ended = True
            for connection in self._connections:
                connection.interrupt()
            return bool(self._connections)


_work: ContextVar[Work] = ContextVar("work")  # of the request that is answered
_working: set[Work] = set()


async def execute(database: Database, function: Callable[[sqlite3.Connection], T]) -> T:
    """Return what a function reads from a database for the request that is answered."""
    work = _work.get(None) or Work()

    def read(connection: sqlite3.Connection) -> T:
        with work.reading(connection):
            return function(connection)

    context = copy_context()  # which Datasette 0.65 leaves behind
    return await database.execute_fn(lambda connection: context.run(read, connection))


def reading(connection: sqlite3.Connection) -> AbstractContextManager[None]:
    """Let what reads from a connection be ended with the request that is answered."""
    return (_work.get(None) or Work()).reading(connection)


def are_too_many(datasette: Datasette) -> bool:
    """Return whether one request more would wait too long."""
    return len(_working) >= MAX_WAITING + datasette.setting("num_sql_threads")


async def while_connected(
    receive: Receive, respond: Callable[[], Awaitable[T]], has_body: asyncio.Event | None = None
) -> T:
    """Return a response; if the client goes away, end what is read for it.

    :param has_body: is set when the request's body was read, which comes from ``receive``, too
    """
    work = Work()

    async def end_work() -> None:
        if has_body:
            await has_body.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        _working.discard(work)
        await work.end()

    _working.add(work)
    token = _work.set(work)
    ending = asyncio.ensure_future(end_work())
    try:
        return await respond()
    finally:
        ending.cancel()
        _work.reset(token)
        _working.discard(work)
