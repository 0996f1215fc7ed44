"""Sources that change → an index that is brought up to date whenever they do."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..embeddings import registry
from ..embeddings.base import Embedder, ModelUnavailable
from ..notes import ForeseenError, counted
from ..sources.base import SourceConfig
from ..sqlite import sqlite3
from .file.database import explained
from .file.sources import sources_at
from .run import indexer
from .run.changes import Snapshot
from .run.report import Hooks, Report

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
# Notes in a transaction: .4 s of work.
NOTES_AT_ONCE = 250
# At the end of the line that tells people about progress, a share.
LEARNING = "Learning meanings… {:.0%} (words are searchable already)"
DOWNLOADING = "Downloading the model {}… (words are searchable already)"
# A database's journals are files beside it, and a change of one is a change of the database.
_JOURNALS = ("-wal", "-journal", "-shm")


@dataclass(frozen=True)
class Task:
    """What to index: sources, and the model that makes the vectors (None: no vectors)."""

    configs: Sequence[SourceConfig]
    model: str | None
    fallback: str | None = None  # the model to use if that one can't be had


@dataclass(frozen=True)
class Activity:
    """What is done, and what went wrong, for people."""

    doing: str = ""  # "" while waiting for changes
    problems: Mapping[str, str] = field(default_factory=dict)  # by source, "" for the index
    embeds: bool = False  # whether vectors are made


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
    """Do a task, and repeat it whenever its sources change, until stopped."""

    def __init__(
        self,
        path: Path,
        task: Task,
        tell: Callable[[Activity], None] = lambda activity: None,
        get_model: Callable[[str], Embedder] = registry.get_embedder,
        on_commit: Callable[[], object] = lambda: None,  # after each that writes notes
    ) -> None:
        self._path = path
        self._configs = {config.name: config for config in task.configs}
        self._get_model, self._fallback = get_model, task.fallback
        self._embedder = get_model(task.model) if task.model else None
        self._model_failure = ""
        self._hooks = Hooks(
            on_read=self._on_read,
            notes_per_commit=NOTES_AT_ONCE,
            on_commit=self._on_commit,
            on_text=self._on_text,
            on_embedded=self._on_embedded,
        )
        self._after_commit, self._tell_people = on_commit, tell
        self._told: Activity | None = None
        self._found: dict[str, int] = {}  # notes to index, by source
        self._commits = 0
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
            self._work()
            while not self._stop.is_set():
                self._wait()
                self._work()
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

    def _work(self) -> None:
        self._found, self._commits = {}, 0
        self._update_due()
        if self._fallback and self._embedder is not None and self._embedder.failure:
            said = f"{self._embedder.failure} Until then, {self._fallback} is used."
            self._embedder, self._fallback = self._get_model(self._fallback), None
            self._model_failure, self.trouble[""] = said, ""
            self._plan(self._configs, 0)
            self._update_due()
        # From now on, a model that is loaded starts within a second.
        if self._embedder is not None and self._embedder.ready and not self._stop.is_set():
            with suppress(ModelUnavailable):
                if self._embedder.needs_onnx_export():
                    self._tell("Preparing the model to start faster")
                    self._embedder.export_onnx()
        self._tell("")

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
        for name in self._indexed - sources_at(self._path).keys():
            self._configs.pop(name, None)
        names = [name for name in names if name in self._configs]
        tidy = time.monotonic() - self._tidied > SECONDS_BETWEEN_CHECKS
        report = indexer.update(
            self._path,
            [self._configs[name] for name in names],
            self._embedder,
            tidy=tidy,
            hooks=self._hooks,
        )
        self._indexed = sources_at(self._path).keys() & self._configs.keys()
        if tidy:
            self._tidied = time.monotonic()
        failures = {each.source: each.message for each in [*report.failures, *report.kept]}
        self.trouble |= {name: failures.get(name, "") for name in names}
        self.trouble[""] = " ".join(report.notices)
        return [*failures]

    def _on_read(self, config: SourceConfig, snapshot: Snapshot | None) -> None:
        if snapshot is None:
            return
        self._last_read[config.name] = time.monotonic()
        if snapshot.notes:
            self._found[config.name] = len(snapshot.notes)
            self._tell(progress(self._found, 0))

    def _on_commit(self) -> None:
        self._commits += 1
        if self._found:
            self._tell(progress(self._found, self._commits * NOTES_AT_ONCE))
        self._after_commit()

    def _on_text(self, report: Report) -> None:
        if self._embedder is None:
            return
        with suppress(ModelUnavailable):  # the run says why
            if not registry.is_here(self._embedder.name):
                self._tell(DOWNLOADING.format(self._embedder.name))
            elif report.pending:
                self._tell(LEARNING.format(0))

    def _on_embedded(self, done: int, total: int) -> None:
        self._tell(LEARNING.format(done / max(total, 1)), embeds=True)

    def _tell(self, doing: str, *, embeds: bool = False) -> None:
        # A copy, because threads that watch add to it meanwhile.
        problems = {source: said for source, said in self.trouble.copy().items() if said}
        if self._model_failure:
            problems[""] = " ".join(filter(None, (self._model_failure, problems.get(""))))
        activity = Activity(doing, problems, embeds)
        if activity != self._told:
            self._told = activity
            self._tell_people(activity)

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


def progress(found: Mapping[str, int], done: int) -> str:
    """Return which notes are being indexed, and the share of them that is done, for people."""
    *others, last = found
    names = f"{', '.join(others)} and {last}" if others else last
    notes = sum(found.values())
    share = f" {min(done / notes, 0.99):.0%}" if done and notes > NOTES_AT_ONCE else ""
    return f"Indexing {counted(notes, 'note')} from {names}…{share}"
