"""Folders of notes for tests, written as the apps write them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.folders import NoteFolder
from datasette_bear_search.sources.folders.logseq import LogseqGraph
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write texts (in UTF-8) or bytes by their paths below ``folder``; return ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def vault(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write an Obsidian vault with these files; return its folder."""
    (folder / ".obsidian").mkdir(parents=True, exist_ok=True)
    return write_files(folder, files)


def graph(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write a Logseq graph with these files; return its folder."""
    return write_files(folder, {"logseq/config.edn": "{:meta/version 1}\n", **files})


def read(kind: type[NoteFolder], folder: Path, **options: Any) -> dict[str, Note]:
    """Return the notes of a folder by key."""
    return by_key(kind(folder, "notes", **options).read())


def by_key(notes: Any) -> dict[str, Note]:
    notes = list(notes)
    found = {note.key: note for note in notes}
    assert len(found) == len(notes)
    return found


def markdown(folder: Path, text: str | bytes, path: str = "note.md", **options: Any) -> Note:
    """Return the note made from one file in a Markdown folder."""
    return read(MarkdownFolder, write_files(folder, {path: text}), **options)[path]


def obsidian(folder: Path, text: str, path: str = "Note.md", **options: Any) -> Note:
    """Return the note made from one file in an Obsidian vault."""
    return read(ObsidianVault, vault(folder, {path: text}), **options)[path]


def logseq(folder: Path, text: str, path: str = "pages/Page.md", **options: Any) -> Note:
    """Return the note made from one file in a Logseq graph."""
    return read(LogseqGraph, graph(folder, {path: text}), **options)[path]


def tag_names(note: Note) -> list[str]:
    return [tag.name for tag in note.tags]


def link_keys(note: Note) -> list[str]:
    return [link.key for link in note.links]


def set_modified(file: Path, seconds: float) -> None:
    os.utime(file, (seconds, seconds))
