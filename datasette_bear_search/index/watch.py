"""Sources that change → an index that is brought up to date whenever they do."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..embeddings.base import Embedder
from ..notes import ForeseenError
from ..sources.base import SourceConfig
from ..sqlite import sqlite3
from .file import database, sources
from .file.database import explained
from .run import indexer
from .run.changes import Snapshot
from .run.report import SILENT, Hooks

# Milliseconds within which file changes count as one, because saving often takes several steps.
DEBOUNCE = 400
# Seconds between two reads of a watched file, such as Bear's, and of a watched folder. Reading must
# not get in the way of a person who is writing.
SECONDS_BETWEEN_READS = 10.0
SECONDS_BETWEEN_FOLDER_READS = 2.0
# Seconds between two checks of every watched source, in case the system missed a change. Words of
# deleted text are then removed from the word index, too, which takes longest.
SECONDS_BETWEEN_CHECKS = 300.0
# Seconds before a source that couldn't be watched or read is tried again.
SECONDS_BETWEEN_TRIES = 30.0
# A database's journals are files beside it, and a change of one is a change of the database.
_JOURNALS = ("-wal", "-journal", "-shm")


@dataclass(frozen=True)
class Place:
    """Where to watch for changes of a source: a folder, or one file in it."""

    source: str
    folder: str
    file: str | None  # None: anything in the folder counts

    def concerns(self, path: str) -> bool:
        """Return whether a change of the file at ``path`` may change the source."""
        if self.file is not None:
            return path in [self.file + suffix for suffix in ("", *_JOURNALS)]
        if not f"{path}{os.sep}".startswith(self.folder + os.sep):
            return False
        # Apps keep their state in hidden folders and write to them all the time.
        return f"{os.sep}." not in path[len(self.folder) :]


def place(config: SourceConfig) -> Place | None:
    """Return where to watch a source; None if it is a URL or is read at intervals."""
    if "://" in config.location or config.every:
        return None
    location = os.path.realpath(config.location)
    if os.path.isdir(location):
        return Place(config.name, location, None)
    return Place(config.name, os.path.dirname(location), location)


class Watcher:
    """Keep an index file up to date with its sources until stopped."""

    def __init__(
        self,
        path: Path,
        configs: Sequence[SourceConfig],
        embedder: Embedder | None,
        hooks: Hooks = SILENT,
    ) -> None:
        self._path = path
        self._configs = {config.name: config for config in configs}
        self._embedder = embedder
        self._hooks = hooks
        self._stop = threading.Event()
        self._changed: queue.SimpleQueue[str] = queue.SimpleQueue()  # names of sources
        self._due: dict[str, float] = {}  # name → when to read it
        self._last_read: dict[str, float] = {}
        self._tidied = time.monotonic()
        self.trouble: dict[str, str] = {}  # source ("": the index) → what is wrong, "" if nothing
        self._indexed: set[str] = set()  # sources that were in the index after the last update

    def run(self) -> None:
        """Read all sources; then watch them until :meth:`stop`."""
        threads = [
            threading.Thread(target=self._watch_place, args=[where], daemon=True)
            for where in filter(None, map(place, self._configs.values()))
        ]
        try:
            for thread in threads:
                thread.start()
            self._plan(self._configs, 0)
            self._update_due()
            while not self._stop.is_set():
                self._wait()
                self._update_due()
        finally:
            self.stop()
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join(timeout=2)

    def stop(self) -> None:
        """End :meth:`run` after its current step. Any thread may call this."""
        self._stop.set()
        self._changed.put("")

    def _wait(self) -> None:
        now = time.monotonic()
        for name, config in self._configs.items():
            self._plan([name], now + (config.every or SECONDS_BETWEEN_CHECKS))
        with suppress(queue.Empty):
            due = min(self._due.values(), default=now + SECONDS_BETWEEN_CHECKS)
            name = self._changed.get(timeout=max(0.0, due - now))
            if found := self._configs.get(name):
                is_folder = os.path.isdir(found.location)
                pause = SECONDS_BETWEEN_FOLDER_READS if is_folder else SECONDS_BETWEEN_READS
                self._plan([name], self._last_read.get(name, -pause) + pause)

    def _plan(self, names: Iterable[str], when: float) -> None:
        for name in names:
            self._due[name] = min(when, self._due.get(name, when))

    def _update_due(self) -> None:
        now = time.monotonic()
        due = [name for name, when in self._due.items() if when <= now]
        if not due or self._stop.is_set():
            return
        for name in due:
            del self._due[name]
        try:
            failed = self._update(due)
        except (ForeseenError, OSError, sqlite3.Error) as error:
            self.trouble[""] = explained(error)
            failed = due
        for name in failed:
            config = self._configs.get(name)
            pause = (config and config.pause(has_failed=True)) or SECONDS_BETWEEN_TRIES
            self._plan([name], time.monotonic() + pause)

    def _update(self, names: Sequence[str]) -> list[str]:
        """Update the index from these sources; return the names of those that couldn't be read."""
        # A source that was removed from the index in the meantime stays removed.
        for name in self._indexed - self._sources_in_index():
            self._configs.pop(name, None)
        names = [name for name in names if name in self._configs]

        def on_read(config: SourceConfig, snapshot: Snapshot | None) -> None:
            self._hooks.on_read(config, snapshot)
            if snapshot is not None:
                self._last_read[config.name] = time.monotonic()

        tidy = time.monotonic() - self._tidied > SECONDS_BETWEEN_CHECKS
        report = indexer.update(
            self._path,
            [self._configs[name] for name in names],
            self._embedder,
            tidy=tidy,
            hooks=replace(self._hooks, on_read=on_read),
        )
        self._indexed = self._sources_in_index() & self._configs.keys()
        if tidy:
            self._tidied = time.monotonic()
        failures = {each.source: each.message for each in [*report.failures, *report.kept]}
        self.trouble |= {name: failures.get(name, "") for name in names}
        self.trouble[""] = " ".join(report.notices)
        return [*failures]

    def _sources_in_index(self) -> set[str]:
        if not database.is_made(self._path):
            return set()
        with closing(database.connect(self._path)) as connection:
            return set(sources.read_sources(connection))

    def _watch_place(self, where: Place) -> None:
        """Queue changes of one source until stopped, whatever happens to its folder."""
        subject = f"{where.source}, watching"
        while not self._stop.is_set():
            try:
                folder = os.stat(where.folder)
                for number, changed in enumerate(self._file_changes(where)):
                    if number == 0:
                        self.trouble.pop(subject, None)
                    # A first check finds what changed before the system was listening.
                    if changed or number == 0:
                        self._changed.put(where.source)
                    if not os.path.samestat(folder, os.stat(where.folder)):
                        break  # another drive was mounted here, but the system watches the old one
            # For example, the folder vanished or has more files than the system can watch.
            except Exception as error:
                self.trouble[subject] = f"{where.folder} can't be watched now ({error})."
                self._stop.wait(SECONDS_BETWEEN_TRIES)

    def _file_changes(self, where: Place) -> Iterable[Collection[object]]:
        """Yield the changes in a place, and an empty set after each second without changes."""
        import watchfiles

        return watchfiles.watch(
            where.folder,
            watch_filter=lambda change, path: where.concerns(path),
            debounce=DEBOUNCE * 4,
            step=DEBOUNCE,
            stop_event=self._stop,
            rust_timeout=1000,
            yield_on_timeout=True,
            recursive=where.file is None,
            ignore_permission_denied=True,
            raise_interrupt=False,
        )
