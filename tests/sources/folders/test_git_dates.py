"""The dates of notes in a git repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from datasette_bear_search.sources.folders import git_dates
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from tests.support.note_folders import read, write_files

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git isn't installed")


def git(folder: Path, *arguments: str, day: str = "2024-05-01") -> None:
    moment = f"{day}T12:00:00Z"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z"}
    names = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.com",
        "-c",
        "protocol.file.allow=always",
    ]
    command = ["git", *names, "-C", str(folder), *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **dates})


def commit(folder: Path, files: dict[str, str], day: str) -> None:
    write_files(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", day=day)


@pytest.fixture(autouse=True)
def no_cache() -> None:
    git_dates.file_dates.cache_clear()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Make a repository with commits of several years, and clone it today."""
    origin = write_files(tmp_path / "origin", {})
    git(origin, "init", "-q", "-b", "main")
    commit(origin, {"a.md": "one", "old/b.md": "b " * 50, "c.md": "c"}, "2020-01-01")
    commit(origin, {"a.md": "two"}, "2021-01-01")
    git(origin, "mv", "old", "new")
    commit(origin, {}, "2022-01-01")
    git(origin, "switch", "-q", "-c", "side")
    commit(origin, {"side.md": "s"}, "2022-06-01")
    git(origin, "switch", "-q", "main")
    commit(origin, {"c.md": "c two", "d.md": "---\ncreated: 2001-01-01\n---\nd"}, "2023-01-01")
    git(origin, "merge", "-q", "--no-ff", "side", day="2023-02-01")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


def days(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    notes = read(MarkdownFolder, folder)
    return {
        key: (note.created and note.created[:10], note.modified and note.modified[:10])
        for key, note in notes.items()
    }


def test_a_commit_that_was_amended_later_counts_from_then(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"a.md": "a"}, "2023-10-05")
    os.utime(tmp_path / "a.md")
    assert days(tmp_path) == {"a.md": ("2023-10-05", "2025-01-01")}


def test_dates_come_from_the_history(clone: Path) -> None:
    assert days(clone) == {
        "a.md": ("2020-01-01", "2021-01-01"),
        "c.md": ("2020-01-01", "2023-01-01"),
        "d.md": ("2001-01-01", "2023-01-01"),
        "new/b.md": ("2020-01-01", "2020-01-01"),
        "side.md": ("2022-06-01", "2022-06-01"),
    }
    assert days(clone / "new") == {"b.md": ("2022-01-01", "2022-01-01")}  # moved there in 2022


def test_a_change_that_is_not_committed_was_made_when_the_file_was_written(clone: Path) -> None:
    write_files(clone, {"a.md": "three", "untracked.md": "new"})
    os.utime(clone / "a.md", (1_700_000_000, 1_700_000_000))
    found = days(clone)
    assert found["a.md"] == ("2020-01-01", "2023-11-14")
    assert found["untracked.md"][1] > "2024"


def test_only_files_of_new_commits_are_read_again(clone: Path) -> None:
    write_files(clone, {"a.md": "three"})
    source = MarkdownFolder(clone, "notes")
    before, known = source.state(), {note.key: note.stamp for note in source.read()}
    commit(clone, {}, "2024-01-01")
    assert source.state() != before
    changed = [note for note in source.read_changed(known) if hasattr(note, "body")]
    assert [(note.key, note.modified) for note in changed] == [("a.md", "2024-01-01T12:00:00Z")]


def test_the_first_commit_of_a_shallow_clone_dates_nothing(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/origin", "shallow")
    assert all(modified > "2024" for _, modified in days(tmp_path / "shallow").values())


@pytest.mark.parametrize("missing", ["git", "repository", "commit"])
def test_without_git_or_commits_dates_come_from_the_files(
    clone: Path, tmp_path: Path, monkeypatch, missing: str
) -> None:
    if missing == "git":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        shutil.rmtree(clone / ".git")
        if missing == "commit":
            git(clone, "init", "-q")
    assert days(clone)["a.md"][1] > "2024"


def test_nothing_that_a_repository_names_is_run_and_nothing_is_written(
    clone: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    program.chmod(0o755)
    signed = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "commit", "HEAD"], capture_output=True, check=True
    ).stdout.replace(
        b"\n\n",
        b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n eA==\n -----END PGP SIGNATURE-----\n\n",
        1,
    )
    (tmp_path / "commit").write_bytes(signed)
    command = ["git", "-C", str(clone), "hash-object", "-t", "commit", "-w", f"{tmp_path}/commit"]
    made = subprocess.run(command, capture_output=True, check=True).stdout.decode().strip()
    git(clone, "update-ref", "HEAD", made)
    settings = """core.fsmonitor core.pager core.sshCommand core.hooksPath gpg.program diff.external
        core.alternateRefsCommand pager.log core.gitProxy credential.helper diff.x.textconv
        diff.x.command filter.x.clean filter.x.process remote.origin.uploadpack""".split()
    for setting in settings:
        git(clone, "config", setting, str(program))
    for setting, value in {
        "log.showSignature": "true",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "core.repositoryFormatVersion": "1",
        "alias.log": f"!{program}",
    }.items():
        git(clone, "config", setting, value)
    write_files(clone, {".gitattributes": "* diff=x filter=x\n", "a.md": "changed"})
    for objects in (clone / ".git/objects").glob("??"):  # as if they were never fetched
        if objects.name != "pack":
            blobs = [path for path in objects.iterdir() if path.stat().st_size < 40]
            for path in blobs:
                path.unlink()
    before = {path: path.lstat().st_mtime_ns for path in clone.rglob("*")}
    assert days(clone)
    assert {path: path.lstat().st_mtime_ns for path in clone.rglob("*")} == before
    assert not (tmp_path / "was-run").exists()
