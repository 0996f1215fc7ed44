"""The files in a folder of notes: found without being led astray, read without being stopped by any.

Nothing here follows links, waits for pipes, reads without end or looks into hidden folders, and nothing is ever written.
What can't be read is a line for people.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from .. import SourceError, Unreadable
from .. import text as decoding
from ..text import timestamp

MEGABYTE = 1024 * 1024

# No one writes such a note: the Bible has 4 MB.
LARGEST_FILE = 20 * MEGABYTE

# Folders of software, full of other people's Markdown.
_SOFTWARE = frozenset({"node_modules", "site-packages", "__pycache__"})

# "2024-05-01", "2024-05-01 Standup", "2024-05-01-a-post"
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:$|[ _-])", re.ASCII)

# macOS puts ".Note.md.icloud" in the place of a file that is only in iCloud.
_ICLOUD = ".icloud"


class File(NamedTuple):
    """A file as its folder lists it."""

    key: str  # its path below the folder, with "/", as text that any program can store
    path: str  # where to open it
    stamp: str  # changes whenever its content does
    size: int
    modified: float  # seconds since 1970
    born: float | None  # the same, where the system knows

    @property
    def name(self) -> str:
        """Its name without folder and suffix, as people see it."""
        return composed(os.path.splitext(self.key.rpartition("/")[2])[0])

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.key)[1].lower()

    @property
    def day(self) -> str | None:
        """The day that its name begins with, which is when it was begun."""
        match = _DAY.match(self.name)
        return timestamp(match[1]) if match else None

    @property
    def folder(self) -> str:
        """The folder that it is in, below the root; "" for the root."""
        return self.key.rpartition("/")[0]


@dataclass
class Listing:
    """What is in a folder and below."""

    files: dict[str, File] = field(default_factory=dict)  # by key, sorted folder by folder
    closed: list[str] = field(default_factory=list)  # folders that can't be looked into: "work/"
    skipped: list[str] = field(default_factory=list)  # what was left out, a line each


def listing(
    root: str,
    suffixes: Collection[str],
    *,
    leaves_out: Callable[[str], bool] | None = None,
    hidden: Collection[str] = (),
) -> Listing:
    """The files with one of ``suffixes`` (lower-case) in the folder and below; reads none of them.

    :param leaves_out: says of a key, a folder's with "/" at its end, that nobody wants it
    :param hidden: folders to look into although their names begin with a dot
    :raises SourceError: if the folder can't be listed
    """
    walk = _Walk(root, suffixes, leaves_out, hidden)
    walk.list_root()
    while walk.waiting:
        walk.list_folder(*walk.waiting.pop())
    return walk.found


def read(file: File) -> bytes:
    """A file's content. Raises Unreadable."""
    if file.size > LARGEST_FILE:
        raise Unreadable(_TOO_LARGE)
    try:
        # Not open(), which asks the system three more things about each file.
        descriptor = os.open(file.path, _OPEN_FLAGS)
        try:
            data = more = os.read(descriptor, file.size + 1)
            while len(data) != file.size and more and len(data) <= LARGEST_FILE:  # it has changed
                more = os.read(descriptor, MEGABYTE)
                data += more
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise Unreadable("vanished while the folder was read") from None
    except OSError as error:
        raise Unreadable(_reason(error), is_gone=False) from None
    if len(data) > LARGEST_FILE:
        raise Unreadable(_TOO_LARGE)
    return data


def read_text(file: File, encoding: str = "") -> str:
    """A file's text. Raises Unreadable."""
    try:
        return decoding.decoded(read(file), encoding)
    except decoding.NotText:
        raise Unreadable("not text, whatever its name says") from None


