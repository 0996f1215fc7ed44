"""The notes in an Obsidian vault."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import quote

from .. import Unreadable, markdown_facts
from .. import text as exported_json
from . import NoteFolder, Parts, files, front_matter
from .files import File

SETTINGS = ".obsidian"
TRASH = ".trash"
NOTE_URL = "obsidian://open?vault="

CANVAS = ".canvas"
_TAGS = ("tags", "tag")
_SHOWN = (*front_matter.TITLES, *_TAGS, *front_matter.CREATED, *front_matter.MODIFIED)

# Excalidraw keeps a drawing's words in a note, and below them the drawing, which is no words.
_DRAWING = re.compile(r"^(?:%%\n)?#{1,2} Drawing[ \t]*\n", re.MULTILINE)


class ObsidianVault(NoteFolder):
    """An Obsidian vault: a folder with .obsidian in it."""

    app = "Obsidian"
    # Obsidian opens file=Note#Heading, encoded.
    heading_link = "%23"
    suffixes = (".md", CANVAS)
    hidden = (TRASH,)

    def __init__(
        self,
        location: str | os.PathLike[str],
        name: str = "obsidian",
        *,
        vault: str = "",
        **options: Any,
    ) -> None:
        """
        :param vault: what Obsidian calls the vault, if this is a copy of it in a folder of another name
        :param options: those of NoteFolder
        """
        super().__init__(location, name, **options)
        self.vault = files.composed(str(vault) or os.path.basename(self.root))
        self._ignored: list[re.Pattern[str]] = []

    @classmethod
    def reads(cls, location: str) -> bool:
        return os.path.isdir(os.path.join(os.path.expanduser(location), SETTINGS))

    def _listing(self, *, include_trashed: bool) -> files.Listing:
        self._ignored, problem = _ignore_filters(self.root)
        listing = super()._listing(include_trashed=include_trashed)
        if problem:
            listing.skipped.append(problem)
        return listing

    def _reading(self) -> tuple[object, ...]:
        return (*super()._reading(), self.vault)

    def _leaves_out(self, key: str, include_trashed: bool) -> bool:
        if key.startswith(TRASH + "/"):
            return not include_trashed
        return super()._leaves_out(key, include_trashed) or any(
            pattern.match(key) for pattern in self._ignored
        )

    def _is_trashed(self, key: str) -> bool:
        return key.startswith(TRASH + "/")

    def _url(self, file: File) -> str | None:
        if self._is_trashed(file.key):
            return None
        path = file.key.removesuffix(".md")
        return f"{NOTE_URL}{quote(self.vault, safe='')}&file={quote(files.composed(path), safe='')}"

    def _parts(self, file: File, text: str) -> Parts:
        if file.suffix == CANVAS:
            return _canvas(file, text)
        properties, below, problem = front_matter.split(text)
        if "excalidraw-plugin" in properties and (drawing := _DRAWING.search(below)):
            below = below[: drawing.start()].rstrip() + "\n"
        # Obsidian calls a note by its file, and shows that above a first heading.
        title = front_matter.first(properties, front_matter.TITLES) or file.name
        heading, rest = markdown_facts.leading_heading(below)
        if heading.casefold() == title.casefold():
            below = rest
        return Parts(
            title,
            below if problem else front_matter.as_list(properties, _SHOWN) + below,
            front_matter.tags(properties, _TAGS),
            front_matter.date(properties, front_matter.CREATED) or file.day,
            front_matter.date(properties, front_matter.MODIFIED),
            problem and f"{problem}; it is searched as text",
        )


def _canvas(file: File, text: str) -> Parts:
    """A canvas as a note: the words on its cards, the names of its groups and links to the notes on it."""
    try:
        canvas = exported_json.parsed(text.strip().encode() or b"{}")
    except Unreadable as error:
        return Parts(file.name, "", problem=f"{error}; it is found by its name only")
    nodes = exported_json.mappings(exported_json.mapping(canvas).get("nodes"))
    return Parts(file.name, "\n\n".join(filter(None, map(_card, nodes))))


def _card(node: dict[str, Any]) -> str:
    kind = exported_json.text(node.get("type"))
    said = exported_json.text(node.get({"group": "label", "link": "url"}.get(kind, kind)))
    return f"[[{said}]]" if said and kind == "file" else said


def _ignore_filters(root: str) -> tuple[list[re.Pattern[str]], str]:
    """What the setting "Excluded files" leaves out, and what is wrong with it."""
    place = os.path.join(root, SETTINGS, "app.json")
    try:
        with open(place, "rb") as stream:
            settings = exported_json.mapping(exported_json.parsed(stream.read()))
        return [_ignore_filter(item) for item in settings.get("userIgnoreFilters") or ()], ""
    except FileNotFoundError:
        return [], ""
    except (OSError, TypeError, re.error, Unreadable):
        return (
            [],
            f"{SETTINGS}/app.json: can't be understood, so Obsidian's excluded files were read, too",
        )


def _ignore_filter(item: str) -> re.Pattern[str]:
    """A filter: what a path begins with, or a regular expression between slashes."""
    if len(item) > 2 and item[0] == item[-1] == "/":
        return re.compile(f".*?(?:{item[1:-1]})", re.IGNORECASE)
    return re.compile(re.escape(item), re.IGNORECASE)
