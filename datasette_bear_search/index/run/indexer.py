"""Sources → the index file: write changed notes, remove deleted ones, make missing vectors.

Text comes first and can be searched once committed; vectors follow, batch by batch. A run that is
killed leaves a working index, and the next run completes it. If a source can't be read, its notes
stay in the index, and the other sources are indexed all the same.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...embeddings import registry
from ...embeddings.base import Embedder, ModelUnavailable
from ...languages import words_version
from ...notes import ForeseenError, Note, counted
from ...sources.base import SourceConfig, SourceError
from ...sources.files import readonly
from ...sqlite import sqlite3
from .. import restricted
from ..file import database, metadata, schema, sources, templates, vectors
from ..file import notes as stored_notes
from ..file import passages as stored_passages
from ..file.database import transaction
from ..file.metadata import get_meta, set_meta
from ..file.sources import StoredSource
from . import calibration
from .changes import (
    Diff,
    Snapshot,
    diff,
    missing,
    missing_in_rebuild,
    read,
    read_if_changed,
    reader_version,
)
from .chunking import passages, without_shared

__all__ = ["IndexBusy", "Report", "index", "read", "update"]

# Maximum notes in a transaction, and characters in them: few enough that no search waits long for
# the lock and memory suffices, but enough that commits cost little.
NOTES_PER_COMMIT = 10_000
CHARACTERS_PER_COMMIT = 4_000_000
# Seconds to wait for other runs: bear-serve and --watch write for about a second at each change.
RUN_SECONDS = 10.0
# Passages in a transaction: some seconds of work on a slow machine, the most that a kill can lose.
PASSAGES_PER_COMMIT = 128
# Passages to sort by length before they are split into batches: equal lengths need no padding.
PASSAGES_PER_WINDOW = 4096
# Vectors of removed passages to keep in memory, in case another note has the same text: 30 MB.
MAX_KEPT_VECTORS = 20_000


class IndexBusy(ForeseenError):
    """Another run is writing this index file."""


class Failure(NamedTuple):
    """A source that couldn't be read, or has lost many notes, and why, for people."""

    source: str
    message: str
    missed: int | None = None  # when it first had lost them, in seconds since 1970


@dataclass
class Report:
    """The result of a run."""

    notes: int = 0  # in the index afterwards
    added: int = 0
    changed: int = 0
    moved: int = 0  # to another place in their source
    removed: int = 0
    embedded: int = 0
    refused: int = 0  # passages for which the model gave no vector
    pending: int = 0  # passages that still wait for one
    pace: float | None = None  # recent speed, in passages per second
    read_seconds: float = 0.0
    text_seconds: float = 0.0
    embed_seconds: float = 0.0
    size: int = 0  # bytes
    failures: list[Failure] = field(default_factory=list)
    kept: list[Failure] = field(default_factory=list)  # sources whose missing notes stay for now
    notices: list[str] = field(default_factory=list)
    model_failure: str | None = None  # also one of the notices

    @property
    def has_changes(self) -> bool:
        return bool(self.added or self.changed or self.moved or self.removed)

    def changes_text(self) -> str:
        """Return the part of a message that follows the number of added notes."""
        moved = f"{self.moved:,} moved, " if self.moved else ""
        return f"{self.changed:,} changed, {moved}{self.removed:,} removed"


@dataclass(frozen=True)
class Hooks:
    """Callbacks on the progress of a run, called in its own thread, and the size of its steps."""

    on_read: Callable[[SourceConfig, Snapshot | None], None] = lambda config, snapshot: None
    """After each source; the snapshot is None if nothing in the source can have changed."""
    on_failure: Callable[[Failure], None] = lambda failure: None
    notes_per_commit: int | None = None
    """None: as many as are fastest."""
    on_commit: Callable[[], None] = lambda: None
    """After each transaction that writes notes, when nothing is locked."""
    on_text: Callable[[Report], None] = lambda report: None
    """When all text is searchable."""
    on_embedded: Callable[[int, int], None] = lambda done, total: None
    """With the number of vectors done and in total, before the first and after each batch."""
    on_export: Callable[[str], None] = lambda model: None
    """Before a model is exported to start faster, which takes a minute and happens once."""
    on_wait: Callable[[], None] = lambda: None
    """If another run is writing the index file, and this one waits for it."""


