"""Exports of other apps, indexed with ``datasette bear-index`` and found."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.index import changes, database
from tests.sources.test_bear_backup import bundle
from tests.sources.test_slack import EXPORT, says
from tests.sources.test_sql_examples import EXAMPLES
from tests.sources.test_takeout import docx, paragraph
from tests.support.exports import folder_of, zip_of

NOTES = {
    "Notes.bear2bk": bundle("A", "# Peas\n#garden\n\nSow in March."),
    "slack.zip": {**EXPORT, "garden/2024-05-01.json": [says("Sow peas in March")]},
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


def test_an_export_that_is_gone_takes_none_of_its_notes_along(
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


def test_what_does_not_fit_into_memory_is_read_in_the_same_run(
    bear_index: Any, sidecar_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST_TEXT", 500)
    kept = []
    take_in = changes._take_in
    monkeypatch.setattr(
        changes,
        "_take_in",
        lambda snapshot, *rest: (take_in(snapshot, *rest), kept.append(len(snapshot.notes))),
    )
    notes = {f"Note{n}": f"# Note {n}\n\n{'peas ' * 50}" for n in range(4)}
    path = folder_of(tmp_path / "notes", {f"{name}.md": text for name, text in notes.items()})
    bear_index("--no-semantic", path=path)
    assert [title for _, title, _ in stored(sidecar_path)] == [
        "Note 0",
        "Note 1",
        "Note 2",
        "Note 3",
    ]
    assert kept == [1, 1, 1, 1]
    assert "Nothing has changed in" in bear_index("--no-semantic", path=path).output
    for name, text in notes.items():
        (path / f"{name}.md").write_text(f"{text} and beans")
    bear_index("--no-semantic", path=path)
    with closing(database.connect(sidecar_path)) as connection:
        [[found]] = connection.execute("select count(*) from notes where body like '%and beans'")
    assert found == 4
