"""What was found out about a database, kept in memory for as long as its file stays as it is."""

from __future__ import annotations

import os
import threading
import time
from typing import Generic, TypeVar

from .schema import sqlite3
from .sidecar import file_of

K = TypeVar("K")
V = TypeVar("V")

State = tuple[int, int, int]

# Some file systems' clocks tick every few milliseconds: what was written in this tick may be written again in it.
TICK_NS = 20_000_000


def state_of(file: str | os.PathLike[str]) -> State | None:
    """What is another when a database's file is written to; None if it was just now, and if there is no file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    if abs(time.time_ns() - found.st_mtime_ns) < TICK_NS:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class WhileUnchanged(Generic[K, V]):
    """Answers by database and question. What was found out before the file was written to is forgotten."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[State, dict[K, V]]] = {}
        self._lock = threading.Lock()

    def of(self, connection: sqlite3.Connection) -> dict[K, V]:
        """What is known of a connection's database, to look things up in and to add to."""
        file = file_of(connection)
        state = state_of(file)
        if state is None:
            return {}
        with self._lock:
            if self._kept.get(file, (None, {}))[0] != state:
                self._kept[file] = state, {}
            return self._kept[file][1]
