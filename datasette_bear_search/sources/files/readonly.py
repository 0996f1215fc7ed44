"""Read other programs' SQLite databases without these programs noticing.

Anybody who reads Bear's database keeps Bear from saving, and a careless reader repairs the
database, checkpoints it or creates files beside it. This module never changes anything there.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ...sqlite import sqlite3
from ..base import SourceError
from ..formats.text import decode_damaged
from .states import explained, file_state, not_allowed

# How long to wait while the program saves. Bear takes milliseconds, a large sync a second or two.
OWNER_BUSY_SECONDS = 5.0

# How many times to try if the file changes while it is being copied, and the pause in between.
COPY_ATTEMPTS = 5
COPY_PAUSE_SECONDS = 0.2
# How copies and their folders are called, and seconds after which one that is still there is
# nobody's: SQLite has it open right after it was written.
COPIES, COPY = "datasette-bear-search-", "copy.sqlite"
ABANDONED_SECONDS = 600.0

# When a process closes any descriptor of a file, POSIX drops all of its locks on that file, even
# those that SQLite holds in another thread. So this process reads only one database at a time.
_one_at_a_time = Lock()


# Parts of SQLite's messages about a file → what to tell people. By the message, because Python
# has had SQLite's error codes only since 3.11.
ADVICE = {
    "authorization denied": str(not_allowed("{file}")),
    "locked": "{file} is busy: {program}, or another program, is saving to it. Try again in a"
    " minute; if it stays busy, quit other programs that use it.",
    # A read needs to write only to roll back what a crash left unfinished.
    "readonly database": "{file} was left in the middle of saving, and only {program} can repair"
    " that. Open {program} once, then try again. If this is a copy, make it again while {program}"
    " is closed.",
    "malformed|not a database": "{file} is damaged and cannot be read. Open {program} to see"
    " whether it still shows your notes. If this is a copy, copy it again while {program} is"
    " closed.",
    "": "{file} can't be read: {words}. Open {program} once, then try again.",
}


@dataclass(frozen=True)
class Owner:
    """The program that a database belongs to, for messages."""

    database: str  # what to call the file, such as "Bear database"
    program: str
    file_name: str = ""  # of the database, for locations that are a folder
    if_missing: str = "Give the PATH of a SQLite database."
    advice: Mapping[str, str] = field(default_factory=lambda: ADVICE)


ANY_PROGRAM = Owner("SQLite database", "the program that it belongs to")


@contextmanager
def read_transaction(path: Path, owner: Owner = ANY_PROGRAM) -> Iterator[sqlite3.Connection]:
    """Open a connection in a read transaction on the database at ``path``.

    Fetch everything and leave, because the program can't save while the connection is open.
    Bytes that aren't UTF-8 are read as Windows' letters.

    :param path: the database, or a folder that contains the owner's ``file_name``
    :raises SourceError: if the database can't be read; the message says what to do
    """
    with _one_at_a_time, ExitStack() as cleanup:
        file = _database_in(path, owner)
        try:
            db = _opened(file, owner, cleanup)
            db.text_factory = decode_damaged
            db.execute("pragma query_only = 1")
            db.execute("begin")
            yield db
        except OSError as error:
            missing = f"There is no {owner.database} at {file}. {owner.if_missing}"
            raise explained(file, error, missing=missing) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _explained(file, owner, str(error)) from error
        except UnicodeDecodeError as error:  # in SQLite's message, which quotes the damaged part
            raise _explained(file, owner, "malformed") from error


def state(path: Path, owner: Owner = ANY_PROGRAM) -> str:
    """Return a token that changes when the database may have changed, without opening it."""
    file = _database_in(path, owner)
    return f"{file_state(file)} {file_state(_beside(file, '-wal'))}"


def _database_in(path: Path, owner: Owner) -> Path:
    # SQLite looks for the journal beside the file that a symbolic link points to, and so must we.
    # os.path, unlike Path, returns False and raises no error for files that macOS protects.
    path = Path(os.path.realpath(path.expanduser()))
    return path / owner.file_name if owner.file_name and os.path.isdir(path) else path


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _opened(file: Path, owner: Owner, cleanup: ExitStack) -> sqlite3.Connection:
    """Open the file, or a private copy, so that nothing beside it changes.

    Never with ``immutable=1``, which ignores the program's locks and journals and reads half-saved
    rows.
    """

    def connect(path: Path, parameters: str = "mode=ro") -> sqlite3.Connection:
        uri = f"{path.as_uri()}?{parameters}"
        db = sqlite3.connect(uri, uri=True, timeout=OWNER_BUSY_SECONDS, isolation_level=None)
        return cleanup.enter_context(closing(db))

    if not _uses_wal(file, owner):
        return connect(file)
    # In WAL mode, SQLite creates missing -wal and -shm files even to read. If both exist, it can be
    # told not to write to them.
    if os.path.exists(_beside(file, "-wal")) and os.path.exists(_beside(file, "-shm")):
        db = connect(file, "mode=ro&readonly_shm=1")
        with suppress(sqlite3.OperationalError):  # if the program is only just writing -shm
            db.execute("select count(*) from sqlite_master").fetchall()
            return db
    folder = cleanup.enter_context(
        tempfile.TemporaryDirectory(prefix=COPIES, ignore_cleanup_errors=True)
    )
    copy = Path(folder, COPY)
    _copy(file, copy, owner)
    db = connect(copy, "mode=rw")
    db.execute("select count(*) from sqlite_master").fetchall()  # opens the log, too
    # Whatever kills this process from now on, no copy remains: open files need no names.
    with suppress(OSError):  # on Windows, they do
        shutil.rmtree(folder)
    return db


def remove_abandoned_copies() -> None:
    """Remove copies that processes left which were killed while they made one."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(COPIES) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    status = os.stat(Path(entry.path, COPY))
                    is_ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                    if is_ours and time.time() - status.st_mtime > ABANDONED_SECONDS:
                        shutil.rmtree(entry.path, ignore_errors=True)


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


def _copy(file: Path, copy: Path, owner: Owner) -> None:
    for attempt in range(COPY_ATTEMPTS):
        if attempt:
            time.sleep(COPY_PAUSE_SECONDS)
        before = state(file)
        try:
            shutil.copyfile(file, copy)
            _beside(copy, "-wal").unlink(missing_ok=True)
            # There is no -wal file if the program exited properly.
            with suppress(FileNotFoundError):
                shutil.copyfile(_beside(file, "-wal"), _beside(copy, "-wal"))
        except OSError as error:  # such as a full disk
            raise SourceError(
                f"{file} can't be copied to {tempfile.gettempdir()}, where it would be read:"
                f" {error.strerror}."
            ) from error
        if state(file) == before:
            return
    raise _explained(file, owner, "locked")


def _explained(file: Path, owner: Owner, words: str) -> SourceError:
    advice = next(advice for part, advice in owner.advice.items() if re.search(part, words))
    return SourceError(advice.format(file=file, program=owner.program, words=words))
