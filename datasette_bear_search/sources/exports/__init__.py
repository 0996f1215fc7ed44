"""The files in a zip archive, or in a folder, read one at a time.

Nothing is unpacked to disk, nothing outside is looked at, and no archive can unpack to more than fits into memory.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import os
import stat
import struct
import zipfile
import zlib
from calendar import timegm
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from .. import SourceError, Unreadable
from ..folders.files import MEGABYTE, File, listing
from ..text import storable

# What one file may unpack to. The busiest day of a Slack, or a book in Word, is a tenth of that.
LARGEST_FILE = 64 * MEGABYTE

# What one reading may unpack altogether, and how many files an archive may list. Zip bombs have more of either.
LARGEST_ARCHIVE = 8 * 1024 * MEGABYTE
MOST_FILES = 500_000

# What reading a file out of a damaged or hostile archive raises.
_ZIP_ERRORS = (
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)

_ENCRYPTED = 0x1
_UTF8_NAME = 0x800


class Archive(Protocol):
    """A zip archive, or a folder in place of one."""

    files: dict[str, File]  # by key
    skipped: list[str]  # what is there but not in ``files``, a line each, for people

    def read(self, key: str, *, largest: int = LARGEST_FILE) -> bytes:
        """A file's content. Raises Unreadable for this file, and SourceError if there is no point in going on."""
        ...

    def head(self, key: str, size: int) -> bytes:
        """The beginning of a file, at most so many bytes. Raises as ``read`` does."""
        ...


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The files of the archive or folder at ``path``. Raises SourceError."""
    if os.path.isdir(path):
        yield Folder(path)
        return
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise SourceError(f"{path} is neither a file nor a folder.")
        with open(path, "rb") as stream, zipped(stream, str(path)) as archive:
            yield archive
    except OSError as error:
        raise explained(path, error) from error


@contextmanager
def zipped(stream: IO[bytes], name: str) -> Iterator[Zip]:
    """The files of the archive in an open file. Raises SourceError."""
    try:
        zip_file = zipfile.ZipFile(stream)
    except _ZIP_ERRORS as error:
        raise SourceError(
            f"{name} is not a zip archive, or only a part of one. Export or download it again."
        ) from error
    with zip_file:
        if len(zip_file.filelist) > MOST_FILES:
            raise SourceError(f"{name} lists more than {MOST_FILES:,} files. It was not read.")
        yield Zip(zip_file, name)


def state(path: Path) -> str:
    """A token that changes whenever the archive, or anything in the folder, may have changed. Reads no file."""
    if os.path.isdir(path):
        try:
            known = sorted(file[:3] for file in Folder(path).files.values())
        except SourceError:
            return "none"
        return hashlib.blake2b(repr(known).encode(errors="replace"), digest_size=16).hexdigest()
    try:
        found = os.stat(path)
    except OSError:
        return "none"
    return f"{found.st_ino}/{found.st_mtime_ns}/{found.st_size}"


def is_zip(path: Path) -> bool:
    """Whether a zip archive is there, by its first bytes."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            return stream.read(4) in (b"PK\3\4", b"PK\5\6")
    except OSError:
        return False


