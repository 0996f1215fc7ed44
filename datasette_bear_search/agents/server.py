"""The tools → a Model Context Protocol server, built with its SDK (extra ``mcp``); stdio."""

from __future__ import annotations

# The SDK takes half a second to import and only servers need it, so functions import it.
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..embeddings import registry
from ..index.file import database
from ..notes import ForeseenError, counted, printable, printable_lines
from ..search.redaction import masking
from ..sqlite import sqlite3
from . import AgentLibrary, ToolError
from .arguments import NOTE
from .text import value_text
from .tools import INSTRUCTIONS, MCP_PROMPTS, RESOURCE, TOOLS, Tool, call

if TYPE_CHECKING:
    from mcp.server import Server

SERVER_NAME = "bear-search"
INSTALL_MCP = 'pip install "datasette-bear-search[mcp]"'
# Notes in a page of the list, and titles that complete what was typed: the protocol's most.
PAGE, COMPLETIONS = 100, 100
# The methods, one for each form of the protocol, whose answer has the instructions.
GREETINGS = (b'"initialize"', b'"server/discover"')
# Tags that the instructions name.
TOP_TAGS = 12


class SdkMissing(ForeseenError):
    """The SDK isn't installed, or is older than version 2; the message says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "Serving notes to AI assistants needs version 2 of the Python package mcp. "
            f"Install it with: {INSTALL_MCP}"
        )


def build_server(library: AgentLibrary, *, greets: bool = True) -> Server[Any]:
    """Return a server with the tools, for any transport, or raise SdkMissing.

    :param greets: whether to read from the index what an agent should know before its first call
    """
    try:
        import anyio.to_thread
        import mcp_types as types
        from mcp.server import Server
    except ImportError:
        raise SdkMissing from None

    from mcp.shared.exceptions import MCPError

    # Run tools in threads: a search takes milliseconds, but loading the model takes seconds.
    in_thread = anyio.to_thread.run_sync

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS])

    async def call_tool(context: Any, parameters: Any) -> types.CallToolResult:
        try:
            result = await in_thread(call, library, parameters.name, parameters.arguments or {})
        except ToolError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        content: list[Any] = [types.TextContent(text=result.text)]
        return types.CallToolResult(content=content, structured_content=result.data)

    async def list_resources(context: Any, parameters: Any) -> types.ListResourcesResult:
        cursor = (parameters and parameters.cursor) or "0"
        if not (cursor.isdecimal() and len(cursor) < 10):
            raise MCPError(types.INVALID_PARAMS, "There is no such page of notes.")
        notes = await in_thread(_rows, library, _LISTED, {"offset": int(cursor)})
        more = f"{int(cursor) + PAGE}" if len(notes) > PAGE else None
        kind: dict[str, Any] = {"mime_type": RESOURCE["mime_type"]}
        resources = [
            types.Resource(uri=f"{NOTE}{note_id}", name=printable(library.shown(title)), **kind)
            for note_id, title in notes[:PAGE]
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=more)

    async def list_templates(context: Any, parameters: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(**RESOURCE)
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Any, parameters: Any) -> types.ReadResourceResult:
        uri = str(parameters.uri)
        names = {"ids": [unquote(uri.removeprefix(NOTE))]}
        try:
            text = (await in_thread(call, library, "get_notes", names)).text
        except ToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        uri = printable(uri)
        kind = RESOURCE["mime_type"]
        contents = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(context: Any, parameters: Any) -> types.ListPromptsResult:
        prompts = [
            types.Prompt(name=name, **{key: prompt[key] for key in prompt if key != "text"})
            for name, prompt in MCP_PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(context: Any, parameters: Any) -> types.GetPromptResult:
        prompt, given = MCP_PROMPTS.get(parameters.name), parameters.arguments or {}
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"The prompts are: {', '.join(MCP_PROMPTS)}.")
        [argument] = prompt["arguments"]
        if not given.get(argument["name"]):
            missing = f"{parameters.name} needs {argument['name']}: {argument['description']}."
            raise MCPError(types.INVALID_PARAMS, missing)
        text = printable_lines(Template(prompt["text"]).substitute(given))
        content = types.TextContent(text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def complete(context: Any, parameters: Any) -> types.CompleteResult:
        found: list[Any] = []
        if parameters.argument.name in ("id", "note"):  # of the template, and of a prompt
            typed = {"typed": parameters.argument.value.strip()}
            found = await in_thread(_rows, library, _TITLED, typed)
        shown = [printable(library.shown(title)) for (title,) in found[:COMPLETIONS]]
        completion = types.Completion(values=shown, has_more=len(found) > COMPLETIONS)
        return types.CompleteResult(completion=completion)

    return Server(
        SERVER_NAME,
        version=version("datasette-bear-search"),
        title="Notes",
        instructions=_instructions(library) if greets else INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )


def serve_stdio(library: AgentLibrary) -> None:
    """Serve the tools over stdin and stdout until stdin ends, or raise SdkMissing."""
    server = build_server(library)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (receive, send):
            # Only the protocol may use stdout, so redirect what libraries print.
            with redirect_stdout(sys.stderr):
                # If there is no index, the tools say so.
                with suppress(database.SidecarError, sqlite3.Error):
                    if model := database.stored(library.path):
                        registry.get_embedder(model).warm_up()
                await server.run(receive, send, server.create_initialization_options())

    try:
        anyio.run(serve)
    except Exception as error:
        while inner := getattr(error, "exceptions", ()):  # of the SDK's task groups
            error = inner[0]
        raise error from None


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


def _instructions(library: AgentLibrary) -> str:
    """Return what an agent should know before its first call: the rules, and which notes exist."""
    with suppress(ToolError, masking.RedactionMissing), library.open() as connection:
        sources = connection.execute(_SOURCES).fetchall()
        about = library.about(connection)
        tags = connection.execute(_TOP_TAGS, [TOP_TAGS]).fetchall()
        named = [
            f"{counted(notes, 'note')} from {value_text(source)}"
            + (f" ({value_text(about[source])})" if source in about else "")
            + (f", {first} to {last}" if first else "")
            for source, notes, first, last in sources
        ]
        lines = [f"There are {'; '.join(named)}." if named else "There are no notes yet."]
        if tags:
            lines.append(f"The most frequent tags are {value_text([tag for (tag,) in tags])}.")
        return printable_lines("\n\n".join((INSTRUCTIONS, library.shown("\n".join(lines)))))
    return INSTRUCTIONS  # the tools report errors


_SOURCES = """
select source, count(*), substr(min(coalesce(created, modified)), 1, 4), substr(max(modified), 1, 4)
from notes
group by source
order by count(*) desc
"""
_TOP_TAGS = """
select tags.name
from tags
join note_tags on note_tags.tag_id = tags.id
group by tags.id
order by count(*) desc, tags.folded
limit ?
"""


def _rows(library: AgentLibrary, sql: str, values: Mapping[str, Any]) -> list[Any]:
    with suppress(ToolError), library.open() as connection:  # the tools report errors
        return connection.execute(sql, values).fetchall()
    return []


# A page of notes, the pinned and the latest first, and one more if there is one.
_LISTED = f"""
select id, title
from notes
order by pinned desc, modified desc, id
limit {PAGE + 1} offset :offset
"""
# Titles with a text, those that begin with it first.
_TITLED = f"""
select title
from notes
where instr(lower(title), lower(:typed))
group by title
order by instr(lower(title), lower(:typed)), max(modified) desc
limit {COMPLETIONS + 1}
"""
