"""Requests → functions of pages, and their errors → responses."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs

from datasette import Forbidden, Request, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import MultiParams

from ...index.file import database as index_file
from ...query.filter_values import InvalidParameter
from ...sqlite import sqlite3
from .. import turns
from ..api.openapi import check_parameters
from ..hosts import is_cross_origin
from .databases import searcher_of_request, sidecar_database, sidecar_of_request
from .errors import CROSS_SITE, FORBIDDEN, LOCKED, NO_SIDECAR, UNREADABLE, PageError, Respond
from .permissions import may_search, restrict
from .responses import busy, error_page, json_error, options_response

T = TypeVar("T")


def view(
    error_page: Respond = error_page,
    *,
    methods: Sequence[str] = ("GET", "HEAD"),
    path: str | None = None,
) -> Callable[[Respond], Respond]:
    """Make a view of the notes out of ``respond(request, database)``.

    It serves actors who may search the index, accepts forms from our own pages only, and stops when
    the client disconnects. A PageError or InvalidParameter becomes JSON where JSON was requested,
    or else the response of ``error_page(datasette, request, {"error": message}, status)``.

    :param path: of the JSON in the API's description; JSON requests may have only its parameters
    """

    def decorate(respond: Respond) -> Respond:
        async def answer(datasette: Datasette, request: Request, is_json: bool) -> Response:
            database = await sidecar_database(datasette, request)
            sidecar_of_request.set(database)
            if database is None:
                raise PageError(NO_SIDECAR, 404)
            try:  # before Datasette's own reads, which would wait longer
                await turns.wait_for_writer(database)
            except sqlite3.OperationalError:
                raise PageError(LOCKED, 503) from None
            if not await may_search(datasette, request.actor, database):
                if not is_json:
                    raise Forbidden(FORBIDDEN)
                raise PageError("Permission denied", 403)
            searcher_of_request.set((request.actor, database))
            await restrict(datasette, request.actor, database)
            if request.method not in methods:
                raise PageError("Method not allowed", 405)
            if request.method == "POST" and is_cross_origin(request.headers):
                raise PageError(CROSS_SITE, 403)
            if is_json and path:
                check_parameters(path, request.args)
            return await respond(request, database)

        async def answer_or_error(datasette: Datasette, request: Request) -> Response:
            form = request.url_vars.get("format", "json" if path else None)
            is_json = form == "json"
            if turns.are_too_many(datasette):
                return busy(datasette, as_json=is_json)
            to_answer = partial(answer, datasette, request, is_json)
            try:
                if request.method == "POST":  # writes are short, and the body is still unread
                    return await to_answer()
                return await turns.while_connected(request.receive, to_answer)
            except (PageError, InvalidParameter) as error:
                message, status = str(error), getattr(error, "status", 400)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                # An index from elsewhere can have values of any type. Log neither the message nor
                # any variables: they may quote a note.
                print(*traceback.format_tb(error.__traceback__), file=sys.stderr, end="")
                print(type(error).__name__, file=sys.stderr)
                message, status = UNREADABLE, 503
            if is_json:
                return json_error(datasette, message, status)
            return await error_page(datasette, request, {"error": message}, status)

        # Datasette passes arguments by the names of these parameters.
        async def handle(datasette: Datasette, request: Request) -> Response:
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


def parameters(request: Request) -> dict[str, list[str]]:
    return {name: request.args.getlist(name) for name in request.args}


def fields(encoded: str) -> MultiParams:
    """Parse a query string or an encoded form."""
    return MultiParams(parse_qs(encoded))


async def form(request: Request) -> MultiParams:
    return fields((await request.post_body()).decode(errors="replace"))


async def write_index(
    database: Database, write: Callable[[sqlite3.Connection], T], *, refused: str
) -> T:
    """Write to the index in one transaction, overwriting deleted text; return the result.

    :raises PageError: with the message ``refused`` and why, if the index can't be written
    """

    path = Path(str(database.path))

    def run() -> T:
        try:
            if not index_file.is_made(path):
                raise PageError(f"{refused} {UNREADABLE}", 503)
            with (
                index_file.open_for_writing(path) as connection,
                index_file.transaction(connection),
            ):
                return write(connection)
        except (index_file.SidecarError, sqlite3.DatabaseError) as error:
            raise PageError(f"{refused} {index_file.explained(error)}", 503) from None

    # Not on Datasette's own connection: its thread prints each error, and ends if that fails, as
    # into a log on a full disk, and then everybody who writes would wait forever.
    return await asyncio.to_thread(run)
