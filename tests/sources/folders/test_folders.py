"""Folders of notes: which files are found, left out (and reported), and read again.

Tests ``sources/files/states.py`` and ``sources/folders/links.py``.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Note
from datasette_bear_search.sources import folders
from datasette_bear_search.sources.base import Incremental, SourceError, Unchanged, Unreadable
from datasette_bear_search.sources.files import archive
from datasette_bear_search.sources.folders import links
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault
from tests.support.note_folders import by_key, link_keys, read, set_modified, vault, write_files

needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def left_out(source: MarkdownFolder) -> list[str]:
    """Read the source; return what it says that it left out."""
    list(source.read())
    return source.skipped


# What is found


def test_notes_are_known_by_their_paths_below_the_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {"b.md": "", "a.md": "", "work/projects/roof.md": "", "work/x.MD": ""})
    assert list(read(MarkdownFolder, tmp_path)) == [
        "a.md",
        "b.md",
        "work/x.MD",
        "work/projects/roof.md",
    ]


def test_hidden_files_and_folders_of_software_are_not_notes(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "note.md": "",
            ".hidden.md": "",
            ".git/description.md": "",
            ".venv/lib/README.md": "",
            "site/node_modules/left-pad/README.md": "",
        },
    )
    source = MarkdownFolder(tmp_path, "notes")
    assert list(by_key(source.read())) == ["note.md"]
    assert source.skipped == ["node_modules: such folders of software or templates aren't read"]


@pytest.mark.parametrize(
    ("exclude", "kept"),
    [
        ("Templates", ["a.md", "work/b.md", "work/draft-c.md"]),
        (["templates/", "draft-*"], ["a.md", "work/b.md"]),
        ("work/*.md", ["a.md", "Templates/t.md", "work/Templates/d.md"]),
        ("work/**/*.md", ["a.md", "Templates/t.md"]),
        ("*.md", []),
        ("?.md", ["work/draft-c.md"]),
        ("a", ["a.md", "Templates/t.md", "work/b.md", "work/draft-c.md", "work/Templates/d.md"]),
        ([], ["a.md", "Templates/t.md", "work/b.md", "work/draft-c.md", "work/Templates/d.md"]),
    ],
)
def test_files_excluded_by_name_or_pattern_are_not_read(tmp_path: Path, exclude, kept) -> None:
    paths = ["a.md", "Templates/t.md", "work/b.md", "work/draft-c.md", "work/Templates/d.md"]
    write_files(tmp_path, dict.fromkeys(paths, ""))
    assert sorted(read(MarkdownFolder, tmp_path, exclude=exclude)) == sorted(kept)


@needs_posix
def test_names_that_are_not_unicode_are_stored_with_escapes(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("Coffee")
    except OSError:
        pytest.skip("this file system allows no such names")
    [note] = read(MarkdownFolder, tmp_path).values()
    assert (note.key, note.title, note.body) == ("caf\\xe9.md", "caf\\xe9", "Coffee")


@pytest.mark.parametrize(
    "name",
    ["a b.md", "#1 & 2?.md", "日本.md", "-.md", "x" * 200 + ".md", "'\"<b>.md", "a\tb.md",
     "..md.md"],
)  # fmt: skip
@needs_posix
def test_names_with_odd_characters_are_names(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {f"notes/{name}": "Text"})
    found = read(MarkdownFolder, tmp_path)
    assert list(found) == ([] if name.startswith(".") else [f"notes/{name}"])


# What is left out


def test_a_missing_folder_gives_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"There is nothing at .*gone.*give its new PATH"):
        read(MarkdownFolder, tmp_path / "gone")


def test_a_file_in_place_of_a_folder_gives_an_error(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("")
    with pytest.raises(SourceError, match="is not a folder"):
        read(MarkdownFolder, tmp_path / "note.md")


def test_an_empty_folder_is_an_error_because_its_drive_may_be_away(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is empty"):
        read(MarkdownFolder, tmp_path)


def test_a_binary_file_is_left_out_with_a_line(tmp_path: Path) -> None:
    write_files(tmp_path, {"picture.md": b"\x89PNG\r\n\x1a\n" + bytes(200), "note.md": "Text"})
    assert left_out(MarkdownFolder(tmp_path, "notes")) == [
        "picture.md: not text, whatever its name says"
    ]
    assert list(read(MarkdownFolder, tmp_path)) == ["note.md"]


def test_a_huge_file_is_left_out_with_a_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(folders, "LARGEST_NOTE", 2**20)
    write_files(tmp_path, {"huge.md": "x" * (2**20 + 1), "large.md": "x" * 2**20})
    assert left_out(MarkdownFolder(tmp_path, "notes")) == ["huge.md: larger than 1 MB"]


def test_a_file_that_grows_while_it_is_read_is_read_whole_or_left_out(tmp_path: Path) -> None:
    write_files(tmp_path, {"log.md": "one\n"})
    folder = archive.Folder(tmp_path)
    write_files(tmp_path, {"log.md": "one\ntwo\nthree\n"})
    assert folder.read("log.md") == b"one\ntwo\nthree\n"
    with pytest.raises(Unreadable, match="larger than"):
        folder.read("log.md", largest=10)


def test_files_and_folders_that_vanish_while_the_folder_is_read_are_left_out(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(folders, "BATCH_BYTES", 1)
    write_files(tmp_path, {"a.md": "x", "b.md": "x", "sub/c.md": "x"})
    source = MarkdownFolder(tmp_path, "notes")
    notes = source.read()
    assert next(iter(notes)).key == "a.md"
    (tmp_path / "b.md").unlink()
    assert [note.key for note in notes] == ["sub/c.md"]
    assert source.skipped == ["b.md: vanished while the folder was read"]

    scandir = os.scandir

    def vanishing(path):
        if str(path).endswith("sub"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert list(read(MarkdownFolder, tmp_path)) == ["a.md"]


@needs_posix
def test_symbolic_links_are_listed_but_not_followed(tmp_path: Path) -> None:
    write_files(tmp_path / "outside", {"secret.md": "", "file.txt": ""})
    root = write_files(tmp_path / "notes", {"a.md": "", "sub/b.md": "", "x.png": ""})
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "same.md").symlink_to(root / "a.md")
    (root / "sub" / "circle").symlink_to(root)
    (root / "itself.md").symlink_to(root / "itself.md")
    (root / "broken.md").symlink_to(root / "nothing.md")
    (root / "y.png").symlink_to(root / "x.png")
    source = MarkdownFolder(root, "notes")
    assert list(by_key(source.read())) == ["a.md", "sub/b.md"]
    outside = "a link out of this folder; what it leads to can be a source of its own"
    assert {line.partition(": ")[0]: line.partition(": ")[2] for line in source.skipped} == {
        "out": outside,
        "out.md": outside,
        "same.md": "a link to what is in this folder anyway",
        "sub/circle": "a link to what is in this folder anyway",
        "itself.md": "a link that leads nowhere",
        "broken.md": "a link that leads nowhere",
    }


@needs_posix
def test_a_folder_can_itself_be_a_link(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"a.md": "Text", "sub/b.md": ""})
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert list(read(MarkdownFolder, tmp_path / "linked")) == ["a.md", "sub/b.md"]


@needs_posix
def test_pipes_and_sockets_are_not_waited_for(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": ""})
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.md"))
        assert left_out(MarkdownFolder(tmp_path, "notes")) == [
            "pipe.md: not a file but a pipe or a device",
            "s.md: not a file but a pipe or a device",
        ]


def test_a_file_that_is_only_in_icloud_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "", "sub/.Roof.md.icloud": "bplist", "sub/.x.png.icloud": ""})
    assert left_out(MarkdownFolder(tmp_path, "notes")) == [
        "sub/Roof.md: only in iCloud; download it in Finder, and it is read the next time"
    ]


def refuse(monkeypatch, call: str, name: str, number: int = 13) -> None:
    """Make ``open`` or ``scandir`` fail for this name, which permissions don't do for root."""
    allowed = getattr(os, call)

    def refusing(path, *arguments):
        if os.path.basename(path) == name:
            raise OSError(number, os.strerror(number), path)
        return allowed(path, *arguments)

    monkeypatch.setattr(os, call, refusing)


