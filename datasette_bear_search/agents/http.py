"""The tools over streamable HTTP, inside Datasette: ``/-/bear-search/mcp``.

There are no sessions, so nothing has to run between requests. Every request is checked: its actor,
its host (against DNS rebinding) and its origin.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from datasette import Request, Response
from datasette.app import Datasette

from ..index.config import PLUGIN
from ..notes import ForeseenError
from ..sqlite import sqlite3
from ..web import hosts as web_hosts
from ..web import turns
from ..web.api.openapi import ROUTE
from ..web.hosts import LOCAL_HOSTS
from ..web.requests import databases, errors, permissions, responses, settings
from . import AgentLibrary
from .server import GREETINGS, build_server
from .tools import TOOLS, read_text

MCP_ROUTE = f"{ROUTE}/mcp"

DENIED = (
    "You do not have permission to search these notes. An agent can sign in with an API token of "
    "Datasette, in the header Authorization: Bearer …"
)
WRONG_HOST = (
    "This server doesn't answer agents at {host!r}. If that is its name, add it to the setting "
    f"mcp_hosts of {PLUGIN}."
)
WRONG_ORIGIN = "Pages of {origin!r} may not ask for these notes."


async def mcp(datasette: Datasette, request: Request, receive: Any, send: Any) -> Response | None:
    """Answer an agent's request; return None if the SDK has sent the response."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")

    def refusal(message: str, status: int, **headers: str) -> Response:
        response = responses.json_error(datasette, message, status)
        response.headers.update(headers)
        return response

    database = await databases.sidecar_database(datasette, request)
    if database is None:
        return refusal(errors.NO_SIDECAR, 404)
    hosts = _hosts(datasette, request.scope)
    if web_hosts.host_name(host) not in hosts:
        return refusal(WRONG_HOST.format(host=host), 421)
    # Only browsers send an origin; it is "null" for a page that hides it.
    if origin and web_hosts.origin_name(origin) not in hosts:
        return refusal(WRONG_ORIGIN.format(origin=origin), 403)
    try:
        is_allowed = await permissions.may_search(datasette, request.actor, database)
    except errors.PageError as error:
        return refusal(str(error), error.status)
    if not is_allowed:
        sign_in = {} if request.actor else {"WWW-Authenticate": 'Bearer realm="Datasette"'}
        return refusal(DENIED, 401 if sign_in else 403, **sign_in)
    if turns.are_too_many(datasette):
        return responses.busy(datasette)
    if request.method != "POST":
        # GET would open a stream, but this server never sends anything on its own.
        message = "Agents send POST requests here (MCP, streamable HTTP without sessions)."
        return refusal(message, 405, Allow="POST")

    body = await request.post_body()
    options = {"greets": any(method in body for method in GREETINGS)}
    try:
        # In a thread, because its instructions are read from the index.
        server = await asyncio.to_thread(build_server, _library(datasette, database), **options)
    except ForeseenError as error:  # a package is missing
        return refusal(str(error), 404)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    # One manager per request: it needs a task group, and none in Datasette outlives a request.
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    unread = [{"type": "http.request", "body": body}]

    async def receive_body() -> Any:
        return unread.pop() if unread else await receive()

    async def send_response() -> None:
        async with manager.run():
            await manager.handle_request(request.scope, receive_body, send)

    await turns.while_connected(receive, send_response)
    return None


def agent_tools(datasette: Datasette) -> list[Any]:
    """Return the tools for datasette-agent, for whoever may search."""
    from datasette_agent.tools import AgentTool

    def function(name: str) -> Any:
        async def run(datasette: Datasette, actor: dict[str, Any] | None, **arguments: Any) -> str:
            database = await databases.sidecar_database(datasette)
            if database is None or not await permissions.may_search(datasette, actor, database):
                return f"Error: {errors.NO_SIDECAR if database is None else DENIED}"
            library = partial(_library, datasette, database)
            return await asyncio.to_thread(read_text, library, name, **arguments)

        return run

    about = ((tool.name, tool.description, tool.input_schema) for tool in TOOLS)
    return [AgentTool(*each, function(each[0])) for each in about]


class _Library(AgentLibrary):
    """The notes for one request, whose statements stop when its client disconnects."""

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        with super().open() as connection, turns.reading(connection):
            yield connection


def _library(datasette: Datasette, database: Any) -> AgentLibrary:
    return _Library(
        str(database.path),
        settings.setting_list(datasette, "hidden_tags"),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
        # By default, because what agents read usually leaves this machine.
        redact=settings.redacts(datasette, by_default=True),
    )


def is_mcp_request(datasette: Datasette, scope: dict[str, Any]) -> bool:
    """Return whether this is an agent's request, which has a checked origin but no CSRF token."""
    below = scope.get("path", "").removeprefix(datasette.urls.path("/").rstrip("/"))
    return bool(re.fullmatch(MCP_ROUTE, below))


def _hosts(datasette: Datasette, scope: dict[str, Any]) -> set[str]:
    """Return the server's names: local ones, the address it listens on, those in the settings."""
    # A name that an attacker points at this machine isn't among them.
    own, _ = scope.get("server") or (None, None)
    return {*LOCAL_HOSTS, *filter(None, [own]), *settings.setting_list(datasette, "mcp_hosts")}
