"""Exports from other apps for tests: zip archives and folders, intact and damaged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

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


# --- Bear


def bear_info(key: str | None = "ID-1", **more: Any) -> dict[str, Any]:
    """Return what Bear writes to info.json."""
    known = {
        "uniqueIdentifier": key,
        "creationDate": "2024-05-01T09:30:00Z",
        "modificationDate": "2024-05-02T09:30:00Z",
        "pinned": 0,
        "archived": 0,
        "trashed": 0,
        **more,
    }
    return {"version": 2, "creatorIdentifier": "net.shinyfrog.bear", "net.shinyfrog.bear": known}


def bundle(name: str, text: Any, key: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the files of one of Bear's TextBundles, by path."""
    folder = f"{name}.textbundle/"
    return {folder + "info.json": bear_info(key or f"ID-{name}", **more), folder + "text.md": text}


# --- Slack

NINE = 1714554000  # 1 May 2024, 9:00 UTC

SLACK_USERS = [
    {"id": "U1", "team_id": "T1", "name": "ada", "profile": {"display_name": "Ada"}},
    {"id": "U2", "team_id": "T1", "name": "grace", "real_name": "Grace Hopper", "profile": {}},
    {"id": "B1", "team_id": "T1", "name": "robot", "is_bot": True, "profile": {}},
]
SLACK = {
    "users.json": SLACK_USERS,
    "channels.json": [{"id": "C1", "name": "garden"}, {"id": "C2", "name": "kitchen"}],
}


def says(text: str, minute: float = 0, user: str = "U1", **more: Any) -> dict[str, Any]:
    """Return a message, ``minute`` minutes after nine."""
    timestamp = f"{NINE + minute * 60:.6f}"
    return {"type": "message", "user": user, "text": text, "ts": timestamp, **more}


# --- Word documents in Google's Takeout

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def docx(*body: str, **files: bytes) -> bytes:
    """Return a Word document with these paragraphs and other files by name without ``.xml``."""
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r" Type="{OFFICE}/relationships/officeDocument"'
        ' Target="word/document.xml"/>'
        "</Relationships>",
        "word/document.xml": f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}/relationships"'
        ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        f"<w:body>{''.join(body)}</w:body></w:document>",
        **{f"{name}.xml": value for name, value in files.items()},
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in parts.items():
            archive.writestr(name, value)
    return stream.getvalue()
