"""What is made once and not for every worker or every process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from datasette_bear_search.processes import DISTRIBUTION, user_folder
from datasette_bear_search.search.planning import dictionary


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


def give_dictionary(cache: Path) -> None:
    """Put the dictionary of mistyped words into an empty cache, where it would take seconds."""
    dictionary.hashes()
    folder = cache / DISTRIBUTION
    folder.mkdir(parents=True)
    for path in user_folder("cache").glob("dictionary-*.bin"):
        shutil.copy(path, folder)
