"""Bear's database file is found wherever it is and read without a trace."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources import bear
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.bear import LOCATIONS, BearLibrary, default_location
from datasette_bear_search.sources.files import readonly
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import (
    HALF_A_SAVE,
    bear_can_save,
    bear_library,
    crash_bear,
    edit,
    error_of,
    forbid,
    left_untouched,
    read_notes,
    running_bear,
    sqlite3,
)
from tests.support.threads import running

NOTES = [BearNote(text=f"# Note {number}\nBody", tags=("tag",)) for number in range(20)]
LATE_NOTE = "update ZSFNOTE set ZTITLE = 'Late', ZTEXT = '# Late' where Z_PK = 1"
WAL = "pragma journal_mode = wal"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "bear").mkdir()
    return tmp_path / "bear" / "database.sqlite"


# Reading changes nothing


def test_reading_changes_nothing_in_bears_folder(path: Path) -> None:
    bear_library(path, NOTES)
    with left_untouched(path):
        assert len(list(BearLibrary(path).read())) == 20


def test_reading_beside_a_running_bear_changes_nothing(path: Path) -> None:
    bear_library(path, NOTES)
    with running_bear(path, LATE_NOTE), left_untouched(path):
        assert "Late" in read_notes(path)


def test_reading_while_bear_has_begun_to_save_shows_what_was_saved_before(path: Path) -> None:
    bear_library(path, NOTES)
    with running_bear(path, "begin immediate", LATE_NOTE), left_untouched(path):
        assert "Late" not in read_notes(path)


def test_after_reading_bear_can_save_at_once(path: Path) -> None:
    bear_library(path, NOTES)
    BearLibrary(path).read()
    assert bear_can_save(path)


def test_the_file_is_closed_before_a_note_is_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES[:1])

    def note(*args: object, **kwargs: object) -> Note:
        assert bear_can_save(path)
        return Note(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(bear, "Note", note)
    assert len(list(BearLibrary(path).read())) == 1


def test_everything_is_read_as_of_one_moment(path: Path) -> None:
    bear_library(path, NOTES)
    with readonly.read_transaction(path) as db:
        db.execute("select count(*) from ZSFNOTE").fetchone()
        assert not bear_can_save(path)


def test_two_threads_can_read_at_once(path: Path) -> None:
    bear_library(path, NOTES)
    counts: list[int] = []
    with running(*[lambda: counts.append(len(list(BearLibrary(path).read())))] * 4):
        pass
    assert counts == [20, 20, 20, 20]


# A write-ahead log, in case Bear ever uses one


def test_a_library_with_a_log_in_use_is_read_with_what_is_in_the_log(path: Path) -> None:
    bear_library(path, NOTES)
    with running_bear(path, WAL, LATE_NOTE), left_untouched(path):
        assert sorted(os.listdir(path.parent)) == [
            "database.sqlite",
            "database.sqlite-shm",
            "database.sqlite-wal",
        ]
        assert "Late" in read_notes(path)


def test_a_library_with_a_log_that_a_crash_left_is_read_with_what_is_in_the_log(path: Path) -> None:
    bear_library(path, NOTES)
    crash_bear(path, WAL, LATE_NOTE)
    with left_untouched(path):
        assert "Late" in read_notes(path)


@pytest.mark.parametrize("index", [b"", bytes(32768)], ids=["empty", "zeros"])
def test_a_library_whose_log_has_no_index_yet_is_read(path: Path, index: bytes) -> None:
    bear_library(path, NOTES)
    with running_bear(path, WAL, LATE_NOTE):
        # Bear is starting, or its log begins anew.
        path.with_name("database.sqlite-shm").write_bytes(index)
        with left_untouched(path):
            assert "Late" in read_notes(path)


def test_a_copied_library_with_its_log_is_read_with_what_is_in_the_log(path: Path) -> None:
    bear_library(path, NOTES)
    crash_bear(path, WAL, LATE_NOTE)
    path.with_name("database.sqlite-shm").unlink()
    with left_untouched(path):
        assert "Late" in read_notes(path)


def test_a_library_whose_log_was_closed_properly_is_read(path: Path) -> None:
    bear_library(path, NOTES)
    edit(path, WAL)
    assert os.listdir(path.parent) == ["database.sqlite"]
    with left_untouched(path):
        assert len(list(BearLibrary(path).read())) == 20


def test_no_copy_of_the_notes_is_left_behind(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    edit(path, WAL)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    BearLibrary(path).read()
    assert os.listdir(tmp_path / "temporary") == []


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


# Reads the library at sys.argv[1], and says before its copy is made and when it is open.
SLOW_READING = """
import shutil, sys, time
from pathlib import Path
from datasette_bear_search.sources.files import readonly

