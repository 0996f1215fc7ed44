"""Errors of pages, and reading the index so that its errors become these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from datasette import Response
from datasette.database import Database

from ...index.file.database import OtherVersion, require_current
from ...sqlite import sqlite3, time_limit
from .. import turns

T = TypeVar("T")
Respond = Callable[..., Awaitable[Response]]

NO_SIDECAR = "No notes are served here. To index and serve yours, run: datasette bear-serve"
FORBIDDEN = "You do not have permission to search these notes"
CROSS_SITE = "This request came from another website, so it was refused."
BUSY = "Too many searches are waiting. Try again in a few seconds."
LOCKED = (
    "Another program keeps the index from being read, perhaps a datasette bear-index that was "
    "stopped in the middle of writing. Let it finish, or end it."
)
TOO_SLOW = "Reading the notes took too long and was stopped (limit: sql_time_limit_ms)."
UNREADABLE = (
    "The index can't be read right now. If it stays so, run: datasette bear-index. "
    "If that doesn't fix it: datasette bear-index --rebuild"
)


async def read_index(database: Database, read: Callable[[sqlite3.Connection], T]) -> T:
    """Read from the index within Datasette's time limit; return the function's result.

    :raises PageError: if the index can't be read, or not in time
    """

    def run(connection: sqlite3.Connection) -> T:
        require_current(connection)
        with time_limit(connection, database.ds.setting("sql_time_limit_ms")):
            return read(connection)

    try:
        return await turns.execute(database, run)
    except sqlite3.DatabaseError as error:
        is_too_slow = "interrupted" in str(error)
        raise PageError(TOO_SLOW if is_too_slow else unreadable(error), 503) from None


def unreadable(error: sqlite3.Error) -> str:
    return str(error) if isinstance(error, OtherVersion) else UNREADABLE


class PageError(Exception):
    """An error with the message and the HTTP status of the response."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