@pytest.mark.parametrize(
    ("number", "reason"), [(13, "you may not read it"), (5, "can't be read (Input/output error)")]
)
def test_an_unreadable_file_is_left_out_with_a_line(
    tmp_path: Path, monkeypatch, number: int, reason: str
) -> None:
    write_files(tmp_path, {"a.md": "", "locked.md": "", "sub/b.md": ""})
    refuse(monkeypatch, "open", "locked.md", number)
    refuse(monkeypatch, "scandir", "sub", number)
    source = MarkdownFolder(tmp_path, "notes")
    assert list(by_key(source.read())) == ["a.md"]
    assert source.skipped == [f"sub/: {reason}", f"locked.md: {reason}"]


def test_a_note_that_cannot_be_read_now_stays_as_it_was(tmp_path: Path, monkeypatch) -> None:
    write_files(tmp_path, {"a.md": "", "locked.md": "", "sub/b.md": "", "subway.md": ""})
    known = stamps(tmp_path)
    write_files(tmp_path, {"locked.md": "new"})
    (tmp_path / "subway.md").unlink()
    refuse(monkeypatch, "open", "locked.md")
    refuse(monkeypatch, "scandir", "sub")
    assert changed(tmp_path, known) == ([], ["a.md", "locked.md", "sub/b.md"])


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch) -> None:
    write_files(tmp_path / "notes", {"a.md": ""})
    refuse(monkeypatch, "scandir", "notes", errno.EPERM)
    with pytest.raises(SourceError, match="Full Disk Access"):
        read(MarkdownFolder, tmp_path / "notes")
    assert MarkdownFolder(tmp_path / "notes", "notes").state() == "none"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), suffix=st.sampled_from(["md", "txt", "html"]))
