"""What each process of a test does first: Python imports this module when it starts.

If BEAR_TEST_CONNECTIONS names a file, all connections except to this machine are blocked. Attempts
are also written to that file, in case a library swallows the error.
"""

import os
import sys
from types import ModuleType

_CONNECTING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_RESOLVING = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def _is_here(host: object) -> bool:
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


def _only_this_machine(event: str, arguments: tuple) -> None:
    if event in _CONNECTING:
        address = arguments[1] if len(arguments) > 1 else None
        is_here = not isinstance(address, tuple) or _is_here(address[0])  # else a Unix socket
        where = repr(address)
    elif event in _RESOLVING:
        is_here, where = _is_here(arguments[0]), repr(arguments[0])
    else:
        return
    if is_here:
        return
    descriptor = os.open(
        os.environ["BEAR_TEST_CONNECTIONS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND
    )
    os.write(descriptor, f"{event} {where} by {sys.argv}\n".encode())
    os.close(descriptor)
    raise ConnectionError(f"nothing may be sent anywhere, but for {where} there was {event}")


if "BEAR_TEST_CONNECTIONS" in os.environ:
    import ipaddress

    sys.addaudithook(_only_this_machine)

# Hide a package, as if it weren't installed.
if missing := os.environ.get("BEAR_TEST_MISSING"):
    sys.modules[missing] = None  # type: ignore[assignment]

# Datasette before 1.0 reads all units of measurement, which takes half of its start. None of our
# tests has one.
_pint = sys.modules["datasette.vendored.pint"] = ModuleType("datasette.vendored.pint")
_pint.UnitRegistry = type("NoUnits", (), {})  # type: ignore[attr-defined]
