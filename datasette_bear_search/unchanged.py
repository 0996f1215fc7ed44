"""What was found out about a database, kept in memory for as long as its file stays as it is."""

from __future__ import annotations

import os
import threading
from typing import Generic, TypeVar

from .schema import sqlite3
from .sidecar import file_of

K = TypeVar("K")
V = TypeVar("V")


class WhileUnchanged(Generic[K, V]):
    """Answers by database and question. What was found out before the file was written to is forgotten."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, int, int], dict[K, V]]] = {}
        self._lock = threading.Lock()

    def of(self, connection: sqlite3.Connection) -> dict[K, V]:
        """What is known of a connection's database, to look things up in and to add to."""
        file = file_of(connection)
        try:
            found = os.stat(file)
        except OSError:  # it is in memory, or there is no file any longer
            return {}
        state = found.st_ino, found.st_mtime_ns, found.st_size
        with self._lock:
            if self._kept.get(file, (None, {}))[0] != state:
                self._kept[file] = state, {}
            return self._kept[file][1]
