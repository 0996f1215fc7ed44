"""The images and files that notes link to, where they are, and the words of PDFs.

Tests ``sources/formats/pdf.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceError, Unchanged, Unreadable
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sources.bear.backup import BearBackup
from datasette_bear_search.sources.files.file_source import open_below
from datasette_bear_search.sources.folders.logseq import LogseqGraph
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault
from datasette_bear_search.sources.formats import pdf
from tests.support import attached
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import bear_library
from tests.support.exports import zip_of
from tests.support.note_folders import graph, vault, write_files

PNG = attached.png()
PERMIT = attached.pdf("Fee paid", "Shoreland zone setback")


def places(note: Note) -> dict[str, str]:
    return {file.target: file.place for file in note.linked_files}


def content(source, note: Note) -> set[bytes]:
    found = set()
    for file in note.linked_files:
        with source.open_linked(file.place) as stream:
            found.add(stream.read())
    return found


# --- Where they are


def test_a_vaults_files_are_found_beside_the_note_and_by_their_names(tmp_path: Path) -> None:
    vault(
        tmp_path,
        {
            "Cabin/Roof.md": "![[roof.png|300]] ![](plan%20a.png) [[permit.pdf#page=2]] ![[x.png]]",
            "files/roof.png": PNG,
            "Cabin/plan a.png": PNG,
            "files/permit.pdf": PERMIT,
            "files/unused.png": PNG,
        },
    )
    source = ObsidianVault(tmp_path)
    [note] = source.read()
    assert places(note) == {
        "roof.png": "files/roof.png",
        "plan a.png": "Cabin/plan a.png",
        "permit.pdf": "files/permit.pdf",
    }
    assert content(source, note) == {PNG, PERMIT}


def test_a_graphs_files_are_found_in_its_assets_but_pages_are_not_files(tmp_path: Path) -> None:
    files = {"pages/A.md": "- ![x](../assets/a.png)", "assets/a.png": PNG, "assets/b.md": "no page"}
    source = LogseqGraph(graph(tmp_path, files))
    [note] = source.read()
    assert places(note) == {"../assets/a.png": "assets/a.png"}
    assert content(source, note) == {PNG}


BUNDLE = {"text.md": "# Roof\n\n![](assets/roof.png) ![](assets/no.png) ![](text.md)",
          "info.json": {"version": 2}, "assets/roof.png": PNG}  # fmt: skip


@pytest.mark.parametrize("where", ["Roof.textpack", "old.bear2bk", "folder", "Roof.textbundle"])
def test_the_assets_of_bundles_are_read_where_they_are(tmp_path: Path, where: str) -> None:
    inside = {f"Roof.textbundle/{name}": content for name, content in BUNDLE.items()}
    if where == "folder":  # an archive inside a folder
        path = zip_of(tmp_path / "folder" / "new.bear2bk", inside).parent
    elif where.endswith(".textbundle"):
        path = write_files(
            tmp_path / where,
            {name: "{}" if name == "info.json" else data for name, data in BUNDLE.items()},
        )
    else:
        path = zip_of(tmp_path / where, inside)
    source = BearBackup(path)
    [note] = source.read()
    [file] = note.linked_files
    assert file.target == "assets/roof.png"
    assert content(source, note) == {PNG}


def test_a_pack_in_a_backup_is_read_without_unpacking(tmp_path: Path) -> None:
    pack = zip_of(tmp_path / "Roof.textpack", BUNDLE).read_bytes()
    source = BearBackup(zip_of(tmp_path / "all.bear2bk", {"Roof.textpack": pack}))
    [note] = source.read()
    assert places(note) == {"assets/roof.png": "Roof.textpack/assets/roof.png"}
    assert content(source, note) == {PNG}
    assert len(os.listdir(tmp_path)) == 2


def bear(folder: Path, *files: BearFile, **options) -> Path:
    text = "# Permit\n\n" + " ".join(f"![]({file.name})" for file in files)
    return bear_library(folder / "database.sqlite", [BearNote(text, files=files, **options)])


def test_bears_files_lie_beside_its_database(tmp_path: Path) -> None:
    names = BearFile("roof.png"), BearFile("permit.pdf", kind="file"), BearFile("cloud.png")
    library = bear(tmp_path, *names, BearFile("old.png", unused=True))
    attached.local_file(library, "roof.png", PNG)
    attached.local_file(library, "permit.pdf", PERMIT)
    attached.local_file(library, "old.png", PNG)
    for location in (library, tmp_path):
        source = BearLibrary(location)
        [note] = source.read()
        assert [*places(note)] == ["roof.png", "permit.pdf"]
        assert content(source, note) == {PNG, PERMIT}


def test_an_encrypted_note_has_no_files(tmp_path: Path) -> None:
    library = bear(tmp_path, BearFile("permit.pdf", kind="file"), encrypted=True)
    attached.local_file(library, "permit.pdf", PERMIT)
    [note] = BearLibrary(library).read()
    assert (note.linked_files, note.attachments) == ((), "")


# --- Nothing else is opened


def test_no_file_outside_a_folder_and_no_symbolic_link_is_opened(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret.png": b"secret", "vault/a/b.png": b"ours", "vault/pipe/x": b""})
    (tmp_path / "vault" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "vault" / "inside.png").symlink_to(tmp_path / "vault" / "a" / "b.png")
    (tmp_path / "vault" / "out").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "vault" / "fifo.png")
    (tmp_path / "linked vault").symlink_to(tmp_path / "vault")
    for root in ("vault", "linked vault"):
        with open_below(tmp_path / root, "a/b.png") as stream:
            assert stream.read() == b"ours"
    for place in (
        "../secret.png", "a/../../secret.png", "./a/b.png", "a//b.png", "/etc/passwd", "", ".",
        str(tmp_path / "secret.png"), "link.png", "inside.png", "out/secret.png", "fifo.png", "a",
        "a\\b.png", "..\\secret.png", "a/b.png\0.txt", "C:/secret.png", "C:secret.png",
        "a/b.png/c", "none.png", "%2e%2e/secret.png", "x" * 5000, "\udcff.png",
    ):  # fmt: skip
        with pytest.raises((Unreadable, SourceError)):
            open_below(tmp_path / "vault", place)


def test_only_files_inside_an_archive_are_read(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.bear2bk", {"a.png": PNG, "../b.png": PNG, "bomb.png": b"0" * 2**25})
    for place in ("../b.png", "b.png", "a.png/x", "bomb.png"):
        with pytest.raises((Unreadable, SourceError)):
            open_below(path, place)
    with pytest.raises(Unreadable):
        open_below(path, "")


# --- The words of PDFs


def test_a_pdf_is_read_by_page(tmp_path: Path) -> None:
    vault(tmp_path, {"A.md": "[[permit.pdf]]", "permit.pdf": PERMIT})
    [note] = ObsidianVault(tmp_path).read()
    assert note.attachment_names == ("permit.pdf, page 1", "permit.pdf, page 2")
    assert note.attachments == "Fee paid\fShoreland zone setback"


def test_bears_own_text_of_a_pdf_stands_where_it_has_none(tmp_path: Path) -> None:
    scan = BearFile("scan.pdf", "scanned words", kind="file")
    permit = BearFile("permit.pdf", "PERMlT", kind="file")
    library = bear(tmp_path, BearFile("roof.png", "ridge"), permit, scan)
    attached.local_file(library, "permit.pdf", PERMIT)
    attached.local_file(library, "scan.pdf", attached.pdf_of(b""))
    [note] = BearLibrary(library).read()
    assert [*zip(note.attachment_names, note.attachments.split("\f"))] == [
        ("roof.png", "ridge"),
        ("permit.pdf, page 1", "Fee paid"),
        ("permit.pdf, page 2", "Shoreland zone setback"),
        ("scan.pdf", "scanned words"),
    ]


def test_without_the_extra_one_line_says_what_is_left_out(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pdf, "is_installed", lambda: False)
    vault(tmp_path, {"A.md": "[[a.pdf]] [[b.pdf]]", "a.pdf": PERMIT, "b.pdf": PERMIT})
    source = ObsidianVault(tmp_path)
    [note] = source.read()
    assert (note.attachments, len(note.linked_files)) == ("", 2)
    [line] = source.skipped
    assert "datasette-bear-search[pdf]" in line


BOMB = attached.pdf_of(b"BT /F1 12 Tf " + b"(hello world) Tj " * 500_000 + b"ET")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"hello", "damaged"),
        (PERMIT[:300], "damaged"),
        (attached.pdf_of(b"", kids=b"2 0 R"), "damaged"),
        (BOMB, "time"),
    ],
)
def test_a_broken_pdf_is_a_line_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch, data: bytes, reason: str
) -> None:
    monkeypatch.setattr(pdf, "SECONDS", 2)
    vault(tmp_path, {"A.md": "Words [[bad.pdf]] [[good.pdf]]", "bad.pdf": data, "good.pdf": PERMIT})
    source = ObsidianVault(tmp_path)
    [note] = source.read()
    [line] = source.skipped
    assert line.startswith("bad.pdf: ")
    assert reason in line
    assert len(note.attachment_names) == 2


def test_a_pdf_that_crashes_the_reader_ends_only_its_process(monkeypatch) -> None:
    monkeypatch.setattr(pdf, "_start", lambda start=pdf._start: crashed(start()))

    def crashed(process):
        process.kill()
        process.wait()
        return process

    with pytest.raises(Unreadable):
        pdf.pages(PERMIT)
    monkeypatch.undo()
    assert pdf.pages(PERMIT) == ["Fee paid", "Shoreland zone setback"]


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("thermo\u2010\r\nstat", "thermostat"),
        ("Gewächs\u00ad\nhaus", "Gewächshaus"),
        ("Nord\u2010\nSüd", "Nord\u2010\nSüd"),
    ],
)
def test_words_broken_at_a_lines_end_are_whole(text: str, joined: str) -> None:
    assert pdf._joined(text) == joined


# --- Changes


def changed(folder: Path, before: dict[str, Note]) -> list[str]:
    stamps = {key: note.stamp for key, note in before.items()}
    found = MarkdownFolder(folder).read_changed(stamps)
    return [note.key for note in found if not isinstance(note, Unchanged)]


def test_a_note_is_read_again_when_its_file_changes_comes_or_goes(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.md": "![](a.pdf) [b](sub/b.pdf)", "b.md": "[x](c.pdf)", "c.pdf": PERMIT}
    )

    def read() -> dict[str, Note]:
        return {note.key: note for note in MarkdownFolder(tmp_path).read()}

    before = read()
    assert changed(tmp_path, before) == []
    write_files(tmp_path, {"a.pdf": PERMIT, "sub/z.png": PNG})
    assert changed(tmp_path, before) == ["a.md"]
    before = read()
    assert changed(tmp_path, before) == []
    write_files(tmp_path, {"a.pdf": attached.pdf("Another")})
    assert changed(tmp_path, before) == ["a.md"]
    before = read()
    state = MarkdownFolder(tmp_path).state()
    (tmp_path / "c.pdf").unlink()
    assert MarkdownFolder(tmp_path).state() != state
    assert changed(tmp_path, before) == ["b.md"]
    assert read()["b.md"].attachments == ""
