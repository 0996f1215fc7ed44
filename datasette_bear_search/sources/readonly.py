"""Bear's database file, opened so that Bear never notices, or an error that says what to do.

Bear keeps its notes in one SQLite file with a rollback journal: whoever reads it keeps Bear from
saving, and whoever opens it carelessly repairs, checkpoints or creates files beside it. In here,
nothing in Bear's folder is ever created or changed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from ..sqlite import sqlite3
from . import SourceError
from .exports import explained

DATABASE_NAME = "database.sqlite"

# How long to wait while Bear saves. A save takes milliseconds, a large sync a second or two.
BUSY_SECONDS = 5.0

# How often to begin again when the file changes while it is being copied, and the pause between.
COPY_ATTEMPTS = 5
COPY_PAUSE_SECONDS = 0.2

# POSIX drops all of a process's locks on a file when any descriptor of that file is closed, those
# that SQLite took in another thread included. So this process looks at one Bear file at a time.
_one_at_a_time = Lock()


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside one read transaction on the library at ``path``; raises SourceError.

    ``path`` is the database or the folder that holds it. Fetch everything and leave: as long as
    the connection is open, Bear cannot save. Invalid UTF-8 comes back with replacement characters.
    """
    with _one_at_a_time, ExitStack() as cleanup:
        file = _database_in(path)
        try:
            uri = _address(file, cleanup)
            db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            cleanup.enter_context(closing(db))
            db.text_factory = partial(str, encoding="utf-8", errors="replace")
            db.execute("pragma query_only = 1")
            db.execute("begin")
            yield db
        except OSError as error:
            raise _explained_os_error(file, error) from error
        except sqlite3.Error as error:
            raise _explained_sqlite_error(file, error) from error
        except UnicodeDecodeError as error:  # of SQLite's message, which quotes the damaged part
            raise _damaged(file) from error


def file_state(path: Path) -> str:
    """A token that changes whenever the library at ``path`` may have changed; opens nothing."""
    file = _database_in(path)
    return " ".join(_file_stamp(file_beside) for file_beside in (file, _beside(file, "-wal")))


def _database_in(path: Path) -> Path:
    # SQLite looks for the journal beside the file that a symbolic link points to, and so must we.
    # os.path and not Path: its answers are False, and no error, for what macOS hides.
    path = Path(os.path.realpath(path.expanduser()))
    return path / DATABASE_NAME if os.path.isdir(path) else path


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _file_stamp(file: Path) -> str:
    try:
        found = os.stat(file)
    except OSError:
        return "none"
    return f"{found.st_ino}/{found.st_mtime_ns}/{found.st_size}"


def _address(file: Path, cleanup: ExitStack) -> str:
    """The URI at which SQLite can read the file, or a private copy of it, and change nothing.

    Never ``immutable=1``: that ignores Bear's locks and journals, and reads half-saved notes.
    """
    if not _uses_wal(file):
        return f"{file.as_uri()}?mode=ro"
    # With a write-ahead log SQLite creates the -wal and -shm files that it misses, even when it
    # only reads. If both are there, it can be told not to write them.
    if os.path.exists(_beside(file, "-wal")) and os.path.exists(_beside(file, "-shm")):
        return f"{file.as_uri()}?mode=ro&readonly_shm=1"
    folder = cleanup.enter_context(TemporaryDirectory(prefix="datasette-bear-search-"))
    return f"{_copied_into(Path(folder), file).as_uri()}?mode=ro"


def _uses_wal(file: Path) -> bool:
    if not stat.S_ISREG(os.stat(file).st_mode):
        raise SourceError(f"{file} is not a file. Give the PATH of Bear's {DATABASE_NAME}.")
    with open(file, "rb") as stream:
        header = stream.read(100)
    if not header:
        raise SourceError(
            f"{file} is empty: there are no notes in it. If it is a copy, copy it again while Bear"
            " is closed; if it is Bear's own file, open Bear once."
        )
    if not header.startswith(b"SQLite format 3\0"):
        raise SourceError(
            f"{file} is not a database, so it cannot be Bear's. Give the PATH of Bear's"
            f" {DATABASE_NAME}."
        )
    return header[19:20] == b"\2"


def _copied_into(folder: Path, file: Path) -> Path:
    copy = folder / DATABASE_NAME
    for attempt in range(COPY_ATTEMPTS):
        if attempt:
            time.sleep(COPY_PAUSE_SECONDS)
            _beside(copy, "-wal").unlink(missing_ok=True)
        before = file_state(file)
        shutil.copyfile(file, copy)
        with suppress(FileNotFoundError):  # no log: Bear was closed properly
            shutil.copyfile(_beside(file, "-wal"), _beside(copy, "-wal"))
        if file_state(file) == before:
            return copy
    raise _busy(file)


def _explained_os_error(file: Path, error: OSError) -> SourceError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SourceError(
            f"There is no Bear database at {file}. Open Bear once so that it makes one, or give"
            f" the PATH of a {DATABASE_NAME} or of the folder that holds it."
        )
    if error.errno == errno.EPERM:
        return _not_allowed(file)
    if error.errno == errno.EACCES:
        return SourceError(
            f"You may not read {file}: its permissions, or those of a folder above it, belong to"
            " somebody else. Run this as the user who owns the notes, or change the permissions."
        )
    return SourceError(
        f"{file} could not be read: {error.strerror or error}. Try again in a minute."
    )


def _explained_sqlite_error(file: Path, error: sqlite3.Error) -> SourceError:
    # By the words and not by the code, which Python knows only since 3.11.
    words = str(error)
    if "locked" in words:
        return _busy(file)
    if "authorization denied" in words:
        return _not_allowed(file)
    # Reading asks to write only to undo what a crash left half-done.
    if "readonly database" in words:
        return SourceError(
            f"Bear was stopped in the middle of saving to {file}, and only Bear can mend that. Open"
            " Bear once, then try again. If this is a copy, make it again while Bear is closed."
        )
    if "malformed" in words or "not a database" in words:
        return _damaged(file)
    return SourceError(f"{file} could not be read: {words}. Open Bear once, then try again.")


def _damaged(file: Path) -> SourceError:
    return SourceError(
        f"{file} is damaged and cannot be read. Open Bear to see whether it still shows your"
        " notes. If this is a copy, copy it again while Bear is closed."
    )


def _busy(file: Path) -> SourceError:
    return SourceError(
        f"{file} is busy: Bear, or another program, is saving to it. Try again in a minute; if it"
        " stays busy, quit other programs that use Bear's notes."
    )


def _not_allowed(file: Path) -> SourceError:
    return SourceError(
        f"macOS does not let this program read {file}. In System Settings > Privacy & Security >"
        " Full Disk Access, turn on the app in which you run it (Terminal, iTerm, VS Code …), then"
        " quit that app, open it again and try again."
    )


# Somebody's SQLite database, opened so that nothing in it or beside it changes, and asked one question.

# How long to wait while another program writes.
FILE_BUSY_SECONDS = 5.0

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
            found = _answer(_file_address(path), sql, seconds)
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
    connection = sqlite3.connect(address, uri=True, timeout=FILE_BUSY_SECONDS, isolation_level=None)
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


def _file_address(path: Path) -> str:
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
