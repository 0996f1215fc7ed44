"""Notes that are missing only for now stay in the index; deleted ones leave it."""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search import Library
from datasette_bear_search.index import watch
from datasette_bear_search.index.file import database
from datasette_bear_search.index.run import changes
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.files.archive import Folder
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from tests.support.bear_database import BearNote
from tests.support.datasettes import configured
from tests.support.index_files import ids
from tests.support.note_folders import vault, write_files

FILES = {f"n{number:02}.md": f"# Note {number}\n\nText number {number}." for number in range(30)}
FEW = dict([*FILES.items()][:10])
SUB = {f"sub/{number}.md": f"# Sub {number}\n\nBelow, number {number}." for number in range(5)}


@pytest.fixture
def run(sidecar_path):
    """Run ``datasette bear-index`` on this index; return the result."""

    def command(*arguments: object, status: int = 0):
        line = ["bear-index", "--sidecar", str(sidecar_path), "--no-semantic", *map(str, arguments)]
        result = CliRunner().invoke(cli, line, catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return command


@pytest.fixture
def stored(sidecar_path):
    """Return the ids of the notes in the index, by key."""
    return partial(ids, sidecar_path)


@pytest.fixture
def later(monkeypatch):
    """Let the next reading be some minutes later than those before."""

    def pass_by() -> None:
        monkeypatch.setattr(changes, "SECONDS_TO_CONFIRM", 0)

    return pass_by


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


# --- a source that is hollow

HOLLOW = {
    "nothing": {},
    "what Finder leaves": {".DS_Store": "x"},
    "the app's settings": {".obsidian/app.json": "{}"},
    "an empty disk": {"lost+found/": ""},
    "files that are no notes": {"a.png": "x", "big.md": b"x" * (21 * 1024 * 1024)},
    "empty folders": {"sub/": "", "work/old/": ""},
}


@pytest.mark.parametrize("left", HOLLOW)
def test_a_folder_without_any_note_keeps_its_notes_until_a_person_confirms(
    tmp_path, run, stored, left
):
    notes = write_files(tmp_path / "notes", FEW)
    run(notes)
    before = stored()
    empty(notes)
    for path, content in HOLLOW[left].items():
        if path.endswith("/"):
            (notes / path).mkdir(parents=True)
        else:
            write_files(notes, {path: content})
    for options in ((), ("--rebuild",)):
        output = run(*options, status=1).output
        assert "its 10 notes in the index stay searchable" in output
        assert "--yes --only notes" in output
    assert stored() == before
    assert "10 removed" in run("--yes").output
    assert stored() == {}


def test_a_file_or_database_without_any_note_keeps_its_notes(tmp_path, run, stored, write):
    archive = tmp_path / "notes.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.md", "# A")
    library = write(BearNote("# Bear"))
    data = write_files(tmp_path, {"rows.json": '[{"id": 1, "text": "row"}]'}) / "rows.json"
    fields = {"key": "id", "body": "text"}
    sources = [{"kind": "json", "location": str(data), "fields": fields}]
    sources += [{"location": str(archive)}, {"location": str(library)}]
    settings = write_files(tmp_path, {"s.yaml": json.dumps({"sources": sources})}) / "s.yaml"
    run("--config", settings)
    before = stored()
    assert len(before) == 3
    data.write_text("[]")
    with zipfile.ZipFile(archive, "w"):
        pass
    write()
    assert run("--config", settings, status=1).output.count("stay searchable") == 3
    assert stored() == before
    run("--config", settings, "--yes")
    assert stored() == {}


def test_the_page_and_the_doctor_say_that_a_source_has_no_notes_left(tmp_path, run, sidecar_path):
    import asyncio

    notes = write_files(tmp_path / "notes", FEW)
    run(notes)
    empty(notes)
    write_files(notes, {".DS_Store": ""})
    run(status=1)
    page = asyncio.run(configured([sidecar_path], {}).client.get("/-/bear-search")).text
    doctor = CliRunner().invoke(cli, ["bear-doctor", "--sidecar", str(sidecar_path)]).output
    for text in (page, doctor, run("--list").output):
        assert "10 notes in the index stay searchable" in text


def test_the_last_note_leaves_with_a_tag_that_is_never_indexed(tmp_path, run, stored):
    notes = write_files(tmp_path / "notes", {"a.md": "#secret text"})
    run(notes)
    settings = write_files(tmp_path, {"s.yaml": "never_index_tags: [secret]"}) / "s.yaml"
    run("--config", settings)
    assert stored() == {}


def test_the_last_note_of_bear_leaves_with_the_trash(write, run, stored):
    note = BearNote("# Bear")
    run(write(note))
    write(replace(note, trashed=True))
    run()
    assert stored() == {}


# --- files that are only in a cloud


