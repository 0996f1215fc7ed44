"""The tools over streamable HTTP, inside Datasette: ``/-/bear-search/mcp``.

Each request stands for itself (no sessions), so that it needs nothing that runs between requests, and every one is checked:
who asks, at which address (DNS rebinding) and from which site.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasette import Response

from ..search import redaction
from ..web.site import (
    LOCAL_HOSTS,
    NO_SIDECAR,
    PLUGIN,
    SEARCH_PATH,
    allowed,
    host_name,
    origin_name,
    redacts,
    sidecar_database,
)
from .context import Library
from .server import SdkMissing, build_server

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

MCP_PATH = f"{SEARCH_PATH}/mcp"

DENIED = (
    "You do not have permission to search these notes. An agent can sign in with an API token of Datasette, in the header "
    "Authorization: Bearer …"
)
WRONG_HOST = (
    "This server doesn't answer agents at {host!r}. If that is its name, add it to the setting mcp_hosts of "
    f"{PLUGIN}."
)
WRONG_ORIGIN = (
    "Pages of {origin!r} may not ask for these notes. If they may, add the host to the setting mcp_hosts of "
    f"{PLUGIN}."
)
ONLY_POST = (
    "Agents send POST requests here (Model Context Protocol, streamable HTTP without sessions)."
)


async def mcp(datasette: Datasette, request, receive, send) -> Response | None:
    """Answer an agent's request; None if the SDK has sent the answer."""
    database = await sidecar_database(datasette)
    if database is None:
        return _error(NO_SIDECAR, 404)
    if refusal := _refusal(request, _hosts(datasette, request.scope)):
        return refusal
    if not await allowed(datasette, request.actor, "view-database", database):
        return _error(DENIED, 403)
    if request.method != "POST":
        # A GET would open a stream that nothing is ever sent on.
        return Response.json(_body(ONLY_POST, 405), status=405, headers={"Allow": "POST"})
    try:
        library = _library(datasette, database)
        if library.redact:
            await asyncio.to_thread(redaction.require)
        server = build_server(library)
    except (SdkMissing, redaction.RedactionMissing) as error:
        return _error(str(error), 404)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    # One for each request: it lives in a task group, and Datasette has none that outlives a request.
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(request.scope, receive, send)
    return None


def is_mcp_request(datasette: Datasette, scope: dict[str, Any]) -> bool:
    """Whether a request is one for agents: these carry no token against forgery, and their origin is checked instead."""
    return scope.get("path") in (MCP_PATH, datasette.urls.path(MCP_PATH))


def _library(datasette: Datasette, database: Database) -> Library:
    tags = _config(datasette).get("hidden_tags") or []
    return Library(
        Path(database.path),
        hidden_tags=tuple([tags] if isinstance(tags, str) else tags),
        time_limit_ms=datasette.setting("sql_time_limit_ms"),
        # What agents read leaves this machine, as a rule.
        redact=redacts(datasette, by_default=True),
    )


def _hosts(datasette: Datasette, scope: dict[str, Any]) -> set[str]:
    """The names of this server: this machine, the address that it listens at, and those of the setting."""
    # A name that an attacker points at this machine is none of them.
    own, _ = scope.get("server") or (None, None)
    named = _config(datasette).get("mcp_hosts") or []
    return {*LOCAL_HOSTS, *filter(None, [own]), *([named] if isinstance(named, str) else named)}


def _refusal(request, hosts: set[str]) -> Response | None:
    """The answer to a request for another server or from another site's page; None if it is neither."""
    host = request.headers.get("host", "")
    if host_name(host) not in hosts:
        return _error(WRONG_HOST.format(host=host), 421)
    origin = request.headers.get("origin")
    # Only browsers name one; "null" is that of a page whose own is hidden.
    if origin and origin_name(origin) not in hosts:
        return _error(WRONG_ORIGIN.format(origin=origin), 403)
    return None


def _config(datasette: Datasette) -> dict[str, Any]:
    return datasette.plugin_config(PLUGIN) or {}


def _error(message: str, status: int) -> Response:
    return Response.json(_body(message, status), status=status)


def _body(message: str, status: int) -> dict[str, Any]:
    return {"ok": False, "error": message, "errors": [message], "status": status}
