"""What all pages share: the index file in Datasette, permissions, settings, JSON, errors, hosts."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit
from weakref import WeakKeyDictionary

from datasette import Forbidden, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import StartupError, add_cors_headers
from jinja2 import Environment

from ..embeddings import registry
from ..index import database as index_database
from ..index.database import OtherVersion, require_current
from ..notes import counted, local_day
from ..query.filters import InvalidParameter
from ..search import functions, redaction
from ..search.sql import Statement
from ..sqlite import sqlite3, time_limit
from . import clients

if TYPE_CHECKING:
    from ..index.background import Updater

T = TypeVar("T")
Respond = Callable[..., Awaitable[Response]]

PLUGIN = "datasette-bear-search"
SEARCH_PATH = "/-/bear-search"
SIMILAR_PATH = f"{SEARCH_PATH}/similar"
NOTE_PATH = f"{SEARCH_PATH}/note"
UPDATE_PATH = f"{SEARCH_PATH}/update"
STATIC_PATH = f"{SEARCH_PATH}/static"

NO_SIDECAR = (
    "No notes are served here. Make an index with: datasette bear-index. "
    "Then open it with: datasette bear-serve"
)
FORBIDDEN = "You do not have permission to search these notes"
BUSY = "Too many searches are waiting. Try again in a few seconds."
UNREADABLE = (
    "The index can't be read right now. If it stays so, run: datasette bear-index. "
    "If that doesn't fix it: datasette bear-index --rebuild"
)


# --- the index file

# Whether a database is a sidecar is read once: every page asks, and the answer never changes.
_is_sidecar: WeakKeyDictionary[Database, bool] = WeakKeyDictionary()


async def sidecar_database(datasette: Datasette) -> Database | None:
    """Return the attached database that is a sidecar."""
    for database in list(datasette.databases.values()):
        if database.path and index_database.is_half_committed(Path(database.path)):
            with suppress(sqlite3.Error):  # whoever reads it finds out
                await asyncio.to_thread(index_database.undo_half_a_commit, Path(database.path))
        if database not in _is_sidecar and database.path:
            with suppress(sqlite3.Error):  # it can't be read now, perhaps later
                _is_sidecar[database] = await database.execute_fn(
                    index_database.is_sidecar_connection
                )
        if _is_sidecar.get(database):
            return database
    return None


def known_sidecar(datasette: Datasette) -> Database | None:
    """Return the database known to be a sidecar, without a query: it's called for each cell."""
    return next((db for db in datasette.databases.values() if _is_sidecar.get(db)), None)


def is_known_sidecar(datasette: Datasette, name: str | None) -> bool:
    """Return whether the database of that name is known to be a sidecar."""
    sidecar = known_sidecar(datasette)
    return sidecar is not None and sidecar.name == name


async def may_search(datasette: Datasette, actor: dict | None, database: Database) -> bool:
    """Return whether an actor may see the notes, as Datasette decides it for its own pages.

    That is for the page of the database and for that of the table ``notes``.

    :raises PageError: if the index can't be read, where Datasette looks for the table
    """
    try:
        return await _may_see_notes(datasette, actor, database)
    except sqlite3.DatabaseError as error:
        raise PageError(unreadable(error), 503) from None


async def _may_see_notes(datasette: Datasette, actor: dict | None, database: Database) -> bool:
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        from datasette.resources import DatabaseResource, TableResource

        resources = {
            "view-database": DatabaseResource(database.name),
            "view-table": TableResource(database.name, "notes"),
        }
        for action, resource in resources.items():
            if not await datasette.allowed(action=action, resource=resource, actor=actor):
                return False
        return True
    # Where the table is open, it may be so in a closed database: both have to be open.
    database_page = [("view-database", database.name), "view-instance"]
    table_page = [("view-table", (database.name, "notes")), *database_page]
    try:
        await datasette.ensure_permissions(actor, database_page)
        await datasette.ensure_permissions(actor, table_page)
    except Forbidden:
        return False
    return True


async def may_run_sql(datasette: Datasette, actor: dict | None, database: Database) -> bool:
    """Return whether an actor may run any SQL on a database."""
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        from datasette.resources import DatabaseResource

        resource = DatabaseResource(database.name)
        return await datasette.allowed(action="execute-sql", resource=resource, actor=actor)
    default = datasette.setting("default_allow_sql")
    return await datasette.permission_allowed(
        actor, "execute-sql", resource=database.name, default=default
    )