SILENT = Hooks()


def update(
    path: Path,
    configs: Sequence[SourceConfig],
    embedder: Embedder | None,
    *,
    remove: Collection[str] = (),
    rebuild: bool = False,
    yes: bool = False,
    verify_model: bool = False,
    tidy: bool = True,
    hooks: Hooks = SILENT,
) -> Report:
    """Bring the index file at ``path`` up to date with these sources; leave others unchanged.

    :param embedder: makes the vectors; None leaves new passages without one
    :param remove: names of sources to remove from the index, with their notes
    :param rebuild: empty the index first, unless one of the sources can't be read
    :param yes: remove notes even if a source has suddenly lost all or most of them
    :param verify_model: load the model even if no passage is pending, to compare its fingerprint
    :param tidy: remove all traces of old words from the file; otherwise a later run does it
    :raises IndexBusy: if another run is writing it
    :raises SidecarError: if the index can't be written
    """
    report = Report()
    readonly.remove_abandoned_copies()
    with _only_run(path, RUN_SECONDS, hooks), ExitStack() as cleanup:
        connection, is_older = None, False
        stored: dict[str, StoredSource] = {}
        if path.exists():
            connection = cleanup.enter_context(database.open_for_writing(path))
            if not rebuild and database.is_cut_off(connection):
                raise sqlite3.DatabaseError("its end is missing")
            is_older = not schema.is_current(connection)
            if tags := restricted.tags_of(connection):
                raise database.SidecarError(
                    f"{path} holds another index's notes without {', '.join(tags)}, and is kept up "
                    "to date with it. Choose another file with --sidecar."
                )
            stored = sources.read_sources(connection)
        if is_older:
            # Rebuild it, including the sources that weren't requested.
            known = [source.config for source in stored.values()]
            wanted = {config.name: config for config in [*known, *configs]}
            configs = [config for name, config in wanted.items() if name not in remove]
            rebuild = True
        snapshots = _read_all(connection, configs, stored, report, hooks, rebuild=rebuild, yes=yes)
        if is_older and report.failures:
            source, message, _ = report.failures[0]
            raise database.SidecarError(
                "An earlier version of datasette-bear-search made the index. It has to be made "
                f"anew, for which all of its sources have to be read, but {source} can't be read: "
                f"{message} If it is gone for good, take it out of the index with: "
                f"datasette bear-index --remove {source}"
            )
        if connection is None:
            if not snapshots and report.failures:
                return report  # without leaving an empty file behind
            connection = cleanup.enter_context(database.open_for_writing(path))
        if rebuild and report.failures:
            report.notices.append(
                "Nothing was rebuilt, because the notes of a source that can't be read would be "
                "lost. Fix it, or take it out first: datasette bear-index --remove "
                f"{report.failures[0].source}"
            )
            snapshots = []
        known_ids = {}
        if rebuild and not report.failures:
            known_ids = stored_notes.ids_by_key(connection)
            database.reset(connection)
            set_meta(connection, **{stored_notes.LAST_ID: max(known_ids.values(), default=0)})
        run = _Run(connection, embedder, report, hooks, known_ids, {} if yes else stored)
        run.write_text(snapshots, list(remove), tidy=tidy)
        errors = {each.source: each[1:] for each in [*report.failures, *report.kept]}
        sources.write_tries(connection, configs, errors)
        # What left the index leaves these now, not after the vectors, which may take hours.
        _update_all_restricted(path, None, report, hooks)
        run.write_vectors(path, verify_model=verify_model)
        _update_all_restricted(path, embedder, report, hooks)
    return report


