"""Indexes that earlier versions made: bear-index brings them up to date, and they are searched as new ones are."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils
from click.testing import CliRunner
from datasette.cli import cli
from sqlite_utils.migrations import Migrations

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database, schema
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_libraries import edit

NOTES = [
    BearNote("# Garden\n\nPrune the old apple tree.", tags=("home/garden",)),
    BearNote("# Soup\n\nRed lentils and carrots."),
]


def older_sidecar(path: Path, *, migrations: int, library: Path) -> None:
    """An index as it was after the first so many migrations, with the notes of a library in it."""
    from datasette_bear_search.sources.bear import BearLibrary

    known = Migrations(schema.MIGRATION_SET)
    for migration in schema.MIGRATIONS[:migrations]:
        known(name=migration.__name__)(migration)
    with closing(sqlite3.connect(path)) as connection:
        db = sqlite_utils.Database(connection)
        known.apply(db)
        db["sources"].insert({"name": "bear", "location": str(library), "state": "", "notes": 0})
        for note in BearLibrary(str(library)).read():
            # The columns of the first version.
            db["notes"].insert(
                {
                    "title": note.title,
                    "body": note.body,
                    "tags": "[]",
                    "attachments": "",
                    "created": "2024-01-01T00:00:00Z",
                    "modified": "2024-01-01T00:00:00Z",
                    "source": "bear",
                    "key": note.key,
                    "fingerprint": "of an earlier version",
                    **dict.fromkeys(
                        ("pinned", "archived", "trashed", "encrypted", "todos_open", "todos_done"),
                        0,
                    ),
                    **dict.fromkeys(("has_image", "has_file", "has_code"), 0),
                }
            )
        if migrations >= 3:
            db[schema.JUDGMENTS].insert(
                {"query": "apple", "source": "bear", "key": note.key, "grade": 1, "judged": ""}
            )
        connection.commit()
    path.chmod(0o600)


def contents(path: Path) -> dict[str, list[tuple]]:
    """What searching looks at, without what says when and in which order it was written."""
    queries = {
        "notes": "select title, body, tags, key, fingerprint, text_hash from notes order by key",
        "tags": "select name from tags order by name",
        "passages": "select heading, start, length, embedded from passages join notes on notes.id = note_id order by key, position",
        "vectors": "select vector from _vectors order by vector",
    }  # fmt: skip
    with closing(database.connect(path)) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in queries.items()}


@pytest.mark.parametrize("migrations", range(1, len(schema.MIGRATIONS)))
def test_an_older_index_becomes_what_a_new_one_is(
    write, bear_index, library, sidecar_path, tmp_path, migrations
):
    write(*NOTES)
    sidecar_path.parent.mkdir()
    older_sidecar(sidecar_path, migrations=migrations, library=library)
    # Without a PATH: it still knows what it was made of.
    result = CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)])
    assert result.exit_code == 0, result.output
    fresh = tmp_path / "fresh.db"
    CliRunner().invoke(cli, ["bear-index", str(library), "--sidecar", str(fresh)])
    assert contents(sidecar_path) == contents(fresh)
    found = CliRunner().invoke(cli, ["bear-search", "apple", "--sidecar", str(sidecar_path)])
    assert "Garden" in found.output
    assert CliRunner().invoke(cli, ["bear-doctor", "--sidecar", str(sidecar_path)]).exit_code == 0


def test_judgments_outlive_the_change_of_version(write, library, sidecar_path):
    write(*NOTES)
    sidecar_path.parent.mkdir()
    older_sidecar(sidecar_path, migrations=3, library=library)
    CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)])
    with closing(database.connect(sidecar_path)) as connection:
        assert connection.execute("select query, grade from judgments").fetchall() == [("apple", 1)]


@pytest.mark.parametrize("migrations", range(1, len(schema.MIGRATIONS)))
def test_an_older_index_keeps_its_notes_when_its_source_is_gone(
    write, library, sidecar_path, migrations
):
    write(*NOTES)
    sidecar_path.parent.mkdir()
    older_sidecar(sidecar_path, migrations=migrations, library=library)
    library.unlink()
    assert CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)]).exit_code == 1
    with closing(database.connect(sidecar_path)) as connection:
        assert connection.execute("select count(*) from notes").fetchone() == (2,)
        assert schema.is_current(connection)
    found = CliRunner().invoke(cli, ["bear-search", "apple", "--sidecar", str(sidecar_path)])
    assert "Garden" in found.output


def test_a_note_that_changed_since_is_read_anew(write, library, sidecar_path):
    write(*NOTES)
    sidecar_path.parent.mkdir()
    older_sidecar(sidecar_path, migrations=2, library=library)
    edit(
        library,
        "update ZSFNOTE set ZTEXT = '# Garden' || char(10) || 'Plums.' where ZTITLE = 'Garden'",
    )
    CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)])
    found = CliRunner().invoke(cli, ["bear-search", "plums", "--sidecar", str(sidecar_path)])
    assert "Garden" in found.output
