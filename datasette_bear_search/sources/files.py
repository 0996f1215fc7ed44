"""Read the files in a folder or a zip archive, one at a time and safely.

Nothing here follows links, waits for pipes, opens hidden folders, unpacks more than fits into
memory, or writes. Whatever can't be read is reported to people, one line each.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import re
import stat
import unicodedata
import zipfile
from abc import ABC, abstractmethod
from calendar import timegm
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..notes import NEXT_FILE, LinkedFile
from . import pdf
from .base import NothingThere, SourceError, Unreadable
from .markdown_metadata import suffix
from .text import parse_timestamp, storable

MEGABYTE = 1024 * 1024

# Nobody writes longer notes. The Bible is 4 MB.
LARGEST_NOTE = 20 * MEGABYTE

# Limit for one unpacked file of an export: ten times a busy day of Slack, or a book in Word.
LARGEST_FILE = 64 * MEGABYTE

# Limits for all that is unpacked from an archive, and for its files. Zip bombs have more.
LARGEST_ARCHIVE = 8 * 1024 * MEGABYTE
MOST_FILES = 500_000
# Maximum compression ratio of files above RATIO_FROM. Deflate reaches 1,000. Not tuned.
MAX_RATIO, RATIO_FROM = 200, MEGABYTE

# Folders of software, full of other people's Markdown, and Jekyll's templates and generated pages.
SOFTWARE = frozenset(
    {"node_modules", "site-packages", "__pycache__", "_includes", "_layouts", "_site"}
)
_SOFTWARE_FILE = re.compile(
    r"(?:requirements[\w.-]*|constraints|licen[cs]e|robots|cmakelists)\.txt", re.IGNORECASE
)
# Suffixes of files that may be somebody's notes. A source that doesn't read them says so.
DOCUMENTS = frozenset(
    """
    .adoc .bear2bk .canvas .csv .doc .docx .eml .enex .epub .htm .html .ipynb .markdown .mbox .md
    .odt .one .opml .org .pages .pdf .rst .rtf .tex .text .textile .textpack .tsv .txt .wiki .zip
    """.split()
)

# A folder with such files is a folder of notes, even if there are exports among them.
OTHER_NOTES = frozenset({".md", ".markdown", ".txt"})

# "2024-05-01", "2024-05-01 Standup", "2024-05-01-a-post"
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:$|[ _-])", re.ASCII)

# macOS puts ".Note.md.icloud" in place of a file that is only in iCloud, or sets this flag
# (SF_DATALESS in <sys/stat.h>): reading such a file would download it. There is no such sign
# elsewhere: on some file systems, readable files take no blocks, either.
_ICLOUD = ".icloud"
_DATALESS = 0x40000000
ONLY_IN_CLOUD = "only in iCloud; download it in Finder, and it is read the next time"
# Without notes in it, a folder counts as empty even if it has these or hidden files.
_NO_NOTES = frozenset({"lost+found"})


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
        return composed(os.path.splitext(self.key.rpartition("/")[2])[0])

    @property
    def suffix(self) -> str:
        return suffix(self.key)

    @property
    def day(self) -> str | None:
        """The date at the beginning of the name, which is the day when the file was created."""
        match = _DAY.match(self.name)
        return parse_timestamp(match[1]) if match else None

    @property
    def folder(self) -> str:
        """The folder below the root; "" for the root."""
        return self.key.rpartition("/")[0]


class FileSource:
    """The base class of sources that are a file or a folder."""

    app = ""
    heading_link = ""
    default_name = ""

    def __init__(self, location: Path | str, name: str = "") -> None:
        self.path = Path(location).expanduser()
        self.name = name or self.default_name
        self.location = str(location)
        self.skipped: list[str] = []
        self.left_out: Collection[str] = ()  # keys of notes that are there, but aren't to be read
        self.empty_folders: Mapping[str, float] = {}  # below the root, and when they last changed
        # (place, stamp) of a PDF → the name and text of each page, if the index has them.
        self.known_pages: Callable[[str, str], list[tuple[str, str]] | None] = lambda *file: None

    def state(self) -> str:
        if not os.path.isdir(self.path):
            return file_state(self.path)
        try:
            folder = Folder(self.path)
        except SourceError:
            return "none"
        return digest((folder.closed, [file[:3] for file in folder.files.values()]))

    @contextmanager
    def _open_export(
        self, is_wanted: Callable[[File], object], what: str, advice: str
    ) -> Iterator[tuple[Archive, list[File]]]:
        """Open the location; yield it and its wanted files. Raise SourceError if it has none."""
        with open_export(self.path) as archive:
            self.skipped = list(archive.skipped)
            files = list(filter(is_wanted, archive.files.values()))
            if not files:
                raise NothingThere(
                    f"There is no {what} in {self.location}. Give the PATH of {advice}."
                )
            yield archive, files

    def open_linked(self, place: str) -> IO[bytes]:
        """Open the file that a note links to. Raise Unreadable or SourceError."""
        return open_below(self._files_root(), place)

    def _files_root(self) -> Path:
        return self.path

    def _with_files(
        self, linked: Sequence[LinkedFile], texts: Mapping[str, tuple[str, str]] = {}
    ) -> dict[str, Any]:
        """Return the fields of a note that links to these files, including the text of PDFs.

        :param texts: place → the name of the file and the text that was recognized in it
        """
        found: dict[str, list[tuple[str, str]]] = {place: [text] for place, text in texts.items()}
        for file in dict.fromkeys(linked):
            if suffix(file.place) == ".pdf" and (pages := self._pages(file)):
                found[file.place] = pages
        named = [(name, text) for each in found.values() for name, text in each if text.strip()]
        clean = [text.replace(NEXT_FILE, "\n").strip() for _, text in named]
        return {
            "linked_files": tuple(dict.fromkeys(linked)),
            "attachments": NEXT_FILE.join(clean),
            "attachment_names": tuple(name for name, _ in named),
        }

    def _pages(self, file: LinkedFile) -> list[tuple[str, str]]:
        """Return the name and text of each page of a PDF. Add a line to ``skipped`` if it fails."""
        name = file.place.rpartition("/")[2]
        known = self.known_pages(file.place, file.stamp)
        if known is not None:
            return known
        if not pdf.is_installed():
            line = f"words in PDFs are left out; to index them, run: {pdf.INSTALL}"
            self.skipped += [line] if line not in self.skipped else []
            return []
        try:
            with self.open_linked(file.place) as stream:
                data = stream.read(LARGEST_FILE + 1)
            if len(data) > LARGEST_FILE:
                raise Unreadable(f"larger than {LARGEST_FILE // MEGABYTE} MB")
            texts = pdf.pages(data)
        except (SourceError, Unreadable) as reason:
            self.skipped.append(f"{file.place}: {reason}; found by its name only")
            return []
        return [(f"{name}, page {number}", text) for number, text in enumerate(texts, 1) if text]


# --- Folders, and zip archives with the same interface


class Archive(ABC):
    """The files in a folder, or in a zip archive."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}  # by key, folder by folder
        self.linked: dict[str, File] = {}  # other files that notes may show or link to
        self.skipped: list[str] = []  # what isn't in them and why, one line each, for people
        self.closed: list[str] = []  # folders that can't be listed: "work/"
        self.empty: dict[str, float] = {}  # folders without anything, and when they last changed
        self.evicted: set[str] = set()  # keys of files whose content is only in a cloud
        self.unread: Counter[str] = Counter()  # documents in neither, counted by suffix

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
            raise _unreadable(error) from error


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
                    self.skipped.append(f"{prefix}: {_unreadable(error)}")
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
        file = self.files[key]
        try:
            # Not open(), which makes three more system calls for each file.
            descriptor = os.open(file.path, _OPEN_FLAGS)
            try:
                data = os.read(descriptor, min(size, file.size + 1))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unreadable(error) from None
        return data if len(data) <= file.size else super().head(key, size)  # it has grown

    def open(self, key: str, size: int = LARGEST_ARCHIVE) -> IO[bytes]:
        try:
            return os.fdopen(os.open(self.files[key].path, _OPEN_FLAGS), "rb", buffering=0)
        except OSError as error:
            raise _unreadable(error) from None

    def _add_entries(
        self, prefix: str, entries: Iterable[os.DirEntry[str]]
    ) -> list[tuple[str, str]]:
        """Add the files among a folder's entries; return the folders, as in ``waiting``."""
        folders = []
        for entry in entries:
            name = entry.name
            key = prefix + (name if name.isascii() else _storable(name))
            if name[0] == "." and name not in self._hidden:
                key = prefix + _storable(name[1:].removesuffix(_ICLOUD))
                if name.endswith(_ICLOUD) and self._is_wanted(key) and self._is_included(key):
                    self.evicted.add(key)
            elif entry.is_symlink():
                self._report_link(key, entry)
            elif entry.is_dir(follow_symlinks=False):
                if name not in SOFTWARE and not self._excludes(key + "/"):
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
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the archive or folder at ``path``. Raise SourceError."""
    if os.path.isdir(path):
        folder = Folder(path)
        if folder.closed:  # else its notes would count as deleted
            raise SourceError(
                f"You may not read {path}/{folder.closed[0]}. Change its permissions, or move it"
                " out of there."
            )
        yield _whole(folder, path)
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
        yield _whole(folder, path.parent)
    else:
        with open_archive(path) as archive:
            yield archive


def _whole(folder: Folder, path: Path) -> Folder:
    """Return an export, or raise SourceError if a part of it is only in a cloud."""
    for key in sorted(folder.evicted):
        if suffix(key) in DOCUMENTS:
            raise SourceError(f"{path}/{key} is {ONLY_IN_CLOUD}.")
    return folder


@contextmanager
def open_inner(archive: Archive, key: str, largest: int = LARGEST_FILE) -> Iterator[Archive]:
    """Open an archive in a folder or, in memory, in another archive. Raise like ``read``."""
    if isinstance(archive, Folder):
        with open_archive(Path(archive.files[key].path)) as inner:
            yield inner
    else:
        with open_zip(io.BytesIO(archive.read(key, largest=largest)), key) as inner:
            yield inner


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
        stream = os.fdopen(os.open(path, _OPEN_FLAGS), "rb")
    except (OSError, ValueError) as error:
        raise _unreadable(error) if isinstance(error, OSError) else Unreadable("no path") from None
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


def is_zip(path: Path) -> bool:
    return os.path.isfile(path) and zipfile.is_zipfile(path)


def paths_at(location: str) -> list[str]:
    """Return a file's name, the paths in a zip file, or a folder's entries."""
    path = Path(location).expanduser()
    if path.is_dir():  # without its subfolders, which may be large
        return os.listdir(path)
    if not is_zip(path):
        return [path.name] if path.is_file() else []
    with open_archive(path) as archive:
        return list(archive.files)


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
            raise _unreadable(error) from error

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
        elif (
            parts[0] != "__MACOSX"
            and parts[-1] not in ("Thumbs.db", "desktop.ini")
            and not any(part.startswith(".") for part in parts)
        ):
            self._entries[path] = entry
            stamp = f"{entry.CRC:08x}/{entry.file_size:x}"
            modified = math.nan
            if entry.date_time[0] != 1980:  # 1980 means unknown. Zip stores no time zone.
                with suppress(ValueError):
                    modified = timegm((*entry.date_time, 0, 0, 0))
            self.files[path] = File(path, path, stamp, entry.file_size, modified, None)


# --- States, names and errors


def file_state(path: str | os.PathLike[str]) -> str:
    """Return a token that changes when the file may have changed, without opening it."""
    try:
        status = os.stat(path)
    except OSError:
        return "none"
    return f"{status.st_ino}/{status.st_mtime_ns}/{status.st_size}"


def digest(value: object, size: int = 16) -> str:
    """Return a hash of the value's repr, of twice ``size`` characters."""
    return hashlib.blake2b(repr(value).encode(errors="replace"), digest_size=size).hexdigest()


