"""Google Drive and Keep from Takeout.

Tests ``sources/exports/takeout.py``, ``sources/formats/keep.py`` and
``sources/formats/documents.py``.
"""

from __future__ import annotations

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Note, Tag
from datasette_bear_search.sources.base import SourceError, Unchanged, Unreadable
from datasette_bear_search.sources.exports.takeout import Takeout
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats import documents
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.exports import (
    ANY_JSON,
    OFFICE,
    WORD,
    damage,
    docx,
    encrypt,
    folder_of,
    paragraph,
    read,
    zip_of,
)


def export(path: Path, files: dict[str, Any]) -> Takeout:
    return Takeout(zip_of(path / "takeout-1.zip", {f"Takeout/{k}": v for k, v in files.items()}))


def drive(path: Path, **files: Any) -> Note:
    """Return the note from a single document. In its name, "__" stands for a dot."""
    [(name, value)] = files.items()
    [note] = export(path, {f"Drive/{name.replace('__', '.')}": value}).read()
    return note


def keep(path: Path, **said: Any) -> Note:
    """Return the note from a single file of Keep."""
    [note] = export(path, {"Keep/note.json": said}).read(include_trashed=True)
    return note


# Drive


def test_a_document_of_words_is_a_note(tmp_path: Path) -> None:
    data = docx(
        paragraph("Roof plan", "Heading1"),
        paragraph("Order the beams."),
        paragraph("Beams", "Heading2"),
        paragraph("Oak & larch <dry>"),
    )
    [note] = export(tmp_path, {"Drive/House/2024/Roof plan.docx": data}).read()
    assert note.title == "Roof plan"
    assert note.body == "Order the beams.\n\n## Beams\n\nOak & larch <dry>"
    assert note.key == "Drive/House/2024/Roof plan.docx"
    assert tag_names(note) == ["House/2024"]
    assert note.modified == "2024-05-01T09:30:00Z"
    assert note.url is None


@pytest.mark.parametrize(
    ("name", "content", "body"),
    [
        ("page__html", "<h1>page</h1><p>Some <b>words</b></p>", "Some **words**"),
        ("page__htm", "<h1>Another</h1><p>Words</p>", "# Another\n\nWords"),
        ("page__html", "<style>a{b:c}</style><script>x()</script><p>Words", "Words"),
        ("page__md", "# page\n\n- [ ] words", "- [ ] words"),
        ("page__markdown", "## Section\nwords", "## Section\nwords"),
        ("page__txt", "# 3 is a number", "\\# 3 is a number"),
        ("page__txt", "\ufeffBOM\r\nand CRLF", "BOM\nand CRLF"),
        ("page__txt", "Café crème".encode("latin-1"), "Café crème"),
        ("page__txt", "", ""),
    ],
)
def test_documents_of_other_types_are_notes(
    tmp_path: Path, name: str, content: Any, body: str
) -> None:
    note = drive(tmp_path, **{name: content})
    assert (note.title, note.body, note.tags) == ("page", body, ())


def test_dates_of_a_document_come_from_googles_metadata(tmp_path: Path) -> None:
    info = {
        "created": "2020-01-02T03:04:05.678Z",
        "last_modified_by_any_user": "2021-01-02T03:04:05.678Z",
        "content_last_modified": "2022-01-02T03:04:05.678Z",
    }
    files = {"Drive/a.txt": "x", "Drive/a.txt-info.json": info, "Drive/b.md": "y"}
    files["Drive/b-info.json"] = {"content_last_modified": "2022-01-02T03:04:05.678Z"}
    notes = read(export(tmp_path, files))
    assert notes.keys() == {"a", "b"}
    assert (notes["a"].created, notes["a"].modified) == (
        "2020-01-02T03:04:05Z",
        "2021-01-02T03:04:05Z",
    )
    assert notes["b"].modified == "2022-01-02T03:04:05Z"


@pytest.mark.parametrize("info", [b"{", [], {"created": 7, "last_modified_by_any_user": {}}])
def test_a_document_is_read_without_valid_metadata(tmp_path: Path, info: Any) -> None:
    [note] = export(tmp_path, {"Drive/a.txt": "x", "Drive/a.txt-info.json": info}).read()
    assert (note.created, note.modified) == (None, "2024-05-01T09:30:00Z")


def test_files_of_other_types_are_counted_in_one_line(tmp_path: Path) -> None:
    files = dict.fromkeys(["Drive/a.pdf", "Drive/b.PDF", "Drive/c.xlsx", "Drive/d"], "x")
    files |= {"Drive/note.txt": "x", "Photos/e.jpg": "x", "archive_browser.html": "x"}
    source = export(tmp_path, files)
    assert read(source).keys() == {"note"}
    assert source.skipped == [
        "4 files of other types than are read (.pdf 2, .xlsx 1, without suffix 1)"
    ]


