"""Sources → the index file: write changed notes, remove deleted ones, make missing vectors.

Text comes first and can be searched once committed; vectors follow, batch by batch. A run that is
killed leaves a working index, and the next run completes it. If a source can't be read, its notes
stay in the index, and the other sources are indexed all the same.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path

from ...embeddings import registry
from ...embeddings.base import Embedder
from ...notes import ForeseenError
from ...sources.base import SourceConfig, SourceError
from ...sources.files import readonly
from ...sqlite import sqlite3
from .. import restricted
from ..file import database, metadata, schema, sources, vectors
from ..file import notes as stored_notes
from ..file.database import transaction
from ..file.metadata import get_meta, set_meta
from ..file.sources import StoredSource
from . import calibration, lock
from .changes import Snapshot, missing_in_rebuild, read, read_if_changed
from .embedding import VectorRun
from .lock import IndexBusy, is_busy, only_run
from .report import SILENT, Failure, Hooks, Report
from .text import TextRun, now

__all__ = ["index", "read", "restricted_index", "update", "update_restricted"]


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
    with only_run(path, lock.RUN_SECONDS), ExitStack() as cleanup:
        connection, is_older = None, False
        stored: dict[str, StoredSource] = {}
        if path.exists():
            connection = cleanup.enter_context(database.open_for_writing(path))
            is_older = not schema.is_current(connection)
            if tags := restricted.tags_of(connection):
                raise database.SidecarError(
                    f"{path} holds another index's notes without {', '.join(tags)}, and is kept up "
                    f"to date with it. {database.ELSEWHERE}"
                )
            stored = sources.read_sources(connection)
        if is_older:
            # Rebuild it, including the sources that weren't requested.
            known = [source.config for source in stored.values()]
            wanted = {config.name: config for config in [*known, *configs]}
            configs = [config for name, config in wanted.items() if name not in remove]
            rebuild = True
        snapshots = _read_all(connection, configs, stored, report, hooks, rebuild=rebuild, yes=yes)
        known_ids: dict[tuple[str, str], int] = {}
        if connection is None:
            if not snapshots and report.failures:
                return report  # without leaving an empty file behind
            connection = cleanup.enter_context(database.open_for_writing(path))
        elif rebuild and report.failures:
            source, message, _ = report.failures[0]
            why = "Nothing was rebuilt"
            if is_older:
                why = "An earlier version made the index, so it has to be made anew"
            raise database.SidecarError(
                f"{why}. That takes reading all sources, and {source} can't be read: {message} "
                f"If it is gone for good, take it out first: datasette bear-index --remove {source}"
            )
        elif rebuild:
            known_ids = empty(connection)
        if embedder is not None:
            _remember_model(connection, embedder.name)
        text = TextRun(connection, report, hooks, known_ids, {} if yes else stored)
        text.write(snapshots, list(remove), tidy=tidy)
        errors = {each.source: each[1:] for each in [*report.failures, *report.kept]}
        sources.write_tries(connection, configs, errors)
        # What left the index leaves these now, not after the vectors, which may take hours.
        _update_all_restricted(path, None, report, hooks)
        if embedder is not None:
            VectorRun(connection, embedder, report, hooks).write(verify_model=verify_model)
        _end(path, connection, report, has_model=embedder is not None)
        usable = None if report.model_failure else embedder
        _update_all_restricted(path, usable, report, hooks)
    return report


def index(
    path: Path, snapshots: Sequence[Snapshot], embedder: Embedder | None, hooks: Hooks = SILENT
) -> Report:
    """Write snapshots into the index file at ``path``; otherwise the same as :func:`update`."""
    report = Report()
    with only_run(path, lock.RUN_SECONDS), database.open_for_writing(path) as connection:
        if not schema.is_current(connection):
            empty(connection)
        TextRun(connection, report, hooks).write(snapshots)
        if embedder is not None:
            VectorRun(connection, embedder, report, hooks).write()
        _end(path, connection, report, has_model=embedder is not None)
    return report


def empty(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Empty an index file of any version, but keep judgments, saved searches and sources.

    Return the ids of its notes by source and key, which get them again.
    """
    # Importing it takes 60-200 ms, and only this function needs it.
    import sqlite_utils

    known_ids = stored_notes.ids_by_key(connection)
    connection.execute("pragma foreign_keys = off")
    # The file isn't replaced, because servers have it open. In one transaction, so that searches
    # always see tables and a run that is killed here loses nothing.
    with transaction(connection):
        db = sqlite_utils.Database(connection)
        known = map(db.table, (schema.SOURCES, schema.JUDGMENTS))
        tables = [table for table in known if table.exists()]
        # In a damaged file, the table may contain another table's rows, which aren't judgments.
        where = {schema.JUDGMENTS: "typeof(grade) = 'integer'"}
        kept = [
            (table, row)
            for table in tables
            for row in table.rows_where(where.get(table.name), order_by="rowid")
        ]
        saved = None
        with suppress(sqlite3.Error):  # the file may be damaged
            saved = get_meta(connection, metadata.SAVED_SEARCHES)
        schema.drop(connection)
        schema.create(connection)
        if saved:
            set_meta(connection, **{metadata.SAVED_SEARCHES: saved})
        for table, row in kept:
            # Another version may have stored columns that no longer exist.
            values = {name: row[name] for name in table.columns_dict if name in row}
            connection.execute(
                f"insert into {table.name} ({', '.join(values)}) "
                f"values ({', '.join(f':{name}' for name in values)})",
                values,
            )
        # There are no notes now, so each source has to be read again.
        connection.execute(f"update {schema.SOURCES} set state = '', notes = 0")
        set_meta(connection, **{stored_notes.LAST_ID: max(known_ids.values(), default=0)})
    connection.execute("pragma foreign_keys = on")
    return known_ids


