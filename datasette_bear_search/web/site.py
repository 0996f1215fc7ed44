"""The sidecar inside a Datasette: which database it is, who may see it, what is set up when the server starts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from datasette import Response
from datasette.database import Database
from datasette.utils import StartupError, add_cors_headers

from ..embeddings import registry
from ..index import database as sidecar
from ..index.database import OtherVersion
from ..search import functions, redaction
from ..sqlite import sqlite3

if TYPE_CHECKING:
    from datasette.app import Datasette


PLUGIN = "datasette-bear-search"
SEARCH_PATH = "/-/bear-search"
SIMILAR_PATH = f"{SEARCH_PATH}/similar"
NOTE_PATH = f"{SEARCH_PATH}/note"


# Whether a database is a sidecar is asked once: every page asks, and none of the answers changes.
_is_sidecar: WeakKeyDictionary[Database, bool] = WeakKeyDictionary()


async def sidecar_database(datasette: Datasette) -> Database | None:
    """The attached database that is a sidecar."""
    for database in list(datasette.databases.values()):
        if database.path and sidecar.is_half_committed(Path(database.path)):
            await asyncio.to_thread(_undo_half_a_commit, Path(database.path))
        if database not in _is_sidecar and database.path:
            try:
                found = await database.execute_fn(sidecar.is_sidecar_connection)
            except sqlite3.Error:
                continue  # a database that can't be read now, perhaps later
            _is_sidecar[database] = found
        if _is_sidecar.get(database):
            return database
    return None


def _undo_half_a_commit(path: Path) -> None:
    with suppress(sqlite3.Error):  # whoever reads it finds out
        sidecar.undo_half_a_commit(path)


async def is_served_here(datasette: Datasette, name: str) -> bool:
    """Whether the database of that name is the sidecar."""
    database = await sidecar_database(datasette)
    return database is not None and database.name == name


def known_sidecar(datasette: Datasette) -> Database | None:
    """The attached database that was found to be a sidecar, without asking any: for what is called once a cell."""
    return next((db for db in datasette.databases.values() if _is_sidecar.get(db)), None)


async def allowed(
    datasette: Datasette, actor: dict | None, action: str, database: Database
) -> bool:
    """Whether an actor may do something with a database, asked in the way of either Datasette version."""
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        from datasette.resources import DatabaseResource

        return await datasette.allowed(
            action=action, resource=DatabaseResource(database.name), actor=actor
        )
    default = action != "execute-sql" or datasette.setting("default_allow_sql")
    return await datasette.permission_allowed(
        actor, action, resource=database.name, default=default
    )


def judging_is_on(datasette: Datasette, database: Database) -> bool:
    """Whether results may be judged here, which writes: only where the setting ``judgments`` allows it."""
    return bool(_config(datasette).get("judgments")) and database.is_mutable


def redacts(datasette: Datasette, *, by_default: bool = False) -> bool:
    """Whether secrets are masked here, by the setting ``redact``."""
    return bool(_config(datasette).get("redact", by_default))


def require_redaction_if_configured(datasette: Datasette) -> None:
    """Make sure that secrets can be found where they are to be masked: better nothing is served than what was to be hidden.

    :raises StartupError: if they can't
    """
    if not redacts(datasette):
        return
    try:
        redaction.require()
    except redaction.RedactionMissing as error:
        raise StartupError(f"The setting redact of {PLUGIN} is on. {error}") from None


def attach_sidecar(datasette: Datasette) -> None:
    """Attach the sidecar that the plugin's setting names; it is well if there is none yet.

    :raises StartupError: if the setting names a file that isn't a sidecar
    """
    setting = _config(datasette).get("sidecar")
    if not setting:
        return
    path = Path(setting).expanduser().resolve()
    if not path.exists() or any(
        database.path and Path(database.path).resolve() == path
        for database in datasette.databases.values()
    ):
        return
    if not sidecar.is_sidecar(path):
        raise StartupError(
            f"The setting sidecar of {PLUGIN} names {path}, which is not an index made by datasette bear-index"
        )
    datasette.add_database(Database(datasette, path=str(path), is_mutable=True), name=path.stem)


def prepare_connection(datasette: Datasette, connection: sqlite3.Connection) -> None:
    """Give a connection the SQL functions: all of them only if it is one to the index file."""
    functions.register(connection)
    if not sidecar.is_sidecar_connection(connection):
        return
    sidecar.wait_for_writers(connection)
    if not sidecar.load_vector_extension(connection):
        sidecar.hide_passage_index(connection)
    functions.register_embed(connection)
    functions.register_search(connection, redact=redacts(datasette))


async def warm_up_if_configured(datasette: Datasette) -> None:
    """Begin to load the sidecar's model if the setting ``warm_up`` asks for it."""
    database = await sidecar_database(datasette)
    if database is not None and _config(datasette).get("warm_up"):
        model = await database.execute_fn(lambda connection: sidecar.get_meta(connection, "model"))
        if model:
            registry.get_embedder(model).warm_up()


def cross_encoder(datasette: Datasette) -> str | None:
    """The model that rerank=cross-encoder means here; None leaves it to us."""
    return _config(datasette).get("cross_encoder")


def _config(datasette: Datasette) -> dict[str, Any]:
    return datasette.plugin_config(PLUGIN) or {}


# Which names a server of notes has, so that no page of another site can be taken for one of its own.
#
# A site can point its own name at 127.0.0.1 while one of its pages is open (DNS rebinding): for the browser the notes are
# then that site's. What gives it away is the name in the request, which is still the site's.

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


# What the pages have in common: JSON in the shapes of Datasette 1.0, what to say when it fails.

NO_SIDECAR = "No notes are served here. Make an index with: datasette bear-index. Then open it with: datasette bear-serve"
FORBIDDEN = "You do not have permission to search these notes"
UNREADABLE = (
    "The index can't be read just now. If it stays so, run: datasette bear-index. If that doesn't mend it: "
    "datasette bear-index --rebuild"
)


def unreadable(error: sqlite3.Error) -> str:
    """What to say of an index that SQLite can't read."""
    return str(error) if isinstance(error, OtherVersion) else UNREADABLE


def json_response(datasette: Datasette, body: dict[str, Any], status: int = 200) -> Response:
    """An answer for programs, which may be on other sites where Datasette allows it."""
    headers = {"x-content-type-options": "nosniff"}  # what notes say is never taken for a page
    if datasette.cors:
        add_cors_headers(headers)
    return Response.json(body, status=status, headers=headers)


def json_error(datasette: Datasette, message: str | None, status: int) -> Response:
    """The same for what went wrong."""
    body = {"ok": False, "error": message, "errors": [message], "status": status}
    return json_response(datasette, body, status)


def age(timestamp: str | None, now: datetime | None = None) -> str | None:
    """How long ago a time is, for people: ``today``, ``3 days ago``, ``5 months ago``; None in the future.

    Counted in days of the calendar, in local time.
    """
    if timestamp is None:
        return None
    then = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).astimezone()
    days = ((now or datetime.now()).date() - then.date()).days
    if days < 0:
        return None
    if days < 2:
        return ("today", "yesterday")[days]
    for unit, length in (("year", 365.25), ("month", 30.44), ("week", 7), ("day", 1)):
        count = int(days / length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return None
