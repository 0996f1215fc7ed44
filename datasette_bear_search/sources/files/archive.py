"""The files in a folder or in a zip archive, with one interface."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import IO, NamedTuple

from ..base import Unreadable
from ..formats.dates import parse_timestamp
from ..formats.markdown_metadata import suffix
from .states import composed, unreadable

MEGABYTE = 1024 * 1024

# Nobody writes longer notes. The Bible is 4 MB.
LARGEST_NOTE = 20 * MEGABYTE

# Limit for one unpacked file of an export: ten times a busy day of Slack, or a book in Word.
LARGEST_FILE = 64 * MEGABYTE

# Limits for all that is unpacked from an archive, and for its files. Zip bombs have more.
LARGEST_ARCHIVE = 8 * 1024 * MEGABYTE
MOST_FILES = 500_000
# Suffixes of files that may be somebody's notes. A source that doesn't read them says so.
DOCUMENTS = frozenset(
    """
    .adoc .bear2bk .bearbk .canvas .csv .doc .docx .eml .enex .epub .htm .html .ipynb .jex .log
    .markdown .mbox .md .mediawiki .msg .norg .odt .one .opml .org .pages .pdf .rst .rtf .srt .tex
    .text .textile .textpack .tid .tsv .txt .typ .vtt .wiki .zip
    """.split()
)

# A folder with such files is a folder of notes, even if there are exports among them.
OTHER_NOTES = frozenset({".md", ".markdown", ".txt"})

# "2024-05-01 Standup" and "2024_05_01"; with a time and without hyphens in programs' names for
# notes: "20240501T093000--a-title" (Denote), "20240501093000-a-title" (org-roam), "202405010930".
_DAY = re.compile(
    r"(?P<day>(?:1[89]|20)\d{2}([-_.]?)\d{2}\2\d{2})(?:T?(?P<time>\d{4}(?:\d{2})?))?(?:$|[ _.T-])",
    re.ASCII,
)
ONLY_IN_CLOUD = "only in iCloud; download it in Finder, and it is read the next time"


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
        if not (match := _DAY.match(self.name)):
            return None
        day, time = re.sub("[-_.]", "", match["day"]), match["time"]
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
        self.closed: list[str] = []  # folders that can't be listed: "work/"
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


def storable_name(name: str) -> str:
    # Write bytes that aren't UTF-8 as \xe9.
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
