"""The lock of an index file, which the only run that writes it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...notes import ForeseenError
from ..file import database

# Seconds to wait for other runs: bear-serve writes for about a second at each change.
RUN_SECONDS = 10.0


class IndexBusy(ForeseenError):
    """Another run is writing this index file."""


def is_busy(path: Path) -> bool:
    """Return whether a run is writing the index file at ``path``."""
    if not Path(f"{path}.lock").exists():
        return False
    try:
        with only_run(path):
            return False
    except (IndexBusy, database.SidecarError) as error:
        return isinstance(error, IndexBusy)  # without permission to write, assume it isn't


@contextmanager
def only_run(path: Path, wait: float = 0.0) -> Iterator[None]:
    # Importing it takes 40 ms, and only runs that write need it.
    import filelock

    try:
        database.make_private_folder(path.parent)
        lock = filelock.FileLock(f"{path}.lock", mode=0o600).acquire(timeout=wait)
    except filelock.Timeout:
        raise IndexBusy(
            f"Another datasette bear-index is already writing {path}. Wait until it has finished; "
            "searching works meanwhile."
        ) from None
    except OSError as error:
        raise database.not_writable(path, error) from None
    with lock:
        yield
