"""A source's notes → how they differ from what the index file holds. Writes nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version

from ..notes import Note, fold_tag
from ..sources import Incremental, Source, SourceError, Unchanged
from ..sources.registry import SourceConfig, open_source
from ..sqlite import sqlite3
from . import rows as stored_notes
from . import rows as stored_sources
from . import schema
from .rows import StoredSource


@dataclass(frozen=True)
class Reading:
    """What a source said, and the state that it was in just before it was read."""

    config: SourceConfig
    source: Source
    state: str
    notes: Collection[Note]
    unchanged: frozenset[str]  # keys of notes that are as the sidecar has them, by their stamps
    same: dict[str, str | None]  # the same of notes that were read: key → new stamp
    skipped: tuple[str, ...]
    seconds: float

    @property
    def count(self) -> int:
        return len(self.notes) + len(self.unchanged) + len(self.same)


@dataclass(frozen=True)
class Changes:
    """How a source differs from what the sidecar holds of it."""

    added: Collection[Note]
    changed: Collection[tuple[int, Note]]  # with their ids in the sidecar
    touched: tuple[tuple[int, str | None], ...]  # ids and new stamps of notes that are as they were
    removed: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.added) + len(self.changed) + len(self.removed)


def read(
    source: Source,
    config: SourceConfig | None = None,
    known: Mapping[str, str] | None = None,
    state: str | None = None,
    fingerprints: Mapping[str, str] | None = None,
) -> Reading:
    """Read a source: whole, or if it can and there are ``known`` stamps by key, what changed since.

    :param config: how it is to be read; without one, everything that isn't in the trash
    :param fingerprints: of the notes that the sidecar has, by key: those that are as they were aren't kept in memory
    :param state: its state, where the caller has just asked for it
    :raises SourceError: if it can't be read, whatever the reason
    """
    config = config or SourceConfig(source.name, "", source.location)
    started = time.perf_counter()
    try:
        # Before the notes: a change in between shows as one more run, never as none.
        state = source.state() if state is None else state
        if known and isinstance(source, Incremental):
            told = source.read_changed(known, include_trashed=config.include_trashed)
        else:
            told = source.read(include_trashed=config.include_trashed)
        sorted_out = _sorted_out(told, known or {}, fingerprints or {}, config.never)
    except SourceError:
        raise
    except Exception as error:
        # Somebody's own source may fail in any way; it must not take the other sources with it.
        raise SourceError(
            f"{source.location} could not be read: {type(error).__name__}: {error}. "
            f"This is a fault of what reads the kind {config.kind or source.name}; please report it. Until it is mended, what "
            "the index has of this source stays as it was."
        ) from error
    return Reading(
        config,
        source,
        state,
        sorted_out.notes,
        frozenset(sorted_out.unchanged),
        sorted_out.same,
        (*source.skipped, *sorted_out.skipped),
        time.perf_counter() - started,
    )


def read_if_changed(
    connection: sqlite3.Connection | None, config: SourceConfig, stored: StoredSource | None
) -> Reading | None:
    """Read a source that the sidecar may know; None if nothing in it can have changed.

    :raises SourceError: if it can't be read
    """
    source = open_source(config)
    if connection is None or stored is None:
        return read(source, config)
    known, state = None, None
    if is_comparable(config, stored):
        state = current_state(source)
        if state and state == stored.state:
            return None
        known = stored_notes.stamps(connection, config.name)
    fingerprints = {
        key: fingerprint
        for key, (_, fingerprint) in stored_notes.fingerprints(connection, config.name).items()
    }
    return read(source, config, known, state, fingerprints)


def current_state(source: Source) -> str | None:
    """A source's state; None if asking for it fails in a way that only reading it explains.

    :raises SourceError: if the source says itself what is wrong
    """
    try:
        return source.state()
    except SourceError:
        raise
    except Exception:
        return None


def is_comparable(config: SourceConfig, stored: StoredSource | None) -> bool:
    """Whether what was read of a source holds for the way in which it is read now."""
    return (
        stored is not None and stored.config.reads_as(config) and stored.version == reader_version()
    )


def changes(connection: sqlite3.Connection, reading: Reading) -> Changes:
    """What writing a reading into the sidecar does."""
    known = stored_notes.fingerprints(connection, reading.config.name)
    for key in reading.unchanged:
        del known[key]
    touched = []
    for key, stamp in reading.same.items():
        note_id, _ = known.pop(key, (None, None))
        if note_id is not None and stamp is not None:
            touched.append((note_id, stamp))
    if not known:  # as in a first run: nothing to compare with
        return Changes(reading.notes, (), tuple(touched), ())
    added: list[Note] = []
    changed: list[tuple[int, Note]] = []
    for note in reading.notes:
        note_id, fingerprint = known.pop(note.key, (None, None))
        if note_id is None:
            added.append(note)
        elif fingerprint != note.fingerprint():
            changed.append((note_id, note))
        elif note.stamp is not None:
            touched.append((note_id, note.stamp))
    removed = tuple(note_id for note_id, _ in known.values())
    return Changes(added, changed, tuple(touched), removed)


def count_changes(connection: sqlite3.Connection, stored: StoredSource) -> int:
    """Notes of a source that were added, changed or removed since it was indexed.

    :raises SourceError: if it can't be read
    """
    if not schema.is_current(connection):
        return 0  # nothing to compare with before the next run
    reading = read_if_changed(connection, stored.config, stored)
    return 0 if reading is None else changes(connection, reading).count


def known_sources(connection: sqlite3.Connection) -> dict[str, StoredSource]:
    """The sources that the sidecar was made from, by name."""
    return {stored.config.name: stored for stored in stored_sources.all_sources(connection)}


def reader_version() -> str | None:
    """The version of this package: another one may read more of a note, so that its sources are read again."""
    try:
        return version("datasette-bear-search")
    except PackageNotFoundError:  # not installed, run from its folder
        return None


def has_tag(note: Note, tags: Collection[str]) -> bool:
    """Whether a note has one of these tags, or one nested below them."""
    if not tags:
        return False
    folded = [fold_tag(tag) for tag in tags]
    own = [fold_tag(tag.name) for tag in note.tags]
    return any(name == tag or name.startswith(f"{tag}/") for name in own for tag in folded)


@dataclass
class _SortedOut:
    """What a source told, by what is to be done with it."""

    notes: list[Note] = field(default_factory=list)
    unchanged: set[str] = field(default_factory=set)
    same: dict[str, str | None] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)  # lines on what is left out


def _sorted_out(
    told: Iterable[Note | Unchanged],
    known: Mapping[str, str],
    fingerprints: Mapping[str, str],
    never: tuple[str, ...],
) -> _SortedOut:
    found = _SortedOut()
    seen: set[str] = set()
    for item in told:
        key = item.key
        if key in seen:
            found.skipped.append(
                f"{key}: there is another note with this key; the first one counts"
            )
        elif isinstance(item, Note):
            if has_tag(item, never):
                continue
            seen.add(key)
            note = _storable(item)
            fingerprint = fingerprints.get(key)
            if fingerprint is not None and fingerprint == note.fingerprint():
                found.same[key] = note.stamp
            else:
                found.notes.append(note)
        elif key in known:
            seen.add(key)
            found.unchanged.add(key)
        else:
            raise SourceError(
                f"The source said that {key} is as it was, but was never told how it was."
            )
    return found


def _storable(note: Note) -> Note:
    """A note whose texts SQLite can keep: without NULs and halves of surrogate pairs."""
    if all(map(_is_storable, (note.title, note.body, note.attachments))):
        return note
    clean = {
        name: getattr(note, name).replace("\0", "").encode(errors="replace").decode()
        for name in ("title", "body", "attachments")
    }
    return replace(note, **clean)


def _is_storable(text: str) -> bool:
    return "\0" not in text and (text.isascii() or _is_encodable(text))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
