"""The tools for agents, called by the official client: what they answer, and what they never say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from mcp import Client

from datasette_bear_search import agents
from datasette_bear_search.agents import Library, server
from datasette_bear_search.agents import notes as reading
from datasette_bear_search.agents.tools import TOOLS
from datasette_bear_search.demo import BearFile, BearNote
from datasette_bear_search.embeddings import registry
from datasette_bear_search.search import engine
from tests.conftest import TINY
from tests.support.agents import bear_mcp
from tests.support.bear_libraries import bear_library, day, edit
from tests.support.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.asyncio

SECRET = "velvet tugboat"
NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove.\n\n## Plan for May\n\nReplace the flashing.\n\n"
        "### Who\n\nHollis.\n\n## Sums\n\n$40.",
        tags=("cabin/repairs",),
        created=day(1),
    ),
    BearNote("# Lentil soup\n\nRed lentils, carrots.", tags=("recipes",), created=day(2), modified=day(9)),
    BearNote("# Weekly\n\nFirst week: roof.", tags=("journal",), created=day(3)),
    BearNote("# Weekly\n\nSecond week: garden.", tags=("journal",), created=day(4)),
    BearNote("# Old plans\n\nA roof garden.", archived=True, pinned=True, created=day(5)),
    BearNote(f"# Bank codes\n\nPIN {SECRET}", encrypted=True, created=day(6)),
    BearNote("# Receipts\n\n![](scan.png)", files=(BearFile("scan.png", ocr="plumber invoice"),), created=day(7)),
    BearNote("# Diary of roofs\n\nNobody may read of the zeppelin. [[Cabin roof]]", tags=("private/diary",), created=day(8)),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """The notes, indexed once for all tests of this file."""
    folder = tmp_path_factory.mktemp("template")
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    library, path = bear_library(folder / "database.sqlite", NOTES), folder / "notes.db"
    arguments = ["bear-index", str(library), "--sidecar", str(path), "--model", TINY]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    return path


@pytest.fixture
def indexed(template, sidecar_path) -> Path:
    """The index of a test, which may change it."""
    sidecar_path.parent.mkdir(exist_ok=True)
    shutil.copy(template, sidecar_path)
    return sidecar_path


@pytest.fixture
def call(indexed, sidecar_path):
    """Call a tool in this process: ``await call("search_notes", query="roof")`` gives its data."""

    async def call_tool(name, *, text=False, fails=False, hidden=(), **arguments):
        library = Library(sidecar_path, hidden_tags=hidden)
        async with Client(server.build_server(library)) as client:
            result = await client.call_tool(name, arguments)
        assert result.is_error is fails, result.content[0].text
        return result.content[0].text if text or fails else result.structured_content

    return call_tool


async def titles(call, **arguments) -> list[str]:
    data = await call("search_notes", **arguments)
    return [note["title"] for note in data["notes"]]


async def note_id(call, title) -> int:
    data = await call("search_notes", query=title, limit=1)
    assert data["notes"][0]["title"] == title
    return data["notes"][0]["id"]


async def test_the_tools_are_explained_and_only_read(sidecar_path):
    async with Client(server.build_server(Library(sidecar_path))) as client:
        listed = (await client.list_tools()).tools
        assert client.instructions
    assert [tool.name for tool in listed] == [
        "search_notes",
        "get_notes",
        "similar_notes",
        "list_tags",
        "library_status",
    ]
    for tool in listed:
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert len(tool.description) > 100


async def test_a_found_note_has_everything_that_an_agent_needs(call):
    data = await call("search_notes", query="roof flashing", mode="keyword")
    assert data["total"] == 4
    note = data["notes"][0]
    assert note["title"] == "Cabin roof"
    assert note["url"].startswith("bear://x-callback-url/open-note?id=")
    assert note["tags"] == ["cabin/repairs"]
    assert note["created"] == note["modified"] == "2024-05-01"
    assert "**roof**" in note["snippet"]
    assert "**flashing**" in note["snippet"]
    assert note["why"] == "words, 1st"
    assert "archived" not in note


async def test_the_lines_of_a_passage_are_those_that_get_notes_gives(call):
    data = await call("search_notes", query="flashing", mode="semantic")
    found = next(note for note in data["notes"] if note["title"] == "Cabin roof")
    assert found["passage"]["heading"] == "Plan for May"
    assert found["passage"]["lines"] == "5-7"
    assert found["url"].endswith("&header=Plan%20for%20May")
    read = await call("get_notes", ids=[found["id"]], lines=found["passage"]["lines"])
    assert read["notes"][0]["text"] == "## Plan for May\n\nReplace the flashing."


async def test_archived_notes_are_marked_in_data_and_text(call):
    data = await call("search_notes", query="roof garden")
    assert data["notes"][0]["archived"] is True
    assert "archived" in await call("search_notes", query="roof garden", text=True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "roof", "filters": {"tag": "cabin"}}, {"Cabin roof"}),
        ({"query": "roof", "filters": {"tag": ["cabin"], "pinned": False}}, {"Cabin roof"}),
        ({"filters": {"archived": True}}, {"Old plans"}),
        ({"filters": {"archived": "true"}}, {"Old plans"}),
        ({"filters": {"modified_after": "2024-05-09"}}, {"Lentil soup"}),
        ({"filters": {"has": ["image"]}}, {"Receipts"}),
        ({"query": "roof tag:cabin"}, {"Cabin roof"}),
        ({"query": "invoice", "mode": "keyword"}, {"Receipts"}),
    ],
)
async def test_filters_narrow(call, arguments, expected):
    assert set(await titles(call, **arguments)) == expected


async def test_offset_goes_on_where_the_last_answer_ended(call):
    first = await call("search_notes", query="roof", mode="keyword", limit="3")
    assert first["next_offset"] == 3
    second = await call("search_notes", query="roof", mode="keyword", limit=3, offset=3)
    ids = [note["id"] for note in [*first["notes"], *second["notes"]]]
    assert len(set(ids)) == len(ids) == first["total"] == 4
    assert "next_offset" not in second


@pytest.mark.parametrize(("paraphrase", "balance"), [(True, 1.0), ("true", 1.0), (False, None)])
async def test_other_words_than_the_notes_own_are_ranked_by_meaning(
    call, monkeypatch, paraphrase, balance
):
    asked = []

    def ask(connection, request, **options):
        asked.append(request.ranking)
        return answer(connection, request, **options)

    answer = engine.search
    monkeypatch.setattr(engine, "search", ask)
    found = await call("search_notes", query="where the water comes in", paraphrase=paraphrase)
    assert found["notes"]
    assert [ranking.balance for ranking in asked] == [balance]


async def test_nothing_found_says_what_to_try(call):
    text = await call("search_notes", query="roof", filters={"tag": "nowhere"}, text=True)
    assert "list_tags" in text


@pytest.mark.parametrize(
    ("name", "arguments", "advice"),
    [
        ("search_notes", {}, "needs a query, or filters"),
        ("search_notes", {"q": "roof"}, "It takes: query, mode"),
        ("search_notes", {"query": ["roof"]}, "query must be a text"),
        ("search_notes", {"query": "x", "mode": "psychic"}, "mode must be one of auto"),
        ("search_notes", {"query": "x", "limit": 500}, "a number from 1 to 20"),
        ("search_notes", {"query": "x", "limit": "many"}, "a number from 1 to 20"),
        ("search_notes", {"query": "x", "offset": True}, "offset must be a number"),
        ("search_notes", {"query": "x", "paraphrase": "perhaps"}, "must be true or false"),
        ("search_notes", {"query": "x", "filters": "work"}, 'such as {"tag": "work"}'),
        ("search_notes", {"query": "x", "filters": {"tags": "work"}}, "The filters are: tag,"),
        ("search_notes", {"query": "x", "filters": {"tag": {"a": 1}}}, "a text or a list"),
        ("search_notes", {"query": "x", "filters": {"created_after": "soon"}}, "such as 2024,"),
        ("search_notes", {"query": "x", "filters": {"has": ["wings"]}}, "has must be one of"),
        ("search_notes", {"query": "x", "filters": {"pinned": "perhaps"}}, "must be 1 or 0"),
        ("get_notes", {}, "needs ids"),
        ("get_notes", {"ids": ["Weekly"]}, "If it is a title, use titles"),
        ("get_notes", {"ids": [999]}, "search_notes gives the ids"),
        ("get_notes", {"ids": list(range(1, 40))}, "20 notes at most"),
        ("get_notes", {"titles": ["Cabin rof"]}, "“Cabin roof” (id"),
        ("get_notes", {"titles": ["Qqqq"]}, "search_notes finds notes by what they say"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "a:b"}, "such as 10:20"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "90:95"}, "has the lines 1:15"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "5:2"}, "has the lines 1:15"),
        ("get_notes", {"titles": ["Cabin roof"], "section": "Nope"}, "sections are: Plan for May;"),
        ("get_notes", {"titles": ["Lentil soup"], "section": "X"}, "It has no sections"),
        ("get_notes", {"titles": ["a", "b"], "lines": "1"}, "one id or title at a time"),
        ("get_notes", {"ids": [1], "lines": "1", "section": "x"}, "not both"),
        ("similar_notes", {}, "needs the id of a note"),
        ("similar_notes", {"id": 999}, "no note with the id 999"),
        ("list_tags", {"under": "nowhere"}, "Without under"),
        ("library_status", {"all": True}, "It takes none"),
        ("delete_notes", {}, "The tools are: search_notes, get_notes"),
    ],
)
async def test_an_error_says_what_to_try_instead(call, name, arguments, advice):
    assert advice in await call(name, fails=True, **arguments)


async def test_a_note_is_read_by_id_and_by_title_in_any_case(call):
    by_title = await call("get_notes", titles=["cabin ROOF"])
    by_id = await call("get_notes", ids=[by_title["notes"][0]["id"]])
    assert by_title == by_id
    [note] = by_id["notes"]
    assert note["text"].startswith("#cabin/repairs\n\nThe roof leaks")
    assert (note["lines"], note["total_lines"]) == ("1:15", 15)
    assert "rest" not in note


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


async def test_several_notes_of_a_title_are_a_choice(call):
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
        assert len(note.get("text", "")) <= reading.NOTE_CHARACTERS
        # What follows begins on a new line, or inside of the one that was cut.
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
    assert sum(len(note["text"]) for note in data["notes"]) <= reading.CALL_CHARACTERS
    assert all("rest" in note for note in data["notes"])
    assert len(data["notes"]) + len(data.get("problems", [])) == 4


async def test_text_in_images_can_be_read(call):
    data = await call("get_notes", titles=["Receipts"])
    assert data["notes"][0]["attachments"] == "plumber invoice"


async def test_of_an_encrypted_note_there_is_only_the_title(call):
    data = await call("get_notes", titles=["Bank codes"])
    assert data["notes"][0]["encrypted"] is True
    assert "text" not in data["notes"][0]
    assert "encrypted" in await call("get_notes", titles=["Bank codes"], text=True)
    everything = [
        await call("search_notes", query=query, text=True)
        for query in ("bank codes", SECRET, "tugboat", "PIN")
    ]
    assert SECRET not in "".join(everything)


async def test_similar_notes_come_with_reasons(call):
    data = await call("similar_notes", id=await note_id(call, "Cabin roof"))
    reasons = {note["title"]: note["why"] for note in data["notes"]}
    assert "links here" in reasons["Diary of roofs"]


async def test_tags_are_a_tree_with_the_notes_of_each_branch(call):
    data = await call("list_tags")
    assert data["tags"][0] == {
        "tag": "cabin",
        "notes": 1,
        "nested": [{"tag": "cabin/repairs", "notes": 1}],
    }
    assert "journal (2)" in await call("list_tags", text=True)
    below = await call("list_tags", under="#CABIN")
    assert [node["tag"] for node in below["tags"]] == ["cabin"]


async def test_of_many_tags_the_deeper_are_left_out(call, monkeypatch):
    monkeypatch.setattr(reading, "MAX_TAGS", 4)
    data = await call("list_tags")
    assert [node["tag"] for node in data["tags"]] == ["cabin", "journal", "private", "recipes"]
    assert data["left_out"] == 2
    assert 'under="…"' in await call("list_tags", text=True)


async def test_the_status_tells_what_there_is(call):
    data = await call("library_status")
    assert (data["notes"], data["archived"], data["encrypted"]) == (8, 1, 1)
    assert data["sources"] == {"bear": 8}
    assert (data["oldest"], data["newest"]) == ("2024-05-01", "2024-05-09")
    assert data["searched_by_meaning"] is True
    assert data["notices"] == []


@pytest.mark.parametrize(("hidden", "notice"), [((), "1 note has"), (("x",), "Notes have")])
async def test_the_status_tells_that_notes_changed(
    call, write, bear_index, library, hidden, notice
):
    write(*NOTES)
    bear_index()
    edit(library, "update ZSFNOTE set ZTITLE = 'Other' where ZTITLE = 'Lentil soup'")
    [told] = (await call("library_status", hidden=hidden))["notices"]
    assert told.startswith(f"{notice} changed since the index was made")


HIDDEN = ("Private",)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "diary of roofs"},
        {"query": "zeppelin"},
        {"query": "zepelin"},
        {"query": "zepp*"},
        {"query": "eppeli", "mode": "like"},
        {"query": "who may read of the zeppelin", "mode": "semantic"},
        {"query": "tag:private"},
        {"filters": {"tag": "private/diary"}},
        {"filters": {"source": "bear"}, "limit": 20},
    ],
)
async def test_a_search_never_tells_of_a_note_with_a_hidden_tag(call, arguments):
    assert "Diary" in await call("search_notes", text=True, **arguments)
    data = await call("search_notes", hidden=HIDDEN, **arguments)
    told = json.dumps(data) + await call("search_notes", hidden=HIDDEN, text=True, **arguments)
    for word in ("Diary", "private", "zeppelin"):
        assert word not in told
    assert data.get("total", 0) <= len(NOTES) - 1


async def test_no_other_tool_tells_of_a_note_with_a_hidden_tag(call):
    diary = await note_id(call, "Diary of roofs")
    roof = await note_id(call, "Cabin roof")
    assert await call("get_notes", ids=[diary], hidden=HIDDEN, fails=True)
    assert "Diary" not in await call(
        "get_notes", titles=["Diry of rofs"], hidden=HIDDEN, fails=True
    )
    assert await call("similar_notes", id=diary, hidden=HIDDEN, fails=True)
    assert "Diary" not in json.dumps(await call("similar_notes", id=roof, hidden=HIDDEN))
    assert "private" not in await call("list_tags", hidden=HIDDEN, text=True)
    assert (await call("library_status", hidden=HIDDEN))["notes"] == len(NOTES) - 1


async def test_without_a_model_notes_are_found_by_words_and_it_is_said(call):
    class Broken(TinyEmbedder):
        def open_model(self):
            raise OSError("gone")

    registry.register(TINY, lambda: Broken(TINY))
    data = await call("search_notes", query="roof")
    assert data["notes"]
    assert "found by their words only" in data["notices"][0]


async def test_a_fault_that_nobody_foresaw_tells_nothing_of_the_notes(call, monkeypatch, caplog):
    def fail(*arguments, **options):
        raise RuntimeError(f"in the text {SECRET}")

    monkeypatch.setattr(engine, "search", fail)
    assert SECRET not in await call("search_notes", query="roof", fails=True)
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


async def test_a_search_that_takes_too_long_ends_with_advice(call, sidecar_path):
    edit(
        sidecar_path,
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
        "insert into notes (title, body, tags, attachments, source, key) "
        "select 'n', 'roof', '[]', '', 'bear', i from n",
    )
    library = Library(sidecar_path, time_limit_ms=0)
    async with Client(server.build_server(library)) as client:
        result = await client.call_tool("search_notes", {"query": "roof", "mode": "like"})
    assert result.is_error
    assert "took longer" in result.content[0].text


async def test_answers_fit_a_context(call, sidecar_path):
    edit(sidecar_path, "update notes set body = body || ?", "\n\nroof and more words\n" * 5000)
    for tool, arguments in (("search_notes", {"query": "roof", "limit": 20}), ("list_tags", {})):
        data = await call(tool, **arguments)
        assert len(json.dumps(data)) < 2_000 * max(1, len(data.get("notes", [1])))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_stdio_serves_both_eras_of_the_protocol(indexed, mode):
    async with Client(bear_mcp(indexed), mode=mode) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        result = await client.call_tool("search_notes", {"query": "lentils"})
    assert result.structured_content["notes"][0]["title"] == "Lentil soup"


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (["--hide-tag", "private", "--hide-tag", "cabin"], {}),
        ([], {"DATASETTE_BEAR_SEARCH_HIDDEN_TAGS": "private, cabin"}),
    ],
)
async def test_tags_are_hidden_by_option_and_by_environment(indexed, options, environment):
    async with Client(bear_mcp(indexed, *options, **environment)) as client:
        result = await client.call_tool("list_tags", {})
    assert [node["tag"] for node in result.structured_content["tags"]] == ["journal", "recipes"]


async def test_without_an_index_every_tool_says_which_command_makes_one(tmp_path):
    async with Client(bear_mcp(tmp_path / "none.db")) as client:
        for name, arguments in (("search_notes", {"query": "roof"}), ("library_status", {})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "datasette bear-index" in result.content[0].text


async def test_nothing_but_the_protocol_is_written_to_stdout(indexed):
    started = bear_mcp(indexed)
    code = started.args[1].replace(
        'cli(["bear-mcp"',
        'TinyEmbedder.open_model = lambda self, real=TinyEmbedder.open_model: (print("noise"), real(self))[1]\n'
        'cli(["bear-mcp"',
    )
    process = subprocess.run(
        [started.command, "-c", code, *started.args[2:]],
        cwd=started.cwd,
        input=b"".join(
            json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
            for message in (
                {
                    "id": 1,
                    "method": "initialize",
                    "params": {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {},
                        "clientInfo": {"name": "test", "version": "1"},
                    },
                },
                {"method": "notifications/initialized"},
                {
                    "id": 2,
                    "method": "tools/call",
                    "params": {"name": "search_notes", "arguments": {"query": "roof"}},
                },
            )
        ),
        capture_output=True,
        check=True,
        timeout=60,
    )
    messages = [json.loads(line) for line in process.stdout.splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    assert b"noise" in process.stderr


def without_sdk(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python in which the package mcp can't be imported."""
    prefix = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
    return subprocess.run(
        [sys.executable, "-c", prefix + code], capture_output=True, text=True, check=False
    )


async def test_without_the_sdk_the_command_says_how_to_install_it():
    result = without_sdk("from datasette.cli import cli; cli(['bear-mcp'])")
    assert result.returncode == 1
    assert "pip install 'datasette-bear-search[mcp]'" in result.stderr
    assert "Traceback" not in result.stderr


async def test_the_help_of_the_command_needs_no_sdk():
    assert CliRunner().invoke(cli, ["bear-mcp", "--help"]).exit_code == 0
    assert agents.__doc__
