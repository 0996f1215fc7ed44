"""The notes in an Obsidian vault."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..base import Unreadable
from ..files.archive import Archive, File
from ..files.states import composed
from ..formats.markdown_metadata import ParsedText
from ..formats.text import as_dict, as_dicts, as_text, load_json
from . import NoteFolder

SETTINGS_FOLDER = ".obsidian"
TRASH = ".trash"
NOTE_URL = "obsidian://open?vault="

CANVAS = ".canvas"

# Excalidraw stores a drawing's words in a note, with the drawing itself below them.
_OF_EXCALIDRAW = re.compile(r"---\n(?:.*\n){0,50}?excalidraw-plugin:")
_OF_PLUGIN = re.compile(r"(?m)^(?:==⚠.*EXCALIDRAW VIEW.*|# Excalidraw Data|## Text Elements)\n+")
_DRAWING = re.compile(r"^(?:%%\n)?#{1,2} Drawing[ \t]*\n", re.MULTILINE)


class ObsidianVault(NoteFolder):
    """An Obsidian vault: a folder with .obsidian in it."""

    app = "Obsidian"
    # Obsidian opens file=Note%23Heading, with the "#" encoded.
    heading_link = "%23"
    suffixes = (".md", CANVAS)
    hidden = (TRASH,)
    names_are_titles = True

    def __init__(
        self, location: Path | str, name: str = "obsidian", *, vault: str = "", **options: Any
    ) -> None:
        super().__init__(location, name, **options)
        # The option is for a copy whose folder has a different name than the vault.
        self.vault = composed(str(vault) or os.path.basename(self.root))
        self._ignored: list[re.Pattern[str]] = []

    @staticmethod
    def installed_locations() -> list[str]:
        """Return the existing vaults in Obsidian's list."""
        from platformdirs import user_config_path

        folders = [
            user_config_path("obsidian", appauthor=False, roaming=True),
            # Flatpak and Snap on Linux.
            Path.home() / ".var/app/md.obsidian.Obsidian/config/obsidian",
            Path.home() / "snap/obsidian/current/.config/obsidian",
        ]
        found: list[str] = []
        for folder in folders:
            with suppress(OSError, Unreadable):
                listed = as_dict(load_json((folder / "obsidian.json").read_bytes()))
                for vault in as_dict(listed.get("vaults")).values():
                    found += filter(None, [as_text(as_dict(vault).get("path"))])
        return [*filter(ObsidianVault.reads, found)]

    @classmethod
    def reads(cls, location: str) -> bool:
        return os.path.isdir(os.path.join(os.path.expanduser(location), SETTINGS_FOLDER))

    def _list(self, *, include_trashed: bool) -> Archive:
        self._ignored = []
        problems: list[str] = []
        try:
            settings = Path(self.root, SETTINGS_FOLDER, "app.json").read_bytes()
            for item in as_dict(load_json(settings)).get("userIgnoreFilters") or ():
                # A regular expression between slashes, or the beginning of a path.
                is_pattern = len(item) > 2 and item[0] == item[-1] == "/"
                pattern = f".*?(?:{item[1:-1]})" if is_pattern else re.escape(item)
                self._ignored.append(re.compile(pattern, re.IGNORECASE))
        except FileNotFoundError:
            pass
        except (OSError, TypeError, re.error, Unreadable):
            self._ignored = []
            problem = "can't be understood, so Obsidian's excluded files were read, too"
            problems = [f"{SETTINGS_FOLDER}/app.json: {problem}"]
        folder = super()._list(include_trashed=include_trashed)
        folder.skipped += problems
        return folder

    def _settings(self) -> tuple[object, ...]:
        return (*super()._settings(), self.vault)

    def _excludes(self, key: str, include_trashed: bool) -> bool:
        if self._is_trashed(key):
            return not include_trashed
        is_ignored = any(pattern.match(key) for pattern in self._ignored)
        return is_ignored or super()._excludes(key, include_trashed)

    def _is_trashed(self, key: str) -> bool:
        return key.startswith(TRASH + "/")

    def _url(self, file: File, title: str) -> str | None:
        if self._is_trashed(file.key):
            return None
        path = quote(composed(file.key.removesuffix(".md")), safe="")
        return f"{NOTE_URL}{quote(self.vault, safe='')}&file={path}"

    def _parse(self, file: File, text: str) -> ParsedText:
        if file.suffix == CANVAS:
            return _parse_canvas(file, text)
        if _OF_EXCALIDRAW.match(text) and (drawing := _DRAWING.search(text)):
            text = _OF_PLUGIN.sub("", text[: drawing.start()]).strip() + "\n"
        return self._parse_markdown(file, text, file.name)


def _parse_canvas(file: File, text: str) -> ParsedText:
    # Keep the words on the cards, the names of groups, and links to notes and web pages.
    try:
        canvas = load_json(text.strip() or "{}")
    except Unreadable as error:
        return ParsedText(file.name, "", problem=f"{error}; it is found by its name only")
    cards = []
    for node in as_dicts(as_dict(canvas).get("nodes")):
        kind = as_text(node.get("type"))
        if card := as_text(node.get({"group": "label", "link": "url"}.get(kind, kind))):
            cards.append(f"[[{card}]]" if kind == "file" else card)
    return ParsedText(file.name, "\n\n".join(cards))
