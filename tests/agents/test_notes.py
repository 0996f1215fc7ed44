"""``get_notes``, ``list_tags`` and ``library_status``."""

from __future__ import annotations

import pytest

from datasette_bear_search.agents import AgentLibrary
from datasette_bear_search.agents import notes as agent_notes
from tests.support.agents import HIDDEN, NOTES, SECRET, note_id
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit

pytestmark = pytest.mark.asyncio


async def test_a_note_is_read_by_id_and_by_title_in_any_case(call):
    by_title = await call("get_notes", titles=["cabin ROOF"])
    by_id = await call("get_notes", ids=[by_title["notes"][0]["id"]])
    assert by_title == by_id
    [note] = by_id["notes"]
    assert note["text"].startswith("#cabin/repairs\n\nThe roof leaks")
    assert (note["lines"], note["total_lines"]) == ("1:15", 15)
    assert "rest" not in note


async def test_a_title_is_found_by_capitals_of_any_script(index_notes):
    library = AgentLibrary(index_notes([BearNote("# Äpfel lagern\n\nKühl und dunkel.")]))
    found = agent_notes.get_notes(library, [], ["ÄPFEL  lagern"], "", "", False, 1000)
    assert [note["title"] for note in found.data["notes"]] == ["Äpfel lagern"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("3", "The roof leaks above the stove."),
        ("13:", "## Sums\n\n$40."),
        (":3", "#cabin/repairs\n\nThe roof leaks above the stove."),
        ("15:99", "$40."),
        ("3.9:3", "leaks above the stove."),
    ],
)
async def test_lines_are_parts_of_a_note(call, lines, expected):
    data = await call("get_notes", titles=["Cabin roof"], lines=lines)
    assert data["notes"][0]["text"] == expected


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("Sums", "## Sums\n\n$40."),
        ("## plan for may", "## Plan for May\n\nReplace the flashing.\n\n### Who\n\nHollis."),
        ("Plan for May › Who", "### Who\n\nHollis."),
        ("Who", "### Who\n\nHollis."),
    ],
)
async def test_a_section_is_what_stands_below_a_heading(call, section, expected):
    data = await call("get_notes", titles=["Cabin roof"], section=section)
    assert data["notes"][0]["text"] == expected


async def test_a_title_of_several_notes_lists_them(call):
    data = await call("get_notes", titles=["Weekly", "Lentil soup"])
    assert [note["title"] for note in data["notes"]] == ["Lentil soup"]
    [choice] = data["choices"]
    assert [note["begins"] for note in choice["notes"]] == [
        "Second week: garden.",
        "First week: roof.",
    ]
    assert "Ask for one by its id" in await call("get_notes", titles=["Weekly"], text=True)


async def test_one_wrong_id_does_not_spoil_the_others(call):
    wanted = await note_id(call, "Lentil soup")
    data = await call("get_notes", ids=[wanted, 999])
    assert [note["id"] for note in data["notes"]] == [wanted]
    assert "999" in data["problems"][0]


@pytest.mark.parametrize("line", ["word " * 30, "x" * 30_000, ""])
async def test_a_long_note_is_read_whole_in_parts(call, sidecar_path, line):
    body = "\n".join([line] * 200)[:100_000]
    edit(sidecar_path, "update notes set body = ? where title = 'Lentil soup'", body)
    read, lines = [], None
    while True:
        more = {"lines": lines} if lines else {}
        [note] = (await call("get_notes", titles=["Lentil soup"], **more))["notes"]
        assert len(note.get("text", "")) <= agent_notes.NOTE_CHARACTERS
        # The next part begins on a new line, or within the line that was cut.
        read.append(("" if lines is None or "." in lines else "\n") + note.get("text", ""))
        lines = note.get("rest")
        if lines is None:
            break
    assert "".join(read) == body


