"""How many notes changed since they were indexed: what a page can say without making anybody wait.

The sources are asked in the background. A page waits a moment for the answer, and otherwise shows the one before.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from . import changes, sidecar, stored_sources
from .sources import SourceError
from .stored_sources import StoredSource
from .unchanged import WhileUnchanged

# A person who writes in Bear while searching changes the library all the time: it isn't read more often than this.
SECONDS_BETWEEN_READS = 30.0

# A source of which only reading tells whether it changed.
SECONDS_BETWEEN_BLIND_READS = 300.0

# What a page waits at most. Asking a database whether it changed takes a thousandth of that.
SECONDS_TO_WAIT = 0.2

# Walking a folder of 40,000 files takes half a second: a check may take so much of a processor's time, not more.
SHARE_OF_TIME = 0.05


@dataclass(frozen=True)
class _Count:
    indexed_state: str
    state: str
    changes: int
    at: float


class _Checker:
    """Counts the changes of one sidecar's sources, one count at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._next_check = 0.0
        self._total = 0
        self._counts: dict[str, _Count] = {}
        self._sources: WhileUnchanged[str, list[StoredSource]] = WhileUnchanged()

    def total(self) -> int:
        with self._lock:
            if self._thread is None and time.monotonic() >= self._next_check:
                # A daemon: a server that is stopped must not wait for a folder on a slow drive.
                self._thread = threading.Thread(target=self._check, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None:
            thread.join(SECONDS_TO_WAIT)
        return self._total

    def _check(self) -> None:
        started = time.monotonic()
        try:
            self._total = self._count()
        except (sidecar.SidecarError, sidecar.sqlite3.Error):
            pass  # whoever searches in it finds out
        finally:
            took = time.monotonic() - started
            with self._lock:
                pause = min(took / SHARE_OF_TIME, SECONDS_BETWEEN_READS)
                self._next_check = time.monotonic() + pause
                self._thread = None

    def _count(self) -> int:
        total = 0
        for stored in self._sources.get(self._path, "all", self._read_sources):
            try:
                total += self._changes(stored)
            except SourceError:
                continue  # searching must not depend on it
        return total

    def _read_sources(self) -> list[StoredSource]:
        with closing(sidecar.connect(self._path)) as connection:
            return stored_sources.all_sources(connection)

    def _changes(self, stored: StoredSource) -> int:
        source = changes.open_source(stored.config)
        state = changes.current_state(source) or ""
        if state and state == stored.state:
            return 0
        known = self._counts.get(stored.config.name)
        if known and known.indexed_state == f"{stored.state}/{stored.read}":
            age = time.monotonic() - known.at
            pause = SECONDS_BETWEEN_READS if state else SECONDS_BETWEEN_BLIND_READS
            if (state and known.state == state) or age < pause:
                return known.changes
        with closing(sidecar.connect(self._path)) as connection:
            count = changes.count_changes(connection, stored)
        self._counts[stored.config.name] = _Count(
            f"{stored.state}/{stored.read}", state, count, time.monotonic()
        )
        return count


_lock = threading.Lock()
_checkers: dict[Path, _Checker] = {}


def changes_since_indexing(path: str | Path) -> int:
    """Notes that were added, changed or removed since the sidecar at ``path`` was written, as far as is known by now.

    A source is read only if its state is another than when it was indexed, and not again and again. One that can't
    be read counts as unchanged: searching must not depend on it.
    """
    path = Path(path)
    with _lock:
        checker = _checkers.setdefault(path, _Checker(path))
    return checker.total()
