"""The server and its command: behavior of all tools, errors and stdio."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from datasette_bear_search import register_tools
from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.agents.tools import INSTRUCTIONS, TOOLS
from datasette_bear_search.search import engine
from tests.support.agents import HIDDEN, NOTES, SECRET, bear_mcp, note_id, stand_in_for_packages
from tests.support.bear_libraries import edit

pytestmark = pytest.mark.asyncio


async def test_the_tools_are_explained_and_only_read(sidecar_path):
    async with Client(server.build_server(AgentLibrary(sidecar_path))) as client:
        listed = (await client.list_tools()).tools
        assert client.instructions
    assert [tool.name for tool in listed] == [
        "search_notes",
        "get_notes",
        "similar_notes",
        "list_tags",
        "library_status",
        "new_note",
    ]
    for tool in listed:
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert len(tool.description) > 100


@pytest.mark.parametrize(
    ("name", "arguments", "advice"),
    [
        ("search_notes", {}, "needs a query, or filters"),
        ("search_notes", {"wings": "roof"}, "needs a query, or filters"),
        ("search_notes", {"query": "x", "recency": "many"}, "a number from 1 to 100000"),
        ("search_notes", {"query": "x", "found_only": "perhaps"}, "must be true or false"),
        ("search_notes", {"query": "x", "filters": "work"}, 'such as {"tag": "work"}'),
        ("search_notes", {"query": "x", "filters": {"pined": True}}, "Did you mean pinned?"),
        ("search_notes", {"query": "x", "filters": {"wings": 2}}, "There are: tag, source,"),
        ("search_notes", {"query": "x", "filters": {"tag": [{"a": 1}, 2]}}, "a text or a list"),
        ("search_notes", {"query": "x", "filters": {"created_after": "soon"}}, "such as 2024,"),
        ("search_notes", {"query": "x", "filters": {"has": ["wings"]}}, "has must be one of"),
        ("search_notes", {"query": "x", "filters": {"pinned": "perhaps"}}, "must be 1 or 0"),
        ("get_notes", {}, "needs ids"),
        ("get_notes", {"ids": [{"name": "Weekly"}]}, "named by its id or title"),
        ("get_notes", {"ids": ["Cabin rof"]}, '"Cabin roof" (id'),
        ("similar_notes", {"id": "Weekly"}, '2 notes have the title "Weekly"'),
        ("similar_notes", {"id": "Qqqq"}, "search_notes finds notes by what they say"),
        ("get_notes", {"ids": [999]}, "search_notes gives the ids"),
        ("get_notes", {"ids": list(range(1, 40))}, "20 notes at most"),
        ("get_notes", {"titles": ["Cabin rof"]}, '"Cabin roof" (id'),
        ("get_notes", {"titles": ["Qqqq"]}, "search_notes finds notes by what they say"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "a:b"}, "such as 10:20"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "90:95"}, "has the lines 1:15"),
        ("get_notes", {"titles": ["Cabin roof"], "lines": "5:2"}, "has the lines 1:15"),
        (
            "get_notes",
            {"titles": ["Cabin roof"], "section": "Nope"},
            'sections are: "Plan for May", ',
        ),
        ("get_notes", {"titles": ["Lentil soup"], "section": "X"}, "It has no sections"),
        ("get_notes", {"titles": ["a", "b"], "lines": "1"}, "one id or title at a time"),
        ("get_notes", {"ids": [1], "lines": "1", "section": "x"}, "not both"),
        ("similar_notes", {}, "needs the id of a note"),
        ("new_note", {"tags": ["x"]}, "needs a title or a text"),
        ("similar_notes", {"id": 999}, "no note with the id 999"),
        ("list_tags", {"under": "nowhere"}, "Without under"),
        ("delete_notes", {}, "The tools are: search_notes, get_notes"),
    ],
)
async def test_an_error_says_what_to_try_instead(call, name, arguments, advice):
    assert advice in await call(name, fails=True, **arguments)


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


async def test_an_unexpected_error_reveals_nothing_about_the_notes(call, monkeypatch, caplog):
    def fail(*arguments, **options):
        raise RuntimeError(f"in the text {SECRET}")

    monkeypatch.setattr(engine, "search", fail)
    assert SECRET not in await call("search_notes", query="roof", fails=True)
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


async def test_responses_fit_into_a_models_context(call, sidecar_path):
    edit(sidecar_path, "update notes set body = body || ?", "\n\nroof and more words\n" * 5000)
    for tool, arguments in (("search_notes", {"query": "roof", "limit": 20}), ("list_tags", {})):
        data = await call(tool, **arguments)
        assert len(json.dumps(data)) < 2_000 * max(1, len(data.get("notes", [1])))


async def test_stdio_serves_the_older_protocol_too(indexed):
    async with Client(bear_mcp(indexed), mode="legacy") as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        result = await client.call_tool("search_notes", {"query": "lentils"})
    assert result.structured_content["notes"][0]["title"] == "Lentil soup"


async def test_the_server_ends_quietly_when_nobody_reads_its_answers(indexed):
    reader, writer = os.pipe()
    os.close(reader)
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with open(writer, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "datasette", "bear-mcp", "--sidecar", str(indexed)],
            input=f"{json.dumps(request)}\n".encode(),
            stdout=closed,
            stderr=subprocess.PIPE,
        )
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (["--hide-tag", "private", "--hide-tag", "cabin"], {}),
        ([], {"DATASETTE_BEAR_SEARCH_HIDDEN_TAGS": "private, cabin"}),
    ],
)
async def test_tags_are_hidden_by_option_and_by_environment(monkeypatch, options, environment):
    served = []
    monkeypatch.setattr(server, "serve_stdio", served.append)
    result = CliRunner().invoke(cli, ["bear-mcp", *options], env=environment)
    assert result.exit_code == 0, result.output
    assert [library.hidden_tags for library in served] == [("private", "cabin")]


async def test_without_an_index_every_tool_says_which_command_makes_one(tmp_path):
    async with Client(server.build_server(AgentLibrary(tmp_path / "none.db"))) as client:
        for name, arguments in (("search_notes", {"query": "roof"}), ("library_status", {})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "datasette bear-index" in result.content[0].text


async def test_nothing_but_the_protocol_is_written_to_stdout(indexed):
    started = bear_mcp(indexed)
    code = started.args[1].replace(
        'cli(["bear-mcp"',
        "real = TinyEmbedder.open_model\n"
        'TinyEmbedder.open_model = lambda self: (print("noise"), real(self))[1]\n'
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
    """Run code in a Python that can't import the package mcp."""
    prefix = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
    return subprocess.run(
        [sys.executable, "-c", prefix + code], capture_output=True, text=True, check=False
    )


