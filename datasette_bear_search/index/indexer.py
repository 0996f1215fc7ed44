"""How close in meaning is close? The cosine below which nothing in this library is really about a query."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

from ..embeddings.base import Embedder, ModelUnavailable
from ..notes import Note
from ..sources import SourceError
from ..sources.registry import SourceConfig
from ..sqlite import sqlite3
from . import database, schema, vectors
from . import rows as folding
from . import rows as stored_notes
from . import rows as stored_sources
from . import vectors as passage_index
from .changes import Changes, Reading, changes, known_sources, read, read_if_changed, reader_version
from .chunking import passages
from .rows import Prepared, StoredSource

# Words that have nothing to do with each other: what a library holds that is nearest to them is near by chance. Each
# triple is about nothing, so that no library is about it.
UNRELATED = (
    "purple anvil homework", "tax giraffe clarinet", "velvet tractor vowel", "marble insurance penguin",
    "yogurt satellite glove", "violin gravel election", "cactus invoice lullaby", "hammer mist parliament",
    "pillow uranium bishop", "lobster algebra curtain", "candle bicycle enzyme", "trumpet moss mortgage",
    "snow ledger papaya", "dragon sewer almanac", "pepper orbit sandal", "thimble glacier jury",
    "carpet volcano tuba", "button harvest sonar", "wig monsoon calculus", "ladder saffron treaty",
    "walrus zipper opera", "kettle comet lawyer", "broom plasma verse", "igloo mustard census",
)  # fmt: skip

# Standard deviations above the mean nearest similarity of unrelated queries. On five test collections that comes to .26
# to .39; 95 of 100 of their own queries are closer than .43 (single words than .27), of nonsense at most one in ten than that.
DEVIATIONS = 1.5

# Of a large library, the nearest passages by signs among which the nearest one is looked for.
LOOKED_AT = 50


def floor(connection: sqlite3.Connection, embedder: Embedder) -> float | None:
    """The cosine similarity that few unrelated queries reach; None without vectors.

    Something is nearer by chance in a larger library, or in one of many subjects: that is why it is measured on the
    library itself.

    :raises ModelUnavailable: if the model can't be loaded
    """
    vectors = [
        closest
        for vector in embedder.embed_queries(UNRELATED)
        if vector and (closest := _closest(connection, vector)) is not None
    ]
    if len(vectors) < 2:
        return None
    return statistics.mean(vectors) + DEVIATIONS * statistics.stdev(vectors)


def _closest(connection: sqlite3.Connection, vector: bytes) -> float | None:
    """The greatest similarity of a vector to a passage; None if there are no passages."""
    vectors.register(connection)
    [similarity] = connection.execute(
        f"select max(value) from json_each(nearest_passages(:vector, {LOOKED_AT}))",
        {"vector": vector},
    ).fetchone()
    return similarity


def calibrate(connection: sqlite3.Connection, embedder: Embedder) -> None:
    """Measure the floor and keep it in the sidecar.

    :raises ModelUnavailable: if the model can't be loaded
    """
    measured = floor(connection, embedder)
    with database.transaction(connection):
        database.set_meta(connection, floor=None if measured is None else round(measured, 4))


# The vectors that are missing: made in batches, each committed, so that a run that dies loses little.

# Passages a transaction: some seconds of work on a slow machine, which is all that a kill can lose.
PASSAGES_PER_COMMIT = 128

# Passages that are sorted by length before they are cut into batches. Batches of equal lengths need no padding.
PASSAGES_PER_WINDOW = 4096

# Measuring takes as long as two dozen searches, and what one changed note does to it is nothing.
RECALIBRATE_SHARE = 0.05


@dataclass
class Embedded:
    """What a run of the model did."""

    count: int = 0
    refused: int = 0  # passages for which the model gave no usable vector
    notices: list[str] = field(default_factory=list)


def embed_pending(
    connection: sqlite3.Connection,
    embedder: Embedder,
    *,
    verify_model: bool = False,
    on_embedded: Callable[[int, int], None] = lambda done, total: None,
) -> Embedded:
    """Make the vectors of all passages that have none, or of all of them if the stored ones are another model's.

    :param verify_model: load the model even if no passage waits, to see whether the stored vectors are its own
    :raises ModelUnavailable: if the model can't be loaded
    """
    run = Embedded()
    can_index = database.has_vector_extension(connection)
    state = database.read_state(connection)
    if not state.pending and state.model == embedder.name and not verify_model:
        # Nothing to do, and no need to load a model to know it. But another version may have laid out the index.
        if can_index and state.has_vectors:
            with database.transaction(connection):
                passage_index.prepare(connection)
        return run
    if not can_index:
        run.notices.append(
            "This Python can't load sqlite-vec, so notes are found by their words only. "
            "Install pysqlite3 (pip install pysqlite3) or use a Python that can load SQLite extensions."
        )
        return run
    embedder.load()
    _prepare(connection, embedder, is_other_model=state.fingerprint != embedder.fingerprint)
    total = database.read_state(connection).pending
    done = 0
    if total:
        on_embedded(done, total)
    embedder.prepare_for_batch(total)
    for batch in _pending_passages(connection, embedder):
        vectors = embedder.embed_documents([text for _, text in batch])
        rows = [
            (passage_id, vector)
            for (passage_id, _), vector in zip(batch, vectors)
            if vector is not None
        ]
        with database.transaction(connection):
            passage_index.add(connection, rows)
        run.count += len(rows)
        run.refused += len(batch) - len(rows)
        done += len(batch)
        on_embedded(done, total)
    _calibrate(connection, embedder, run.count)
    if run.refused:
        run.notices.append(
            f"The model gave no usable vector for {run.refused} passages. They are found by their words only."
        )
    return run


def batches(items: Sequence, size: int) -> Iterator[Sequence]:
    """The items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _prepare(connection: sqlite3.Connection, embedder: Embedder, *, is_other_model: bool) -> None:
    with database.transaction(connection):
        if is_other_model:
            passage_index.drop(connection)
            database.set_meta(
                connection,
                model=embedder.name,
                dimension=embedder.dimension,
                fingerprint=embedder.fingerprint,
            )
        stored_notes.cut_again(connection, embedder.max_tokens)
        # After it, when it is known how many passages there are.
        passage_index.prepare(connection)


