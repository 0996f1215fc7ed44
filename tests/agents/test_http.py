"""The tools over HTTP, inside Datasette. Everything here runs on both of its versions."""

from __future__ import annotations

import re
import sys
import threading

import pytest
from datasette.app import Datasette
from mcp import Client

from datasette_bear_search import register_agent_tools
from datasette_bear_search.agents import server
from datasette_bear_search.agents.tools import TOOLS
from tests.support.agents import serving, stand_in_for_packages
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.datasettes import cookies

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

PATH = "/-/bear-search/mcp"
NOTES = [
    BearNote("# Cabin roof\n\nThe roof leaks.", tags=("cabin",), created=day(1)),
    BearNote("# Diary\n\nOf the roof.", tags=("private",), created=day(2)),
]
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST_TOOLS = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'


@pytest.fixture
def datasette(index_notes):
    """Return a function that opens the notes in Datasette with settings of the plugin."""
    sidecar_path = index_notes(NOTES)

    def open_datasette(*, allow=None, settings=None, **plugin_settings) -> Datasette:
        metadata: dict = {"plugins": {"datasette-bear-search": plugin_settings}}
        if allow is not None:
            metadata["databases"] = {sidecar_path.stem: {"allow": allow}}
        return Datasette([str(sidecar_path)], metadata=metadata, settings=settings or {})

    return open_datasette


async def post(datasette, status=200, path=PATH, content=LIST_TOOLS, **headers):
    response = await datasette.client.post(
        path,
        content=content,
        headers={**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}},
    )
    assert response.status_code == status, response.text
    return response


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_instructions_are_read_once_a_session_and_beside_the_event_loop(
    datasette, monkeypatch, mode
):
    readers = []
    described = server._instructions
    monkeypatch.setattr(
        server,
        "_instructions",
        lambda library: readers.append(threading.current_thread()) or described(library),
    )
    with serving(datasette()) as address:
        async with Client(address + PATH, mode=mode) as client:
            assert "2 notes from" in client.instructions
            await client.list_tools()
            await client.call_tool("list_tags", {})
    assert len(readers) == 1
    assert readers[0].name.startswith("asyncio")


async def test_the_older_protocol_is_served_too(datasette):
    with serving(datasette()) as address:
        async with Client(address + PATH, mode="legacy") as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)
            result = await client.call_tool("search_notes", {"query": "roof leaks"})
    assert result.structured_content["notes"][0]["title"] == "Cabin roof"


async def test_the_server_works_below_a_base_url(datasette):
    with serving(datasette(settings={"base_url": "/notes/"})) as address:
        async with Client(f"{address}/notes{PATH}") as client:
            assert (await client.list_tools()).tools


async def test_tags_are_hidden_by_the_setting(datasette):
    with serving(datasette(hidden_tags=["private"])) as address:
        async with Client(address + PATH) as client:
            tags = await client.call_tool("list_tags", {})
            found = await client.call_tool("search_notes", {"query": "roof"})
    assert [node["tag"] for node in tags.structured_content["tags"]] == ["cabin"]
    assert [note["title"] for note in found.structured_content["notes"]] == ["Cabin roof"]


async def test_a_client_without_cookies_needs_no_token(datasette):
    assert (await post(datasette())).json()["result"]["tools"]


async def test_a_person_who_may_not_view_the_database_gets_no_answer(datasette):
    response = await post(datasette(allow={"id": "anna"}), 401)
    assert response.headers["www-authenticate"] == 'Bearer realm="Datasette"'
    assert "API token" in response.json()["error"]
    assert "tools" not in response.text


async def test_a_person_who_may_view_the_database_gets_an_answer(datasette):
    restricted = datasette(allow={"id": "anna"})
    cookie = restricted.sign({"a": {"id": "anna"}}, "actor")
    assert "tools" in (await post(restricted, cookie=f"ds_actor={cookie}")).text
    other = restricted.sign({"a": {"id": "berta"}}, "actor")
    await post(restricted, 403, cookie=f"ds_actor={other}")


