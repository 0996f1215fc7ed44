"""Responses: pages, parts of pages, JSON, errors."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from datasette import Request, Response
from datasette.app import Datasette
from datasette.utils import add_cors_headers
from jinja2 import Environment
from markupsafe import Markup

from .. import turns
from ..api.openapi import SEARCH_PATH
from .databases import url
from .errors import BUSY
from .freshness import freshness
from .static_files import static_url


def options_response(datasette: Datasette, methods: str) -> Response:
    headers = {"allow": f"{methods}, OPTIONS"}
    if datasette.cors:
        add_cors_headers(headers)
    return Response.text("ok", headers=headers)


def json_response(datasette: Datasette, body: Any, status: int = 200) -> Response:
    return for_programs(datasette, Response.json(body, status=status))


def for_programs(datasette: Datasette, response: Response) -> Response:
    """Return a response that other sites may read if Datasette's CORS is on."""
    response.headers["x-content-type-options"] = "nosniff"  # browsers mustn't take it for HTML
    if datasette.cors:
        add_cors_headers(response.headers)
    return response


async def html_response(
    template: str,
    datasette: Datasette,
    request: Request,
    context: dict[str, Any],
    status: int = 200,
    *,
    part: str = "",
) -> Response:
    """Return a page. Datasette adds a header with the URL of the same content as JSON.

    :param part: a template without coroutines; the page's template gets its HTML as ``part``
    """
    context["search_url"] = url(datasette, SEARCH_PATH)
    if "fresh" not in context:
        context["fresh"] = await freshness(datasette)
    context["bear_static"] = partial(static_url, datasette)
    if "json_url" in context:
        context["alternate_url_json"] = datasette.absolute_url(request, context["json_url"])
    if part:
        context["part"] = Markup(_render_quickly(part, datasette, request, context))
    html = await datasette.render_template(template, context, request=request)
    return Response.html(html, status=status)


error_page = partial(html_response, "bear_page.html")

# Request headers of scripts that fetch a part of a page. A part has the same URL as the page, and
# the browser's back button must never show the part instead.
PART_HEADERS = ("Bear-Search-First", "Bear-Search-Preview")


def part_response(
    template: str, datasette: Datasette, request: Request, context: dict[str, Any]
) -> Response:
    html = _render_quickly(template, datasette, request, context)
    headers = {"cache-control": "no-store", "vary": ", ".join(PART_HEADERS)}
    return Response.html(html, headers=headers)


def _render_quickly(
    template: str, datasette: Datasette, request: Request, context: dict[str, Any]
) -> str:
    # Without coroutines, Datasette's templates render in a third of the time.
    has_method = hasattr(datasette, "get_jinja_environment")  # Datasette 1.0
    environment = datasette.get_jinja_environment(request) if has_method else datasette.jinja_env
    if (quick := _quick_environments.get(environment)) is None:
        # The two environments can't share compiled templates.
        quick = environment.overlay(enable_async=False, bytecode_cache=None)
        _quick_environments[environment] = quick
    csrftoken = request.scope.get("csrftoken", lambda: "")
    return quick.get_template(template).render({"csrftoken": csrftoken, **context})


_quick_environments: WeakKeyDictionary[Environment, Environment] = WeakKeyDictionary()


def json_error(datasette: Datasette, message: str, status: int) -> Response:
    """Return an error in the format of Datasette 1.0."""
    body = {"ok": False, "error": message, "errors": [message], "status": status}
    return json_response(datasette, body, status)


def busy(datasette: Datasette, *, as_json: bool = True) -> Response:
    response = json_error(datasette, BUSY, 503) if as_json else Response.text(BUSY, 503)
    response.headers["retry-after"] = turns.RETRY_AFTER_SECONDS
    return response
