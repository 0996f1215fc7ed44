"""A source's notes → the sidecar: what changed, what vanished, and the vectors that are missing.

Text comes first and is searchable as soon as it is committed; vectors follow in batches, each committed. A run that
is killed leaves a sidecar that works, and the next run does what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from . import calibration, schema, sidecar, stored_notes
from .embedders import Embedder, ModelUnavailable
from .notes import Note
from .passages import passages
from .sources import Source
from .sources.bear import BearLibrary

# Notes a transaction: few enough that a search never waits long for the lock, enough that commits cost little.
NOTES_PER_COMMIT = 500

# Passages a transaction: some seconds of work on a slow machine, which is all that a kill can lose.
PASSAGES_PER_COMMIT = 128

# Passages that are sorted by length before they are cut into batches. Batches of equal lengths need no padding.
PASSAGES_PER_WINDOW = 4096


class IndexBusy(Exception):
    """Another run is writing this sidecar."""


@dataclass(frozen=True)
class Reading:
    """The notes of a source, and the state that the source was in just before they were read."""

    source: Source
    state: str
    notes: list[Note]
    include_trashed: bool
    seconds: float


@dataclass(frozen=True)
class Changes:
    """How a source differs from what the sidecar holds of it."""

    added: tuple[Note, ...]
    changed: tuple[tuple[int, Note], ...]  # with their ids in the sidecar
    removed: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.added) + len(self.changed) + len(self.removed)


@dataclass
class Report:
    """What a run did."""

    notes: int = 0  # in the sidecar afterwards
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    refused: int = 0  # passages for which the model gave no usable vector
    pending: int = 0  # passages that still have no vector
    read_seconds: float = 0.0
    text_seconds: float = 0.0
    embed_seconds: float = 0.0
    size: int = 0  # bytes
    notices: list[str] = field(default_factory=list)


def read(source: Source, *, include_trashed: bool = False) -> Reading:
    """Read a source whole.

    :raises SourceError: if it can't be read
    """
    started = time.perf_counter()
    state = (
        source.state()
    )  # before the notes: a change in between shows as one more run, never as none
    notes = source.read(include_trashed=include_trashed)
    return Reading(source, state, notes, include_trashed, time.perf_counter() - started)


def index(
    path: Path,
    readings: Sequence[Reading],
    embedder: Embedder | None,
    *,
    rebuild: bool = False,
    verify_model: bool = False,
    on_text: Callable[[Report], None] = lambda report: None,
    on_embedded: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Bring the sidecar at ``path`` to exactly the notes of ``readings``.

    :param embedder: makes the vectors; None leaves passages without one
    :param verify_model: load the model even if no passage waits, to see whether the stored vectors are its own
    :param on_text: called when all text is searchable
    :param on_embedded: called with how many of how many vectors are made: once before the first, then after each batch
    :raises IndexBusy: if another run is at work
    :raises SidecarError: if the sidecar can't be written
    """
    report = Report(read_seconds=sum(reading.seconds for reading in readings))
    with _only_run(path), sidecar.open_for_writing(path) as connection:
        started = time.perf_counter()
        if rebuild:
            sidecar.reset(connection)
        _write_text(connection, readings, report)
        report.text_seconds = time.perf_counter() - started
        report.pending = sidecar.read_state(connection).pending
        on_text(report)
        if embedder is not None:
            started = time.perf_counter()
            try:
                _embed(connection, embedder, verify_model, report, on_embedded)
            except ModelUnavailable as error:
                report.notices.append(f"{error} Until then, notes are found by their words only.")
            report.embed_seconds = time.perf_counter() - started
        with sidecar.transaction(connection):
            sidecar.set_meta(connection, indexed=now())
        state = sidecar.read_state(connection)
        report.notes, report.pending = state.notes, state.pending
    report.size = path.stat().st_size
    return report


def changes(connection: sidecar.sqlite3.Connection, reading: Reading) -> Changes:
    """What :func:`index` would do for a source: reads only."""
    known = stored_notes.fingerprints(connection, reading.source.name)
    added, changed = [], []
    for note in reading.notes:
        note_id, fingerprint = known.pop(note.key, (None, None))
        if note_id is None:
            added.append(note)
        elif fingerprint != note.fingerprint():
            changed.append((note_id, note))
    return Changes(tuple(added), tuple(changed), tuple(note_id for note_id, _ in known.values()))


def stored_sources(connection: sidecar.sqlite3.Connection) -> list[Source]:
    """The sources that the sidecar was made from."""
    return [
        BearLibrary(location, name=name)
        for name, location in connection.execute("select name, location from sources order by name")
    ]


def count_changes(connection: sidecar.sqlite3.Connection, source: Source) -> int:
    """Notes of a source that were added, changed or removed since it was indexed.

    :raises SourceError: if it can't be read
    """
    [include_trashed] = connection.execute(
        "select include_trashed from sources where name = ?", [source.name]
    ).fetchone()
    return changes(connection, read(source, include_trashed=bool(include_trashed))).count


