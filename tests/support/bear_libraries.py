"""Bear libraries for tests: from every version of Bear, and in every bad state."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sources.files import readonly
from datasette_bear_search.text import languages
from tests.support.bear_database import BearNote, write_library

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

VERSIONS = ("2", "2.0", "1.7", "1.6", "1.5", "renumbered")

# The numbers of the entities SFNote and SFNoteTag in each version. "renumbered" represents a future
# version.
_NUMBERS = {
    "2": (5, 13),
    "2.0": (5, 13),
    "1.7": (7, 14),
    "1.6": (6, 13),
    "1.5": (5, 10),
    "renumbered": (4, 12),
}

# Columns that the first 2.0 and the versions before 2.0 did not have yet.
_NOT_IN_2_0 = {
    "ZSFNOTE": "ZENCRYPTIONDATE",
    "ZSFNOTEFILE": (
        "ZENCRYPTED ZPASSWORD ZENCRYPTIONDATE ZENCRYPTIONUNIQUEIDENTIFIER ZENCRYPTEDDATA"
    ),
    "ZSFNOTETAG": (
        "ZENCRYPTED ZENCRYPTEDDATE ZHIDESUBTAGSNOTES ZHIDESUBTAGSNOTESDATE ZPINNEDNOTESDATE"
    ),
}
_NOT_IN_1 = {
    "ZSFNOTE": "ZVERSION",
    "ZSFNOTEFILE": "ZVERSION ZINSERTIONDATE ZSEARCHTEXT ZSEARCHTEXTDATE ZUNUSEDDATE",
    "ZSFNOTETAG": (
        "ZISROOT ZPINNED ZSORTING ZSORTINGDIRECTION ZVERSION ZPINNEDDATE ZSORTINGDATE"
        " ZSORTINGDIRECTIONDATE ZTAGCONDATE ZTAGCON ZUNIQUEIDENTIFIER ZSERVERDATA"
    ),
}


def bear_library(path: Path, notes: Iterable[BearNote] = (), version: str = "2") -> Path:
    """Write ``notes`` to ``path`` as that version of Bear would; return ``path``."""
    write_library(path, notes)
    if version == "2":
        return path
    with closing(sqlite3.connect(path)) as db, db:
        if version != "renumbered":
            db.execute("drop table Z_5PINNEDINTAGS")
            _drop_columns(db, _NOT_IN_2_0)
        if version.startswith("1"):
            _drop_columns(db, _NOT_IN_1)
            if version == "1.7":
                db.execute(
                    """
                    create table Z_5LINKEDNOTES as
                    select distinct ZLINKEDBY as Z_5LINKEDBYNOTES, ZLINKINGTO as Z_5LINKEDNOTES
                    from ZSFNOTEBACKLINK
                    """
                )
            db.execute("drop table ZSFNOTEBACKLINK")
        _renumber(db, *_NUMBERS[version])
    return path


def read_notes(path: Path, *, include_trashed: bool = False) -> dict[str, Note]:
    """Return the notes of the library by title."""
    notes = list(BearLibrary(path).read(include_trashed=include_trashed))
    by_title = {note.title: note for note in notes}
    assert len(by_title) == len(notes)
    return by_title


def tag_names(note: Note) -> list[str]:
    return [tag.name for tag in note.tags]


def day(number: int) -> datetime:
    """Return half past nine (UTC) on that day of May 2024."""
    return datetime(2024, 5, number, 9, 30, tzinfo=timezone.utc)


def edit(path: Path, sql: str, *parameters: object) -> None:
    """Run a statement on the library, to make states that Bear itself doesn't make."""
    with closing(sqlite3.connect(path)) as db, db:
        languages.register(db)  # for index files
        db.execute(sql, parameters)


def add_tag(path: Path, name: str | None, *, on: str | None = None) -> None:
    """Add a tag row without its parent tags, and put it on the note with the title ``on``."""
    with closing(sqlite3.connect(path)) as db, db:
        tag = db.execute("insert into ZSFNOTETAG (Z_ENT, ZTITLE) values (13, ?)", [name]).lastrowid
        if on:
            db.execute(
                "insert into Z_5TAGS select Z_PK, ? from ZSFNOTE where ZTITLE = ?", [tag, on]
            )


