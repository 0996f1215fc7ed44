"""Templates: lines that many notes share."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable

from ...sqlite import sqlite3
from .rows import insert_rows
from .schema import LINES, SHARED_LINES

# A line or heading that at least this many notes have is part of a template: it isn't embedded, and
# is hardly ever the sentence that answers a query.
SHARED_BY = 5
# First passages of a note whose lines are counted.
MAX_TEMPLATE = 200


def shared_lines(connection: sqlite3.Connection) -> dict[int, int]:
    """Return how many notes share a line that many do, by its hash."""
    return dict(connection.execute(f"select hash, notes from {SHARED_LINES}").fetchall())


def most_shared(connection: sqlite3.Connection, note_id: int) -> int:
    """Return how many notes have the line of this note that most of them share; 0 if none is."""
    shared = shared_lines(connection)
    found = connection.execute(f"{LINES_SQL} and note_id = ?", [note_id]).fetchall()
    return max((shared.get(it, 0) for _, hashes in found for it in array("q", hashes)), default=0)


def write_lines(
    connection: sqlite3.Connection, lines: Iterable[tuple[int, Collection[int]]]
) -> None:
    rows = [(note_id, array("q", hashes).tobytes()) for note_id, hashes in lines]
    insert_rows(connection, LINES, ("note_id", "hashes"), rows)


# The cast and the condition matter only in a damaged file.
_BLOB = "cast(hashes as blob)"
LINES_SQL = f"select note_id, {_BLOB} from {LINES} where length({_BLOB}) % 8 = 0"
