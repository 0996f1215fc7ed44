"""What a person is told when a Bear library cannot be read: what is wrong and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.sources import readonly
from tests.support.bear_libraries import (
    HALF_A_SAVE,
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

NOTES = [BearNote(text=f"# Note {number}\nBody", tags=("tag",)) for number in range(20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "bear").mkdir()
    return tmp_path / "bear" / "database.sqlite"


@pytest.mark.parametrize("call", ["stat", "open"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EPERM, "Full Disk Access"),
        (errno.EACCES, "change the permissions"),
        (errno.EIO, "Try again"),
    ],
)
def test_a_file_that_may_not_be_read_is_told_from_one_that_is_not_there(
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


def test_a_path_where_nothing_is(path: Path) -> None:
    with left_untouched(path):
        message = error_of(path)
    assert f"There is no Bear database at {path}" in message
    assert "give the PATH" in message


def test_a_path_below_a_file(path: Path) -> None:
    bear_library(path, NOTES)
    assert "There is no Bear database" in error_of(path / "database.sqlite")


def test_a_folder_without_a_database(path: Path) -> None:
    assert f"There is no Bear database at {path}" in error_of(path.parent)


def test_something_that_is_not_a_file(path: Path) -> None:
    os.mkfifo(path)
    assert "is not a file" in error_of(path)


def test_an_empty_file(path: Path) -> None:
    path.touch()
    with left_untouched(path):
        assert "is empty" in error_of(path)


@pytest.mark.parametrize("content", [b"# Just a note\n", b"SQLite", b"\0" * 5000])
def test_a_file_that_is_not_a_database(path: Path, content: bytes) -> None:
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
def test_a_database_that_is_not_bears(path: Path, sql: str) -> None:
    edit(path, "pragma user_version = 1")
    edit(path, sql)
    with left_untouched(path):
        message = error_of(path)
    assert "not one of Bear's" in message
    assert "PATH" in message


def test_a_library_that_another_program_has_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bear_library(path, NOTES)
    monkeypatch.setattr(readonly, "BUSY_SECONDS", 0.1)
    with running_bear(path, "begin exclusive"), left_untouched(path):
        message = error_of(path)
    assert "busy" in message
    assert "Try again in a minute" in message


def test_a_library_that_bear_left_half_saved(path: Path) -> None:
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
def test_a_damaged_library(path: Path, damage: Callable[[bytes], bytes]) -> None:
    bear_library(path, NOTES)
    path.write_bytes(damage(path.read_bytes()))
    with left_untouched(path):
        assert "damaged" in error_of(path)
