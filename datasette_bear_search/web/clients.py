"""What clients wait for: it ends when they go away, and only so many may wait at once."""

from __future__ import annotations

import asyncio
import heapq
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context
from itertools import count
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from datasette.app import Datasette
from datasette.database import Database

from ..sqlite import sqlite3

T = TypeVar("T")
Receive = Callable[[], Awaitable[dict[str, Any]]]

# Requests that wait for one of Datasette's SQL threads (num_sql_threads, 3 by default).
MAX_WAITING = 50
RETRY_AFTER_SECONDS = "5"

_POLL_SECONDS = 0.02


class Work:
    """What one request runs on SQLite's connections, so that it can be ended from outside."""

    def __init__(self) -> None:
        self.number = next(_numbers)  # as they came
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


_numbers = count()


class Turns:
    """Lets as many read at once as there are threads, of those who wait who came first.

    A page reads five times. If each time it queued behind all others, it would wait five times as
    long as what reads once.
    """

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def turn(self, place: int) -> AsyncIterator[None]:
        """Wait until nobody waits whose place is before this one."""
        ours: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (place, id(ours), ours))
        self._let_read()
        try:
            await ours
            yield
        finally:
            if not ours.cancelled():  # else its turn didn't come
                self._free += 1
                self._let_read()

    def _let_read(self) -> None:
        while self._free and self._waiting:
            *_, first = heapq.heappop(self._waiting)
            if not first.done():
                first.set_result(None)
                self._free -= 1


_turns: WeakKeyDictionary[Datasette, Turns] = WeakKeyDictionary()
_work: ContextVar[Work] = ContextVar("work")  # of the request that is answered
_working: set[Work] = set()


async def execute(database: Database, function: Callable[[sqlite3.Connection], T]) -> T:
    """Return what a function reads from a database for the request that is answered."""
    work = _work.get(None) or Work()

    def read(connection: sqlite3.Connection) -> T:
        with work.reading(connection):
            return function(connection)

    context = copy_context()  # which Datasette 0.65 leaves behind
    threads = max(1, database.ds.setting("num_sql_threads"))
    async with _turns.setdefault(database.ds, Turns(threads)).turn(work.number):
        return await database.execute_fn(lambda connection: context.run(read, connection))


def reading(connection: sqlite3.Connection) -> AbstractContextManager[None]:
    """Let what reads from a connection be ended with the request that is answered."""
    return (_work.get(None) or Work()).reading(connection)


def hurry() -> None:
    """Let the request that is answered, which takes no time, pass those that wait already."""
    _work.get().number -= MAX_WAITING


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