copy = shutil.copyfile
def copy_slowly(source, target):
    copy(source, target)
    if sys.argv[2] == "copying":
        print("copied", flush=True)
        time.sleep(60)
readonly.shutil.copyfile = copy_slowly
with readonly.read_transaction(Path(sys.argv[1])) as db:
    db.execute("select ZTEXT from ZSFNOTE").fetchone()
    print("reading", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="an open file keeps its name there")
@pytest.mark.parametrize("has_log", [False, True])
@pytest.mark.parametrize("moment", ["copying", "reading"])
def test_no_copy_outlives_a_killed_process_for_long(
    path: Path, temporary: Path, moment: str, has_log: bool
) -> None:
    bear_library(path, NOTES)
    if has_log:
        crash_bear(path, WAL, LATE_NOTE)
        path.with_name("database.sqlite-shm").unlink()
    else:
        edit(path, WAL)
    command = [sys.executable, "-c", SLOW_READING, str(path), moment]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        assert reading.stdout.readline()
        reading.kill()
    if moment == "copying":
        [copy] = temporary.glob("*/copy.sqlite")
        os.utime(copy, (0, 0))
        readonly.remove_abandoned_copies()
    assert os.listdir(temporary) == []


def test_old_copies_are_removed_but_none_that_is_made_now(temporary: Path) -> None:
    for name in ("old", "new", "other"):
        copy = temporary / f"{readonly.COPIES}{name}" / "copy.sqlite"
        copy.parent.mkdir()
        copy.write_bytes(b"notes")
    (copy.parent / "copy.sqlite").rename(copy.parent / "mine")
    (temporary / f"{readonly.COPIES}link").symlink_to(path_of_others := temporary / "others")
    path_of_others.mkdir()
    (path_of_others / "copy.sqlite").touch()
    for file in (temporary / f"{readonly.COPIES}old", path_of_others, copy.parent):
        for each in file.iterdir():
            os.utime(each, (0, 0))
    readonly.remove_abandoned_copies()
    assert sorted(os.listdir(temporary)) == [
        f"{readonly.COPIES}{name}" for name in ("link", "new", "other")
    ] + ["others"]
    assert os.listdir(path_of_others) == ["copy.sqlite"]


def test_a_log_is_read_up_to_what_was_committed(path: Path, temporary: Path) -> None:
    bear_library(path, NOTES)
    half = "update ZSFNOTE set ZTITLE = 'Half', ZTEXT = printf('%.300000c', 'x')"
    crash_bear(path, WAL, LATE_NOTE, "pragma cache_size = 1", "begin", half)
    path.with_name("database.sqlite-shm").unlink()
    log = path.with_name("database.sqlite-wal")
    assert log.stat().st_size > 1_000_000
    with left_untouched(path):
        assert {"Late", "Note 7"} <= read_notes(path).keys()
    # Older frames behind the end of the log don't count, either.
    log.write_bytes(log.read_bytes()[:-5000] + bytes(5000))
    assert {"Late", "Note 7"} <= read_notes(path).keys()


def save_during_copies(path: Path, monkeypatch: pytest.MonkeyPatch, copies: int) -> None:
    """Make Bear save during the first ``copies`` copies of its file."""
    copy = shutil.copyfile
    saves = iter(range(copies))

    def copy_with_a_save(source: Path, target: Path) -> None:
        copy(source, target)
        if (save := next(saves, None)) is not None:
            edit(path, LATE_NOTE)
            os.utime(path, (save, save))  # mtimes are too coarse for saves this close

    monkeypatch.setattr(readonly.shutil, "copyfile", copy_with_a_save)
    monkeypatch.setattr(readonly, "COPY_PAUSE_SECONDS", 0)


def test_a_copy_is_made_again_if_bear_saves_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    edit(path, WAL)
    save_during_copies(path, monkeypatch, copies=1)
    assert "Late" in read_notes(path)


def test_a_library_that_changes_during_every_copy_is_called_busy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    edit(path, WAL)
    save_during_copies(path, monkeypatch, copies=100)
    assert "busy" in error_of(path)


