"""A made-up Bear library, for trying the search without notes of your own.

Its notes were written for this project about an invented person. The database has the same tables
as that of the current Bear 2, but Bear never opened it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from ..sqlite import sqlite3

# By the library's own id, files that may be replaced are recognized.
LIBRARY_ID = "8F5D3C0E-6A44-4D0B-9A54-3C1F7C0B7A11"
# Made from the notes in tests/demo/notes by tests/support/bear_writer.py.
SCRIPT = Path(__file__).with_name("library.sql")


def write_demo_library(path: Path) -> int:
    """Write the demo library as a Bear database; return how many notes it holds.

    :raises FileExistsError: if there is another file, which might be somebody's notes
    """
    replace_library(path, lambda db: db.executescript(SCRIPT.read_text(encoding="utf-8")))
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("select count(*) from ZSFNOTE").fetchone()[0])


def replace_library(path: Path, write: Callable[[sqlite3.Connection], object]) -> None:
    """Write a library into a new database; replace one with the same id, or raise FileExistsError.

    :param write: fills the empty database
    """
    if path.exists() and LIBRARY_ID.encode() not in path.read_bytes():
        raise FileExistsError(
            f"{path} is already there, and is no demo library. Choose another folder, or move it."
        )
    with TemporaryDirectory(dir=path.parent) as folder:
        finished = Path(folder) / path.name
        with closing(sqlite3.connect(finished, isolation_level=None)) as db:
            write(db)
        for suffix in ("-journal", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        finished.replace(path)