def test_pictures_in_a_document_are_not_opened_but_described(tmp_path: Path) -> None:
    picture = (
        '<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="The ridge"/><a:graphic><a:graphicData>'
        '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
        '<a:blip r:embed="rId7"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r></w:p>"
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId7" Type="{OFFICE}/relationships/image" Target="media/missing.png"/>'
        "</Relationships>"
    )
    data = docx(paragraph("Look:"), picture)
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("word/_rels/document.xml.rels", relations)
    note = drive(tmp_path, roof__docx=stream.getvalue())
    assert note.body == "Look:\n\nThe ridge"
    assert note.has_image


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no Word document, or only a part of one"),
        (b"PK\3\4", "no Word document, or only a part of one"),
        (b"\xd0\xcf\x11\xe0 an old .doc", "no Word document, or only a part of one"),
        (docx("<w:p>"), "a damaged Word document"),
        (docx("<w:p>" * 5000 + "</w:p>" * 5000), "a damaged Word document"),
    ],
)
def test_a_damaged_document_is_skipped(tmp_path: Path, data: bytes, reason: str) -> None:
    source = export(tmp_path, {"Drive/bad.docx": data, "Drive/good.docx": docx(paragraph("x"))})
    assert read(source).keys() == {"good"}
    [line] = source.skipped
    assert line.startswith(f"Drive/bad.docx: {reason}")


def test_a_document_that_unpacks_to_too_much_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LARGEST_XML", 1_000_000)
    bomb = docx(paragraph("0" * 2_000_000))
    assert len(bomb) < 10_000
    source = export(tmp_path, {"Drive/bomb.docx": bomb, "Drive/a.txt": "x"})
    assert read(source).keys() == {"a"}
    assert "unpacks to more than" in source.skipped[0]


def test_a_very_long_document_keeps_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LARGEST_WORD", 100)
    source = export(tmp_path, {"Drive/a.docx": docx(paragraph("Roof & walls", "Heading1"))})
    [note] = source.read()
    assert note.body.strip() == "Roof & walls"
    assert "only its words are kept" in source.skipped[0]


def test_a_document_whose_entities_multiply_is_skipped() -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    xml = (
        f'<!DOCTYPE d [<!ENTITY e0 "ha">{entities}]><w:document xmlns:w="{WORD}">&e9;</w:document>'
    )
    stream = io.BytesIO(docx())
    bomb = io.BytesIO()
    with zipfile.ZipFile(stream) as archive, zipfile.ZipFile(bomb, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, xml if name == "word/document.xml" else archive.read(name))
    with pytest.raises(Unreadable, match="damaged"):
        documents.parse_word(bomb.getvalue())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_damage_to_a_document_crashes_the_source(data: st.DataObject) -> None:
    content = bytearray(docx(paragraph("Some words", "Heading1"), paragraph("and more")))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Unreadable):
        documents.parse_word(bytes(content))


# Keep


def test_a_note_of_keep_is_a_note(tmp_path: Path) -> None:
    note = keep(
        tmp_path,
        title="Shopping",
        textContent="# 1 on the list\nSoon",
        listContent=[{"text": "peas", "isChecked": True}, {"text": "beans", "isChecked": False}],
        annotations=[{"url": "https://example.com/", "title": "Seeds"}, {"url": "a) b"}],
        labels=[{"name": "garden"}, {"name": "two words"}, {"name": "garden"}],
        attachments=[{"filePath": "a.png", "mimetype": "image/png"}],
        isPinned=True,
        isArchived=True,
        isTrashed=False,
        createdTimestampUsec=1714555800000000,
        userEditedTimestampUsec="1714642200000000",
    )
    assert note.title == "Shopping"
    assert note.body == (
        "\\# 1 on the list\nSoon\n\n- [x] peas\n- [ ] beans\n\n[Seeds](https://example.com/)"
        "\n\nFile: a.png"
    )
    assert note.tags == (Tag("garden"), Tag("two words"))
    assert (note.created, note.modified) == ("2024-05-01T09:30:00Z", "2024-05-02T09:30:00Z")
    assert (note.pinned, note.archived, note.trashed) == (True, True, False)
    assert (note.todos_open, note.todos_done) == (1, 1)
    assert (note.has_image, note.has_file) == (True, False)


def test_a_note_of_keep_without_a_title_gets_its_first_line(tmp_path: Path) -> None:
    assert keep(tmp_path, title="", textContent="Call Ada\nabout the roof").title == "Call Ada"


def test_a_note_in_keeps_trash_is_read_only_when_asked_for(tmp_path: Path) -> None:
    source = export(tmp_path, {"Keep/a.json": {"title": "A", "isTrashed": True}})
    assert list(source.read()) == []
    assert read(source, include_trashed=True)["A"].trashed