@pytest.mark.parametrize("host", ["localhost", "localhost:8001", "127.0.0.1:8001", "[::1]:8001"])
async def test_a_request_to_localhost_gets_an_answer(datasette, host):
    await post(datasette(), host=host)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8001", "localhost.evil.example", "127.0.0.1.evil.example"],
)
async def test_a_request_to_an_unknown_host_name_is_refused(datasette, host):
    response = await post(datasette(), 421, host=host)
    assert "mcp_hosts" in response.json()["error"]


async def test_a_request_to_a_host_name_in_the_settings_gets_an_answer(datasette):
    named = datasette(mcp_hosts=["notes.example.com"])
    await post(named, host="notes.example.com", origin="http://notes.example.com")
    await post(named, 421, host="evil.example")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
async def test_a_page_of_another_site_is_refused(datasette, origin):
    await post(datasette(), 403, origin=origin)


async def test_a_form_of_another_site_is_refused(datasette):
    # Without a preflight request, a browser doesn't send JSON, and older ones send no origin.
    await post(datasette(), 400, content_type="text/plain")


async def test_without_an_index_it_says_which_command_makes_one():
    response = await post(Datasette(memory=True), 404)
    assert "datasette bear-serve" in response.json()["error"]


@pytest.mark.parametrize("method", ["get", "delete"])
async def test_the_server_accepts_only_post(datasette, method):
    response = await getattr(datasette().client, method)(PATH)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_without_the_sdk_it_says_how_to_install_it(datasette, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    response = await post(datasette(), 404)
    assert 'pip install "datasette-bear-search[mcp]"' in response.json()["error"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"jsonrpc": "2.0"}', "\x00", "[" * 10_000])
async def test_an_invalid_message_gets_a_response(datasette, content):
    response = await datasette().client.post(PATH, content=content, headers=HEADERS)
    assert 200 <= response.status_code < 500


async def test_other_forms_are_still_protected(datasette):
    from datasette_bear_search.agents.http import is_mcp_request

    served = datasette(settings={"base_url": "/notes/"})
    assert is_mcp_request(served, {"path": "/notes" + PATH})
    assert not is_mcp_request(served, {"path": "/notes/-/bear-search/judge"})
    assert not is_mcp_request(served, {"path": PATH + "/more"})


async def test_datasette_agent_has_the_same_tools_for_people_who_may_search(datasette, monkeypatch):
    stand_in_for_packages(monkeypatch)
    app = datasette(allow={"id": "anna"}, hidden_tags=["private"])
    await app.invoke_startup()
    tools = {tool.name: tool for tool in register_agent_tools(app)}
    assert list(tools) == [tool.name for tool in TOOLS]
    search = tools["search_notes"].fn
    found = await search(datasette=app, actor={"id": "anna"}, query="roof")
    assert "Cabin roof" in found
    assert "Diary" not in found
    assert (await search(datasette=app, actor=None, query="roof")).startswith("Error: You do not")
    assert (await search(datasette=app, actor={"id": "anna"})).startswith("Error: search_notes")


async def test_datasette_agent_itself_calls_the_tools(datasette):
    tools = pytest.importorskip("datasette_agent.tools", reason="needs datasette-agent")
    app = datasette(allow={"id": "anna"}, hidden_tags=["private"])
    await app.invoke_startup()
    by_plugin = await tools.get_agent_tools_by_plugin(app)
    ours = {tool.name: tool for tool in by_plugin["bear_search"]}
    assert list(ours) == [tool.name for tool in TOOLS]
    response = await app.client.get("/-/bear-search.json?q=roof", cookies=cookies(app, "anna"))
    expected = [row["id"] for row in response.json()["rows"] if row["title"] != "Diary"]

    async def ask(actor: dict | None) -> str:
        tool, arguments = ours["search_notes"], {"query": "roof"}
        return await tools.execute_agent_tool(tool, app, actor, arguments=arguments)

    answer = await ask({"id": "anna"})
    assert [int(each) for each in re.findall(r"^## .*\(id (\d+)", answer, re.MULTILINE)] == expected
    assert (await ask(None)).startswith("Error: You do not have permission")
    # Call it as a language model does, with a tool of llm that knows the actor.
    [tool] = tools.make_llm_tools([ours["search_notes"]], app, {"id": "anna"})
    assert await tool.implementation(query="roof") == answer
