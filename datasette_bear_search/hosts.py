"""Which names a server of notes has, so that no page of another site can be taken for one of its own.

A site can point its own name at 127.0.0.1 while one of its pages is open (DNS rebinding): for the browser the notes are
then that site's. What gives it away is the name in the request, which is still the site's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any
from urllib.parse import urlsplit

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

WRONG_HOST = (
    "This server doesn't answer at {host!r}, because another website could have sent you here. Open it at "
    "http://127.0.0.1 with its port. If this is a name of yours, start the server with --host {name}.\n"
)

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


def host_name(host: str) -> str:
    """The name in ``name:port``, ``name`` or ``[::1]:port``; "" if there is none."""
    return _name(f"//{host}")


def origin_name(origin: str) -> str:
    """The name in ``https://name:port``; "" if there is none, as in ``null``."""
    return _name(origin)


def _name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:  # such as [::1
        return ""


class OnlyTheseHosts:
    """A web application that is asked under these names only."""

    def __init__(self, app: App, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or host_name(_host(scope)) in self._hosts:
            await self._app(scope, receive, send)
            return
        host = _host(scope)
        message = WRONG_HOST.format(host=host, name=host_name(host) or "NAME")
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": message.encode(errors="replace")})


def _host(scope: Scope) -> str:
    return next(
        (value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), ""
    )