def evict(*files: Path) -> None:
    for file in files:
        file.rename(file.with_name(f".{file.name}.icloud"))


def come_back(*files: Path) -> None:
    for file in files:
        file.with_name(f".{file.name}.icloud").rename(file)


def test_a_file_that_is_only_in_icloud_keeps_its_note_and_links(tmp_path, run, stored, monkeypatch):
    files = {**FEW, "a.md": "See [[n01]].", "new.md": "Unread."}
    notes = vault(tmp_path / "vault", files)
    evict(notes / "new.md")
    assert "new.md: only in iCloud; download it" in run(notes).output
    before = stored()
    gone = [notes / name for name in [*FEW][:9]]
    evict(*gone)
    write_files(notes, {"a.md": "Now see [[n01]]."})
    output = run().output
    assert "n01.md: only in iCloud, so what the index has of it stays" in output
    assert "1 changed, 0 removed" in output
    assert stored() == before
    with closing(database.connect(notes.parent / "index" / "notes.db")) as connection:
        sql = "select count(*) from links join notes on notes.id = target_id where key = 'n01.md'"
        assert connection.execute(sql).fetchone() == (1,)
    # Another version reads everything again, but can't read these.
    monkeypatch.setattr(changes, "reader_version", lambda: "99")
    assert "0 removed" in run().output
    assert stored() == before
    come_back(*gone)
    assert "0 changed, 0 removed" in run().output
    assert stored() == before


def test_a_folder_that_is_only_in_icloud_keeps_its_notes(tmp_path, run, stored):
    text = "a.textbundle/text.md"
    notes = vault(tmp_path / "vault", {**FEW, text: "# In a bundle", "work/w.md": "# Work"})
    run(notes)
    before = stored()
    for name in ("a.textbundle", "work"):
        shutil.rmtree(notes / name)
        (notes / f".{name}.icloud").touch()
    output = run().output
    assert "a.textbundle: only in iCloud" in output
    assert "0 removed" in output
    assert stored() == before


def test_a_note_that_is_deleted_while_it_is_only_in_icloud_leaves(tmp_path, run, stored):
    notes = vault(tmp_path / "vault", FEW)
    run(notes)
    evict(notes / "n01.md")
    run()
    assert "n01.md" in stored()
    (notes / ".n01.md.icloud").unlink()
    assert "1 removed" in run().output
    assert "n01.md" not in stored()


def test_a_rebuild_does_not_lose_what_is_only_in_icloud(tmp_path, run, stored):
    notes = vault(tmp_path / "vault", FEW)
    run(notes)
    before = stored()
    evict(notes / "n01.md")
    output = run("--rebuild", status=1).output
    assert "1 note can't be read now" in output
    assert "--yes --rebuild" in output
    assert stored() == before
    run("--rebuild", "--yes")
    assert stored() == {key: value for key, value in before.items() if key != "n01.md"}


def test_a_note_that_is_only_in_icloud_leaves_with_a_tag_that_is_never_indexed(
    tmp_path, run, stored
):
    notes = vault(tmp_path / "vault", {**FEW, "a.md": "#secret/deep text"})
    run(notes)
    evict(notes / "a.md", notes / "n01.md")
    settings = write_files(tmp_path, {"s.yaml": "never_index_tags: [secret]"}) / "s.yaml"
    run("--config", settings)
    assert stored().keys() == FEW.keys()


def test_a_file_without_its_data_is_not_opened_on_a_mac(tmp_path, run, stored, monkeypatch):
    notes = write_files(tmp_path / "notes", FEW)
    run(notes)
    before = stored()
    scandir = os.scandir

    class Entry:
        def __init__(self, entry):
            self._entry = entry

        def __getattr__(self, name):
            return getattr(self._entry, name)

        def stat(self, **options):
            status = self._entry.stat(**options)
            fields = {name: getattr(status, name) for name in dir(status) if name[:3] == "st_"}
            fields |= {"st_flags": 0x40000000, "st_ctime_ns": 1}
            return type("Status", (), fields)

    class Entries:
        def __init__(self, path):
            self._entries = scandir(path)

        def __enter__(self):
            return map(Entry, self._entries)

        def __exit__(self, *error):
            self._entries.close()

    monkeypatch.setattr("datasette_bear_search.sources.files.archive.os.scandir", Entries)
    monkeypatch.setattr("datasette_bear_search.sources.files.archive.Folder.head", None)
    assert "n01.md: only in iCloud, so what the index has of it stays" in run().output
    assert stored() == before
    assert MarkdownFolder(notes, "notes").count() == 0


