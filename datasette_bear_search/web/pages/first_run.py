"""``bear-serve``: the page that offers notes to index, and the button *Update now*."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database

from ...embeddings import files
from ...embeddings import registry as models
from ...embeddings.names import CHOICES, Choice, split_name
from ...index import selection
from ...index.file import metadata
from ...index.file.database import default_path
from ...notes import ForeseenError
from ...service import Service
from ...sources import registry
from ..api.openapi import SEARCH_PATH, UPDATE_PATH
from ..requests import databases, errors, freshness, responses, settings, views
from ..requests.errors import PageError

FIRST_RUN_TEMPLATE = "bear_first_run.html"

UPDATES_OFF = "This Datasette never writes to the index. To update it, run: datasette bear-index"
NOT_FOUND = "You can only choose notes that were found on this computer."
NOT_OFFERED = "You can only choose a model that is offered here."


@dataclass(frozen=True)
class ModelOffer:
    choice: Choice
    is_here: bool
    missing: str | None  # the command that installs what it needs
    is_present: bool  # used if nothing is chosen


async def first_run(request: Request, database: Database) -> Response | None:
    """Respond with notes to index, or the progress of indexing; None once there are notes."""
    updater = freshness.updaters.get(database.ds)
    if updater is None or updater.has_notes:
        return None
    sql = "select exists (select 1 from notes), exists (select 1 from sources)"
    updater.has_notes, has_sources = await errors.read_index(
        database, lambda connection: connection.execute(sql).fetchone()
    )
    activity = updater.activity
    if updater.has_notes or (has_sources and not activity.doing and not activity.problems):
        return None
    offers = [] if activity.doing else await asyncio.to_thread(list, selection.offers())
    service = service_of(database)
    context = {
        "offers": offers,
        "models": await asyncio.to_thread(_models, await _present_model(database)),
        "service": service,
        "keeps_running": service.is_installed,
    }
    return await responses.html_response(FIRST_RUN_TEMPLATE, database.ds, request, context)


async def _present_model(database: Database) -> str:
    stored = await errors.read_index(database, lambda index: metadata.get_meta(index, "model"))
    return split_name(stored or models.default_model())[0]


def _models(present: str) -> list[ModelOffer]:
    return [
        ModelOffer(each, is_here, models.missing_package(each.model), each.model == present)
        for each in CHOICES
        if (is_here := files.model_folder(each.model) is not None) or each.megabytes
    ]


@views.view(methods=("GET", "HEAD", "POST"))
async def update_page(request: Request, database: Database) -> Response:
    """Update the index, and add the sources that are ticked. GET only shows how fresh it is."""
    datasette = database.ds
    updater = freshness.updaters.get(datasette)
    if request.method != "POST":
        context = {"fresh": await freshness.freshness(datasette)}
        return responses.part_response("bear_update.html", datasette, request, context)
    if updater is None or not settings.may_write(database):
        raise PageError(UPDATES_OFF, 404)
    form = await views.form(request)
    if form.get("keep"):
        try:
            await asyncio.to_thread(service_of(database).install)
        except ForeseenError as error:
            raise PageError(str(error), 500) from None
        return Response.redirect(page_before(datasette, request), status=303)
    chosen = form.getlist("location")
    # A form must not be able to make this server read any other folder.
    found = {config.location for config in await asyncio.to_thread(registry.installed)}
    if not found.issuperset(chosen):
        raise PageError(NOT_FOUND, 400)
    model = form.get("model")
    if model is not None:
        if model not in [each.model for each in CHOICES]:  # nor load any other model
            raise PageError(NOT_OFFERED, 400)
        if model == await _present_model(database):
            model = None
    await asyncio.to_thread(updater.update, chosen, *([model] if model else ()))
    return Response.redirect(page_before(datasette, request), status=303)


def service_of(database: Database) -> Service:
    path = Path(str(database.path))
    is_default = path.absolute() == default_path().absolute()
    return Service([] if is_default else [f"--sidecar={path.absolute()}"])


def page_before(datasette: Datasette, request: Request) -> str:
    """Return the URL of the page whose button was pressed if it is ours, else the search page's."""
    before = urlsplit(request.headers.get("referer", ""))
    search = databases.url(datasette, SEARCH_PATH)
    if not before.path.startswith(search) or before.path == databases.url(datasette, UPDATE_PATH):
        return search
    return f"{before.path}?{before.query}" if before.query else before.path