async def test_without_the_sdk_the_command_says_how_to_install_it():
    result = without_sdk("from datasette.cli import cli; cli(['bear-mcp'])")
    assert result.returncode == 1
    assert 'pip install "datasette-bear-search[mcp]"' in result.stderr
    assert "Traceback" not in result.stderr


async def test_the_help_of_the_command_needs_no_sdk():
    assert CliRunner().invoke(cli, ["bear-mcp", "--help"]).exit_code == 0


async def test_notes_are_resources(indexed, call):
    roof = await note_id(call, "Cabin roof")
    async with Client(server.build_server(AgentLibrary(indexed, HIDDEN))) as client:
        listed = {each.name: each.uri for each in (await client.list_resources()).resources}
        [template] = (await client.list_resource_templates()).resource_templates
        read = (await client.read_resource(f"note://{roof}")).contents[0]
        diary = await note_id(call, "Diary of roofs")
        for uri in (f"note://{diary}", "note://999", "note://x", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="note"):
                await client.read_resource(uri)
    assert next(iter(listed)) == "Old plans"  # it is pinned
    assert "Diary of roofs" not in listed
    assert listed["Cabin roof"] == f"note://{roof}"
    assert template.uri_template == "note://{id}"
    assert "Replace the flashing." in read.text


async def test_prompts_say_how_the_tools_are_used(indexed):
    async with Client(server.build_server(AgentLibrary(indexed))) as client:
        for prompt in (await client.list_prompts()).prompts:
            [argument] = prompt.arguments
            got = await client.get_prompt(prompt.name, {argument.name: "{the} roof"})
            assert "{the} roof" in got.messages[0].content.text
            assert prompt.description
            assert argument.description
            with pytest.raises(MCPError, match=f"needs {argument.name}: "):
                await client.get_prompt(prompt.name, {})
        with pytest.raises(MCPError, match="ask_my_notes"):
            await client.get_prompt("none", {})


