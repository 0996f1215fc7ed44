"""What to say of an index that can't be read or written, and what mends it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..sqlite import sqlite3
from . import schema
from .schema import APPLICATION_ID, PASSAGE_INDEX, VECTORS

# The beginning of what to say of an index in which something is missing that this version looks for.
LACKING = (
    "The index can't be read, because an earlier version of datasette-bear-search made it, or because something in it got "
    "lost. Run: datasette bear-index. If that doesn't mend it"
)

OTHER_VERSION = (
    "The index was made by an earlier version of datasette-bear-search. Bring it up to date, which keeps all that is in it: "
    "datasette bear-index."
)

CHECK_PERMISSIONS = "Check the permissions of the file and of its folder."


class SidecarError(Exception):
    """The sidecar cannot be used; the message says why and what to do."""


def not_writable(path: Path, error: OSError) -> SidecarError:
    """What to say if the system refuses to let the sidecar be written."""
    return SidecarError(
        f"The index can't be written to {path}: {error.strerror}. Choose another place with --sidecar."
    )


def explained(error: sqlite3.Error) -> str:
    """What SQLite's refusal to read or write a sidecar means for a person, and what to do."""
    # By the words and not by the code, which Python knows only since 3.11.
    words = str(error)
    # The last is sqlite-vec's.
    if any(sign in words for sign in ("is full", "I/O error", "could not write")):
        return (
            f"There is no space for the index, or its disk has a fault ({words}). Free some space, then run datasette "
            "bear-index again: it goes on where it stopped. What was indexed before can be searched."
        )
    if "locked" in words:
        return f"Another program keeps the index from being used ({words}). Try again in a minute."
    if "readonly" in words:
        return f"The index can't be written ({words}). Choose another place with --sidecar."
    if "no such table" in words or "no such column" in words:
        return (
            f"{LACKING} ({words}), delete the index and run datasette bear-index again: it holds nothing that isn't in your "
            "notes, but for your judgments of results and the names of the sources."
        )
    return (
        f"The index can't be read: it is damaged or lacks something ({words}). It holds nothing that isn't in your notes, but "
        "for your judgments of results and the names of the sources: delete the index and run datasette bear-index again."
    )


# The sidecar: one SQLite file with the notes, their FTS5 index and their vectors.
#
# This room knows the schema, its versions, and how to open the file safely. It never reads a source and never ranks.

ENVIRONMENT_VARIABLE = "DATASETTE_BEAR_SEARCH_SIDECAR"

# Seconds to wait for another connection. A server's reads are short, an indexer's commits too.
BUSY_SECONDS = 30.0

# Key in meta: the passage index lacks something, and can't be searched until it is made anew.
STALE = "passage_index_stale"


@dataclass(frozen=True)
class State:
    """What a sidecar says of itself."""

    has_notes: bool
    pending: int  # passages that have no vector yet
    has_vectors: bool
    model: str | None
    fingerprint: str | None  # of the model and prompts that made the vectors
    indexed: str | None  # when the last run ended, ISO 8601 UTC


def default_path() -> Path:
    """Where the sidecar is when nobody says otherwise."""
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("datasette-bear-search", appauthor=False) / "notes.db"


def index_command(path: Path) -> str:
    """What a person types to make, or mend, the sidecar at ``path``."""
    command = "datasette bear-index"
    return command if path == default_path() else f"{command} --sidecar {shlex.quote(str(path))}"


def is_made(path: Path) -> bool:
    """Whether there is a sidecar at ``path`` with something in it.

    :raises SidecarError: if it is something else, or damaged
    """
    _check(path)
    # Empty is what a run leaves that was stopped before anything else.
    return path.exists() and path.stat().st_size > 0


def is_sidecar(path: str | Path) -> bool:
    """Whether the file at ``path`` bears the application id of a sidecar."""
    try:
        undo_half_a_commit(Path(path))
        return _application_id(Path(path)) == APPLICATION_ID
    except (OSError, sqlite3.Error):
        return False


def require_readable(connection: sqlite3.Connection) -> None:
    """Make sure that the schema has what a search looks at.

    :raises SidecarError: if an earlier version made it
    """
    if not schema.can_be_searched(connection):
        raise SidecarError(OTHER_VERSION)


def is_sidecar_connection(connection: sqlite3.Connection) -> bool:
    """Whether a connection's main database is a sidecar."""
    [(_, _, file), *_] = connection.execute("pragma database_list").fetchall()
    if file:
        undo_half_a_commit(Path(file))
    return connection.execute("pragma application_id").fetchone()[0] == APPLICATION_ID


