"""The images and files of notes: links to them on our pages, and the only URL that sends them.

A file is requested by its id in the index. It must have a known suffix and be where its source
keeps such files. With the setting ``redact`` none is sent, because text in images can't be masked.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from posixpath import basename
from typing import IO, Any
from urllib.parse import quote

from datasette import Request, Response
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils.asgi import AsgiStream

from ...index.file import sources
from ...index.file.schema import FILES
from ...search.request import read_note_id
from ...sources.base import SourceConfig, SourceError, Unreadable
from ...sources.files.states import digest
from ...sources.formats.markdown_metadata import IMAGES, OTHER_FILES, suffix
from ...sources.registry import open_source
from ...sqlite import sqlite3
from ..api.openapi import SEARCH_PATH
from ..requests import databases, errors, settings, views
from ..requests.errors import PageError

FILE_PATH = f"{SEARCH_PATH}/file"

NO_SUCH_FILE = "This file is not in the index, or it was moved or deleted."
NOT_SENT = "Images and files aren't served here. To serve them, turn on the setting files."

CHUNK = 256 * 1024  # bytes in memory at a time

# Images that browsers can show.
PICTURES = {f".{kind}": kind for kind in "apng avif bmp gif jpeg png webp".split()}
PICTURES |= {".jpg": "jpeg", ".svg": "svg+xml"}
# Types that browsers open; other files are downloads. HTML and scripts are not among them.
TYPES = {
    **{end: f"image/{kind}" for end, kind in PICTURES.items()},
    **{".pdf": "application/pdf", ".m4a": "audio/mp4", ".mp3": "audio/mpeg", ".mp4": "video/mp4"},
    **{".m4v": "video/mp4", ".wav": "audio/wav", ".webm": "video/webm", ".ogg": "audio/ogg"},
}
SENT = IMAGES | OTHER_FILES

# An SVG may have scripts, so nothing in it may run or load anything. Chrome doesn't start its PDF
# viewer in a sandbox, and that viewer isolates a PDF's scripts itself.
_SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_POLICIES = {".pdf": "frame-ancestors 'none'"}
MINUTES = 10  # that browsers cache a file

# The end of the name that sources give to the text of a PDF's page.
_PAGE = re.compile(r", page (\d+)$")


@dataclass(frozen=True)
class FileLink:
    url: str
    is_picture: bool  # an image that browsers can show


class NoteFiles:
    """The files of a note, by the targets of links in its text and by their own names."""

    def __init__(self, datasette: Datasette, found: Iterable[tuple[int, str, str, str]]) -> None:
        self._links: dict[str, FileLink] = {}
        for file_id, target, place, stamp in found:
            end = suffix(place)
            if end in SENT:
                # An id may be reused, and a cached file must not be shown for another one.
                version = digest((place, stamp), 4)
                url = databases.url(datasette, f"{FILE_PATH}/{file_id}?v={version}")
                link = FileLink(url, end in PICTURES)
                self._links[target] = link
                self._links.setdefault(basename(place), link)

    def get(self, target: str) -> FileLink | None:
        """Return the file for a link's target: ``files/roof.png``, ``permit.pdf#page=2``."""
        path, _, place = target.partition("#")
        link = self._links.get(path) or self._links.get(basename(path))
        if link is None or not place or link.is_picture:
            return link
        return replace(link, url=f"{link.url}#{quote(place, safe='=')}")

    def url_of_text(self, name: str) -> str | None:
        """Return the URL of the file with a text, by the text's name: ``permit.pdf, page 2``."""
        link = self.get(_PAGE.sub(r"#page=\1", name))
        return link.url if link else None

    @property
    def picture(self) -> str | None:
        return next((link.url for link in self._links.values() if link.is_picture), None)


def are_sent(datasette: Datasette) -> bool:
    return bool(settings.config(datasette).get("files")) and not settings.redacts(datasette)


def note_files(
    datasette: Datasette, connection: sqlite3.Connection, note_ids: Sequence[int]
) -> dict[int, NoteFiles]:
    """Return the files of notes, by the notes' ids; empty if files are not served."""
    if not are_sent(datasette):
        return {}
    sql = f"""
    select note_id, id, target, place, stamp
    from {FILES}
    where note_id in (select value from json_each(?))
    order by id
    """
    found: dict[int, list[Any]] = {}
    for note_id, *file in connection.execute(sql, [json.dumps(note_ids)]):
        found.setdefault(note_id, []).append(file)
    return {note_id: NoteFiles(datasette, files) for note_id, files in found.items()}


# --- sending files


@views.view()
async def file(request: Request, database: Database) -> Response:
    if not are_sent(database.ds):
        raise PageError(NOT_SENT, 404)
    file_id = read_note_id(request.url_vars["id"])

    def read(connection: sqlite3.Connection) -> tuple[SourceConfig, str]:
        sql = f"""
        select notes.source, place
        from {FILES} as files
        join notes on notes.id = files.note_id
        where files.id = ? and not notes.encrypted
        """
        found = connection.execute(sql, [file_id]).fetchone()
        stored = sources.read_sources(connection).get(found[0]) if found else None
        if stored is None:
            raise PageError(NO_SUCH_FILE, 404)
        return stored.config, found[1]

    config, place = await errors.read_index(database, read)
    end = suffix(place)
    if end not in SENT:
        raise PageError(NO_SUCH_FILE, 404)
    try:
        stream, size = await asyncio.to_thread(_open, config, place)
    except (AttributeError, OSError, SourceError, Unreadable):  # a plugin's may lack open_linked()
        raise PageError(NO_SUCH_FILE, 404) from None
    disposition = "inline" if end in TYPES else "attachment"
    headers = {
        "content-length": str(size),
        "content-disposition": f"{disposition}; filename*=UTF-8''{quote(basename(place), safe='')}",
        "content-security-policy": _POLICIES.get(end, _SANDBOX),
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "cache-control": f"private, max-age={MINUTES * 60}",
    }

    async def send(writer: Any) -> None:  # in parts, so that the file is never whole in memory
        left = size  # even if the file grows meanwhile
        with stream:
            while left > 0 and (part := await asyncio.to_thread(stream.read, min(CHUNK, left))):
                left -= len(part)
                await writer.send({"type": "http.response.body", "body": part, "more_body": True})

    return AsgiStream(send, 200, headers, TYPES.get(end, "application/octet-stream"))


def _open(config: SourceConfig, place: str) -> tuple[IO[bytes], int]:
    source: Any = open_source(config)
    stream: IO[bytes] = source.open_linked(place)
    size = stream.seek(0, 2)
    stream.seek(0)
    return stream, size
