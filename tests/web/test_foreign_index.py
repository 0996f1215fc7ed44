"""An index file that isn't from here, or is damaged: an answer or a message, never a traceback."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from datasette_bear_search.demo import BearNote, write_library
from tests.support.datasettes import configured, indexed

# Still a traceback: values of types that no column of ours has, in dates, titles, tags and meta.
UNCAUGHT = (
    "update notes set created = '2024-99-99', modified = 'yesterday'",
    "update notes set created = 9e99, modified = x'ff'",
    "insert or replace into meta values ('floor', 'high'), ('passage_settings', 'x/y')",
    "update notes set title = x'00ff', url = 7",
    "update tags set name = 5, folded = x'00'",
    "insert or replace into meta values ('indexed', 'never'), ('uncalibrated', 'x')",
)

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
        *(pytest.param(change, marks=pytest.mark.xfail(run=False)) for change in UNCAUGHT),
    ],
)
@pytest.mark.asyncio
async def test_no_foreign_index_gives_a_traceback(index, tmp_path, change):
    path = tmp_path / "notes.db"
    shutil.copy(index, path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"pragma writable_schema = on; {change};")
    datasette = configured([path], {})
    for place in PATHS:
        response = await datasette.client.get(f"/-/bear-search{place}")
        assert response.status_code < 500 or "Traceback" not in response.text
        assert response.status_code != 500, (place, response.text[-1500:])
