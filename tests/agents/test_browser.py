"""An app in a browser as an MCP client: a page of another origin that uses only fetch."""

import pytest
from playwright.sync_api import Error, Page

from tests.stress.cross_site import other_website
from tests.support.bear_database import BearNote
from tests.support.chromium import needs_chromium
from tests.support.datasettes import served

pytestmark = [*needs_chromium, pytest.mark.datasette]

# A client's first three requests. Datasette 1.0 accepts requests from other sites only with a
# token.
CLIENT = """
async (address) => {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: "Bearer token",
  };
  const ask = async (id, method, params) => {
    const body = JSON.stringify({jsonrpc: "2.0", id, method, params});
    const response = await fetch(address, {method: "POST", headers, body});
    return (await response.json()).result;
  };
  const info = {name: "app", version: "1"};
  const started = await ask(1, "initialize", {
    protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info,
  });
  headers["mcp-protocol-version"] = started.protocolVersion;
  const listed = await ask(2, "tools/list", {});
  const search = {name: "search_notes", arguments: {query: "roof"}};
  const found = await ask(3, "tools/call", search);
  return [
    started.serverInfo.name,
    listed.tools.map((tool) => tool.name),
    found.structuredContent.notes.map((note) => note.title),
  ];
}
"""


@pytest.fixture
def client(chromium, index_notes):
    """Return a function that runs the client in the browser, in a page of a host."""
    index = index_notes([BearNote("# Cabin roof\n\nThe roof leaks.")])
    config = {"plugins": {"datasette-bear-search": {"mcp_hosts": ["app.localhost"]}}}

    def run(page: Page, host: str, port: str) -> list:
        page.goto(f"http://{host}:{port}/")
        return page.evaluate(CLIENT, f"{root}/-/bear-search/mcp")

    # The page is also served from this machine; for others, Chromium would ask for permission.
    with (
        served(index, config=config) as root,
        other_website() as website,
        chromium.new_page() as page,
    ):
        yield lambda host: run(page, host, website.rpartition(":")[2].strip("/"))


def test_a_page_whose_host_is_named_searches_the_notes(client):
    name, tools, found = client("app.localhost")
    assert name == "bear-search"
    assert "search_notes" in tools
    assert found == ["Cabin roof"]


@pytest.mark.parametrize("host", ["other.localhost", "localhost"])
def test_a_page_of_another_host_gets_nothing(client, host):
    with pytest.raises(Error, match="Failed to fetch"):
        client(host)
