"""Shared by all pages: the index file in Datasette, permissions, settings, JSON, errors, hosts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlencode
from weakref import WeakKeyDictionary

from datasette import Forbidden, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import MultiParams, StartupError, add_cors_headers, tilde_decode
from jinja2 import Environment
from markupsafe import Markup

from ..embeddings import registry
from ..index import database as index_database
from ..index import rows, schema
from ..index.database import OtherVersion, require_current
from ..notes import counted, local_day
from ..query.filters import InvalidParameter
from ..search import functions, redaction
from ..search.sql import Statement
from ..sqlite import sqlite3, time_limit
from . import clients
from .openapi import SEARCH_PATH, STATIC_PATH, UPDATE_PATH, check_parameters

if TYPE_CHECKING:
    from datasette.permissions import PermissionSQL

    from ..index.background import Updater

T = TypeVar("T")
Respond = Callable[..., Awaitable[Response]]
Actor = dict[str, Any] | None

PLUGIN = "datasette-bear-search"
SEARCH = "bear-search"  # the action

NO_SIDECAR = (
    "No notes are served here. Make an index with: datasette bear-index. "
    "Then open it with: datasette bear-serve"
)
FORBIDDEN = "You do not have permission to search these notes"
CROSS_SITE = "This request came from another website, so it was refused."
BUSY = "Too many searches are waiting. Try again in a few seconds."
LOCKED = (
    "Another program keeps the index from being read, perhaps a datasette bear-index that was "
    "stopped in the middle of writing. Let it finish, or end it."
)
UNREADABLE = (
    "The index can't be read right now. If it stays so, run: datasette bear-index. "
    "If that doesn't fix it: datasette bear-index --rebuild"
)


# --- the index files

# Whether a database is a sidecar: cached, because every page needs it and it never changes.
_is_sidecar: WeakKeyDictionary[Database, bool] = WeakKeyDictionary()


# The current request's sidecar.
_sidecar: ContextVar[Database | None] = ContextVar("sidecar", default=None)
# The current actor, and a sidecar that it may search: a page's menus check this three more times.
_searcher: ContextVar[tuple[Actor, Database] | None] = ContextVar("searcher", default=None)


async def sidecar_databases(datasette: Datasette) -> list[Database]:
    for database in list(datasette.databases.values()):
        path = Path(database.path or "")
        is_half = index_database.is_half_committed(path)
        is_unknown = database.path and database not in _is_sidecar
        if not (is_half or is_unknown) or index_database.is_locked(path, wait=0):
            continue
        if is_half:
            with suppress(sqlite3.Error):  # the next read reports the error
                await asyncio.to_thread(index_database.undo_half_a_commit, path)
        if is_unknown:
            # Not on Datasette's connection, which can't be opened if the schema is damaged.
            with suppress(OSError, sqlite3.Error):  # unreadable now; try again next time
                found = await asyncio.to_thread(index_database.application_id, path)
                _is_sidecar[database] = found == schema.APPLICATION_ID
    return known_sidecars(datasette)


async def sidecar_database(datasette: Datasette, request=None) -> Database | None:
    """Return the sidecar that a request's path names, or the first one if it names none."""
    route = request and request.url_vars.get("database")
    route = route and tilde_decode(route)
    found = await sidecar_databases(datasette)
    return next((each for each in found if route in (None, each.route)), None)


def known_sidecars(datasette: Datasette) -> list[Database]:
    """Return the databases known to be sidecars. Runs no query, as this is called for each cell."""
    return [each for each in datasette.databases.values() if _is_sidecar.get(each)]


def known_sidecar(datasette: Datasette, name: str | None = None) -> Database | None:
    """Return the sidecar of this name; without a name, the current request's, or the first."""
    if name is None and (asked := _sidecar.get()):
        return asked
    return next((each for each in known_sidecars(datasette) if name in (None, each.name)), None)


def url(datasette: Datasette, path: str, sidecar: Database | None = None) -> str:
    """Return the URL of one of our pages, which names the sidecar unless it is the first one."""
    sidecar = sidecar or _sidecar.get()
    if sidecar is None or sidecar in known_sidecars(datasette)[:1]:
        # Not Datasette's own string class: making twenty of those absolute takes 2 ms.
        return str(datasette.urls.path(path))
    return f"{datasette.urls.database(sidecar.name)}{path}"


