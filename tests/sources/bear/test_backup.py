"""Bear's backups and TextBundles: ``sources/bear/backup.py``."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import LONGEST_TITLE, Link, Note, Tag
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sources.bear import backup as bear_backup
from datasette_bear_search.sources.bear.backup import BearBackup
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, day, tag_names
from tests.support.exports import (
    ANY_JSON,
    bear_info,
    bundle,
    damage,
    encrypt,
    folder_of,
    read,
    zip_of,
)

SHARED = os.environ.get("BEAR_SEARCH_SHARED")


def backup(path: Path, *bundles: dict[str, Any]) -> BearBackup:
    files: dict[str, Any] = {"backup.json": {"version": 3}}
    for one in bundles:
        files |= one
    return BearBackup(zip_of(path / "Notes.bear2bk", files))


def only(source: BearBackup, **options: Any) -> Note:
    [note] = source.read(**options)
    return note


# Notes


def test_a_note_of_a_backup_is_that_of_the_database(tmp_path: Path) -> None:
    text = "# Tomatoes\n#garden/beds #food\n\nWater [[Peas]] too.\n- [ ] prune\n\n```\ncode\n```"
    library = bear_library(
        tmp_path / "database.sqlite",
        [
            BearNote(
                text=text,
                id="TOMATOES",
                created=day(1),
                modified=day(2),
                tags=("garden/beds", "food"),
                pinned_in=("food",),
                pinned=True,
                archived=True,
            ),
            BearNote(text="# Peas\n\nSow early.", id="PEAS", created=day(1), modified=day(2)),
        ],
    )
    source = backup(
        tmp_path,
        bundle("T", text, "TOMATOES", pinned=1, archived=1, pinnedInTagTitles=["food"]),
        bundle("P", "# Peas\n\nSow early.", "PEAS"),
    )
    assert list(source.read()) == list(BearLibrary(library).read())


def test_links_lead_to_notes_that_come_later_and_to_headings(tmp_path: Path) -> None:
    text = (
        "# A\n[[C/D]] and [[ B |that]] and [[B/Heading]] and [[missing]] and [[A]]\n"
        "[old](bear://x-callback-url/open-note?id=ID-E&header=x) `[[E]]`"
    )
    titles = {"A": text, "B": "# B", "C/D": "# C/D", "E": "# E"}
    bundles = [
        bundle(title.replace("/", ""), body, f"ID-{title}") for title, body in titles.items()
    ]
    note = read(backup(tmp_path, *bundles))["A"]
    assert note.links == (Link("ID-C/D", "C/D"), Link("ID-B", "B"), Link("ID-E", "old"))


@pytest.mark.parametrize("encrypted", [1, True, "1"])
def test_an_encrypted_note_has_only_its_title(tmp_path: Path, encrypted: Any) -> None:
    text = "# Secret\n#hidden [[Other]]\n- [ ] x\n![](a.png)"
    secret = bundle("My diary", text, encrypted=encrypted, encryptedData="c2VjcmV0")
    note = only(backup(tmp_path, secret))
    assert (note.title, note.encrypted, note.body, note.tags) == ("My diary", True, "", ())
    assert (note.todos_open, note.has_image, note.links) == (0, False, ())


def test_notes_in_the_trash_are_read_only_on_request(tmp_path: Path) -> None:
    source = backup(tmp_path, bundle("Kept", "# Kept"), bundle("Thrown away", "# X", trashed=1))
    assert read(source).keys() == {"Kept"}
    assert read(source, include_trashed=True)["X"].trashed


def test_flags_count_and_not_the_dates_of_what_was_undone(tmp_path: Path) -> None:
    restored = bundle("Back", "# Back", trashed=0, trashedDate="2024-05-01T09:30:00Z")
    assert only(backup(tmp_path, restored)).trashed is False


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Title\n\nBody", "Title", "Body"),
        ("First line\nBody", "First line", "Body"),
        ("#tag\nBody", "#tag", "Body"),
        ("# \nBody", "", "# \nBody"),
        ("", "", ""),
        ("\ufeff# BOM\r\n\r\nLines", "BOM", "Lines"),
        ("# Caf\u00e9\nau lait".encode("cp1252"), "Café", "au lait"),
    ],
)
def test_the_title_is_the_first_line(tmp_path: Path, text: Any, title: str, body: str) -> None:
    note = only(backup(tmp_path, bundle("2023-10-11T081102Z", text)))
    assert (note.title, note.body) == (title, body)


def test_a_title_longer_than_a_glance_is_cut_and_links_still_find_it(tmp_path: Path) -> None:
    long = "é" * 3000
    source = backup(tmp_path, bundle("A", f"# A\n[[{long}]]"), bundle("B", f"# {long}\nBody"))
    titles = {note.key: note for note in source.read()}
    assert [link.key for link in titles["ID-A"].links] == ["ID-B"]
    assert len(titles["ID-B"].title) <= LONGEST_TITLE + 1


def test_a_text_is_not_cut_within_a_character(tmp_path: Path) -> None:
    text = "# Tee für später\n" + "ü" * 5000
    source = backup(tmp_path, bundle("A", "# A\n[[Tee für später]]"), bundle("B", text))
    assert read(source)["A"].links == (Link("ID-B", "Tee für später"),)


def test_pictures_and_files_are_known_without_being_opened(tmp_path: Path) -> None:
    files = bundle("A", "# A\n![](assets/a%20b.png) [doc](assets/doc.pdf)")
    files["A.textbundle/assets/a b.png"] = "x" * 100
    files["A.textbundle/assets/text.md"] = "# An attachment, not a note"
    source = backup(tmp_path, files)
    damage(source.path, "A.textbundle/assets/a b.png")
    note = only(source)
    assert (note.has_image, note.has_file) == (True, True)
    assert source.skipped == []


# Tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#tag", ["tag"]),
        ("a #tag, #two. (#three) *#four* \u00a0#five", ["five", "tag", "two"]),
        ("#work/projects/roof", ["work", "work/projects", "work/projects/roof"]),
        ("#two words# and #work stuff/big#", ["two words", "work stuff", "work stuff/big"]),
        ("#one and #two", ["one", "two"]),
        ("#one, then #two three#!", ["one", "two three"]),
        ("#closed#", ["closed"]),
        ("#中文 #标签/子标签 #🌱", ["中文", "标签", "标签/子标签", "🌱"]),
        ("#Same #same", ["Same"]),
        ("\\#escaped no#tag https://a.org/#fragment ##two # heading", []),
        ("#00ff00 #c0ffee #fff0 #facade #beef", ["beef", "facade", "fff0"]),
        ("`#code` and ``a `#b` ``", []),
        ("```\n#code\n```\n#text", ["text"]),
        ("#a//b #/ #", []),
        ("#trailing/", ["trailing"]),
        ("#bad!tag", ["bad!tag"]),
        ("#unclosed words\n#next", ["next", "unclosed"]),
        ("#mañana #cafe-au-lait #daily_note #c++", ["c++", "cafe-au-lait", "daily_note", "mañana"]),
    ],
)  # fmt: skip
def test_tags_are_read_as_bear_reads_them(text: str, tags: list[str]) -> None:
    assert bear_backup.tags(text) == tags


@pytest.mark.skipif(not SHARED, reason="needs a real library")
def test_title_tags_and_links_are_those_of_a_real_library() -> None:
    path = Path(str(SHARED)) / "fixtures/bear-real-1.sqlite"
    rows = sqlite3.connect(path).execute("select ZUNIQUEIDENTIFIER, ZTITLE, ZTEXT from ZSFNOTE")
    texts = {key: (title, text) for key, title, text in rows}
    keys = {title: key for key, (title, _) in texts.items()} | {key: key for key in texts}
    notes = BearLibrary(path).read(include_trashed=True)
    assert notes
    for note in notes:
        title, text = texts[note.key]
        assert bear_backup.first_line(text) == title
        assert bear_backup.tags(text) == sorted(tag_names(note))
        assert [link for link in bear_backup.links(text, keys) if link.key != note.key] == list(
            note.links
        )


def test_a_note_pinned_in_a_tag_is_so_in_any_case(tmp_path: Path) -> None:
    files = bundle("A", "# A\n#Work/Roof", pinnedInTagTitles=["work/roof", 7, None])
    assert only(backup(tmp_path, files)).tags == (Tag("Work"), Tag("Work/Roof", pinned=True))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="#a /[]|\n`\\1f.", max_size=60))
def test_no_text_has_invalid_tags(text: str) -> None:
    for tag in bear_backup.tags(text):
        assert tag.strip() == tag
        assert all(tag.split("/"))
        assert "#" not in tag
    bear_backup.links(text, {"a": "1"})


# TextBundles


def test_a_bundle_of_another_app_is_a_note_by_its_name(tmp_path: Path) -> None:
    files = {"Ideas.textbundle/text.markdown": "", "Ideas.textbundle/info.json": {"version": 2}}
    folder = folder_of(tmp_path / "bundles", files)
    os.utime(folder / "Ideas.textbundle/text.markdown", (1714555800, 1714555800))
    note = only(BearBackup(folder))
    assert (note.key, note.title, note.url) == ("Ideas.textbundle", "Ideas", None)
    assert note.modified == "2024-05-01T09:30:00Z"


def test_a_single_bundle_and_a_pack_are_read(tmp_path: Path) -> None:
    files = {"text.md": "# One\nBody", "info.json": bear_info(), "assets/text.md": "# no note"}
    folder = folder_of(tmp_path / "One.textbundle", files)
    pack = zip_of(tmp_path / "One.textpack", files)
    nested = zip_of(
        tmp_path / "two" / "One.textpack", {f"One.textbundle/{k}": v for k, v in files.items()}
    )
    notes = [only(BearBackup(path)) for path in (folder, pack, nested)]
    assert all(BearBackup.reads(str(path)) for path in (folder, pack, nested))
    assert notes[0] == notes[1] == notes[2]
    assert (notes[0].title, notes[0].key) == ("One", "ID-1")


def test_a_folder_with_a_backup_of_bear_1_is_recognized(tmp_path: Path) -> None:
    zip_of(tmp_path / "Notes.bearbk", bundle("A", "# A"))
    assert BearBackup.reads(str(tmp_path))
    assert read(BearBackup(tmp_path)).keys() == {"A"}


def test_a_folder_of_bundles_and_packs_is_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "notes", {**bundle("A", "# A"), **bundle("sub/B", "# B")})
    zip_of(folder / "C.textpack", bundle("C", "# C"))
    (folder / "broken.textpack").write_bytes(b"PK\3\4")
    (folder / "other.zip").write_bytes(b"no concern of ours")
    source = BearBackup(folder)
    assert read(source).keys() == {"A", "B", "C"}
    [line] = source.skipped
    assert "broken.textpack is not a zip archive" in line


def test_only_the_newest_of_several_backups_is_read(tmp_path: Path) -> None:
    for number, text in enumerate(["# Diary\nplain", "# Other"]):
        path = zip_of(tmp_path / f"{number}.bear2bk", bundle("A", text, f"ID-{number}"))
        os.utime(path, (1714555800 + number, 1714555800 + number))
    source = BearBackup(tmp_path)
    assert read(source).keys() == {"Other"}
    assert source.skipped == ["0.bear2bk: older than 1.bear2bk; only the newest backup is read"]


def test_an_archive_in_a_backup_is_read_but_none_among_attachments(tmp_path: Path) -> None:
    inner = zip_of(tmp_path / "inner.zip", bundle("B", "# B")).read_bytes()
    files = {**bundle("A", "# A"), "more.zip": inner}
    assert read(backup(tmp_path, files)).keys() == {"A", "B"}
    attached = {**bundle("A", "# A"), "A.textbundle/assets/b.zip": inner}
    assert read(backup(tmp_path, attached)).keys() == {"A"}


def test_the_newer_version_of_a_duplicate_note_counts(tmp_path: Path) -> None:
    old = bundle("Old", "# Old", "SAME", modificationDate="2024-01-01T00:00:00Z")
    new = bundle("New", "# New", "SAME", modificationDate="2024-06-01T00:00:00Z")
    for bundles in ([old, new], [new, old]):
        source = backup(tmp_path, *bundles)
        assert read(source).keys() == {"New"}
        assert source.skipped == ["Old.textbundle: the same note as New.textbundle, not newer"]


def test_the_encrypted_one_of_two_equally_old_versions_counts(tmp_path: Path) -> None:
    plain, secret = bundle("Diary", "# Diary\nplain", "SAME"), bundle("X", "", "SAME", encrypted=1)
    for bundles in ([plain, secret], [secret, plain]):
        assert only(backup(tmp_path, *bundles)).encrypted


@pytest.mark.parametrize("make", [zip_of, folder_of])
def test_a_backup_is_recognized_without_reading_it(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path / "Notes.bear2bk", bundle("A", "# A"))
    assert BearBackup.reads(str(path))
    assert BearBackup.reads(str(tmp_path))
    (tmp_path / "Note.md").write_text("# A note of another kind")
    assert not BearBackup.reads(str(tmp_path))
    assert not BearBackup.reads(str(tmp_path / "Note.md"))
    assert not BearBackup.reads(str(tmp_path / "missing.bear2bk"))


# What can't be read


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000])
def test_a_note_without_metadata_is_skipped(tmp_path: Path, content: bytes) -> None:
    # The note might be encrypted or in the trash.
    broken = {**bundle("B", "# B"), "B.textbundle/info.json": content}
    source = backup(tmp_path, bundle("A", "# A"), broken)
    assert read(source).keys() == {"A"}
    [line] = source.skipped
    assert line.startswith("B.textbundle: no valid JSON")


def test_a_damaged_an_encrypted_and_a_binary_text_are_skipped(tmp_path: Path) -> None:
    source = backup(
        tmp_path,
        bundle("A", "# A"),
        bundle("Bad", "# B " * 99),
        bundle("Locked", "# C"),
        bundle("Binary", bytes(range(32)) * 99),
    )
    damage(source.path, "Bad.textbundle/text.md")
    encrypt(source.path, "Locked.textbundle/text.md")
    assert read(source).keys() == {"A"}
    reasons = sorted(line.partition(" (")[0] for line in source.skipped)
    assert reasons == [
        "Bad.textbundle: damaged",
        "Binary.textbundle: not text, whatever its name says",
        "Locked.textbundle: encrypted with a password",
    ]


def test_when_no_note_can_be_read_that_is_an_error(tmp_path: Path) -> None:
    source = backup(tmp_path, bundle("A", "# A"))
    encrypt(source.path, "A.textbundle/info.json")
    with pytest.raises(SourceError, match=r"None of the notes in .* encrypted with a password"):
        list(source.read())


def test_an_archive_without_notes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There are no notes of Bear's"):
        list(backup(tmp_path).read())


def test_the_state_changes_with_the_backup(tmp_path: Path) -> None:
    before = backup(tmp_path, bundle("A", "# A")).state()
    assert backup(tmp_path, bundle("A", "# Another")).state() != before


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(
        st.sampled_from([*bear_info()["net.shinyfrog.bear"], "pinnedInTagTitles"]), ANY_JSON
    ),
    ANY_JSON,
)
def test_no_json_crashes_the_source(tmp_path: Path, known: dict[str, Any], other: Any) -> None:
    first, second = bundle("A", "# A\n#tag"), bundle("B", "# B")
    first["A.textbundle/info.json"] = {"net.shinyfrog.bear": known}
    second["B.textbundle/info.json"] = other
    for note in backup(tmp_path, first, second).read(include_trashed=True):
        repr(vars(note)).encode()