def _calibrate(connection: sqlite3.Connection, embedder: Embedder, new: int) -> None:
    """Measure anew how close close is, when so many passages are new that it may be different now."""
    new += int(database.get_meta(connection, "uncalibrated") or 0)
    [count] = connection.execute("select count(*) from passages").fetchone()
    if new > RECALIBRATE_SHARE * count or database.get_meta(connection, "floor") is None:
        calibrate(connection, embedder)
        new = 0
    with database.transaction(connection):
        database.set_meta(connection, uncalibrated=new)


def _pending_passages(
    connection: sqlite3.Connection, embedder: Embedder
) -> Iterator[Sequence[tuple[int, str]]]:
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
        # Not by letters: passages are cut to like numbers of them, and half as many tokens again would be filled up.
        lengths = embedder.lengths([text for _, text in texts])
        texts = [pair for _, pair in sorted(zip(lengths, texts), key=lambda item: item[0])]
        yield from batches(texts, PASSAGES_PER_COMMIT)


# Sources' notes → the sidecar: what changed, what vanished, and the vectors that are missing.
#
# Text comes first and is searchable as soon as it is committed; vectors follow in batches, each committed. A run that
# is killed leaves a sidecar that works, and the next run does what is left. A source that can't be read keeps what the
# sidecar has of it, and keeps no other source from being indexed.

__all__ = ["IndexBusy", "Report", "index", "now", "read", "update"]

# Notes a transaction, and characters in them: few enough that a search never waits long for the lock and that they don't
# fill the memory, enough that commits cost little.
NOTES_PER_COMMIT = 1000
CHARACTERS_PER_COMMIT = 4_000_000


class IndexBusy(Exception):
    """Another run is writing this sidecar."""


@dataclass(frozen=True)
class Failure:
    """A source that couldn't be read, and why, for people."""

    source: str
    message: str


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
    failures: list[Failure] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    model_failure: str | None = None  # also one of the notices


@dataclass(frozen=True)
class Hooks:
    """What is told how a run goes. Each is called in the thread of the run."""

    on_read: Callable[[SourceConfig, Reading | None], None] = lambda config, reading: None
    """After each source; None instead of a reading if nothing in it can have changed."""
    on_failure: Callable[[Failure], None] = lambda failure: None
    on_text: Callable[[Report], None] = lambda report: None
    """When all text is searchable."""
    on_embedded: Callable[[int, int], None] = lambda done, total: None
    """With how many of how many vectors are made: once before the first, then after each batch."""


SILENT = Hooks()