async def read_index(
    database: Database, read: Callable[[sqlite3.Connection], T], *, too_slow: str = UNREADABLE
) -> T:
    """Return what a function reads from the index within Datasette's time limit.

    :param too_slow: what to say when the time is up
    :raises PageError: if it can't be read in time, or not at all
    """

    def run(connection: sqlite3.Connection) -> T:
        require_current(connection)
        with time_limit(connection, database.ds.setting("sql_time_limit_ms")):
            return read(connection)

    try:
        return await clients.execute(database, run)
    except sqlite3.DatabaseError as error:
        raise PageError(
            too_slow if "interrupted" in str(error) else unreadable(error), 503
        ) from None


def unreadable(error: sqlite3.Error) -> str:
    """Return what to say about an index that SQLite can't read."""
    return str(error) if isinstance(error, OtherVersion) else UNREADABLE


async def sql_url(
    datasette: Datasette, request, database: Database, statement: Statement | None
) -> str | None:
    """Return where Datasette shows a statement; None for those who may not run SQL."""
    if not statement or not await may_run_sql(datasette, request.actor, database):
        return None
    parameters = {"sql": statement.sql, **statement.parameters}
    # What an address needn't escape makes a fifth of the statement.
    query = urlencode(parameters, safe="(),:='*/;@!?|")
    return f"{datasette.urls.database(database.name)}?{query}"


# --- settings


def judging_is_on(database: Database) -> bool:
    """Return whether results may be judged, which writes: where the setting ``judgments`` is on."""
    return bool(config(database.ds).get("judgments")) and database.is_mutable


def redacts(datasette: Datasette, *, by_default: bool = False) -> bool:
    """Return whether secrets are masked, by the setting ``redact``."""
    return bool(config(datasette).get("redact", by_default))


async def start(datasette: Datasette) -> None:
    """Attach the sidecar that the settings name, and begin to load its model if they ask for it.

    :raises StartupError: if that is no sidecar, or if secrets are to be masked, but can't be found
    """
    try:
        if redacts(datasette):
            redaction.require()
    except redaction.RedactionMissing as error:
        raise StartupError(f"The setting redact of {PLUGIN} is on. {error}") from None
    _attach_sidecar(datasette)
    database = await sidecar_database(datasette)
    setting = config(datasette).get("warm_up")
    if database is None or (setting is not None and not setting):
        return
    with suppress(sqlite3.Error):  # whoever searches finds out
        model = await database.execute_fn(
            lambda connection: index_database.get_meta(connection, "model")
        )
        if model and setting:
            registry.get_embedder(model).warm_up()
        elif model:
            # In a thread: to find out where a model is may take tenths of a second, too.
            threading.Thread(target=_warm_up_if_fast, args=[model], daemon=True).start()


def _warm_up_if_fast(model: str) -> None:
    embedder = registry.get_embedder(model)
    if embedder.loads_fast():
        embedder.warm_up()


def config(datasette: Datasette) -> dict[str, Any]:
    """Return the plugin's settings."""
    return datasette.plugin_config(PLUGIN) or {}


def prepare_connection(datasette: Datasette, connection: sqlite3.Connection) -> None:
    """Give a connection the SQL functions: all of them only if it is one to the index file."""
    functions.register(connection)
    if not index_database.is_sidecar_connection(connection):
        return
    index_database.wait_for_writers(connection)
    if not index_database.load_vector_extension(connection):
        index_database.hide_passage_index(connection)
    functions.register_embed(connection)
    functions.register_search(connection, redact=redacts(datasette))


def _attach_sidecar(datasette: Datasette) -> None:
    setting = config(datasette).get("sidecar")
    if not setting:
        return
    path = Path(setting).expanduser().resolve()
    if not path.exists() or any(
        database.path and Path(database.path).resolve() == path
        for database in datasette.databases.values()
    ):
        return
    if not index_database.is_sidecar(path):
        raise StartupError(
            f"The setting sidecar of {PLUGIN} names {path}, "
            "which is not an index made by datasette bear-index"
        )
    datasette.add_database(Database(datasette, path=str(path), is_mutable=True), name=path.stem)


# --- how fresh the index is


@dataclass(frozen=True)
class Freshness:
    """What each page says of the index."""

    indexed: str | None  # when the last run ended
    ago: str | None
    notes: int
    update_url: str | None  # where the button is sent to; None where nothing is ever written
    doing: str  # what the updater is doing; "" if it waits, or if there is none
    problems: Mapping[str, str]  # by source, "" for the index


