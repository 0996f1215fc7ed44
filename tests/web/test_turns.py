"""A search ends when its client disconnects, and the number of waiting clients is limited."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from datasette.app import Datasette

from datasette_bear_search.search.engine import Pipeline
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web import turns as web_turns
from datasette_bear_search.web.turns import Work
from tests.support.agents import serving
from tests.support.bear_database import BearNote
from tests.support.threads import wait_for

pytestmark = pytest.mark.datasette

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
SEARCH = "/-/bear-search.json?q=roof"
MCP_PATH = "/-/bear-search/mcp"
CALL = """{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
 "params": {"name": "search_notes", "arguments": {"query": "roof"}}}"""


@pytest.fixture
def running(monkeypatch) -> list[sqlite3.Connection]:
    """Make searches endless; return the connections that are running one."""
    running: list[sqlite3.Connection] = []

    def retrieve(self, connection):
        running.append(connection)
        try:
            connection.execute(ENDLESS).fetchone()
        finally:
            running.remove(connection)

    monkeypatch.setattr(Pipeline, "retrieve", retrieve)
    return running


@pytest.fixture
def address(index_notes):
    path = index_notes([BearNote("# Roof\n\nThe roof leaks.")], "--no-semantic")
    with serving(Datasette([str(path)])) as address:
        yield address


def ask(address: str, path: str = SEARCH) -> socket.socket:
    """Return a client that has sent a request and waits. With the MCP path, it is an agent."""
    client = socket.create_connection(("127.0.0.1", urlsplit(address).port))
    asked = f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"
    if path == MCP_PATH:
        headers = "accept: application/json, text/event-stream\r\ncontent-type: application/json"
        length = f"content-length: {len(CALL)}"
        asked = f"POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n{length}\r\n\r\n{CALL}"
    client.sendall(asked.encode())
    return client


@pytest.mark.parametrize("path", [SEARCH, "/-/bear-search?q=roof"])
def test_a_disconnected_client_ends_its_search_and_its_waiting_work(
    address, running, monkeypatch, path
):
    waiting = [ask(address, path) for _ in range(20)]
    wait_for(lambda: len(running) == 3 and len(web_turns._working) == 20)
    for client in reversed(waiting):
        client.close()
    wait_for(lambda: not running and not web_turns._working)
    monkeypatch.undo()
    assert urlopen(address + path).status == 200


def test_an_agent_that_goes_away_ends_its_call(address, running, monkeypatch):
    monkeypatch.setattr(web_turns, "MAX_WAITING", 0)
    waiting = [ask(address, MCP_PATH) for _ in range(3)]
    wait_for(lambda: len(running) == len(web_turns._working) == 3)
    assert ask(address, MCP_PATH).recv(100).startswith(b"HTTP/1.1 503")
    for client in waiting:
        client.close()
    wait_for(lambda: not running and not web_turns._working)
    monkeypatch.undo()
    assert ask(address, MCP_PATH).recv(100).startswith(b"HTTP/1.1 200")


def test_a_client_that_stays_gets_a_response_while_others_disconnect(address, running, monkeypatch):
    gone = [ask(address) for _ in range(3)]
    wait_for(lambda: len(running) == 3)
    monkeypatch.undo()
    staying = ask(address)
    for client in gone:
        client.close()
    assert staying.recv(100).startswith(b"HTTP/1.1 200")


def test_only_a_limited_number_of_requests_may_wait(address, running, monkeypatch):
    monkeypatch.setattr(web_turns, "MAX_WAITING", 2)
    waiting = [ask(address) for _ in range(5)]
    wait_for(lambda: len(running) == 3 and len(web_turns._working) == 5)
    for path in (SEARCH, "/-/bear-search?q=roof", "/-/bear-search/note/1"):
        answer = ask(address, path).recv(10_000)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 5\r\n" in answer.lower()
    for client in waiting:
        client.close()
    wait_for(lambda: not web_turns._working)
    monkeypatch.undo()
    assert urlopen(address + SEARCH).status == 200


class Connection:
    """A fake connection that counts how often it was interrupted."""

    in_transaction = False
    interrupted = 0

    def interrupt(self):
        self.interrupted += 1


def test_a_connection_that_does_other_work_is_not_interrupted():
    work, connection = Work(), Connection()
    with work.reading(connection):
        pass
    asyncio.run(work.end())
    assert connection.interrupted == 0
    with pytest.raises(sqlite3.OperationalError, match="interrupted"), work.reading(connection):
        pass


def test_an_interrupted_search_leaves_no_transaction_open():
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    work = Work()

    def read():
        with work.reading(connection):
            connection.execute("begin")
            work._interrupt()
            raise sqlite3.OperationalError("interrupted")

    with pytest.raises(sqlite3.OperationalError):
        read()
    assert not connection.in_transaction