def update(
    path: Path,
    configs: Sequence[SourceConfig],
    embedder: Embedder | None,
    *,
    remove: Iterable[str] = (),
    rebuild: bool = False,
    verify_model: bool = False,
    tidy: bool = True,
    hooks: Hooks = SILENT,
) -> Report:
    """Bring the sidecar at ``path`` to what the sources say now. Other sources in it stay as they are.

    :param embedder: makes the vectors; None leaves passages without one
    :param remove: names of sources whose notes leave the sidecar
    :param rebuild: empty the sidecar first; nothing happens if one of the sources can't be read
    :param verify_model: load the model even if no passage waits, to see whether the stored vectors are its own
    :param tidy: leave no trace of a note's old words in the file; without it that is left to a later run
    :raises IndexBusy: if another run is at work
    :raises SidecarError: if the sidecar can't be written
    """
    report = Report()
    with _only_run(path), ExitStack() as cleanup:
        connection = None
        if path.exists():
            connection = cleanup.enter_context(database.open_for_writing(path))
        readings = _read_all(connection, configs, rebuild, report, hooks)
        if connection is None:
            if not readings and report.failures:
                return report  # and leave no empty file behind
            connection = cleanup.enter_context(database.open_for_writing(path))
        if rebuild and report.failures:
            report.notices.append(
                "Nothing was rebuilt, because the notes of a source that can't be read would be lost. Mend it, or take "
                f"it out first: datasette bear-index --remove {report.failures[0].source}"
            )
            readings = []
        elif rebuild:
            database.reset(connection)
        _write_text(connection, readings, list(remove), tidy, report)
        hooks.on_text(report)
        if embedder is not None:
            _write_vectors(connection, embedder, report, hooks.on_embedded, verify_model)
        _finish(connection, path, report)
    return report


