"""Folders of notes in the index, from the command to the table."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from datasette_bear_search.sources.formats import pdf
from tests.support import attached, index_files
from tests.support.bear_database import BearFile, BearNote
from tests.support.note_folders import graph, vault, write_files


@pytest.fixture
def rows(sidecar_path):
    """Return the rows of a statement on the index file."""
    return partial(index_files.rows, sidecar_path)


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


def test_left_out_files_are_listed(tmp_path: Path, bear_index) -> None:
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


def test_a_pdfs_words_are_searchable_as_long_as_it_exists(
    tmp_path: Path, bear_index, rows, sidecar_path
) -> None:
    notes = vault(
        tmp_path / "vault",
        {"Roof.md": "See [[permit.pdf]]", "permit.pdf": attached.pdf("Fee", "Shoreland xyzzy")},
    )
    bear_index("--no-semantic", path=notes)
    assert rows(FOUND, "xyzzy") == [("Roof",)]
    names = "select attachment_names from notes"
    assert rows(names) == [('["permit.pdf, page 1", "permit.pdf, page 2"]',)]
    assert rows("select target, place from _files") == [("permit.pdf", "permit.pdf")]
    write_files(notes, {"permit.pdf": attached.pdf("plugh")})
    bear_index("--no-semantic", path=notes)
    assert (rows(FOUND, "xyzzy"), rows(FOUND, "plugh")) == ([], [("Roof",)])
    assert b"xyzzy" not in sidecar_path.read_bytes()
    (notes / "permit.pdf").unlink()
    bear_index("--no-semantic", path=notes)
    assert rows("select * from _files") == []
    assert b"plugh" not in sidecar_path.read_bytes()


@pytest.mark.parametrize("is_never", [True, False])
def test_a_note_that_is_never_indexed_has_no_files_there(
    tmp_path: Path, bear_index, rows, sidecar_path, monkeypatch, is_never
) -> None:
    files = {"A.md": "#garden [[a.pdf]]", "B.md": "", "a.pdf": attached.pdf("xyzzy")}
    config = tmp_path / "c.yaml"
    folder = vault(tmp_path / "vault", files)
    never = "['#garden']" if is_never else "[]"
    config.write_text(f"sources: [{{location: {folder}, never: {never}}}]")
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_CONFIG", str(config))
    bear_index("--no-semantic", path=folder)
    assert len(rows("select * from _files")) == (not is_never)
    assert (b"xyzzy" in sidecar_path.read_bytes()) is not is_never


def test_a_library_that_changed_reads_no_pdf_again(library, write, bear_index, monkeypatch) -> None:
    files = (BearFile("a.pdf", kind="file"),)
    note = BearNote("# Permit", files=files)
    attached.local_file(write(note), "a.pdf", attached.pdf("Fee paid"))
    bear_index("--no-semantic")
    monkeypatch.setattr(pdf, "pages", None)
    write(note, BearNote("# Another"))
    result = bear_index("--no-semantic")
    assert "1 note added, 0 changed" in result.output
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    write(note)
    assert "datasette-bear-search[pdf]" in bear_index("--no-semantic").output
