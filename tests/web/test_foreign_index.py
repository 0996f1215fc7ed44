"""A foreign or damaged index file gives a result or a message, never a traceback.

Tests ``web/requests/errors.py``.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search import Library, agents, sqlite
from datasette_bear_search.agents import tools
from datasette_bear_search.index.config import PLUGIN
from datasette_bear_search.index.file import database
from datasette_bear_search.search import engine, request
from datasette_bear_search.search.notes import start_page
from datasette_bear_search.text import languages
from datasette_bear_search.web import turns
from datasette_bear_search.web.requests import errors, views
from datasette_bear_search.web.requests.errors import PageError
from tests.support.bear_database import BearNote, write_library
from tests.support.datasettes import IS_1_0, configured, indexed

pytestmark = pytest.mark.datasette

PATHS = (
    "", ".json?q=roof", "?q=roof&_facets=1", "/suggest.json?q=tag:&cursor=4", "/note/1",
    "/note/1.json", "/similar/1", "/similar/1.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    library = tmp_path_factory.mktemp("foreign") / "bear.sqlite"
    notes = [BearNote(f"# Roof {n}\n#work\n\nThe roof leaks.", tags=("work",)) for n in range(3)]
    write_library(library, notes)
    return indexed(library, "--no-semantic")


@pytest.mark.parametrize(
    "change",
    [
        "update notes set tags = '[1, {\"a\": 2}]'",
        "update notes set tags = 'no json'",
        "update notes set tags = null",
        "update notes set title = 1, body = 2.5",
        "update sources set options = 'no json', skipped = '{}'",
        "update sources set never = '[1]', state = 5",
        "update passages set start = -5, length = 1e9, heading = 7",
        "drop table sources",
        "drop table notes_fts",
        "update notes set created = '2024-99-99', modified = 'yesterday'",
        "update notes set created = 9e99, modified = x'ff'",
        "insert or replace into meta values ('thresholds', 'high'), ('passage_settings', 'x/y')",
        "update notes set title = x'00ff', url = 7",
        "update notes set pinned = 'x', source = null, key = null",
        "update tags set name = 5, folded = x'00'",
        "insert or replace into meta values ('indexed', 'x'), ('passages_since_calibration', 'x')",
    ],
)
@pytest.mark.asyncio
async def test_no_foreign_index_gives_a_traceback(index, tmp_path, change):
    path = tmp_path / "notes.db"
    shutil.copy(index, path)
    with closing(sqlite3.connect(path)) as db:
        languages.register(db)
        db.executescript(f"pragma writable_schema = on; {change};")
    datasette = configured([path], {})
    for place in PATHS:
        response = await datasette.client.get(f"/-/bear-search{place}")
        assert response.status_code < 500 or "Traceback" not in response.text
        assert response.status_code != 500, (place, response.text[-1500:])


@pytest.mark.asyncio
async def test_a_note_with_an_impossible_date_is_found_and_shown(index, tmp_path):
    path = shutil.copy(index, tmp_path / "notes.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update notes set created = '2024-99-99', modified = 'yesterday'")
    datasette = configured([path], {})
    for place in ("?q=roof", "/note/1"):
        response = await datasette.client.get(f"/-/bear-search{place}")
        assert response.status_code == 200
        assert "leaks" in response.text


@pytest.mark.asyncio
async def test_the_log_says_where_a_page_failed_without_words_of_notes(index, tmp_path, capsys):
    path = shutil.copy(index, tmp_path / "notes.db")
    with closing(sqlite3.connect(path)) as db, db:
        languages.register(db)
        db.execute("update notes set attachments = x'00ff', body = 'the roof of zanzibar'")
    response = await configured([path], {}).client.get("/-/bear-search/note/1")
    assert response.status_code == 503
    log = capsys.readouterr().err
    assert "pages/note.py" in log
    assert "zanzibar" not in log


@pytest.mark.parametrize("column", ["title", "tags", "modified"])
def test_a_value_of_another_type_is_an_error_in_the_terminal(index, tmp_path, column):
    path = shutil.copy(index, tmp_path / "notes.db")
    with closing(sqlite3.connect(path)) as db, db:
        languages.register(db)
        db.execute(f"update notes set {column} = x'00ff'")
    result = CliRunner().invoke(cli, ["bear-search", "leaks", "--sidecar", str(path)])
    assert result.exit_code == 2
    assert f"the column {column} has a value of another type" in result.output


# In one index, Python can't decode what SQLite says about the schema; the other lacks a number.
def damage_schema(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("pragma writable_schema = on")
        db.execute(
            "update sqlite_master set sql = sql || cast(x'20d8' as text) where name = 'meta'"
        )


def damage_number(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("insert or replace into meta values ('thresholds', 'E.3247')")


@pytest.mark.parametrize("damage", [damage_schema, damage_number])
@pytest.mark.asyncio
async def test_every_interface_says_that_an_index_is_damaged(index, tmp_path, damage, capfd):
    path = shutil.copy(index, tmp_path / "notes.db")
    damage(path)
    with pytest.raises(database.SidecarError, match="it is damaged"):
        Library(path).search("roof")
    with pytest.raises(tools.ToolError, match="it is damaged"):
        tools.call(agents.AgentLibrary(path), "search_notes", {"queries": ["roof"]})
    with (
        closing(database.connect(path)) as connection,
        pytest.raises(sqlite.sqlite3.DatabaseError, match="malformed"),
    ):
        engine.search(connection, request.read_request({"q": ["roof"]}))
    result = CliRunner().invoke(cli, ["bear-search", "roof", "--sidecar", str(path)])
    assert "it is damaged" in result.output
    if IS_1_0 and damage == damage_schema:
        return  # Datasette itself doesn't start with such a file
    datasette = configured([path], {})
    for place in ("", ".json?q=roof", "?q=roof"):
        response = await datasette.client.get(f"/-/bear-search{place}")
        assert response.status_code in (200, 503)
        assert "roof" not in place or "datasette bear-index --rebuild" in response.text
    functions = "select * from json_each(bear_search('roof'))", "select fts_query('roof')"
    for sql in functions if damage == damage_number else ():
        place = "/notes/-/query.json" if IS_1_0 else "/notes.json"
        response = await datasette.client.get(place, params={"sql": sql})
        assert "DatabaseError" in capfd.readouterr().err or response.status_code == 400
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.asyncio
async def test_an_index_that_was_replaced_or_removed_is_noticed(index, tmp_path):
    path, other = tmp_path / "notes.db", tmp_path / "other"
    other.mkdir()
    shutil.copy(index, path)
    datasette = configured([path], {"plugins": {"datasette-bear-search": {"judgments": True}}})

    async def found() -> tuple[int, int]:
        response = await datasette.client.get("/-/bear-search.json?q=roof")
        return response.status_code, len(response.json().get("rows", []))

    assert [await found() for _ in range(4)] == [(200, 3)] * 4  # in each thread
    database_of_path = datasette.get_database("notes")
    write = partial(start_page.save_search, search="q=roof", keep=True)
    await views.write_index(database_of_path, write, refused="No.")
    write_library(other / "bear.sqlite", [BearNote("# Roof")])
    indexed(other / "bear.sqlite", "--no-semantic").replace(path)
    assert [await found() for _ in range(4)] == [(200, 1)] * 4
    await views.write_index(database_of_path, write, refused="No.")
    with closing(sqlite3.connect(path)) as db:
        sql = "select count(*) from meta where key like '%saved%'"
        assert db.execute(sql).fetchone() == (1,)
    path.unlink()
    assert [await found() for _ in range(4)] == [(503, 0)] * 4
    with pytest.raises(PageError, match=r"No\. The index can't be read"):
        await views.write_index(database_of_path, write, refused="No.")
    assert not path.exists()


@pytest.mark.asyncio
async def test_a_commit_that_was_killed_just_now_is_undone(index, tmp_path):
    path = shutil.copy(index, tmp_path / "notes.db")
    served = configured([path], {}).get_database("notes")

    def titles(connection: sqlite3.Connection) -> list[tuple[str]]:
        return connection.execute("select title from notes order by id").fetchall()

    before = await turns.execute(served, titles)
    kill = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma cache_size = 1")
db.execute("begin")
db.executemany("insert into meta values (?, ?)", [(str(n), "x" * 3000) for n in range(300)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", kill, path], check=False)
    assert database.is_half_committed(Path(path))
    assert await turns.execute(served, titles) == before
    assert not database.is_half_committed(Path(path))


@pytest.mark.asyncio
async def test_a_stopped_writer_keeps_only_the_first_request_waiting(index, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LOCKED_SECONDS", 0.5)
    path = shutil.copy(index, tmp_path / "notes.db")
    datasette = configured([path], {})
    static = await datasette.client.get("/-/bear-search?q=roof")
    static = re.search(r"/-/bear-search/static/bear\.\w+\.css", static.text)[0]

    async def seconds(place, status):
        started = time.perf_counter()
        response = await datasette.client.get(place)
        assert response.status_code == status, (place, response.text)
        return time.perf_counter() - started

    with closing(sqlite.sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("begin exclusive")
        assert 0.4 < await seconds("/-/bear-search.json?q=roof", 503) < 2
        for place in ("?q=roof", ".json?q=roof", "/note/1", "/similar/1.json"):
            assert await seconds(f"/-/bear-search{place}", 503) < 0.4
        assert await seconds(static, 200) < 0.4
    assert await seconds("/-/bear-search?q=roof", 200) < 2


@pytest.mark.asyncio
async def test_a_search_waits_for_a_short_commit(index, tmp_path):
    path = shutil.copy(index, tmp_path / "notes.db")
    datasette = configured([path], {})
    await datasette.client.get("/-/bear-search?q=roof")
    options = {"isolation_level": None, "check_same_thread": False}
    with closing(sqlite.sqlite3.connect(path, **options)) as writer:
        writer.execute("begin exclusive")
        threading.Timer(0.3, writer.rollback).start()
        response = await datasette.client.get("/-/bear-search.json?q=roof")
    assert (response.status_code, len(response.json()["rows"])) == (200, 3)


@pytest.mark.asyncio
async def test_a_read_that_takes_too_long_says_so(index):
    served = configured([index], {}, settings={"sql_time_limit_ms": 1}).get_database("notes")
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
    with pytest.raises(PageError, match="took too long and was stopped"):
        await errors.read_index(served, lambda connection: connection.execute(endless).fetchall())


@pytest.mark.skipif(IS_1_0, reason="Datasette 1.0 doesn't start while one of its files is locked")
@pytest.mark.asyncio
@pytest.mark.parametrize("place", ["command line", "settings"])
async def test_an_index_that_is_locked_at_the_start_is_served_once_it_is_free(
    index, tmp_path, monkeypatch, place
):
    monkeypatch.setattr(turns, "LOCKED_SECONDS", 0.1)
    path = shutil.copy(index, tmp_path / "notes.db")
    settings = {"hidden_tags": ["work"], "warm_up": False}
    files = [path] if place == "command line" else []
    config = {"plugins": {PLUGIN: settings if files else {**settings, "sidecar": str(path)}}}
    with closing(sqlite.sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("begin exclusive")
        datasette = configured(files, config)
        locked = await datasette.client.get("/-/bear-search?q=roof")
        assert (locked.status_code, errors.LOCKED in locked.text) == (503, True)
        assert datasette.get_database("notes").cached_size == 0  # says nothing of hidden notes
    assert (await datasette.client.get("/-/bear-search?q=roof")).status_code == 200