def test_any_bytes_in_a_file_are_a_note_or_a_line(tmp_path: Path, data: bytes, suffix: str) -> None:
    name = f"note.{suffix}"
    for path in tmp_path.iterdir():
        path.unlink()
    source = MarkdownFolder(write_files(tmp_path, {name: data}), "notes")
    notes = list(source.read())
    assert [note.key for note in notes] == [name] or source.skipped[0].startswith(f"{name}: ")
    for note in notes:
        assert repr(vars(note).values()).encode()


MARKUP = st.text(
    alphabet=st.sampled_from(list("#-[]()!`~|<>:*+\"' \n\t/\\x1é%=&;")), max_size=200
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=MARKUP)
def test_any_markup_is_a_note(tmp_path: Path, text: str) -> None:
    write_files(tmp_path / ".obsidian", {"app.json": "{}"})
    for suffix in ("md", "html"):
        for kind in (MarkdownFolder, ObsidianVault):
            write_files(tmp_path, {f"note.{suffix}": f"<p>{text}"})
            for note in read(kind, tmp_path).values():
                assert isinstance(note, Note)


@pytest.mark.parametrize(
    "unit",
    ["[", "[[", "[a](", "[a](b \"", "`", "``", "#", "# ", " #a", "- [", "![", "<!--", "<script",
     "---\n", "> ", "[a]:", "|", "~~~", "[[a|", "[a](b(", "\t", "*", ":LOGBOOK:\n", "a:: b\n",
     "<a ", "&#"],
)  # fmt: skip
def test_no_markup_takes_long(tmp_path: Path, unit: str) -> None:
    import time

    text = unit * (100_000 // len(unit))
    write_files(tmp_path, {"note.md": f"x{text}", "b.md": text, ".obsidian/app.json": "{}"})
    started = time.process_time()
    read(ObsidianVault, tmp_path)
    assert time.process_time() - started < 15  # quadratic time would be minutes


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("Iğdır", "IĞDIR"),
        ("IĞDIR", "ığdır"),
        ("İzmir", "izmir"),
        ("İZMİR", "İzmir"),
        ("Maß", "MASS"),
    ],
)
def test_links_ignore_case_in_turkish_and_german_too(tmp_path: Path, name: str, link: str) -> None:
    notes = read(ObsidianVault, vault(tmp_path, {f"{name}.md": "", "a.md": f"[[{link}]]"}))
    assert link_keys(notes["a.md"]) == [f"{name}.md"]