# Where it is


@pytest.mark.parametrize(
    "folder",
    ["plain", "Application Data", "50% off?", "a#b", "ünï 日本", "it's \"quoted\"", "a&b=c+d"],
)  # fmt: skip
def test_a_path_with_any_characters_is_opened(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    path = bear_library(tmp_path / folder / "database.sqlite", NOTES)
    with left_untouched(path):
        assert len(list(BearLibrary(path).read())) == 20


def test_the_folder_of_the_database_can_be_given(path: Path) -> None:
    bear_library(path, NOTES)
    assert len(list(BearLibrary(path.parent).read())) == 20
    assert BearLibrary(path.parent).state() == BearLibrary(path).state()


def test_a_path_below_the_home_folder_can_be_given(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    monkeypatch.setenv("HOME", str(path.parent))
    assert len(list(BearLibrary("~/database.sqlite").read())) == 20


def test_a_symbolic_link_to_the_database_can_be_given(path: Path, tmp_path: Path) -> None:
    bear_library(path, NOTES)
    (tmp_path / "link.sqlite").symlink_to(path)
    with running_bear(path, WAL, LATE_NOTE), left_untouched(path):
        assert "Late" in read_notes(tmp_path / "link.sqlite")
    assert not list(tmp_path.glob("link.sqlite-*"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("location", LOCATIONS)
def test_the_library_of_every_version_of_bear_is_found(home: Path, location: str) -> None:
    (home / location).parent.mkdir(parents=True)
    bear_library(home / location)
    assert default_location() == home / location


def test_the_library_of_the_newest_bear_is_found_first(home: Path) -> None:
    for location in LOCATIONS:
        (home / location).parent.mkdir(parents=True)
        bear_library(home / location)
    assert default_location() == home / LOCATIONS[0]


def test_without_bear_the_error_says_where_it_was_looked_for(home: Path) -> None:
    with pytest.raises(SourceError) as caught:
        default_location()
    message = str(caught.value)
    assert all(str(home / location) in message for location in LOCATIONS)
    assert "give the PATH" in message


def test_a_library_that_macos_hides_counts_as_found(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, home / LOCATIONS[0], errno.EPERM, "stat")
    assert default_location() == home / LOCATIONS[0]
    assert "Full Disk Access" in error_of(home / LOCATIONS[0])


# Changes


@pytest.fixture
def library(path: Path) -> BearLibrary:
    bear_library(path, NOTES)
    os.utime(path, (0, 0))  # saved long ago
    return BearLibrary(path)


def test_the_state_stays_while_nothing_is_saved(library: BearLibrary) -> None:
    before = library.state()
    library.read()
    assert library.state() == before


@pytest.mark.parametrize(
    "change",
    [
        "update ZSFNOTE set ZENCRYPTED = 1 where Z_PK = 1",
        "update ZSFNOTE set ZPINNED = 1 where Z_PK = 1",
        "delete from Z_5TAGS where Z_5NOTES = 1",
        "update ZSFNOTETAG set ZTITLE = 'renamed'",
    ],
)
def test_the_state_changes_with_every_save(library: BearLibrary, change: str) -> None:
    before = library.state()
    edit(library.path, change)
    assert library.state() != before


def test_the_state_changes_with_what_is_saved_to_a_log(library: BearLibrary) -> None:
    edit(library.path, WAL)
    before = library.state()
    with running_bear(library.path, LATE_NOTE):
        assert library.state() != before


def test_the_state_changes_when_the_library_is_replaced_or_vanishes(library: BearLibrary) -> None:
    states = [library.state()]
    copy = shutil.copy2(library.path, library.path.with_name("copy"))
    copy.replace(library.path)
    states.append(library.state())
    library.path.unlink()
    states.append(library.state())
    assert len(set(states)) == 3


def test_asking_for_the_state_opens_nothing(
    library: BearLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, library.path, errno.EPERM, "open")
    monkeypatch.setattr(readonly.sqlite3, "connect", None)
    library.state()


# Messages for a library that can't be read: what is wrong and what to do


@pytest.mark.parametrize("call", ["stat", "open"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EPERM, "Full Disk Access"),
        (errno.EACCES, "change the permissions"),
        (errno.EIO, "Try again"),
    ],
)
def test_the_error_for_a_forbidden_file_differs_from_that_for_a_missing_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, advice: str
) -> None:
    bear_library(path, NOTES)
    with left_untouched(path), monkeypatch.context() as patch:
        forbid(patch, path, number, call)
        assert advice in error_of(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_of_somebody_else_is_named_as_such(path: Path) -> None:
    bear_library(path, NOTES)
    path.chmod(0)
    assert "change the permissions" in error_of(path)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("authorization denied", "Full Disk Access"),
        ("database is locked", "busy"),
        ("database table is locked", "busy"),
        ("attempt to write a readonly database", "Open Bear once"),
        ("database disk image is malformed", "damaged"),
        ("file is not a database", "damaged"),
        ("unable to open database file", "Open Bear once"),
        ("disk I/O error", "Open Bear once"),
    ],
)
def test_every_complaint_of_sqlite_comes_with_advice(
    path: Path, monkeypatch: pytest.MonkeyPatch, words: str, advice: str
) -> None:
    bear_library(path, NOTES)

    def complain(*args: object, **kwargs: object) -> None:
        raise sqlite3.OperationalError(words)

    monkeypatch.setattr(readonly.sqlite3, "connect", complain)
    message = error_of(path)
    assert advice in message
    assert str(path) in message


def test_a_missing_path_gives_an_error(path: Path) -> None:
    with left_untouched(path):
        message = error_of(path)
    assert f"There is no Bear database at {path}" in message
    assert "give the PATH" in message


def test_a_path_below_a_file_gives_an_error(path: Path) -> None:
    bear_library(path, NOTES)
    assert "There is no Bear database" in error_of(path / "database.sqlite")


def test_a_folder_without_a_database_gives_an_error(path: Path) -> None:
    assert f"There is no Bear database at {path}" in error_of(path.parent)


def test_a_path_that_is_not_a_file_gives_an_error(path: Path) -> None:
    os.mkfifo(path)
    assert "is not a file" in error_of(path)


def test_an_empty_file_gives_an_error(path: Path) -> None:
    path.touch()
    with left_untouched(path):
        assert "is empty" in error_of(path)


@pytest.mark.parametrize("content", [b"# Just a note\n", b"SQLite", b"\0" * 5000])
def test_a_file_that_is_not_a_database_gives_an_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with left_untouched(path):
        assert "is not a database" in error_of(path)


@pytest.mark.parametrize(
    "sql",
    [
        "create table notes (id integer primary key, title text)",
        "create table ZSFNOTE (Z_PK integer primary key, ZTITLE text)",
        "vacuum",
    ],
)
def test_a_database_of_another_app_gives_an_error(path: Path, sql: str) -> None:
    edit(path, "pragma user_version = 1")
    edit(path, sql)
    with left_untouched(path):
        message = error_of(path)
    assert "not one of Bear's" in message
    assert "PATH" in message


def test_a_library_locked_by_another_program_gives_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    monkeypatch.setattr(readonly, "OWNER_BUSY_SECONDS", 0.1)
    with running_bear(path, "begin exclusive"), left_untouched(path):
        message = error_of(path)
    assert "busy" in message
    assert "Try again in a minute" in message


def test_a_library_that_bear_left_half_saved_gives_an_error(path: Path) -> None:
    bear_library(path, NOTES)
    crash_bear(path, *HALF_A_SAVE)
    assert path.with_name("database.sqlite-journal").stat().st_size > 0
    with left_untouched(path):
        assert "Open Bear once, then try again" in error_of(path)


def test_a_library_that_bear_has_repaired_is_read_again(path: Path) -> None:
    bear_library(path, NOTES)
    crash_bear(path, *HALF_A_SAVE)
    with running_bear(path, "select * from ZSFNOTE"):
        pass
    assert read_notes(path)["Note 7"].body == "Body"


def damage_header(content: bytes) -> bytes:
    return content[:16] + b"\xff" * 84 + content[100:]


def damage_pages(content: bytes) -> bytes:
    return content[:4096] + b"\xff" * (len(content) - 4096)


def cut_off(content: bytes) -> bytes:
    return content[:60]


@pytest.mark.parametrize("damage", [damage_header, damage_pages, cut_off])
def test_a_damaged_library_gives_an_error(path: Path, damage: Callable[[bytes], bytes]) -> None:
    bear_library(path, NOTES)
    path.write_bytes(damage(path.read_bytes()))
    with left_untouched(path):
        assert "damaged" in error_of(path)
