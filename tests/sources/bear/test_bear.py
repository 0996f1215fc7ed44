"""How each note in a Bear library is read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from datasette_bear_search.notes import LONGEST_TITLE, Note, Tag
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import bear_library, day, edit, read_notes, tag_names

SHARED = os.environ.get("BEAR_SEARCH_SHARED")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database.sqlite"


# Text


def test_a_note_comes_with_its_title_and_the_text_below_it(path: Path) -> None:
    bear_library(path, [BearNote(text="# Tomatoes\n\nWater them daily.\nPrune in July.")])
    (note,) = BearLibrary(path).read()
    assert (note.title, note.body) == ("Tomatoes", "Water them daily.\nPrune in July.")


def test_a_note_about_another_apps_tables_makes_no_other_database(path: Path) -> None:
    bear_library(path, [BearNote(text="# Joplin\nIts table is note_resources.")])
    assert kind_of(str(path)) == kind_of(str(path.parent)) == "bear"


def test_the_order_of_notes_is_that_of_the_library(path: Path) -> None:
    bear_library(path, [BearNote(title=title) for title in ("b", "c", "a")])
    assert list(read_notes(path)) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("stored_title", "text", "title", "body"),
    [
        (None, "# From the text\nBody", "From the text", "Body"),
        ("", "## From the text\n\nBody", "From the text", "Body"),
        ("  ", "No heading\nBody", "No heading", "Body"),
        (None, "\n\n# After blank lines\nBody", "After blank lines", "Body"),
        (None, "#garden\nA tag is no heading", "#garden", "A tag is no heading"),
        ("", "# \nAn empty heading", "", "# \nAn empty heading"),
        (None, "", "", ""),
        (None, None, "", ""),
        ("Title only", None, "Title only", ""),
        ("Get started", "# Get started \nBody", "Get started", "Body"),
        ("Tea 🍵 お茶", "# Tea 🍵 お茶\nمرحبا", "Tea 🍵 お茶", "مرحبا"),
        ("Crème brûlée", "# Crème brûlée\nÅse’s jalapeño", "Crème brûlée", "Åse’s jalapeño"),
    ],
)  # fmt: skip
def test_the_title_is_bears_own_or_the_first_line_of_the_text(
    path: Path, stored_title: str | None, text: str | None, title: str, body: str
) -> None:
    bear_library(path, [BearNote(title="x")])
    edit(path, "update ZSFNOTE set ZTITLE = ?, ZTEXT = ?", stored_title, text)
    (note,) = BearLibrary(path).read()
    assert (note.title, note.body) == (title, body)


def test_a_very_long_note_is_read_whole(path: Path) -> None:
    body = "A line of an endless note.\n" * 40_000
    bear_library(path, [BearNote(text=f"# Long\n{body}")])
    assert read_notes(path)["Long"].body == body


def test_notes_with_the_same_title_are_all_there(path: Path) -> None:
    bear_library(path, [BearNote(text="# Standup\nMonday"), BearNote(text="# Standup\nTuesday")])
    notes = list(BearLibrary(path).read())
    assert [note.body for note in notes] == ["Monday", "Tuesday"]
    assert notes[0].key != notes[1].key


def test_bytes_that_are_not_utf_8_are_read_as_those_of_windows(path: Path) -> None:
    bear_library(path, [BearNote(title="Broken")])
    edit(path, "update ZSFNOTE set ZTEXT = cast(x'4d6f6cff6e' as text)")
    assert read_notes(path)["Broken"].body == "Molÿn"


def test_nul_characters_are_left_out(path: Path) -> None:
    bear_library(path, [BearNote(title="x")])
    edit(path, "update ZSFNOTE set ZTITLE = ?, ZTEXT = ?", "a\0b", "before\0after")
    (note,) = BearLibrary(path).read()
    assert (note.title, note.body) == ("ab", "beforeafter")


def test_a_blob_in_place_of_a_text_is_read_as_text(path: Path) -> None:
    bear_library(path, [BearNote(title="Blob")])
    edit(path, "update ZSFNOTE set ZTEXT = ?", b"# Blob\nStill readable")
    assert read_notes(path)["Blob"].body == "Still readable"


def test_a_library_without_notes_is_read_as_no_notes(path: Path) -> None:
    assert list(BearLibrary(bear_library(path)).read()) == []


# Identity


@pytest.mark.parametrize(
    ("key", "url_end"),
    [
        ("9F0ADD60-6A60-42DA-B5F0-475EC6F9575D", "9F0ADD60-6A60-42DA-B5F0-475EC6F9575D"),
        ("SFNote2Intro0", "SFNote2Intro0"),
        ("UUID-3470-0000067798C0252F", "UUID-3470-0000067798C0252F"),
        ("a b&c=ü/+", "a%20b%26c%3D%C3%BC%2F%2B"),
    ],
)
def test_a_note_is_opened_in_bear_by_its_id(path: Path, key: str, url_end: str) -> None:
    bear_library(path, [BearNote(title="Any", id=key)])
    note = read_notes(path)["Any"]
    assert note.key == key
    assert note.url == f"bear://x-callback-url/open-note?id={url_end}"


@pytest.mark.parametrize("key", [None, ""])
def test_a_note_without_an_id_is_skipped(path: Path, key: str | None) -> None:
    bear_library(path, [BearNote(title="No id"), BearNote(title="Other")])
    edit(path, "update ZSFNOTE set ZUNIQUEIDENTIFIER = ? where ZTITLE = 'No id'", key)
    assert list(read_notes(path)) == ["Other"]


@pytest.mark.parametrize("newer_first", [True, False])
def test_the_last_modified_of_two_rows_with_the_same_id_is_read(
    path: Path, newer_first: bool
) -> None:
    older = BearNote(title="Older", id="A", tags=("old",), created=day(1))
    newer = BearNote(title="Newer", id="A", tags=("new",), created=day(2))
    bear_library(path, [newer, older] if newer_first else [older, newer])
    (note,) = (source := BearLibrary(path)).read()
    assert (note.title, tag_names(note)) == ("Newer", ["new"])
    assert source.skipped == ["1 older rows of notes that are there twice"]


def test_a_conflict_copy_is_a_note_like_any_other(path: Path) -> None:
    bear_library(path, [BearNote(title="Mine", id="A"), BearNote(title="Theirs", id="B")])
    edit(path, "update ZSFNOTE set ZCONFLICTUNIQUEIDENTIFIER = 'A' where ZTITLE = 'Theirs'")
    assert list(read_notes(path)) == ["Mine", "Theirs"]


def test_a_note_keeps_its_key_when_its_row_number_changes(path: Path) -> None:
    bear_library(path, [BearNote(title="Moved")])
    before = list(BearLibrary(path).read())
    edit(path, "update ZSFNOTE set Z_PK = 4711")
    assert list(BearLibrary(path).read()) == before


# Dates


def test_dates_are_iso_8601_in_utc(path: Path) -> None:
    bear_library(path, [BearNote(title="Dated", created=day(1), modified=day(2))])
    note = read_notes(path)["Dated"]
    assert (note.created, note.modified) == ("2024-05-01T09:30:00Z", "2024-05-02T09:30:00Z")


@pytest.mark.parametrize(
    ("stored", "date"),
    [
        (0, "2001-01-01T00:00:00Z"),
        (782462928, "2025-10-18T06:48:48Z"),
        (782462928.6433475, "2025-10-18T06:48:48Z"),
        (-1.5, "2000-12-31T23:59:58Z"),
        (-63113904000, "0001-01-01T00:00:00Z"),
        (252423993599, "9999-12-31T23:59:59Z"),
        (252423993600, None),
        (-63113904001, None),
        (1e300, None),
        (float("inf"), None),
        (2**62, None),
        (None, None),
        ("yesterday", None),
        (b"\x00", None),
    ],
)
def test_any_stored_date_is_read_or_left_out(path: Path, stored: object, date: str | None) -> None:
    bear_library(path, [BearNote(title="Dated")])
    edit(path, "update ZSFNOTE set ZCREATIONDATE = ?1, ZMODIFICATIONDATE = ?1", stored)
    note = read_notes(path)["Dated"]
    assert (note.created, note.modified) == (date, date)


# Pinned, archived, trashed


def test_trashed_notes_are_not_read(path: Path) -> None:
    bear_library(
        path,
        [
            BearNote(title="Kept"),
            BearNote(title="Trashed", trashed=True),
            BearNote(title="Trashed from the archive", trashed=True, archived=True),
        ],
    )
    assert list(read_notes(path)) == ["Kept"]


def test_trashed_notes_are_read_and_marked_when_asked_for(path: Path) -> None:
    bear_library(path, [BearNote(title="Kept"), BearNote(title="Trashed", trashed=True)])
    notes = read_notes(path, include_trashed=True)
    assert {title: note.trashed for title, note in notes.items()} == {
        "Kept": False,
        "Trashed": True,
    }


def test_purged_notes_are_never_read(path: Path) -> None:
    bear_library(
        path,
        [BearNote(title="Purged", purged=True), BearNote(title="Both", purged=True, trashed=True)],
    )
    assert read_notes(path, include_trashed=True) == {}


def test_archived_notes_are_read_and_marked(path: Path) -> None:
    bear_library(path, [BearNote(title="Now"), BearNote(title="Then", archived=True)])
    notes = read_notes(path)
    assert (notes["Now"].archived, notes["Then"].archived) == (False, True)


def test_a_restored_note_is_not_taken_for_what_it_was(path: Path) -> None:
    bear_library(path, [BearNote(title="Restored")])
    edit(path, "update ZSFNOTE set ZARCHIVEDDATE = 5, ZTRASHEDDATE = 5, ZENCRYPTIONDATE = 5")
    note = read_notes(path)["Restored"]
    assert (note.archived, note.trashed, note.encrypted) == (False, False, False)


def test_flags_that_an_old_version_left_empty_count_as_off(path: Path) -> None:
    bear_library(path, [BearNote(text="# Old\nBody")])
    flags = "ZARCHIVED ZTRASHED ZENCRYPTED ZPERMANENTLYDELETED ZPINNED ZHASIMAGES ZTODOCOMPLETED"
    for flag in flags.split():
        edit(path, f"update ZSFNOTE set {flag} = null")
    (note,) = BearLibrary(path).read()
    assert note.body == "Body"
    assert not any([note.archived, note.trashed, note.encrypted, note.pinned, note.has_image])
    assert note.todos_done == 0


def test_a_locked_note_is_read_like_any_other(path: Path) -> None:
    bear_library(path, [BearNote(text="# Read-only\nBody", locked=True)])
    assert read_notes(path)["Read-only"].body == "Body"


def test_pinned_notes_are_marked(path: Path) -> None:
    bear_library(path, [BearNote(title="Pinned", pinned=True), BearNote(title="Loose")])
    notes = read_notes(path)
    assert (notes["Pinned"].pinned, notes["Loose"].pinned) == (True, False)


# Encrypted notes

SECRET = BearNote(
    text="# Diary\nSecret words\n- [ ] secret task\n- [x] done\n```\ncode\n```\n[[Plain]]",
    encrypted=True,
    pinned=True,
    tags=("private",),
    files=(BearFile("a.png", ocr="secret picture"), BearFile("b.pdf", kind="file")),
)


def test_an_encrypted_note_has_only_what_bear_shows_of_it(path: Path) -> None:
    bear_library(path, [SECRET, BearNote(title="Plain")])
    assert read_notes(path)["Diary"] == Note(
        key=read_notes(path)["Diary"].key,
        title="Diary",
        tags=(Tag("private"),),
        created="2024-01-01T09:00:00Z",
        modified="2024-01-01T09:00:00Z",
        pinned=True,
        encrypted=True,
        url=read_notes(path)["Diary"].url,
    )


def test_text_that_was_left_beside_an_encrypted_note_is_not_read(path: Path) -> None:
    bear_library(path, [SECRET, BearNote(title="Plain")])
    edit(path, "update ZSFNOTE set ZTEXT = '# Diary' || char(10) || 'Secret' where ZENCRYPTED")
    edit(
        path, "insert into ZSFNOTEBACKLINK (ZLINKEDBY, ZLINKINGTO, ZTITLE) values (1, 2, 'Secret')"
    )
    assert "ecret" not in repr(read_notes(path))


def test_encrypting_a_note_empties_it_though_its_date_of_change_stays(path: Path) -> None:
    bear_library(path, [BearNote(text="# Diary\nSecret words")])
    before = read_notes(path)["Diary"]
    edit(path, "update ZSFNOTE set ZENCRYPTED = 1")
    after = read_notes(path)["Diary"]
    assert (before.body, after.body) == ("Secret words", "")
    assert after.modified == before.modified
    assert after.fingerprint() != before.fingerprint()


# A real library


@pytest.fixture
def real_library(path: Path) -> dict[str, Note]:
    if SHARED is None:
        pytest.skip("BEAR_SEARCH_SHARED does not say where the real library is")
    shutil.copyfile(Path(SHARED) / "fixtures" / "bear-real-1.sqlite", path)
    return read_notes(path)


def test_all_notes_of_a_real_library_are_read(real_library: dict[str, Note]) -> None:
    assert sorted(real_library) == [
        "Get started with Bear",
        "Organize, search, and customize in Bear",
        "Test note with another tag",
        "Test note with multiple tags",
        "Welcome to Bear 👋",
        "Work faster and easier with Bear",
    ]
    assert sum("Lorem" in note.body for note in real_library.values()) == 2


def test_the_tags_of_a_real_library_are_counted_as_bear_counts_them(
    real_library: dict[str, Note],
) -> None:
    names = [name for note in real_library.values() for name in tag_names(note)]
    counts = {name: names.count(name) for name in sorted(set(names))}
    assert counts == {"bear": 4, "bear/welcome": 4, "first_tag": 2, "second_tag": 1}


def test_links_and_recognized_text_of_a_real_library_are_read(
    real_library: dict[str, Note],
) -> None:
    start = real_library["Get started with Bear"]
    assert [link.title for link in start.links] == [
        "Organize, search, and customize in Bear",
        "Work faster and easier with Bear",
    ]
    assert start.attachments == "H1 B 曲 I A"
    assert start.key == "SFNote2Intro0"
    assert start.modified == "2025-10-18T06:48:48Z"
    assert start.has_image


def test_a_note_that_is_one_long_paragraph_keeps_it_in_its_body(tmp_path):
    paragraph = "This goes on and on, and never comes to a point. " * 20
    [note] = BearLibrary(bear_library(tmp_path / "l.sqlite", [BearNote(paragraph.strip())])).read()
    assert note.body == paragraph.strip()
    assert note.title.endswith("…")
    assert len(note.title) <= LONGEST_TITLE + 1
