"""Check what sources give, above all those of plugins, before it gets into the index."""

from __future__ import annotations

import re
from collections.abc import Callable
from reprlib import repr as shortened
from typing import Any

from ..notes import Link, Note, Tag, storable_name
from .base import Source, SourceError, Unchanged


def check(item: object, source: Source) -> None:
    """Raise SourceError unless ``item`` is a valid note; name the plugin, the key and the field."""
    if fault := _fault(item):
        raise SourceError(f"{responsible_for(source)} gives {fault}.")


def responsible_for(source: Source) -> str:
    """Return the name of the plugin that a source comes from, to begin a sentence with."""
    package = type(source).__module__.partition(".")[0]
    return f"The plugin {package} (its class {type(source).__name__})"


def current_state(source: Source) -> str | None:
    """Return a source's state; None after an unexpected error, which reading it will report."""
    try:
        return source.state()
    except SourceError:
        raise
    except Exception:
        return None


def _all_are(kind: type, text: str, values: object) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(value, kind) and isinstance(getattr(value, text, value), str) for value in values
    )


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_FLAGS = "pinned archived trashed encrypted has_image has_file has_code"

# Fields of a note, whether a value is valid, and what it must be. SQLite's integers have 64 bits.
_RULES: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    ("title body attachments", lambda value: isinstance(value, str), "a text"),
    ("url stamp", lambda value: value is None or isinstance(value, str), "None or a text"),
    ("tags", lambda tags: _all_are(Tag, "name", tags), 'a tuple such as (Tag("work"),)'),
    ("links", lambda links: _all_are(Link, "key", links), 'a tuple such as (Link("key"),)'),
    ("attachment_names", lambda names: _all_are(str, "", names), "a tuple of texts"),
    (
        "created modified",
        lambda value: value is None or (isinstance(value, str) and _MOMENT.fullmatch(value)),
        "None or a date in UTC such as 2024-05-01T09:30:00Z",
    ),
    (_FLAGS, lambda value: isinstance(value, bool), "True or False"),
    ("todos_open todos_done", lambda it: isinstance(it, int) and 0 <= it < 2**63, "a number"),
)
_CHECKS = [(each, valid, wanted) for names, valid, wanted in _RULES for each in names.split()]


def _fault(item: object) -> str:
    if not isinstance(item, (Note, Unchanged)):
        return f"{shortened(item)} where a Note belongs"
    key = item.key
    if not isinstance(key, str) or not key or key != storable_name(key):
        return f"a note the key {shortened(key)}; it must be a text that UTF-8 can hold"
    if isinstance(item, Note):
        for field, is_valid, wanted in _CHECKS:
            if not is_valid(value := getattr(item, field)):
                note = f"the note with the key {key!r}"
                return f"{note} the {field} {shortened(value)}; it must be {wanted}"
    return ""
