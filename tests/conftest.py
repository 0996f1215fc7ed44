"""Fixtures for all tests: a tiny model, isolation from this machine, indexed notes, a browser."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import tests.support.at_start.sitecustomize
from datasette_bear_search import hookimpl
from datasette_bear_search.embeddings import files, names, registry
from datasette_bear_search.index import config
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.chromium import launched
from tests.support.machines import Machine
from tests.support.shared import made_once
from tests.support.tiny_embedder import TINY, TinyEmbedder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# For torch, in tests and in their processes. Other tests keep all processors busy, and its threads
# would wait for each other: a third more processor time, or ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# For their processes, and for the workers: what this process has imported above.
AT_START = str(Path(tests.support.at_start.sitecustomize.__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [AT_START, os.environ.get("PYTHONPATH")]))

PROGRAM, TRUSTED = "datasette-bear-search", "trusted-models.txt"
numbers = count()


def pytest_xdist_auto_num_workers():
    """Use one more worker than processors: some tests wait, but each worker costs ten seconds."""
    return (os.cpu_count() or 1) + 1


def pytest_sessionstart(session):
    """Make the dictionary of mistyped words while the workers collect, or each would make it.

    Each worker begins to import the test files at another one. Otherwise, all workers would rewrite
    the assertions of each file at the same moment, which takes longer than to collect the tests.
    """
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        folder = Path(__file__).parent
        paths = sorted(folder.rglob("test_*.py")) if session.config.args == ["tests"] else []
        first = len(paths) * int(worker[2:]) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in paths[first:] + paths[:first]:
            with suppress(Exception, pytest.skip.Exception):  # collecting it reports that
                import_module(".".join(path.relative_to(folder.parent).with_suffix("").parts))
    elif session.config.getoption("numprocesses", None):
        code = "from datasette_bear_search.search.planning import dictionary; dictionary.hashes()"
        subprocess.Popen([sys.executable, "-c", code])


def pytest_collection_finish():
    """Spare garbage collections the tests and modules, which took a twentieth of the time.

    Collect a tenth as often, because that took another fortieth.
    """
    gc.freeze()
    gc.set_threshold(7_000)


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory, monkeypatch):
    """Replace the default model by a tiny one, and keep tests from the files of this person.

    Tests of the real model ask for it by name. This is one fixture, and its folder isn't made,
    because thousands of tests hardly do more than that.
    """
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    monkeypatch.setattr(registry, "default_model", lambda: TINY)
    person = tmp_path_factory.getbasetemp() / f"person-{next(numbers)}"
    monkeypatch.delenv(config.CONFIG_VARIABLE, raising=False)
    monkeypatch.setattr(config, "default_path", lambda: person / "config" / "none.yaml")
    monkeypatch.setattr(files, "cache_folder", lambda: person / "cache")
    monkeypatch.setenv("XDG_DATA_HOME", str(person / "data"))  # for processes of the test
    monkeypatch.setattr(names, "trusted_models", lambda: person / "data" / PROGRAM / TRUSTED)
    for model in [each for each in registry._embedders if not registry.is_trusted(each)]:
        del registry._embedders[model]  # which another test trusted


@pytest.fixture(autouse=True, scope="session")
def daemon_threads():
    """Let the run end even if a failed test leaves a thread behind."""
    with pytest.MonkeyPatch.context() as patch:
        # A new thread is a daemon if the one that starts it is.
        patch.setattr(threading.current_thread(), "_daemonic", True)
        yield


@pytest.fixture(autouse=True, scope="session")
def light_datasettes(tmp_path_factory):
    """Do once for all tests what takes a Datasette longer than its responses.

    Templates are compiled once for all workers, not by each Datasette, which took half of the time
    of a page's test. The metadata of installed packages is read once. In Datasette 1.0, the test
    client makes a new application for every request; here it makes one, as a server does. An error
    is printed without each variable of each call, which took a second. Datasette 0.65 copies its
    metadata for each table whose permission it checks; here without looking for cycles.
    """
    if "datasette.app" not in sys.modules:  # importing it takes longer than most files of tests
        yield
        return
    from datasette import app as datasette_app
    from datasette import handle_exception
    from datasette.app import Datasette
    from datasette.plugins import pm
    from jinja2 import Environment, FileSystemBytecodeCache

    def cache_named(name: str) -> FileSystemBytecodeCache:
        return FileSystemBytecodeCache(str(made_once(tmp_path_factory, name, lambda folder: None)))

    compiled, without_coroutines = cache_named("templates"), cache_named("quick_templates")
    make, overlay = Datasette.app, Environment.overlay

    class Compiled:
        __name__ = "compiled_templates"

        @hookimpl
        def prepare_jinja2_environment(self, env):
            env.bytecode_cache = compiled

    def app(datasette: Datasette) -> Callable:
        if "made" not in vars(datasette):
            datasette.made = make(datasette)
        return datasette.made

    def overlay_with_cache(environment: Environment, **options: Any) -> Environment:
        """Give the environment without coroutines a cache, too: of its own, as it must be."""
        if options.get("enable_async") is False:
            options["bytecode_cache"] = without_coroutines
        return overlay(environment, **options)

    def copied(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: copied(each) for key, each in value.items()}
        return [*map(copied, value)] if isinstance(value, list) else value

    plugin = Compiled()
    pm.register(plugin)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Datasette, "app", app)
        patch.setattr(Environment, "overlay", overlay_with_cache)
        patch.setattr(handle_exception, "rich", None)
        patch.setattr(datasette_app, "copy", SimpleNamespace(deepcopy=copied), raising=False)
        patch.setattr(Distribution, "metadata", property(cache(Distribution.metadata.fget)))
        yield
    pm.unregister(plugin)


@pytest.fixture(scope="session")
def first_run(tmp_path_factory) -> Machine:
    """Index the sample notes on a new machine, with the real model, once for all workers."""
    return Machine(made_once(tmp_path_factory, "first_run", lambda root: Machine(root).first_run()))


@pytest.fixture(scope="session")
def sample_index(first_run) -> Path:
    """Index the sample notes with the real model. Copy it to change it."""
    return first_run.index


@pytest.fixture
def library(tmp_path) -> Path:
    return tmp_path / "bear" / "database.sqlite"


@pytest.fixture
def sidecar_path(tmp_path) -> Path:
    return tmp_path / "index" / "notes.db"


@pytest.fixture
def write(library) -> Callable[..., Path]:
    """Return a function that writes notes into the library: ``write(BearNote(...), ...)``."""

    def write_notes(*notes, **options) -> Path:
        library.parent.mkdir(exist_ok=True)
        return bear_library(library, notes, **options)

    return write_notes


@pytest.fixture
def bear_index(library, sidecar_path) -> Callable[..., Result]:
    """Return a function that runs ``datasette bear-index LIBRARY --sidecar SIDECAR`` with options.

    The command must succeed, or with ``fails=True`` end with an error message.
    """

    from datasette.cli import cli

    def run(*options: str, fails: bool = False, path: Path | None = None) -> Result:
        arguments = ["bear-index", str(path or library), "--sidecar", str(sidecar_path), *options]
        result = CliRunner().invoke(cli, arguments)
        if fails:
            assert result.exit_code == 1, result.output
            assert isinstance(result.exception, SystemExit), "a traceback"
        else:
            assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture(scope="session")
def indexed_before() -> dict[tuple, Path]:
    """Remember folders with a library and its index, by the notes and options."""
    return {}


@pytest.fixture
def index_notes(
    write, bear_index, library, sidecar_path, indexed_before, tmp_path_factory
) -> Callable[..., Path]:
    """Return a function that writes and indexes notes, and returns the index file's path.

    If another test indexed the same notes, its index is copied, because indexing took a third of
    the time of a page's test.
    """

    def run(notes: Iterable[BearNote], *options: str) -> Path:
        asked = (tuple(notes), options)
        if asked not in indexed_before:
            write(*notes)
            bear_index(*options)
            indexed_before[asked] = tmp_path_factory.mktemp("indexed")
            for path in (library, sidecar_path):
                shutil.copy(path, indexed_before[asked])
            return sidecar_path
        for path in (library, sidecar_path):
            path.parent.mkdir()
            shutil.copy(indexed_before[asked] / path.name, path)
        registry.get_embedder(TINY).load()  # as it is after a run
        with closing(sqlite3.connect(sidecar_path)) as db, db:
            state = BearLibrary(library).state()
            db.execute("pragma synchronous = off")
            db.execute("update sources set location = ?, state = ?", [str(library), state])
        return sidecar_path

    return run


@pytest.fixture(scope="session")
def started_chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """Start a browser, which takes a second of processor time, once for all modules of a worker."""
    with launched() as browser:
        loop = asyncio.get_running_loop()  # Playwright's
        yield browser, loop
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="module")
def chromium(started_chromium) -> Iterator[Browser]:
    """Return the browser. Playwright's event loop counts as running for one module only.

    Otherwise, no other event loop could run afterwards.
    """
    browser, loop = started_chromium
    asyncio._set_running_loop(loop)
    yield browser
    for context in browser.contexts:
        context.close()
    asyncio._set_running_loop(None)
