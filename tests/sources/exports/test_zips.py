"""Zip files of notes, Notion's export among them: ``sources/exports/zips.py``.

Tests ``sources/exports/``.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import Unchanged
from datasette_bear_search.sources.exports import zips
from datasette_bear_search.sources.exports.zips import NotesZip
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.exports import content, encrypt, zip_of

HOME, TASKS, ROOF, TWIN, OTHER = (f"{digit}" * 32 for digit in "1234a")
TABLE = """\ufeffName,Created,Status,Tags
Roof fix,"May 1, 2024 9:30 AM",a|b,"raised beds, b"
Gone,,,
"""
NOTION = {
    f"Export-0a/Home {HOME}.md": f"# Home\n\n[Tasks](Home%20{HOME}/Tasks%20{TASKS}.csv) and "
    f"[Fix](Home%20{HOME}/Tasks%20{TASKS}/Roof%20fix%20{ROOF}.md), md5 {OTHER}.",
    f"Export-0a/Home {HOME}/Tasks {TASKS}.csv": "\ufeffName\nRoof fix\n",
    f"Export-0a/Home {HOME}/Tasks {TASKS}_all.csv": TABLE,
    f"Export-0a/Home {HOME}/Tasks {TASKS}/Roof fix {ROOF}.md": "# Roof fix\n\nCreated: May 1, 2024"
    " 9:30 AM\nStatus: In work\nTags: raised beds, b\n\nBudget: none\n\nIt leaks.",
    f"Export-0a/Home {HOME}/Roof.png": b"\x89PNG",
    "Export-0a/index.html": "<title>Export-0a</title>",
}


def inner(files: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, content(value))
    return stream.getvalue()


def notes(path: Path, files: dict[str, Any]) -> dict[str, Note]:
    source = NotesZip(zip_of(path / "notes.zip", files))
    found = {note.key: note for note in source.read()}
    assert source.skipped == []
    return found


def test_plain_texts_alone_are_recognized(tmp_path: Path) -> None:
    assert kind_of(str(zip_of(tmp_path / "notes.zip", {"Tea.txt": "Green"}))) == "zip"


def test_a_downloaded_repository_is_read_like_a_folder(tmp_path: Path) -> None:
    files = {
        "til-main/README.md": "# TIL\n\n[Jar](python/jar.md)",
        "til-main/python/jar.md": "---\ntags: [x]\n---\n# Jar\n\n- [ ] try",
        "til-main/node_modules/a/readme.md": "x",
        "til-main/drafts/b.md": "x",
        "til-main/.github/c.md": "x",
        "til-main/paper.pdf": b"%PDF",
    }
    path = zip_of(tmp_path / "til.zip", files)
    assert kind_of(str(path)) == "zip"
    url = "https://github.com/me/til/blob/main/{path}"
    source = NotesZip(path, exclude=["drafts"], url=url)
    found = {note.key: note for note in source.read()}
    assert found.keys() == {"README.md", "python/jar.md"}
    assert source.skipped == [
        "1 .pdf: this kind of source doesn't read such files",
        "node_modules: such folders of software or templates aren't read",
    ]
    assert [link.key for link in found["README.md"].links] == ["python/jar.md"]
    jar = found["python/jar.md"]
    assert (jar.title, tag_names(jar), jar.todos_open) == ("Jar", ["python", "x"], 1)
    assert (jar.url, jar.modified) == (url.format(path="python/jar.md"), "2024-05-01T09:30:00Z")


@pytest.mark.parametrize("nested", [False, True])
def test_notions_pages_lose_their_ids_and_keep_their_properties(
    tmp_path: Path, nested: bool
) -> None:
    found = notes(tmp_path, {"Export-0a-Part-1.zip": inner(NOTION)} if nested else NOTION)
    home, page = f"Home {HOME}.md", f"Home {HOME}/Tasks {TASKS}/Roof fix {ROOF}.md"
    table = f"Home {HOME}/Tasks {TASKS}_all.csv"
    assert found.keys() == {home, page, table}
    assert found[home].body == (
        f"[Tasks](Home/Tasks.csv) and [Fix](Home/Tasks/Roof%20fix.md), md5 {OTHER}."
    )
    assert {link.key for link in found[home].links} == {table, page}
    roof = found[page]
    assert (roof.title, roof.created) == ("Roof fix", "2024-05-01T09:30:00Z")
    assert roof.body == "- status: In work\n\nBudget: none\n\nIt leaks."
    assert tag_names(roof) == ["Home/Tasks", "b", "raised beds"]
    assert roof.url == f"https://www.notion.so/{ROOF}"
    assert found[table].title == "Tasks"
    assert found[table].body.split("\n")[2:] == [
        "| [Roof fix](<Home/Tasks/Roof fix.md>) | May 1, 2024 9:30 AM | a\\|b | raised beds, b |",
        "| Gone |  |  |  |",
    ]
    assert [link.key for link in found[table].links] == [page]


def test_properties_are_known_in_folders_without_ids(tmp_path: Path) -> None:
    files = {name.replace(f" {TASKS}/", "/"): text for name, text in NOTION.items()}
    found = notes(tmp_path, files)
    roof = found[f"Home {HOME}/Tasks/Roof fix {ROOF}.md"]
    assert (roof.created, tag_names(roof)) == (
        "2024-05-01T09:30:00Z",
        ["Home/Tasks", "b", "raised beds"],
    )
    assert [link.key for link in found[f"Home {HOME}/Tasks {TASKS}_all.csv"].links] == [roof.key]


def test_notions_pages_of_html_have_properties_and_to_dos(tmp_path: Path) -> None:
    row = '<tr class="property-row p-{}"><th><span><svg></svg></span>{}</th><td>{}</td></tr>'
    tags = '<span class="selected-value">raised beds</span><span class="selected-value">b</span>'
    page = (
        f'<title>Roof</title><h1 class="page-title">Roof</h1><table class="properties"><tbody>'
        f"{row.format('date', 'Created', '<time>@January 5, 2024 10:00 AM</time>')}"
        f"{row.format('select', 'Status', '<span>In work</span>')}"
        f"{row.format('multi_select', 'Tags', tags)}</tbody></table><p>It leaks.</p>"
        '<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span>look</span></li>'
        '<li><div class="checkbox checkbox-off"></div> <span>fix</span></li></ul>'
    )
    [note] = notes(tmp_path, {f"Roof {ROOF}.html": page}).values()
    assert (note.created, tag_names(note)) == ("2024-01-05T10:00:00Z", ["b", "raised beds"])
    assert note.body == "- status: In work\n\nIt leaks.\n\n- [x] look\n- [ ] fix"
    assert (note.todos_open, note.todos_done) == (1, 1)


@pytest.mark.parametrize("nested", [False, True])
def test_pictures_in_an_archive_are_shown(tmp_path: Path, nested: bool) -> None:
    files = {**NOTION, f"Export-0a/Home {HOME}.md": f"![](Home%20{HOME}/Roof.png) [[other.png]]"}
    packed = {"Export-0a-Part-1.zip": inner(files)} if nested else files
    home = notes(tmp_path, packed)[f"Home {HOME}.md"]
    [file] = home.linked_files
    assert (file.target, home.has_image) == ("Home/Roof.png", True)
    with NotesZip(tmp_path / "notes.zip").open_linked(file.place) as stream:
        assert stream.read() == b"\x89PNG"


def test_an_archive_of_org_files_is_recognized(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "org.zip", {"a.org": "#+title: Roof\n"})
    assert kind_of(str(path)) == "zip"
    assert [note.title for note in NotesZip(path).read()] == ["Roof"]


def test_pages_of_one_name_keep_their_ids(tmp_path: Path) -> None:
    files = {f"a/Day {name}.md": "# Day" for name in (ROOF, TWIN)}
    files[f"a/Home {HOME}.md"] = f"[Day](Day%20{TWIN}.md)"
    [home] = [note for note in notes(tmp_path, files).values() if note.title != "Day"]
    assert [link.key for link in home.links] == [f"Day {TWIN}.md"]
    assert home.body == f"[Day](Day%20{TWIN}.md)"


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    known = {key: note.stamp or "" for key, note in notes(tmp_path, NOTION).items()}
    state = NotesZip(tmp_path / "notes.zip").state()
    assert NotesZip(tmp_path / "notes.zip").state() == state
    page = next(name for name in NOTION if "Roof fix" in name)
    path = zip_of(tmp_path / "notes.zip", {**NOTION, page: "# Roof fix\n\nIt is dry."})
    assert NotesZip(path).state() != state
    changed = [
        item for item in NotesZip(path).read_changed(known) if item.__class__ is not Unchanged
    ]
    assert [note.title for note in changed if isinstance(note, Note)] == ["Roof fix"]


def test_notes_of_a_packed_vault_are_called_like_their_files(tmp_path: Path) -> None:
    files = {"Vault/.obsidian/app.json": "{}", "Vault/Roof.md": "# Repair\n\nText"}
    assert [note.title for note in notes(tmp_path / "vault.zip", files).values()] == ["Roof"]
    del files["Vault/.obsidian/app.json"]
    assert [note.title for note in notes(tmp_path / "folder.zip", files).values()] == ["Repair"]


def test_an_archive_without_notes_is_not_recognized(tmp_path: Path) -> None:
    for number, files in enumerate(({"a.css": "x", "b.py": "x"}, {"a.zip": inner({"b.png": "x"})})):
        assert not NotesZip.reads(str(zip_of(tmp_path / f"{number}.zip", files)))
    assert not NotesZip.reads(str(zip_of(tmp_path / "a.docx", {"a.md": "x"})))
    bundle = zip_of(
        tmp_path / "u.zip", {"A.textbundle/text.md": "# A", "A.textbundle/info.json": {}}
    )
    assert kind_of(str(bundle)) == "bear-backup"


def test_archives_in_archives_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "LARGEST_PARTS", 2000)
    bomb = inner({"bomb.md": b"0" * 50_000_000})
    files = {
        "a.zip": inner({"a.md": "# A", "b.zip": inner({"b.md": "# B"})}),
        "c.zip": inner({f"{number}.md": "x" for number in range(20)}),
        "d.zip": b"PK",
    }
    source = NotesZip(zip_of(tmp_path / "notes.zip", files))
    assert [note.key for note in source.read()] == ["a.md"]
    assert [line[:6] for line in source.skipped] == ["c.zip:", "d.zip:", "1 .zip"]
    monkeypatch.undo()
    source = NotesZip(zip_of(tmp_path / "notes.zip", {"a.zip": bomb, "b.md": "x"}))
    assert [note.key for note in source.read()] == ["b.md"]
    assert source.skipped == ["bomb.md: larger than 20 MB"]


def test_an_unreadable_table_leaves_all_pages(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "notes.zip", NOTION)
    encrypt(path, next(name for name in NOTION if "_all" in name))
    source = NotesZip(path)
    assert sorted(note.title for note in source.read()) == ["Home", "Roof fix"]
    [line] = source.skipped
    assert line.endswith("_all.csv: encrypted with a password")
