"""The index file, also called sidecar: how to open it safely, and the metadata in it."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from ...embeddings.prompts import Prompts
from ...notes import ForeseenError, storable_name
from ...processes import user_folder
from ...sqlite import sqlite3
from ...text import languages
from . import metadata, schema, vectors
from .schema import APPLICATION_ID, PENDING, REFUSED, VECTORS

Key = TypeVar("Key")

Value = TypeVar("Value")

SIDECAR_VARIABLE = "DATASETTE_BEAR_SEARCH_SIDECAR"
# Seconds that a writer waits for others' reads, and a reader for commits. Those locked the file for
# .1 s at most, and for .6 % of a run's time, but SQLite retries only now and then.
BUSY_SECONDS, READ_BUSY_SECONDS = 30.0, 10.0
# Seconds before people are told that the index is locked. A commit takes less.
LOCK_SECONDS = 0.5
# In KiB. Four indexes have keys in random order, so their pages are needed again and again.
WRITER_CACHE = 65536
# Key in meta: a JSON array of what was put before each query and before each passage.
PROMPTS = "prompts"
# Key in meta: "1" if the model is a static one.
STATIC_MODEL = "static_model"


# --- errors

ISSUES = "https://github.com/datasette-bear-search/datasette-bear-search/issues"
ELSEWHERE = "Choose another place with --sidecar, or in Python with Library(PLACE)."


class SidecarError(ForeseenError):
    """The index file can't be used."""


class OtherVersion(SidecarError, sqlite3.DatabaseError):
    """Another version of this package made the index file."""


# In the name of a file that lacks some notes of another index, after that one's name.
RESTRICTED_MARK = ".without-"


def not_writable(path: Path, error: OSError) -> SidecarError:
    """Return the error for people if the operating system forbids writing the index file."""
    return SidecarError(f"The index can't be written to {path}: {error.strerror}. {ELSEWHERE}")


def explained(error: Exception) -> str:
    """Return a message for people that explains why the index can't be read or written."""
    words = str(error)
    if isinstance(error, ForeseenError) or not isinstance(error, (sqlite3.Error, UnicodeError)):
        return words
    # Python has SQLite's error codes only since 3.11. The last message is sqlite-vec's.
    if any(part in words for part in ("is full", "I/O error", "could not write")):
        return (
            f"There is no space for the index, or its disk has a fault ({words}). Free some space; "
            "then a server that runs goes on, and so does datasette bear-index if you run it again."
            " What was indexed before can be searched."
        )
    if "locked" in words:
        return f"Another program keeps the index from being used ({words}). Try again in a minute."
    if "readonly" in words:
        return f"The index can't be written ({words}). {ELSEWHERE}"
    if not is_damage(error):
        return (
            f"The index can't be read right now ({words}). If it stays so, run: datasette "
            f"bear-index --rebuild. If that doesn't fix it, please report it: {ISSUES}"
        )
    return (
        f"The index can't be read: it is damaged or lacks something ({words}). It holds nothing "
        "that isn't in your notes, except your judgments, your saved searches and the list of "
        "sources: delete the index and run datasette bear-index again."
    )


def is_damage(error: Exception) -> bool:
    """Return whether SQLite says that the file is damaged or lacks a table or column."""
    # Python raises this class itself for SQLITE_CORRUPT and SQLITE_NOTADB, as our checks do, and
    # subclasses of it for most other codes.
    if type(error) in (sqlite3.DatabaseError, UnicodeDecodeError):
        return True
    return any(part in str(error) for part in _DAMAGE)


_DAMAGE = ("no such table", "no such column", "Could not decode", "unsupported file format")


@contextmanager
def as_damage() -> Iterator[None]:
    """Raise sqlite3.DatabaseError if SQLite's message quotes text that Python can't decode."""
    try:
        yield
    except UnicodeDecodeError:
        raise sqlite3.DatabaseError("malformed text in the schema") from None


# --- where it is


def default_path() -> Path:
    """Return the path of the index file if the command line and settings name none."""
    if chosen := os.environ.get(SIDECAR_VARIABLE):
        return Path(chosen).expanduser()
    return user_folder("data") / "notes.db"


def unrestricted(path: Path) -> Path:
    """Return the index with all notes if ``path`` is one that lacks some; otherwise ``path``."""
    return path.with_name(path.name.partition(RESTRICTED_MARK)[0])


def index_command(path: Path) -> str:
    """Return the command that makes, or repairs, the index file at ``path``."""
    command, path = "datasette bear-index", unrestricted(path)
    return command if path == default_path() else f"{command} --sidecar {shlex.quote(str(path))}"


