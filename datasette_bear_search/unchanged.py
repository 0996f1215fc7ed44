"""What was found out about a file, kept in memory for as long as the file stays as it is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Some file systems' clocks tick every few milliseconds: what was written in this tick may be written again in it.
TICK_NS = 20_000_000


class WhileUnchanged(Generic[K, V]):
    """Answers by file and question. What was found out before the file was written to is forgotten."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, int, int], dict[K, V]]] = {}
        self._lock = threading.Lock()

    def of(self, file: str | os.PathLike[str]) -> dict[K, V]:
        """What is known of a file, to look things up in and to add to; nothing is kept of a database in memory."""
        path = os.fspath(file)
        state = _state_of(path)
        if state is None:
            return {}
        with self._lock:
            if self._kept.get(path, (None, {}))[0] != state:
                self._kept[path] = state, {}
            return self._kept[path][1]

    def get(self, file: str | os.PathLike[str], question: K, find: Callable[[], V]) -> V:
        """The answer to a question, which is found only if it isn't known."""
        known = self.of(file)
        if question not in known:
            known[question] = find()
        return known[question]


def _state_of(file: str) -> tuple[int, int, int] | None:
    """What is another when a file is written to; None if it was just now, and if there is no file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    if abs(time.time_ns() - found.st_mtime_ns) < TICK_NS:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
