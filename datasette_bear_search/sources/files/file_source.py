"""The base class of sources that are a file or a folder, and how to open these."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

from ...notes import NEXT_FILE, LinkedFile
from ..base import NothingThere, SourceError, Unreadable
from ..formats import pdf
from ..formats.markdown_metadata import suffix
from .archive import LARGEST_FILE, MEGABYTE, OPEN_FLAGS, Archive, File, Folder, open_zip
from .states import digest, explained, file_state, unreadable

# Where such files are, no JSON beside them is an export.
MARKDOWN = (".md", ".markdown")
# Files that are zip archives, or damaged ones.
ZIPS = (".bear2bk", ".bearbk", ".textpack", ".zip")
# Files that are tried to recognize an export: some in it may be damaged.
MOST_TRIED = 10


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
        # (place, stamp) of a PDF → the name and text of each page, if the index has them.
        self.known_pages: Callable[[str, str], list[tuple[str, str]] | None] = lambda *file: None

    @classmethod
    def reads(cls, location: str) -> bool:
        return False  # a source of this kind has to be configured as one

    def state(self) -> str:
        if not os.path.isdir(self.path):
            return file_state(self.path)
        try:
            folder = Folder(self.path)
        except SourceError:
            return "none"
        files = [file[:3] for file in folder.files.values()]
        return digest((folder.closed, sorted(folder.evicted), files))

    @contextmanager
    def _open_export(
        self, is_wanted: Callable[[File], object], what: str, advice: str
    ) -> Iterator[tuple[Archive, list[File]]]:
        """Open the location; yield it and its wanted files. Raise SourceError if it has none."""
        with open_archive(self.path) as archive:
            self.skipped = list(archive.skipped)
            files = list(filter(is_wanted, archive.files.values()))
            if not files:
                advice = f"Give the PATH of {advice}."
                raise NothingThere(f"There is no {what} in {self.location}. {advice}")
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
        if (known := self.known_pages(file.place, file.stamp)) is not None:
            return known
        if not pdf.is_installed():
            line = f"words in PDFs are left out; to index them, run: {pdf.INSTALL_PDF}"
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


@contextmanager
def open_archive(
    path: Path, excludes: Callable[[str], bool] = lambda key: False
) -> Iterator[Archive]:
    """Open a folder, a zip archive, or any other file as a folder of one. Raise SourceError.

    :param excludes: whether to leave out a key of a folder; a folder's key ends in "/"
    """
    try:
        if is_zip(path):
            with open(path, "rb") as stream, open_zip(stream, str(path)) as archive:
                yield archive
            return
    except OSError as error:
        raise explained(path, error) from error
    if os.path.exists(path) and not os.path.isdir(path):
        path = Path(os.path.realpath(path))
        folder = Folder(path.parent, excludes=lambda key: key != path.name)
    else:
        folder = Folder(path, excludes=excludes)
    folder.check_whole()
    yield folder


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

    Beside notes, and in a folder's subfolders, there is only Simplenote's. Raise SourceError.
    """
    names = (name.lower().rpartition("/")[2] for name in paths_at(location))
    has_notes = any(name.endswith(MARKDOWN) and name[:7] != "readme." for name in names)

    def excludes(key: str) -> bool:
        may_be = not has_notes or key.startswith("source/")
        return key != "source/" and not (may_be and is_wanted(File(key, key, "", 0, 0, None)))

    with open_archive(Path(location).expanduser(), excludes) as archive:
        for key in [key for key in archive.files if not excludes(key)][:MOST_TRIED]:
            with suppress(Unreadable):
                yield key, archive.read(key)


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip archive, by its name or its first bytes. Raise OSError."""
    if not os.path.isfile(path) or path.suffix.lower() in ZIPS:
        return os.path.isfile(path)
    with open(path, "rb") as stream:
        return stream.read(4) in (b"PK\3\4", b"PK\5\6")


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
