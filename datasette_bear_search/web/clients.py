"""What clients wait for: it ends when they go away, and only so many may wait at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from datasette import Response
from datasette.app import Datasette
from datasette.database import Database

from ..sqlite import sqlite3

T = TypeVar("T")

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

    def run(self, function: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
        """Return what a function reads from a connection.

        :raises sqlite3.OperationalError: "interrupted", if the work is ended
        """
        with self._lock:
            if self._is_ended:
                raise sqlite3.OperationalError("interrupted")
            self._connections.add(connection)
        try:
            return function(connection)
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
    work = _work.get(None)
    if work is None:
        return await database.execute_fn(function)
    return await database.execute_fn(lambda connection: work.run(function, connection))


def are_too_many(datasette: Datasette) -> bool:
    """Return whether one request more would wait too long."""
    return len(_working) >= MAX_WAITING + datasette.setting("num_sql_threads")


async def while_connected(request: Any, respond: Callable[[], Awaitable[Response]]) -> Response:
    """Return a response, unless the client goes away: then end what is done for it."""
    if request.method == "POST":  # its body is still to be read, and what it writes is short
        return await respond()
    work = Work()
    _working.add(work)

    async def run() -> Response:
        _work.set(work)
        return await respond()

    answering = asyncio.ensure_future(run())
    leaving = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await answering if answering.done() else Response.text("", status=499)
    finally:
        leaving.cancel()
        answering.cancel()  # with it whatever waits for an SQL thread
        await work.end()
        _working.discard(work)


async def _disconnected(receive: Callable[[], Awaitable[dict[str, Any]]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
