"""Exports that are JSON or CSV: of Day One, Simplenote, Standard Notes and Raindrop.

Each is :class:`JSONFile` with the fields of one app (words.txt), recognized in a file. The formats:
https://dayoneapp.com/guides/tips-and-tutorials/exporting-entries/,
https://simplenote.com/help/, https://standardnotes.com/help/backups and
https://help.raindrop.io/backups.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..base import SourceError, Unreadable
from ..files.archive import File
from ..files.file_source import first_files
from ..formats.text import as_dict, as_dicts, as_text, load_json, word_lists
from ..records import JSONFile, load
from .mail import role_of


class _App(JSONFile):
    title = ""
    suffixes: Collection[str] = (".json",)

    def __init__(self, location: Path | str, name: str = "", **options: Any) -> None:
        pairs = (word.split("=", 1) for word in word_lists()[self.default_name])
        fields = {field: places.split("|") for field, places in pairs}
        super().__init__(location, name, **{"fields": fields, "app": self.title, **options})

    @classmethod
    def reads(cls, location: str) -> bool:
        with suppress(SourceError, OSError):
            for name, content in first_files(location, cls(location)._is_wanted):
                with suppress(Unreadable):
                    if cls.items_in(load(name, content, (), [])):
                        return True
        return False

    @staticmethod
    @abstractmethod
    def items_in(loaded: Any) -> list[dict[str, Any]]:
        """Return the objects that are notes, or one without values; none in other files."""

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        yield from filter(None, self.items_in(loaded))


class DayOne(_App):
    """A Day One export in JSON: the zip file, or the unpacked folder."""

    default_name, title = "day-one", "Day One"

    @staticmethod
    def items_in(loaded: Any) -> list[dict[str, Any]]:
        entries = as_dicts(as_dict(loaded).get("entries"))
        is_own = "metadata" in as_dict(loaded) and any("creationDate" in it for it in entries)
        return entries if is_own else []


class Simplenote(_App):
    """A Simplenote export: the zip file, or the unpacked folder."""

    default_name, title = "simplenote", "Simplenote"

    @staticmethod
    def items_in(loaded: Any) -> list[dict[str, Any]]:
        active, trashed = (as_dict(loaded).get(name) for name in ("activeNotes", "trashedNotes"))
        if not isinstance(active, list):
            return []
        return [{}, *as_dicts(active), *(item | {"deleted": True} for item in as_dicts(trashed))]


class StandardNotes(_App):
    """A decrypted backup of Standard Notes: the zip file, or the text file in it."""

    default_name, title = "standard-notes", "Standard Notes"
    suffixes = (".json", ".txt")

    def _is_wanted(self, file: File) -> bool:
        # Beside the backup, the zip file has each note as a text without its facts.
        is_backup = "standard notes" in file.key.lower() or file.suffix == ".json"
        return super()._is_wanted(file) and (is_backup or file.key == self.path.name)

    @staticmethod
    def items_in(loaded: Any) -> list[dict[str, Any]]:
        items = as_dicts(as_dict(loaded).get("items"))
        return [item for item in items if "content_type" in item and not item.get("deleted")]

    def _objects(self, key: str, loaded: Any) -> Iterator[dict[str, Any]]:
        items, tags = self.items_in(loaded), defaultdict(list)
        names, parents = {}, {}
        for tag in items:
            if tag["content_type"] == "Tag":
                content, own = as_dict(tag.get("content")), as_text(tag.get("uuid"))
                names[own] = as_text(content.get("title"))
                for other in as_dicts(content.get("references")):
                    if other.get("content_type") == "Tag":
                        parents[own] = as_text(other.get("uuid"))
                    tags[as_text(other.get("uuid"))].append(own)
        notes = [item for item in items if item["content_type"] == "Note"]
        if any(isinstance(note.get("content"), str) for note in notes):
            self.skipped.append(f"{key}: encrypted notes. Download a decrypted backup")
        for note in notes:
            if content := as_dict(note.get("content")):
                paths = [_path(tag, names, parents) for tag in tags[as_text(note.get("uuid"))]]
                facts = as_dict(as_dict(content.get("appData")).get("org.standardnotes.sn"))
                text = as_text(content.get("text"))
                if text.startswith('{"root"'):  # written in the editor Super
                    with suppress(RecursionError, Unreadable):
                        text = _words(as_dict(as_dict(load_json(text)).get("root"))).strip()
                yield note | {"facts": facts, "text": text, "tags": paths}


class Raindrop(_App):
    """A backup of Raindrop.io's bookmarks as CSV."""

    default_name, title = "raindrop", "Raindrop.io"
    suffixes = (".csv",)

    @staticmethod
    def items_in(loaded: Any) -> list[dict[str, Any]]:
        rows = as_dicts(loaded)
        if not rows or not {"id", "excerpt", "folder", "url"} <= rows[0].keys():
            return []
        return [it | {"trashed": role_of(as_text(it.get("folder"))) == "trash"} for it in rows]


def _path(tag: str, names: Mapping[str, str], parents: Mapping[str, str], depth: int = 9) -> str:
    above = parents.get(tag, "")
    path = _path(above, names, parents, depth - 1) if above and depth else ""
    return f"{path}/{names.get(tag, '')}".strip("/")


def _words(node: dict[str, Any]) -> str:
    words = as_text(node.get("text")) + "".join(map(_words, as_dicts(node.get("children"))))
    box = f"- [{'x' if node['checked'] else ' '}] " if "checked" in node else ""
    ends = ("code", "heading", "linebreak", "listitem", "paragraph", "quote", "tablecell")
    return box + words + "\n" * (node.get("type") in ends)
