"""Libraries of every version of Bear, and libraries that no version has made."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Link
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import VERSIONS, bear_library, day, edit, read_notes, tag_names


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database.sqlite"


# Versions of Bear

ALL_SORTS = [
    BearNote(
        text="# Plan\nSee [[Budget]].\n- [ ] ask",
        id="P",
        created=day(1),
        modified=day(2),
        tags=("work/plans",),
        pinned_in=("work",),
        pinned=True,
        files=(BearFile("a.png", ocr="whiteboard"),),
    ),
    BearNote(text="# Budget\n```\n1\n```", id="B", archived=True, tags=("work", "two words")),
    BearNote(title="Trashed", trashed=True, tags=("work",)),
]


@pytest.mark.parametrize("version", VERSIONS)
def test_notes_and_tags_of_every_version_of_bear_are_read(path: Path, version: str) -> None:
    notes = read_notes(bear_library(path, ALL_SORTS, version))
    assert list(notes) == ["Plan", "Budget"]
    plan, budget = notes["Plan"], notes["Budget"]
    assert (plan.body, plan.pinned, plan.todos_open) == ("See [[Budget]].\n- [ ] ask", True, 1)
    assert (plan.created, plan.modified) == ("2024-05-01T09:30:00Z", "2024-05-02T09:30:00Z")
    assert (tag_names(plan), tag_names(budget)) == (["work", "work/plans"], ["two words", "work"])
    assert (budget.archived, budget.has_code) == (True, True)


@pytest.mark.parametrize(
    ("version", "has_pins", "has_recognized_text", "has_links"),
    [
        ("2", True, True, True),
        ("renumbered", True, True, True),
        ("2.0", False, True, True),
        ("1.7", False, False, True),
        ("1.6", False, False, False),
        ("1.5", False, False, False),
    ],
)
def test_columns_that_a_version_of_bear_lacks_are_left_out(
    path: Path, version: str, has_pins: bool, has_recognized_text: bool, has_links: bool
) -> None:
    plan = read_notes(bear_library(path, ALL_SORTS, version))["Plan"]
    assert plan.tags[0].pinned == has_pins
    assert plan.attachments == ("whiteboard" if has_recognized_text else "")
    assert plan.links == ((Link("B", "Budget"),) if has_links else ())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "loss",
    [
        "drop table Z_PRIMARYKEY",
        "delete from Z_PRIMARYKEY",
        "update Z_PRIMARYKEY set Z_ENT = Z_ENT + 40",
        "alter table Z_PRIMARYKEY rename column Z_NAME to Z_LABEL",
    ],
)
def test_tags_and_pins_are_found_without_core_datas_register(
    path: Path, version: str, loss: str
) -> None:
    bear_library(path, ALL_SORTS, version)
    before = list(BearLibrary(path).read())
    edit(path, loss)
    assert list(BearLibrary(path).read()) == before


def test_pins_are_never_taken_for_tags(path: Path) -> None:
    bear_library(path, [BearNote(title="Plan", tags=("home", "work"), pinned_in=("home",))])
    edit(path, "drop table Z_5TAGS")
    edit(path, "drop table Z_PRIMARYKEY")
    assert read_notes(path)["Plan"].tags == ()


LOOK_ALIKE = "create table Z_11TAGS (Z_11NOTES integer, Z_99TAGS integer)"


@pytest.mark.parametrize(
    "tables",
    [
        [LOOK_ALIKE],
        [
            LOOK_ALIKE,
            "create table Z_7TAGS as"
            " select Z_5NOTES as Z_7NOTES, Z_13TAGS as Z_14TAGS from Z_5TAGS",
            "drop table Z_5TAGS",
        ],
    ],
    ids=["look-alike last", "look-alike first"],
)
def test_the_fitting_one_of_two_similar_tables_is_read(path: Path, tables: list[str]) -> None:
    bear_library(path, [BearNote(title="Plan", tags=("home",))])
    edit(path, "drop table Z_PRIMARYKEY")
    for sql in tables:
        edit(path, sql)
    edit(path, "insert into Z_11TAGS values (800, 1), (801, 1), (802, 1)")
    assert tag_names(read_notes(path)["Plan"]) == ["home"]


def test_the_table_that_the_register_names_is_read_before_any_that_looks_alike(path: Path) -> None:
    bear_library(path, [BearNote(title="Plan", tags=("new",)), BearNote(title="x", tags=("old",))])
    edit(path, LOOK_ALIKE)
    edit(path, "insert into Z_11TAGS values (1, 2), (2, 2), (2, 1)")
    assert tag_names(read_notes(path)["Plan"]) == ["new"]


@pytest.mark.parametrize("name", ["Z_5TAGS_old", "xZ_5TAGS", "Z_TAGS", "Z_5TAGS; drop table x"])
def test_a_table_whose_name_only_contains_that_of_a_join_table_is_not_read(
    path: Path, name: str
) -> None:
    bear_library(path, [BearNote(title="Plan", tags=("home",))])
    edit(path, "drop table Z_PRIMARYKEY")
    edit(path, f'alter table Z_5TAGS rename to "{name}"')
    assert read_notes(path)["Plan"].tags == ()


@pytest.mark.parametrize(
    "tables",
    [
        ["ZSFNOTETAG"],
        ["ZSFNOTETAG", "Z_PRIMARYKEY"],
        ["Z_5TAGS"],
        ["Z_5PINNEDINTAGS"],
        ["ZSFNOTEFILE"],
        ["ZSFNOTEBACKLINK"],
        ["Z_METADATA"],
    ],
    ids=" and ".join,
)
def test_notes_are_read_without_a_table_that_is_not_theirs(path: Path, tables: list[str]) -> None:
    bear_library(path, ALL_SORTS)
    for table in tables:
        edit(path, f"drop table {table}")
    assert list(read_notes(path)) == ["Plan", "Budget"]


@pytest.mark.parametrize(
    "column", ["ZPINNED", "ZENCRYPTED", "ZMODIFICATIONDATE", "ZTODOCOMPLETED", "ZHASSOURCECODE"]
)
def test_notes_are_read_without_a_column_that_they_can_do_without(path: Path, column: str) -> None:
    bear_library(path, ALL_SORTS)
    edit(path, f"alter table ZSFNOTE drop column {column}")
    assert list(read_notes(path)) == ["Plan", "Budget"]


@pytest.mark.parametrize(("column", "says"), [("ZTRASHED", "trash"), ("ZENCRYPTED", "encrypted")])
def test_a_missing_flag_that_would_exclude_notes_gives_a_notice(
    path: Path, column: str, says: str
) -> None:
    bear_library(path, ALL_SORTS)
    edit(path, f"alter table ZSFNOTE rename column {column} to ZSTATE")
    source = BearLibrary(path)
    assert len([*source.read()]) == (3 if says == "trash" else 2)
    assert [says in line and "may be read" in line for line in source.skipped] == [True]


# Anything at all

ANYTHING = (
    st.none()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
)


COLUMNS = (
    *("ZTITLE", "ZTEXT", "ZUNIQUEIDENTIFIER", "ZCREATIONDATE", "ZMODIFICATIONDATE", "ZPINNED"),
    *("ZARCHIVED", "ZTRASHED", "ZPERMANENTLYDELETED", "ZENCRYPTED", "ZTODOCOMPLETED", "ZHASIMAGES"),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(column=st.sampled_from(COLUMNS), value=ANYTHING)
def test_no_value_in_any_column_of_a_note_stops_the_reading(
    path: Path, column: str, value: object
) -> None:
    bear_library(path, ALL_SORTS)
    edit(path, f"update ZSFNOTE set {column} = ?", value)
    for note in BearLibrary(path).read(include_trashed=True):
        note.fingerprint()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=ANYTHING)
def test_no_value_in_tags_files_and_links_stops_the_reading(path: Path, value: object) -> None:
    bear_library(path, ALL_SORTS)
    edit(path, "update ZSFNOTETAG set ZTITLE = ?", value)
    edit(path, "update ZSFNOTEFILE set ZSEARCHTEXT = ?1, ZINDEX = ?1", value)
    edit(path, "update ZSFNOTEBACKLINK set ZTITLE = ?1, ZLOCATION = ?1", value)
    for note in BearLibrary(path).read():
        note.fingerprint()
