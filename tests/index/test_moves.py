"""A renamed or moved note stays the same note, and no text is embedded twice.

Tests ``index/file/notes.py``, ``index/file/passages.py`` and ``index/run/changes.py``.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.evaluation import judgments
from datasette_bear_search.index.file import database, nearest
from datasette_bear_search.index.file import passages as stored_passages
from datasette_bear_search.index.run import language_detection
from datasette_bear_search.sqlite import sqlite3
from tests.support.index_files import rows
from tests.support.note_folders import vault, write_files
from tests.support.tiny_embedder import TinyEmbedder

NOTES = {f"work/n{n}.md": f"# Note {n}\n\nThe text of note {n}." for n in range(5)}


@pytest.fixture
def run(sidecar_path):
    """Run ``datasette bear-index`` with these arguments, and return what it prints."""

    def command(*arguments: object) -> str:
        line = ["bear-index", "--sidecar", str(sidecar_path), *map(str, arguments)]
        result = CliRunner().invoke(cli, line, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return command


@pytest.fixture
def notes(tmp_path: Path, run) -> Path:
    folder = write_files(tmp_path / "notes", {**NOTES, "other.md": "# Other\n\nStays."})
    run(folder)
    return folder


@pytest.fixture
def select(sidecar_path):
    return partial(rows, sidecar_path)


@pytest.fixture
def embedded(monkeypatch) -> list[str]:
    """Record the texts of documents that are embedded from now on."""
    texts: list[str] = []
    encode = TinyEmbedder.encode

    def watched(self, batch, *, is_query):
        texts.extend([] if is_query else batch)
        return encode(self, batch, is_query=is_query)

    monkeypatch.setattr(TinyEmbedder, "encode", watched)
    return texts


def ids(select) -> dict[str, int]:
    return dict(select("select title, id from notes"))


def test_notes_that_link_into_a_renamed_folder_are_not_cut_anew(
    tmp_path: Path, run, select, monkeypatch
) -> None:
    texts = {"a/one.md": "See [[two]].", "a/two.md": "Two.", "hub.md": "See [[one]], [[two]]."}
    folder = vault(tmp_path / "vault", texts)
    run(folder)
    links = "select note_id, target_id from links order by 1, 2"
    linked, text = select(links), select("select * from passages join _lines using (note_id)")
    for made_of_text in ("passages", "line_hashes"):
        monkeypatch.setattr(stored_passages, made_of_text, None)
    monkeypatch.setattr(language_detection, "_language", None)
    (folder / "a").rename(folder / "c")
    assert "0 notes added, 0 changed, 2 moved" in run()
    assert select(links) == linked
    assert select("select * from passages join _lines using (note_id)") == text


def test_links_by_name_lead_to_a_moved_note_and_those_by_path_are_looked_up_again(
    tmp_path: Path, run, select
) -> None:
    texts = {"a/two.md": "Two.", "name.md": "See [[two]].", "path.md": "See [it](a/two.md)."}
    folder = vault(tmp_path / "vault", texts)
    run(folder)

    def linked() -> list[tuple]:
        sql = "select notes.key, target_key, target_id is null from links join notes on "
        return select(f"{sql} notes.id = note_id order by 1")

    (folder / "a").rename(folder / "c")
    assert "Read 2 of 3 notes" in run()
    assert linked() == [("name.md", "c/two.md", 0)]
    (folder / "c").rename(folder / "a")
    write_files(folder, {"two.md": "Another."})  # nearer to the linking note
    assert "Read 4 notes" in run()
    assert linked() == [("name.md", "two.md", 0), ("path.md", "a/two.md", 0)]
    (folder / "two.md").unlink()
    run()
    assert linked() == [("name.md", "a/two.md", 0), ("path.md", "a/two.md", 0)]


def test_a_link_works_again_when_the_moved_note_comes_back_as_a_copy(
    tmp_path: Path, run, select
) -> None:
    folder = vault(tmp_path / "vault", {"two.md": "Two.", "name.md": "See [[two]]."})
    run(folder)
    (folder / "c").mkdir()
    (folder / "two.md").rename(folder / "c" / "two.md")
    run()
    write_files(folder, {"two.md": "Two."})
    run()
    assert select("select target_key from links") == [("two.md",)]


def test_notes_in_a_renamed_folder_stay_what_they_are(
    notes: Path, run, select, sidecar_path, embedded
) -> None:
    before, vectors_before = ids(select), select("select * from _vectors order by 1")
    with closing(sqlite3.connect(sidecar_path)) as connection, connection:
        judgments.store(connection, "text", "notes", "work/n3.md", 1)
    (notes / "work").rename(notes / "job")
    assert "0 notes added, 0 changed, 5 moved, 0 removed" in run()
    assert ids(select) == before
    assert select("select * from _vectors order by 1") == vectors_before
    assert embedded == []
    assert select("select key from judgments") == [("job/n3.md",)]
    assert select("select distinct tags from notes where title != 'Other'") == [('["job"]',)]
    assert select("select title from notes_fts where notes_fts match 'work'") == []
    assert b"work/n" not in sidecar_path.read_bytes()


def test_a_folder_that_is_given_at_its_new_place_is_the_same_source(
    notes: Path, tmp_path: Path, run, select, embedded
) -> None:
    before, place = ids(select), tmp_path / "moved" / notes.name
    place.parent.mkdir()
    notes.rename(place)
    assert "0 notes added, 0 changed, 0 removed" in run(place)
    assert select("select name, location from sources") == [("notes", str(place))]
    assert (ids(select), embedded) == (before, [])


def test_a_folder_of_the_same_name_as_one_that_is_there_is_another_source(
    notes: Path, tmp_path: Path, run, select
) -> None:
    run(write_files(tmp_path / "other" / notes.name, {"a.md": "x"}))
    assert select("select name from sources order by 1") == [("notes",), ("notes-2",)]


def test_a_folder_on_a_drive_that_is_away_keeps_its_source(tmp_path: Path, run, select) -> None:
    drive = tmp_path / "drive"
    run(write_files(drive / "diary", {"a.md": "of the drive"}))
    drive.rename(tmp_path / "away")
    run(write_files(tmp_path / "other" / "diary", {"b.md": "x"}))
    assert select("select name from sources order by 1")[:2] == [("diary",), ("diary-2",)]
    assert select("select count(*) from notes where body like '%of the drive%'") == [(1,)]


def test_notes_with_the_same_text_are_told_apart_by_their_files(
    tmp_path: Path, run, select
) -> None:
    names = ["a/1.md", "a/2.md", "b/1.md", "b/empty.md", "c/empty.md", "d/empty.md"]
    same = {name: "" if "empty" in name else "The same." for name in names}
    folder = vault(tmp_path / "vault", {**same, "x.md": ""})
    run(folder, "--no-semantic")
    before = dict(select("select key, id from notes"))
    for name in ("a", "b", "c"):
        (folder / name).rename(folder / f"new {name}")
    (folder / "d/empty.md").unlink()
    assert "5 moved, 1 removed" in run()
    after = dict(select("select key, id from notes"))
    assert after == {"x.md": before["x.md"]} | {
        f"new {key}": before[key] for key in before if key[0] in "abc"
    }


def test_a_new_note_is_not_taken_for_one_that_is_gone(notes: Path, run, select) -> None:
    before = ids(select)
    (notes / "work/n1.md").unlink()
    (notes / "other.md").unlink()
    write_files(notes, {"work/n9.md": "# Note 9\n\nAnother text."})
    assert "1 note added, 0 changed, 2 removed" in run()
    assert ids(select)["Note 9"] == max(before.values()) + 1  # and ids aren't reused


def test_text_that_is_embedded_is_not_embedded_again(
    notes: Path, tmp_path: Path, run, select, embedded
) -> None:
    copies = write_files(tmp_path / "copies", {**NOTES, "a.md": "# A\n\nTwice.", "b/a.md": "x"})
    write_files(copies, {"b/a.md": "# A\n\nTwice."})
    run(copies)
    assert embedded == ["A\nTwice."]
    assert select("select count(*) from passages where vector_state = 'pending'") == [(0,)]
    assert select("select count(distinct vector), count(*) from _vectors") == [(7, 13)]

    # The note now exists only in the other source, and isn't embedded again.
    (notes / "other.md").unlink()
    write_files(copies, {"other.md": "# Other\n\nStays."})
    run()
    assert embedded == ["A\nTwice."]


def test_a_vector_whose_text_is_gone_is_not_kept(notes: Path, run, select, embedded) -> None:
    (notes / "other.md").unlink()
    run()
    write_files(notes, {"other.md": "# Other\n\nStays."})
    run()
    assert embedded == ["Other\nStays."]


def test_ids_survive_a_rebuild(notes: Path, run, select) -> None:
    before = dict(select("select key, id from notes"))
    (notes / "work/n0.md").unlink()
    write_files(notes, {"a-new-one.md": "# New\n\nText"})
    run("--rebuild")
    after = dict(select("select key, id from notes"))
    assert after.pop("a-new-one.md") == max(before.values()) + 1
    del before["work/n0.md"]
    assert after == before


def test_a_vector_moved_within_vec0_is_found(notes: Path, sidecar_path, run) -> None:
    (notes / "other.md").rename(notes / "moved.md")
    run()
    embedder = TinyEmbedder("tiny")
    [query] = embedder.embed_queries(["Other Stays"])
    with closing(database.connect(sidecar_path)) as connection:
        [[passage_id, _]] = nearest.nearest(connection, query, 1)
        sql = "select title from notes join passages on note_id = notes.id where passages.id = ?"
        assert connection.execute(sql, [passage_id]).fetchone() == ("Other",)