def explained(path: Path | str, error: OSError) -> SourceError:
    """What to tell a person about a file or folder that the system won't give."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return SourceError(f"There is nothing at {path}. Give the PATH of an export.")
    if isinstance(error, PermissionError):
        return SourceError(
            f"You may not read {path}. Change its permissions or, on a Mac, turn on the app in which you"
            " run this in System Settings > Privacy & Security > Full Disk Access."
        )
    return SourceError(f"{path} could not be read: {error.strerror or error}. Try again.")


class _Everything(frozenset):
    """The suffixes of all files."""

    def __contains__(self, suffix: object) -> bool:
        return True


class Folder:
    """The files in a folder and below."""

    def __init__(self, root: Path) -> None:
        found = listing(str(root), _Everything())
        if found.closed:  # what is in there would seem to be gone
            raise SourceError(
                f"You may not read {root}/{found.closed[0]}. Change its permissions, or move it out of there."
            )
        self.files = found.files
        self.skipped = found.skipped

    def read(self, key: str, *, largest: int = LARGEST_FILE) -> bytes:
        return _at_most(largest, self.head(key, largest + 1))

    def head(self, key: str, size: int) -> bytes:
        try:
            with open(self.files[key].path, "rb") as stream:
                return stream.read(size)
        except FileNotFoundError:
            raise Unreadable("vanished while the folder was read") from None
        except OSError as error:
            raise Unreadable(f"can't be read ({error.strerror or error})", is_gone=False) from None


class Zip:
    """The files in an open zip archive."""

    def __init__(self, zip_file: zipfile.ZipFile, location: str) -> None:
        self.files: dict[str, File] = {}
        self.skipped: list[str] = []
        self._zip_file = zip_file
        self._location = location
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._unpacked = 0
        for entry in zip_file.filelist:
            self._add(_path(entry), entry)

    def read(self, key: str, *, largest: int = LARGEST_FILE) -> bytes:
        if self.files[key].size > largest:
            raise _too_large(largest)
        return _at_most(largest, self.head(key, largest + 1))

    def head(self, key: str, size: int) -> bytes:
        entry = self._entries[key]
        if entry.flag_bits & _ENCRYPTED:
            raise Unreadable("encrypted with a password")
        try:
            with self._zip_file.open(entry) as stream:
                content = stream.read(size)
        except _ZIP_ERRORS as error:
            raise Unreadable(f"damaged ({error or type(error).__name__})") from error
        self._unpacked += len(content)
        if self._unpacked > LARGEST_ARCHIVE:
            raise SourceError(
                f"{self._location} unpacks to more than {LARGEST_ARCHIVE // MEGABYTE:,} MB. It was not read."
            )
        return content

    def _add(self, path: str, entry: zipfile.ZipInfo) -> None:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if path.endswith("/") or kind not in (0, stat.S_IFREG):
            return
        if _leads_outside(path):
            self.skipped.append(f"{path}: leads out of the archive")
            return
        if _is_clutter(path):
            return
        self._entries[path] = entry
        stamp = f"{entry.CRC:08x}/{entry.file_size:x}"
        self.files[path] = File(path, path, stamp, entry.file_size, _modified(entry), None)


def _at_most(largest: int, content: bytes) -> bytes:
    if len(content) > largest:
        raise _too_large(largest)
    return content


def _too_large(largest: int) -> Unreadable:
    return Unreadable(f"larger than {largest / MEGABYTE:g} MB")


def _path(entry: zipfile.ZipInfo) -> str:
    """Where a file stands in an archive, as it was meant."""
    path = storable(entry.filename.replace("\\", "/"))
    if entry.flag_bits & _UTF8_NAME:
        return path
    # Python goes by the standard. macOS writes UTF-8 without saying so.
    try:
        return path.encode("cp437").decode("utf-8")
    except UnicodeError:
        return path


def _leads_outside(path: str) -> bool:
    parts = path.split("/")
    return ".." in parts or parts[0] == "" or parts[0].endswith(":")


def _is_clutter(path: str) -> bool:
    """Whether it is hidden, or something that macOS or Windows leaves beside people's files."""
    parts = path.split("/")
    return (
        parts[0] == "__MACOSX"
        or parts[-1] in ("Thumbs.db", "desktop.ini")
        or any(part.startswith(".") for part in parts)
    )


def _modified(entry: zipfile.ZipInfo) -> float:
    """When a file in an archive was changed, to some hours: zip keeps no time zone. nan stands for "unknown"."""
    try:
        return math.nan if entry.date_time[0] == 1980 else timegm((*entry.date_time, 0, 0, 0))
    except ValueError:
        return math.nan
