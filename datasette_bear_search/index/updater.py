"""Keep an index file up to date in a separate process, so that searches stay fast.

In a thread of the server, indexing would delay each search: Python runs one thread at a time.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

from .. import processes
from ..embeddings import registry
from ..embeddings.base import Embedder
from ..notes import ForeseenError
from ..sqlite import sqlite3
from .watch import Activity, Task, Watcher

UPDATE_STOPPED = (
    "Updating has stopped unexpectedly, and the index stays as it is. Start the server again; if "
    "it happens again, run datasette bear-index, which says why."
)
# On Linux, models run in a thread of the lowest priority, which gets only idle time. The writing
# thread does not: searches wait for its lock, up to 1.6 s if two busy programs starve it.
HAS_IDLE_THREADS = hasattr(os, "SCHED_IDLE")
NICENESS = 5 if HAS_IDLE_THREADS else 19
# Even idle threads raised the p95 of a search by 55 %. So the texts for the model and the notes to
# write come in batches of .4 s of work. Before the next batch, nobody must have searched for REST
# seconds, but the wait is LONGEST_WAIT at most. While people search on and on, the model still gets
# the texts of .1 s each MODEL_WAIT seconds, so that vectors are made some day.
TEXTS_AT_ONCE, REST, LONGEST_WAIT = 16, 0.5, 10.0
TEXTS_WHILE_SEARCHING, MODEL_WAIT = 4, 1.0
GIVE_WAY = "give way"  # what the process is told when somebody searches


class Updater:
    """Update an index file on request, and whenever its sources change."""

    def __init__(
        self,
        path: Path,
        select: Callable[[Sequence[str], str | None], Task],
        on_vectors: Callable[[], None] = lambda: None,
    ) -> None:
        """
        :param select: locations to add, the model to change to (None: the present one) → what to
            index
        :param on_vectors: called when the first vectors have been made
        """
        self.activity = Activity()
        self._on_vectors = on_vectors
        self.has_notes = 0  # becomes 1 when the index is seen to have notes
        self._select = select
        # Neither a fork, because one of a process with threads can hang, nor multiprocessing, which
        # looks for modules in the current directory first.
        self._process = subprocess.Popen(
            processes.command(__name__, "keep_updated"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A terminal sends Ctrl-C to all processes of its group, but this one ends the other.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._requests: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._requests.put((path, NICENESS))
        for work in (self._send, self._listen):
            threading.Thread(target=work, daemon=True).start()

    def update(self, locations: Sequence[str] = (), model: str | None = None) -> None:
        """Bring the index up to date with its sources and those at ``locations``.

        :param model: one that the person chose, to change to
        """
        try:
            task = self._select(locations, model)
        except (ForeseenError, sqlite3.Error) as error:
            self.activity = replace(self.activity, problems={"": str(error)})
            return
        if task.configs:
            self.activity = replace(self.activity, doing="Reading the notes")
            self._requests.put(task)

    def give_way(self) -> None:
        """Make the process wait, because somebody is searching."""
        self._requests.put(GIVE_WAY)

    def stop(self) -> None:
        """End the process. The next run repeats what it hasn't committed."""
        self._requests.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        self._process.kill()

    def _send(self) -> None:
        """Send what is requested, in a thread, because the process may be stopped (Ctrl-Z)."""
        assert self._process.stdin
        while True:
            _write(self._process.stdin, self._requests.get())

    def _listen(self) -> None:
        assert self._process.stdout
        while activity := _read(self._process.stdout):
            if activity.embeds and not self.activity.embeds:
                self._on_vectors()
            self.activity = activity
        self.activity = Activity(problems={"": UPDATE_STOPPED})


def _write(stream: IO[bytes], message: object) -> None:
    """Send a message, which nobody reads if the other process has ended."""
    with suppress(OSError):
        pickle.dump(message, stream)
        stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Return the next message; None if the other process has ended."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        return pickle.load(stream)
    return None


# --- in the process


def keep_updated() -> None:
    """Do one task after the other. A new task stops the current one."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # where libraries may print
    if not (settings := _read(requests)):
        return  # the server ended first
    path, niceness = settings
    if hasattr(os, "nice"):
        os.nice(niceness)
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    working: list[Watcher] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # rolls back what isn't committed
    last_search = SimpleNamespace(value=0.0)  # by time.monotonic()

    def receive() -> None:
        while True:
            request = _read(requests)
            if request == GIVE_WAY:
                last_search.value = time.monotonic()
                continue
            tasks.put(request)
            for worker in working:
                worker.stop()
            if request is None:
                os.kill(os.getpid(), signal.SIGTERM)  # interrupts the current task
                return

    threading.Thread(target=receive, daemon=True).start()
    while task := tasks.get():
        get_model = cast("Callable[[str], Embedder]", partial(_IdleModel, last_search))
        on_commit = partial(_await_quiet, last_search)
        worker = Watcher(path, task, partial(_write, answers), get_model, on_commit)
        working[:] = [worker]
        if tasks.empty():
            worker.run()


def _await_quiet(last_search: Any, longest: float = LONGEST_WAIT) -> bool:
    """Wait until nobody searches, at most so many seconds; return whether that is so."""
    end = time.monotonic() + longest
    while time.monotonic() < min(end, last_search.value + REST):
        time.sleep(0.05)
    return time.monotonic() >= last_search.value + REST


class _IdleModel:
    """An embedder that pauses while people search and uses only idle processor time."""

    def __init__(self, last_search: Any, name: str) -> None:
        self._embedder = registry.get_embedder(name)
        self._embedder.may_download = True
        self._last_search = last_search
        self._pool = ThreadPoolExecutor(1, initializer=self._be_idle)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._embedder, name)
        if not callable(value):
            return value
        return lambda *args, **options: self._pool.submit(value, *args, **options).result()

    def embed_documents(self, texts: Sequence[str]) -> list[bytes | None]:
        made: list[bytes | None] = []
        while len(made) < len(texts):
            is_quiet = _await_quiet(self._last_search, MODEL_WAIT)
            count = TEXTS_AT_ONCE if is_quiet else TEXTS_WHILE_SEARCHING
            some = texts[len(made) : len(made) + count]
            made += self._pool.submit(self._embedder.embed_documents, some).result()
        return made

    @staticmethod
    def _be_idle() -> None:
        if HAS_IDLE_THREADS:
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
