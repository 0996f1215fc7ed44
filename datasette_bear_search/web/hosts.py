"""Names of hosts, and requests that come from other sites."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping


def is_cross_origin(headers: Mapping[str, str], names: Collection[str] = ()) -> bool:
    """Return whether a page of another site sent the request, unless its host is in ``names``."""
    # Datasette 1.0 rejects such forms itself. 0.65 does so only if the browser has cookies for it,
    # and there may be none where nobody logs in.
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] not in ("same-origin", "none")
    # Browsers before 2023, and all browsers on a host name without TLS, send only an origin.
    origin = headers.get("origin")
    if origin is None or origin.partition("//")[2] == headers.get("host"):
        return False
    return origin_name(origin) not in {*names} - {*LOCAL_HOSTS}


LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", re.IGNORECASE | re.ASCII)


def host_name(host: str) -> str:
    """Return the name in ``name:port``, ``name`` or ``[::1]:port``; "" if there is none."""
    match = _HOST.fullmatch(host)
    return match[1].lower().strip("[]").rstrip(".") if match else ""


def origin_name(origin: str) -> str:
    """Return the name in ``https://name:port``; "" if there is none, as in ``null``."""
    return host_name(origin.partition("://")[2])
