"""Our static files, under addresses that change with their content."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from datasette import Request, Response
from datasette.app import Datasette

from ..api.openapi import STATIC_PATH

STATIC_FOLDER = Path(__file__).parents[2] / "static"
# Style sheets and scripts are cut by page, but served as one file, which browsers keep for a year.
# Compressed, it is smaller, too (the search page's scripts: 9 kB instead of 11).
STATIC_FILES = {
    "bear.css": (
        "bear_common.css", "bear_results.css", "bear_search.css", "bear_start.css", "bear_note.css",
    ),
    "datasette_pages.css": ("datasette_pages.css",),
    "bear_note.js": ("bear_reading.js", "bear_note.js", "bear_fresh.js"),
    "bear.js": (
        "bear_search.js", "bear_suggestions.js", "bear_timeline.js", "bear_reading.js",
        "bear_preview.js", "bear_fresh.js",
    ),
    "bear.webmanifest": ("bear.webmanifest",),
    "bear_icon.png": ("bear_icon.png",),
}  # fmt: skip
CONTENT_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    # Its addresses are relative, so they hold below any base_url.
    "webmanifest": "application/manifest+json",
}


@cache
def _static_file(name: str) -> tuple[bytes, str]:
    """Return a static file, without comments and indentation if it is text, and its fingerprint."""
    content = b"".join((STATIC_FOLDER / part).read_bytes() for part in STATIC_FILES[name])
    if not name.endswith(".png"):
        comments = rb"/\*[^*]*\*/|^\s*//.*$|(?<=[;{}]) // .*$"
        content = re.sub(comments + rb"|^\s+", b"", content, flags=re.MULTILINE)
    return content, hashlib.sha256(content).hexdigest()[:12]


def static_url(datasette: Datasette, name: str) -> str:
    """Return the URL of a static file, which changes when the file does."""
    stem, _, kind = name.rpartition(".")
    return datasette.urls.path(f"{STATIC_PATH}/{stem}.{_static_file(name)[1]}.{kind}")


async def static_file(datasette: Datasette, request: Request) -> Response:
    """Respond with a static file, which browsers may cache."""
    name = f"{request.url_vars['stem']}.{request.url_vars['kind']}"
    if name not in STATIC_FILES:
        return Response.text("No such file", 404)
    content, fingerprint = _static_file(name)
    headers = {"x-content-type-options": "nosniff"}
    if request.url_vars["fingerprint"] == fingerprint:
        headers["cache-control"] = "public, max-age=31536000, immutable"
    return Response(content, headers=headers, content_type=CONTENT_TYPES[request.url_vars["kind"]])
