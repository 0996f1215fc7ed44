"""How far the index is behind its sources, and which of them can't be checked from here."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..notes import counted, local_minute, time_left
from ..sources.base import SourceError
from ..sources.checks import current_state
from ..sources.files.states import file_state
from ..sources.formats.dates import timestamp_from_seconds
from ..sources.registry import open_source
from ..sqlite import sqlite3
from .file import database
from .file.database import SidecarError, State
from .file.sources import StoredSource, sources_at
from .run import lock

# Maximum seconds that a page waits for a count. Checking whether a database changed takes .2 ms.
SECONDS_TO_WAIT = 0.2
# The share of processor time that counting may take: to list 40,000 files takes half a second. But
# there are never more seconds between two counts.
SHARE_OF_TIME, MAX_PAUSE = 0.05, 30.0


@dataclass(frozen=True)
class UnreadableSource:
    """A source that can't be read, so that nobody knows whether its notes changed."""

    source: str
    read: str | None  # when it last could be, ISO 8601 UTC
    error: str  # why it can't be read, for people
    app: str = ""

    @property
    def notice(self) -> str:
        """What everybody who searches is told, whatever interface they use."""
        as_of = local_minute(self.read)
        found = f"its notes are as of {as_of}" if as_of else "its notes may be old"
        return f"{self.app or self.source} can't be checked from here; {found}."


@dataclass(frozen=True)
class SourceChanges:
    """What is known about the sources of an index since they were indexed."""

    changed: int = 0  # notes
    unreadable: tuple[UnreadableSource, ...] = ()


def vectors_under_way(state: State) -> str:
    """Return for people how far the run is that is making vectors; "" if none is."""
    if not state.pending or state.skips_vectors or not state.path or not lock.is_busy(state.path):
        return ""
    left = time_left(state.pending, state.passages_per_second)
    left = f", which takes {left}" if left else ""
    return f"Vectors are being made: {counted(state.pending, 'passage')} to go{left}."


def vectors_obstacle(state: State, has_extension: bool) -> str:
    """Return for people why vectors can't be used; "" if they can."""
    if not state.has_vectors and state.refused and not state.pending:
        return f"The model {state.model} doesn't know the script of these notes."
    if not state.has_vectors:
        option = " --semantic" if state.skips_vectors else ""
        command = f"To search by meaning, too, run: {state.command}{option}"
        return vectors_under_way(state) or command
    advice = "pip install pysqlite3 fixes that on most machines."
    return "" if has_extension else f"This Python can't load sqlite-vec; {advice}"


def changes_since_indexing(path: str | Path, *, is_watched: bool = False) -> SourceChanges:
    """Return how many notes have changed since they were indexed, as far as is known.

    The count runs in the background; if it takes longer than SECONDS_TO_WAIT, return the last one.
    A source is read only if its state changed; one that can't say is read by runs alone. If it
    can't be read, the result says so.

    :param is_watched: this process keeps the index up to date, so what it last noted is enough
    """
    path = Path(path)
    if is_watched:
        with suppress(SidecarError, sqlite3.Error):
            known = sources_at(path).values()
            return SourceChanges(0, tuple(_unreadable(each) for each in known if each.error))
        return SourceChanges()
    return _counter(path).changes()


def _unreadable(stored: StoredSource, error: str = "") -> UnreadableSource:
    config, app = stored.config, ""
    with suppress(SourceError):  # its kind is a plugin's that is gone
        if config.name == config.kind:  # a name that nobody chose
            app = open_source(config).app
    return UnreadableSource(config.name, stored.read, error or stored.error, app)


class _ChangeCounter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._next_check = 0.0
        self._found = SourceChanges()
        self._state = ""  # of the index when its sources were read
        self._sources: dict[str, StoredSource] = {}
        # By name: the source, its state, and how many notes had changed.
        self._counts: dict[str, tuple[StoredSource, str, int]] = {}

    def changes(self) -> SourceChanges:
        with self._lock:
            is_counting = self._thread is not None and self._thread.is_alive()
            if is_outdated := self._is_outdated():
                self._found = replace(self._found, changed=0)  # the run has indexed them
            if not is_counting and (time.monotonic() >= self._next_check or is_outdated):
                # A daemon, so that a stopping server doesn't wait for a folder on a slow drive.
                self._thread = threading.Thread(target=self._check, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None:
            thread.join(SECONDS_TO_WAIT)
        return self._found

    def _is_outdated(self) -> bool:
        """Return whether a run has ended since; one at work changes the file again and again."""
        return file_state(self._path) != self._state and not lock.is_busy(self._path)

    def _check(self) -> None:
        started = time.monotonic()
        total, unreadable = 0, []
        with suppress(SidecarError, sqlite3.Error):  # the search itself will report the error
            # Opening an index takes as long as a search in a small one.
            if (state := file_state(self._path)) != self._state:
                self._sources, self._state = sources_at(self._path), state
            for stored in self._sources.values():
                try:
                    total += self._changes(stored)
                except SourceError as error:  # mustn't prevent searching
                    unreadable.append(_unreadable(stored, str(error)))
            self._found = SourceChanges(total, tuple(unreadable))
        now = time.monotonic()
        self._next_check = now + min((now - started) / SHARE_OF_TIME, MAX_PAUSE)

    def _changes(self, stored: StoredSource) -> int:
        if stored.next_try and stored.next_try > (timestamp_from_seconds(time.time()) or ""):
            if stored.error:
                raise SourceError(stored.error)
            return 0
        state = current_state(open_source(stored.config))
        if not state or state == stored.state:
            return 0
        *known, count = self._counts.get(stored.config.name, (None, None, 0))
        if known == [stored, state]:
            return count
        # Most searches need nothing of what reading notes needs.
        from .run import changes

        with closing(database.connect(self._path)) as connection:
            count = changes.count_changes(connection, stored)
        self._counts[stored.config.name] = stored, state, count
        return count


_counter = cache(_ChangeCounter)  # one for each file
