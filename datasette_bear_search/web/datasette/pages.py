"""Additions to Datasette's own pages: routes, cells, menus, stored queries, table metadata.

Datasette 1.0 has hooks and methods that 0.65 lacks, and vice versa.
"""

from __future__ import annotations

from typing import Any

from datasette.app import Datasette

from ..api import endpoints, judgments
from ..api.openapi import ROUTE, STATIC_PATH
from ..note_html import attachments
from ..pages import first_run, note, search, similar
from ..requests import databases, startup, static_files
from .metadata import store_metadata


def routes() -> list[tuple[str, Any]]:
    # Each index has these routes; those of the first one also work without its name.
    ours = [
        (r"", search.search_page),
        (r"\.json", endpoints.search_json),
        (r"\.csv", endpoints.search_csv),
        (r"/judge", judgments.judge),
        (r"/suggest\.json", endpoints.suggest),
        (r"/status\.json", endpoints.status),
        (r"/openapi\.json", endpoints.description),
        (r"/update", first_run.update_page),
        (r"/save", search.save),
        (r"/file/(?P<id>[^/]+)", attachments.file),
        (r"/(?P<page>note|similar)(\.(?P<format>json|md))?", note.note_by_name),
        (r"/similar/(?P<id>[^/]+?)(\.(?P<format>json))?", similar.similar_notes),
        (r"/note/(?P<id>[^/]+?)(\.(?P<format>json|md))?", note.note),
        (r"/.+?(\.(?P<format>json))?", endpoints.no_such_page),
    ]
    file = r"(?P<stem>[a-z_]+)\.(?P<fingerprint>[0-9a-f]+)\.(?P<kind>css|js|png|webmanifest)"
    return [
        (rf"^{STATIC_PATH}/{file}$", static_files.static_file),
        *((rf"^{ROUTE}{path}$", answer) for path, answer in ours),
    ]


async def start(datasette: Datasette) -> None:
    await startup.start(datasette)
    for database in await databases.sidecar_databases(datasette):
        await store_metadata(datasette, database)
