"""A note of Google Keep's, as Google Takeout exports it: a JSON file with a page beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from ...notes import Note
from ..base import Unreadable
from .dates import parse_timestamp
from .markdown_metadata import as_markdown, note_from_markdown
from .text import as_dict, as_dicts, as_text, load_json

# Only Keep's objects have one of the first fields, and at least one of the others.
_OWN = ("isTrashed", "userEditedTimestampUsec")
_FIELDS = ("textContent", "listContent", "title")


def is_keep(content: bytes) -> bool:
    """Return whether this is the JSON of a note, wherever it lies and whatever its name."""
    with suppress(Unreadable):
        fields = as_dict(load_json(content)).keys()
        return not fields.isdisjoint(_OWN) and not fields.isdisjoint(_FIELDS)
    return False


def is_page_of_keep(path: str, read: Callable[[str], bytes]) -> bool:
    """Return whether a page is that of a note: only the JSON beside it says which are trash."""
    with suppress(KeyError, OSError, Unreadable):
        return is_keep(read(os.path.splitext(path)[0] + ".json"))
    return False


def keep_note(key: str, content: bytes, stamp: str) -> Note:
    """Return the note in a JSON file of Keep's. Raise Unreadable."""
    fields = as_dict(load_json(content))
    if not any(name in fields for name in _FIELDS):
        raise Unreadable("no note of Google Keep's")
    attachments = as_dicts(fields.get("attachments"))
    are_images = [as_text(file.get("mimetype")).startswith("image/") for file in attachments]
    labels = (as_text(label.get("name")).strip() for label in as_dicts(fields.get("labels")))
    return note_from_markdown(
        key,
        keep_body(fields),
        title=as_text(fields.get("title")),
        tags=filter(None, labels),
        created=parse_timestamp(fields.get("createdTimestampUsec")),
        modified=parse_timestamp(fields.get("userEditedTimestampUsec")),
        pinned=fields.get("isPinned") is True,
        archived=fields.get("isArchived") is True,
        trashed=fields.get("isTrashed") is True,
        has_image=any(are_images),
        has_file=not all(are_images),
        stamp=stamp,
    )


def keep_body(fields: dict[str, Any]) -> str:
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {_line(item.get('text'))}"
        for item in as_dicts(fields.get("listContent"))
    ]
    links = [
        f"[{_line(link.get('title'))}]({address})"
        for link in as_dicts(fields.get("annotations"))
        if "://" in (address := quote(as_text(link.get("url")), safe="/:?#@!$&'*+,;=%[]~"))
    ]
    names = (_line(file.get("filePath")) for file in as_dicts(fields.get("attachments")))
    files = [f"File: {name}" for name in names if name]
    parts = [as_markdown(as_text(fields.get("textContent")))]
    parts += map("\n".join, (items, links, files))
    return "\n\n".join(part for part in parts if part.strip())


def _line(value: Any) -> str:
    return " ".join(as_text(value).split())