def connect(path: Path) -> sqlite3.Connection:
    """A read-only connection to an existing sidecar, with sqlite-vec where it can be loaded.

    :raises SidecarError: if there is no sidecar at ``path``
    """
    if not is_made(path):
        raise SidecarError(f"There is no index at {path} yet. Make it with: {index_command(path)}")
    connection = _open_read_only(path)
    load_vector_extension(connection)
    return connection


@contextmanager
def open_for_writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the sidecar at ``path``, which is made or migrated to the present schema if need be.

    :raises SidecarError: if the file is something else, or was made by a newer version
    :raises sqlite3.Error: if it is damaged, or the disk is full
    """
    _check(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Notes are private: on a shared machine nobody else may read the file.
        path.touch(mode=0o600)
    except OSError as error:
        raise not_writable(path, error) from None
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("pragma secure_delete = on")
        # KiB. Four indexes have keys in no order: what of them is used again and again must stay in memory.
        connection.execute("pragma cache_size = -65536")
        _migrate(connection)
        # Not before: migrations may drop and rename tables.
        connection.execute("pragma foreign_keys = on")
        load_vector_extension(connection)
        yield connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def wait_for_writers(connection: sqlite3.Connection) -> None:
    """Let a connection that somebody else opened wait as long as ours do.

    An indexer commits again and again. Whoever looks only now and then whether it is done, as SQLite does, may find it
    committing each time; Datasette gives up after five seconds.
    """
    connection.execute(f"pragma busy_timeout = {round(BUSY_SECONDS * 1000)}")


def load_vector_extension(connection: sqlite3.Connection) -> bool:
    """Load sqlite-vec into a connection; False if this Python or machine cannot."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None or not hasattr(connection, "enable_load_extension"):
        return False
    try:
        connection.enable_load_extension(True)
        try:
            # Not sqlite_vec.load(): importing sqlite_vec imports numpy.
            connection.load_extension(str(Path(spec.origin).with_name("vec0")))
        finally:
            connection.enable_load_extension(False)
    except (AttributeError, sqlite3.Error):
        return False
    return True


def has_vector_extension(connection: sqlite3.Connection) -> bool:
    """Whether sqlite-vec's functions can be called on this connection."""
    try:
        connection.execute("select vec_version()")
    except sqlite3.OperationalError:
        return False
    return True


def hide_passage_index(connection: sqlite3.Connection) -> None:
    """Let Datasette open a sidecar on a connection that could not load sqlite-vec.

    Datasette asks for the columns of every table when it starts and refuses to serve a file whose virtual table has
    no module. An empty temporary table of the same name answers instead; nothing else reads it.
    """
    connection.execute(f"create temp table if not exists {PASSAGE_INDEX} (rowid_ integer)")


def reset(connection: sqlite3.Connection) -> None:
    """Empty the sidecar in place, so that a server which has it open keeps serving the same file.

    Judgments stay, and so does what the sources are: a run that is stopped here must not forget what to read.
    """
    connection.execute("pragma foreign_keys = off")
    with transaction(connection):
        sources = connection.execute("select * from sources")
        columns = [column[0] for column in sources.description]
        unread = [{**dict(zip(columns, row)), "state": "", "notes": 0} for row in sources]
        # Virtual tables first: they take the tables with them in which they keep their data.
        for made, kind in (
            ("create view%", "view"),
            ("create virtual table%", "table"),
            ("create table%", "table"),
        ):
            names = connection.execute(
                "select name from sqlite_master where type = ? and sql like ? and name not like 'sqlite_%'"
                " and name != ?",
                [kind, made, schema.JUDGMENTS],
            ).fetchall()
            for (name,) in names:
                connection.execute(f"drop {kind} {name}")
        # In the same transaction: a search must never see a sidecar without tables.
        schema.migrate(connection)
        connection.executemany(
            f"insert into sources ({', '.join(columns)}) values ({', '.join(f':{name}' for name in columns)})",
            unread,
        )
    connection.execute("pragma foreign_keys = on")


def get_meta(connection: sqlite3.Connection, key: str) -> str | None:
    """The value of ``key`` in the sidecar's ``meta`` table."""
    # A damaged file may give anything, which is then no model's name, but no fault of the program either.
    row = connection.execute("select cast(value as text) from meta where key = ?", [key]).fetchone()
    return row[0] if row else None


def set_meta(connection: sqlite3.Connection, **values: str | int | None) -> None:
    """Write into the ``meta`` table."""
    connection.executemany("insert or replace into meta (key, value) values (?, ?)", values.items())


def file_of(connection: sqlite3.Connection) -> str:
    """The path of a connection's main database; empty if it is in memory."""
    [file] = connection.execute(
        "select file from pragma_database_list where name = 'main'"
    ).fetchone()
    return file


