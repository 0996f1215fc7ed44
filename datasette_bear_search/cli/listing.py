"""What a run would change, and has read, of each source, as lines of ``datasette bear-index``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import chain

from .. import Library
from ..index.file import database, metadata, schema
from ..index.run import changes
from ..index.run.changes import Snapshot
from ..index.selection import Selection
from ..notes import counted
from ..sources.base import SourceConfig, SourceError
from .output import echo

# Lines about files that a source skipped: a folder of scans would fill the screen.
MAX_SKIPPED_LINES = 5


def preview(library: Library, selection: Selection, *, yes: bool) -> str | None:
    """Print what a run would change. Return an error message if a source can't be read."""
    failed, known = 0, library.sources()
    with ExitStack() as cleanup:
        current = None
        if known:
            connection = cleanup.enter_context(closing(database.connect(library.path)))
            current = connection if schema.is_current(connection) else None
        for source in selection.read:
            try:
                snapshot = changes.read_if_changed(current, source, known.get(source.name), yes=yes)
            except SourceError as error:
                echo(f"{source.name}: {error}", err=True)
                failed += 1
                continue
            if snapshot is None:
                echo(f"Nothing has changed in {source.location}. Nothing was written.")
                continue
            count: Counter[str] = Counter()
            for part in chain([snapshot], snapshot.rest):
                change = changes.diff(current, part) if current else changes.Diff(part.notes)
                for kind in ("added", "changed", "moved", "removed"):
                    count[kind] += len(getattr(change, kind))
            and_move = f", move {count['moved']:,}" if count["moved"] else ""
            echo(
                f"{source.location}: {counted(part.count, 'note')}. "
                f"Would add {count['added']:,}, change {count['changed']:,}{and_move}, "
                f"remove {count['removed']:,}. Nothing was written."
            )
    for name in selection.remove:
        echo(f"{name}: its {counted(known[name].notes, 'note')} would be removed from the index.")
    return failure_text(failed, len(selection.read))


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


def failure_text(failed: int, sources: int) -> str | None:
    if not failed:
        return None
    return (
        f"{counted(failed, 'source')} of {sources:,} could not be read. "
        "Their notes in the index stay as they were."
    )
