"""Notes that programs add: a file of JSON lines beside the index, which is indexed like others.

The index itself holds nothing that isn't elsewhere, so that it can be made again at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..notes import Note, storable_name
from ..processes import write_file
from ..sources.base import SourceConfig, SourceError
from .run import lock

KIND = "json"
# The fields of a note that are stored; the others are read from its text.
FIELDS = (
    "key", "title", "body", "tags", "created", "modified", "url", "pinned", "archived", "trashed",
    "attachments",
)  # fmt: skip
_NAME = re.compile(r"\w[\w-]*")


def config(path: Path, source: str, known: Mapping[str, SourceConfig]) -> SourceConfig:
    """Return how to read the notes that programs add to a source, or raise SourceError.

    :param path: the index file
    :param known: the index's sources
    """
    if not _NAME.fullmatch(source):
        raise SourceError(f"A source's name has letters, digits, - and _: not {source!r}.")
    file = path.resolve().with_name(f"{path.stem}.{source}.jsonl")
    made = SourceConfig(source, KIND, str(file), {"fields": {name: [name] for name in FIELDS}})
    same = known.get(source, made)
    if (same.kind, same.location) != (made.kind, made.location):
        raise SourceError(
            f"The index already has another source named {source}. Choose another name with source="
        )
    return made


def write(file: Path, notes: Sequence[Note], remove: Collection[str] = ()) -> None:
    """Add notes to a source's file, or replace those with the same keys.

    :param remove: keys of notes to remove
    :raises SourceError: for a key that can't be stored, which would stop each later reading
    """
    if wrong := [type(note).__name__ for note in notes if not isinstance(note, Note)]:
        raise TypeError(f"add() takes each note by itself: add(*notes), not a {wrong[0]}")
    added = {note.key: _line(note) for note in notes}
    for key in added:
        if not key or "\0" in str(key) or str(key) != storable_name(str(key)):
            raise SourceError(
                f"A note's key must be a text that UTF-8 can hold, without NUL, not {key!r}."
            )
    with lock.only_run(file, lock.RUN_SECONDS):
        known = _read(file) | added
        for key in remove:
            known.pop(key, None)
        write_file(file, b"".join(known.values()))


def _read(file: Path) -> dict[str, bytes]:
    if not file.exists():
        return {}
    lines = file.read_bytes().splitlines(keepends=True)
    return {json.loads(line)["key"]: line for line in lines}


def _line(note: Note) -> bytes:
    values: dict[str, Any] = {name: getattr(note, name) for name in FIELDS}
    tags = [note.tags] if isinstance(note.tags, str) else note.tags
    values["tags"] = [tag if isinstance(tag, str) else tag.name for tag in tags]
    values = {name: value for name, value in values.items() if value or name in ("key", "body")}
    return json.dumps(values, default=str).encode() + b"\n"  # dates