def composed(name: str) -> str:
    """Return a name in the form in which people type it; macOS writes é as two characters."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def explained(path: Path | str, error: OSError, *, missing: str = "") -> SourceError:
    """Return an error that tells people why a file or folder can't be read."""
    if isinstance(error, NotADirectoryError) and os.path.isfile(path):
        return SourceError(f"{path} is not a folder. Give the PATH of the folder that it is in.")
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return SourceError(
            missing
            or f"There is nothing at {path}. If it has moved, give its new PATH; if it is on a"
            " drive or in a cloud that isn't connected, connect that."
        )
    if error.errno == errno.EPERM:
        return not_allowed(path)
    if error.errno == errno.EACCES:
        return SourceError(
            f"You may not read {path}: its permissions, or those of a folder above it, belong to"
            " somebody else. Run this as the user who owns the notes, or change the permissions."
        )
    return SourceError(f"{path} can't be read: {error.strerror or error}. Try again in a minute.")


def not_allowed(path: Path | str) -> SourceError:
    return SourceError(
        f"macOS does not let this program read {path}. In System Settings > Privacy & Security >"
        " Full Disk Access, turn on the app in which you run it (Terminal, iTerm, VS Code …), then"
        " quit that app, open it again and try again."
    )


def _unreadable(error: Exception) -> Unreadable:
    if not isinstance(error, OSError):  # from zipfile, depending on how the archive is damaged
        return Unreadable(f"damaged ({error or type(error).__name__})")
    if isinstance(error, FileNotFoundError):
        return Unreadable("vanished while the folder was read")
    if isinstance(error, PermissionError):
        return Unreadable("you may not read it", is_gone=False)
    return Unreadable(f"can't be read ({error.strerror or error})", is_gone=False)


def _storable(name: str) -> str:
    # Write bytes that aren't UTF-8 as \xe9.
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
