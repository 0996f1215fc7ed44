"""The search in the SQL of databases other than the index.

Tests ``web/requests/other_databases.py``.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from tests.support.bear_database import BearNote
from tests.support.datasettes import IS_1_0, configured, cookies
from tests.support.docs import ROOT

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

NOTES = [
    BearNote("# Cabin stove\n#cabin\n\nThe stove smokes.", tags=("cabin",)),
    BearNote("# Stove of the church\n#church\n\nIt has a stove.", tags=("church",)),
    BearNote("# Old stove\n#cabin\n\nThe stove was sold.", tags=("cabin",)),
    BearNote("# Diary\n\nThe password is hunter2hunter2."),
]
SEARCH = """
select count(*) as found from json_each(bear_search('stove', 50))
where json_extract(value, '$.keyword_rank')
"""


@pytest.fixture
def files(index_notes, tmp_path) -> list[Path]:
    projects = tmp_path / "projects.db"
    with closing(sqlite3.connect(projects)) as db, db:
        db.execute("create table projects (name text, tag text)")
        db.executemany(
            "insert into projects values (?, ?)",
            [("Build a cabin", "cabin"), ("Draw churches", "church"), ("Learn Arabic", "arabic")],
        )
    return [index_notes(NOTES), projects]


async def run(datasette, database: str, sql: str, actor=None, **parameters):
    """Return the rows, or the status of the error."""
    path = f"/{database}/-/query.json" if IS_1_0 else f"/{database}.json"
    response = await datasette.client.get(
        path,
        params={"sql": sql, "_shape": "array", **parameters},
        cookies=cookies(datasette, actor),
    )
    return response.json() if response.status_code == 200 else response.status_code


async def test_the_example_of_the_documentation_joins_two_files(files):
    [sql] = re.findall(
        r"```sql\n([^`]*projects\.projects[^`]*)```", (ROOT / "docs" / "sql.md").read_text()
    )
    datasette = Datasette([*map(str, files)], crossdb=True)
    assert await run(datasette, "_memory", sql) == [
        {"name": "Build a cabin", "notes": 2},
        {"name": "Draw churches", "notes": 1},
    ]


async def test_the_example_of_the_documentation_joins_a_table_that_was_indexed(tmp_path):
    blog, index = tmp_path / "blog.db", tmp_path / "search.db"
    with closing(sqlite3.connect(blog)) as db, db:
        db.execute("create table articles (id integer primary key, title, body, updated)")
        db.execute("insert into articles values (7, 'Roof', 'How to fix it.', '2024-05-01')")
    [(command, sql)] = re.findall(
        r"datasette bear-index blog\.db (--table .*) --sidecar search\.db\n.*?```sql\n([^`]*)```",
        (ROOT / "docs" / "sources.md").read_text(),
        re.DOTALL,
    )
    arguments = [
        "bear-index",
        str(blog),
        *command.split(),
        "--sidecar",
        str(index),
        "--no-semantic",
    ]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    datasette = Datasette([str(blog), str(index)])
    assert await run(datasette, "blog", sql) == [
        {"title": "Roof", "updated": "2024-05-01", "text": "How to fix it."}
    ]


async def test_functions_work_across_files(files):
    datasette = Datasette([*map(str, files)], crossdb=True)
    sql = """
    select length(embed(:q)) as bytes, embed(null) as missing, rrf(1, null) as fused,
      bear_search(null) as empty, json_array_length(bear_similar(1)) as similar,
      (select count(*) from json_each(nearest_passages(embed(:q), 2))) as near,
      nearest_passages(null, 2) as nearest
    """
    for database in ("_memory", "projects"):
        [row] = await run(datasette, database, sql, q="stove")
        assert row["bytes"] > 100
        assert row["bytes"] % 4 == 0
        assert (row["missing"], row["empty"], row["fused"]) == (None, None, 1 / 61)
        assert row["similar"] >= 1
        assert (row["near"], row["nearest"]) == (2, None)
        for text in ("stove", "tag:cabin", "stove -sold", "stoove"):
            search = "select bear_search(:q, 2, 1) as found"
            other = await run(datasette, database, search, q=text)
            assert other == await run(datasette, "notes", search, q=text), text
            assert json.loads(other[0]["found"])


CLOSED = {"databases": {"notes": {"allow": {"id": "root"}}}}


@pytest.mark.parametrize("actor", [None, {"id": "root"}, {"id": "anna"}])
async def test_nobody_gets_notes_elsewhere_unless_everybody_may_see_them(files, actor, capsys):
    datasette = configured(files, CLOSED)
    assert await run(datasette, "projects", SEARCH, actor) == 400
    for sql in ("select embed('stove')", "select bear_similar(1)"):
        assert await run(datasette, "projects", sql, actor) == 400
    assert "only if everybody may see the notes" in capsys.readouterr().err
    own = await run(datasette, "notes", SEARCH, actor)
    assert own == ([{"found": 3}] if actor == {"id": "root"} else 403)


async def test_a_table_or_the_search_closed_to_some_is_closed_elsewhere(files):
    root = {"id": "root"}
    closings = [{"databases": {"notes": {"tables": {"notes": {"allow": root}}}}}, {"allow": root}]
    if IS_1_0:  # where the configuration knows the action
        closings.append({"databases": {"notes": {"permissions": {"bear-search": root}}}})
    for closed in closings:
        datasette = configured(files, closed)
        assert await run(datasette, "projects", SEARCH, {"id": "root"}) == 400, closed


async def test_attached_notes_can_be_searched_by_those_who_can_read_them(files):
    # Datasette attaches all files for everybody who may run SQL in _memory.
    datasette = configured(files, CLOSED, crossdb=True)
    raw = "select count(*) as found from notes.notes where body like '%stove%'"
    assert await run(datasette, "_memory", raw) == [{"found": 3}]
    assert await run(datasette, "_memory", SEARCH) == [{"found": 3}]
    assert await run(datasette, "projects", SEARCH) == 400


async def test_secrets_are_masked_elsewhere_too(files):
    datasette = configured(
        files, {"plugins": {"datasette-bear-search": {"redact": True}}}, crossdb=True
    )
    for database in ("_memory", "projects"):
        [row] = await run(datasette, database, "select bear_search('password') as found")
        assert "●" in row["found"]
        assert "hunter2" not in row["found"]


async def test_without_an_index_the_functions_say_so(files, capsys):
    datasette = Datasette([str(files[1])])
    assert await run(datasette, "projects", SEARCH) == 400
    assert "No index of notes is served here" in capsys.readouterr().err


async def test_time_limit_of_datasette_applies_elsewhere(files):
    datasette = Datasette([*map(str, files)], settings={"sql_time_limit_ms": 100})
    sql = """
    with recursive numbers(number) as (select 1 union all select number + 1 from numbers)
    select bear_search('stove ' || number) from numbers limit 5000
    """
    assert await run(datasette, "projects", sql) == 400