async def test_all_notes_are_listed_page_by_page(indexed, monkeypatch):
    monkeypatch.setattr(server, "PAGE", 3)
    listed, cursor = [], None
    async with Client(server.build_server(AgentLibrary(indexed))) as client:
        while cursor or not listed:
            page = await client.list_resources(cursor=cursor)
            listed += [each.uri for each in page.resources]
            cursor = page.next_cursor
        with pytest.raises(MCPError, match="no such page"):
            await client.list_resources(cursor="x")
    assert len(set(listed)) == len(listed) == len(NOTES)


async def test_the_title_of_a_resource_is_completed_and_read(indexed):
    template = ResourceTemplateReference(uri="note://{id}")
    async with Client(server.build_server(AgentLibrary(indexed, HIDDEN))) as client:
        done = await client.complete(template, {"name": "id", "value": "roof"})
        assert done.completion.values == ["Cabin roof"]
        read = await client.read_resource("note://Cabin%20roof")
        assert "Replace the flashing." in read.contents[0].text


async def test_the_instructions_say_what_notes_there_are(indexed, sidecar_path):
    async with Client(server.build_server(AgentLibrary(indexed, HIDDEN))) as client:
        said = client.instructions
    assert f'There are {len(NOTES) - 1} notes from "bear", 2024 to 2024.' in said
    assert 'tags are "journal", "cabin", "cabin/repairs", "recipes".' in said
    assert "private" not in said
    sidecar_path.unlink()
    async with Client(server.build_server(AgentLibrary(sidecar_path))) as client:
        assert client.instructions == INSTRUCTIONS


async def test_llm_has_the_same_tools(indexed, call, monkeypatch):
    stand_in_for_packages(monkeypatch)
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_HIDDEN_TAGS", "private")
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(indexed))
    toolboxes = []
    register_tools(toolboxes.append)
    tools = {tool.name: tool for tool in toolboxes[0]().tools()}
    assert list(tools) == [f"Notes_{tool.name}" for tool in TOOLS]
    search = tools["Notes_search_notes"].implementation
    expected = await call("search_notes", query="roof", text=True, hidden=HIDDEN)
    assert search(query="roof") == expected
    assert search(query="").startswith("Error: search_notes needs a query")
    monkeypatch.delenv("DATASETTE_BEAR_SEARCH_SIDECAR")
    monkeypatch.delenv("DATASETTE_BEAR_SEARCH_HIDDEN_TAGS")
    tools = toolboxes[0](str(indexed), "private, cabin").tools()
    assert "Cabin roof" not in tools[0].implementation(query="roof")
    assert "Weekly" in tools[0].implementation(query="roof")


async def test_llm_itself_knows_the_tools(indexed, call, monkeypatch):
    commands = pytest.importorskip("llm.cli", reason="needs llm")
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(indexed))
    expected = await call("search_notes", query="roof", text=True)
    [search, *_] = commands.get_tools()["Notes"](str(indexed)).tools()
    assert search.implementation(query="roof") == expected
    listed = CliRunner().invoke(commands.cli, ["tools", "list"]).output
    assert "Notes(" in listed
    assert "Notes_search_notes(" in listed
