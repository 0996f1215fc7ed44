"""What changed in each source, and what was read of it, as lines of ``datasette bear-index``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from .. import Library
from ..index.file import database, metadata
from ..index.run import changes
from ..index.run.changes import Snapshot
from ..notes import counted
from ..sources.base import SourceConfig, SourceError

# Lines about files that a source skipped: a folder of scans would fill the screen.
MAX_SKIPPED_LINES = 5


def listing(library: Library) -> list[str]:
    from .terminal import table

    known = library.sources().values()
    if not known:
        return [
            f"The index at {library.path} has no sources yet. Add one with: "
            "datasette bear-index PATH"
        ]
    lines = [["name", "kind", "notes", "last read", "changed since", "location"]]
    below: list[str] = []
    with closing(database.connect(library.path)) as connection:
        for stored in known:
            name, kind, location = stored.config.name, stored.config.kind, stored.config.location
            try:
                changed = f"{changes.count_changes(connection, stored):,}"
            except SourceError as error:
                changed = "can't be read"
                below += [f"{name}: {error}"] if str(error) != stored.error else []
            if stored.schedule:
                below.append(f"{name}: {stored.schedule}")
            read, notes = stored.read or "never", f"{stored.notes:,}"
            lines.append([name, kind, notes, read, changed, location])
            below += _skipped_lines(name, stored.skipped, len(stored.skipped))
        if prompts := database.prompts(connection):
            below.append(f"model: {metadata.get_meta(connection, 'model')}, {prompts}")
    return [*table(lines), *below]


def reading_lines(source: SourceConfig, snapshot: Snapshot | None) -> list[str]:
    if snapshot is None:
        return [f"Nothing has changed in {source.location}"]
    read = counted(snapshot.count, "note")
    if snapshot.unchanged:
        read = f"{len(snapshot.notes):,} of {read}"
    skipped = _skipped_lines(source.name, snapshot.skipped, MAX_SKIPPED_LINES)
    return [f"Read {read} from {source.location}", *skipped]


def _skipped_lines(name: str, skipped: Sequence[str], most: int) -> list[str]:
    if not skipped:
        return []
    lines = [f"{name}: skipped {len(skipped):,}:", *(f"  {line}" for line in skipped[:most])]
    if more := len(skipped[most:]):
        lines.append(f"  … and {more:,} more; datasette bear-index --list shows them all")
    return lines
