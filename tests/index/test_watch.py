"""An index that follows its sources, in a separate process and in this one.

Tests ``index/watch.py``, ``index/updater.py`` and ``index/freshness.py``.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from datasette.app import Datasette

from datasette_bear_search import processes
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index import freshness, updater
from datasette_bear_search.index import watch as index_watch
from datasette_bear_search.index.run import indexer
from datasette_bear_search.index.watch import Place, Task, Watcher
from datasette_bear_search.sources.base import SourceConfig
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit, folder_state
from tests.support.index_files import rows, titles
from tests.support.threads import running, wait_for
from tests.support.tiny_embedder import TINY, TinyEmbedder

PATIENCE = 90.0  # seconds; on a busy machine everything is slow


@pytest.fixture
def vault(tmp_path) -> Path:
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "a.md").write_text("# Roof\n\nIt leaks.")
    return folder


@pytest.fixture
def watching_of(sidecar_path, monkeypatch):
    """Watch sources in a thread, yield the watcher, and stop it at the end."""
    monkeypatch.setattr(index_watch, "SECONDS_BETWEEN_TRIES", 0.2)

    @contextmanager
    def watch(*configs: SourceConfig) -> Iterator[Watcher]:
        embedder = registry.get_embedder(TINY)
        indexer.update(sidecar_path, configs, embedder)
        watcher = Watcher(sidecar_path, Task(configs, TINY))
        with running(watcher.run, end=watcher.stop):
            yield watcher

    return watch


def test_a_change_is_indexed(vault, watching_of, sidecar_path):
    with watching_of(SourceConfig("vault", "markdown", str(vault))):
        (vault / "b.md").write_text("# Soup\n\nLentils.")
        wait_for(lambda: titles(sidecar_path) == ["Roof", "Soup"])
        (vault / "a.md").unlink()
        wait_for(lambda: titles(sidecar_path) == ["Soup"])


def test_a_source_with_an_interval_is_read_then_and_not_at_each_change(
    vault, watching_of, sidecar_path, monkeypatch
):
    config = SourceConfig("vault", "markdown", str(vault), {"every": "1h"})
    assert config.every == 3600
    assert index_watch.place(config) is None
    monkeypatch.setattr("datasette_bear_search.sources.base.seconds_in", lambda text: 1)
    with watching_of(config):
        (vault / "b.md").write_text("# Soup\n\nLentils.")
        wait_for(lambda: titles(sidecar_path) == ["Roof", "Soup"])


def test_a_source_with_an_interval_is_not_asked_for_changes_in_between(vault, sidecar_path):
    config = SourceConfig("vault", "markdown", str(vault), {"every": "1h"})
    indexer.update(sidecar_path, [config], None)
    (vault / "b.md").write_text("# Soup\n\nLentils.")
    assert freshness.changes_since_indexing(sidecar_path).changed == 0


def test_bears_file_is_watched_and_its_folder_left_alone(write, library, watching_of, sidecar_path):
    write(BearNote("# Garden\n\nApples."))
    files = set(folder_state(library.parent))
    with watching_of(SourceConfig("bear", "bear", str(library))):
        edit(library, "update ZSFNOTE set ZTITLE = 'Orchard', ZTEXT = '# Orchard'")
        wait_for(lambda: titles(sidecar_path) == ["Orchard"])
    assert set(folder_state(library.parent)) == files


def test_bears_file_is_read_now_and_then_only(
    write, library, watching_of, sidecar_path, monkeypatch
):
    monkeypatch.setattr(index_watch, "SECONDS_BETWEEN_READS", 3600.0)
    write(BearNote("# Garden\n\nApples."))
    reads: list[str] = []
    with watching_of(SourceConfig("bear", "bear", str(library))):
        update = indexer.update
        monkeypatch.setattr(
            indexer, "update", lambda *args, **kw: reads.append("x") or update(*args, **kw)
        )
        edit(library, "update ZSFNOTE set ZPINNED = 1")
        wait_for(lambda: rows(sidecar_path, "select pinned from notes") == [(1,)])
        count = len(reads)
        for number in range(5):
            edit(library, "update ZSFNOTE set ZTODOCOMPLETED = ?", number)
            time.sleep(0.2)
        time.sleep(1.5)
        assert len(reads) == count


def test_a_source_that_breaks_ends_nothing_and_is_tried_again(vault, watching_of, sidecar_path):
    config = SourceConfig("vault", "markdown", str(vault))
    away = vault.with_name("away")
    with watching_of(config) as watcher:
        wait_for(lambda: "vault" in watcher.trouble)
        vault.rename(away)
        wait_for(lambda: "There is no" in watcher.trouble["vault"])
        assert titles(sidecar_path) == ["Roof"]
        shutil.copytree(
            away, vault
        )  # a new folder of the same name, as if a drive were mounted again
        (vault / "b.md").write_text("# Soup\n\nLentils.")
        wait_for(lambda: titles(sidecar_path) == ["Roof", "Soup"])
        time.sleep(1.5)
        (vault / "c.md").write_text("# Tea\n\nGreen.")
        wait_for(lambda: titles(sidecar_path) == ["Roof", "Soup", "Tea"])
        assert watcher.trouble["vault"] == ""


def test_removing_the_last_source_ends_nothing(vault, watching_of, sidecar_path):
    config = SourceConfig("vault", "markdown", str(vault))
    with watching_of(config) as watcher:
        wait_for(lambda: "vault" in watcher.trouble)
        indexer.update(sidecar_path, [], None, remove=["vault"])
        (vault / "b.md").write_text("# Soup\n\nLentils.")
        time.sleep(3)
        assert titles(sidecar_path) == []


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_running_datasette_sees_changes_that_watching_indexed(
    vault, watching_of, sidecar_path
):
    with watching_of(SourceConfig("vault", "markdown", str(vault))) as watcher:
        wait_for(lambda: "vault" in watcher.trouble)
        datasette = Datasette([str(sidecar_path)])
        response = await datasette.client.get("/-/bear-search.json?q=lentils&mode=keyword")
        assert response.json()["rows"] == []
        (vault / "b.md").write_text("# Soup\n\nLentils.")
        wait_for(lambda: titles(sidecar_path) == ["Roof", "Soup"])
        response = await datasette.client.get("/-/bear-search.json?q=lentils&mode=keyword")
        assert [row["title"] for row in response.json()["rows"]] == ["Soup"]


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("/v/a.md", True),
        ("/v/deep/er/a.md", True),
        ("/v/.obsidian/workspace.json", False),
        ("/v/.git/index.lock", False),
        ("/vault/a.md", False),
    ],
)
def test_changes_in_hidden_folders_are_ignored(path, concerns):
    assert Place("v", "/v", None).concerns(path) == concerns


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("/b/database.sqlite", True),
        ("/b/database.sqlite-wal", True),
        ("/b/database.sqlite-journal", True),
        ("/b/other.sqlite", False),
    ],
)
def test_changes_to_a_files_journals_count(path, concerns):
    assert Place("b", "/b", "/b/database.sqlite").concerns(path) == concerns


@pytest.mark.skipif(not updater.HAS_IDLE_THREADS, reason="threads are all alike here")
def test_a_model_works_when_nobody_else_wants_the_processor(monkeypatch):
    policies = set()

    class Model(TinyEmbedder):
        def encode(self, texts, *, is_query):
            policies.add(os.sched_getscheduler(0))
            return super().encode(texts, is_query=is_query)

    monkeypatch.setattr(updater.registry, "get_embedder", Model)
    embedder = updater._IdleModel(SimpleNamespace(value=0.0), TINY)
    assert embedder.embed_documents(["a roof"])[0]
    assert embedder.dimension == 64
    assert policies == {os.SCHED_IDLE}
    assert os.sched_getscheduler(0) != os.SCHED_IDLE


def test_a_model_waits_while_somebody_searches_but_not_forever(monkeypatch):
    clock, batches = [1000.0], []

    def sleep(seconds):
        clock[0] += seconds

    class Model(TinyEmbedder):
        def encode(self, texts, *, is_query):
            batches.append((round(clock[0], 1), len(texts)))
            return super().encode(texts, is_query=is_query)

    monkeypatch.setattr(updater, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    texts, last_search = [f"roof {number}" for number in range(20)], SimpleNamespace(value=1000.0)
    monkeypatch.setattr(updater.registry, "get_embedder", Model)
    embedder = updater._IdleModel(last_search, TINY)
    embedder.load()
    batches.clear()
    assert embedder.embed_documents(texts) == TinyEmbedder(TINY).embed_documents(texts)
    (start, first), (second, rest) = batches
    assert (first, rest) == (16, 4)
    assert start - 1000 == pytest.approx(updater.REST, abs=0.11)
    assert second == start
    last_search.value = 10_000.0  # searches never stop
    batches.clear()
    embedder.embed_documents(texts)
    assert [size for _, size in batches] == [4] * 5  # less at once, but each second
    waits = [later - earlier for (earlier, _), (later, _) in pairwise([(start, 0), *batches])]
    assert waits == pytest.approx([updater.MODEL_WAIT] * 5, abs=0.11)


def test_the_process_ends_quietly_if_the_server_ends_before_it_has_begun():
    done = subprocess.run(
        processes.command(updater.__name__, "keep_updated"), input=b"", capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("found", "done", "expected"),
    [
        ({"graph": 1}, 0, "Indexing 1 note from graph…"),
        ({"Bear": 3000, "graph": 69}, 0, "Indexing 3,069 notes from Bear and graph…"),
        ({"Bear": 900, "Work": 60, "graph": 40}, 250, "1,000 notes from Bear, Work and graph… 25%"),
        ({"Bear": 300}, 500, "Indexing 300 notes from Bear… 99%"),
    ],
)
def test_progress_names_all_sources_and_a_share(found, done, expected):
    assert index_watch.progress(found, done).endswith(expected)
