"""Stop the statements of one request from outside, for example when its client disconnects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import count

from .sqlite import sqlite3

# Seconds between two looks at what another thread or program does.
POLL_SECONDS = 0.02


class Work:
    """The statements of one request, which can be interrupted from outside."""

    def __init__(self) -> None:
        self.number = next(_numbers)  # in the order of arrival
        self.free_until = 0.0  # when to look again whether another program writes the index
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


_numbers = count()
current: ContextVar[Work] = ContextVar("work")  # of the request that is being answered


def reading(connection: sqlite3.Connection) -> AbstractContextManager[None]:
    """Make the reads inside this block stop with the current request."""
    return (current.get(None) or Work()).reading(connection)
