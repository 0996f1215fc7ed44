"""Indexes of other versions: an older one is rebuilt, a newer one is left alone.

Tests ``index/file/database.py``.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.index.file import schema, vectors
from datasette_bear_search.index.run import text as text_run
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit
from tests.support.index_files import rows
from tests.support.index_versions import make_newer, make_older

NOTES = [
    BearNote("# Garden\n\nPrune the old apple tree.", tags=("home/garden",)),
    BearNote("# Soup\n\nRed lentils and carrots."),
]


def contents(path: Path) -> dict[str, list[tuple]]:
    """Return what a search reads of an index, without the dates and the order of writing."""
    queries = {
        "schema": "select type, name, sql from sqlite_master order by name",
        "notes": "select title, body, tags, key, fingerprint, text_hash from notes order by key",
        "tags": "select name from tags order by name",
        "passages": """
            select heading, start, length, vector_state
            from passages
            join notes on notes.id = note_id
            order by key, position
            """,
        "vectors": "select vector from _vectors order by vector",
    }
    return {name: rows(path, sql) for name, sql in queries.items()}


@pytest.fixture
def journal(tmp_path) -> Path:
    folder = tmp_path / "journal"
    folder.mkdir()
    (folder / "monday.md").write_text("# Monday\n\nIt rained.")
    return folder


@pytest.fixture
def older(write, bear_index, journal, sidecar_path) -> Path:
    """Make an index of an earlier version, with two sources and a judgment."""
    write(*NOTES)
    bear_index()
    bear_index(path=journal)
    with closing(sqlite3.connect(sidecar_path)) as connection, connection:
        connection.execute(
            """
            insert into judgments (query, source, key, grade, judged)
            select 'apple', source, key, 1, '' from notes where title = 'Garden'
            """
        )
    return make_older(sidecar_path)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit | None), "a traceback"
    return result.output


def test_an_older_index_is_rebuilt_like_a_new_one(older, library, journal, tmp_path):
    # Without a PATH, because the index knows its sources.
    run("bear-index", "--sidecar", older)
    fresh = tmp_path / "fresh.db"
    run("bear-index", library, journal, "--sidecar", fresh)
    assert contents(older) == contents(fresh)
    assert older.stat().st_mode & 0o777 == 0o600
    assert "Garden" in run("bear-search", "apple", "--sidecar", older)
    assert "No problems found" in run("bear-doctor", "--sidecar", older)


@pytest.mark.parametrize("arguments", [("{library}",), ("--only", "journal"), ("--no-semantic",)])
def test_an_older_index_is_rebuilt_from_all_its_sources_whatever_is_read(older, library, arguments):
    run("bear-index", *(word.format(library=library) for word in arguments), "--sidecar", older)
    assert rows(older, "select title from notes order by title") == [
        ("Garden",), ("Monday",), ("Soup",),
    ]  # fmt: skip
    assert rows(older, "select name, notes from sources order by notes") == [
        ("journal", 1), ("bear", 2),
    ]  # fmt: skip
    assert rows(older, "select query, source, grade from judgments") == [("apple", "bear", 1)]


def test_an_older_index_is_rebuilt_without_a_removed_source(older):
    run("bear-index", "--remove", "bear", "--sidecar", older)
    assert rows(older, "select title from notes") == [("Monday",)]
    assert rows(older, "select name from sources") == [("journal",)]


def test_an_older_index_is_kept_while_a_source_cannot_be_read(older, library):
    library.unlink()
    before = older.read_bytes()
    output = " ".join(run("bear-index", "--sidecar", older).split())
    assert "has to be made anew" in output
    assert "give the PATH" in output, "what is wrong with the source"
    assert "bear-index --remove bear" in output
    assert older.read_bytes() == before


def test_text_that_left_its_source_leaves_the_file(older, library):
    edit(library, "update ZSFNOTE set ZTEXT = '# Garden' where ZTITLE = 'Garden'")
    assert b"Prune the old apple tree" in older.read_bytes()
    run("bear-index", "--sidecar", older)
    assert b"Prune" not in older.read_bytes()
    assert "_left_over" not in str(contents(older)["schema"])


def test_a_python_without_sqlite_vec_can_rebuild_an_older_index(older, monkeypatch):
    monkeypatch.setattr(vectors, "load_extension", lambda connection: False)
    run("bear-index", "--sidecar", older)
    assert len(rows(older, "select 1 from notes")) == 3
    assert rows(older, "select name from sqlite_master where name like '_passage_index_%'") == []
    assert rows(older, "pragma integrity_check") == [("ok",)]


@pytest.mark.parametrize("moment", ["before the tables", "after the tables", "before the text"])
def test_a_run_killed_while_rebuilding_loses_nothing(older, monkeypatch, moment):
    create = schema.create

    def dies(connection, *arguments, **options):
        if moment == "after the tables":
            create(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if moment == "before the text":
            patched.setattr(text_run.TextRun, "_write_text", dies)
        else:
            patched.setattr(schema, "create", dies)
        run("bear-index", "--sidecar", older)
    assert len(rows(older, "select 1 from sources")) == 2
    assert rows(older, "select query, grade from judgments") == [("apple", 1)]
    run("bear-index", "--sidecar", older)
    assert len(rows(older, "select 1 from notes")) == 3


def test_an_index_without_a_table_of_judgments_gets_one(older):
    with closing(sqlite3.connect(older)) as connection:
        connection.execute("drop table judgments")
    run("bear-index", "--sidecar", older)
    assert rows(older, "select count(*) from judgments") == [(0,)]


def test_a_newer_index_is_left_alone_by_every_command(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    before = make_newer(sidecar_path).read_bytes()
    for command in ("bear-index", "bear-search apple", "bear-eval", "bear-doctor --json"):
        output = " ".join(run(*command.split(), "--sidecar", sidecar_path).split())
        assert "pip install -U datasette-bear-search" in output
    json.loads(run("bear-doctor", "--json", "--sidecar", sidecar_path))
    assert sidecar_path.read_bytes() == before
