"""Folders of notes in the index, from the command to the table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from datasette_bear_search.index import database
from tests.support.note_folders import graph, vault, write_files


@pytest.fixture
def rows(sidecar_path):
    """What a statement finds in the sidecar."""

    def select(sql: str, *parameters: object) -> list[tuple]:
        with closing(database.connect(sidecar_path)) as connection:
            return connection.execute(sql, parameters).fetchall()

    return select


FOUND = "select title from notes_fts where notes_fts match ? order by title"


def test_a_vault_is_found_by_its_words_aliases_and_tags(tmp_path: Path, bear_index, rows) -> None:
    notes = vault(
        tmp_path / "vault",
        {
            "Tomatoes.md": "---\naliases: Pomodori\ntags: garden\n---\nWater daily, see [[Roof]].",
            "Work/Roof.md": "# Roof\n\nShingles #cabin",
        },
    )
    bear_index("--no-semantic", path=notes)
    for words, titles in {
        "shingles": ["Roof"],
        "pomodori": ["Tomatoes"],
        "garden": ["Tomatoes"],
    }.items():
        assert rows(FOUND, words) == [(title,) for title in titles]
    assert rows(
        "select origin.title, target.title from links join notes as origin on origin.id = note_id "
        "join notes as target on target.id = target_id"
    ) == [("Tomatoes", "Roof")]
    assert rows("select url from notes where title = 'Roof'") == [
        ("obsidian://open?vault=vault&file=Work%2FRoof",)
    ]


def test_text_that_left_a_file_leaves_the_index(
    tmp_path: Path, bear_index, rows, sidecar_path
) -> None:
    notes = write_files(tmp_path / "notes", {"a.md": "the xyzzy word", "b.md": "plugh", "c.md": ""})
    bear_index("--no-semantic", path=notes)
    write_files(notes, {"a.md": "another word"})
    (notes / "b.md").unlink()
    result = bear_index("--no-semantic", path=notes)
    assert "0 notes added, 1 changed, 1 removed" in result.output
    assert rows(FOUND, "xyzzy OR plugh") == []
    assert b"xyzzy" not in sidecar_path.read_bytes()


def test_a_second_run_opens_only_what_changed(tmp_path: Path, bear_index, rows) -> None:
    pages = graph(tmp_path / "graph", {f"pages/p{number}.md": "- tea" for number in range(9)})
    bear_index("--no-semantic", path=pages)
    write_files(pages, {"pages/p3.md": "- coffee"})
    result = bear_index("--no-semantic", path=pages)
    assert "Read 1 of 9 notes" in result.output
    assert rows(FOUND, "coffee") == [("p3",)]


def test_what_is_left_out_is_told(tmp_path: Path, bear_index) -> None:
    notes = write_files(tmp_path / "notes", {"a.md": "", "b.md": b"\x89PNG\r\n\x1a\n" + bytes(99)})
    assert "b.md: not text" in bear_index("--no-semantic", path=notes).output


def test_a_folder_that_is_gone_keeps_its_notes_in_the_index(
    tmp_path: Path, bear_index, rows
) -> None:
    notes = write_files(tmp_path / "notes", {"a.md": "xyzzy"})
    bear_index("--no-semantic", path=notes)
    notes.rename(tmp_path / "elsewhere")
    assert "There is nothing at" in bear_index("--no-semantic", path=notes, fails=True).output
    assert rows(FOUND, "xyzzy") == [("a",)]