def now() -> str:
    """The present moment as the sidecar writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def _only_run(path: Path) -> Iterator[None]:
    # Costs 40 ms to import, and only a run that writes needs it.
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(f"{path}.lock", timeout=0):
            yield
    except filelock.Timeout:
        raise IndexBusy(
            f"Another datasette bear-index is already writing {path}. Wait until it has finished; "
            "searching works meanwhile."
        ) from None


def _write_text(
    connection: sidecar.sqlite3.Connection, readings: Sequence[Reading], report: Report
) -> None:
    todo = [(reading, changes(connection, reading)) for reading in readings]
    with sidecar.transaction(connection):
        stored_notes.cut_again(connection)
        # What left the library leaves the sidecar before anything else happens.
        vanished = stored_notes.ids_outside(
            connection, [reading.source.name for reading in readings]
        )
        removed = [*vanished, *(note_id for _, change in todo for note_id in change.removed)]
        encrypted = [
            (reading.source.name, note_id, note)
            for reading, change in todo
            for note_id, note in change.changed
            if note.encrypted
        ]
        stored_notes.remove(connection, removed)
        for source_name, note_id, note in encrypted:
            stored_notes.update(connection, source_name, note_id, note)
        for reading in readings:
            stored_notes.write_source(
                connection,
                reading.source,
                state=reading.state,
                read=now(),
                notes=len(reading.notes),
                include_trashed=reading.include_trashed,
            )
        stored_notes.forget_sources(connection, [reading.source.name for reading in readings])
        if removed or any(change.changed for _, change in todo):
            sidecar.set_meta(connection, old_text_in_fts="yes")
    for reading, change in todo:
        source_name = reading.source.name
        for batch in _batches(change.added, NOTES_PER_COMMIT):
            with sidecar.transaction(connection):
                for note in batch:
                    stored_notes.insert(connection, source_name, note)
        for batch in _batches(
            [pair for pair in change.changed if not pair[1].encrypted], NOTES_PER_COMMIT
        ):
            with sidecar.transaction(connection):
                for note_id, note in batch:
                    stored_notes.update(connection, source_name, note_id, note)
        report.added += len(change.added)
        report.changed += len(change.changed)
        report.removed += len(change.removed)
    report.removed += len(vanished)
    with sidecar.transaction(connection):
        stored_notes.resolve_links(connection)
        stored_notes.remove_unused_tags(connection)
        if sidecar.get_meta(connection, "old_text_in_fts"):
            # FTS5 only marks words as deleted. Merging all its segments writes the index anew without them, and
            # secure_delete overwrites the old pages.
            for table in ("notes_fts", schema.WORDS):
                connection.execute(f"insert into {table} ({table}) values ('optimize')")
            connection.execute("delete from meta where key = 'old_text_in_fts'")


def _embed(
    connection: sidecar.sqlite3.Connection,
    embedder: Embedder,
    verify_model: bool,
    report: Report,
    on_embedded: Callable[[int, int], None],
) -> None:
    state = sidecar.read_state(connection)
    if not state.pending and state.model == embedder.name and not verify_model:
        return  # nothing to do, and no need to load a model to know it
    if not sidecar.has_vector_extension(connection):
        report.notices.append(
            "This Python can't load sqlite-vec, so notes are found by their words only. "
            "Install pysqlite3 (pip install pysqlite3) or use a Python that can load SQLite extensions."
        )
        return
    embedder.load()
    with sidecar.transaction(connection):
        if state.fingerprint != embedder.fingerprint:
            sidecar.drop_vectors(connection)
            sidecar.set_meta(
                connection,
                model=embedder.name,
                dimension=embedder.dimension,
                fingerprint=embedder.fingerprint,
            )
        sidecar.create_passage_index(connection, embedder.dimension)
        stored_notes.cut_again(connection, embedder.max_tokens)
    total = sidecar.read_state(connection).pending
    done = 0
    if total:
        on_embedded(done, total)
    for batch in _pending_passages(connection):
        vectors = embedder.embed_documents([text for _, text in batch])
        rows = [
            (passage_id, vector)
            for (passage_id, _), vector in zip(batch, vectors)
            if vector is not None
        ]
        with sidecar.transaction(connection):
            sidecar.add_vectors(connection, rows)
        report.embedded += len(rows)
        report.refused += len(batch) - len(rows)
        done += len(batch)
        on_embedded(done, total)
    if report.embedded or sidecar.get_meta(connection, "floor") is None:
        calibration.calibrate(connection, embedder)
    if report.refused:
        report.notices.append(
            f"The model gave no usable vector for {report.refused} passages. They are found by their words only."
        )


def _pending_passages(connection: sidecar.sqlite3.Connection) -> Iterator[list[tuple[int, str]]]:
    """Batches of (passage id, text to embed); within a window those of like length stand together."""
    last = 0
    while True:
        window = connection.execute(
            "select id, note_id, position from passages where not embedded and id > ? order by id limit ?",
            [last, PASSAGES_PER_WINDOW],
        ).fetchall()
        if not window:
            return
        last = window[-1][0]
        wanted: dict[int, dict[int, int]] = {}
        for passage_id, note_id, position in window:
            wanted.setdefault(note_id, {})[position] = passage_id
        texts = []
        max_tokens = stored_notes.max_tokens(connection)
        for note_id, positions in wanted.items():
            title, body = connection.execute(
                "select title, body from notes where id = ?", [note_id]
            ).fetchone()
            for passage in passages(title, body, max_tokens=max_tokens):
                if passage.position in positions:
                    texts.append((positions[passage.position], passage.text))
        texts.sort(key=lambda pair: len(pair[1]))
        yield from _batches(texts, PASSAGES_PER_COMMIT)


def _batches(items: Sequence, size: int) -> Iterator[Sequence]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