def folder_state(folder: Path) -> dict[Path, tuple[int, str]]:
    """Return modification time and SHA-256 of everything in ``folder``, and of the folder itself.

    A folder's modification time reveals even a file that existed only for a moment.
    """
    return {
        path: (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in (folder, *folder.rglob("*"))
    }


@contextmanager
def left_untouched(path: Path) -> Iterator[None]:
    """Fail if anything in the library's folder changes in this block."""
    before = folder_state(path.parent)
    yield
    assert folder_state(path.parent) == before


def error_of(path: Path) -> str:
    """Return the error message for a person who wants to read this library."""
    with pytest.raises(SourceError) as caught:
        BearLibrary(path).read()
    return str(caught.value)


def forbid(monkeypatch: pytest.MonkeyPatch, path: Path, number: int, call: str) -> None:
    """Simulate a system that refuses ``stat`` or ``open`` of this file, even for root."""
    module, allowed = (os, os.stat) if call == "stat" else (readonly, open)

    def refuse(file: object, *args: object, **kwargs: object) -> object:
        if str(file) == str(path):
            raise OSError(number, os.strerror(number), str(path))
        return allowed(file, *args, **kwargs)  # type: ignore[operator]

    monkeypatch.setattr(module, call, refuse, raising=False)


# Bear must run as another process: if this process held Bear's locks on a file, reading the file
# here, as folder_state does, would drop them.
_BEAR = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    db.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def running_bear(path: Path, *statements: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``statements`` on the library in another process, which keeps it open in this block."""
    with subprocess.Popen(
        [sys.executable, "-c", _BEAR, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bear:
        try:
            assert bear.stdout is not None
            assert bear.stdout.readline() == b"ready\n"
            yield bear
        finally:
            assert bear.stdin is not None
            bear.stdin.close()
            bear.wait()


def crash_bear(path: Path, *statements: str) -> None:
    """Run ``statements`` on the library in another process, and kill it with the library open."""
    with running_bear(path, *statements) as bear:
        bear.kill()


def bear_can_save(path: Path) -> bool:
    """Return whether Bear could save right now."""
    try:
        with running_bear(path, "pragma busy_timeout = 0", "begin exclusive", "commit"):
            return True
    except AssertionError:
        return False


# An unfinished save of more pages than fit into the cache, so that some are already in the file.
HALF_A_SAVE = (
    "pragma cache_size = 1",
    "begin",
    "update ZSFNOTE set ZTEXT = ZTEXT || hex(randomblob(200000))",
)


def _drop_columns(db: sqlite3.Connection, columns: dict[str, str]) -> None:
    for table, names in columns.items():
        for name in names.split():
            db.execute(f"drop index if exists {table}_{name}_INDEX")
            db.execute(f"alter table {table} drop column {name}")


def _renumber(db: sqlite3.Connection, note: int, tag: int) -> None:
    """Give new numbers to SFNote and SFNoteTag, and to the join tables named after them."""
    joins = db.execute("select name from sqlite_master where name glob 'Z_5*' and type = 'table'")
    for (join,) in joins.fetchall():
        columns = db.execute("select name from pragma_table_info(?)", [join]).fetchall()
        for old in [name for (name,) in columns]:
            new = old.replace("Z_5", f"Z_{note}").replace("Z_13", f"Z_{tag}")
            if new != old:
                db.execute(f"alter table {join} rename column {old} to {new}")
        if note != 5:
            db.execute(f"alter table {join} rename to {join.replace('Z_5', f'Z_{note}')}")
    # The other entities don't matter for reading notes.
    db.execute("delete from Z_PRIMARYKEY where Z_NAME not in ('SFNote', 'SFNoteTag')")
    for name, number in (("SFNoteTag", tag), ("SFNote", note)):
        db.execute("update Z_PRIMARYKEY set Z_ENT = ? where Z_NAME = ?", [number, name])