def index(
    path: Path,
    readings: Sequence[Reading],
    embedder: Embedder | None,
    *,
    on_embedded: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Write readings that are whole into the sidecar at ``path``; the rest is as in :func:`update`."""
    report = Report(read_seconds=sum(reading.seconds for reading in readings))
    with _only_run(path), database.open_for_writing(path) as connection:
        _write_text(connection, readings, [], True, report)
        if embedder is not None:
            _write_vectors(connection, embedder, report, on_embedded)
        _finish(connection, path, report)
    return report


def now() -> str:
    """The present moment as the sidecar writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_busy(path: Path) -> bool:
    """Whether a run is writing the sidecar at ``path``."""
    if not Path(f"{path}.lock").exists():
        return False
    try:
        with _only_run(path):
            return False
    except IndexBusy:
        return True
    except database.SidecarError:
        return False  # who may not write here can't know


@contextmanager
def _only_run(path: Path) -> Iterator[None]:
    # Costs 40 ms to import, and only a run that writes needs it.
    import filelock

    lock = filelock.FileLock(f"{path}.lock", timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except filelock.Timeout:
        raise IndexBusy(
            f"Another datasette bear-index is already writing {path}. Wait until it has finished; "
            "searching works meanwhile."
        ) from None
    except OSError as error:
        raise database.not_writable(path, error) from None
    try:
        yield
    finally:
        lock.release()


def _read_all(
    connection: sqlite3.Connection | None,
    configs: Sequence[SourceConfig],
    rebuild: bool,
    report: Report,
    hooks: Hooks,
) -> list[Reading]:
    stored: dict[str, StoredSource] = {}
    if connection is not None and not rebuild:
        stored = known_sources(connection)
    readings = []
    for config in configs:
        started = time.perf_counter()
        try:
            reading = read_if_changed(connection, config, stored.get(config.name))
        except SourceError as error:
            report.failures.append(Failure(config.name, str(error)))
            hooks.on_failure(report.failures[-1])
            continue
        finally:
            report.read_seconds += time.perf_counter() - started
        hooks.on_read(config, reading)
        if reading is not None:
            readings.append(reading)
        elif connection is not None:
            stored_sources.set_config_file(connection, config)
    return readings


def _write_text(
    connection: sqlite3.Connection,
    readings: Sequence[Reading],
    remove: list[str],
    tidy: bool,
    report: Report,
) -> None:
    started = time.perf_counter()
    todo = [(reading, changes(connection, reading)) for reading in readings]
    encrypted = [
        (reading.config.name, note_id, note)
        for reading, change in todo
        for note_id, note in change.changed
        if note.encrypted
    ]
    with database.transaction(connection):
        stored_notes.cut_again(connection)
        # What left a source leaves the sidecar before anything else happens.
        gone = [
            *stored_notes.ids_of(connection, remove),
            *(note_id for _, change in todo for note_id in change.removed),
        ]
        stored_notes.remove(connection, gone)
        max_tokens = stored_notes.max_tokens(connection)
        for source_name, note_id, note in encrypted:
            new = stored_notes.prepared(source_name, note, max_tokens)
            stored_notes.update(connection, note_id, new)
        stored_sources.forget(connection, remove)
        for reading in readings:
            # Without its state: a run that dies before the notes are written leaves it to be read again.
            _write_source(connection, reading, state="")
        if gone or any(len(change.changed) for _, change in todo):
            database.set_meta(connection, old_text_in_fts="yes")
        if gone or remove or any(change.count for _, change in todo):
            # Kept, because the run after one that dies may find nothing left to change but this.
            database.set_meta(connection, links_to_resolve="yes")
    for reading, change in todo:
        _write_notes(connection, reading.config.name, change, max_tokens)
        report.added += len(change.added)
        report.changed += len(change.changed)
    report.removed += len(gone)
    with database.transaction(connection):
        if database.get_meta(connection, "links_to_resolve"):
            stored_notes.resolve_links(connection)
            stored_notes.remove_unused_tags(connection)
            folding.fold(connection)
            connection.execute("delete from meta where key = 'links_to_resolve'")
        # What was deleted or encrypted never waits.
        if (tidy or gone or encrypted) and database.get_meta(connection, "old_text_in_fts"):
            _forget_old_words(connection)
        for reading, change in todo:
            stored_notes.set_stamps(connection, change.touched)
            _write_source(connection, reading, state=reading.state)
    report.pending = database.read_state(connection).pending
    report.text_seconds = time.perf_counter() - started


def _without_model(state: database.State, embedder: Embedder) -> str:
    """What it means for a person that the model can't be had now."""
    if not state.has_vectors:
        return "Until then, notes are found by their words only."
    if state.model != embedder.name:
        return f"Until then, the index keeps the model {state.model}."
    return "Until then, what is new is found by its words only."


def _write_vectors(
    connection: sqlite3.Connection,
    embedder: Embedder,
    report: Report,
    on_embedded: Callable[[int, int], None],
    verify_model: bool = False,
) -> None:
    started = time.perf_counter()
    try:
        run = embed_pending(
            connection,
            embedder,
            verify_model=verify_model,
            on_embedded=on_embedded,
        )
        report.embedded, report.refused = run.count, run.refused
        report.notices.extend(run.notices)
    except ModelUnavailable as error:
        report.model_failure = (
            f"{error} {_without_model(database.read_state(connection), embedder)}"
        )
        report.notices.append(report.model_failure)
    report.embed_seconds = time.perf_counter() - started


def _finish(connection: sqlite3.Connection, path: Path, report: Report) -> None:
    with database.transaction(connection):
        database.set_meta(connection, indexed=now())
    report.notes = database.count_notes(connection)
    report.pending = database.read_state(connection).pending
    report.size = path.stat().st_size


def _write_source(connection: sqlite3.Connection, reading: Reading, *, state: str) -> None:
    stored = StoredSource(
        reading.config,
        state=state,
        read=now(),
        notes=reading.count,
        skipped=reading.skipped,
        version=reader_version(),
    )
    stored_sources.write(connection, stored, reading.source)


def _write_notes(
    connection: sqlite3.Connection, source_name: str, change: Changes, max_tokens: int
) -> None:
    added = ((None, note) for note in change.added)
    # Encrypted ones are written already.
    changed = (pair for pair in change.changed if not pair[1].encrypted)
    for batch in _prepared_ahead(source_name, chain(added, changed), max_tokens):
        with database.transaction(connection):
            stored_notes.insert(connection, [new for note_id, new in batch if note_id is None])
            for note_id, new in batch:
                if note_id is not None:
                    stored_notes.update(connection, note_id, new)


def _prepared_ahead(
    source_name: str, notes: Iterable[tuple[int | None, Note]], max_tokens: int
) -> Iterator[list[tuple[int | None, Prepared]]]:
    """Notes with their ids, if they have any, in batches; while one is written, a thread makes the next."""
    batches = _prepared_batches(source_name, notes, max_tokens)
    with ThreadPoolExecutor(max_workers=1) as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch


def _prepared_batches(
    source_name: str, notes: Iterable[tuple[int | None, Note]], max_tokens: int
) -> Iterator[list[tuple[int | None, Prepared]]]:
    batch, characters = [], 0
    for note_id, note in notes:
        batch.append((note_id, stored_notes.prepared(source_name, note, max_tokens)))
        characters += len(note.body) + len(note.attachments)
        if len(batch) == NOTES_PER_COMMIT or characters >= CHARACTERS_PER_COMMIT:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _forget_old_words(connection: sqlite3.Connection) -> None:
    # FTS5 only marks words as deleted. Merging all its segments writes the index anew without them, and secure_delete
    # overwrites the old pages.
    for table in ("notes_fts", schema.WORDS):
        connection.execute(f"insert into {table} ({table}) values ('optimize')")
    connection.execute("delete from meta where key = 'old_text_in_fts'")
