"""Text is indexed in batches, and nothing is lost between them, whatever happens."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from datasette_bear_search.index.file import database, passages, sources
from datasette_bear_search.index.file import notes as stored_notes
from datasette_bear_search.index.run import changes, indexer
from datasette_bear_search.index.run import text as text_run
from datasette_bear_search.index.run.report import Hooks
from datasette_bear_search.sources.base import SourceConfig
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, day, edit

NUMBER = 7  # of notes: three batches and a half


@pytest.fixture
def library(tmp_path):
    return bear_library(
        tmp_path / "library.sqlite",
        [
            BearNote(
                f"# Note {number}\n\nWord{number} of [[Note {(number + 1) % NUMBER}]].\n\n"
                "## Part\n\nMore.",
                tags=("all/of them", f"only/{number}"),
                created=day(number + 1),
            )
            for number in range(NUMBER)
        ],
    )


@pytest.fixture
def config(library):
    return SourceConfig("bear", "bear", str(library))


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(text_run, "NOTES_PER_COMMIT", 2)


def contents(path):
    """Return everything in the index about notes, without the ids of rows."""
    queries = {
        "notes": "select title, body, tags, created, key, fingerprint from notes order by title",
        "tags": """
            select notes.title, tags.name, tags.folded, note_tags.pinned
            from note_tags join notes on notes.id = note_id join tags on tags.id = tag_id
            order by 1, 2
        """,
        "links": """
            select origin.title, target.title, links.title
            from links join notes as origin on origin.id = note_id
            join notes as target on target.id = target_id
            order by 1
        """,
        "passages": """
            select title, position, heading, start, length, content_hash, vector_state
            from passages join notes on notes.id = note_id order by 1, 2
        """,
        "found": "select count(*) from notes_fts where notes_fts match 'word3'",
    }
    with closing(database.connect(path)) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in queries.items()}


def test_several_batches_give_the_same_index_as_one(tmp_path, config, monkeypatch):
    indexer.update(tmp_path / "one.db", [config], None)
    monkeypatch.setattr(text_run, "NOTES_PER_COMMIT", 2)
    report = indexer.update(tmp_path / "many.db", [config], None)
    assert (report.notes, report.added) == (NUMBER, NUMBER)
    one = contents(tmp_path / "one.db")
    assert contents(tmp_path / "many.db") == one
    assert len(one["links"]) == NUMBER
    assert len(one["tags"]) == 4 * NUMBER  # including parent tags
    assert one["found"] == [(1,)]


def test_a_long_note_ends_its_batch(tmp_path, config, monkeypatch):
    monkeypatch.setattr(passages, "MAX_CHARACTERS", 1)
    sizes = []
    write = stored_notes.write
    monkeypatch.setattr(
        stored_notes,
        "write",
        lambda connection, source, notes, ids: (
            sizes.append(len(notes)) or write(connection, source, notes, ids)
        ),
    )
    indexer.update(tmp_path / "notes.db", [config], None)
    assert sizes == [1] * NUMBER


def test_between_commits_others_may_write_and_find_what_is_there(tmp_path, config):
    path, found = tmp_path / "notes.db", []

    def write_too():
        with closing(sqlite3.connect(path, timeout=0)) as connection, connection:
            connection.execute("insert into meta values (?, '')", [f"key {len(found)}"])
            found.append(connection.execute("select count(*) from notes").fetchone()[0])

    indexer.update(path, [config], None, hooks=Hooks(notes_per_commit=2, on_commit=write_too))
    assert found == [*range(2, NUMBER, 2), NUMBER]


@pytest.mark.parametrize(("where", "call"), [("write", 3), ("cut", 2)])
def test_a_run_that_dies_between_batches_is_completed_by_the_next(
    tmp_path, config, small_batches, monkeypatch, where, call
):
    path = tmp_path / "notes.db"
    original, calls = getattr(stored_notes, where), []

    def dies(*arguments):
        calls.append(arguments)
        if len(calls) == call:
            raise OSError("the disk is full")
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(stored_notes, where, dies)
        with pytest.raises(OSError, match="the disk is full"):
            indexer.update(path, [config], None)
    report = indexer.update(path, [config], None)
    assert report.notes == NUMBER
    assert 0 < report.added < NUMBER
    indexer.update(tmp_path / "whole.db", [config], None)
    assert contents(path) == contents(tmp_path / "whole.db")


def test_unchanged_notes_are_not_kept_in_memory(tmp_path, config, library):
    path = tmp_path / "notes.db"
    indexer.update(path, [config], None)
    edit(library, "update ZSFNOTE set ZTEXT = ZTEXT || ' Edited.' where ZTITLE = 'Note 3'")
    with closing(database.connect(path)) as connection:
        stored = sources.read_sources(connection)["bear"]
        snapshot = changes.read_if_changed(connection, config, stored)
    assert [note.title for note in snapshot.notes] == ["Note 3"]
    assert snapshot.count == NUMBER
    report = indexer.update(path, [config], None)
    assert (report.added, report.changed, report.removed) == (0, 1, 0)