def index(
    path: Path, snapshots: Sequence[Snapshot], embedder: Embedder | None, hooks: Hooks = SILENT
) -> Report:
    """Write snapshots into the index file at ``path``; otherwise the same as :func:`update`."""
    report = Report()
    with _only_run(path, RUN_SECONDS), database.open_for_writing(path) as connection:
        if not schema.is_current(connection):
            database.reset(connection)
        run = _Run(connection, embedder, report, hooks)
        run.write_text(snapshots)
        run.write_vectors(path)
    return report


# --- restricted indexes

_restricting = threading.Lock()


def restricted_index(path: Path, tags: Sequence[str]) -> Path:
    """Return the path of the index without the notes that have these tags; make or update it.

    :param path: the index with all notes
    :raises SidecarError: if either can't be used, or the restricted one is being made
    """
    file = restricted.file_for(path, tags)
    with _restricting:
        if restricted.is_current(path, file):
            return file
        try:
            # A run that is writing the index also brings this one up to date.
            if database.is_sidecar(file) and is_busy(path):
                return file
            update_restricted(path, tags, _embedder_of(path))
        except IndexBusy:
            if not database.is_sidecar(file):
                raise database.SidecarError(
                    "Notes are being prepared for those who may not see all of them. Try again in "
                    "a minute."
                ) from None
        except sqlite3.OperationalError as error:
            raise database.SidecarError(database.explained(error)) from error
        except (database.SidecarError, sqlite3.DatabaseError) as error:
            raise database.SidecarError(
                f"{file} can't be used ({error}). If it is damaged, delete it: it is made again "
                f"from {path}."
            ) from error
    return file


def update_restricted(
    path: Path, tags: Sequence[str], embedder: Embedder | None, hooks: Hooks = SILENT
) -> None:
    """Bring the restricted index without these tags up to date with the index at ``path``.

    Text that both have gets the vectors of the index. With an embedder, the few other passages get
    theirs, too, and what depends on all vectors is measured again.
    """
    file = restricted.file_for(path, tags)
    hooks = Hooks(notes_per_commit=hooks.notes_per_commit, on_commit=hooks.on_commit)
    with ExitStack() as cleanup:
        whole = cleanup.enter_context(closing(database.connect(path)))
        database.require_current(whole)
        cleanup.enter_context(_only_run(file, RUN_SECONDS))
        connection = cleanup.enter_context(database.open_for_writing(file))
        known_ids = {}
        if not schema.is_current(connection):
            known_ids = stored_notes.ids_by_key(connection)
            database.reset(connection)
            set_meta(connection, **{stored_notes.LAST_ID: max(known_ids.values(), default=0)})
        # Before reading, so that a change in between is noticed the next time.
        made_from = restricted.change_tokens(whole)
        with transaction(connection):
            restricted.take_settings(whole, connection, tags)
        run = _Run(connection, embedder, Report(), hooks, known_ids)
        run.write_text(*restricted.read(whole, connection, tags))
        with transaction(connection):
            calibration.count_new(connection, restricted.copy_vectors(whole, connection))
        if embedder is not None:
            run.write_vectors(file)
        with transaction(connection):
            restricted.take_state(whole, connection, made_from)


def _update_all_restricted(
    path: Path, embedder: Embedder | None, report: Report, hooks: Hooks
) -> None:
    for tags in restricted.wanted(path):
        try:
            update_restricted(path, tags, embedder, hooks)
        except (ForeseenError, sqlite3.Error) as error:
            words = database.explained(error) if isinstance(error, sqlite3.Error) else str(error)
            report.notices.append(
                f"Those who may not see {', '.join(tags)} get notes as they were: {words}"
            )