# --- permissions


async def may_search(datasette: Datasette, actor: Actor, database: Database) -> bool:
    """Return whether an actor may search the notes, and read them on our pages.

    This is a separate action; by default, it is allowed to everybody who may view the notes.

    :raises PageError: if Datasette can't read the index when it looks for the table
    """
    if _searcher.get() == (actor, database):
        return True
    try:
        allowed = await _is_allowed(datasette, SEARCH, actor, database.name)
        if allowed or (allowed is False and (whole := unrestricted(actor)) == actor):
            return allowed
        # Before Datasette 1.0, actions have no default. In 1.0, a token may be restricted to
        # viewing; it also allows searching if its owner may search.
        return await may_view(datasette, actor, database) and (
            allowed is None or await _is_allowed(datasette, SEARCH, whole, database.name)
        )
    except sqlite3.DatabaseError as error:
        raise PageError(unreadable(error), 503) from None


def unrestricted(actor: Actor) -> Actor:
    """Return the actor without the restrictions of its token."""
    return actor and {name: value for name, value in actor.items() if name != "_r"}


async def may_view(datasette: Datasette, actor: Actor, database: Database) -> bool:
    """Return whether an actor may see Datasette's pages of the database and the table ``notes``."""
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        pages = {"view-database": (database.name,), "view-table": (database.name, "notes")}
        return all([await _is_allowed(datasette, each, actor, *at) for each, at in pages.items()])
    # An open table may be in a closed database, so both must be open.
    database_page = [("view-database", database.name), "view-instance"]
    table_page = [("view-table", (database.name, "notes")), *database_page]
    try:
        await datasette.ensure_permissions(actor, database_page)
        await datasette.ensure_permissions(actor, table_page)
    except Forbidden:
        return False
    return True


async def _is_allowed(
    datasette: Datasette, action: str, actor: Actor, *resource: str, default: bool | None = None
) -> Any:
    if not hasattr(datasette, "allowed"):  # before Datasette 1.0
        return await datasette.permission_allowed(actor, action, resource[0], default)
    from datasette.resources import DatabaseResource, TableResource

    kind = TableResource if len(resource) > 1 else DatabaseResource
    return await datasette.allowed(action=action, resource=kind(*resource), actor=actor)


async def search_rules(datasette: Datasette, actor: Actor) -> PermissionSQL | None:
    """Return Datasette 1.0's default rules for searching: allowed to all who may view the notes."""
    from datasette.permissions import PermissionSQL

    actor, found = unrestricted(actor), await sidecar_databases(datasette)
    closed = [each.name for each in found if not await may_view(datasette, actor, each)]
    if len(closed) == len(found):
        return None
    # A rule for the whole instance, so that any denial overrides it. Of several indexes, those that
    # the actor may not view stay closed, unless the configuration has a rule for them.
    config = datasette.config or {}
    levels = {"": config, **(config.get("databases") or {})}
    said = {at for at, each in levels.items() if SEARCH in ((each or {}).get("permissions") or {})}
    rules = [(None, 1), *((name, 0) for name in closed if not said & {"", name})]
    sql = """
    select json_extract(value, '$[0]') as parent, null as child,
      json_extract(value, '$[1]') as allow, 'who may view the notes' as reason
    from json_each(:bear_search_rules)
    """
    return PermissionSQL(sql=sql, params={"bear_search_rules": json.dumps(rules)})


async def hidden_tags(datasette: Datasette, actor: Actor, database: Database) -> tuple[str, ...]:
    """Return the setting ``hidden_tags`` for an actor who may search but not view the notes."""
    tags = setting_list(datasette, "hidden_tags")
    return () if not tags or await may_view(datasette, actor, database) else tags


async def restrict(datasette: Datasette, actor: Actor, database: Database) -> None:
    """Let the current request read only what its actor may see.

    :raises PageError: if there is no such index yet and none can be made
    """
    clients.restricted.set(None)
    if tags := await hidden_tags(datasette, actor, database):
        from ..index.indexer import restricted_index

        try:
            path = await asyncio.to_thread(restricted_index, Path(str(database.path)), tags)
        except (index_database.SidecarError, sqlite3.Error) as error:
            print(error, file=sys.stderr)  # says what hides, and where
            raise PageError(UNREADABLE, 503) from None
        clients.restricted.set(path)


