"""The files in a folder or in a zip archive, with one interface."""

from __future__ import annotations

import math
import os
import re
import stat
import zipfile
from abc import ABC, abstractmethod
from calendar import timegm
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from ...notes import storable_name
from ..base import NothingThere, SourceError, Unreadable
from ..formats.dates import parse_timestamp
from ..formats.markdown_metadata import LINKED, suffix
from ..formats.text import storable, word_lists
from .states import composed, explained, unreadable

MEGABYTE = 1024 * 1024

# Nobody writes longer notes. The Bible is 4 MB.
LARGEST_NOTE = 20 * MEGABYTE

# Limit for one unpacked file of an export: ten times a busy day of Slack, or a book in Word.
LARGEST_FILE = 64 * MEGABYTE

# Limits for all that is unpacked from an archive, and for its files. Zip bombs have more.
LARGEST_ARCHIVE = 8 * 1024 * MEGABYTE
MOST_FILES = 500_000
DOCUMENTS = frozenset(word_lists()["documents"])

# Files that only belong to the notes of an export.
_ATTACHED = LINKED - DOCUMENTS

# A folder with such files is a folder of notes, even if there are exports among them.
OTHER_NOTES = frozenset({".md", ".markdown", ".txt"})

# "2024-05-01 Standup" and "2024_05_01"; with a time and without hyphens in programs' names for
# notes: "20240501T093000--a-title" (Denote), "20240501093000-a-title" (org-roam), "202405010930".
_DAY = re.compile(
    r"(?P<day>(?:1[89]|20)\d{2}([-_. ]?)\d{2}\2\d{2})(?:T?(?P<time>\d{4}(?:\d{2})?))?(?:$|[ _.T-])",
    re.ASCII,
)
# Roam's "May 3rd, 2024"; at the beginning also 3. Mai 2024, 03.05.2024 and 2024年5月3日.
_WRITTEN = r"(?:\w+, )?\w+ \d\d?\w*, \d{4}|\d\d?\W{1,2}\w+\W{1,2}\d{4}(?: .*)?|\d{4} ?[年년].*"
ONLY_IN_CLOUD = "only in iCloud; download it in Finder, and it is read the next time"

# Maximum compression ratio of files above RATIO_FROM. Deflate reaches 1,000. Not tuned.
MAX_RATIO, RATIO_FROM = 200, MEGABYTE

_ENCRYPTED, _UTF8_NAME = 0x1, 0x800  # flag bits of a file in a zip archive

# Folders and files of software: among these, TiddlyWiki's settings and plugins.
SOFTWARE = frozenset(word_lists()["software"])
_SOFTWARE_FILE = re.compile(
    r"(?:requirements[\w.-]*|constraints|licen[cs]e|robots|cmakelists)\.txt|\$__.*\.tid",
    re.IGNORECASE,
)

# macOS puts ".Note.md.icloud" in place of a file that is only in iCloud, or sets this flag
# (SF_DATALESS in <sys/stat.h>): reading such a file would download it. There is no such sign
# elsewhere: on some file systems, readable files take no blocks, either.
_ICLOUD = ".icloud"
_DATALESS = 0x40000000

# Don't follow a link or wait for a pipe that has replaced a listed file. Windows has neither flag.
OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


class File(NamedTuple):
    """A file as it is listed in a folder or archive."""

    key: str  # the path below the root, with "/", as valid Unicode
    path: str  # for opening the file
    stamp: str  # changes whenever the content does
    size: int  # bytes
    modified: float  # seconds since 1970; nan if unknown
    created: float | None  # the same; None if the system doesn't know

    @property
    def name(self) -> str:
        """The name without folder and suffix, in Unicode's composed form."""
        name = self.key.rpartition("/")[2]
        return composed(name[: len(name) - len(self.suffix)])

    @property
    def suffix(self) -> str:
        return suffix(self.key)

    @property
    def day(self) -> str | None:
        """The date at the beginning of the name, which is the day when the file was created."""
        if not (match := _DAY.match(self.name)):
            return parse_timestamp(self.name) if re.fullmatch(_WRITTEN, self.name) else None
        day, time = re.sub("[-_. ]", "", match["day"]), match["time"]
        return (time and parse_timestamp(day + time)) or parse_timestamp(day)

    @property
    def folder(self) -> str:
        """The folder below the root; "" for the root."""
        return self.key.rpartition("/")[0]


