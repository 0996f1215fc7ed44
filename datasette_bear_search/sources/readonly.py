"""Read other programs' SQLite databases without these programs noticing.

Anybody who reads Bear's database keeps Bear from saving, and a careless reader repairs the
database, checkpoints it or creates files beside it. This module never changes anything there.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ..sqlite import sqlite3
from . import SourceError
from .files import explained, file_state, not_allowed

# How long to wait while the program saves. Bear takes milliseconds, a large sync a second or two.
BUSY_SECONDS = 5.0

# How many times to try if the file changes while it is being copied, and the pause in between.
COPY_ATTEMPTS = 5
COPY_PAUSE_SECONDS = 0.2

# When a process closes any descriptor of a file, POSIX drops all of its locks on that file, even
# those that SQLite holds in another thread. So this process reads only one database at a time.
_one_at_a_time = Lock()


@dataclass(frozen=True)
class Owner:
    """The program that a database belongs to, for messages."""

    database: str  # what to call the file, such as "Bear database"
    program: str
    file_name: str = ""  # of the database, for locations that are a folder
    if_missing: str = "Give the PATH of a SQLite database."


ANY_PROGRAM = Owner("SQLite database", "the program that it belongs to")


@contextmanager
def read_transaction(path: Path, owner: Owner = ANY_PROGRAM) -> Iterator[sqlite3.Connection]:
    """Open a connection in a read transaction on the database at ``path``.

    Fetch everything and leave, because the program can't save while the connection is open.
    Invalid UTF-8 is returned with replacement characters.

    :param path: the database, or a folder that contains the owner's ``file_name``
    :raises SourceError: if the database can't be read; the message says what to do
    """
    with _one_at_a_time, ExitStack() as cleanup:
        file = _database_in(path, owner)
        try:
            uri = _uri(file, owner, cleanup)
            db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            cleanup.enter_context(closing(db))
            db.text_factory = partial(str, encoding="utf-8", errors="replace")
            db.execute("pragma query_only = 1")
            db.execute("begin")
            yield db
        except OSError as error:
            missing = f"There is no {owner.database} at {file}. {owner.if_missing}"
            raise explained(file, error, missing=missing) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _explained(file, owner, str(error)) from error
        except UnicodeDecodeError as error:  # in SQLite's message, which quotes the damaged part
            raise _damaged(file, owner) from error


def state(path: Path, owner: Owner = ANY_PROGRAM) -> str:
    """Return a token that changes when the database may have changed, without opening it."""
    file = _database_in(path, owner)
    return f"{file_state(file)} {file_state(_beside(file, '-wal'))}"


def is_about_the_file(words: str) -> bool:
    """Return whether an SQLite message is about the file, and not about the statement."""
    complaints = ("locked", "readonly database", "malformed", "not a database")
    return any(complaint in words for complaint in complaints)


def _database_in(path: Path, owner: Owner) -> Path:
    # SQLite looks for the journal beside the file that a symbolic link points to, and so must we.
    # os.path, unlike Path, returns False and raises no error for files that macOS protects.
    path = Path(os.path.realpath(path.expanduser()))
    return path / owner.file_name if owner.file_name and os.path.isdir(path) else path


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _uri(file: Path, owner: Owner, cleanup: ExitStack) -> str:
    """Return a URI with which SQLite reads the file, or a private copy, and changes nothing.

    Never ``immutable=1``, which ignores the program's locks and journals and reads half-saved rows.
    """
    if not _uses_wal(file, owner):
        return f"{file.as_uri()}?mode=ro"
    # In WAL mode, SQLite creates missing -wal and -shm files even to read. If both exist, it can be
    # told not to write to them.
    if os.path.exists(_beside(file, "-wal")) and os.path.exists(_beside(file, "-shm")):
        return f"{file.as_uri()}?mode=ro&readonly_shm=1"
    folder = cleanup.enter_context(TemporaryDirectory(prefix="datasette-bear-search-"))
    return f"{_copied_into(Path(folder), file, owner).as_uri()}?mode=ro"


def _uses_wal(file: Path, owner: Owner) -> bool:
    if not stat.S_ISREG(os.stat(file).st_mode):
        raise SourceError(f"{file} is not a file. Give the PATH of a {owner.database}.")
    with open(file, "rb") as stream:
        header = stream.read(100)
    if not header:
        raise SourceError(
            f"{file} is empty: there are no notes in it. If it is a copy, copy it again while"
            f" {owner.program} is closed; if not, open {owner.program} once."
        )
    if not header.startswith(b"SQLite format 3\0"):
        raise SourceError(f"{file} is not a database. Give the PATH of a {owner.database}.")
    return header[19:20] == b"\2"


def _copied_into(folder: Path, file: Path, owner: Owner) -> Path:
    copy = folder / "copy.sqlite"
    for attempt in range(COPY_ATTEMPTS):
        if attempt:
            time.sleep(COPY_PAUSE_SECONDS)
            _beside(copy, "-wal").unlink(missing_ok=True)
        before = state(file)
        try:
            shutil.copyfile(file, copy)
            with suppress(FileNotFoundError):  # no -wal file, because the program exited properly
                shutil.copyfile(_beside(file, "-wal"), _beside(copy, "-wal"))
        except OSError as error:  # such as a full disk
            raise SourceError(
                f"{file} can't be copied to {folder}, where it would be read: {error.strerror}."
            ) from error
        if state(file) == before:
            return copy
    raise _busy(file, owner)


def _explained(file: Path, owner: Owner, words: str) -> SourceError:
    # By the message, because Python has had SQLite's error codes only since 3.11.
    if "locked" in words:
        return _busy(file, owner)
    if "authorization denied" in words:
        return not_allowed(file)
    # A read needs to write only to roll back what a crash left unfinished.
    if "readonly database" in words:
        return SourceError(
            f"{file} was left in the middle of saving, and only {owner.program} can repair that."
            f" Open {owner.program} once, then try again. If this is a copy, make it again while"
            f" {owner.program} is closed."
        )
    if "malformed" in words or "not a database" in words:
        return _damaged(file, owner)
    return SourceError(f"{file} can't be read: {words}. Open {owner.program} once, then try again.")


def _damaged(file: Path, owner: Owner) -> SourceError:
    return SourceError(
        f"{file} is damaged and cannot be read. Open {owner.program} to see whether it still shows"
        f" your notes. If this is a copy, copy it again while {owner.program} is closed."
    )


def _busy(file: Path, owner: Owner) -> SourceError:
    return SourceError(
        f"{file} is busy: {owner.program}, or another program, is saving to it. Try again in a"
        " minute; if it stays busy, quit other programs that use it."
    )
