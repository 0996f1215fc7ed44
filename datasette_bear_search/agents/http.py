"""The tools over streamable HTTP, inside Datasette: ``/-/bear-search/mcp``.

Each request stands for itself (no sessions), so nothing has to run between requests, and each one
is checked: who asks, at which address (DNS rebinding) and from which site.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from ..search import redaction
from ..web import clients, site
from ..web.site import LOCAL_HOSTS, PLUGIN, SEARCH_PATH
from . import Library
from .server import SdkMissing, build_server
from .tools import TOOLS, read_text

if TYPE_CHECKING:
    from datasette import Request, Response
    from datasette.app import Datasette

MCP_PATH = f"{SEARCH_PATH}/mcp"

DENIED = (
    "You do not have permission to search these notes. An agent can sign in with an API token of "
    "Datasette, in the header Authorization: Bearer …"
)
WRONG_HOST = (
    "This server doesn't answer agents at {host!r}. If that is its name, add it to the setting "
    f"mcp_hosts of {PLUGIN}."
)
WRONG_ORIGIN = (
    "Pages of {origin!r} may not ask for these notes. If they may, add the host to the setting "
    f"mcp_hosts of {PLUGIN}."
)


async def mcp(datasette: Datasette, request: Request, receive: Any, send: Any) -> Response | None:
    """Answer an agent's request; return None if the SDK has sent the response."""
    database = await site.sidecar_database(datasette)
    if database is None:
        return site.json_error(datasette, site.NO_SIDECAR, 404)
    hosts = _hosts(datasette, request.scope)
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if site.host_name(host) not in hosts:
        return site.json_error(datasette, WRONG_HOST.format(host=host), 421)
    # Only browsers send an origin; "null" is that of a page whose own is hidden.
    if origin and site.origin_name(origin) not in hosts:
        return site.json_error(datasette, WRONG_ORIGIN.format(origin=origin), 403)
    try:
        is_allowed = await site.may_search(datasette, request.actor, database)
    except site.PageError as error:
        return site.json_error(datasette, str(error), error.status)
    if not is_allowed:
        return site.json_error(datasette, DENIED, 403)
    if clients.are_too_many(datasette):
        return site.busy(datasette)
    if request.method != "POST":
        # A GET would open a stream on which nothing is ever sent.
        message = "Agents send POST requests here (MCP, streamable HTTP without sessions)."
        response = site.json_error(datasette, message, 405)
        response.headers["Allow"] = "POST"
        return response
    try:
        server = build_server(await asyncio.to_thread(_library, datasette, database))
    except (SdkMissing, redaction.RedactionMissing) as error:
        return site.json_error(datasette, str(error), 404)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    # One per request: it lives in a task group, and Datasette has none that outlives a request.
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    has_body = asyncio.Event()

    async def receive_body() -> dict[str, Any]:
        message = await receive()
        if not message.get("more_body"):
            has_body.set()
        return message

    async def send_response() -> None:
        async with manager.run():
            await manager.handle_request(request.scope, receive_body, send)

    await clients.while_connected(receive, send_response, has_body)
    return None


def agent_tools(datasette: Datasette) -> list[Any]:
    """Return the tools for datasette-agent, for whoever may search."""
    from datasette_agent.tools import AgentTool

    def function(name: str) -> Any:
        async def run(datasette: Datasette, actor: dict[str, Any] | None, **arguments: Any) -> str:
            database = await site.sidecar_database(datasette)
            if database is None or not await site.may_search(datasette, actor, database):
                return f"Error: {site.NO_SIDECAR if database is None else DENIED}"
            library = partial(_library, datasette, database)
            return await asyncio.to_thread(read_text, library, name, arguments)

        return run

    about = ((tool.name, tool.description, tool.input_schema) for tool in TOOLS)
    return [AgentTool(*each, function(each[0])) for each in about]


def _library(datasette: Datasette, database: Any) -> Library:
    return Library(
        str(database.path),
        _setting(datasette, "hidden_tags"),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
        # What agents read usually leaves this machine.
        redact=site.redacts(datasette, by_default=True),
    )


def is_mcp_request(datasette: Datasette, scope: dict[str, Any]) -> bool:
    """Return whether a request is for agents: they send no CSRF token; their origin is checked."""
    return scope.get("path") in (MCP_PATH, datasette.urls.path(MCP_PATH))


def _hosts(datasette: Datasette, scope: dict[str, Any]) -> set[str]:
    """Return this server's names: this machine's, the address it listens at, the setting's."""
    # A name that an attacker points at this machine is none of them.
    own, _ = scope.get("server") or (None, None)
    return {*LOCAL_HOSTS, *filter(None, [own]), *_setting(datasette, "mcp_hosts")}


def _setting(datasette: Datasette, name: str) -> tuple[str, ...]:
    """Return a setting of the plugin that is one text or a list of them."""
    value = site.config(datasette).get(name) or ()
    return (value,) if isinstance(value, str) else tuple(value)
