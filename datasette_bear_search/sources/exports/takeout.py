"""Google Drive's documents, Keep's notes and Gmail's mail, as Google Takeout exports them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...notes import Note
from ..base import Incremental, SourceError, Unchanged, Unreadable
from ..files.archive import LARGEST_NOTE, Archive, File
from ..files.file_source import FileSource
from ..files.opening import open_archive, open_inner, paths_at
from ..formats.documents import Page, parse_html, parse_word
from ..formats.markdown_metadata import as_markdown, note_from_markdown
from ..formats.text import (
    as_dict,
    as_dicts,
    as_text,
    decode,
    first_timestamp,
    load_json,
    timestamp_from_seconds,
)
from .mail import threads

# Files in the folders of the three products. Other folders hold products such as photos.
_DRIVE = re.compile(r"(?:.*?/)??(?P<key>(?:Google )?Drive/(?:(?P<folder>.+)/)?[^/]+)")
_KEEP = re.compile(r"(?:.*?/)??(?P<key>(?:Google )?Keep/[^/]+)")
_MAIL = re.compile(r"(?:.*/)?Mail/[^/]+\.mbox")
_FOLDERS = ("Drive", "Google Drive", "Keep", "Google Keep", "Mail")

# A large export is split into takeout-20240501T093000Z-001.zip, -002.zip, …
_PART = re.compile(r"takeout-.*\.zip", re.IGNORECASE)

# Google's metadata of a document is in a file beside it.
_INFO = "-info.json"
_CREATED = ("created",)
_MODIFIED = ("last_modified_by_any_user", "content_last_modified", "last_modified_by_me")

_DOCUMENTS = (".docx", ".html", ".htm", ".md", ".markdown", ".txt")

# A JSON object with at least one of these fields is a note from Keep.
_KEEP_FIELDS = ("textContent", "listContent", "title")


class Takeout(FileSource, Incremental):
    """An export of Google Takeout with Drive, Keep or Mail: zip files, or a folder."""

    default_name = "takeout"

    @classmethod
    def reads(cls, location: str) -> bool:
        path, inside = Path(location).expanduser(), paths_at(location)
        if not path.is_dir():
            keys = (key for key in inside if key.startswith("Takeout/"))
            return any(any(each.fullmatch(key) for each in (_DRIVE, _KEEP, _MAIL)) for key in keys)
        # A folder's name alone doesn't suffice: anybody may have a folder called Drive.
        folder = path if path.name == "Takeout" else path / "Takeout"
        is_export = any((folder / name).is_dir() for name in _FOLDERS)
        return is_export or any(map(_PART.fullmatch, inside))

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
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
                        note = _keep_note(key, item)
                    else:
                        note, problem = _document(key, item)
                        self.skipped += [f"{key}: {problem}"] if problem else []
                except Unreadable as reason:
                    self.skipped.append(f"{key}: {reason}")
                    if not reason.is_gone and key in known:
                        yield Unchanged(key)
                    continue
                if include_trashed or not note.trashed:
                    yield note
        if others:
            types = ", ".join(f"{suffix} {count:,}" for suffix, count in others.most_common(5))
            self.skipped.append(f"{others.total():,} files of other types than are read ({types})")

    def _items(self, stack: ExitStack, others: Counter[str]) -> dict[str, _Item]:
        """Return all documents and notes by their path in the export, however it was unpacked.

        Files of unknown types are counted in ``others``.
        """
        items: dict[str, _Item] = {}
        for prefix, archive in self._archives(stack):
            for path, file in archive.files.items():
                if match := _KEEP.fullmatch(prefix + path):
                    if file.suffix == ".json":
                        items.setdefault(match["key"], _Item(archive, file))
                elif _MAIL.fullmatch(prefix + path):
                    items.setdefault(path, _Item(archive, file))
                elif match := _DRIVE.fullmatch(prefix + path):
                    if file.suffix in _DOCUMENTS:
                        info = archive.files.get(path + _INFO)
                        info = info or archive.files.get(path.removesuffix(file.suffix) + _INFO)
                        item = _Item(archive, file, match["folder"] or "", info)
                        items.setdefault(match["key"], item)
                    elif not path.endswith(_INFO):
                        others[file.suffix or "without suffix"] += 1
        return items

    def _archives(self, stack: ExitStack) -> Iterator[tuple[str, Archive]]:
        """Yield each archive of the export, after the prefix of the paths in it."""
        archive = stack.enter_context(open_archive(self.path))
        self.skipped += archive.skipped
        # The location may be the folder Drive itself.
        yield (f"{self.path.name}/" if self.path.is_dir() else ""), archive
        for file in archive.files.values():
            if self.path.is_dir() and _PART.fullmatch(file.key):
                part = stack.enter_context(open_inner(archive, file.key))
                self.skipped += [f"{file.key}/{line}" for line in part.skipped]
                yield "", part


class _Item(NamedTuple):
    """A file of an export that is a note."""

    archive: Archive
    file: File
    folder: str = ""  # in Drive
    info: File | None = None  # with Google's metadata

    @property
    def stamp(self) -> str:
        return f"{self.file.stamp} {self.info.stamp}" if self.info else self.file.stamp


def _keep_note(key: str, item: _Item) -> Note:
    fields = as_dict(load_json(item.archive.read(item.file.key)))
    if not any(name in fields for name in _KEEP_FIELDS):
        raise Unreadable("no note of Google Keep's")
    attachments = as_dicts(fields.get("attachments"))
    are_images = [as_text(file.get("mimetype")).startswith("image/") for file in attachments]
    labels = (as_text(label.get("name")).strip() for label in as_dicts(fields.get("labels")))
    return note_from_markdown(
        key,
        _keep_body(fields),
        title=as_text(fields.get("title")),
        tags=filter(None, labels),
        created=_moment(fields.get("createdTimestampUsec")),
        modified=_moment(fields.get("userEditedTimestampUsec")),
        pinned=fields.get("isPinned") is True,
        archived=fields.get("isArchived") is True,
        trashed=fields.get("isTrashed") is True,
        has_image=any(are_images),
        has_file=not all(are_images),
        stamp=item.stamp,
    )


def _keep_body(fields: dict[str, Any]) -> str:
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {_line(item.get('text'))}"
        for item in as_dicts(fields.get("listContent"))
    ]
    links = [
        f"[{_line(link.get('title'))}]({address})"
        for link in as_dicts(fields.get("annotations"))
        if (address := as_text(link.get("url"))) and not set(address) & set(" \n()<>")
    ]
    parts = [as_markdown(as_text(fields.get("textContent"))), "\n".join(items), "\n".join(links)]
    return "\n\n".join(part for part in parts if part.strip())


def _line(value: Any) -> str:
    return " ".join(as_text(value).split())


def _moment(microseconds: Any) -> str | None:
    try:
        return timestamp_from_seconds(float(microseconds) / 1_000_000)
    except (OverflowError, TypeError, ValueError):
        return None


def _document(key: str, item: _Item) -> tuple[Note, str]:
    """Return a document as a note, and a message about what couldn't be read."""
    file, info = item.file, {}
    if file.suffix == ".docx":
        page = parse_word(item.archive.read(file.key))
    else:
        body = decode(item.archive.read(file.key, largest=LARGEST_NOTE))
        page = Page("", as_markdown(body) if file.suffix == ".txt" else body)
        if file.suffix in (".html", ".htm"):
            page = parse_html(body)
    if item.info:
        with suppress(Unreadable):
            info = as_dict(load_json(item.archive.read(item.info.key)))
    note = note_from_markdown(
        key,
        page.text,
        title=file.name,
        tags=filter(None, [item.folder]),
        created=first_timestamp(info, _CREATED),
        modified=first_timestamp(info, _MODIFIED) or timestamp_from_seconds(file.modified),
        has_image=page.has_image,
        stamp=item.stamp,
    )
    return note, page.problem