# What is read again


def stamps(folder: Path, kind=MarkdownFolder, **options) -> dict[str, str]:
    return {key: note.stamp for key, note in read(kind, folder, **options).items()}


def changed(
    folder: Path, known: dict[str, str], kind=MarkdownFolder, **options
) -> tuple[list[str], list[str]]:
    """Return the keys of the notes that are read again, and of those that aren't."""
    told = list(kind(folder, "notes", **options).read_changed(known))
    return (
        sorted(item.key for item in told if isinstance(item, Note)),
        sorted(item.key for item in told if isinstance(item, Unchanged)),
    )


def test_unchanged_files_are_not_opened(tmp_path: Path, monkeypatch) -> None:
    write_files(tmp_path, {"a.md": "", "sub/b.txt": ""})
    known = stamps(tmp_path)
    assert isinstance(MarkdownFolder(tmp_path, "notes"), Incremental)

    def forbidden(*arguments):
        raise AssertionError(f"{arguments[0]} was opened")

    monkeypatch.setattr(os, "open", forbidden)
    assert changed(tmp_path, known) == ([], ["a.md", "sub/b.txt"])


def test_changed_files_are_read_and_deleted_ones_are_not_reported(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "old", "b.md": "", "c.md": ""})
    known = stamps(tmp_path)
    write_files(tmp_path, {"a.md": "new", "d.md": ""})
    (tmp_path / "c.md").unlink()
    assert changed(tmp_path, known) == (["a.md", "d.md"], ["b.md"])


def test_a_change_that_keeps_size_and_date_is_seen(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "old"})
    set_modified(tmp_path / "a.md", 1_700_000_000)
    known = stamps(tmp_path)
    write_files(tmp_path, {"a.md": "new"})
    set_modified(tmp_path / "a.md", 1_700_000_000)
    assert changed(tmp_path, known) == (["a.md"], [])


def test_other_options_read_everything_again(tmp_path: Path) -> None:
    write_files(tmp_path, {"sub/a.md": "#tag"})
    known = stamps(tmp_path)
    assert changed(tmp_path, known, folder_tags=False) == (["sub/a.md"], [])
    assert changed(tmp_path, known, url="https://example.com/{path}") == (["sub/a.md"], [])


def test_notes_whose_links_lead_elsewhere_now_are_read_again(tmp_path: Path) -> None:
    vault(
        tmp_path,
        {
            "a.md": "[[Roof]] and [[Idea]]",
            "b.md": "[[Other]]",
            "c.md": "[it](work/Roof.md)",
            "work/Roof.md": "",
            "Other.md": "",
        },
    )
    known = stamps(tmp_path, ObsidianVault)
    write_files(tmp_path, {"Idea.md": ""})
    assert changed(tmp_path, known, ObsidianVault)[0] == ["Idea.md", "a.md"]
    assert link_keys(read(ObsidianVault, tmp_path)["a.md"]) == ["work/Roof.md", "Idea.md"]

    known = stamps(tmp_path, ObsidianVault)
    (tmp_path / "work" / "Roof.md").rename(tmp_path / "Roof.md")
    assert changed(tmp_path, known, ObsidianVault)[0] == ["Roof.md", "c.md"]


