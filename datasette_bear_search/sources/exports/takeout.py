"""Google Drive's documents, Keep's notes and Gmail's mail, as Google Takeout exports them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from ...notes import Note
from ..base import Incremental, Items, SourceError, Unchanged, Unreadable
from ..files import file_source
from ..files.archive import LARGEST_NOTE, MEGABYTE, Archive, File
from ..files.file_source import FileSource, first_files, open_archive, open_inner, paths_at
from ..formats.dates import first_timestamp, timestamp_from_seconds
from ..formats.documents import parse_html, parse_word
from ..formats.keep import is_keep, keep_note
from ..formats.markdown_metadata import ParsedText, as_markdown, note_from_markdown
from ..formats.text import as_dict, decode, load_json
from .mail import role_of, threads

_KEEP = re.compile(r"(?:^|/)(?:Google )?Keep$")
# Google translates the names of the products' folders, so that other folders are known by content.
_DRIVE = ("Drive", "Google Drive")
_FILE = re.compile(
    rf"(?:.*?/)??(?P<key>(?P<product>{'|'.join(_DRIVE)}|(?<=Takeout/)[^/]+)/(?:(?P<folder>.+)/)?[^/]+)"
)

# A large export is split into takeout-20240501T093000Z-001.zip, -002.zip, …
_PART = re.compile(r"takeout-.*\.zip", re.IGNORECASE)

_INFO = "-info.json"  # the end of a file beside a document, with Google's metadata
_MODIFIED = ("last_modified_by_any_user", "content_last_modified", "last_modified_by_me")

_DOCUMENTS = (".docx", ".html", ".htm", ".md", ".markdown", ".txt")
_OFFICE = (".docx", ".pptx", ".xlsx")


class Takeout(FileSource, Incremental):
    """An export of Google Takeout with Drive, Keep or Mail: zip files, or a folder."""

    default_name = "takeout"

    @classmethod
    def reads(cls, location: str) -> bool:
        path, inside = Path(location).expanduser(), paths_at(location)
        if path.is_dir() and any(map(_PART.fullmatch, inside)):
            return True
        # A folder's name alone doesn't suffice: anybody may have a folder called Drive.
        if path.name != "Takeout" and "Takeout" not in (key.partition("/")[0] for key in inside):
            found = first_files(location, lambda file: file.suffix == ".json") if inside else ()
            return any(len(content) < MEGABYTE and is_keep(content) for _, content in found)
        with ExitStack() as stack:
            return bool(cls(path)._items(stack, Counter()))

    def read_changed(self, known: Mapping[str, str], *, include_trashed: bool = False) -> Items:
        self.skipped = []
        others = Counter[str]()
        with ExitStack() as stack:
            items = self._items(stack, others)
            if not items and not others:
                raise SourceError(
                    f"{self.location} has neither documents of Google Drive nor notes of Google"
                    " Keep nor mail. Give the PATH of an export of Google Takeout: its zip file, or"
                    " the folder Takeout."
                )
            for key, item in items.items():
                if item.file.suffix == ".mbox":
                    mailbox = [item.file.key]
                    yield from threads(item.archive, mailbox, known, self.skipped, include_trashed)
                    continue
                if known.get(key) == item.stamp:
                    yield Unchanged(key)
                    continue
                try:
                    # Documents in Drive are never read from JSON, so this must be a note.
                    if item.file.suffix == ".json":
                        note = keep_note(key, item.archive.read(item.file.key), item.stamp)
                    else:
                        note = _document(key, item, self.skipped)
                except Unreadable as reason:
                    self.skipped.append(f"{key}: {reason}")
                    if not reason.is_gone and key in known:
                        yield Unchanged(key)
                    continue
                if include_trashed or not note.trashed:
                    yield note
        if others:
            types = ", ".join(f"{end} {count:,}" for end, count in others.most_common(5))
            self.skipped.append(f"{others.total():,} files of other types than are read ({types})")

    def _items(self, stack: ExitStack, others: Counter[str]) -> dict[str, _Item]:
        """Return all documents and notes by path, and count other types of files in ``others``."""
        items: dict[str, _Item] = {}
        archive = stack.enter_context(open_archive(self.path))
        self.skipped += archive.skipped
        # The location may be the folder Drive itself.
        archives = [(f"{self.path.name}/" if self.path.is_dir() else "", archive)]
        for key in filter(_PART.fullmatch, archive.files if self.path.is_dir() else ()):
            part = stack.enter_context(open_inner(archive, key))
            self.skipped += [f"{key}/{line}" for line in part.skipped]
            archives.append(("", part))
        for prefix, archive in archives:
            of_keep, of_drive = _keep_folders(archive), _drive_folders(archive, prefix)
            for path, file in archive.files.items():
                match = _FILE.fullmatch(prefix + path)
                if file.folder in of_keep:
                    if file.suffix == ".json":
                        key = "/".join((prefix + path).split("/")[-2:])
                        items.setdefault(key, _Item(archive, file))
                elif match and match["product"] in of_drive:
                    if file.suffix in _DOCUMENTS:
                        info = archive.files.get(path + _INFO)
                        info = info or archive.files.get(path.removesuffix(file.suffix) + _INFO)
                        item = _Item(archive, file, match["folder"] or "", info)
                        items.setdefault(match["key"], item)
                    elif not path.endswith(_INFO):
                        others[file.suffix or "without suffix"] += 1
                elif file.suffix == ".mbox":
                    items.setdefault(path, _Item(archive, file))
        return items


def _keep_folders(archive: Archive) -> set[str]:
    """Return the folders that have notes of Keep's, or its name in English."""
    found = {file.folder for file in archive.files.values() if _KEEP.search(file.folder)}
    tried = Counter[str]()
    for key, file in archive.files.items():
        folder = file.folder
        is_tried = folder in found or tried[folder] >= file_source.MOST_TRIED
        if file.suffix == ".json" and not is_tried:
            tried[folder] += 1
            with suppress(Unreadable):
                found |= {folder} if is_keep(archive.read(key, largest=MEGABYTE)) else set()
    return found


