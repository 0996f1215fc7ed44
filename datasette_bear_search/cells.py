"""How cells of the sidecar look in Datasette: links to our pages and to Bear, and not the whole of a long note.

For people only: JSON and CSV have the values as they stand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from .cards import open_link
from .serving import NOTE_PATH, SEARCH_PATH, known_sidecar

if TYPE_CHECKING:
    from datasette.app import Datasette

# Characters of a long text: some lines of a cell. Datasette itself shows 2,048 in a table, and on a row's page all.
BEGINNING = 250


def css_urls(datasette: Datasette, database: str | None) -> list[str]:
    """The style sheet for pages of the sidecar."""
    sidecar = known_sidecar(datasette)
    if sidecar is None or sidecar.name != database:
        return []
    return [datasette.urls.static_plugins("datasette_bear_search", "datasette_pages.css")]


def render(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Markup | None:
    """The HTML of a cell; None leaves it to Datasette. Called for each cell of each database.

    :param table: None for the result of a query, in which ``note_id`` tells that a row is about a note
    """
    make = _CELLS.get((table, column))
    if make is None or not value:
        return None
    sidecar = known_sidecar(datasette)
    if sidecar is None or sidecar.name != database:
        return None
    return make(datasette, database, value, row)


def _title(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _note_link(datasette, _column(row, "note_id"), value)


def _title_of_note(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _note_link(datasette, _column(row, "id"), value)


def _note_link(datasette: Datasette, note: Any, text: Any) -> Markup | None:
    if not isinstance(note, int):
        return None
    path = datasette.urls.path(f"{NOTE_PATH}/{note}")
    return Markup('<a href="{}" dir="auto">{}</a>').format(path, text)


def _note_row(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, int):
        return None
    path = datasette.urls.row(database, "notes", str(value))
    return Markup('<a href="{}">{}</a>').format(path, value)


def _body(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    beginning = _beginning(datasette, database, value, row)
    rest = _note_link(datasette, _column(row, "id"), f"all {len(value):,} characters")
    return Markup("{} {}").format(beginning, rest) if rest and len(value) > BEGINNING else beginning


def _beginning(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    if not isinstance(value, str):
        return None
    # On one line: Datasette's cells show each line break.
    text = " ".join(value[:BEGINNING].split())
    more = "…" if len(value) > BEGINNING else ""
    return Markup('<span dir="auto">{}{}</span>').format(text, more)


def _column(row: Any, name: str) -> Any:
    # A sqlite3.Row, or what Datasette puts in its place, which don't say the same of what they lack.
    return row[name] if name in row.keys() else None  # noqa: SIM118


def _tags(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    try:
        tags = json.loads(value)
    except (TypeError, ValueError):
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return None
    return Markup(" ").join(_tag_link(datasette, tag) for tag in tags) or Markup("&nbsp;")


def _tag(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    return _tag_link(datasette, value) if isinstance(value, str) else None


def _tag_link(datasette: Datasette, tag: str) -> Markup:
    path = datasette.urls.path(f"{SEARCH_PATH}?{urlencode({'tag': tag})}")
    return Markup('<a href="{}" dir="auto">#{}</a>').format(path, tag)


def _url(datasette: Datasette, database: str, value: Any, row: Any) -> Markup | None:
    # Datasette itself makes links of web addresses.
    if not isinstance(value, str) or value.startswith(("http://", "https://")):
        return None
    link = open_link(value)
    return Markup('<a href="{}">{}</a>').format(link.url, link.label) if link else None


_CELLS = {
    ("notes", "title"): _title_of_note,
    ("notes", "body"): _body,
    ("notes", "attachments"): _beginning,
    ("notes", "tags"): _tags,
    ("notes", "url"): _url,
    ("tags", "name"): _tag,
    (None, "title"): _title,
    (None, "note_id"): _note_row,
    (None, "tags"): _tags,
    (None, "url"): _url,
}
