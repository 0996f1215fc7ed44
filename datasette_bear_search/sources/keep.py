"""A note of Google Keep's, as Google Takeout exports it: a file of JSON."""

from __future__ import annotations

from typing import Any

from ..notes import Note, Tag
from . import bodies, markdown_text
from .exported_json import mapping, mappings, parsed, text
from .files import Unreadable
from .timestamps import of_seconds

# What makes an object a note. One of these is always there.
_PARTS = ("textContent", "listContent", "title")


def note(data: bytes, key: str, stamp: str) -> Note:
    """The note in a file. Raises Unreadable."""
    said = mapping(parsed(data))
    if not any(part in said for part in _PARTS):
        raise Unreadable("no note of Google Keep's")
    title = text(said.get("title"))
    body = _body(said)
    facts = markdown_text.facts(body)
    kinds = [text(attachment.get("mimetype")) for attachment in mappings(said.get("attachments"))]
    labels = {text(label.get("name")).strip(): None for label in mappings(said.get("labels"))}
    return Note(
        key=key,
        title=bodies.title_of(title, body),
        body=body,
        tags=tuple(Tag(name) for name in labels if name),
        created=_moment(said.get("createdTimestampUsec")),
        modified=_moment(said.get("userEditedTimestampUsec")),
        pinned=said.get("isPinned") is True,
        archived=said.get("isArchived") is True,
        trashed=said.get("isTrashed") is True,
        todos_open=facts.todos_open,
        todos_done=facts.todos_done,
        has_image=any(kind.startswith("image/") for kind in kinds),
        has_file=any(not kind.startswith("image/") for kind in kinds),
        stamp=stamp,
    )


def _body(said: dict[str, Any]) -> str:
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {' '.join(text(item.get('text')).split())}"
        for item in mappings(said.get("listContent"))
    ]
    links = [
        f"[{' '.join(text(link.get('title')).split())}]({address})"
        for link in mappings(said.get("annotations"))
        if (address := text(link.get("url"))) and not set(address) & set(" \n()<>")
    ]
    parts = [bodies.as_markdown(text(said.get("textContent"))), "\n".join(items), "\n".join(links)]
    return "\n\n".join(part for part in parts if part.strip())


def _moment(microseconds: Any) -> str | None:
    try:
        return of_seconds(float(microseconds) / 1_000_000)
    except (OverflowError, TypeError, ValueError):
        return None
