"""The server of ``bear-serve``: the hosts it answers to, its headers and its limits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import h11
import uvicorn
from datasette import Response, handle_exception
from datasette.app import Datasette
from uvicorn.protocols.http.h11_impl import H11Protocol

from .hosts import LOCAL_HOSTS, host_name, is_cross_origin

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

MAX_CONNECTIONS = 200
MAX_BODY = 1_000_000  # bytes of a request's body; a judgment or an agent's call has a few hundred
REQUEST_SECONDS = 10  # from the first byte of a request to its last

# Protection against DNS rebinding: a site points its name at 127.0.0.1 while one of its pages is
# open, so that the browser takes the notes for the site's. But the Host header has the site's name.
WRONG_HOST = (
    "This server doesn't answer at {host!r}, because another website could have sent you here. "
    "Open it at http://127.0.0.1 with its port. If this name is yours, start the server with "
    "--host {name}.\n"
)

# The same response to every request from another site's page, before any work: its status and time
# reveal nothing about the notes. The empty link repeats the request, but as the person's own click.
CROSS_SITE_PAGE = """<!DOCTYPE html><title>Search notes</title>
<p>Another website sent you here. <a href="">Continue to your notes</a></p>
"""

# No other site may frame a page, keep a handle on its window or load its responses. Datasette's own
# pages have inline scripts and styles.
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
}


def server(datasette: Datasette, hosts: Collection[str]) -> uvicorn.Server:
    """Return a server for a Datasette that answers to this machine's names and to these."""
    # If rich is installed, Datasette prints a traceback with all variables for each 404, which
    # blocks the server for .25 to 2 s and shows the query in the terminal.
    handle_exception.rich = None
    config = uvicorn.Config(
        only_these_hosts(datasette.app(), {*LOCAL_HOSTS, *hosts}),
        http=PromptProtocol,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        # Warnings are about malformed requests, which nobody here can do anything about.
        log_level="error",
    )
    config.load()
    return uvicorn.Server(config)


class PromptProtocol(H11Protocol):
    """HTTP that drops the connection if a client doesn't send a request in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio does this only for sockets that it opens itself. Without it, on a kept-alive
        # connection, a response's body waits 40 ms for the client to acknowledge the headers.
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def _watch(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def only_these_hosts(app: App, hosts: Collection[str]) -> App:
    """Wrap the application to answer only under these host names and to its own pages."""
    names = {host.lower() for host in hosts}

    async def checked(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return

        async def send_with_headers(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                sent = list(message.get("headers", ()))
                there = {name.lower(): value for name, value in sent}
                if there.get(b"content-type", b"").startswith(b"text/html"):
                    there.pop(b"content-security-policy", None)  # of several, all apply
                ours = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                sent += [(name, value) for name, value in ours if name not in there]
                message = {**message, "headers": sent}
            await send(message)

        if refusal := _refusal(scope, names):
            await refusal.asgi_send(send_with_headers)
        else:
            await app(scope, receive, send_with_headers)

    return checked


def _refusal(scope: Scope, names: Collection[str]) -> Response | None:
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "")
    name = host_name(host)
    if name not in names:
        message = WRONG_HOST.format(host=host, name=name or "NAME")
        return Response.text(message, status=403)
    if is_cross_origin(headers, names):
        return Response.html(CROSS_SITE_PAGE, status=403)
    if not scope["path"].startswith("/"):
        return Response.text("The path of a request must begin with a slash.\n", status=400)
    if "transfer-encoding" in headers:
        return Response.text("The request needs a Content-Length header.\n", status=411)
    if int(headers.get("content-length", 0)) > MAX_BODY:  # h11 lets only digits pass
        return Response.text(f"A request may have at most {MAX_BODY:,} bytes.\n", status=413)
    return None