def test_a_file_that_can_only_be_listed_keeps_its_note(tmp_path, run, stored, monkeypatch):
    notes = vault(tmp_path / "vault", FEW)
    run(notes)
    before = stored()
    added = Folder._add_file

    def add(folder, key, entry, files):
        # As in a folder that one may list but not enter, and in one whose server is away.
        if key == "n01.md":
            entry = SimpleNamespace(name=key, stat=lambda **_: os.stat(f"{notes / 'n02.md'}/x"))
        added(folder, key, entry, files)

    monkeypatch.setattr(Folder, "_add_file", add)
    assert "n01.md: can't be read (Not a directory)" in run().output
    assert stored() == before


def test_a_file_of_zeros_keeps_its_note(tmp_path, run, stored):
    notes = write_files(tmp_path / "notes", FEW)
    run(notes)
    before = stored()
    os.truncate(notes / "n01.md", 0)
    os.truncate(notes / "n01.md", 500)
    assert "n01.md: nothing but zeros" in run().output
    assert stored() == before


def test_an_export_of_which_a_part_is_only_in_icloud_keeps_its_notes(tmp_path, run, stored):
    note = (
        "<note><title>T</title><content>words</content><created>20240101T000000Z</created></note>"
    )
    enex = f'<?xml version="1.0"?><en-export>{note}</en-export>'
    exports = write_files(tmp_path / "exports", {"a.enex": enex, "b.enex": enex})
    run(exports)
    before = stored()
    evict(exports / "a.enex")
    assert "a.enex is only in iCloud" in run(status=1).output
    assert stored() == before


def test_an_export_of_which_a_bundle_is_only_in_icloud_keeps_its_notes(tmp_path, run, stored):
    bundle = {"info.json": '{"version": 2}', "text.md": "# Words\n\nof a bundle"}
    files = {f"{name}.textbundle/{key}": text for name in "ab" for key, text in bundle.items()}
    exports = write_files(tmp_path / "exports", files)
    settings = f"sources: [{{name: backup, kind: bear-backup, location: {exports}}}]"
    run("--config", write_files(tmp_path, {"s.yaml": settings}) / "s.yaml")
    before = stored()
    assert len(before) == 2
    shutil.rmtree(exports / "a.textbundle")
    (exports / ".a.textbundle.icloud").touch()
    assert "a.textbundle is only in iCloud" in run(status=1).output
    assert stored() == before


# --- a folder that is empty where notes were


def mount_point(folder: Path) -> None:
    """Replace a folder by an empty one that was there before."""
    shutil.rmtree(folder)
    folder.mkdir()


def test_the_notes_of_an_empty_mount_point_stay_until_a_person_confirms(
    tmp_path, run, stored, later, monkeypatch
):
    notes = write_files(tmp_path / "notes", {**FEW, **SUB})
    run(notes)
    before = stored()
    mount_point(notes / "sub")
    # The folder below the drive hasn't changed since long ago.
    stat = os.stat
    old = {"st_mtime": 0.0, "st_ctime": 0.0}

    def old_stat(path, *arguments, **options):
        status = stat(path, *arguments, **options)
        if str(path) != str(notes / "sub"):
            return status
        fields = {name: getattr(status, name) for name in dir(status) if name[:3] == "st_"}
        return type("Status", (), {**fields, **old})

    monkeypatch.setattr(os, "stat", old_stat)
    for _ in range(2):
        output = run().output
        assert "5 notes can't be reached, because sub/ is empty" in output
        assert "0 removed" in output
        later()
    assert stored() == before
    assert "5 removed" in run("--yes").output


def test_notes_deleted_from_a_folder_that_stays_leave_with_another_reading(
    tmp_path, run, stored, later
):
    notes = write_files(tmp_path / "notes", {**FEW, **SUB})
    run(notes)
    empty(notes / "sub")
    time.sleep(0.01)
    for _ in range(2):
        assert "5 notes are suddenly missing" in run().output
    assert len(stored()) == 15
    later()
    assert "5 removed" in run().output
    assert stored().keys() == FEW.keys()
    assert "Nothing has changed" in run().output


def test_the_only_note_of_a_folder_leaves_at_once(tmp_path, run, stored):
    notes = write_files(tmp_path / "notes", {**FEW, "sub/a.md": "A"})
    run(notes)
    (notes / "sub" / "a.md").unlink()
    assert "1 removed" in run().output


def test_notes_in_a_folder_that_is_deleted_leave_at_once(tmp_path, run):
    notes = write_files(tmp_path / "notes", {**FEW, **SUB})
    run(notes)
    shutil.rmtree(notes / "sub")
    assert "5 removed" in run().output


def test_notes_that_are_moved_out_of_a_folder_are_not_missing(tmp_path, run, stored):
    notes = write_files(tmp_path / "notes", {**FEW, **SUB})
    run(notes)
    ids = {*stored().values()}
    (notes / "new").mkdir()
    for file in (notes / "sub").iterdir():
        file.rename(notes / "new" / file.name)
    output = run().output
    assert "5 moved, 0 removed" in output
    assert "missing" not in output
    assert {*stored().values()} == ids
    run("--rebuild")
    assert {*stored().values()} == ids


