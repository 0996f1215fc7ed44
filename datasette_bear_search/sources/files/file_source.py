"""The base class of sources that are a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ...notes import NEXT_FILE, LinkedFile
from ..base import NothingThere, SourceError, Unreadable
from ..formats import pdf
from ..formats.markdown_metadata import suffix
from .archive import LARGEST_FILE, MEGABYTE, Archive, File, Folder
from .opening import open_below, open_export
from .states import digest, file_state


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
        known = self.known_pages(file.place, file.stamp)
        if known is not None:
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
