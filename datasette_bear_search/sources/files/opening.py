"""Open a place of files, whatever it is."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import IO

from ..base import SourceError, Unreadable
from .archive import LARGEST_FILE, OPEN_FLAGS, Archive, File, Folder, open_zip
from .states import explained, unreadable

# Where such files are, no JSON beside them is an export.
MARKDOWN = (".md", ".markdown")
# Files that are tried to recognize an export: some in it may be damaged.
MOST_TRIED = 10


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the archive or folder at ``path``. Raise SourceError."""
    if os.path.isdir(path):
        folder = Folder(path)
        folder.check_whole()
        yield folder
        return
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise SourceError(f"{path} is neither a file nor a folder.")
        with open(path, "rb") as stream, open_zip(stream, str(path)) as archive:
            yield archive
    except OSError as error:
        raise explained(path, error) from error


@contextmanager
def open_export(path: Path) -> Iterator[Archive]:
    """Open an archive or a folder, or any other file as a folder of one. Raise SourceError."""
    if os.path.isfile(path) and not is_zip(path):
        path = Path(os.path.realpath(path))
        folder = Folder(path.parent, excludes=lambda key: key != path.name)
        folder.check_whole()
        yield folder
    else:
        with open_archive(path) as archive:
            yield archive


@contextmanager
def open_inner(archive: Archive, key: str, largest: int = LARGEST_FILE) -> Iterator[Archive]:
    """Open an archive in a folder or, in memory, in another archive. Raise like ``read``."""
    if isinstance(archive, Folder):
        with open_archive(Path(archive.files[key].path)) as inner:
            yield inner
    else:
        with open_zip(io.BytesIO(archive.read(key, largest=largest)), key) as inner:
            yield inner


def open_below(root: Path, place: str) -> IO[bytes]:
    """Open a file below a folder or in an archive, but no link and nothing outside.

    :param place: its path, ``assets/roof.png`` or ``2024.bear2bk/Roof.textbundle/assets/roof.png``
    :raises Unreadable: if the file doesn't exist or can't be read
    :raises SourceError: if its archive can't be read
    """
    parts = place.split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or re.search(r"[\\\0]|^[a-zA-Z]:", place):
        raise Unreadable("no path below its folder")
    path = Path(os.path.realpath(root))
    while parts and path.is_dir():
        path /= parts.pop(0)
    try:
        # Notes aren't read through links, so a link in the path was made later; don't trust it.
        if os.path.realpath(path) != str(path):
            raise Unreadable("behind a link")
        stream = os.fdopen(os.open(path, OPEN_FLAGS), "rb")
    except (OSError, ValueError) as error:
        raise unreadable(error) if isinstance(error, OSError) else Unreadable("no path") from None
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise Unreadable("not a file")
    if not parts:
        return stream
    with stream:
        return io.BytesIO(_read_packed(stream, path.name, "/".join(parts)))


def _read_packed(stream: IO[bytes], name: str, place: str) -> bytes:
    with open_zip(stream, name) as archive:
        if place in archive.files:
            return archive.read(place)
        for key in accumulate(place.split("/"), "{}/{}".format):  # find an archive in this one
            if key in archive.files:
                inner = io.BytesIO(archive.read(key))
                return _read_packed(inner, key, place.removeprefix(f"{key}/"))
    raise Unreadable("not in its archive")


def first_files(location: str, is_wanted: Callable[[File], object]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the first wanted files, to recognize an export.

    Of a folder, no subfolder is listed. Raise SourceError.
    """
    path = Path(location).expanduser()
    if path.is_dir():
        inside = paths_at(location)
        if any(name.lower().endswith(MARKDOWN) for name in inside):
            inside = []  # a folder of notes, or Simplenote's, which has their texts beside "source"
        files = [File(name, name, "", 0, 0, None) for name in ("source/notes.json", *inside)]
        for file in [*filter(is_wanted, files)][:MOST_TRIED]:
            with suppress(OSError), open(path / file.key, "rb") as stream:
                yield file.key, stream.read(LARGEST_FILE)
        return
    with open_export(path) as archive:
        for file in [*filter(is_wanted, archive.files.values())][:MOST_TRIED]:
            with suppress(Unreadable):
                yield file.key, archive.read(file.key)


def is_zip(path: Path) -> bool:
    return os.path.isfile(path) and zipfile.is_zipfile(path)


def paths_at(location: str) -> list[str]:
    """Return a file's name, the paths in a zip file, or a folder's entries but a README.

    People put one beside an export.
    """
    path = Path(location).expanduser()
    if path.is_dir():  # without its subfolders, which may be large
        return [name for name in sorted(os.listdir(path)) if name[:7].lower() != "readme."]
    if not is_zip(path):
        return [path.name] if path.is_file() else []
    with open_archive(path) as archive:
        return list(archive.files)