def is_made(path: Path) -> bool:
    """Return whether there is an index at ``path``; raise SidecarError if it is another file."""
    try:
        absolute = str(path.absolute())
        if absolute != (storable := storable_name(absolute)):  # SQLite couldn't say it
            raise SidecarError(f"The path {storable} isn't UTF-8. {ELSEWHERE}")
        if path.is_dir():
            raise SidecarError(f"{path} is a folder. {ELSEWHERE}")
        undo_half_a_commit(path)
        # A run that is stopped at once leaves an empty file.
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return False
        if application_id(path) == APPLICATION_ID:
            return True
    except (OSError, sqlite3.OperationalError) as error:
        words = getattr(error, "strerror", None) or str(error)
        if "locked" in words:
            raise SidecarError(explained(error)) from None
        if "readonly database" not in words:
            raise SidecarError(
                f"The index at {path} can't be read: {words}. Check the permissions of the file "
                "and of its folder."
            ) from None
        if is_half_committed(path):
            raise SidecarError(
                f"A datasette bear-index was stopped in the middle of writing {path}, and you may "
                "not write there. Run it again as the user who made the index."
            ) from None
    except sqlite3.DatabaseError as error:
        if "not a database" not in str(error):
            raise SidecarError(f"{path}: {explained(error)}") from None
    raise SidecarError(
        f"{path} is not an index made by datasette bear-index, so it is left alone. {ELSEWHERE}"
    )


def is_locked(path: Path, *, wait: float = LOCK_SECONDS) -> bool:
    """Return whether another program's lock prevents reading the file, for ``wait`` seconds."""
    if path.is_file():
        try:
            application_id(path, wait)
        except sqlite3.Error as error:
            return "locked" in str(error)
    return False


def is_sidecar(path: str | Path) -> bool:
    """Return whether the file at ``path`` has the application id of an index file."""
    with suppress(SidecarError):
        return is_made(Path(path))
    return False


def is_sidecar_connection(connection: sqlite3.Connection) -> bool:
    """Return whether a connection's main database is an index file."""
    if file := file_of(connection):
        undo_half_a_commit(Path(file))
    return bool(connection.execute("pragma application_id").fetchone()[0] == APPLICATION_ID)


def file_of(connection: sqlite3.Connection) -> str:
    """Return the path of a connection's main database; empty if it is in memory."""
    # This pragma doesn't read the file. pragma_database_list does, and fails after a killed commit.
    [(_, _, file), *_] = connection.execute("pragma database_list").fetchall()
    return str(file)


def file_state(connection: sqlite3.Connection) -> tuple[object, ...]:
    """Return values that change with the file; empty if the database is in memory or gone."""
    try:
        stat = os.stat(file_of(connection))
    except OSError:
        return ()
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


