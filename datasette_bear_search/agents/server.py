"""The tools → a server of the Model Context Protocol, by its SDK (extra ``mcp``); stdio."""

from __future__ import annotations

# The SDK takes half a second to import, and only who serves agents needs it: inside functions.
import logging
import sys
from contextlib import redirect_stdout, suppress
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..embeddings import registry
from ..index import database
from ..sqlite import sqlite3
from . import Library, ToolError
from .tools import INSTRUCTIONS, TOOLS, Tool, read_arguments

if TYPE_CHECKING:
    from mcp.server import Server

NAME = "bear-search"
INSTALL = "pip install 'datasette-bear-search[mcp]'"

logger = logging.getLogger(__name__)


class SdkMissing(Exception):
    """The SDK isn't installed, or is older than version 2; the message says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "Serving notes to AI assistants needs version 2 of the Python package mcp. "
            f"Install it with: {INSTALL}"
        )


def build_server(library: Library) -> Server[Any]:
    """Return a server of the tools, for any transport, or raise SdkMissing."""
    try:
        import anyio.to_thread
        import mcp_types as types
        from mcp.server import Server
    except ImportError:
        raise SdkMissing from None

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS])

    async def call_tool(context: Any, parameters: Any) -> types.CallToolResult:
        # In a thread: a search takes milliseconds, but loading the model takes seconds.
        return await anyio.to_thread.run_sync(
            partial(_call, library, parameters.name, parameters.arguments or {})
        )

    return Server(
        NAME,
        version=version("datasette-bear-search"),
        title="Notes",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(library: Library) -> None:
    """Serve the tools over stdin and stdout until stdin ends, or raise SdkMissing."""
    server = build_server(library)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (receive, send):
            # stdout is the protocol's now: what a library prints goes elsewhere.
            with redirect_stdout(sys.stderr):
                # Without an index, the tools will say so.
                with suppress(database.SidecarError, sqlite3.Error):
                    if model := database.stored_model(library.path):
                        registry.get_embedder(model).warm_up()
                await server.run(receive, send, server.create_initialization_options())

    anyio.run(serve)


def _listed(tool: Tool) -> Any:
    import mcp_types as types

    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=False,
    )
    return types.Tool(
        **{name: value for name, value in vars(tool).items() if name != "run"}, annotations=hints
    )


def _call(library: Library, name: str, arguments: dict[str, Any]) -> Any:
    import mcp_types as types

    try:
        tools = {tool.name: tool for tool in TOOLS}
        if name not in tools:
            raise ToolError(f"There is no tool {name!r}. The tools are: {', '.join(tools)}.")
        result = tools[name].run(library, **read_arguments(tools[name], arguments))
    except ToolError as error:
        problem = str(error)
    except Exception as error:
        # An exception's message may quote a note: the log gets only its type.
        logger.error("%s failed: %s", name, type(error).__name__)
        problem = f"{name} failed for a reason that nobody foresaw. Try it with other arguments."
    else:
        return types.CallToolResult(
            content=[types.TextContent(text=result.text)], structured_content=result.data
        )
    return types.CallToolResult(content=[types.TextContent(text=problem)], is_error=True)
