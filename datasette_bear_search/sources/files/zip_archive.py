"""A zip archive, which may be damaged or a zip bomb."""

from __future__ import annotations

import math
import stat
import zipfile
from calendar import timegm
from contextlib import suppress
from typing import IO

from ..base import SourceError, Unreadable
from ..formats.text import storable
from .archive import LARGEST_ARCHIVE, MEGABYTE, Archive, File
from .states import unreadable

# Maximum compression ratio of files above RATIO_FROM. Deflate reaches 1,000. Not tuned.
MAX_RATIO, RATIO_FROM = 200, MEGABYTE


# Flag bits of a file in a zip archive.
_ENCRYPTED = 0x1
_UTF8_NAME = 0x800


class Zip(Archive):
    """The files in an open zip archive."""

    def __init__(self, zip_file: zipfile.ZipFile, location: str) -> None:
        super().__init__()
        self._zip_file, self._location = zip_file, location
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._unpacked = 0  # bytes
        self.hidden: set[str] = set()  # names of files and folders that begin with a dot
        for entry in zip_file.filelist:
            self._add(entry)

    def open(self, key: str, size: int = LARGEST_ARCHIVE) -> IO[bytes]:
        entry = self._entries[key]
        if entry.flag_bits & _ENCRYPTED:
            raise Unreadable("encrypted with a password")
        unpacks_far = entry.file_size > max(RATIO_FROM, MAX_RATIO * entry.compress_size)
        if unpacks_far and size > RATIO_FROM:
            raise Unreadable(f"unpacks to more than {MAX_RATIO} times its size, as zip bombs do")
        try:
            return self._zip_file.open(entry)
        except Exception as error:
            raise unreadable(error) from error

    def _part(self, stream: IO[bytes], size: int) -> bytes:
        content = super()._part(stream, size)
        self._unpacked += len(content)
        if self._unpacked > LARGEST_ARCHIVE:
            raise SourceError(
                f"{self._location} unpacks to more than {LARGEST_ARCHIVE // MEGABYTE:,} MB. It was"
                " not read."
            )
        return content

    def _add(self, entry: zipfile.ZipInfo) -> None:
        path = storable(entry.filename.replace("\\", "/"))
        if not entry.flag_bits & _UTF8_NAME:
            # Python assumes cp437, as the standard says. macOS writes UTF-8 without the flag.
            with suppress(UnicodeError):
                path = path.encode("cp437").decode("utf-8")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if path.endswith("/") or kind not in (0, stat.S_IFREG):
            return
        parts = path.split("/")
        if ".." in parts or parts[0] == "" or parts[0].endswith(":"):
            self.skipped.append(f"{path}: leads out of the archive")
        elif any(part.startswith(".") for part in parts):
            self.hidden.update(part for part in parts if part.startswith("."))
        elif parts[0] != "__MACOSX" and parts[-1] not in ("Thumbs.db", "desktop.ini"):
            self._entries[path] = entry
            stamp = f"{entry.CRC:08x}/{entry.file_size:x}"
            modified = math.nan
            if entry.date_time[0] != 1980:  # 1980 means unknown. Zip stores no time zone.
                with suppress(ValueError):
                    modified = timegm((*entry.date_time, 0, 0, 0))
            self.files[path] = File(path, path, stamp, entry.file_size, modified, None)
