"""Notes for the agents' tools, and a fixture that calls a tool with the official client."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from mcp import Client

from datasette_bear_search.agents import Library, server
from datasette_bear_search.demo import BearFile, BearNote
from datasette_bear_search.embeddings import registry
from tests.conftest import TINY
from tests.support.bear_libraries import bear_library, day
from tests.support.tiny_embedder import TinyEmbedder

SECRET = "velvet tugboat"
NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove.\n\n"
        "## Plan for May\n\nReplace the flashing.\n\n### Who\n\nHollis.\n\n## Sums\n\n$40.",
        tags=("cabin/repairs",),
        created=day(1),
    ),
    BearNote(
        "# Lentil soup\n\nRed lentils, carrots.",
        tags=("recipes",),
        created=day(2),
        modified=day(9),
    ),
    BearNote("# Weekly\n\nFirst week: roof.", tags=("journal",), created=day(3)),
    BearNote("# Weekly\n\nSecond week: garden.", tags=("journal",), created=day(4)),
    BearNote("# Old plans\n\nA roof garden.", archived=True, pinned=True, created=day(5)),
    BearNote(f"# Bank codes\n\nPIN {SECRET}", encrypted=True, created=day(6)),
    BearNote(
        "# Receipts\n\n![](scan.png)",
        files=(BearFile("scan.png", ocr="plumber invoice"),),
        created=day(7),
    ),
    BearNote(
        "# Diary of roofs\n\nNobody may read of the zeppelin. [[Cabin roof]]",
        tags=("private/diary",),
        created=day(8),
    ),
]
HIDDEN = ("Private",)


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
        library = Library(sidecar_path, hidden_tags=hidden)
        async with Client(server.build_server(library)) as client:
            result = await client.call_tool(name, arguments)
        assert result.is_error is fails, result.content[0].text
        return result.content[0].text if text or fails else result.structured_content

    return call_tool


async def note_id(call, title) -> int:
    data = await call("search_notes", query=title, limit=1)
    assert data["notes"][0]["title"] == title
    return data["notes"][0]["id"]