async def read_index(
    database: Database, read: Callable[[sqlite3.Connection], T], *, too_slow: str = UNREADABLE
) -> T:
    """Read from the index within Datasette's time limit; return the function's result.

    :param too_slow: the message if time runs out
    :raises PageError: if the index can't be read, or not in time
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
    return str(error) if isinstance(error, OtherVersion) else UNREADABLE


async def sql_url(
    datasette: Datasette, request, database: Database, statement: Statement | None
) -> str | None:
    """Return the URL where Datasette shows a statement; None if the actor may not run SQL."""
    may_run = partial(_is_allowed, datasette, "execute-sql", request.actor, database.name)
    if not statement or not await may_run(default=True):
        return None
    parameters = {"sql": statement.sql, **statement.parameters}
    # A fifth of the statement's characters needn't be escaped in a URL.
    query = urlencode(parameters, safe="(),:='*/;@!?|")
    return f"{datasette.urls.database(database.name)}?{query}"


# --- settings


def may_write(database: Database) -> bool:
    """Return whether the current request may write the index: only if it may see all notes."""
    return database.is_mutable and not clients.restricted.get()


def judging_is_on(database: Database) -> bool:
    return bool(config(database.ds).get("judgments")) and may_write(database)


def redacts(datasette: Datasette, *, by_default: bool = False) -> bool:
    return bool(config(datasette).get("redact", by_default))


async def start(datasette: Datasette) -> None:
    """Attach the sidecar named in the settings, and start to load its model if they say so.

    :raises StartupError: if it isn't a sidecar, or if secrets must be masked but can't be detected
    """
    try:
        if redacts(datasette):
            redaction.require()
    except redaction.RedactionMissing as error:
        raise StartupError(f"The setting redact of {PLUGIN} is on. {error}") from None
    _attach_sidecar(datasette)
    if setting_list(datasette, "hidden_tags"):
        for each in await sidecar_databases(datasette):
            each.cached_size = 0  # Datasette tells everybody, and it grows with hidden notes
    database = await sidecar_database(datasette)
    setting = config(datasette).get("warm_up")
    if database is None or (setting is not None and not setting):
        return
    with suppress(sqlite3.Error), index_database.as_damage():  # the first search reports the error
        model = await database.execute_fn(
            lambda connection: index_database.get_meta(connection, "model")
        )
        if model:
            embedder = registry.get_embedder(model)

            def load() -> None:
                if setting or embedder.loads_fast():
                    embedder.warm_up()

            # In a thread, because even looking for the model may take tenths of a second.
            threading.Thread(target=load, daemon=True).start()


def config(datasette: Datasette) -> dict[str, Any]:
    return datasette.plugin_config(PLUGIN) or {}


def setting_list(datasette: Datasette, name: str) -> tuple[str, ...]:
    value = config(datasette).get(name) or ()
    return (value,) if isinstance(value, str) else tuple(value)


@index_database.as_damage()
def prepare_connection(datasette: Datasette, connection: sqlite3.Connection) -> None:
    """Register the SQL functions on a connection; some of them only if it is to the index file."""
    functions.register(connection)
    if not index_database.is_sidecar_connection(connection):
        return
    index_database.wait_for_writers(connection)
    functions.register_embed(connection)
    if not index_database.load_vector_extension(connection):
        index_database.hide_passage_index(connection)
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
    indexed: str | None  # when the last run ended
    ago: str | None
    notes: int
    update_url: str | None  # the update button's URL; None where nothing is ever written
    doing: str  # what the updater is doing; "" if it waits, or if there is none
    problems: Mapping[str, str]  # by source, "" for the index


# Set by ``bear-serve``. Any other Datasette has no updater and never writes.
updaters: WeakKeyDictionary[Datasette, Updater] = WeakKeyDictionary()


async def freshness(datasette: Datasette) -> Freshness | None:
    """Return how fresh the index is; None if there is none or it can't be read."""
    database = known_sidecar(datasette)
    if database is None:
        return None

    def read(connection: sqlite3.Connection) -> tuple[str | None, int, dict[str, str]]:
        sources = rows.read_sources(connection)
        problems = {name: stored.schedule for name, stored in sources.items() if stored.error}
        notes = sum(stored.notes for stored in sources.values())
        return index_database.get_meta(connection, "indexed"), notes, problems

    try:
        indexed, notes, problems = await read_index(database, read)
    except PageError:
        return None
    updater = updaters.get(datasette)
    update_url, doing = None, ""
    if updater and may_write(database):
        update_url, doing = url(datasette, UPDATE_PATH), updater.activity.doing
        problems = {**updater.activity.problems, **problems}
    shown = redaction.masked if redacts(datasette) else str
    problems = {shown(name): shown(said) for name, said in problems.items()}
    return Freshness(indexed, ago(indexed), notes, update_url, doing, problems)


