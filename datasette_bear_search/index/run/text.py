"""Snapshots of sources → rows of notes and passages. Text that is gone leaves the index first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain

from ...sources.base import SourceError
from ...sqlite import sqlite3
from ...text.languages import words_version
from .. import restricted
from ..file import database, schema, sources, vectors
from ..file import notes as stored_notes
from ..file import passages as stored_passages
from ..file.database import transaction
from ..file.metadata import get_meta, mark_changed, set_meta
from ..file.sources import StoredSource
from ..file.spellings import update_spellings
from .changes import Diff, Snapshot, diff, missing, reader_version
from .report import Failure, Hooks, Report

# Maximum notes in a transaction: enough that commits cost little.
NOTES_PER_COMMIT = 10_000
# Vectors of removed passages to keep in memory, in case another note has the same text: 30 MB.
MAX_KEPT_VECTORS = 20_000


@dataclass
class TextRun:
    """Writes notes and what is derived from them, apart from vectors."""

    connection: sqlite3.Connection
    report: Report
    hooks: Hooks
    known_ids: Mapping[tuple[str, str], int] = field(default_factory=dict)  # by source and key
    stored: Mapping[str, StoredSource] = field(default_factory=dict)  # whose notes may be missing
    # Vectors of passages removed in this run, whose text may be in another note: hash → vector.
    _kept: dict[str, bytes] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)  # source → its notes before the run
    _missing: dict[str, int] = field(default_factory=dict)  # source → missing notes that stay
    _has_withdrawn: bool = False  # whether any text was deleted or encrypted

    def write(
        self, snapshots: Sequence[Snapshot], remove: Sequence[str] = (), *, tidy: bool = True
    ) -> None:
        started = time.perf_counter()
        counts = self.connection.execute("select source, count(*) from notes group by source")
        self._counts.update(counts)
        self._write_text(snapshots, remove)
        for snapshot in snapshots:
            self._write_rest(snapshot)
        self._complete_text(optimize=tidy or self._has_withdrawn)
        self.report.text_seconds = time.perf_counter() - started
        self.hooks.on_text(self.report)

    def _write_text(self, snapshots: Sequence[Snapshot], remove: Sequence[str] = ()) -> None:
        connection, report = self.connection, self.report
        diffs = [(each, self._without_missing(each, diff(connection, each))) for each in snapshots]
        self._withdraw(diffs, remove)
        for snapshot, change in diffs:
            self._write_notes(snapshot.config.name, change)
            report.added += len(change.added)
            report.changed += len(change.changed)
            report.moved += len(change.moved)
        with transaction(connection):
            for snapshot, change in diffs:
                sql = "update notes set stamp = ?2 where id = ?1"
                connection.executemany(sql, change.restamped)
                self._write_source(snapshot, state=snapshot.state)

    def _without_missing(self, snapshot: Snapshot, change: Diff) -> Diff:
        """Return the changes without the removal of notes that may be missing by accident."""
        name = snapshot.config.name
        if not change.removed or name not in self.stored:
            return change
        gone, known = change.removed.values(), self._counts.get(name, 0)
        keys, failure = missing(self.connection, snapshot, gone, known, self.stored[name])
        if not keys:
            return change
        self.report.kept.append(failure)
        self._missing[name] = len(keys)
        removed = {it: key for it, key in change.removed.items() if key not in keys}
        return replace(change, removed=removed)

    def _write_rest(self, first: Snapshot) -> None:
        """Write the other parts of a source."""
        if not first.is_last:
            first.notes.clear()  # so that only one part is in memory
        try:
            for snapshot in first.rest:
                self.hooks.on_read(first.config, snapshot)
                self._write_text([snapshot])
                snapshot.notes.clear()
        except SourceError as error:
            self.report.failures.append(Failure(first.config.name, str(error)))
            self.hooks.on_failure(self.report.failures[-1])

    def _complete_text(self, *, optimize: bool) -> None:
        """Relate the notes to each other, and remove old words from the word index."""
        connection, report = self.connection, self.report
        with transaction(connection):
            if get_meta(connection, "links_to_resolve"):
                stored_notes.relate(connection)
                connection.execute("delete from meta where key = 'links_to_resolve'")
                mark_changed(connection, restricted.TEXT)
            if optimize and get_meta(connection, "old_text_in_fts"):
                # FTS5 only marks words as deleted. Merging all segments writes the index without
                # them, and secure_delete overwrites the old pages.
                for table in ("notes_fts", schema.WORD_INDEX):
                    connection.execute(f"insert into {table} ({table}) values ('optimize')")
                connection.execute("delete from meta where key = 'old_text_in_fts'")
            if vectors.has_extension(connection):
                vectors.reuse(connection, self._kept)
        self._kept.clear()
        state = database.read_state(connection)
        report.pending, report.pace = state.pending, state.passages_per_second

    def _withdraw(self, diffs: Sequence[tuple[Snapshot, Diff]], remove: Sequence[str]) -> None:
        """First of all, remove text that was deleted or encrypted."""
        connection = self.connection
        with transaction(connection):
            _update_words(connection)
            stored_passages.update_passages(connection)
            gone = sources.remove_sources(connection, remove)
            may_return = any(change.added for _, change in diffs)
            for _, change in diffs:
                if may_return:
                    self._kept |= vectors.of_notes(connection, [*change.removed], MAX_KEPT_VECTORS)
                stored_notes.remove(connection, change.removed)
                gone += len(change.removed)
            for snapshot, change in diffs:
                stored_notes.relink(connection, snapshot.source)
                locked = [each for each in (*change.changed, *change.moved) if each[1].encrypted]
                if locked:
                    stored_notes.write(connection, snapshot.config.name, locked)
                self._has_withdrawn |= bool(locked)
                # Without its state, so that the next run reads it again if this one dies too early.
                self._write_source(snapshot, state="")
            self._has_withdrawn |= gone > 0
            # Stored in the file, because after a run that dies, the next may find no changes.
            if gone or any(change.changed or change.moved for _, change in diffs):
                set_meta(connection, old_text_in_fts="yes")
            if gone or remove or any(change.count for _, change in diffs):
                set_meta(connection, links_to_resolve="yes")
                mark_changed(connection, restricted.TEXT)
        self.report.removed += gone

    def _write_source(self, snapshot: Snapshot, *, state: str) -> None:
        read, count = now(), snapshot.count
        name = snapshot.config.name
        version, known = reader_version(), self.stored.get(name)
        if known and not snapshot.is_last:  # perhaps the rest can't be read, and stays as it was
            read, version = known.read or read, known.version or version
            count = max(count, self._counts.get(name, 0))
        if kept := self._missing.get(name):
            # The next run reads it again, and compares with what was there before these were gone.
            state, count = "", count + kept
            read = self.stored[name].read or read
        facts = state, read, count, version, tuple(snapshot.skipped)
        sources.write_source(
            self.connection, StoredSource(snapshot.config, *facts), snapshot.source
        )

    def _write_notes(self, source_name: str, change: Diff) -> None:
        connection = self.connection
        added = ((None, note) for note in change.added)
        # Encrypted notes have already been written.
        changed = (pair for pair in (*change.changed, *change.moved) if not pair[1].encrypted)
        most = self.hooks.notes_per_commit or NOTES_PER_COMMIT
        pairs = chain(added, changed)
        for batch in stored_passages.batches(
            pairs, most, lambda pair: len(pair[1].body) + len(pair[1].attachments)
        ):
            with transaction(connection):
                stored_notes.write(connection, source_name, batch, self.known_ids)
            self.hooks.on_commit()


def _update_words(connection: sqlite3.Connection) -> None:
    """Rebuild the word index if texts may now be split into other words than when indexed.

    Otherwise, deleting a note from it would leave words that were inserted at the time.
    """
    version = words_version()
    if get_meta(connection, "words_version") != version:
        schema.refill_words(connection)
        update_spellings(connection)
        set_meta(connection, words_version=version)


def now(timespec: str = "seconds") -> str:
    """Return the time as the index stores it, ISO 8601 UTC."""
    return datetime.now(timezone.utc).isoformat(timespec=timespec).replace("+00:00", "Z")