class Archive(ABC):
    """The files in a folder, or in a zip archive."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}  # by key, folder by folder
        self.linked: dict[str, File] = {}  # other files that notes may show or link to
        self.skipped: list[str] = []  # what isn't in them and why, one line each, for people
        self.closed: list[str] = []  # what can't be listed: "work/", or looked at: "Roof.md"
        self.empty: dict[str, float] = {}  # folders without anything, and when they last changed
        self.evicted: set[str] = set()  # keys of files whose content is only in a cloud
        self.unread: Counter[str] = Counter()  # documents in neither, counted by suffix
        self.software: set[str] = set()  # names of folders that were left out

    def read(self, key: str, *, largest: int = LARGEST_FILE) -> bytes:
        """Return a file's content.

        :raises Unreadable: if this file can't be read or has more than ``largest`` bytes
        :raises SourceError: if the other files mustn't be read, either
        """
        is_larger = self.files[key].size > largest
        if is_larger or len(content := self.head(key, largest + 1)) > largest:
            raise Unreadable(f"larger than {largest / MEGABYTE:g} MB")
        return content

    def head(self, key: str, size: int) -> bytes:
        """Return at most ``size`` bytes from the beginning of a file. Raise like ``read``."""
        with self.open(key, size) as stream:
            return self._part(stream, size)

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the content of a file of any size in parts. Raise like ``read``."""
        with self.open(key) as stream:
            while chunk := self._part(stream, MEGABYTE):
                yield chunk

    @abstractmethod
    def open(self, key: str, size: int = LARGEST_ARCHIVE) -> IO[bytes]:
        """Open a file, to read at most ``size`` bytes of it once. Raise like ``read``."""

    def _part(self, stream: IO[bytes], size: int) -> bytes:
        try:
            return stream.read(size)
        except Exception as error:
            raise unreadable(error) from error


