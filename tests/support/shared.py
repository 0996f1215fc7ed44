"""What one worker makes for all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(paths: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of this name; the first worker to want it makes what is in it."""
    base = paths.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{folder}.lock"):
        if not (folder / "done").exists():
            folder.mkdir()
            make(folder)
            (folder / "done").touch()
    return folder
