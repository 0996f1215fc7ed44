"""Every interface accepts a note's source and key, or its file, as well as its id."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from mcp import Client

from datasette_bear_search import Library
from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.library import NoteNotFound
from datasette_bear_search.notes import Note
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.notes.detail import find_note_id
from datasette_bear_search.search.sql_search import similar_notes
from tests.support.note_folders import write_files

FILES = {"work/tea.md": "# Tea\n\nLeaves. #hot", "jam.md": "# Jam\n\nLeaves, too. #hot"}
# As programs on macOS write it: e and an accent.
CAFE = unicodedata.normalize("NFD", "Café")
NAMES = ["notes:work/tea.md", "{folder}/work/tea.md", "{id}", "{id}.0"]


@pytest.fixture
def folder(tmp_path: Path, bear_index) -> Path:
    folder = write_files(tmp_path / "notes", FILES)
    bear_index(path=folder)
    return folder


@pytest.fixture
def spelled(folder: Path, sidecar_path):
    with open_sidecar(sidecar_path) as connection:
        sql = "select id from notes where title = 'Tea'"
        [note_id] = connection.execute(sql).fetchone()
    return lambda name: name.format(folder=folder, id=note_id)


@pytest.mark.parametrize("name", NAMES)
def test_sql_takes_any_name(spelled, sidecar_path, name: str) -> None:
    with open_sidecar(sidecar_path) as connection:
        assert [row["title"] for row in similar_notes(connection, spelled(name))] == ["Jam"]


@pytest.mark.parametrize("name", [
    "", ":", "notes:", "notes:tea.md", "other:jam.md", "/jam.md", "-1", "9" * 30, "\0:\0", "\ud800",
])  # fmt: skip
def test_a_name_of_no_note_finds_none(spelled, sidecar_path, name: str) -> None:
    with open_sidecar(sidecar_path) as connection:
        assert find_note_id(connection, name) == 0


@pytest.mark.parametrize(
    "name",
    ["{folder}/work/Café.md", f"{{folder}}/work/{CAFE}.md", "{folder}/WORK/café.MD"],
)
def test_the_name_of_a_file_may_be_written_otherwise(
    tmp_path: Path, bear_index, sidecar_path, name: str
) -> None:
    folder = write_files(tmp_path / "notes", {f"work/{CAFE}.md": "# Coffee", "a.md": "# A"})
    bear_index(path=folder)
    library = Library(sidecar_path)
    assert library.note(path=name.format(folder=folder)).title == "Coffee"
    assert library.note(f"notes:work/{CAFE}.md").title == "Coffee"


def test_a_key_may_end_like_a_real(tmp_path) -> None:
    library = Library(tmp_path / "notes.db")
    library.add(Note("v2", "Older"), Note("v2.0", "Newer"))
    assert library.note("added:v2.0").title == "Newer"


def test_the_name_of_a_file_may_have_bytes_that_are_not_unicode(tmp_path, bear_index, sidecar_path):
    (tmp_path / "notes").mkdir()
    file = tmp_path / "notes" / os.fsdecode(b"caf\xe9.md")
    try:
        file.write_text("# Coffee")
    except OSError:
        pytest.skip("this file system allows no such names")
    bear_index(path=file.parent)
    assert Library(sidecar_path).note(path=file).title == "Coffee"


def test_a_name_like_those_of_two_files_is_taken_as_written(tmp_path, bear_index, sidecar_path):
    folder = write_files(tmp_path / "notes", {"Roof.md": "# A", "roof.md": "# B", "ROOF.MD": "# C"})
    if len(list(folder.iterdir())) < 3:
        pytest.skip("this file system doesn't distinguish capitals")
    bear_index(path=folder)
    library = Library(sidecar_path)
    assert library.note(path=folder / "roof.md").title == "B"
    with pytest.raises(NoteNotFound):
        library.note(path=folder / "rOOf.md")


@pytest.mark.parametrize("name", [*NAMES, "notes/work/tea.md"])
def test_the_terminal_takes_any_name(
    spelled, tmp_path: Path, sidecar_path, monkeypatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["bear-search", "--sidecar", str(sidecar_path), "--similar", spelled(name)]
    result = CliRunner().invoke(cli, line)
    assert "Notes similar to Tea" in result.output


@pytest.mark.asyncio
async def test_agents_may_name_a_note_in_any_way(spelled, sidecar_path) -> None:
    async with Client(server.build_server(AgentLibrary(sidecar_path))) as client:
        for name in map(spelled, NAMES):
            read = await client.call_tool("get_notes", {"ids": [name]})
            assert [note["title"] for note in read.structured_content["notes"]] == ["Tea"]
            alike = await client.call_tool("similar_notes", {"id": name})
            assert [note["title"] for note in alike.structured_content["notes"]] == ["Jam"]


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_an_address_may_name_a_note_in_any_way(folder: Path, spelled, sidecar_path) -> None:
    client = Datasette([str(sidecar_path)], settings={"base_url": "/base/"}).client
    for query in ("source=notes&key=work%2Ftea.md", f"path={folder}/work/tea.md"):
        for page, form in (("note", ""), ("note", ".json"), ("note", ".md"), ("similar", ".json")):
            response = await client.get(f"/-/bear-search/{page}{form}?{query}&q=a+b")
            address = f"/base/-/bear-search/{page}/{spelled('{id}')}{form}?q=a+b"
            assert (response.status_code, response.headers["location"]) == (302, address)
    assert (await client.get("/-/bear-search/note?source=notes&key=no.md")).status_code == 404
    assert (await client.get("/-/bear-search/note")).status_code == 404