# --- requests and responses


class PageError(Exception):
    """An error with the message and the HTTP status of the response."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def view(
    error_page: Respond | None = None,
    *,
    methods: Sequence[str] = ("GET", "HEAD"),
    path: str | None = None,
) -> Callable[[Respond], Respond]:
    """Make a view of the notes out of ``respond(datasette, request, database, is_json)``.

    It serves actors who may search the index, accepts forms from our own pages only, and stops when
    the client disconnects. A PageError or InvalidParameter becomes JSON, or the response of
    ``error_page(datasette, request, {"error": message, "status": status}, status)``; without an
    error page, all responses are JSON.

    :param path: of the JSON in the API's description; JSON requests may have only its parameters
    """

    def decorate(respond: Respond) -> Respond:
        async def answer(datasette: Datasette, request, is_json: bool) -> Response:
            database = await sidecar_database(datasette, request)
            _sidecar.set(database)
            if database is None:
                raise PageError(NO_SIDECAR, 404)
            try:  # before Datasette's own reads, which would wait longer
                await clients.wait_for_writer(database)
            except sqlite3.OperationalError:
                raise PageError(LOCKED, 503) from None
            if not await may_search(datasette, request.actor, database):
                if not is_json:
                    raise Forbidden(FORBIDDEN)
                raise PageError("Permission denied", 403)
            _searcher.set((request.actor, database))
            await restrict(datasette, request.actor, database)
            if request.method not in methods:
                raise PageError("Method not allowed", 405)
            if request.method == "POST" and is_cross_origin(request.headers):
                raise PageError(CROSS_SITE, 403)
            if is_json and path:
                check_parameters(path, request.args)
            return await respond(datasette, request, database, is_json)

        async def answer_or_error(datasette: Datasette, request) -> Response:
            is_json = error_page is None or request.url_vars.get("format") == "json"
            if clients.are_too_many(datasette):
                return busy(datasette, as_json=is_json)
            to_answer = partial(answer, datasette, request, is_json)
            try:
                if request.method == "POST":  # writes are short, and the body is still unread
                    return await to_answer()
                return await clients.while_connected(request.receive, to_answer)
            except (PageError, InvalidParameter) as error:
                message, status = str(error), getattr(error, "status", 400)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                # An index from elsewhere can have values of any type. Log neither the message nor
                # any variables: they may quote a note.
                print(*traceback.format_tb(error.__traceback__), file=sys.stderr, end="")
                print(type(error).__name__, file=sys.stderr)
                message, status = UNREADABLE, 503
            if error_page is None or is_json:
                return json_error(datasette, message, status)
            context = {"error": message, "status": status}
            return await error_page(datasette, request, context, status)

        # Datasette passes arguments by the names of these parameters.
        async def handle(datasette: Datasette, request) -> Response:
            if request.method == "OPTIONS":
                return options_response(datasette, ", ".join(methods))
            response = await answer_or_error(datasette, request)
            response.headers.setdefault("cache-control", "private, no-store")
            if response.status == 405:
                response.headers["allow"] = ", ".join(methods)
            if request.method == "HEAD":
                response.body = ""
            return response

        return handle

    return decorate


def fields(encoded: str) -> MultiParams:
    """Parse a query string or an encoded form."""
    return MultiParams(parse_qs(encoded))


async def form(request) -> MultiParams:
    return fields((await request.post_body()).decode(errors="replace"))


async def write_index(
    database: Database, write: Callable[[sqlite3.Connection], T], *, refused: str
) -> T:
    """Write to the index in one transaction, overwriting deleted text; return the result.

    :raises PageError: with the message ``refused``, if the index can't be written
    """

    def run(connection: sqlite3.Connection) -> T:
        connection.execute("pragma secure_delete = on")
        with connection:
            return write(connection)

    try:
        return await database.execute_write_fn(run)
    except sqlite3.DatabaseError:
        raise PageError(refused, 503) from None


def options_response(datasette: Datasette, methods: str) -> Response:
    headers = {"allow": f"{methods}, OPTIONS"}
    if datasette.cors:
        add_cors_headers(headers)
    return Response.text("ok", headers=headers)


def json_response(datasette: Datasette, body: Any, status: int = 200) -> Response:
    """Return JSON, which other sites may read if Datasette's CORS is on."""
    headers = {"x-content-type-options": "nosniff"}  # browsers must not take notes for HTML
    if datasette.cors:
        add_cors_headers(headers)
    return Response.json(body, status=status, headers=headers)