def stored_model(path: Path) -> str | None:
    """The model that made the vectors of the sidecar at ``path``, if there is one."""
    if not is_sidecar(path):
        return None
    with closing(connect(path)) as connection:
        return get_meta(connection, "model")


def read_state(connection: sqlite3.Connection) -> State:
    """What the sidecar says of itself: a few indexed look-ups, cheap enough for every search."""
    meta = dict(connection.execute("select key, cast(value as text) from meta").fetchall())
    [has_notes] = connection.execute("select exists (select 1 from notes)").fetchone()
    # Walks an index of those that are pending.
    [pending] = connection.execute("select count(*) from passages where not embedded").fetchone()
    [has_vectors] = connection.execute(f"select exists (select 1 from {VECTORS})").fetchone()
    return State(
        has_notes=bool(has_notes),
        pending=pending,
        has_vectors=bool(has_vectors) and STALE not in meta,
        model=meta.get("model"),
        fingerprint=meta.get("fingerprint"),
        indexed=meta.get("indexed"),
    )


def count_notes(connection: sqlite3.Connection) -> int:
    """How many notes there are. Walks an index: a millisecond or two for each hundred thousand."""
    [notes] = connection.execute("select count(*) from notes").fetchone()
    return notes


def undo_half_a_commit(path: Path) -> None:
    """Let SQLite undo what a run left that was killed in the middle of a commit, if there is such a thing.

    SQLite does that by itself whenever a file is opened, but not for those who open it to read only: they get nothing
    but errors. A run that is just committing is waited for.

    :raises sqlite3.Error: if it can't be undone, because this user may only read the file
    """
    if is_half_committed(path):
        uri = f"{path.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
            connection.execute("pragma application_id").fetchone()


def is_half_committed(path: Path) -> bool:
    """Whether a run is in the middle of a commit to the sidecar at ``path``, or was when it was killed."""
    path = path.resolve()
    try:
        # SQLite wipes the beginning of a journal that isn't needed.
        with open(f"{path}-journal", "rb") as journal:
            return journal.read(1) not in (b"", b"\0") and _bears_our_id(str(path))
    except OSError:
        return False


def _check(path: Path) -> None:
    """:raises SidecarError: if ``path`` is something that isn't a sidecar; an empty or missing file is well"""
    try:
        if path.is_dir():
            raise SidecarError(f"{path} is a folder. Give --sidecar the name of a file.")
        undo_half_a_commit(path)
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return
        if _application_id(path) == APPLICATION_ID:
            return
    except OSError as error:
        raise SidecarError(
            f"The index at {path} can't be read: {error.strerror}. {CHECK_PERMISSIONS}"
        ) from None
    except sqlite3.OperationalError as error:
        if "readonly database" not in str(error):
            raise SidecarError(
                f"The index at {path} can't be read: {error}. {CHECK_PERMISSIONS}"
            ) from None
        if is_half_committed(path):
            raise SidecarError(
                f"A datasette bear-index was stopped in the middle of writing {path}, and you may not write there. "
                "Run it again as the user who made the index."
            ) from None
    except sqlite3.DatabaseError as error:
        if "not a database" not in str(error):
            raise SidecarError(f"{path}: {explained(error)}") from None
    raise SidecarError(
        f"{path} is not an index made by datasette bear-index, so it is left alone. "
        "Choose another file with --sidecar."
    )


def _application_id(path: Path) -> int:
    # Through SQLite, never through open(): closing a file drops every lock that this process has on it, also
    # those of a search that is reading in another thread.
    with closing(_open_read_only(path)) as connection:
        return connection.execute("pragma application_id").fetchone()[0]


# Files that are looked at without SQLite stay open: closing one would drop the locks of everybody in this process.
_kept_open: dict[str, BinaryIO] = {}
_looking = threading.Lock()


def _bears_our_id(file: str) -> bool:
    """Whether a file in the middle of a commit is a sidecar: nobody else's may be touched."""
    with _looking:
        if file not in _kept_open:
            _kept_open[file] = open(file, "rb", buffering=0)  # noqa: SIM115
        _kept_open[file].seek(68)
        return _kept_open[file].read(4) == APPLICATION_ID.to_bytes(4, "big")


def _open_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def _migrate(connection: sqlite3.Connection) -> None:
    try:
        if not schema.is_current(connection):
            # All of it or nothing: a file with half a schema would be nobody's.
            with transaction(connection):
                schema.migrate(connection)
    except schema.NewerSchema as error:
        raise SidecarError(
            f"This index was made by a newer version of datasette-bear-search ({error}). "
            "Upgrade with: pip install -U datasette-bear-search"
        ) from None