@pytest.mark.parametrize("name", ["Trash", "Papierkorb", "Corbeille", "Корзина", "ゴミ箱"])
def test_what_lies_in_drives_trash_is_read_only_when_asked_for(tmp_path: Path, name: str) -> None:
    source = export(tmp_path, {f"Drive/{name}/Old/a.txt": "x", f"Drive/Old/{name}.txt": "y"})
    assert read(source).keys() == {name}
    assert read(source, include_trashed=True)["a"].trashed


def test_a_link_of_keeps_may_have_parentheses(tmp_path: Path) -> None:
    links = [{"title": "Apple", "url": "https://a.example/Apple_(fruit) é"}]
    body = keep(tmp_path, title="A", annotations=links).body
    assert body == "[Apple](https://a.example/Apple_%28fruit%29%20%C3%A9)"


def test_other_files_in_keeps_folder_are_left_alone(tmp_path: Path) -> None:
    files = {
        "Keep/a.json": {"title": "A"},
        "Keep/a.html": "A",
        "Keep/a.png": "x",
        "Keep/Labels.txt": "garden",
        "Keep/other.json": {"settings": 1},
    }
    source = export(tmp_path, files)
    assert read(source).keys() == {"A"}
    assert source.skipped == ["Keep/other.json: no note of Google Keep's"]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(
        st.sampled_from(
            "title textContent listContent annotations labels attachments isPinned isTrashed"
            " createdTimestampUsec userEditedTimestampUsec".split()
        ),
        ANY_JSON,
    ),
    ANY_JSON,
)
def test_no_json_crashes_the_source(tmp_path: Path, said: dict[str, Any], other: Any) -> None:
    source = export(tmp_path, {"Keep/a.json": said, "Keep/b.json": other})
    for note in source.read(include_trashed=True):
        repr(vars(note)).encode()


# The export


KEPT = {"title": "Peas", "textContent": "sow", "isTrashed": False, "isPinned": False}
THROWN = {"title": "Old", "textContent": "x", "isTrashed": True}


