"""The tags, links and attachments of the notes in a Bear library."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasette_bear_search.notes import Link, Tag
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import add_tag, bear_library, edit, read_notes, tag_names


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database.sqlite"


# Tags


def test_a_note_has_its_tags_and_the_tags_above_them(path: Path) -> None:
    bear_library(path, [BearNote(title="Talk", tags=("work/talks/2024", "ideas"))])
    assert tag_names(read_notes(path)["Talk"]) == ["ideas", "work", "work/talks", "work/talks/2024"]


def test_a_tag_whose_ancestors_are_not_on_the_note_is_read_alone(path: Path) -> None:
    bear_library(path, [BearNote(title="Synced")])
    add_tag(path, "work/talks", on="Synced")
    assert tag_names(read_notes(path)["Synced"]) == ["work/talks"]


@pytest.mark.parametrize(
    "name",
    [
        "two words",
        "work projects/biology 101",
        "c++",
        "a+b",
        "100%",
        "snake_case",
        "标签/子标签",
        "🐻",
    ],
)
def test_a_tag_is_read_as_it_was_typed(path: Path, name: str) -> None:
    bear_library(path, [BearNote(title="Tagged", tags=(name,))])
    assert name in tag_names(read_notes(path)["Tagged"])


def test_tags_that_differ_in_case_are_two_tags(path: Path) -> None:
    bear_library(path, [BearNote(title="Twins", tags=("Work", "work"))])
    assert tag_names(read_notes(path)["Twins"]) == ["Work", "work"]


def test_a_tag_that_is_there_twice_is_read_once(path: Path) -> None:
    bear_library(path, [BearNote(title="Doubled", pinned_in=("work",))])
    add_tag(path, "work", on="Doubled")
    assert read_notes(path)["Doubled"].tags == (Tag("work", pinned=True),)


@pytest.mark.parametrize("name", [None, ""])
def test_a_tag_without_a_name_is_left_out(path: Path, name: str | None) -> None:
    bear_library(path, [BearNote(title="Tagged", tags=("work",))])
    add_tag(path, name, on="Tagged")
    assert tag_names(read_notes(path)["Tagged"]) == ["work"]


def test_tags_of_missing_notes_are_ignored(path: Path) -> None:
    bear_library(path, [BearNote(title="Kept"), BearNote(title="Gone", tags=("x",), trashed=True)])
    add_tag(path, "ghost")
    edit(path, "insert into Z_5TAGS values (4711, 1), (1, 4711)")
    assert read_notes(path)["Kept"].tags == ()


def test_untagged_notes_are_read(path: Path) -> None:
    bear_library(path, [BearNote(title="Tagged", tags=("work",)), BearNote(title="Untagged")])
    assert list(read_notes(path)) == ["Tagged", "Untagged"]


def test_a_library_without_any_tag_is_read(path: Path) -> None:
    bear_library(path, [BearNote(title="Untagged")])
    assert read_notes(path)["Untagged"].tags == ()


def test_a_note_is_marked_in_the_tags_that_it_is_pinned_in(path: Path) -> None:
    bear_library(path, [BearNote(title="Plan", tags=("home", "work/plans"), pinned_in=("home",))])
    note = read_notes(path)["Plan"]
    assert [tag.name for tag in note.tags if tag.pinned] == ["home"]
    assert not note.pinned


# Attachments


def test_text_recognized_in_files_is_read_in_their_order_in_the_note(path: Path) -> None:
    files = (BearFile("1.png", ocr="first"), BearFile("2.pdf", ocr="second ", kind="file"))
    bear_library(path, [BearNote(title="Scans", files=files)])
    assert read_notes(path)["Scans"].attachments == "first\fsecond"
    assert read_notes(path)["Scans"].attachment_names == ("1.png", "2.pdf")
    edit(path, "update ZSFNOTEFILE set ZINDEX = 9 - ZINDEX")
    assert read_notes(path)["Scans"].attachments == "second\ffirst"
    assert read_notes(path)["Scans"].attachment_names == ("2.pdf", "1.png")


@pytest.mark.parametrize(
    "file",
    [
        BearFile("unused.png", ocr="words", unused=True),
        BearFile("deleted.png", ocr="words", deleted=True),
        BearFile("encrypted.png", ocr="words", encrypted=True),
        BearFile("nothing-found.png", ocr=""),
        BearFile("not-looked-at.png", ocr=None),
        BearFile("holiday.mov", kind="video"),
    ],
    ids=lambda file: file.name,
)
def test_a_file_that_has_no_text_to_show_adds_none(path: Path, file: BearFile) -> None:
    bear_library(path, [BearNote(title="Scans", files=(file, BearFile("b.png", ocr="seen")))])
    assert read_notes(path)["Scans"].attachments == "seen"


def test_a_file_of_no_note_is_ignored(path: Path) -> None:
    bear_library(path, [BearNote(title="Scans", files=(BearFile("a.png", ocr="words"),))])
    edit(path, "update ZSFNOTEFILE set ZNOTE = null")
    assert read_notes(path)["Scans"].attachments == ""


@pytest.mark.parametrize(
    ("kind", "has_image", "has_file"),
    [("image", True, False), ("file", False, True), ("video", False, True)],
)
def test_notes_with_images_and_files_are_marked(
    path: Path, kind: str, has_image: bool, has_file: bool
) -> None:
    bear_library(path, [BearNote(title="Any", files=(BearFile("a", kind=kind),))])  # type: ignore[arg-type]
    note = read_notes(path)["Any"]
    assert (note.has_image, note.has_file) == (has_image, has_file)


def test_tasks_are_counted_and_code_is_marked(path: Path) -> None:
    text = "# Release\n- [ ] test\n  - [ ] on a Mac\n- [x] tag\n\n```sh\nmake\n```"
    bear_library(path, [BearNote(text=text), BearNote(title="Nothing to do")])
    note, other = BearLibrary(path).read()
    assert (note.todos_open, note.todos_done, note.has_code) == (2, 1, True)
    assert (other.todos_open, other.todos_done, other.has_code) == (0, 0, False)


# Links

TARGET = BearNote(title="Target", id="T")


@pytest.mark.parametrize(
    "link",
    ["[[Target]]", "[[Target|that one]]", "[[Target/A heading]]", "[[Target ]]", "🐻 [[Target]]"],
)
def test_a_link_is_read_with_the_id_and_the_title_of_its_target(path: Path, link: str) -> None:
    bear_library(path, [BearNote(text=f"# Source\nSee {link}."), TARGET])
    assert read_notes(path)["Source"].links == (Link("T", "Target"),)


def test_links_keep_the_order_of_the_text_and_each_target_comes_once(path: Path) -> None:
    text = "# Source\n[[Target]], [[Another]], and [[Target]] again"
    bear_library(path, [BearNote(text=text), BearNote(title="Another", id="A"), TARGET])
    edit(path, "update ZSFNOTEBACKLINK set Z_PK = 100 - Z_PK")
    edit(path, "update ZSFNOTEBACKLINK set ZTITLE = 'Renamed' where ZLOCATION > 30")
    assert read_notes(path)["Source"].links == (Link("T", "Target"), Link("A", "Another"))


@pytest.mark.parametrize("column", ["ZLINKEDBY", "ZLINKINGTO"])
def test_a_link_with_a_loose_end_is_left_out(path: Path, column: str) -> None:
    bear_library(path, [BearNote(text="# Source\n[[Target]]"), TARGET])
    edit(path, f"update ZSFNOTEBACKLINK set {column} = null")
    assert read_notes(path)["Source"].links == ()


def test_a_link_to_a_trashed_note_is_left_out(path: Path) -> None:
    trashed = BearNote(title="Target", id="T", trashed=True)
    bear_library(path, [BearNote(text="# Source\n[[Target]]"), trashed])
    assert read_notes(path)["Source"].links == ()
    assert read_notes(path, include_trashed=True)["Source"].links == (Link("T", "Target"),)


def test_a_link_of_a_note_to_itself_is_left_out(path: Path) -> None:
    bear_library(path, [BearNote(text="# Source\n[[Source/Further down]]")])
    assert read_notes(path)["Source"].links == ()
