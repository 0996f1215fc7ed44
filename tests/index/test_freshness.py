"""Every interface says which sources can't be read, and whether vectors are being made."""

from __future__ import annotations

import errno
import json
import re
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search import Library
from datasette_bear_search.agents import AgentLibrary, notes, tools
from datasette_bear_search.index import freshness
from datasette_bear_search.index.run import changes, indexer, lock
from datasette_bear_search.index.run.report import SILENT
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit, forbid
from tests.support.index_files import meta, rows

NOTES = [BearNote("# Roof\n\nTwo tiles are loose."), BearNote("# Soup\n\nLentils.")]
UNREADABLE = r"Bear can't be checked from here; its notes are as of \d+ \w+( \d{4})?, \d\d:\d\d\."


@pytest.fixture
def refused(index_notes, library, sidecar_path, monkeypatch):
    """Index Bear's notes, change one, and let the system refuse to open Bear's file."""
    index_notes(NOTES)
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    edit(library, "update ZSFNOTE set ZTITLE = 'Wombat' where ZTITLE = 'Soup'")
    forbid(monkeypatch, library, errno.EPERM, "open")
    return sidecar_path


@contextmanager
def a_run_at_work(path):
    with lock.only_run(path):
        yield


async def web(path, url):
    return (await Datasette([str(path)]).client.get(url)).text


async def by_page(path):
    return await web(path, "/-/bear-search?q=wombat")


async def by_json(path):
    return " ".join(json.loads(await web(path, "/-/bear-search.json?q=roof"))["notices"])


async def by_status(path):
    return " ".join(json.loads(await web(path, "/-/bear-search/status.json"))["notices"])


async def by_sql(path):
    url = f"/{path.stem}/bear_search.json?q=roof&_shape=array"
    return json.loads(await web(path, url))[0].get("notice") or ""


async def by_terminal(path):
    return CliRunner().invoke(cli, ["bear-search", "roof", "--sidecar", str(path)]).output


async def by_an_agent(path):
    arguments = {"query": "wombat", "found_only": False}
    return tools.call(AgentLibrary(path), "search_notes", arguments).text


async def by_an_agent_s_status(path):
    return notes.library_status(AgentLibrary(path)).text


async def by_python(path):
    return " ".join(Library(path).search("roof").notices)


INTERFACES = [
    by_page, by_json, by_status, by_sql, by_terminal, by_an_agent, by_an_agent_s_status, by_python,
]  # fmt: skip


def plain(text: str) -> str:
    return text.replace("&#39;", "'").replace("\n", " ")


@pytest.mark.asyncio
@pytest.mark.parametrize("interface", INTERFACES)
async def test_every_interface_says_that_a_source_cannot_be_read(refused, interface):
    assert re.search(UNREADABLE, plain(await interface(refused)))


@pytest.mark.asyncio
@pytest.mark.parametrize("interface", INTERFACES)
async def test_a_source_that_can_be_read_gives_no_such_notice(index_notes, interface):
    assert "can't be checked" not in plain(await interface(index_notes(NOTES)))


def test_a_source_with_a_name_of_its_own_is_called_by_it(tmp_path, sidecar_path, monkeypatch):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# Roof")
    Library(sidecar_path).index(vault, semantic=False)
    vault.rename(tmp_path / "elsewhere")
    assert any(
        each.startswith("vault can't be checked from here; its notes are as of")
        for each in Library(sidecar_path).search("roof").notices
    )


def test_the_status_lists_each_source_with_its_last_reading_and_error(refused):
    [[read]] = rows(refused, "select read from sources")
    [source] = notes.library_status(AgentLibrary(refused)).data["sources"]
    assert source["read"] == read
    assert "Full Disk Access" in source["error"]
    assert "Full Disk Access" in notes.library_status(AgentLibrary(refused)).text


def test_a_run_that_failed_to_read_a_source_is_no_indexing(
    tmp_path, index_notes, library, sidecar_path, monkeypatch
):
    index_notes(NOTES)
    then = meta(sidecar_path)["indexed"]
    monkeypatch.setattr(indexer, "now", lambda timespec: "2099-01-01T00:00Z")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Garden")
    edit(library, "update ZSFNOTE set ZTITLE = 'Wombat' where ZTITLE = 'Soup'")
    with monkeypatch.context() as patch:
        forbid(patch, library, errno.EPERM, "open")
        Library(sidecar_path).index(library, tmp_path / "vault")
    assert rows(sidecar_path, "select count(*) from notes where title = 'Garden'") == [(1,)]
    assert meta(sidecar_path)["indexed"] == then
    Library(sidecar_path).index(library, tmp_path / "vault")
    assert meta(sidecar_path)["indexed"] == "2099-01-01T00:00Z"