def _remember_model(connection: sqlite3.Connection, model: str) -> None:
    """Note a model that a person chose, in case the run is stopped before it has been loaded."""
    present = get_meta(connection, "model") or registry.default_model()
    if model not in (present, get_meta(connection, metadata.NEXT_MODEL)):
        with transaction(connection):
            vectors.begin_next(connection, model, fingerprint="")


def _end(path: Path, connection: sqlite3.Connection, report: Report, *, has_model: bool) -> None:
    """Note that a run has read all that it should, and what the index has now."""
    semantic = None if has_model else metadata.NO
    # Not if a source failed: its notes are as old as before.
    indexed = get_meta(connection, "indexed") if report.failures else None
    set_meta(connection, indexed=indexed or now("milliseconds"), **{metadata.SEMANTIC: semantic})
    report.notes = metadata.count_notes(connection)
    report.pending = database.read_state(connection).pending
    report.size = path.stat().st_size


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
        except (database.SidecarError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and not database.is_damage(error):
                raise database.SidecarError(database.explained(error)) from error
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
        cleanup.enter_context(only_run(file, lock.RUN_SECONDS))
        connection = cleanup.enter_context(database.open_for_writing(file))
        known_ids = {} if schema.is_current(connection) else empty(connection)
        # Before reading, so that a change in between is noticed the next time.
        made_from = restricted.change_tokens(whole)
        with transaction(connection):
            restricted.take_settings(whole, connection, tags)
        report = Report()
        text = TextRun(connection, report, hooks, known_ids)
        text.write(*restricted.read(whole, connection, tags))
        with transaction(connection):
            calibration.count_new(connection, restricted.copy_vectors(whole, connection))
        if embedder is not None:
            VectorRun(connection, embedder, report, hooks).write()
            _end(file, connection, report, has_model=True)
        with transaction(connection):
            # But not the sources' errors, which may count hidden notes.
            then = dict(zip((restricted.TEXT_THEN, restricted.VECTORS_THEN), made_from))
            set_meta(connection, indexed=get_meta(whole, "indexed"), **then)


def _update_all_restricted(
    path: Path, embedder: Embedder | None, report: Report, hooks: Hooks
) -> None:
    for tags in restricted.wanted(path):
        try:
            update_restricted(path, tags, embedder, hooks)
        except (ForeseenError, sqlite3.Error) as error:
            report.notices.append(
                f"Those who may not see {', '.join(tags)} get notes as they were: "
                f"{database.explained(error)}"
            )


def _embedder_of(path: Path) -> Embedder | None:
    """Return the index's model, unless a run still has to make vectors."""
    with closing(database.connect(path)) as connection:
        state = database.read_state(connection)
    has_all = state.model and state.has_vectors and not state.pending and not state.skips_vectors
    return registry.get_embedder(str(state.model)) if has_all else None


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
                if known and not yes:
                    failure = missing_in_rebuild(connection, last, known)
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
