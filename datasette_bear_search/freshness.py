"""How many notes changed since they were indexed."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from . import indexer, sidecar
from .sources import Source, SourceError

# A person who writes in Bear while searching changes the library all the time: it isn't read more often than this.
SECONDS_BETWEEN_READS = 30.0


@dataclass(frozen=True)
class _Count:
    indexed_state: str
    state: str
    changes: int
    at: float


_lock = threading.Lock()
_counts: dict[str, _Count] = {}  # by location


def changes_since_indexing(path: str | Path) -> int:
    """Notes that were added, changed or removed since the sidecar at ``path`` was written.

    A source is read only if its state is another than when it was indexed, and not again and again. One that can't
    be read counts as unchanged: searching must not depend on it.
    """
    total = 0
    with closing(sidecar.connect(Path(path))) as connection:
        indexed_states = dict(connection.execute("select name, state from sources").fetchall())
        for source in indexer.stored_sources(connection):
            try:
                total += _changes(connection, source, indexed_states[source.name])
            except SourceError:
                continue
    return total


def _changes(connection: sidecar.sqlite3.Connection, source: Source, indexed_state: str) -> int:
    state = source.state()
    if state == indexed_state:
        return 0
    with _lock:
        known = _counts.get(source.location)
        recent = known and (
            known.state == state or time.monotonic() - known.at < SECONDS_BETWEEN_READS
        )
        if recent and known.indexed_state == indexed_state:
            return known.changes
        changes = indexer.count_changes(connection, source)
        _counts[source.location] = _Count(indexed_state, state, changes, time.monotonic())
        return changes
