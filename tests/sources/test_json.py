"""Notes from JSON and CSV, apps' exports in them, and the recipes in the docs.

Tests ``sources/records.py`` and ``sources/exports/json_apps.py``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Link, Note, Tag
from datasette_bear_search.sources.base import SourceConfig, SourceError
from datasette_bear_search.sources.exports.json_apps import Raindrop, StandardNotes
from datasette_bear_search.sources.records import JSONFile
from datasette_bear_search.sources.registry import kind_of, open_source
from tests.support.exports import ANY_JSON, folder_of, read, zip_of

GUIDE = Path(__file__).parents[2] / "docs" / "sources.md"
FIELDS = {"key": "id", "title": "name", "body": "text"}

# Each program's export, in the form that its own help describes.
DAY_ONE = {
    "metadata": {"version": "1.0"},
    "entries": [
        {
            "uuid": "5A0E4D5F3B1C4C8E9D8B8F6B2A1C0D3E",
            "text": "# First frost\n\nThe dahlias are black\\.\n\n![](dayone-moment://0AB1)",
            "creationDate": "2024-05-01T09:30:00Z",
            "modifiedDate": "2024-05-02T10:00:00Z",
            "timeZone": "Europe/Berlin",
            "starred": True,
            "isAllDay": False,
            "tags": ["garden"],
            "location": {"placeName": "Allotment", "latitude": 52.5, "longitude": 13.4},
            "photos": [{"identifier": "0AB1", "md5": "d41d8cd98f00b204", "type": "jpeg"}],
        }
    ],
}
SIMPLENOTE = {
    "activeNotes": [
        {
            "id": "ba1f43f06dd111eea1a8",
            "content": "Packing\r\n\r\n- [ ] tent\r\n- [x] stove",
            "creationDate": "2024-05-01T09:30:00.123Z",
            "lastModified": "2024-05-02T10:00:00.000Z",
            "tags": ["travel"],
            "markdown": True,
            "pinned": True,
            "collaboratorEmails": [],
        }
    ],
    "trashedNotes": [{"id": "b", "content": "Old", "creationDate": "2020-01-01T00:00:00.000Z"}],
}
RAINDROP = (
    "\ufeffid,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\r\n"
    '71,Sourdough,"Try ""rye"",\nsoon",All about starters,https://bread.example/a,Cooking,'
    '"bread, rye",2024-05-01T09:30:00.000Z,,,true\r\n'
)
STANDARD_NOTES = {
    "version": "004",
    "items": [
        {
            "uuid": "u1",
            "content_type": "Note",
            "created_at": "2024-05-01T09:30:00.000Z",
            "updated_at": "2024-05-03T10:00:00.000Z",
            "content": {
                "title": "Packing",
                "text": "- [ ] tent",
                "references": [],
                "appData": {
                    "org.standardnotes.sn": {
                        "pinned": True,
                        "client_updated_at": "2024-05-02T10:00:00.000Z",
                    }
                },
            },
        },
        {
            "uuid": "u2",
            "content_type": "Tag",
            "content": {"title": "travel", "references": [{"uuid": "u1", "content_type": "Note"}]},
        },
        {
            "uuid": "u3",
            "content_type": "Note",
            "content": {"title": "Old", "text": "x", "trashed": True},
        },
    ],
}
RAINDROP_TRASH = "72,Old,,,https://old.example/,Trash,,2024-05-01T09:30:00.000Z,,,false\r\n"
APPS: dict[str, tuple[dict[str, Any], Note]] = {
    "day-one": (
        {"Journal.json": DAY_ONE, "photos/d41d8cd98f00b204.jpeg": b"\xff\xd8"},
        Note(
            "5A0E4D5F3B1C4C8E9D8B8F6B2A1C0D3E",
            "First frost",
            "The dahlias are black\\.\n\n![](dayone-moment://0AB1)",
            (Tag("garden"), Tag("Allotment")),
            created="2024-05-01T09:30:00Z",
            modified="2024-05-02T10:00:00Z",
            pinned=True,
            has_image=True,
            url="dayone://view?entryId=5A0E4D5F3B1C4C8E9D8B8F6B2A1C0D3E",
        ),
    ),
    "simplenote": (
        {"source/notes.json": SIMPLENOTE, "Packing.txt": "Packing", "trash/Old.txt": "Old"},
        Note(
            "ba1f43f06dd111eea1a8",
            "Packing",
            "Packing\n\n- [ ] tent\n- [x] stove",
            (Tag("travel"),),
            created="2024-05-01T09:30:00Z",
            modified="2024-05-02T10:00:00Z",
            pinned=True,
            todos_open=1,
            todos_done=1,
            url="simplenote://note/ba1f43f06dd111eea1a8",
        ),
    ),
    "standard-notes": (
        {
            "Standard Notes Backup and Import File.txt": STANDARD_NOTES,
            "Items/Note/Packing.txt": "- [ ] tent",
        },
        Note(
            "u1",
            "Packing",
            "- [ ] tent",
            (Tag("travel"),),
            created="2024-05-01T09:30:00Z",
            modified="2024-05-02T10:00:00Z",
            pinned=True,
            todos_open=1,
        ),
    ),
    "raindrop": (
        {"export.csv": RAINDROP + RAINDROP_TRASH},
        Note(
            "71",
            "Sourdough",
            'Try "rye",\nsoon\n\nAll about starters\n\nhttps://bread.example/a',
            (Tag("bread"), Tag("rye"), Tag("Cooking")),
            created="2024-05-01T09:30:00Z",
            pinned=True,
            url="https://bread.example/a",
        ),
    ),
}


def recipe(name: str) -> dict[str, Any]:
    [block] = re.findall(r"<!-- json recipes -->\n```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    [found] = [source for source in yaml.safe_load(block)["sources"] if source["name"] == name]
    return {option: found[option] for option in found if option not in ("name", "kind", "location")}


def only(path: Path, **options: Any) -> Note:
    [note] = JSONFile(path, **{"fields": FIELDS, **options}).read(include_trashed=True)
    return note


def json_file(path: Path, value: Any, name: str = "notes.json") -> Path:
    return folder_of(path, {name: value}) / name


def test_the_recipe_in_the_guide_reads_a_table(tmp_path: Path) -> None:
    source = JSONFile(json_file(tmp_path, RAINDROP, "export.csv"), **recipe("bookmarks"))
    assert [*source.read()] == [APPS["raindrop"][1]]
    assert source.skipped == []


@pytest.mark.parametrize("name", APPS)
@pytest.mark.parametrize("make", [zip_of, folder_of])
def test_an_apps_export_is_recognized_and_read(tmp_path: Path, name: str, make: Any) -> None:
    files, expected = APPS[name]
    place = make(tmp_path / "export.zip", files)
    assert kind_of(str(place)) == name
    source = open_source(SourceConfig("x", name, str(place)))
    assert [*source.read()] == [expected]
    assert source.skipped == []


@pytest.mark.parametrize("name", ["day-one", "raindrop", "standard-notes"])
def test_the_file_in_an_apps_export_is_recognized(tmp_path: Path, name: str) -> None:
    files, expected = APPS[name]
    place = folder_of(tmp_path, files) / next(iter(files))
    assert kind_of(str(place)) == name
    assert [*open_source(SourceConfig("x", name, str(place))).read()] == [expected]


@pytest.mark.parametrize(
    ("name", "key"), [("simplenote", "b"), ("standard-notes", "u3"), ("raindrop", "72")]
)
def test_an_apps_trash_is_read_only_when_asked_for(tmp_path: Path, name: str, key: str) -> None:
    source = open_source(SourceConfig("x", name, str(folder_of(tmp_path, APPS[name][0]))))
    notes = {note.key: note.trashed for note in source.read(include_trashed=True)}
    assert notes.pop(key)
    assert [*notes.values()] == [False]


def test_the_url_of_another_note_in_a_text_is_a_link(tmp_path: Path) -> None:
    notes = [
        {"id": "a", "content": "Trip\n\n[List](simplenote://note/b), simplenote://note/b."},
        {"id": "b", "content": "Packing\n\n[this](simplenote://note/b) simplenote://note/c"},
    ]
    path = folder_of(tmp_path, {"source/notes.json": {"activeNotes": notes}})
    trip, packing = open_source(SourceConfig("x", "simplenote", str(path))).read()
    assert trip.links == (Link("b", "simplenote://note/b"),)
    assert packing.links == ()


def test_encrypted_notes_are_one_line(tmp_path: Path) -> None:
    items = [{"content_type": "Note", "uuid": "u", "content": "004:abc"}]
    path = json_file(tmp_path, {"items": items}, "Standard Notes Backup.txt")
    source = open_source(SourceConfig("x", "standard-notes", str(path)))
    assert [*source.read()] == []
    assert "encrypted notes. Download a decrypted backup" in source.skipped[0]


@pytest.mark.parametrize(
    "files",
    [
        {"a.json": {"entries": [1]}, "b.txt": "x"},
        {"a.json": {"items": []}, "b.md": "x"},
        {"Journal.json": DAY_ONE, "b.md": "x"},
        {"export.csv": "id,url\n1,x\n", "b.txt": "x"},
        {"notes.json": b'{"activeNotes": 1}', "b.txt": "x"},
    ],
)
def test_other_folders_are_not_mistaken_for_exports(tmp_path: Path, files: dict[str, Any]) -> None:
    assert kind_of(str(folder_of(tmp_path, files))) == "markdown"


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("note.md", b"x", "is a single note. Give the PATH of its folder"),
        ("NoteStore.sqlite", b"", "apple-notes-to-sqlite"),
        ("copy.db", b"SQLite format 3\0 ZICCLOUDSYNCINGOBJECT", "apple-notes-to-sqlite"),
        ("database.sqlite", b"SQLite format 3\0 note_resources", "File > Export all"),
        ("notes.jex", b"0123.md", "File > Export all"),
        ("blog.db", b"SQLite format 3\0 articles", "a table in it: --table NAME --text COLUMN"),
    ],
)
def test_a_common_mistake_gets_a_sentence(
    tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    with pytest.raises(SourceError) as error:
        kind_of(str(json_file(tmp_path, content, name)))
    assert advice in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_an_export_of_simplenote_may_have_markdown_beside_it(tmp_path: Path) -> None:
    notes = {"activeNotes": [{"id": "a", "content": "Tea"}]}
    folder = folder_of(tmp_path, {"Tea.md": "Tea", "source/notes.json": notes})
    assert kind_of(str(folder)) == "simplenote"


def test_tags_of_standard_notes_lie_in_each_other_and_what_was_deleted_is_left_out(
    tmp_path: Path,
) -> None:
    def item(key: str, kind: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"uuid": key, "content_type": kind, "content": content, **more}

    parent = [{"uuid": "t1", "content_type": "Tag"}]
    items = [
        item("n1", "Note", {"title": "Tea", "text": "x"}),
        item("n2", "Note", {"title": "Gone", "text": "x"}, deleted=True),
        item("t1", "Tag", {"title": "kitchen", "references": parent}),  # damaged: in itself
        item("t2", "Tag", {"title": "cups", "references": [*parent, {"uuid": "n1"}]}),
    ]
    [note] = StandardNotes(json_file(tmp_path, {"items": items}, "backup.json")).read()
    assert note.tags[0].name.endswith("kitchen/cups")


def test_lines_and_to_dos_of_the_editor_super_stay_apart(tmp_path: Path) -> None:
    lines = [{"text": "x = 1"}, {"type": "linebreak"}, {"text": "y = 2"}]
    tasks = [
        {"type": "listitem", "checked": done, "children": [{"text": name}]}
        for name, done in (("brew", True), ("pour", False))
    ]
    root = {"children": [{"type": "code", "children": lines}, {"type": "list", "children": tasks}]}
    content = {"title": "Tea", "text": json.dumps({"root": root})}
    items = [{"uuid": "n", "content_type": "Note", "content": content}]
    [note] = StandardNotes(json_file(tmp_path, {"items": items}, "backup.json")).read()
    assert note.body == "x = 1\ny = 2\n- [x] brew\n- [ ] pour"
    assert (note.todos_open, note.todos_done) == (1, 1)


def test_a_backup_of_standard_notes_is_recognized_behind_many_texts(tmp_path: Path) -> None:
    texts = {f"Items/Note/{number}.txt": "x" for number in range(20)}
    backup = {"items": [{"uuid": "n", "content_type": "Note", "content": {"text": "Tea"}}]}
    files = {**texts, "Standard Notes Backup and Import File.txt": backup}
    place = zip_of(tmp_path / "notes.zip", files)
    assert kind_of(str(place)) == "standard-notes"
    assert [note.title for note in StandardNotes(place).read()] == ["Tea"]


def test_raindrops_trash_is_known_in_other_languages(tmp_path: Path) -> None:
    rows = "id,excerpt,url,folder\n1,a,https://a.example,Papierkorb\n2,cut\n"
    assert [note.key for note in Raindrop(json_file(tmp_path, rows, "a.csv")).read()] == ["2"]


def test_a_line_of_json_that_is_damaged_costs_no_other(tmp_path: Path) -> None:
    source = JSONFile(
        json_file(tmp_path, '{"id": 1, "text": "x"}\n{"id\n{"id": 3, "text": "y"}', "a.jsonl"),
        fields=FIELDS,
    )
    assert [note.key for note in source.read()] == ["1", "3"]
    [line] = source.skipped
    assert line.startswith("a.jsonl, line 2: no valid JSON")


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("NoteStore.sqlite", b"", "apple-notes-to-sqlite"),
        ("database.sqlite", b"SQLite format 3\0 note_resources", "File > Export all"),
    ],
)
def test_the_folder_of_another_apps_database_gets_the_same_sentence(
    tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    json_file(tmp_path, content, name)
    with pytest.raises(SourceError, match=advice):
        kind_of(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id;text\n1;x, y\n"),
        ("a.csv", "sep=;\nid;text\n1;x, y\n"),
        ("a.csv", "sep=|\r\nid|text\r\n1|x, y\r\n"),
        ("a.tsv", "id\ttext\n1\tx, y\n"),
        ("a.tab", "id\ttext\n1\tx, y\n"),
        ("a.csv", '\ufeff"id";"text"\r\n"1";"x, y"\r\n'),
        ("a.csv", "id\ttext\n1\tx, y\n".encode("utf-16")),
        ("a.csv", 'id,text\n1,"x, y"\n'),
        ("a.csv", "id|text|a;b,c\n1|x, y|z\n"),
        ("a.csv", "id ; text\n1;x, y\n"),
    ],
)
def test_tables_are_read_whatever_separates_their_columns(
    tmp_path: Path, name: str, content: Any
) -> None:
    source = JSONFile(json_file(tmp_path, content, name), fields=FIELDS)
    assert [(note.key, note.body) for note in source.read()] == [("1", "x, y")]


def test_a_table_without_the_column_names_those_that_it_has(tmp_path: Path) -> None:
    source = JSONFile(json_file(tmp_path, "Nr;Text\n1;x\n", "a.csv"), fields=FIELDS)
    assert [*source.read()] == []
    assert source.skipped[0] == "a.csv: no column for key; there are Nr, Text"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]),
        ("a.jsonl", '{"id": 1, "text": "x"}\n\n{"id": 2, "text": "y"}\n'),
        ("a.csv", "id,text\n1,x\n2,y\n"),
    ],
)
def test_json_lines_and_csv_are_read_alike(tmp_path: Path, name: str, content: Any) -> None:
    source = JSONFile(json_file(tmp_path, content, name), fields=FIELDS)
    assert [(note.key, note.body) for note in source.read()] == [("1", "x"), ("2", "y")]


def test_a_folder_may_have_a_note_in_each_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "notes", {"a/b.json": {"text": "x"}, "c.json": b"{", "d.txt": ""})
    source = JSONFile(folder, fields={"key": "$file", "body": "text"})
    assert [note.key for note in source.read()] == ["a/b.json"]
    [line] = source.skipped
    assert line.startswith("c.json: no valid JSON")


@pytest.mark.parametrize(
    ("item", "fields", "body"),
    [
        ({"a": {"b": "x"}}, "a.b", "x"),
        ({"a": [{"b": "x"}, {"b": ["y", "z"]}, 7]}, "a.b", "x\n\ny\n\nz"),
        ({"a": "x", "b": "", "c": "z"}, ["a", "b", "c", "d"], "x\n\nz"),
        ({"a": "x", "b": {"c": 7}}, "{a}: {b.c}", "x: 7"),
        ({"a": {"b": "x"}}, "a", ""),
        ({"a": "x"}, "a.b", ""),
    ],
)
def test_a_field_may_be_anywhere_in_an_object(
    tmp_path: Path, item: dict[str, Any], fields: Any, body: str
) -> None:
    path = json_file(tmp_path, [{"id": 1, **item}])
    assert only(path, fields={"key": "id", "body": fields}).body == body


def test_the_first_of_several_dates_counts_and_an_address_is_quoted(tmp_path: Path) -> None:
    path = json_file(tmp_path, [{"id": "a/b", "on": "2024-05-01", "at": "2023-01-01"}])
    fields = {**FIELDS, "created": ["on", "at"], "url": "dayone://view?entryId={id}"}
    note = only(path, fields=fields)
    assert (note.created, note.url) == ("2024-05-01T12:00:00Z", "dayone://view?entryId=a%2Fb")


def test_a_file_without_the_list_and_objects_without_a_key_are_reported(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "n",
        {"a.json": {"entries": [{"text": "x"}]}, "b.json": {}, "c.json": {"entries": 7}},
    )
    source = JSONFile(folder, fields=FIELDS, items="entries")
    assert [*source.read()] == []
    no_list = [f"{name}.json: no objects at entries" for name in "bc"]
    assert source.skipped == [*no_list, "1 object without a key"]
    with pytest.raises(
        SourceError, match=r"There is no .json, .jsonl, .ndjson, .csv, .tab, .tsv in"
    ):
        read(JSONFile(folder_of(tmp_path / "m", {"x.txt": "x"}), fields=FIELDS))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "key and body are needed"),
        ({"fields": {"key": "id"}}, "key and body are needed"),
        ({"fields": {**FIELDS, "author": "x"}}, "names out of key, title"),
        ({"fields": {**FIELDS, "body": 7}}, "names of notes' fields"),
        ({"fields": FIELDS, "items": {"a": 1}}, "where a file has the notes"),
        ({"fields": FIELDS, "format": "word"}, "one of markdown, html, text"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        JSONFile("notes.json", "notes", **options)


def test_the_state_changes_with_the_file_and_the_options(tmp_path: Path) -> None:
    path = json_file(tmp_path, [])
    state = JSONFile(path, fields=FIELDS).state()
    assert JSONFile(path, fields=FIELDS).state() == state
    assert JSONFile(path, fields=FIELDS, items="a").state() != state
    path.write_text("[{}]")
    assert JSONFile(path, fields=FIELDS).state() != state


def test_true_is_not_a_tag(tmp_path: Path) -> None:
    path = json_file(tmp_path, [{"id": "1", "text": "A", "tags": [True, "garden", 2024]}])
    [note] = JSONFile(path, fields={"key": "id", "body": "text", "tags": "tags"}).read()
    assert [tag.name for tag in note.tags] == ["garden", "2024"]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.fixed_dictionaries(dict.fromkeys(["id", "text", "on"], ANY_JSON)), max_size=2))
def test_no_value_of_any_type_crashes_the_source(tmp_path: Path, items: Any) -> None:
    fields = {"key": "id", "title": "text", "body": ["text", "on"], "tags": "text"}
    fields |= {"created": "on", "url": "{text}", "pinned": "on"}
    path = json_file(tmp_path, items)
    for note in JSONFile(path, fields=fields).read(include_trashed=True):
        assert isinstance(note.fingerprint(), str)