def _embedder_of(path: Path) -> Embedder | None:
    """Return the index's model, unless a run still has to make vectors."""
    with closing(database.connect(path)) as connection:
        state = database.read_state(connection)
    has_all = state.model and state.has_vectors and not state.pending and not state.skips_vectors
    return registry.get_embedder(str(state.model)) if has_all else None


def is_busy(path: Path) -> bool:
    """Return whether a run is writing the index file at ``path``."""
    if not Path(f"{path}.lock").exists():
        return False
    try:
        with _only_run(path):
            return False
    except (IndexBusy, database.SidecarError) as error:
        return isinstance(error, IndexBusy)  # without permission to write, assume it isn't


@contextmanager
def _only_run(path: Path, wait: float = 0.0, hooks: Hooks = SILENT) -> Iterator[None]:
    # Importing it takes 40 ms, and only runs that write need it.
    import filelock

    try:
        database.make_private_folder(path.parent)
        file = filelock.FileLock(f"{path}.lock", mode=0o600)
        try:
            lock = file.acquire(timeout=min(wait, 1))
        except filelock.Timeout:
            hooks.on_wait()
            lock = file.acquire(timeout=max(wait - 1, 0))
    except filelock.Timeout:
        raise IndexBusy(
            f"Another datasette bear-index is already writing {path}. Wait until it has finished; "
            "searching works meanwhile."
        ) from None
    except OSError as error:
        raise database.not_writable(path, error) from None
    with lock:
        yield


