"""Menus on Datasette's own pages, whatever happens to the index file."""

import time
from contextlib import closing

import pytest
from datasette.app import Datasette
from datasette.database import Database

from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.datasette import menus
from tests.support.bear_database import BearNote

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]


@pytest.fixture
def path(index_notes):
    return index_notes([BearNote("# Rooftop")], "--no-semantic")


async def labels(datasette) -> list[str]:
    await datasette.invoke_startup()
    return [item["label"] for item in await menus.menu_links(datasette, None)]


async def test_a_file_that_never_was_a_database_gives_no_items(tmp_path):
    file = tmp_path / "notes.db"
    file.write_bytes(b"no database" * 1000)
    datasette = Datasette([])
    await datasette.invoke_startup()
    datasette.add_database(Database(datasette, path=str(file)), "notes")
    assert await labels(datasette) == []
    file.unlink()
    assert await labels(datasette) == []


async def test_a_locked_index_does_not_hold_up_the_menu(path):
    datasette = Datasette([str(path)])
    assert await labels(datasette) == ["Search notes"]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("begin exclusive")
        started = time.perf_counter()
        await labels(datasette)
        assert time.perf_counter() - started < 3
        db.execute("rollback")
    assert await labels(datasette) == ["Search notes"]
