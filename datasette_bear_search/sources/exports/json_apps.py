"""Exports that are JSON or CSV: of Day One, Simplenote, Standard Notes and Raindrop.

Each is :class:`JSONFile` with the fields of one app, which recognizes them in a file. The formats:
https://dayoneapp.com/guides/tips-and-tutorials/exporting-entries/,
https://simplenote.com/help/, https://standardnotes.com/help/backups and
https://help.raindrop.io/backups.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from ..base import SourceError, Unreadable
from ..files.archive import LARGEST_FILE, File
from ..files.opening import open_export
from ..formats.markdown_metadata import suffix
from ..formats.text import as_dict, as_dicts, as_text, load_json
from ..sql_and_json import LOADERS, JSONFile

# Files that are tried to recognize an export.
MOST_TRIED = 10


class _App(JSONFile):
    mapping: ClassVar[Mapping[str, str | Sequence[str]]]
    place: str | Sequence[str] = ""
    title = ""
    suffixes: Collection[str] = (".json",)
    marks: tuple[bytes, ...] = ()  # all of these are in such a file

    def __init__(self, location: Path | str, name: str = "", **options: Any) -> None:
        own = {"fields": self.mapping, "items": self.place, "app": self.title}
        super().__init__(location, name, **{**own, **options})

    @classmethod
    def reads(cls, location: str) -> bool:
        with suppress(SourceError, OSError):
            for name, content in _glance(cls(location)):
                if all(mark in content for mark in cls.marks):
                    with suppress(Unreadable):
                        return cls.is_own(LOADERS.get(suffix(name), load_json)(content))
        return False

    @staticmethod
    @abstractmethod
    def is_own(loaded: Any) -> bool:
        """Return whether this is what the app exports."""

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        if self.is_own(loaded):
            yield from super()._objects(key, loaded)


def _glance(source: _App) -> Iterator[tuple[str, bytes]]:
    """Yield the first files that may be an export, without listing a folder's subfolders."""
    if not source.path.is_dir():
        with open_export(source.path) as archive:
            keys = [key for key, file in archive.files.items() if source._is_wanted(file)]
            for key in keys[:MOST_TRIED]:
                with suppress(Unreadable):
                    yield key, archive.read(key)
        return
    names = sorted(os.listdir(source.path))
    if any(suffix(name) in (".md", ".markdown") for name in names):
        return  # a folder of notes
    files = [File(name, name, "", 0, 0, None) for name in (SIMPLENOTE, *names)]
    for file in [*filter(source._is_wanted, files)][:MOST_TRIED]:
        with suppress(OSError), open(source.path / file.key, "rb") as stream:
            yield file.key, stream.read(LARGEST_FILE)


class DayOne(_App):
    """A Day One export in JSON: the zip file, or the unpacked folder."""

    default_name, title = "day-one", "Day One"
    place = "entries"
    marks = (b'"entries"', b'"creationDate"')
    mapping: ClassVar[Mapping[str, str | Sequence[str]]] = {
        **{"key": "uuid", "body": "text", "created": "creationDate", "modified": "modifiedDate"},
        **{"tags": ["tags", "location.placeName"], "pinned": "starred"},
        "url": "dayone://view?entryId={uuid}",
    }

    @staticmethod
    def is_own(loaded: Any) -> bool:
        entries = as_dicts(as_dict(loaded).get("entries"))
        return "metadata" in as_dict(loaded) and any("creationDate" in it for it in entries)


SIMPLENOTE = "source/notes.json"  # with the notes as texts beside its folder


class Simplenote(_App):
    """A Simplenote export: the zip file, or the unpacked folder."""

    default_name, title = "simplenote", "Simplenote"
    place = ("activeNotes", "trashedNotes")
    marks = (b'"activeNotes"',)
    mapping: ClassVar[Mapping[str, str | Sequence[str]]] = {
        **{"key": "id", "body": "content", "created": "creationDate", "modified": "lastModified"},
        **{"tags": "tags", "pinned": "pinned", "trashed": "trashed"},
    }

    @staticmethod
    def is_own(loaded: Any) -> bool:
        return isinstance(as_dict(loaded).get("activeNotes"), list)

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        for place in self.place:
            for item in as_dicts(as_dict(loaded).get(place)):
                yield item | {"trashed": place == "trashedNotes"}


class StandardNotes(_App):
    """A decrypted backup of Standard Notes: the zip file, or the text file in it."""

    default_name, title = "standard-notes", "Standard Notes"
    suffixes = (".json", ".txt")
    marks = (b'"items"', b'"content_type"')
    mapping: ClassVar[Mapping[str, str | Sequence[str]]] = {
        name: name
        for name in "key title body created modified tags pinned archived trashed".split()
    }

    def _is_wanted(self, file: File) -> bool:
        # Beside the backup, the zip file has each note as a text without its facts.
        is_backup = "standard notes" in file.key.lower() or file.suffix == ".json"
        return super()._is_wanted(file) and (is_backup or file.key == self.path.name)

    @staticmethod
    def is_own(loaded: Any) -> bool:
        items = as_dicts(as_dict(loaded).get("items"))
        return any("content_type" in item for item in items)

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        items = as_dicts(as_dict(loaded).get("items"))
        tags = defaultdict(list)
        for tag in items:
            if tag.get("content_type") == "Tag":
                for note in as_dicts(as_dict(tag.get("content")).get("references")):
                    tags[as_text(note.get("uuid"))].append(as_dict(tag["content"]).get("title"))
        notes = [item for item in items if item.get("content_type") == "Note"]
        if any(isinstance(note.get("content"), str) for note in notes):
            self.skipped.append(f"{key}: encrypted notes. Download a decrypted backup")
        for note in notes:
            content, own = as_dict(note.get("content")), as_text(note.get("uuid"))
            facts = as_dict(as_dict(content.get("appData")).get("org.standardnotes.sn"))
            if content:
                yield {
                    "key": own,
                    "title": content.get("title"),
                    "body": _text_of(as_text(content.get("text"))),
                    "created": note.get("created_at"),
                    "modified": facts.get("client_updated_at") or note.get("updated_at"),
                    "tags": tags[own],
                    "pinned": facts.get("pinned"),
                    "archived": facts.get("archived"),
                    "trashed": content.get("trashed"),
                }


class Raindrop(_App):
    """A backup of Raindrop.io's bookmarks as CSV."""

    default_name, title = "raindrop", "Raindrop.io"
    suffixes = (".csv",)
    marks = (b"excerpt", b"folder", b"url")
    mapping: ClassVar[Mapping[str, str | Sequence[str]]] = {
        **{"key": "id", "title": "title", "body": ["note", "excerpt", "highlights", "url"]},
        **{"created": "created", "tags": ["tags", "folder"], "pinned": "favorite", "url": "url"},
        "trashed": "trashed",
    }

    @staticmethod
    def is_own(loaded: Any) -> bool:
        return {"id", "excerpt", "folder", "url"} <= as_dict(next(iter(loaded), None)).keys()

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        for row in super()._objects(key, loaded):
            yield row | {"trashed": row["folder"] == "Trash"}


def _text_of(text: str) -> str:
    """Return a note's text, or the words of one that was written in the editor Super."""
    if not text.startswith('{"root"'):
        return text
    with suppress(RecursionError, Unreadable):
        return _words(as_dict(as_dict(load_json(text.encode())).get("root"))).strip()
    return text


def _words(node: dict[str, Any]) -> str:
    words = as_text(node.get("text")) + "".join(map(_words, as_dicts(node.get("children"))))
    return words + "\n" * (node.get("type") in ("heading", "listitem", "paragraph", "quote"))
