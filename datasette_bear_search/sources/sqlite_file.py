"""Somebody's SQLite database, opened so that nothing in it or beside it changes, and asked one question."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from . import SourceError
from .archives import explained

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

# How long to wait while another program writes.
BUSY_SECONDS = 5.0

# How often to read again when the file changed meanwhile.
ATTEMPTS = 3

_PROGRESS_STEPS = 10_000  # of SQLite's virtual machine: some milliseconds

# What SQLite and Python say of what isn't allowed here.
_REFUSALS = ("one statement", "not authorized", "authorization denied", "prohibited")

_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


def answer(path: Path, sql: str, *, seconds: float) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of the columns, and the rows, that one SELECT gives. Raises SourceError.

    Everything is fetched at once, because as long as a reader takes, other programs can't write. Invalid UTF-8 comes with
    replacement characters.

    :param seconds: how long the query may take
    """
    for _ in range(ATTEMPTS):
        before = state(path)
        try:
            found = _answer(_address(path), sql, seconds)
        except OSError as error:
            raise explained(path, error) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _explained(path, str(error), seconds) from error
        except UnicodeDecodeError as error:  # of SQLite's message, which quotes the damaged part
            raise _explained(path, "malformed", seconds) from error
        if state(path) == before:
            return found
    raise SourceError(f"{path} kept changing while it was read. Try again when it is not in use.")


def state(path: Path) -> str:
    """A token that changes whenever the database may have changed; opens nothing."""
    return " ".join(_stamp(f"{os.path.realpath(path)}{suffix}") for suffix in ("", "-wal"))


def _stamp(file: str) -> str:
    try:
        found = os.stat(file)
    except OSError:
        return "none"
    return f"{found.st_ino}/{found.st_mtime_ns}/{found.st_size}"


def _answer(address: str, sql: str, seconds: float) -> tuple[list[str], list[Sequence[Any]]]:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(connection) as db:
        db.text_factory = partial(str, encoding="utf-8", errors="replace")
        db.execute("pragma query_only = 1")
        db.set_authorizer(_allowed)
        deadline = time.monotonic() + seconds
        db.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
        cursor = db.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()


def _allowed(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Whether SQLite may do this: read, and nothing else."""
    if action in _READING and second != "load_extension":
        return sqlite3.SQLITE_OK
    # FTS5 asks itself so whether its index has changed.
    if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _address(path: Path) -> str:
    """The URI at which SQLite can read the file without creating files beside it."""
    file = Path(os.path.realpath(path))
    if file.is_dir():
        raise SourceError(f"{path} is a folder. Give the PATH of a SQLite database.")
    with open(file, "rb") as stream:
        header = stream.read(100)
    if not header.startswith(b"SQLite format 3\0"):
        raise SourceError(f"{path} is not a SQLite database.")
    uri = file.as_uri()
    if header[19:20] != b"\2":
        return f"{uri}?mode=ro"
    # A write-ahead log. SQLite creates the -wal and -shm files that it misses, even when it only reads.
    log, index = (f"{file}{suffix}" for suffix in ("-wal", "-shm"))
    if not os.path.exists(log) or os.path.getsize(log) == 0:
        # All is in the file, and nobody writes to it but through a log, which would be seen afterwards.
        return f"{uri}?mode=ro&immutable=1"
    if os.path.exists(index):
        return f"{uri}?mode=ro&readonly_shm=1"
    raise SourceError(
        f"{path} was left in the middle of writing: there is a -wal file beside it, but no -shm file. Open it"
        " once with the program that it belongs to."
    )


def _explained(path: Path, words: str, seconds: float) -> SourceError:
    """What to tell a person; ``words`` are SQLite's, which alone know what is wrong with a query."""
    if "interrupted" in words:
        return SourceError(
            f"The query of {path} took longer than {seconds:g} seconds. Make it faster, or raise time_limit."
        )
    if any(refusal in words for refusal in _REFUSALS):
        return SourceError(
            f"The query of {path} is more than one SELECT that only reads ({words}). Nothing else is run."
        )
    if "locked" in words:
        return SourceError(f"{path} is busy: another program writes to it. Try again in a minute.")
    if "readonly database" in words:
        return SourceError(
            f"{path} was left in the middle of writing. Open it once with the program that it belongs to."
        )
    if "malformed" in words or "not a database" in words:
        return SourceError(f"{path} is damaged: {words}. Make it again, or copy it again.")
    return SourceError(f"SQLite can't run the query of {path}: {words}.")