def test_pages_can_tell_two_runs_within_a_second_apart(index_notes, library, sidecar_path):
    index_notes(NOTES)
    first = meta(sidecar_path)["indexed"]
    time.sleep(0.002)
    Library(sidecar_path).index(library)
    assert first[:-5] < meta(sidecar_path)["indexed"] != first
    assert re.fullmatch(r".*:\d\d\.\d{3}Z", first)


def test_a_watching_server_says_what_its_last_run_could_not_read(refused):
    assert freshness.changes_since_indexing(refused, is_watched=True) == freshness.SourceChanges()
    Library(refused).index(hooks=SILENT)
    [unreadable] = freshness.changes_since_indexing(refused, is_watched=True).unreadable
    assert "Full Disk Access" in unreadable.error


def test_a_slow_count_is_taken_anew_once_a_run_has_ended(index_notes, library, monkeypatch):
    path = index_notes(NOTES)
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    monkeypatch.setattr(freshness, "SHARE_OF_TIME", 1e-9)  # any count is followed by a long pause
    edit(library, "update ZSFNOTE set ZTITLE = 'Wombat' where ZTITLE = 'Soup'")
    assert freshness.changes_since_indexing(path).changed == 1
    with a_run_at_work(path):
        path.touch()
        edit(library, "update ZSFNOTE set ZTITLE = 'Koala' where ZTITLE = 'Roof'")
        assert freshness.changes_since_indexing(path).changed == 1
    assert freshness.changes_since_indexing(path).changed == 2
    Library(path).index(library)
    assert freshness.changes_since_indexing(path).changed == 0


def test_what_was_counted_before_a_run_is_not_said_after_it(index_notes, library, monkeypatch):
    path, may_end = index_notes(NOTES), threading.Event()
    monkeypatch.setattr(freshness, "MAX_PAUSE", 0)
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    edit(library, "update ZSFNOTE set ZTITLE = 'Wombat' where ZTITLE = 'Soup'")
    assert freshness.changes_since_indexing(path).changed == 1
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 0.01)
    monkeypatch.setattr(changes, "count_changes", lambda *_: may_end.wait(30) and 2)
    edit(library, "update ZSFNOTE set ZTITLE = 'Koala' where ZTITLE = 'Roof'")
    assert freshness.changes_since_indexing(path).changed == 1  # it is still counting
    Library(path).index(library)
    assert freshness.changes_since_indexing(path).changed == 0
    counting = freshness._counter(path)._thread
    may_end.set()
    counting.join()
    assert freshness.changes_since_indexing(path).changed == 0


# While vectors are made


@pytest.mark.asyncio
@pytest.mark.parametrize("done", [0, 1])
@pytest.mark.parametrize("interface", INTERFACES)
async def test_while_vectors_are_made_no_interface_names_a_command(
    write, bear_index, sidecar_path, interface, done
):
    write(*NOTES)
    bear_index()
    with_vectors(sidecar_path, done)
    with a_run_at_work(sidecar_path):
        said = plain(await interface(sidecar_path))
    assert f"Vectors are being made: {2 - done} passage{'s' if done == 0 else ''} to go" in said
    assert "bear-index" not in said.partition("<footer")[0]
    said = plain(await interface(sidecar_path))
    assert "Vectors are being made" not in said
    assert f"run: datasette bear-index --sidecar {sidecar_path}" in said


def with_vectors(path, done):
    """Let an index have the vectors of so many passages."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update passages set vector_state = 'pending' where id > ?", [done])
        db.execute("delete from _vectors where passage_id > ?", [done])


def test_notes_that_changed_are_being_updated_while_a_run_is_at_work(
    index_notes, library, monkeypatch
):
    path = index_notes(NOTES)
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    edit(library, "update ZSFNOTE set ZTITLE = 'Wombat' where ZTITLE = 'Soup'")
    with a_run_at_work(path):
        [said] = Library(path).search("roof").notices
    assert said == "The index is being updated: 1 note to go."