def _read_all(
    connection: sqlite3.Connection | None,
    configs: Iterable[SourceConfig],
    stored: Mapping[str, StoredSource],
    report: Report,
    hooks: Hooks,
    *,
    rebuild: bool,
    yes: bool,
) -> list[Snapshot]:
    """Return the changes in each source; before a rebuild, check that no notes would be lost."""
    snapshots = []
    for config in configs:
        started = time.perf_counter()
        try:
            known = stored.get(config.name)
            read_it = partial(read_if_changed, connection, config, known, rebuild=rebuild, yes=yes)
            snapshot, failure = read_it(), None
            if rebuild and connection and snapshot:  # after the index is emptied is too late
                [last] = deque(chain([snapshot], snapshot.rest), maxlen=1)
                if known and not yes and (lost := missing_in_rebuild(connection, last, known)).keys:
                    failure = Failure(config.name, lost.says, lost.since)
                snapshot = snapshot if snapshot.is_last else read_it()
        except SourceError as error:
            failure = Failure(config.name, str(error))
        finally:
            report.read_seconds += time.perf_counter() - started
        if failure:
            report.failures.append(failure)
            hooks.on_failure(failure)
            continue
        hooks.on_read(config, snapshot)
        if snapshot is not None:
            snapshots.append(snapshot)
        elif connection is not None:
            sources.set_config_file(connection, config)
    return snapshots


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class _Run:
    connection: sqlite3.Connection
    embedder: Embedder | None
    report: Report
    hooks: Hooks
    known_ids: Mapping[tuple[str, str], int] = field(default_factory=dict)  # by source and key
    stored: Mapping[str, StoredSource] = field(default_factory=dict)  # whose notes may be missing
    # Vectors of passages removed in this run, whose text may be in another note: hash → vector.
    _kept: dict[str, bytes] = field(default_factory=dict)
    _written: dict[int, Set[int]] = field(default_factory=dict)  # see rows.insert
    _counts: dict[str, int] = field(default_factory=dict)  # source → its notes before the run
    _missing: dict[str, int] = field(default_factory=dict)  # source → missing notes that stay

    def write_text(
        self, snapshots: Sequence[Snapshot], remove: Sequence[str] = (), *, tidy: bool = True
    ) -> None:
        started = time.perf_counter()
        counts = self.connection.execute("select source, count(*) from notes group by source")
        self._counts.update(counts)
        has_withdrawn = self._write_text(snapshots, remove)
        for snapshot in snapshots:
            has_withdrawn |= self._write_rest(snapshot)
        self._complete_text(optimize=tidy or has_withdrawn)
        self.report.text_seconds = time.perf_counter() - started
        self.hooks.on_text(self.report)

    def write_vectors(self, path: Path, *, verify_model: bool = False) -> None:
        """Make missing vectors, if there is a model, and end the run."""
        connection, embedder, report = self.connection, self.embedder, self.report
        started = time.perf_counter()
        try:
            if embedder is not None:
                self._write_vectors(embedder, verify_model)
        except ModelUnavailable as error:
            state = database.read_state(connection)
            consequence = "what is new is found by its words only"
            if not state.has_vectors:
                consequence = "notes are found by their words only"
            elif embedder is not None and state.model != embedder.name:
                consequence = f"the index keeps the model {state.model}"
            report.model_failure = f"{error} Until then, {consequence}."
            report.notices.append(report.model_failure)
        report.embed_seconds = time.perf_counter() - started
        semantic = metadata.NO if embedder is None else None
        set_meta(connection, indexed=_now(), **{metadata.SEMANTIC: semantic})
        report.notes = metadata.count_notes(connection)
        report.pending = database.read_state(connection).pending
        report.size = path.stat().st_size

    def _write_text(self, snapshots: Sequence[Snapshot], remove: Sequence[str]) -> bool:
        """Write the changes; return whether any text was withdrawn."""
        connection, report = self.connection, self.report
        diffs = [(each, self._without_missing(each, diff(connection, each))) for each in snapshots]
        has_withdrawn = self._withdraw(diffs, remove)
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
        return has_withdrawn

    def _without_missing(self, snapshot: Snapshot, change: Diff) -> Diff:
        """Return the changes without the removal of notes that may be missing by accident."""
        name = snapshot.config.name
        if not change.removed or name not in self.stored:
            return change
        gone, known = change.removed.values(), self._counts.get(name, 0)
        lost = missing(self.connection, snapshot, gone, known, self.stored[name])
        if not lost.keys:
            return change
        self.report.kept.append(Failure(name, lost.says, lost.since))
        self._missing[name] = len(lost.keys)
        removed = {it: key for it, key in change.removed.items() if key not in lost.keys}
        return replace(change, removed=removed)

    def _write_rest(self, first: Snapshot) -> bool:
        """Write the other parts of a source; return whether any text was withdrawn."""
        has_withdrawn = False
        if not first.is_last:
            first.notes.clear()  # so that only one part is in memory
        try:
            for snapshot in first.rest:
                self.hooks.on_read(first.config, snapshot)
                has_withdrawn |= self._write_text([snapshot], ())
                snapshot.notes.clear()
        except SourceError as error:
            self.report.failures.append(Failure(first.config.name, str(error)))
            self.hooks.on_failure(self.report.failures[-1])
        return has_withdrawn

    def _complete_text(self, *, optimize: bool) -> None:
        """Relate the notes to each other, and remove old words from the word index."""
        connection, report = self.connection, self.report
        with transaction(connection):
            if get_meta(connection, "links_to_resolve"):
                stored_notes.relate(connection, self._written)
                self._written.clear()
                connection.execute("delete from meta where key = 'links_to_resolve'")
                restricted.mark_text_changed(connection)
            if optimize and get_meta(connection, "old_text_in_fts"):
                # FTS5 only marks words as deleted. Merging all segments writes the index without
                # them, and secure_delete overwrites the old pages.
                for table in ("notes_fts", schema.WORD_INDEX):
                    connection.execute(f"insert into {table} ({table}) values ('optimize')")
                connection.execute("delete from meta where key = 'old_text_in_fts'")
            if database.has_vector_extension(connection):
                vectors.reuse(connection, self._kept)
        self._kept.clear()
        state = database.read_state(connection)
        report.pending, report.pace = state.pending, state.passages_per_second

    def _withdraw(self, diffs: Sequence[tuple[Snapshot, Diff]], remove: Sequence[str]) -> bool:
        """First of all, remove text that was deleted or encrypted; return whether any was."""
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
            encrypted = 0
            for snapshot, change in diffs:
                stored_notes.relink(connection, snapshot.source)
                locked = [each for each in (*change.changed, *change.moved) if each[1].encrypted]
                stored_notes.update(connection, snapshot.config.name, locked)
                encrypted += len(locked)
                # Without its state, so that the next run reads it again if this one dies too early.
                self._write_source(snapshot, state="")
            # Stored in the file, because after a run that dies, the next may find no changes.
            if gone or any(change.changed or change.moved for _, change in diffs):
                set_meta(connection, old_text_in_fts="yes")
            if gone or remove or any(change.count for _, change in diffs):
                set_meta(connection, links_to_resolve="yes")
                restricted.mark_text_changed(connection)
        self.report.removed += gone
        return gone + encrypted > 0

    def _write_source(self, snapshot: Snapshot, *, state: str) -> None:
        read, count = _now(), snapshot.count
        if kept := self._missing.get(snapshot.config.name):
            # The next run reads it again, and compares with what was there before these were gone.
            state, count = "", count + kept
            read = self.stored[snapshot.config.name].read or read
        facts = state, read, count, reader_version(), tuple(snapshot.skipped)
        sources.write_source(
            self.connection, StoredSource(snapshot.config, *facts), snapshot.source
        )

    def _write_notes(self, source_name: str, change: Diff) -> None:
        connection = self.connection
        added = ((None, note) for note in change.added)
        # Encrypted notes have already been written.
        changed = (pair for pair in (*change.changed, *change.moved) if not pair[1].encrypted)
        for batch in _commits(
            chain(added, changed), self.hooks.notes_per_commit or NOTES_PER_COMMIT
        ):
            fresh = [note for note_id, note in batch if note_id is None]
            stored = [(note_id, note) for note_id, note in batch if note_id is not None]
            with transaction(connection):
                written = stored_notes.insert(connection, source_name, fresh, self.known_ids)
                stored_notes.update(connection, source_name, stored)
            self.hooks.on_commit()
            self._written |= written

    def _write_vectors(self, embedder: Embedder, verify_model: bool) -> None:
        """Make missing vectors, or all of them if the stored ones are from another model."""
        connection, report = self.connection, self.report
        has_extension = database.has_vector_extension(connection)
        state = database.read_state(connection)
        is_complete = not state.pending and not calibration.is_due(connection)
        if is_complete and state.model == embedder.name and not verify_model:
            # No vectors are missing, so the model isn't needed. But the vec0 table may be stale.
            if has_extension:
                with transaction(connection):
                    vectors.prepare(connection)
            return
        if not has_extension:
            report.notices.append(
                "This Python can't load sqlite-vec, so notes are found by their words only. "
                "Install pysqlite3 (pip install pysqlite3) or use a Python that can load SQLite "
                "extensions."
            )
            return
        embedder.load()
        if embedder.dimension % 8:
            # Binary quantization packs eight dimensions into a byte.
            raise ModelUnavailable(
                f"Vectors of {embedder.dimension} numbers can't be indexed, only of a multiple of "
                f"8. Use --dimensions {embedder.dimension // 8 * 8 or 8}."
            )
        is_new = state.fingerprint != embedder.fingerprint
        similarity = calibration.unrelated_similarity(embedder) if is_new else 0.0
        with transaction(connection):
            if is_new:
                vectors.drop(connection)
                set_meta(connection, model=embedder.name, fingerprint=embedder.fingerprint)
                set_meta(connection, dimension=embedder.dimension)
                set_meta(connection, **{metadata.UNRELATED: str(similarity)})
                set_meta(connection, **{database.PROMPTS: json.dumps(embedder.prompts)})
            stored_passages.update_passages(connection, embedder.max_tokens)
            # This depends on the number of passages, so it comes last.
            vectors.prepare(connection)
        pending = self._pending_ids()
        done, total = 0, len(pending)
        if total:
            self.hooks.on_embedded(done, total)
        embedder.prepare_for_batch(total)
        started = time.perf_counter()
        for batch in self._batches(embedder, pending):
            made = embedder.embed_documents([text for _, text in batch])
            count = sum(vector is not None for vector in made)
            with transaction(connection):
                vectors.add(connection, [(it, vector) for (it, _), vector in zip(batch, made)])
                calibration.count_new(connection, count)
                done += len(batch)
                if done >= PASSAGES_PER_COMMIT:
                    pace = round(done / (time.perf_counter() - started), 2)
                    set_meta(connection, **{metadata.PACE: str(pace)})
            report.embedded += count
            report.refused += len(batch) - count
            self.hooks.on_embedded(done, total)
        if total:
            with transaction(connection):
                vectors.reuse(connection)
        calibration.renew(connection, embedder)
        if report.refused:
            report.notices.append(
                f"The model doesn't know most of the text of {counted(report.refused, 'passage')}, "
                "or failed to embed it, so that is found by its words only."
            )

    def _pending_ids(self) -> list[int]:
        # One passage of each text. Pinned and recent notes first: most searches are for them.
        sql = f"""
        select passages.content_hash, passages.id
        from passages
        join notes on notes.id = passages.note_id
        where passages.vector_state = '{schema.PENDING}'
        order by notes.pinned desc, notes.modified desc, passages.id
        """
        first: dict[str, int] = {}
        for content_hash, passage_id in self.connection.execute(sql):
            first.setdefault(content_hash, passage_id)
        return list(first.values())

    def _batches(
        self, embedder: Embedder, pending: Sequence[int]
    ) -> Iterator[Sequence[tuple[int, str]]]:
        """Yield batches of (passage id, text to embed), sorted by length within a window."""
        connection = self.connection
        max_tokens, shared = (
            stored_passages.max_tokens(connection),
            templates.shared_lines(connection),
        )
        for first in range(0, len(pending), PASSAGES_PER_WINDOW):
            ids = json.dumps(pending[first : first + PASSAGES_PER_WINDOW])
            sql = """
            select note_id, position, id
            from passages
            where id in (select value from json_each(?))
            """
            found = connection.execute(sql, [ids])
            wanted = {(note_id, position): passage_id for note_id, position, passage_id in found}
            texts = []
            for note_id in dict.fromkeys(note_id for note_id, _ in wanted):
                [note] = connection.execute("select title, body from notes where id = ?", [note_id])
                for passage in without_shared(passages(*note, max_tokens=max_tokens), shared):
                    if passage_id := wanted.get((note_id, passage.position)):
                        texts.append((passage_id, passage.text))
            # Lengths in tokens. By letters, there would be 50 % more tokens, all of them padding.
            lengths = embedder.lengths([text for _, text in texts])
            texts = [pair for _, pair in sorted(zip(lengths, texts), key=lambda item: item[0])]
            for start in range(0, len(texts), PASSAGES_PER_COMMIT):
                yield texts[start : start + PASSAGES_PER_COMMIT]


def _update_words(connection: sqlite3.Connection) -> None:
    """Rebuild the word index if texts may now be split into other words than when indexed.

    Otherwise, deleting a note from it would leave words that were inserted at the time.
    """
    version = words_version()
    if get_meta(connection, "words_version") != version:
        schema.refill_words(connection)
        set_meta(connection, words_version=version)


def _commits(
    notes: Iterable[tuple[int | None, Note]], most: int
) -> Iterator[list[tuple[int | None, Note]]]:
    batch, characters = [], 0
    for note_id, note in notes:
        batch.append((note_id, note))
        characters += len(note.body) + len(note.attachments)
        if len(batch) == most or characters >= CHARACTERS_PER_COMMIT:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
