"""TextBundles (textbundle.org): a folder with a text, what an app knows of it, and attachments, which aren't opened here.

A TextPack is one as a zip archive, and a backup of Bear's a zip archive of many.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import SourceError, archives, decoding, exported_json
from .archives import Archive, Folder
from .files import LARGEST_FILE, File, Unreadable

BACKUP = ".bear2bk"
BUNDLE = ".textbundle"
PACK = ".textpack"

# In a folder that ends so, or at the top. Below it, in assets/, a text is an attachment.
_TEXT = re.compile(r"(?P<folder>|(?:.*/)?[^/]*\.textbundle/)text\.[a-z]+", re.IGNORECASE)
_INFO = "info.json"
_ASSETS = "assets/"


@dataclass(frozen=True)
class Bundle:
    """One TextBundle, as long as the archive that it is in is open."""

    archive: Archive
    folder: str  # in the archive: "" or "….textbundle/"
    text_key: str
    place: str  # where it is below the location that is read
    name: str  # what it is called, without suffix

    @property
    def modified(self) -> float:
        return self.archive.files[self.text_key].modified

    def info(self) -> Any:
        """What info.json says, if it is there. Raises Unreadable."""
        key = self.folder + _INFO
        if key not in self.archive.files:
            return None
        return exported_json.parsed(self.archive.read(key))

    def text(self) -> str:
        """Raises Unreadable."""
        return _decoded(self.archive.read(self.text_key, largest=LARGEST_FILE))

    def head(self, size: int) -> str:
        """The first lines of the text, at most so many bytes. Raises Unreadable."""
        data = self.archive.head(self.text_key, size)
        if len(data) == size:  # not half a character
            data = data[: data.rfind(b"\n")]
        return _decoded(data)


class Bundles:
    """All TextBundles in a bundle, pack or backup, or in a folder of these; they can be gone through again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped: list[str] = []

    def __iter__(self) -> Iterator[Bundle]:
        """Raises SourceError."""
        lines: list[str] = []
        with archives.opened(self.path) as archive:
            lines += archive.skipped
            yield from _bundles(archive, "", self.path.name)
            for file in _inner(archive, lines):
                try:
                    with _opened(archive, file) as inner:
                        lines += [f"{file.key}/{line}" for line in inner.skipped]
                        yield from _bundles(inner, f"{file.key}/", file.key)
                except SourceError as reason:
                    lines.append(str(reason))
                except Unreadable as reason:
                    lines.append(f"{file.key}: {reason}")
        # The same the next time.
        self.skipped += [line for line in lines if line not in self.skipped]

    def has_database(self) -> bool:
        """Whether there is a database instead."""
        with archives.opened(self.path) as archive:
            return any(key.endswith("database.sqlite") for key in archive.files)


def _bundles(archive: Archive, inside: str, container: str) -> Iterator[Bundle]:
    for key in archive.files:
        match = _TEXT.fullmatch(key)
        if match is None:
            continue
        folder = match["folder"]
        if folder or _INFO in archive.files:
            name = os.path.splitext(os.path.basename(folder.rstrip("/") or container))[0]
            place = (inside + folder).rstrip("/") or container
            yield Bundle(archive, folder, key, place, name)


def _inner(archive: Archive, lines: list[str]) -> list[File]:
    """The archives in an archive or folder that hold TextBundles.

    Several backups in a folder are the same library at several times: what was deleted or encrypted since the older ones
    must not come back.
    """
    if _INFO in archive.files:  # this is a bundle; archives in it are attachments
        return []
    own = [
        file
        for key, file in archive.files.items()
        if f"{BUNDLE}/" not in key.lower() and not key.startswith(_ASSETS)
    ]
    suffixes = (PACK,) if isinstance(archive, Folder) else (PACK, BACKUP, ".zip")
    found = [file for file in own if file.suffix in suffixes]
    if isinstance(archive, Folder):
        backups = sorted(
            (file for file in own if file.suffix == BACKUP), key=lambda file: file.modified
        )
        for older in backups[:-1]:
            lines.append(
                f"{older.key}: older than {backups[-1].key}; only the newest backup is read"
            )
        found += backups[-1:]
    return found


def _opened(archive: Archive, file: File) -> AbstractContextManager[Archive]:
    if isinstance(archive, Folder):
        return archives.opened(Path(file.path))
    return archives.zipped(io.BytesIO(archive.read(file.key)), file.key)


def _decoded(data: bytes) -> str:
    try:
        return decoding.decoded(data)
    except decoding.NotText:
        raise Unreadable("not text, whatever its name says") from None