@pytest.mark.parametrize(
    "folder",
    [
        "Google Notizen",
        "Google Keep",
        "Google ट",
        "Notes Google",
        "Заметки",
        "Google 記事",
        "x/Keep",
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_keep_is_known_by_its_notes_whatever_its_folder_is_called(
    tmp_path: Path, folder: str, packed: bool
) -> None:
    files: dict[str, Any] = {
        f"Takeout/{folder}/a.json": KEPT,
        f"Takeout/{folder}/b.json": THROWN,
        f"Takeout/{folder}/a.html": "<p>sow</p>",
        f"Takeout/{folder}/b.html": "<p>x</p>",
        "Takeout/Archiv_Übersicht.html": "<p>Übersicht</p>",
    }
    place = (zip_of if packed else folder_of)(tmp_path / "1.zip", files)
    assert kind_of(str(place)) == "takeout"
    assert read(Takeout(place)).keys() == {"Peas"}
    assert read(Takeout(place), include_trashed=True).keys() == {"Peas", "Old"}


def test_keeps_folder_alone_is_recognized(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "Notas", {"a.json": KEPT, "b.json": THROWN, "b.html": "x"})
    assert kind_of(str(folder)) == "takeout"
    assert read(Takeout(folder)).keys() == {"Peas"}
    vault = folder_of(tmp_path / "v", {"a.json": {"title": "x"}, "a.md": "x"})
    assert kind_of(str(vault)) == "markdown"


def test_notes_beside_keeps_make_it_another_archive(tmp_path: Path) -> None:
    note = {"textContent": "x", "isTrashed": True, "userEditedTimestampUsec": 1}
    assert kind_of(str(zip_of(tmp_path / "a.zip", {"x/a.json": note, "b.md": "y"}))) == "zip"


def test_drive_and_mail_are_known_by_their_files(tmp_path: Path) -> None:
    files = {
        "Takeout/Google Диск/Дом/План.docx": docx(paragraph("Roof")),
        "Takeout/Google Диск/Дом/a.txt": "x",
        "Takeout/ドライブ/b.md": "y",
        "Takeout/ドライブ/b.md-info.json": {"created": "2020-01-02T03:04:05Z"},
        "Takeout/Chrome/Bookmarks.html": "<p>z</p>",
        "Takeout/Chat/c.docx": docx(paragraph("c")),
        "Takeout/Chat/messages.json": {"messages": []},
        "Takeout/Почта/Все.mbox": b"From -\nSubject: Eaves\n\nx",
    }
    path = zip_of(tmp_path / "1.zip", files)
    assert kind_of(str(path)) == "takeout"
    assert read(Takeout(path)).keys() == {"План", "a", "b", "Eaves"}


def test_pages_of_keep_are_left_out_wherever_they_lie(tmp_path: Path) -> None:
    files = {"a.md": "x", "old/Keep/b.json": THROWN, "old/Keep/b.html": "<p>x</p>", "c.html": "y"}
    source = MarkdownFolder(folder_of(tmp_path / "n", {**files, "c.json": {"title": "other"}}))
    assert read(source).keys() == {"a", "c"}
    assert source.skipped == [
        "1 page of Google Keep's; give their folder as a source of its own to read the notes"
    ]


@pytest.mark.parametrize("moment", [0, None, "", "0"])
def test_a_date_that_keep_does_not_know_is_none(tmp_path: Path, moment: Any) -> None:
    assert keep(tmp_path, title="A", userEditedTimestampUsec=moment).modified is None


FILES = {"Takeout/Drive/House/a.txt": "x", "Takeout/Keep/b.json": {"title": "B"}}


def test_an_export_is_read_alike_however_it_lies_there(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "1" / "takeout-20240501T093000Z-001.zip", FILES)
    (tmp_path / "parts").mkdir()
    for number, (name, content) in enumerate(FILES.items()):
        zip_of(tmp_path / "parts" / f"takeout-20240501T093000Z-00{number}.zip", {name: content})
    unpacked = folder_of(tmp_path / "2", FILES)
    places = [archive, archive.parent, tmp_path / "parts", unpacked, unpacked / "Takeout"]
    assert all(Takeout.reads(str(place)) for place in places)
    for place in places:
        keys = {note.key: tag_names(note) for note in Takeout(place).read()}
        assert keys == {"Drive/House/a.txt": ["House"], "Keep/b.json": []}


def test_the_folder_of_drive_alone_can_be_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "Drive", {"House/Drive/a.txt": "x"})
    assert not Takeout.reads(str(folder))  # any folder may have this name
    [note] = Takeout(folder).read()
    assert (note.key, tag_names(note)) == ("Drive/House/Drive/a.txt", ["House/Drive"])


def test_an_export_is_recognized_without_reading_it(tmp_path: Path) -> None:
    other = zip_of(tmp_path / "other.zip", {"Drive/a.txt": "x"})
    photos = zip_of(tmp_path / "photos.zip", {"Takeout/Google Photos/a.jpg": "x"})
    folder = folder_of(tmp_path / "folder", {"a.md": "x"})
    assert not any(Takeout.reads(str(path)) for path in (other, photos, folder, tmp_path / "none"))


def test_an_export_of_other_products_is_an_error(tmp_path: Path) -> None:
    source = export(tmp_path, {"Google Photos/a.jpg": "x"})
    with pytest.raises(SourceError, match="neither documents of Google Drive nor notes of"):
        list(source.read())


def test_an_unreadable_file_is_skipped(tmp_path: Path) -> None:
    files = {f"Drive/{name}.txt": "words " * 50 for name in ("damaged", "locked", "good")}
    source = export(tmp_path, {**files, "Drive/binary.txt": bytes(range(32)) * 99})
    damage(source.path, "Takeout/Drive/damaged.txt")
    encrypt(source.path, "Drive/locked.txt")
    assert read(source).keys() == {"good"}
    assert sorted(line.partition(" (")[0] for line in source.skipped) == [
        "Drive/binary.txt: not text, whatever its name says",
        "Drive/damaged.txt: damaged",
        "Drive/locked.txt: encrypted with a password",
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_only_what_changed_is_read_again(tmp_path: Path, packed: bool) -> None:
    def write(**files: Any) -> Takeout:
        known = {f"Takeout/Drive/{name}.txt": content for name, content in files.items()}
        make = zip_of if packed else folder_of
        return Takeout(make(tmp_path / "takeout-1.zip", known))

    source = write(a="one", b="two")
    known = {note.key: note.stamp or "" for note in source.read()}
    assert all(isinstance(item, Unchanged) for item in source.read_changed(known))
    again = {item.key: item for item in write(a="one", b="three", c="four").read_changed(known)}
    assert isinstance(again["Drive/b.txt"], Note)
    assert isinstance(again["Drive/c.txt"], Note)
    if packed:  # in a folder, this file was written again, too
        assert again["Drive/a.txt"] == Unchanged("Drive/a.txt")


def test_new_information_on_a_document_is_a_change(tmp_path: Path) -> None:
    [before] = export(tmp_path, {"Drive/a.txt": "x"}).read()
    [after] = export(tmp_path, {"Drive/a.txt": "x", "Drive/a.txt-info.json": {}}).read()
    assert before.stamp != after.stamp


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "Takeout", {"Drive/House/a.txt": "x", "Drive/b.txt": "y"})
    (folder / "Drive/House").chmod(0)
    with pytest.raises(SourceError, match="You may not read"):
        list(Takeout(folder).read())
