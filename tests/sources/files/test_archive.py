"""Zip archives and folders, whole and hostile: ``sources/files/archive.py``.

Tests ``sources/files/file_source.py``.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.sources.base import SourceError, Unreadable
from datasette_bear_search.sources.files import archive as sources_files_archive
from datasette_bear_search.sources.files import file_source
from tests.support.exports import damage, encrypt, folder_of, zip_of

FILES = {"a.txt": "one", "folder/b.txt": "two", "folder/below/Überschrift.txt": "drei"}


@pytest.fixture(params=[zip_of, folder_of])
def path(request, tmp_path: Path) -> Path:
    return request.param(tmp_path / "export", FILES)


def reason(path: Path, name: str, **options: int) -> str:
    """Return why a file in an archive can't be read."""
    with file_source.open_archive(path) as archive, pytest.raises(Unreadable) as caught:
        archive.read(name, **options)
    return str(caught.value)


def error(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read_all(path)
    return str(caught.value)


def read_all(path: Path) -> None:
    with file_source.open_archive(path) as archive:
        for name in archive.files:
            with suppress(Unreadable):
                archive.read(name)


def test_files_of_an_archive_and_of_a_folder_are_read_alike(path: Path) -> None:
    with file_source.open_archive(path) as archive:
        assert {name: archive.read(name).decode() for name in archive.files} == FILES
        assert archive.skipped == []
        assert archive.head("folder/b.txt", 2) == b"tw"


def test_a_stamp_changes_with_the_content(path: Path, tmp_path: Path) -> None:
    with file_source.open_archive(path) as archive:
        before = archive.files["a.txt"].stamp
    make = folder_of if path.is_dir() else zip_of
    make(path, {**FILES, "a.txt": "three"})
    with file_source.open_archive(path) as archive:
        assert archive.files["a.txt"].stamp != before


def test_the_state_changes_when_anything_in_it_does(path: Path) -> None:
    before = file_source.FileSource(path).state()
    assert file_source.FileSource(path).state() == before
    make = folder_of if path.is_dir() else zip_of
    make(path, {**FILES, "folder/below/new.txt": "new"})
    assert file_source.FileSource(path).state() != before


def test_a_missing_path_has_a_state(tmp_path: Path) -> None:
    assert file_source.FileSource(tmp_path / "nothing").state() == "none"


@pytest.mark.parametrize("make", [zip_of, folder_of])
def test_a_file_that_is_larger_than_it_may_be_is_not_read(make, tmp_path: Path) -> None:
    path = make(tmp_path / "export", {"a.txt": bytes(sources_files_archive.MEGABYTE)})
    assert (
        reason(path, "a.txt", largest=sources_files_archive.MEGABYTE // 2) == "larger than 0.5 MB"
    )


def test_a_file_that_unpacks_to_more_than_it_says_is_not_read_on(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "lies.zip", {"a.txt": b"0" * 5000})
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<L", 5000), struct.pack("<L", 10)))
    assert "damaged" in reason(path, "a.txt", largest=100)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a", "w") as file,
    ):
        for _ in range(65):
            file.write(bytes(sources_files_archive.MEGABYTE))
    assert path.stat().st_size < sources_files_archive.MEGABYTE
    assert reason(path, "a") == "larger than 64 MB"


def test_a_smaller_bomb_is_not_unpacked_either(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"A" * 19 * sources_files_archive.MEGABYTE)
    assert "200 times its size" in reason(path, "a")


def test_an_archive_that_unpacks_to_too_much_altogether_is_not_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources_files_archive, "LARGEST_ARCHIVE", 2500)
    path = zip_of(tmp_path / "many.zip", {f"{number}.txt": b"0" * 1000 for number in range(5)})
    assert "unpacks to more than" in error(path)


def test_an_archive_of_too_many_files_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources_files_archive, "MOST_FILES", 3)
    path = zip_of(tmp_path / "many.zip", {f"{number}.txt": "" for number in range(4)})
    assert "lists more than 3 files" in error(path)


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/etc/passwd", "a/../../b.txt", "C:/a.txt", "..\\outside.txt"]
)
def test_paths_that_lead_out_of_an_archive_are_skipped(tmp_path: Path, name: str) -> None:
    path = zip_of(tmp_path / "export.zip", {name: "x", "inside.txt": "y"})
    with file_source.open_archive(path) as archive:
        assert list(archive.files) == ["inside.txt"]
        [line] = archive.skipped
    assert line.endswith(": leads out of the archive")


def test_special_files_and_system_files_are_left_out(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        for name in (
            "folder/",
            "__MACOSX/a.txt",
            "b/._c.txt",
            ".DS_Store",
            "Thumbs.db",
            "real.txt",
        ):
            archive.writestr(name, "x")
    with file_source.open_archive(path) as archive:
        assert list(archive.files) == ["real.txt"]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = folder_of(tmp_path / "export", FILES)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "loop").symlink_to(folder)
    with file_source.open_archive(folder) as archive:
        assert set(archive.files) == set(FILES)


def test_names_that_macos_writes_without_an_encoding_flag_are_decoded(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "export.zip", {"Übung.txt": "x"})
    path.write_bytes(path.read_bytes().replace(b"\x00\x08\x08\x00", b"\x00\x00\x08\x00"))
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["├£bung.txt"]
    with file_source.open_archive(path) as archive:
        assert list(archive.files) == ["Übung.txt"]


def test_a_date_of_1980_means_no_date(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("old.txt"), "x")
        archive.writestr(zipfile.ZipInfo("new.txt", (2024, 5, 1, 9, 30, 0)), "x")
        archive.writestr(zipfile.ZipInfo("odd.txt", (2024, 15, 1, 9, 30, 0)), "x")
    with file_source.open_archive(path) as archive:
        dates = {name: file.modified for name, file in archive.files.items()}
    assert dates["new.txt"] == 1714555800
    assert dates["old.txt"] != dates["old.txt"]  # nan
    assert dates["odd.txt"] != dates["odd.txt"]


def test_a_file_with_a_password_is_skipped(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "export.zip", FILES)
    encrypt(path, "a.txt")
    assert reason(path, "a.txt") == "encrypted with a password"
    with file_source.open_archive(path) as archive:
        assert archive.read("folder/b.txt") == b"two"


def test_a_damaged_file_is_skipped(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "export.zip", {**FILES, "a.txt": "one " * 100})
    damage(path, "a.txt")
    assert "damaged" in reason(path, "a.txt")


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"no zip at all", b"PK\5\6" + bytes(10)])
def test_a_file_that_is_not_an_archive_gives_a_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "export.zip").write_bytes(data)
    assert "not a zip archive" in error(tmp_path / "export.zip")


def test_a_missing_path_gives_an_error(tmp_path: Path) -> None:
    assert "There is nothing at" in error(tmp_path / "export.zip")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_archive_of_another_user_is_named(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "export.zip", FILES)
    path.chmod(0)
    assert "You may not read" in error(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with file_source.open_archive(tmp_path / "pipe") as archive:
        assert archive.skipped == ["pipe: not a file but a pipe or a device"]
    assert not file_source.is_zip(tmp_path / "pipe")


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_no_damage_makes_an_archive_crash(tmp_path: Path, data: st.DataObject) -> None:
    path = zip_of(tmp_path / "export.zip", FILES)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(SourceError):
        read_all(path)