def keep(cache: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Put a value into a cache that keeps the last ``most`` keys. This is thread-safe."""
    cache[key] = value
    for oldest in list(cache)[:-most]:
        cache.pop(oldest, None)


# --- opening


def connect(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, with sqlite-vec if it can be loaded, or raise SidecarError."""
    if not is_made(path):
        raise SidecarError(f"There is no index at {path} yet. Make it with: {index_command(path)}")
    connection = _open_read_only(path)
    languages.register(connection)
    vectors.load_extension(connection)
    return connection


def require_current(connection: sqlite3.Connection) -> None:
    """Raise OtherVersion unless this version of the package made the index file."""
    version = schema.version_of(connection)
    if version < schema.VERSION:
        raise OtherVersion(
            "The index can't be used. An earlier version of datasette-bear-search made it. Bring "
            "it up to date, which keeps your judgments and sources, with: "
            + index_command(Path(file_of(connection)))
        )
    if version > schema.VERSION:
        raise OtherVersion(
            "The index can't be used. A newer version of datasette-bear-search made it. Upgrade "
            "with: pip install -U datasette-bear-search"
        )


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents so that only this user may open them."""
    if not folder.exists():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def open_for_writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the index file at ``path``, or create it. An older version isn't upgraded.

    :raises SidecarError: if the file is something else, or was made by a newer version
    :raises sqlite3.Error: if it is damaged, or the disk is full
    """
    is_made(path)  # raises an error if the file is something else
    try:
        # Notes are private, so on a shared machine nobody else may read the file.
        make_private_folder(path.parent)
        path.touch(mode=0o600)
        with suppress(PermissionError):  # another user's file, which we may still be able to write
            path.chmod(0o600)
    except OSError as error:
        raise not_writable(path, error) from None
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("pragma secure_delete = on")
        languages.register(connection)
        connection.execute(f"pragma cache_size = -{WRITER_CACHE}")
        if schema.version_of(connection) > schema.VERSION:
            require_current(connection)
        if not connection.execute("select 1 from sqlite_master limit 1").fetchone():
            # In one transaction: a file with half a schema wouldn't be recognized as an index.
            with transaction(connection):
                schema.create(connection)
        connection.execute("pragma foreign_keys = on")
        vectors.load_extension(connection)
        yield connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end of the block, or roll back if it raises an error."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


# --- metadata


@dataclass(frozen=True)
class State:
    has_notes: bool
    pending: int  # passages that have no vector yet
    has_vectors: bool
    model: str | None
    fingerprint: str | None  # of the model and prompts that made the vectors
    indexed: str | None  # when the last run ended, ISO 8601 UTC
    skips_vectors: bool = False  # because a person chose that
    passages_per_second: float | None = None  # recent speed of embedding
    refused: int = 0  # passages for which the model made no vector, unless all vectors are stale
    path: Path | None = None  # of the index with all notes; None if it isn't a file

    @property
    def command(self) -> str:
        """The command that brings the index up to date."""
        return index_command(self.path) if self.path else "datasette bear-index"


def read_state(connection: sqlite3.Connection) -> State:
    """Return the state of an index, fast enough for every search, or raise OtherVersion."""
    require_current(connection)
    meta = dict(connection.execute("select key, cast(value as text) from meta").fetchall())
    # Counting is fast, because pending and refused passages have partial indexes.
    sql = f"""
    select
      exists (select 1 from notes),
      (select count(*) from passages where vector_state = '{PENDING}'),
      (select count(*) from passages where vector_state = '{REFUSED}'),
      exists (select 1 from {VECTORS})
    """
    has_notes, pending, refused, has_vectors = connection.execute(sql).fetchone()
    return State(
        has_notes=bool(has_notes),
        pending=pending,
        has_vectors=bool(has_vectors) and metadata.STALE not in meta,
        model=meta.get("model"),
        fingerprint=meta.get("fingerprint"),
        indexed=meta.get("indexed"),
        skips_vectors=meta.get(metadata.SEMANTIC) == metadata.NO,
        passages_per_second=metadata.number(meta.get(metadata.PACE) or "0") or None,
        refused=0 if metadata.STALE in meta else refused,
        path=unrestricted(Path(file)) if (file := file_of(connection)) else None,
    )


def stored(path: Path, key: str = "model") -> str | None:
    """Return a value from meta of the index file at ``path``; None if either doesn't exist."""
    if not is_sidecar(path):
        return None
    with closing(connect(path)) as connection:
        return metadata.get_meta(connection, key)


def prompts(connection: sqlite3.Connection) -> Prompts | None:
    """Return the prompts with which the vectors were made; None if nothing says so."""
    with suppress(sqlite3.DatabaseError, TypeError):
        return Prompts(*metadata.json_value(metadata.get_meta(connection, PROMPTS), list))
    return None


# --- a run that was killed


def undo_half_a_commit(path: Path) -> None:
    """Let SQLite roll back the commit of a run that was killed in the middle of it, if any.

    A read-only connection can't do so and gets errors. If a run is committing now, wait for it.

    :raises sqlite3.Error: if it can't be undone, because this user may only read the file
    """
    if is_half_committed(path):
        uri = f"{path.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=READ_BUSY_SECONDS)) as connection:
            connection.execute("pragma application_id").fetchone()


def is_half_committed(path: Path) -> bool:
    """Return whether a run is in the middle of a commit, or was when it was killed."""
    # SQLite zeroes the beginning of a journal that is no longer needed.
    with suppress(OSError), open(f"{path.resolve()}-journal", "rb") as journal:
        return journal.read(1) not in (b"", b"\0") and has_our_id(path)
    return False


def application_id(path: Path, wait: float = READ_BUSY_SECONDS) -> int:
    """Return the number by which a file says whose it is, even if its schema is damaged."""
    # SQLite reads it, not open(): closing a file releases all locks that this process holds on it,
    # including those of a search in another thread.
    with closing(_open_read_only(path, wait)) as connection:
        return int(connection.execute("pragma application_id").fetchone()[0])


# Files that are read without SQLite stay open, for the same reason.
_kept_open: dict[str, BinaryIO] = {}
_kept_open_lock = threading.Lock()


def has_our_id(path: Path) -> bool:
    """Return whether a file is an index, even while another program's lock keeps SQLite out."""
    file = str(path.resolve())
    with _kept_open_lock:
        if file not in _kept_open:
            _kept_open[file] = open(file, "rb", buffering=0)  # noqa: SIM115
        _kept_open[file].seek(68)
        return _kept_open[file].read(4) == APPLICATION_ID.to_bytes(4, "big")


def _open_read_only(path: Path, timeout: float = READ_BUSY_SECONDS) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=timeout)