STATIC = Path(__file__).parents[1] / "static"
# The search page's scripts are served as one file: compressed, 8 kB instead of 10.
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
    """Return a style sheet or script without comments and indentation, and its fingerprint."""
    text = "".join((STATIC / part).read_text("utf-8") for part in STATIC_FILES[name])
    text = re.sub(r"/\*[^*]*\*/|^\s*//.*$|^\s+", "", text, flags=re.MULTILINE)
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]


def static_url(datasette: Datasette, name: str) -> str:
    """Return the URL of a static file, which changes when the file does."""
    stem, _, kind = name.rpartition(".")
    return datasette.urls.path(f"{STATIC_PATH}/{stem}.{_static_file(name)[1]}.{kind}")


async def static_file(datasette: Datasette, request) -> Response:
    """Respond with a static file, which browsers may cache."""
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
    template: str,
    datasette: Datasette,
    request,
    context: dict[str, Any],
    status: int = 200,
    *,
    part: str = "",
) -> Response:
    """Return a page. Datasette adds a header with the URL of the same content as JSON.

    :param part: a template without coroutines; the page's template gets its HTML as ``part``
    """
    context["search_url"] = url(datasette, SEARCH_PATH)
    context["fresh"] = await freshness(datasette)
    context["bear_static"] = partial(static_url, datasette)
    if "json_url" in context:
        context["alternate_url_json"] = datasette.absolute_url(request, context["json_url"])
    if part:
        context["part"] = Markup(_render_quickly(part, datasette, request, context))
    html = await datasette.render_template(template, context, request=request)
    return Response.html(html, status=status)


# Request headers of scripts that fetch a part of a page. A part has the same URL as the page, and
# the browser's back button must never show the part instead.
PART_HEADERS = ("Bear-Search-First", "Bear-Search-Preview")


def part_response(
    template: str, datasette: Datasette, request, context: dict[str, Any]
) -> Response:
    html = _render_quickly(template, datasette, request, context)
    headers = {"cache-control": "no-store", "vary": ", ".join(PART_HEADERS)}
    return Response.html(html, headers=headers)


def _render_quickly(template: str, datasette: Datasette, request, context: dict[str, Any]) -> str:
    # Without coroutines, Datasette's templates render in a third of the time.
    has_method = hasattr(datasette, "get_jinja_environment")  # Datasette 1.0
    environment = datasette.get_jinja_environment(request) if has_method else datasette.jinja_env
    if environment not in _quick_environments:
        # The two environments can't share compiled templates.
        _quick_environments[environment] = environment.overlay(
            enable_async=False, bytecode_cache=None
        )
    csrftoken = request.scope.get("csrftoken", lambda: "")
    return (
        _quick_environments[environment]
        .get_template(template)
        .render({"csrftoken": csrftoken, **context})
    )


_quick_environments: WeakKeyDictionary[Environment, Environment] = WeakKeyDictionary()


def json_error(datasette: Datasette, message: str, status: int) -> Response:
    """Return an error in the format of Datasette 1.0."""
    body = {"ok": False, "error": message, "errors": [message], "status": status}
    return json_response(datasette, body, status)


def busy(datasette: Datasette, *, as_json: bool = True) -> Response:
    response = json_error(datasette, BUSY, 503) if as_json else Response.text(BUSY, 503)
    response.headers["retry-after"] = clients.RETRY_AFTER_SECONDS
    return response


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


def ago(timestamp: str | None, now: datetime | None = None) -> str | None:
    """Return how long ago a time was, in minutes, hours or days; for older times, the date."""
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
    """Return how many local calendar days ago a time was; None if it isn't in the last week."""
    try:
        then = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None  # such as a note without a time
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