def composed(name: str) -> str:
    """A name as it is typed: macOS writes the é in a file's name as two characters."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


# What has become a link or a pipe since it was listed is not followed or waited for. Windows has neither flag.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_TOO_LARGE = f"larger than {LARGEST_FILE // MEGABYTE} MB"


class _Walk:
    def __init__(
        self,
        root: str,
        suffixes: Collection[str],
        leaves_out: Callable[[str], bool] | None,
        hidden: Collection[str],
    ) -> None:
        self.found = Listing()
        self.waiting: list[tuple[str, str]] = []  # folders: what their keys begin with, and where
        self._root = root
        self._suffixes = suffixes
        self._leaves_out = leaves_out
        self._hidden = hidden

    def list_root(self) -> None:
        try:
            entries = _entries(self._root)
        except OSError as error:
            raise _explained(self._root, error) from error
        if not entries:
            raise SourceError(
                f"{self._root} is empty. If it is on a drive or in a cloud that isn't connected, connect that."
            )
        self._sort_out("", entries)

    def list_folder(self, prefix: str, path: str) -> None:
        try:
            entries = _entries(path)
        except FileNotFoundError:
            return  # with all that was in it
        except OSError as error:
            self.found.closed.append(prefix)
            self.found.skipped.append(f"{prefix}: {_reason(error)}")
        else:
            self._sort_out(prefix, entries)

    def _sort_out(self, prefix: str, entries: list[os.DirEntry[str]]) -> None:
        folders = []
        for entry in entries:
            name = entry.name
            key = prefix + (name if name.isascii() else _storable(name))
            if name[0] == "." and name not in self._hidden:
                self._note_evicted(prefix, name)
            elif entry.is_symlink():
                self._note_link(key, entry)
            elif entry.is_dir(follow_symlinks=False):
                if name not in _SOFTWARE and not self._is_left_out(key + "/"):
                    folders.append((key + "/", entry.path))
            elif _suffix(name) in self._suffixes and not self._is_left_out(key):
                self._add(key, entry)
        self.waiting += reversed(folders)

    def _add(self, key: str, entry: os.DirEntry[str]) -> None:
        if not entry.is_file(follow_symlinks=False):
            self.found.skipped.append(f"{key}: not a file but a pipe or a device")
            return
        try:
            stat = entry.stat(follow_symlinks=False)
        except OSError:
            return  # gone again
        self.found.files.setdefault(
            key,
            File(
                key,
                entry.path,
                # The change time tells of what sets the others back, and of permission that was given.
                f"{stat.st_ino:x}/{stat.st_mtime_ns:x}/{stat.st_ctime_ns:x}/{stat.st_size:x}",
                stat.st_size,
                stat.st_mtime,
                getattr(stat, "st_birthtime", None),
            ),
        )

    def _is_left_out(self, key: str) -> bool:
        return self._leaves_out is not None and self._leaves_out(key)

    def _note_link(self, key: str, entry: os.DirEntry[str]) -> None:
        """Say of a link why it isn't followed: it leads out, in circles, or to what is read anyway."""
        try:
            if not entry.is_dir() and _suffix(entry.name) not in self._suffixes:
                return
            target = os.path.realpath(entry.path, strict=True)
        except OSError as error:
            self.found.skipped.append(f"{key}: a link that leads nowhere ({error.strerror})")
            return
        if self._is_left_out(key + "/" if os.path.isdir(target) else key):
            return
        root = os.path.realpath(self._root)
        if target == root or target.startswith(os.path.join(root, "")):
            reason = "a link to what is in this folder anyway"
        else:
            reason = "a link out of this folder; what it leads to can be a source of its own"
        self.found.skipped.append(f"{key}: {reason}")

    def _note_evicted(self, prefix: str, name: str) -> None:
        if name.endswith(_ICLOUD) and _suffix(name[: -len(_ICLOUD)]) in self._suffixes:
            note = _storable(name[1 : -len(_ICLOUD)])
            self.found.skipped.append(
                f"{prefix}{note}: only in iCloud; download it in Finder, and it is read the next time"
            )


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _storable(name: str) -> str:
    """A file's name as text: bytes that aren't UTF-8 are written as ``\\xe9``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _reason(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "you may not read it"
    return f"can't be read ({error.strerror or error})"


def _explained(root: str, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(
            f"There is no folder at {root}. If it has moved, give its new PATH; if it is on a drive or in a cloud that "
            "isn't connected, connect that."
        )
    if isinstance(error, NotADirectoryError):
        return SourceError(f"{root} is not a folder. Give the PATH of the folder that it is in.")
    if isinstance(error, PermissionError):
        return SourceError(
            f"You may not read {root}. Change its permissions or, on a Mac, turn on the app in which you run this in "
            "System Settings > Privacy & Security > Full Disk Access."
        )
    return SourceError(f"{root} can't be read ({error.strerror or error}). Try again.")