async def test_many_long_notes_are_cut_to_what_a_context_holds(call, sidecar_path):
    edit(sidecar_path, "update notes set body = ? where not encrypted", "a line of words\n" * 1000)
    ids = [
        await note_id(call, title)
        for title in ("Lentil soup", "Receipts", "Cabin roof", "Old plans")
    ]
    data = await call("get_notes", ids=ids)
    assert sum(len(note["text"]) for note in data["notes"]) <= agent_notes.CALL_CHARACTERS
    assert all("rest" in note for note in data["notes"])
    assert len(data["notes"]) + len(data.get("problems", [])) == 4


async def test_text_in_images_can_be_read(call):
    data = await call("get_notes", titles=["Receipts"])
    assert data["notes"][0]["attachments"] == "scan.png:\nplumber invoice"


async def test_an_encrypted_note_shows_only_its_title(call):
    data = await call("get_notes", titles=["Bank codes"])
    assert data["notes"][0]["encrypted"] is True
    assert "text" not in data["notes"][0]
    assert "encrypted" in await call("get_notes", titles=["Bank codes"], text=True)
    everything = [
        await call("search_notes", query=query, text=True)
        for query in ("bank codes", SECRET, "tugboat", "PIN")
    ]
    assert SECRET not in "".join(everything)


async def test_tags_are_a_tree_with_the_notes_of_each_branch(call):
    data = await call("list_tags")
    assert data["tags"][:2] == [{"tag": "cabin", "notes": 1}, {"tag": "cabin/repairs", "notes": 1}]
    assert '"cabin" (1)\n  "cabin/repairs" (1)' in await call("list_tags", text=True)
    assert '"journal" (2)' in await call("list_tags", text=True)
    below = await call("list_tags", under="#CABIN")
    assert [node["tag"] for node in below["tags"]] == ["cabin", "cabin/repairs"]


async def test_a_long_list_of_tags_leaves_out_the_nested_ones(call, monkeypatch):
    monkeypatch.setattr(agent_notes, "MAX_LISTED_TAGS", 4)
    data = await call("list_tags")
    assert [node["tag"] for node in data["tags"]] == ["cabin", "journal", "private", "recipes"]
    assert data["left_out"] == 2
    assert 'under="…"' in await call("list_tags", text=True)


async def test_the_status_counts_notes_and_sources(call):
    data = await call("library_status")
    assert (data["notes"], data["archived"], data["encrypted"]) == (8, 1, 1)
    assert [(each["name"], each["notes"]) for each in data["sources"]] == [("bear", 8)]
    assert (data["oldest"], data["newest"]) == ("2024-05-01", "2024-05-09")
    assert data["searched_by_meaning"] is True
    assert data["notices"] == []


@pytest.mark.parametrize(
    ("title", "hidden", "told"),
    [
        ("Lentil soup", (), "1 note changed"),
        ("Lentil soup", HIDDEN, "1 note changed"),
        ("Diary of roofs", (), "1 note changed"),
        ("Diary of roofs", HIDDEN, ""),
    ],
)
@pytest.mark.parametrize("tool", ["library_status", "search_notes"])
async def test_agents_are_told_that_notes_changed(
    call, write, bear_index, library, title, hidden, told, tool
):
    write(*NOTES)
    bear_index()
    edit(library, f"update ZSFNOTE set ZTITLE = 'Other' where ZTITLE = '{title}'")
    arguments = {"query": "roof"} if tool == "search_notes" else {}
    notices = (await call(tool, **arguments, hidden=hidden)).get("notices", [])
    assert [notice[: len("1 note changed")] for notice in notices] == [told][: bool(told)]


async def test_another_source_s_copy_of_a_hidden_note_is_hidden_too(
    call, write, bear_index, tmp_path
):
    write(*NOTES)
    bear_index()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Diary of roofs.md").write_text(NOTES[-1].text)
    bear_index(path=tmp_path / "vault")
    for arguments in ({"query": "zeppelin"}, {"query": "roofs", "filters": {"source": "vault"}}):
        assert "Diary" in await call("search_notes", text=True, **arguments)
        assert "Diary" not in await call("search_notes", text=True, hidden=HIDDEN, **arguments)
    await call("get_notes", titles=["Diary of roofs"], hidden=HIDDEN, fails=True)
