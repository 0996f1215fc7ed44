"""The libraries that stand in for Bear's own have to be like them to the last column.

Tests the writer in tests/support/bear_database.
"""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.support.bear_database import BearFile, BearNote, write_library
from tests.support.bear_libraries import sqlite3

SHARED = os.environ.get("BEAR_SEARCH_SHARED")

ALL_SORTS = [
    BearNote(text="# Plan 🐻\nSee [[Budget]].\n- [ ] ask", tags=("work/plans",), pinned=True),
    BearNote(text="# Budget\n```\n1\n```", archived=True, tags=("two words",), pinned_in=("work",)),
    BearNote(text="# Diary\nSecret words", encrypted=True, trashed=True, locked=True),
    BearNote(
        text="# Scans", files=(BearFile("My Scan.JPG", "words"), BearFile("a.pdf", kind="file"))
    ),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database.sqlite"


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


@pytest.fixture
def real_library() -> Path:
    if SHARED is None:
        pytest.skip("BEAR_SEARCH_SHARED does not say where the real library is")
    return Path(SHARED) / "fixtures" / "bear-real-1.sqlite"


# The database


@pytest.mark.parametrize(
    "sql",
    [
        """
        select tables.name, columns.*
        from sqlite_master as tables, pragma_table_info(tables.name) as columns
        where tables.type = 'table'
        order by tables.name, columns.cid
        """,
        """
        select indexes.tbl_name, indexes.name, columns.*
        from sqlite_master as indexes, pragma_index_info(indexes.name) as columns
        where indexes.type = 'index'
        order by indexes.name, columns.seqno
        """,
        "select Z_ENT, Z_NAME, Z_SUPER from Z_PRIMARYKEY order by Z_ENT",
        "select type, count(*) from sqlite_master group by type",
        "select distinct Z_ENT from ZSFNOTE union all select distinct Z_ENT from ZSFNOTETAG",
        "pragma page_size",
        "pragma auto_vacuum",
        "pragma encoding",
        "pragma user_version",
        "pragma application_id",
    ],
)
def test_a_library_is_laid_out_like_a_real_one(path: Path, real_library: Path, sql: str) -> None:
    write_library(path, ALL_SORTS)
    assert query(path, sql) == query(real_library, sql)


def test_a_library_has_all_tables_and_indexes_of_bear_2(path: Path) -> None:
    write_library(path, [])
    counts = "select type, count(*) from sqlite_master where sql is not null group by type"
    assert query(path, counts) == [("index", 13), ("table", 17)]


def test_a_library_is_sound_and_keeps_a_rollback_journal(path: Path) -> None:
    write_library(path, ALL_SORTS)
    assert query(path, "pragma integrity_check") == [("ok",)]
    assert query(path, "pragma journal_mode") == [("delete",)]
    assert os.listdir(path.parent) == ["database.sqlite"]


def test_the_register_knows_the_highest_row_number_of_each_table(path: Path) -> None:
    write_library(path, ALL_SORTS)
    highest = dict(query(path, "select Z_NAME, Z_MAX from Z_PRIMARYKEY where Z_MAX > 0"))
    assert highest == {
        "SFNote": 4,
        "SFNoteBackLink": 1,
        "SFNoteFile": 2,
        "SFNoteTag": 3,
        "SFPassword": 1,
    }


def test_the_same_notes_make_the_same_library(path: Path) -> None:
    write_library(path, ALL_SORTS)
    before = path.read_bytes()
    write_library(path, ALL_SORTS)
    assert path.read_bytes() == before


# Its place


def test_a_library_replaces_the_one_that_was_there(path: Path) -> None:
    write_library(path, ALL_SORTS)
    write_library(path, [BearNote(title="Only this")])
    assert query(path, "select ZTITLE from ZSFNOTE") == [("Only this",)]


def test_replacing_a_library_also_removes_its_log_files(path: Path) -> None:
    write_library(path, ALL_SORTS)
    path.with_name("database.sqlite-wal").write_bytes(b"old")
    write_library(path, [])
    assert os.listdir(path.parent) == ["database.sqlite"]


def test_a_library_stays_as_it_was_if_the_new_one_cannot_be_finished(path: Path) -> None:
    write_library(path, ALL_SORTS)
    without_time_zone = BearNote(title="Broken", created=datetime(2024, 1, 1))
    with pytest.raises(TypeError):
        write_library(path, [BearNote(title="New"), without_time_zone])
    assert os.listdir(path.parent) == ["database.sqlite"]
    assert query(path, "select count(*) from ZSFNOTE") == [(4,)]


# Notes


def test_an_id_is_made_of_the_title_and_stays_the_same(path: Path) -> None:
    ids = []
    for notes in ([BearNote(title="A"), BearNote(title="B")], [BearNote(text="# A\nNew text")]):
        write_library(path, notes)
        ids.append(query(path, "select ZUNIQUEIDENTIFIER from ZSFNOTE where ZTITLE = 'A'")[0][0])
    assert ids[0] == ids[1] == str(UUID(ids[0])).upper()


def test_notes_with_the_same_title_get_different_ids(path: Path) -> None:
    write_library(path, [BearNote(title="A"), BearNote(title="A"), BearNote(title="A")])
    assert len(set(query(path, "select ZUNIQUEIDENTIFIER from ZSFNOTE"))) == 3


@pytest.mark.parametrize(
    ("note", "title", "text"),
    [
        (BearNote(text="# Plan \nBody"), "Plan", "# Plan \nBody"),
        (BearNote(title="Plan"), "Plan", "# Plan"),
        (BearNote(text="Body", title="Plan"), "Plan", "Body"),
        (BearNote(text="#tag first"), "#tag first", "#tag first"),
        (BearNote(text="# "), "", "# "),
        (BearNote(), "", ""),
    ],
)
def test_title_and_text_are_made_of_each_other(
    path: Path, note: BearNote, title: str, text: str
) -> None:
    write_library(path, [note])
    assert query(path, "select ZTITLE, ZTEXT from ZSFNOTE") == [(title, text)]


def test_the_file_has_nothing_of_an_encrypted_note_but_its_title(path: Path) -> None:
    text = "# Diary\nUnspeakable words about [[Budget]]"
    write_library(path, [BearNote(text=text, encrypted=True), BearNote(title="Budget")])
    assert b"Diary" in path.read_bytes()
    assert b"Unspeakable" not in path.read_bytes()
    sql = "select ZTEXT, length(ZENCRYPTEDDATA) > 0 from ZSFNOTE where ZENCRYPTED"
    assert query(path, sql) == [(None, 1)]


def test_flags_are_written_as_numbers_and_never_left_empty(path: Path) -> None:
    write_library(path, [BearNote(title="Plain")])
    columns = [
        *("ZARCHIVED", "ZENCRYPTED", "ZHASFILES", "ZHASIMAGES", "ZHASSOURCECODE", "ZLOCKED"),
        *("ZPERMANENTLYDELETED", "ZPINNED", "ZTODOCOMPLETED", "ZTODOINCOMPLETED", "ZTRASHED"),
    ]
    assert query(path, f"select {', '.join(columns)} from ZSFNOTE") == [(0,) * len(columns)]


def test_files_have_the_number_of_their_kind_and_their_place_in_the_note(path: Path) -> None:
    kinds = (
        BearFile("My Scan.JPG"),
        BearFile("a.pdf", kind="file"),
        BearFile("b.mov", kind="video"),
    )
    write_library(path, [BearNote(title="Scans", files=kinds)])
    sql = "select Z_ENT, ZINDEX, ZFILENAME, ZNORMALIZEDFILEEXTENSION from ZSFNOTEFILE"
    assert query(path, sql) == [
        (9, 0, "My Scan.JPG", "jpeg"),
        (8, 1, "a.pdf", "pdf"),
        (10, 2, "b.mov", "mov"),
    ]


# Tags and links


def test_a_tag_comes_with_the_tags_above_it_all_of_them_on_the_note(path: Path) -> None:
    write_library(path, [BearNote(title="Talk", tags=("work/talks/2024", "work"))])
    sql = "select ZTITLE, ZISROOT, ZPINNED from ZSFNOTETAG join Z_5TAGS on Z_PK = Z_13TAGS"
    assert query(path, sql) == [
        ("work", 1, None),
        ("work/talks", 0, None),
        ("work/talks/2024", 0, None),
    ]


def test_a_note_is_pinned_in_the_tag_itself_and_not_above_it(path: Path) -> None:
    write_library(path, [BearNote(title="Talk", pinned_in=("work/talks",))])
    sql = "select ZTITLE from ZSFNOTETAG join Z_5PINNEDINTAGS on Z_PK = Z_13PINNEDINTAGS"
    assert query(path, sql) == [("work/talks",)]


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("[[Target]]", 0),
        ("See [[Target|that]]", 4),
        ("Émile [[Target/Heading]]", 6),
        ("🐻 [[Target]]", 3),
        ("[[Unknown]] [[/Heading]] [[Target]]", 25),
    ],
)
def test_a_link_is_located_in_utf16_units(path: Path, text: str, location: int) -> None:
    write_library(path, [BearNote(text=text), BearNote(title="Target")])
    sql = "select ZLINKEDBY, ZLINKINGTO, ZTITLE, ZLOCATION from ZSFNOTEBACKLINK"
    assert query(path, sql) == [(1, 2, "Target", location)]


def test_a_title_with_a_slash_is_linked_to_whole(path: Path) -> None:
    write_library(path, [BearNote(text="[[I/O]]"), BearNote(title="I"), BearNote(title="I/O")])
    assert query(path, "select ZTITLE from ZSFNOTEBACKLINK") == [("I/O",)]


def test_the_links_of_a_real_library_are_written_as_bear_wrote_them(
    path: Path, real_library: Path
) -> None:
    notes = query(real_library, "select ZTEXT, ZTITLE from ZSFNOTE order by Z_PK")
    write_library(path, [BearNote(text=text, title=title) for text, title in notes])
    sql = "select ZLINKEDBY, ZLOCATION, ZLINKINGTO, ZTITLE from ZSFNOTEBACKLINK order by 1, 2"
    links = query(path, sql)
    assert len(links) == 34
    assert links == query(real_library, sql)
