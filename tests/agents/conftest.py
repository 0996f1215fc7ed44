"""Notes for the agents' tools, and a fixture that calls a tool with the official client."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from mcp import Client

from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.embeddings import registry
from tests.support.agents import NOTES
from tests.support.bear_libraries import bear_library
from tests.support.tiny_embedder import TINY, TinyEmbedder


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """Index the notes once for all tests of a worker."""
    folder = tmp_path_factory.mktemp("template")
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    library, path = bear_library(folder / "database.sqlite", NOTES), folder / "notes.db"
    arguments = ["bear-index", str(library), "--sidecar", str(path), "--model", TINY]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    return path


@pytest.fixture
def indexed(template, sidecar_path) -> Path:
    """Return an index that the test may change."""
    sidecar_path.parent.mkdir(exist_ok=True)
    shutil.copy(template, sidecar_path)
    return sidecar_path


@pytest.fixture
def call(indexed, sidecar_path):
    """Return a function that calls a tool here: ``await call("search_notes", query="roof")``."""

    async def call_tool(name, *, text=False, fails=False, hidden=(), **arguments):
        library = AgentLibrary(sidecar_path, hidden_tags=hidden)
        async with Client(server.build_server(library)) as client:
            result = await client.call_tool(name, arguments)
        assert result.is_error is fails, result.content[0].text
        return result.content[0].text if text or fails else result.structured_content

    return call_tool
