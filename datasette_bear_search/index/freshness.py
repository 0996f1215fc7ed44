"""How far the index is behind its sources."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from ..sources.base import SourceError
from ..sources.formats.text import timestamp_from_seconds
from ..sources.registry import open_source
from ..sqlite import sqlite3
from .file import database
from .file import sources as stored_sources
from .file.database import SidecarError
from .file.sources import StoredSource
from .run import changes

# Seconds between two counts of a source's changes, since a person may write while searching. The
# second applies to sources that have to be read in full to detect a change.
SECONDS_BETWEEN_COUNTS = 30.0
SECONDS_BETWEEN_BLIND_READS = 300.0
# Maximum seconds that a page waits for a count. Checking whether a database changed takes .2 ms.
SECONDS_TO_WAIT = 0.2
# The share of processor time that counting may take: to list 40,000 files takes half a second.
SHARE_OF_TIME = 0.05


def changes_since_indexing(path: str | Path) -> int:
    """Return how many notes have changed since they were indexed, as far as is known.

    The count runs in the background; if it takes longer than SECONDS_TO_WAIT, return the last one.
    A source is read only if its state changed. If it can't be read, it counts as unchanged.
    """
    path = Path(path)
    with _counters_lock:
        counter = _counters.setdefault(path, _ChangeCounter(path))
    return counter.total()


class _ChangeCounter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._next_check = 0.0
        self._total = 0
        # The source, its state, how many notes had changed, and when that was counted.
        self._counts: dict[str, tuple[StoredSource, str, int, float]] = {}

    def total(self) -> int:
        with self._lock:
            is_counting = self._thread is not None and self._thread.is_alive()
            if not is_counting and time.monotonic() >= self._next_check:
                # A daemon, so that a stopping server doesn't wait for a folder on a slow drive.
                self._thread = threading.Thread(target=self._check, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None:
            thread.join(SECONDS_TO_WAIT)
        return self._total

    def _check(self) -> None:
        started = time.monotonic()
        total = 0
        with suppress(SidecarError, sqlite3.Error):  # the search itself will report the error
            with closing(database.connect(self._path)) as connection:
                sources = stored_sources.read_sources(connection).values()
            for stored in sources:
                with suppress(SourceError):  # a broken source mustn't prevent searching
                    total += self._changes(stored)
            self._total = total
        now = time.monotonic()
        self._next_check = now + min((now - started) / SHARE_OF_TIME, SECONDS_BETWEEN_COUNTS)

    def _changes(self, stored: StoredSource) -> int:
        if stored.next_try and stored.next_try > (timestamp_from_seconds(time.time()) or ""):
            return 0
        source = open_source(stored.config)
        state = changes.current_state(source) or ""
        if state and state == stored.state:
            return 0
        if known := self._counts.get(stored.config.name):
            source_then, state_then, count, then = known
            pause = SECONDS_BETWEEN_COUNTS if state else SECONDS_BETWEEN_BLIND_READS
            is_fresh = (state and state == state_then) or time.monotonic() - then < pause
            if is_fresh and source_then == stored:
                return count
        with closing(database.connect(self._path)) as connection:
            count = changes.count_changes(connection, stored)
        self._counts[stored.config.name] = stored, state, count, time.monotonic()
        return count


_counters_lock = threading.Lock()
_counters: dict[Path, _ChangeCounter] = {}