# Those of ``bear-serve``; any other Datasette has none, and never writes.
updaters: WeakKeyDictionary[Datasette, Updater] = WeakKeyDictionary()


async def freshness(datasette: Datasette) -> Freshness | None:
    """Return how fresh the index is, for who may see it; None if there is none."""
    database = known_sidecar(datasette)
    if database is None:
        return None

    def read(connection: sqlite3.Connection) -> tuple[str | None, int]:
        [notes] = connection.execute("select coalesce(sum(notes), 0) from sources").fetchone()
        return index_database.get_meta(connection, "indexed"), int(notes)

    try:
        indexed, notes = await read_index(database, read)
    except PageError:
        return None
    updater = updaters.get(datasette)
    if updater is None:
        return Freshness(indexed, ago(indexed), notes, None, "", {})
    url, doing = datasette.urls.path(UPDATE_PATH), updater.activity.doing
    shown = redaction.masked if redacts(datasette) else str
    problems = {shown(name): shown(said) for name, said in updater.activity.problems.items()}
    return Freshness(indexed, ago(indexed), notes, url, doing, problems)


# --- requests and responses


class PageError(Exception):
    """What a page says instead of what was asked for."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def view(error_page: Respond | None = None) -> Callable[[Respond], Respond]:
    """Make a view of the notes out of ``respond(datasette, request, database, is_json)``.

    It opens the index for those who may see it, and ends with its client. A PageError or
    InvalidParameter becomes JSON, or the response of ``error_page(datasette, request,
    {"error": message, "status": status}, status)``; without it, all is JSON.
    """

    def decorate(respond: Respond) -> Respond:
        # Datasette reads the names of these parameters.
        async def handle(datasette: Datasette, request) -> Response:
            is_json = error_page is None or request.url_vars.get("format") == "json"

            async def answer() -> Response:
                database = await sidecar_database(datasette)
                if database is None:
                    raise PageError(NO_SIDECAR, 404)
                if not await may_search(datasette, request.actor, database):
                    if not is_json:
                        raise Forbidden(FORBIDDEN)
                    raise PageError("Permission denied", 403)
                return await respond(datasette, request, database, is_json)

            if clients.are_too_many(datasette):  # a page would wait like the others
                return busy(datasette, as_json=is_json)
            try:
                if request.method == "POST":  # what it writes is short, and its body unread
                    return await answer()
                return await clients.while_connected(request.receive, answer)
            except PageError as error:
                message, status = str(error), error.status
            except InvalidParameter as error:
                message, status = str(error), 400
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                # An index that isn't from here can have values of any type. The log gets neither
                # the error's words nor any variable's: they may be those of a note.
                print(*traceback.format_tb(error.__traceback__), file=sys.stderr, end="")
                print(type(error).__name__, file=sys.stderr)
                message, status = UNREADABLE, 503
            if error_page is None or is_json:
                return json_error(datasette, message, status)
            context = {"error": message, "status": status}
            return await error_page(datasette, request, context, status)

        return handle

    return decorate


def json_response(datasette: Datasette, body: dict[str, Any], status: int = 200) -> Response:
    """Return JSON, which other sites may read where Datasette allows it."""
    headers = {"x-content-type-options": "nosniff"}  # what notes say is never taken for a page
    if datasette.cors:
        add_cors_headers(headers)
    return Response.json(body, status=status, headers=headers)


STATIC = Path(__file__).parents[1] / "static"
# The scripts of the search page come as one: they compress to 8 instead of 10 kB.
STATIC_FILES = {
    "bear.css": ("bear.css",),
    "datasette_pages.css": ("datasette_pages.css",),
    "bear_note.js": ("bear_note.js",),
    "bear_fresh.js": ("bear_fresh.js",),
    "bear.js": (
        "bear_search.js", "bear_suggestions.js", "bear_timeline.js", "bear_note.js",
        "bear_preview.js",
    ),
}  # fmt: skip


@cache
def _static_file(name: str) -> tuple[str, str]:
    """Return a style sheet or script, without comments and indentation, and its fingerprint."""
    text = "".join((STATIC / part).read_text("utf-8") for part in STATIC_FILES[name])
    text = re.sub(r"/\*[^*]*\*/|^\s*//.*$|^\s+", "", text, flags=re.MULTILINE)
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]


def static_url(datasette: Datasette, name: str) -> str:
    """Return the address of a static file, which is another one when the file is."""
    stem, _, kind = name.rpartition(".")
    return datasette.urls.path(f"{STATIC_PATH}/{stem}.{_static_file(name)[1]}.{kind}")


async def static_file(datasette: Datasette, request) -> Response:
    """Respond with a static file, which browsers may keep."""
    name = f"{request.url_vars['stem']}.{request.url_vars['kind']}"
    if name not in STATIC_FILES:
        return Response.text("No such file", 404)
    text, fingerprint = _static_file(name)
    headers = {"x-content-type-options": "nosniff"}
    if request.url_vars["fingerprint"] == fingerprint:
        headers["cache-control"] = "public, max-age=31536000, immutable"
    content_type = "text/css" if name.endswith("css") else "text/javascript"
    return Response(text, headers=headers, content_type=f"{content_type}; charset=utf-8")


async def html_response(
    template: str, datasette: Datasette, request, context: dict[str, Any], status: int = 200
) -> Response:
    """Return a page; programs find the same as JSON by a header that Datasette makes."""
    context["search_url"] = datasette.urls.path(SEARCH_PATH)
    context["fresh"] = await freshness(datasette)
    context["bear_static"] = partial(static_url, datasette)
    if "json_url" in context:
        context["alternate_url_json"] = datasette.absolute_url(request, context["json_url"])
    html = await datasette.render_template(template, context, request=request)
    return Response.html(html, status=status)


# Sent by a script for a part of a page, which has the page's address: going back must never show
# it instead.
PART_HEADERS = ("Bear-Search-First", "Bear-Search-Preview")


def part_response(
    template: str, datasette: Datasette, request, context: dict[str, Any]
) -> Response:
    """Return a part of a page.

    Datasette's templates without coroutines render in a third of the time.
    """
    has_method = hasattr(datasette, "get_jinja_environment")  # Datasette 1.0
    environment = datasette.get_jinja_environment(request) if has_method else datasette.jinja_env
    if environment not in _quick_environments:
        # Compiled code of the one can't serve the other.
        _quick_environments[environment] = environment.overlay(
            enable_async=False, bytecode_cache=None
        )
    html = _quick_environments[environment].get_template(template).render(context)
    headers = {"cache-control": "no-store", "vary": ", ".join(PART_HEADERS)}
    return Response.html(html, headers=headers)


_quick_environments: WeakKeyDictionary[Environment, Environment] = WeakKeyDictionary()


def json_error(datasette: Datasette, message: str, status: int) -> Response:
    """Return an error in the shape of Datasette 1.0."""
    body = {"ok": False, "error": message, "errors": [message], "status": status}
    return json_response(datasette, body, status)


def busy(datasette: Datasette, *, as_json: bool = True) -> Response:
    response = json_error(datasette, BUSY, 503) if as_json else Response.text(BUSY, 503)
    response.headers["retry-after"] = clients.RETRY_AFTER_SECONDS
    return response


def is_cross_origin(request) -> bool:
    """Return whether another site's page sent a form, as far as its browser says."""
    # Datasette 1.0 refuses such requests itself. 0.65 does so only if the browser has cookies for
    # it, and where nobody logs in it may have none.
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def ago(timestamp: str | None, now: datetime | None = None) -> str | None:
    """Return how long ago a time is: in minutes, hours or days; of others, the day."""
    try:
        then = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00"))
        minutes = ((now or datetime.now()).astimezone() - then).total_seconds() / 60
    except (ValueError, TypeError, OverflowError):
        return None
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{int(minutes)} min ago"
    if minutes < 24 * 60:
        return f"{counted(int(minutes / 60), 'hour')} ago"
    return age(timestamp, now) or local_day(timestamp)


def age(timestamp: str | None, now: datetime | None = None) -> str | None:
    """Return how many days ago a time of the last week is, in days of the local calendar."""
    try:
        then = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None  # as of a note without a time
    days = ((now or datetime.now()).date() - then.date()).days
    if days in (0, 1):
        return ("today", "yesterday")[days]
    return f"{days} days ago" if 1 < days < 7 else None


# --- hosts

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", re.IGNORECASE | re.ASCII)


def host_name(host: str) -> str:
    """Return the name in ``name:port``, ``name`` or ``[::1]:port``; "" if there is none."""
    match = _HOST.fullmatch(host)
    return match[1].lower().strip("[]").rstrip(".") if match else ""


def origin_name(origin: str) -> str:
    """Return the name in ``https://name:port``; "" if there is none, as in ``null``."""
    return host_name(origin.partition("://")[2])