@pytest.mark.parametrize("change", ["write", "add", "remove", "rename"])
def test_the_state_of_a_folder_changes_with_its_notes(tmp_path: Path, change: str) -> None:
    write_files(tmp_path, {"a.md": "one", "b.md": "two"})
    before = MarkdownFolder(tmp_path, "notes").state()
    assert MarkdownFolder(tmp_path, "notes").state() == before
    if change == "write":
        write_files(tmp_path, {"a.md": "more"})
    elif change == "add":
        write_files(tmp_path, {"c.md": ""})
    elif change == "remove":
        (tmp_path / "a.md").unlink()
    else:
        (tmp_path / "a.md").rename(tmp_path / "c.md")
    assert MarkdownFolder(tmp_path, "notes").state() != before


def test_reading_changes_nothing(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "---\ntitle: A\n---\n", "sub/b.html": "<p>b"})
    before = {path: path.stat().st_mtime_ns for path in (tmp_path, *tmp_path.rglob("*"))}
    read(MarkdownFolder, tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path, *tmp_path.rglob("*"))}


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exclude": 3}, "exclude must be a list"),
        ({"exclude": [3]}, "exclude must be a list"),
        ({"encoding": "nonsense"}, "encoding must be the name of a text encoding"),
        ({"encoding": "base64"}, "encoding must be the name of a text encoding"),
        ({"folder_tags": "maybe"}, "folder_tags must be true or false"),
        ({"inline_tags": 1}, "inline_tags must be true or false"),
        ({"suffixes": []}, "suffixes must be a list"),
        ({"suffixes": [""]}, "suffixes must be a list"),
        ({"suffixes": 7}, "suffixes must be a list"),
        ({"url": "https://example.com/"}, "url must be an address with {path} or"),
        ({"url": 5}, "url must be an address with {path} or"),
    ],
)
def test_an_invalid_option_gives_a_clear_error(tmp_path, options, message) -> None:
    with pytest.raises(SourceError, match=message):
        MarkdownFolder(tmp_path, "notes", **options)


def test_nothing_heavy_is_imported_with_the_kinds() -> None:
    import subprocess

    heavy = ("yaml", "html_to_markdown", "charset_normalizer", "dateutil", "numpy", "torch")
    code = (
        "import sys\n"
        "from datasette_bear_search.sources.folders import logseq, markdown, obsidian\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert loaded == "[]\n"


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("20240105100000-tomatoes.org", "2024-01-05"),  # org-roam
        ("20240105T100000--denote__garden.org", "2024-01-05"),
        ("202401051000 Zettel.md", "2024-01-05"),
        ("202401051000.md", "2024-01-05"),
        ("20240105.md", "2024-01-05"),
        ("2024_01_05.md", "2024-01-05"),
        ("2024.01.05 Standup.md", "2024-01-05"),
        ("2024-01-05T1000 x.md", "2024-01-05"),
        ("20240105 Standup.txt", "2024-01-05"),
        ("2024-01-05-a-post.md", "2024-01-05"),
        ("January 5th, 2024.md", "2024-01-05"),
        ("Friday, January 5, 2024.md", "2024-01-05"),
        ("5. Januar 2024.md", "2024-01-05"),
        ("05.01.2024 Standup.md", "2024-01-05"),
        ("2024年1月5日 星期五.md", "2024-01-05"),
        ("Deadline 05.01.2024.md", None),
        ("5 books 2024.md", None),
        ("20241305.md", None),
        ("20240105123.md", None),
        ("2024-0105.md", None),
        ("99990105 x.md", None),
        ("2024 plans.md", None),
    ],
)
def test_the_date_in_a_files_name_is_when_it_was_created(
    tmp_path: Path, name: str, day: str | None
) -> None:
    (tmp_path / name).write_text("x")
    [note] = MarkdownFolder(tmp_path).read()
    assert (note.created or "")[:10] == (day or "")


def test_an_alias_of_two_notes_means_the_same_one_in_every_run() -> None:
    names = {"A.md": "A", "B.md": "B"}
    aliases = dict.fromkeys(names, links.alias_hash("tea"))
    for each in (aliases, dict(reversed(aliases.items()))):
        assert links.LinkResolver(names, each).resolve("Tea", is_wiki=True) == "B.md"
