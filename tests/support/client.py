"""The pages and the JSON of a Datasette, as a client of it asks for them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from datasette.app import Datasette

from tests.support.datasettes import cookies

SEARCH = "/-/bear-search"


async def get(
    datasette: Datasette,
    url: str,
    status: int = 200,
    actor: str | dict | None = None,
    **options: Any,
) -> Any:
    """Return the response to a GET of a path or of our JSON's absolute URL, of this status."""
    _, _, path, query, _ = urlsplit(url)
    if actor:
        options["cookies"] = cookies(datasette, actor)
    response = await datasette.client.get(urlunsplit(("", "", path, query, "")), **options)
    assert response.status_code == status, (url, response.text)
    return response


async def page(datasette: Datasette, query: str = "", status: int = 200, **parameters: Any) -> str:
    """Return the search page of a query string, ``q=roof&sort=newest``, or of parameters."""
    return (await get(datasette, _url(SEARCH, query, parameters), status)).text


async def answer(
    datasette: Datasette,
    query: str = "",
    status: int = 200,
    *,
    actor: str | None = None,
    **parameters: Any,
) -> Any:
    """Return the JSON of a search, like :func:`page`."""
    url = _url(f"{SEARCH}.json", query, parameters)
    return (await get(datasette, url, status, actor=actor)).json()


async def titles(datasette: Datasette, query: str = "", **parameters: Any) -> list[str]:
    return [row["title"] for row in (await answer(datasette, query, **parameters))["rows"]]


def _url(path: str, query: str, parameters: dict[str, Any]) -> str:
    return f"{path}?{'&'.join(filter(None, (query, urlencode(parameters, doseq=True))))}"