def _drive_folders(archive: Archive, prefix: str) -> set[str]:
    """Return the folders of Drive: also those with office documents or metadata, and no others."""
    found, others = set[str](), set[str]()
    for path, file in archive.files.items():
        if match := _FILE.fullmatch(prefix + path):
            if file.suffix in _OFFICE or path.endswith(_INFO):
                found.add(match["product"])
            elif file.suffix == ".json":
                others.add(match["product"])
    return (found - others).union(_DRIVE)


class _Item(NamedTuple):
    """A file of an export that is a note."""

    archive: Archive
    file: File
    folder: str = ""  # in Drive
    info: File | None = None  # with Google's metadata

    @property
    def stamp(self) -> str:
        return f"{self.file.stamp} {self.info.stamp}" if self.info else self.file.stamp


def _document(key: str, item: _Item, skipped: list[str]) -> Note:
    """Return a document as a note; add what couldn't be read to ``skipped``."""
    file, info = item.file, {}
    if file.suffix == ".docx":
        page = parse_word(item.archive.read(file.key))
    else:
        body = decode(item.archive.read(file.key, largest=LARGEST_NOTE))
        page = ParsedText("", as_markdown(body) if file.suffix == ".txt" else body)
        if file.suffix in (".html", ".htm"):
            page = parse_html(body)
    if item.info:
        with suppress(Unreadable):
            info = as_dict(load_json(item.archive.read(item.info.key)))
    skipped += [f"{key}: {page.problem}"] if page.problem else []
    return note_from_markdown(
        key,
        page.text,
        # Google exports what is in Drive's trash as a folder, in the account's language.
        trashed=role_of(item.folder.partition("/")[0]) == "trash",
        title=file.name,
        tags=filter(None, [item.folder]),
        created=first_timestamp(info, ["created"]),
        modified=first_timestamp(info, _MODIFIED) or timestamp_from_seconds(file.modified),
        has_image=page.has_image,
        stamp=item.stamp,
    )
