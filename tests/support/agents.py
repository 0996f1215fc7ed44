"""Ways to reach the tools for agents: in this process, over stdio and over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
import uvicorn
from datasette.app import Datasette
from mcp import StdioServerParameters

from tests.support import threads
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day

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

# Runs the command in a process of its own, with the tiny model registered as in the tests' process.
_BEAR_MCP = """
import sys
from datasette.cli import cli
from datasette_bear_search.embeddings import registry
from tests.support.tiny_embedder import TinyEmbedder
registry.register("test/tiny", lambda: TinyEmbedder("test/tiny"))
cli(["bear-mcp", *sys.argv[1:]])
"""


def bear_mcp(sidecar: Path, *options: str, **environment: str) -> StdioServerParameters:
    """Return the parameters with which a client starts ``datasette bear-mcp`` on this sidecar."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", _BEAR_MCP, "--sidecar", str(sidecar), *options],
        cwd=Path(__file__).parents[2],
        env=environment or None,
    )


@contextmanager
def serving(datasette: Datasette) -> Iterator[str]:
    """Serve a Datasette on a free port; yield the URL of its root."""
    server = uvicorn.Server(uvicorn.Config(datasette.app(), log_level="warning"))
    with threads.serving(server) as port:
        yield f"http://127.0.0.1:{port}"


class AgentTool(NamedTuple):
    """A tool as in datasette-agent."""

    name: str
    description: str
    input_schema: dict
    fn: Callable[..., Any]


class LlmTool(NamedTuple):
    """A tool as in llm."""

    name: str
    description: str
    input_schema: dict
    implementation: Callable[..., str]


def stand_in_for_packages(patch: pytest.MonkeyPatch) -> None:
    """Stand in for the imported parts of datasette-agent and llm if these aren't installed."""
    if not find_spec("datasette_agent"):
        patch.setitem(sys.modules, "datasette_agent", ModuleType("datasette_agent"))
        tools = SimpleNamespace(AgentTool=AgentTool)
        patch.setitem(sys.modules, "datasette_agent.tools", tools)
    if not find_spec("llm"):
        patch.setitem(sys.modules, "llm", SimpleNamespace(Tool=LlmTool, Toolbox=object))


async def note_id(call, title) -> int:
    data = await call("search_notes", query=title, limit=1)
    assert data["notes"][0]["title"] == title
    return data["notes"][0]["id"]
