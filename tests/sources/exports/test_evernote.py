"""Evernote's export files: ``sources/exports/evernote.py``."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.exports import evernote
from datasette_bear_search.sources.exports.evernote import EvernoteExport
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.exports import folder_of, read, zip_of

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">\n'
    '<en-export export-date="20240601T120000Z" application="Evernote" version="10.91.1">\n'
)
ENML = (
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    '<!DOCTYPE en-note SYSTEM "http://xml.evernote.com/pub/enml2.dtd">'
)


def enex_note(
    enml: str = "<div>Words</div>",
    title: str = "Roof",
    created: str = "20240501T093000Z",
    more: str = "",
) -> str:
    return (
        f"  <note>\n    <title>{title}</title>\n    <created>{created}</created>\n"
        f"    <updated>20240502T100000Z</updated>\n{more}"
        f"    <content>\n      <![CDATA[{ENML}<en-note>{enml}</en-note>      ]]>\n    </content>\n"
        "  </note>\n"
    )


def enex(*notes: str) -> str:
    return f"{HEAD}{''.join(notes)}</en-export>\n"


def only(path: Path, *arguments: str, **options: str) -> Note:
    file = folder_of(path, {"House.enex": enex(enex_note(*arguments, **options))}) / "House.enex"
    [note] = EvernoteExport(file).read()
    return note


def test_a_note_has_its_words_dates_tags_and_notebook(tmp_path: Path) -> None:
    more = "<tag>work</tag><tag>roof</tag><note-attributes><source-url>https://a.example/x"
    note = only(
        tmp_path,
        "<h1>Roof</h1><div>It <b>leaks</b>.<br/></div><div><br/></div><div/><div>Badly &amp; often"
        "</div>",
        more=more + "</source-url></note-attributes>",
    )
    assert (note.key, note.title) == ("House/20240501T093000Z", "Roof")
    assert note.body.split() == "It **leaks**. Badly & often <https://a.example/x>".split()
    assert tag_names(note) == ["work", "roof", "House"]
    assert (note.created, note.modified) == ("2024-05-01T09:30:00Z", "2024-05-02T10:00:00Z")


@pytest.mark.parametrize(
    "enml",
    [
        '<div><en-todo checked="true"/>call</div><div><en-todo checked="false"/>pay</div>',
        '<div><en-todo checked="true"></en-todo>call</div><div><en-todo></en-todo>pay</div>',
        '<ul><li><en-todo checked="true"/>call</li><li><en-todo/>pay</li></ul>',
        '<ul style="--en-todo:true;"><li style="--en-checked:true;"><div>call</div></li>'
        '<li style="--en-checked:false;">pay</li></ul>',
    ],
    ids=["Evernote 5", "ended", "in a list", "Evernote 10"],
)
def test_checkboxes_are_todos(tmp_path: Path, enml: str) -> None:
    note = only(tmp_path, enml)
    assert (note.todos_open, note.todos_done) == (1, 1)
    assert note.body.replace("\n\n", "\n") == "- [x] call\n- [ ] pay"


def test_tasks_are_todos_in_the_place_of_what_stands_for_them(tmp_path: Path) -> None:
    shown = "<div>Content not supported</div><div>This block is a placeholder for Tasks, which …"
    tasks = "".join(
        f"<task><title>{title}</title><created>20240501T093000Z</created>"
        f"<taskStatus>{status}</taskStatus></task>"
        for title, status in (("Call", "open"), ("Pay", "completed"))
    )
    note = only(tmp_path, f"{shown}</div>", more=tasks)
    assert (note.title, note.body) == ("Roof", "- [ ] Call\n- [x] Pay")
    assert (note.todos_open, note.todos_done) == (1, 1)


def test_encrypted_parts_of_a_note_are_left_out(tmp_path: Path) -> None:
    secret = '<en-crypt hint="the usual" cipher="AES" length="128">RU5DMCR2SQ8U0qVD</en-crypt>'
    note = only(tmp_path, f"<div>before</div>{secret}<div>after</div>")
    assert note.body == "before\n\nafter"


def test_words_in_pictures_are_found_and_pictures_known(tmp_path: Path) -> None:
    recognized = (
        '<?xml version="1.0"?><recoIndex objType="image"><item x="1" y="2" w="3" h="4">'
        '<t w="87">INVOICE</t><t w="40">INV0ICE</t></item><item x="5"><t w="31">blur</t></item>'
        "</recoIndex>"
    )
    resource = (
        '<resource><data encoding="base64">iVBORw0KGgo=</data><mime>image/png</mime>'
        f"<recognition><![CDATA[{recognized}]]></recognition></resource>"
    )
    note = only(tmp_path, '<en-media hash="0a" type="image/png"/><div>x</div>', more=resource)
    assert (note.body, note.attachments) == ("x", "INVOICE")
    assert (note.has_image, note.has_file) == (True, False)
    pdf = "<resource><data>JVBERi0=</data><mime>application/pdf</mime></resource>"
    note = only(tmp_path, more=pdf)
    assert (note.has_image, note.has_file) == (False, True)


def test_links_lead_to_the_note_of_that_title_in_the_same_notebook_first(tmp_path: Path) -> None:
    def link(title: str) -> str:
        return f'<div><a href="evernote:///view/1/s1/1-2/1-2/">{title}</a></div>'

    contents = enex_note(link("Roof") + link("Twice") + link("Gone"), "Contents")
    house = enex(contents, enex_note(created="20240102T000000Z"), enex_note(title="Twice"))
    other = enex(enex_note(), enex_note(title="Twice"), enex_note(link("Contents"), "Back"))
    source = EvernoteExport(folder_of(tmp_path / "n", {"House.enex": house, "Other.enex": other}))
    notes = {note.key: note for note in source.read()}
    assert len(notes) == 6
    contents_key = "House/20240501T093000Z"
    links = [link.key for link in notes[contents_key].links]
    assert links == ["House/20240102T000000Z", "House/20240501T093000Z#2"]
    assert "[[Roof]]\n\n[[Twice]]\n\n[Gone](evernote:///" in notes[contents_key].body
    assert [link.key for link in notes["Other/20240501T093000Z#3"].links] == [contents_key]


def test_a_file_a_folder_and_a_zip_file_are_recognized(tmp_path: Path) -> None:
    files = {"House.enex": enex(enex_note()), "Garden.enex": enex(enex_note(title="Peas"))}
    folder, archive = folder_of(tmp_path / "n", files), zip_of(tmp_path / "n.zip", files)
    for path, titles in (
        (folder, {"Roof", "Peas"}),
        (archive, {"Roof", "Peas"}),
        (folder / "House.enex", {"Roof"}),
    ):
        assert kind_of(str(path)) == "evernote"
        assert read(EvernoteExport(path)).keys() == titles
    described = folder_of(tmp_path / "described", {**files, "README.md": "x"})
    assert kind_of(str(described)) == "evernote"
    vault = folder_of(tmp_path / "vault", {**files, "a.md": "x"})
    assert kind_of(str(vault)) == "markdown"
    with pytest.raises(SourceError, match=r"There is no .enex file"):
        read(EvernoteExport(folder_of(tmp_path / "m", {"a.txt": "x"})))
    with pytest.raises(SourceError, match="There is nothing at"):
        read(EvernoteExport(tmp_path / "gone.enex"))


@pytest.mark.parametrize(
    ("xml", "keys", "reason"),
    [
        (
            enex(enex_note())[:-60],
            ["20240501T093000Z"],
            "a.enex: Roof: no valid XML (unclosed CDATA",
        ),
        (enex(enex_note(), "<note><title>a</b>"), ["20240501T093000Z"], "a.enex: a: no valid XML"),
        ("{}", [], "a.enex: no note in it"),
        (enex("<note><title>&nbsp;\x0bRoof</title></note>"), ["Roof"], ""),
        (
            HEAD.replace("SYSTEM", '[<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]').replace(
                '"http://xml.evernote.com/pub/evernote-export4.dtd"', ""
            )
            + "<note><title>&b;</title></note></en-export>",
            ["&b;"],
            "",
        ),
        (
            HEAD.replace(
                'SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd"',
                '[<!ENTITY x SYSTEM "file:///etc/passwd">]',
            )
            + "<note><title>&x;</title></note></en-export>",
            ["&x;"],
            "",
        ),
    ],
    ids=["cut", "broken", "no XML", "odd characters", "bomb", "another file"],
)
def test_an_unreadable_note_gives_one_line(
    tmp_path: Path, xml: str, keys: list[str], reason: str
) -> None:
    source = EvernoteExport(folder_of(tmp_path, {"a.enex": xml}))
    assert [note.key for note in source.read()] == [f"a/{key}" for key in keys]
    assert [reason in line for line in source.skipped] == [True] * bool(reason)


SECOND = "<note><title>Damaged &lt;1&gt;</title><created>20240601T000000Z</created>%s</note>"


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (
            SECOND % "<content><![CDATA[<en-note>a]]<![CDATA[>]]><b>bee</b></en-note>]]></content>",
            "bee",
        ),
        (
            SECOND % "<content><![CDATA[<en-note>x <![CDATA[code]]> y</en-note>]]></content>",
            "code",
        ),
        (SECOND % "<content><![CDATA[<en-note>a[b[0]]>1</en-note>]]></content>", "1"),
        (SECOND % "<content><![CDATA[<en-note>a</en-note>]]></content><tag>R&D</tag>", "a"),
        (SECOND % "<tag>a<b</tag><content><![CDATA[<en-note>lost</en-note>]]></content>", ""),
        (SECOND % "<content><![CDATA[<en-note>a</en-note>]]>", ""),
        (
            SECOND.replace("</note>", "") % "<content><![CDATA[<en-note>a</en-note>]]></content>",
            "a",
        ),
        (SECOND % "<content>&lt;en-note>a & b&lt;/en-note></content>", "a & b"),
    ],
    ids="split nested bracket bare-& tag end no-end no-CDATA".split(),
)
def test_a_damaged_note_costs_no_other(tmp_path: Path, note: str, words: str) -> None:
    text = enex(enex_note(title="First"), note, enex_note(title="Third"))
    source = EvernoteExport(folder_of(tmp_path, {"a.enex": text}))
    bodies = {note.title: note.body for note in source.read()}
    assert bodies.keys() >= {"First", "Third"}
    assert words in bodies.get("Damaged <1>", "")
    [line] = source.skipped
    assert line.startswith("a.enex: Damaged <1>: no valid XML")


def test_names_of_files_are_words(tmp_path: Path) -> None:
    resource = (
        "<resource><data>JVBERi0=</data><mime>application/pdf</mime><resource-attributes>"
        "<file-name>Vaillant ecoTEC.pdf</file-name></resource-attributes></resource>"
    )
    assert only(tmp_path, more=resource).body == "Words\n\nFile: Vaillant ecoTEC.pdf"


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_notes_are_cut_wherever_a_chunk_ends(size: int) -> None:
    data = "<resource><data encoding='base64'>QUJD</data><mime>a/b</mime></resource>"
    text = enex(enex_note(title="a", more=data), enex_note(title="b", more=data * 3)).encode()
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    notes = [*evernote._cut(chunks)]
    assert notes == [*evernote._cut(iter([text]))]
    assert [(b"QUJD" in note, note.count(b"<mime>")) for note in notes] == [(False, 1), (False, 3)]


def test_pictures_of_any_size_take_no_memory(tmp_path: Path) -> None:
    data = f"<resource><data>{'iVBORw0KGgo' * 2_000_000}</data><mime>image/png</mime></resource>"
    path = folder_of(tmp_path, {"a.enex": enex(enex_note(more=data))})
    tracemalloc.start()
    [note] = EvernoteExport(path).read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert note.has_image
    assert peak < 8_000_000
