"""Exports from other apps for tests: zip archives and folders, intact and damaged."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import Source

# Any JSON that an export may have in place of the right one.
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def content(value: Any) -> bytes:
    """Return the content of a file: bytes and text unchanged, anything else as JSON."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def zip_of(path: Path, files: Mapping[str, Any]) -> Path:
    """Write a zip archive with these files by their paths; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in files.items():
            entry = zipfile.ZipInfo(name, (2024, 5, 1, 9, 30, 0))
            archive.writestr(entry, content(value), zipfile.ZIP_DEFLATED)
    return path


def folder_of(path: Path, files: Mapping[str, Any]) -> Path:
    """Write files into a folder; return its path."""
    path.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content(value))
    return path


def read(source: Source, **options: Any) -> dict[str, Note]:
    """Return the notes of a source by title."""
    notes = list(source.read(**options))
    by_title = {note.title: note for note in notes}
    assert len(by_title) == len(notes)
    return by_title


def encrypt(path: Path, name: str) -> None:
    """Mark a file in an archive as encrypted with a password."""
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        places = [i for i in range(len(data)) if data.startswith(signature, i)]
        for place in places:
            if name.encode() in data[place : place + 100 + len(name)]:
                data[place + flags] |= 1
    path.write_bytes(data)


def damage(path: Path, name: str) -> None:
    """Overwrite the content of a file in an archive."""
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(name)
    data = bytearray(path.read_bytes())
    start = entry.header_offset + 30 + len(name.encode())
    data[start : start + entry.compress_size] = b"\xff" * entry.compress_size
    path.write_bytes(data)
