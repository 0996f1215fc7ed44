"""JSON that another program has written, in which anything can be missing or other than it should be."""

from __future__ import annotations

import json
import re
from typing import Any

from .files import Unreadable

_SURROGATE = re.compile("[\ud800-\udfff]")


def parsed(content: bytes) -> Any:
    """The value in a file. Raises Unreadable."""
    try:
        return json.loads(content.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:  # ValueError also for numbers of too many digits
        raise Unreadable(f"no valid JSON ({error})") from error


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing else that is in it."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, without what no database stores, or an empty text."""
    return storable(value) if isinstance(value, str) else ""


def storable(words: str) -> str:
    """A text without NULs and halves of characters, which SQLite or UTF-8 can't hold."""
    if "\0" in words:
        words = words.replace("\0", "")
    return words if words.isascii() else _SURROGATE.sub("\ufffd", words)
