"""A folder whose files are listed without being opened."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from ..base import NothingThere
from ..formats.markdown_metadata import suffix
from .archive import DOCUMENTS, LARGEST_ARCHIVE, Archive, File, storable_name
from .states import explained, unreadable

# Folders of software, full of other people's Markdown, and Jekyll's templates and generated pages.
SOFTWARE = frozenset({"node_modules", "site-packages", "_includes", "_layouts", "_site"})
_SOFTWARE_FILE = re.compile(
    r"(?:requirements[\w.-]*|constraints|licen[cs]e|robots|cmakelists)\.txt", re.IGNORECASE
)

# macOS puts ".Note.md.icloud" in place of a file that is only in iCloud, or sets this flag
# (SF_DATALESS in <sys/stat.h>): reading such a file would download it. There is no such sign
# elsewhere: on some file systems, readable files take no blocks, either.
_ICLOUD = ".icloud"
_DATALESS = 0x40000000
# Without notes in it, a folder counts as empty even if it has these or hidden files.
_NO_NOTES = frozenset({"lost+found"})


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
                if not isinstance(error, FileNotFoundError):  # a deleted folder isn't reported
                    self.closed.append(prefix)
                    self.skipped.append(f"{prefix}: {unreadable(error)}")
                continue
            if prefix and all(it.name[0] == "." or it.name in _NO_NOTES for it in entries):
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
            return os.fdopen(os.open(self.files[key].path, _OPEN_FLAGS), "rb", buffering=0)
        except OSError as error:
            raise unreadable(error) from None

    def _add_entries(
        self, prefix: str, entries: Iterable[os.DirEntry[str]]
    ) -> list[tuple[str, str]]:
        """Add the files among a folder's entries; return the folders, as in ``waiting``."""
        folders = []
        for entry in entries:
            name = entry.name
            key = prefix + (name if name.isascii() else storable_name(name))
            if name[0] == "." and name not in self._hidden:
                key = prefix + storable_name(name[1:].removesuffix(_ICLOUD))
                if name.endswith(_ICLOUD) and self._is_wanted(key) and self._is_included(key):
                    self.evicted.add(key)
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
        if not entry.is_file(follow_symlinks=False):
            self.skipped.append(f"{key}: not a file but a pipe or a device")
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return  # deleted in the meantime
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

    def _is_wanted(self, name: str) -> bool:
        return self._suffixes is None or suffix(name) in self._suffixes

    def _is_included(self, key: str) -> bool:
        return not self._excludes(key) and not _SOFTWARE_FILE.fullmatch(key.rpartition("/")[2])

    def _report_link(self, key: str, entry: os.DirEntry[str]) -> None:
        """Add a line to ``skipped`` that says why a link isn't followed."""
        try:
            if not entry.is_dir() and not self._is_wanted(entry.name):
                return
            target = os.path.realpath(entry.path, strict=True)
        except OSError as error:
            self.skipped.append(f"{key}: a link that leads nowhere ({error.strerror})")
            return
        if self._excludes(key + "/" if os.path.isdir(target) else key):
            return
        root = os.path.realpath(self._root)
        if target == root or target.startswith(os.path.join(root, "")):
            reason = "a link to what is in this folder anyway"
        else:
            reason = "a link out of this folder; what it leads to can be a source of its own"
        self.skipped.append(f"{key}: {reason}")


# Don't follow a link or wait for a pipe that has replaced a listed file. Windows has neither flag.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