# --- a source that suddenly has lost most of its notes


@pytest.fixture
def sudden(tmp_path, run) -> Path:
    """Index 30 notes, then take 20 of them away, change one and add one."""
    notes = write_files(tmp_path / "notes", FILES)
    run(notes)
    (tmp_path / "away").mkdir()
    for name in [*FILES][10:]:
        (notes / name).rename(tmp_path / "away" / name)
    return write_files(notes, {"n00.md": "Changed.", "new.md": "New."})


def test_a_clock_that_is_set_back_lets_notes_leave_all_the_same(sudden, run, stored, later):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda now=time.time: now() + 10**7)
        assert "20 notes are suddenly missing" in run().output
    later()
    run()
    assert len(stored()) == 11


def test_many_notes_leave_only_if_another_reading_misses_them(sudden, run, stored, later):
    output = run().output
    assert "20 notes are suddenly missing" in output
    assert "--yes --only notes" in output
    assert "1 note added, 1 changed, 0 removed" in output
    assert "20 notes" in run("--list").output
    assert len(stored()) == 31
    later()
    assert "0 changed, 20 removed" in run().output
    assert len(stored()) == 11
    assert "missing" not in run("--list").output


def test_many_notes_leave_at_once_with_yes(sudden, run, stored):
    assert "20 removed" in run("--yes").output
    assert len(stored()) == 11


def test_notes_that_come_back_were_never_gone(sudden, run, stored, later):
    run()
    before = stored()
    for file in (sudden.parent / "away").iterdir():
        file.rename(sudden / file.name)
    assert "0 notes added, 0 changed, 0 removed" in run().output
    assert stored() == before
    for name in [*FILES][10:]:
        (sudden / name).unlink()
    assert "suddenly missing" in run().output


@pytest.mark.parametrize(("answer", "left"), [("y", 11), ("n", 31)])
def test_a_person_at_a_terminal_is_asked(sudden, stored, sidecar_path, monkeypatch, answer, left):
    monkeypatch.setattr(
        "click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False
    )
    command = ["bear-index", "--sidecar", str(sidecar_path), "--no-semantic"]
    output = CliRunner().invoke(cli, command, input=f"{answer}\n", catch_exceptions=False).output
    assert "Remove these notes from the index?" in output
    assert len(stored()) == left


def test_a_rebuild_does_not_lose_many_notes(sudden, run, stored, later):
    before = stored()
    (sudden / "new.md").unlink()  # any new note might be a moved one
    output = run("--rebuild", status=1).output
    assert "20 notes are suddenly missing" in output
    assert stored() == before
    later()
    run("--rebuild")
    assert len(stored()) == 10


def test_many_notes_leave_at_once_if_a_person_asks_for_it(tmp_path, run, stored):
    notes = write_files(tmp_path / "notes", {**FILES, "a.md": "A"})
    settings = write_files(tmp_path, {"s.yaml": f"sources: [{{location: {notes}}}]"}) / "s.yaml"
    run("--config", settings)
    settings.write_text(f"sources: [{{location: {notes}, exclude: ['n*']}}]")
    run("--config", settings)
    assert [*stored()] == ["a.md"]


def test_notes_that_become_private_or_trash_leave_at_once(write, run, stored, tmp_path):
    notes = [BearNote(f"# Note {number}\n\nText.") for number in range(30)]
    settings = write_files(tmp_path, {"s.yaml": "never_index_tags: [secret]"}) / "s.yaml"
    run(write(*notes), "--config", settings)
    for number in range(12):
        notes[number] = replace(notes[number], tags=("secret",))
    for number in range(12, 24):
        notes[number] = replace(notes[number], trashed=True)
    write(*notes)
    output = run("--config", settings).output
    assert "24 removed" in output
    assert len(stored()) == 6


def test_the_python_api_says_which_notes_stay(sudden, sidecar_path, stored):
    library = Library(sidecar_path)
    report = library.index(semantic=False)
    assert [(kept.source, report.removed) for kept in report.kept] == [("notes", 0)]
    assert library.index(semantic=False, yes=True).removed == 20
    empty(sudden)
    with pytest.raises(SourceError, match="stay searchable"):
        library.index(semantic=False)


def test_watching_reads_again_before_many_notes_leave(sudden, sidecar_path, stored, later):
    configs = [source.config for source in Library(sidecar_path).sources().values()]
    watcher = watch.Watcher(sidecar_path, watch.Task(configs, None))
    for _ in range(2):
        assert watcher._update(["notes"]) == ["notes"]  # so that it is read again soon
    assert len(stored()) == 31
    assert "20 notes are suddenly missing" in watcher.trouble["notes"]
    later()
    assert watcher._update(["notes"]) == []
    assert len(stored()) == 11
