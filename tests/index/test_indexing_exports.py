"""Exports of other apps, indexed with ``datasette bear-index`` and found."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.index.file import database
from datasette_bear_search.index.run import changes
from datasette_bear_search.index.run import text as text_run
from datasette_bear_search.sources import folders
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.files.archive import Folder
from tests.support.exports import SLACK, bundle, docx, folder_of, paragraph, says, zip_of
from tests.support.index_files import ids
from tests.support.other_tools import EXAMPLES

NOTES = {
    "Notes.bear2bk": bundle("A", "# Peas\n#garden\n\nSow in March."),
    "slack.zip": {**SLACK, "garden/2024-05-01.json": [says("Sow peas in March")]},
    "takeout.zip": {"Takeout/Drive/garden/Peas.docx": docx(paragraph("Sow in March."))},
}


def stored(path: Path) -> list[tuple]:
    with closing(database.connect(path)) as connection:
        return connection.execute("select source, title, tags from notes order by id").fetchall()


@pytest.mark.parametrize(
    ("name", "make", "note"),
    [
        ("Notes.bear2bk", zip_of, ("bear-backup", "Peas", '["garden"]')),
        ("slack.zip", zip_of, ("slack", "#garden: Sow peas in March", '["garden"]')),
        ("slack.zip", folder_of, ("slack", "#garden: Sow peas in March", '["garden"]')),
        ("takeout.zip", zip_of, ("takeout", "Peas", '["garden"]')),
        ("takeout.zip", folder_of, ("takeout", "Peas", '["garden"]')),
    ],
)
def test_an_export_is_recognized_and_indexed(
    bear_index: Any, sidecar_path: Path, tmp_path: Path, name: str, make: Any, note: tuple
) -> None:
    path = make(tmp_path / "export" / name, NOTES[name])
    bear_index("--no-semantic", path=path)
    assert stored(sidecar_path) == [note]
    assert "Nothing has changed in" in bear_index("--no-semantic", path=path).output


def test_a_vanished_export_keeps_its_notes_in_the_index(
    bear_index: Any, sidecar_path: Path, tmp_path: Path
) -> None:
    path = zip_of(tmp_path / "slack.zip", NOTES["slack.zip"])
    bear_index("--no-semantic", path=path)
    path.write_bytes(path.read_bytes()[:200])
    result = bear_index("--no-semantic", path=path, fails=True)
    assert "not a zip archive, or only a part of one" in result.output
    assert len(stored(sidecar_path)) == 1


def test_a_query_in_the_configuration_is_indexed(sidecar_path: Path, tmp_path: Path) -> None:
    sql, options, tables, note = EXAMPLES["Apple Notes"]
    with closing(sqlite3.connect(tmp_path / "apple.db")) as db:
        db.executescript(tables)
    source = {"name": "apple", "kind": "sql", "location": "apple.db", "sql": sql, **options}
    config = tmp_path / "bear-search.yaml"
    config.write_text(yaml.safe_dump({"sources": [source]}))
    arguments = ["--config", str(config), "--sidecar", str(sidecar_path), "--no-semantic"]
    result = CliRunner().invoke(cli, ["bear-index", *arguments])
    assert result.exit_code == 0, result.output
    assert stored(sidecar_path) == [("apple", note.title, '["Cooking, Recipes"]')]


def test_an_export_larger_than_memory_is_read_in_parts(
    bear_index: Any, sidecar_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST_TEXT", 500)
    read = Counter[str]()
    open_note = Folder.head
    monkeypatch.setattr(
        Folder, "head", lambda self, key, size: (read.update([key]), open_note(self, key, size))[1]
    )
    parts = []
    diff = changes.diff
    monkeypatch.setattr(
        text_run, "diff", lambda *of: (parts.append(len(of[1].notes)), diff(*of))[1]
    )
    notes = {f"Note{n}.md": f"# Note {n}\n\n{'peas ' * 50}" for n in range(8)}
    path = folder_of(tmp_path / "notes", notes)
    bear_index("--no-semantic", path=path)
    assert [title for _, title, _ in stored(sidecar_path)] == [f"Note {n}" for n in range(8)]
    assert parts == [2, 2, 2, 2, 0]
    assert set(read.values()) == {1}
    assert "Nothing has changed in" in bear_index("--no-semantic", path=path).output

    before = ids(sidecar_path)
    (path / "Note0.md").unlink()
    (path / "Note7.md").rename(path / "A note.md")
    changed = [*notes][1:7]
    for name in changed:
        (path / name).write_text(f"{notes[name]} and beans")
    report = bear_index("--no-semantic", path=path).output
    assert "0 notes added, 6 changed, 1 moved, 1 removed" in report
    kept = {name: before[name] for name in changed}
    assert ids(sidecar_path) == kept | {"A note.md": before["Note7.md"]}


def test_a_source_that_fails_in_a_later_part_keeps_what_was_read(
    bear_index: Any, sidecar_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = {f"Note{n}.md": f"# Note {n}\n\n{'peas ' * 50}" for n in range(6)}
    path = folder_of(tmp_path / "notes", notes | {"Old.md": "# Old"})
    bear_index("--no-semantic", path=path)
    for name, text in notes.items():
        (path / name).write_text(f"{text} and beans")
    (path / "Old.md").unlink()
    monkeypatch.setattr(changes, "MOST_TEXT", 500)
    monkeypatch.setattr(folders, "BATCH_BYTES", 1)
    with monkeypatch.context() as patch:
        open_note = Folder.head

        def head(self: Folder, key: str, size: int) -> bytes:
            if key == "Note3.md":
                raise SourceError("The drive was pulled out.")
            return open_note(self, key, size)

        patch.setattr(Folder, "head", head)
        rebuilding = bear_index("--no-semantic", "--rebuild", path=path, fails=True)
        assert "The drive was pulled out." in rebuilding.output
        assert ids(sidecar_path).keys() == {*notes, "Old.md"}
        result = bear_index("--no-semantic", path=path, fails=True)
    assert "The drive was pulled out." in result.output
    with closing(database.connect(sidecar_path)) as connection:
        sql = "select key, body like '%beans' from notes order by key"
        found = dict(connection.execute(sql).fetchall())
    assert found == {name: name < "Note2.md" for name in notes} | {"Old.md": False}
    report = bear_index("--no-semantic", path=path).output
    assert "0 notes added, 4 changed, 1 removed" in report