class Folder(Archive):
    """The files in a folder and its subfolders. They are listed without being opened."""

    def __init__(
        self,
        root: Path | str,
        suffixes: Collection[str] | None = None,
        *,
        excludes: Callable[[str], bool] = lambda key: False,
        hidden: Collection[str] = (),  # folders to read although their names begin with a dot
        linked: Collection[str] = (),
    ) -> None:
        """
        :param suffixes: of ``files``, in lower case; None for any
        :param excludes: whether to leave out a key; a folder's key ends in "/"
        :param linked: suffixes of the files in ``self.linked``
        :raises SourceError: if the folder can't be listed
        """
        super().__init__()
        self._root, self._suffixes, self._linked_suffixes = os.fspath(root), suffixes, linked
        self._excludes, self._hidden = excludes, hidden
        waiting = [("", self._root)]  # folders: the prefix of their keys, their path
        while waiting:
            prefix, path = waiting.pop()
            try:
                with os.scandir(path) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError as error:
                if not prefix:
                    raise explained(root, error) from error
                self._close(prefix, error)
                continue
            # A folder counts as empty even if it has hidden files.
            if prefix and all(it.name[0] == "." or it.name == "lost+found" for it in entries):
                with suppress(OSError):
                    status = os.stat(path)
                    self.empty[prefix] = max(status.st_mtime, status.st_ctime)
            if not prefix and not entries:
                raise NothingThere(
                    f"{root} is empty. If it is on a drive or in a cloud that isn't connected,"
                    " connect that."
                )
            waiting += reversed(self._add_entries(prefix, entries))

    def head(self, key: str, size: int) -> bytes:
        known = self.files[key].size  # otherwise, memory for ``size`` bytes would be taken
        data = super().head(key, min(size, known + 1))
        return data if len(data) <= known else super().head(key, size)  # it has grown

    def open(self, key: str, size: int = LARGEST_ARCHIVE) -> IO[bytes]:
        try:
            return os.fdopen(os.open(self.files[key].path, OPEN_FLAGS), "rb", buffering=0)
        except OSError as error:
            raise unreadable(error) from None

    def check_whole(self) -> None:
        """Raise SourceError if a part can't be read: its notes would count as deleted."""
        if self.closed:
            raise SourceError(
                f"You may not read {self._root}/{self.closed[0]}. Change its permissions, or move"
                " it out of there."
            )
        for key in sorted(self.evicted):
            if suffix(key) not in _ATTACHED:
                raise SourceError(f"{self._root}/{key} is {ONLY_IN_CLOUD}.")

    def _add_entries(
        self, prefix: str, entries: Iterable[os.DirEntry[str]]
    ) -> list[tuple[str, str]]:
        """Add the files among a folder's entries; return the folders, as in ``waiting``."""
        folders = []
        for entry in entries:
            name = entry.name
            key = prefix + (name if name.isascii() else storable_name(name))
            is_hidden = name[0] == "." and name not in self._hidden
            if is_hidden and not os.path.isdir(f"{entry.path}/cur"):  # but a Maildir's .Work
                key = prefix + storable_name(name[1:].removesuffix(_ICLOUD))
                if name.endswith(_ICLOUD) and self._is_included(key):
                    if self._is_wanted(key):
                        self.evicted.add(key)
                    elif suffix(key) not in DOCUMENTS.union(self._linked_suffixes):
                        self.closed.append(f"{key}/")  # a folder, or one such as a TextBundle
                        self.skipped.append(f"{key}: {ONLY_IN_CLOUD}")
            elif entry.is_symlink():
                self._report_link(key, entry)
            elif entry.is_dir(follow_symlinks=False):
                if name in SOFTWARE:
                    self.software.add(name)
                elif not self._excludes(key + "/"):
                    folders.append((key + "/", entry.path))
            elif self._is_wanted(name):
                if self._is_included(key):
                    self._add_file(key, entry, self.files)
            elif (end := suffix(name)) in self._linked_suffixes and not self._excludes(key):
                self._add_file(key, entry, self.linked)
            elif end in DOCUMENTS and not self._excludes(key):
                self.unread[end] += 1
        return folders

    def _add_file(self, key: str, entry: os.DirEntry[str], files: dict[str, File]) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            if files is self.files:
                self._close(key, error)
            return
        if not stat.S_ISREG(status.st_mode):
            self.skipped.append(f"{key}: not a file but a pipe or a device")
            return
        if files is self.files and getattr(status, "st_flags", 0) & _DATALESS:
            self.evicted.add(key)
            return
        self.evicted.discard(key)
        # ctime also changes if a program resets mtime, or if permissions change.
        stamp = (
            f"{status.st_ino:x}/{status.st_mtime_ns:x}/{status.st_ctime_ns:x}/{status.st_size:x}"
        )
        created = getattr(status, "st_birthtime", None)
        file = File(key, entry.path, stamp, status.st_size, status.st_mtime, created)
        files.setdefault(key, file)

    def _close(self, key: str, error: OSError) -> None:
        """Remember what can't be read now, unless it was deleted in the meantime."""
        if not isinstance(error, FileNotFoundError):
            self.closed.append(key)
            self.skipped.append(f"{key}: {unreadable(error)}")

    def _is_wanted(self, name: str) -> bool:
        return self._suffixes is None or suffix(name) in self._suffixes

    def _is_included(self, key: str) -> bool:
        return not self._excludes(key) and not _SOFTWARE_FILE.fullmatch(key.rpartition("/")[2])

    def _report_link(self, key: str, entry: os.DirEntry[str]) -> None:
        """Add a line to ``skipped`` that says why a link isn't followed."""
        place = key + "/" * os.path.isdir(entry.path)
        if (place == key and not self._is_wanted(entry.name)) or self._excludes(place):
            return
        reason = "out of this folder; what it leads to can be a source of its own"
        if Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(self._root)):
            reason = "to what is in this folder anyway"
        if not os.path.exists(entry.path):
            reason = "that leads nowhere"
        self.skipped.append(f"{key}: a link {reason}")


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


@contextmanager
def open_zip(stream: IO[bytes], name: str) -> Iterator[Zip]:
    """Open the archive in an open file. Raise SourceError."""
    try:
        zip_file = zipfile.ZipFile(stream)
    except Exception as error:  # the type depends on how the archive is damaged
        raise SourceError(
            f"{name} is not a zip archive, or only a part of one. Export or download it again."
        ) from error
    with zip_file:
        if len(zip_file.filelist) > MOST_FILES:
            raise SourceError(f"{name} lists more than {MOST_FILES:,} files. It was not read.")
        yield Zip(zip_file, name)
