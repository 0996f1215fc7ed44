"""A source → how its notes differ from what the index file holds. Writes nothing."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from ...notes import Note, counted, is_within
from ...sources.base import (
    Incremental,
    Interrupted,
    NothingThere,
    Source,
    SourceConfig,
    SourceError,
)
from ...sources.checks import check, current_state, responsible_for
from ...sources.files.file_source import FileSource
from ...sources.formats import pdf
from ...sources.formats.dates import timestamp_from_seconds
from ...sources.formats.text import storable
from ...sources.registry import open_source
from ...sqlite import sqlite3
from ..file import database, schema
from ..file import notes as stored_notes
from ..file.notes import StoredNote
from ..file.sources import StoredSource
from .report import Failure

# Bytes of text to keep in memory. A source with more text is read in parts.
MOST_TEXT = 64 * 1024 * 1024
# If a source has lost more than half of more notes than these, that may be by accident.
FEW_NOTES = 20
# Seconds after which notes that are suddenly missing count as deleted if they are missing still.
SECONDS_TO_CONFIRM = 300


@dataclass
class Snapshot:
    """What a source contained when it was read, and its state just before.

    A source with much text is read as several of these. Each knows the keys of the parts before it.
    """

    config: SourceConfig
    source: Source
    state: str
    notes: list[Note] = field(default_factory=list)  # new, or may differ from what is stored
    unchanged: set[str] = field(default_factory=set)  # keys of notes that weren't read again
    # Notes that were read again and equal the stored ones: key → new stamp.
    restamped: dict[str, str | None] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)  # what is left out and why, for people
    left_out: Set[str] = frozenset()  # keys of notes that are there, but aren't to be indexed
    unread: int = 0  # unchanged notes that should have been read again, but can't be now
    rest: Iterable[Snapshot] = ()  # the following parts, each read when it is needed
    is_last: bool = True

    @property
    def count(self) -> int:
        return len(self.notes) + len(self.unchanged) + len(self.restamped)

    @property
    def keys(self) -> Set[str]:
        """Of the notes in this part and all before it."""
        return self.unchanged | self.restamped.keys() | {note.key for note in self.notes}


@dataclass(frozen=True)
class Diff:
    """How a source differs from what the index file holds of it."""

    added: Sequence[Note] = ()
    changed: Sequence[tuple[int, Note]] = ()  # with their ids in the index file
    moved: Sequence[tuple[int, Note]] = ()  # the same, for notes whose key has changed
    restamped: Sequence[tuple[int, str]] = ()  # ids and new stamps of notes that haven't changed
    removed: Mapping[int, str] = field(default_factory=dict)  # ids and keys

    @property
    def count(self) -> int:
        return len(self.added) + len(self.changed) + len(self.moved) + len(self.removed)


def read(
    source: Source,
    config: SourceConfig | None = None,
    stamps: Mapping[str, str] = {},
    state: str | None = None,
    fingerprints: Mapping[str, str] = {},
) -> Snapshot:
    """Read a source: all of it, or only the changes if the source can tell them from stamps.

    :param config: how to read it; by default, everything that isn't in the trash
    :param stamps: stamps of the stored notes, by key
    :param state: the source's state, if the caller already knows it
    :param fingerprints: of the stored notes, by key; notes that have the same aren't kept in memory
    :raises SourceError: if it can't be read, for any reason
    """
    config = config or SourceConfig(source.name, "", source.location)
    parts = _parts(source, config, stamps, state, fingerprints)
    first = next(parts)
    first.rest = parts
    return first


def _parts(
    source: Source,
    config: SourceConfig,
    stamps: Mapping[str, str],
    state: str | None,
    fingerprints: Mapping[str, str],
) -> Iterator[Snapshot]:
    seen: set[str] = set()
    refused: set[str] = set()
    unread = 0
    twice: list[str] = []
    part = Snapshot(config, source, "", is_last=False)
    try:
        # First the state, then the notes: a change in between costs one more run but isn't missed.
        state = str(source.state() if state is None else state)
        size = 0
        if stamps and isinstance(source, Incremental):
            items = source.read_changed(stamps, include_trashed=config.include_trashed)
        else:
            items = source.read(include_trashed=config.include_trashed)
        for item in items:
            check(item, source)
            key = item.key
            if key in seen:
                twice.append(f"{key}: there is another note with this key; the first one counts")
            elif isinstance(item, Note):
                if any(is_within(tag.name, never) for never in config.never for tag in item.tags):
                    refused.add(key)
                    continue
                seen.add(key)
                note = _storable(item)
                if key in fingerprints and fingerprints[key] == note.fingerprint():
                    part.restamped[key] = note.stamp
                    continue
                part.notes.append(note)
                size += sys.getsizeof(note.body) + sys.getsizeof(note.attachments)
                if size > MOST_TEXT:
                    yield part
                    part = Snapshot(config, source, "", unchanged=set(seen), is_last=False)
                    size = 0
            elif key in stamps:
                seen.add(key)
                part.unchanged.add(key)
                unread += not stamps[key]
            else:
                raise SourceError(
                    f"The source says that {key} is unchanged, but it was never read."
                )
        part.state, part.is_last = state, True
        part.left_out, part.unread = refused.union(getattr(source, "left_out", ())), unread
        part.skipped = [*map(str, source.skipped), *twice]
    except SourceError as error:
        if isinstance(error, Interrupted) and part.count:
            yield part
        raise
    except OSError as error:
        raise SourceError(
            f"{source.location} could not be read: {error}. If it is on a drive or a server,"
            " connect that. Until then, what the index has of this source stays as it was."
        ) from error
    except Exception as error:
        # A plugin's source may fail in any way, which mustn't prevent reading other sources.
        raise SourceError(
            f"{source.location} could not be read: {type(error).__name__}: {error}."
            f" {responsible_for(source)} has a fault; please report it. Until it is fixed, what the"
            " index has of this source stays as it was."
        ) from error
    yield part


def read_if_changed(
    connection: sqlite3.Connection | None,
    config: SourceConfig,
    stored: StoredSource | None,
    *,
    rebuild: bool = False,
    yes: bool = False,
) -> Snapshot | None:
    """Read a source, or raise SourceError; None if nothing can have changed since it was stored.

    :param rebuild: read everything, whether or not it has changed
    :param yes: a source that had notes may have none now
    """
    source = open_source(config)
    if connection is None or stored is None:
        return read(source, config)
    # The stored stamps and state are valid only if the notes were read in the same way as now.
    reads_alike = stored.config.reads_as(config)
    is_read_alike = reads_alike and stored.version == reader_version() and not rebuild
    if is_read_alike and isinstance(source, FileSource):
        source.known_pages = partial(stored_notes.known_pages, connection, config.name)
    state = current_state(source) if is_read_alike else None
    if state and state == stored.state and stored.config.every == config.every:
        return None
    if rebuild:
        fingerprints = dict.fromkeys(stored_notes.known_keys(connection, config.name), "")
        stamps = {} if yes else dict(fingerprints)
    else:
        notes = stored_notes.stored_notes(connection, config.name)
        fingerprints = {key: note.fingerprint for key, note in notes.items()}
        # With an empty stamp, a note is read again if it can be.
        stamps = {key: (is_read_alike and note.stamp) or "" for key, note in notes.items()}
        for key in () if reads_alike else stored_notes.keys_with_tags(connection, config):
            del stamps[key]
    if not isinstance(source, FileSource):  # those of plugins needn't know about empty stamps
        stamps = {key: stamp for key, stamp in stamps.items() if stamp}
    try:
        snapshot = read(source, config, stamps, state, fingerprints)
        is_hollow = snapshot.is_last and not snapshot.keys and not snapshot.left_out
    except NothingThere:
        if not fingerprints:
            raise
        snapshot, is_hollow = Snapshot(config, source, ""), True
    if is_hollow and fingerprints and not yes:
        raise SourceError(
            f"There is nothing to read in {config.location} anymore, so its"
            f" {counted(len(fingerprints), 'note')} in the index stay searchable; if they are on a"
            " drive or in a cloud that isn't connected, connect that; if they are deleted, run:"
            f" {_yes(connection, f'--only {shlex.quote(config.name)}')}"
        )
    return snapshot


def _yes(connection: sqlite3.Connection, options: str) -> str:
    """Return the command by which a person confirms that notes are deleted."""
    command = database.index_command(Path(database.file_of(connection)))
    return command.replace("bear-index", f"bear-index --yes {options}", 1)


def missing(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    gone: Collection[str],
    known: int,
    stored: StoredSource,
) -> tuple[Set[str], Failure]:
    """Return which of the notes that are gone from a source may be missing by accident, and why.

    :param gone: their keys
    :param known: how many notes of the source the index has
    """
    # Otherwise, a person wants to have other notes indexed.
    gone = {*gone} - snapshot.left_out if stored.config.reads_as(snapshot.config) else set()
    unreachable: dict[str, str] = {}  # note → folder
    sudden: set[str] = set()
    for folder, changed in getattr(snapshot.source, "empty_folders", {}).items():
        inside = [key for key in gone if key.startswith(folder)]
        # A folder changes when files in it are deleted. If it is older than the last reading, it
        # never had these notes: their drive was mounted over it.
        if len(inside) > 1 and (timestamp_from_seconds(changed) or "") < (stored.read or ""):
            unreachable.update(dict.fromkeys(inside, folder))
        elif len(inside) > 1:
            sudden.update(inside)
    if known > FEW_NOTES and len(gone) > known / 2:
        sudden |= gone
    sudden -= unreachable.keys()
    now = int(time.time())
    since = min(stored.missed or now, now)  # the clock may have been set back
    if now - since >= SECONDS_TO_CONFIRM:
        sudden.clear()
    name = shlex.quote(snapshot.config.name)
    confirm = f"or until you run: {_yes(connection, f'--only {name}')}"
    says = []
    if unreachable:
        folders = ", ".join(sorted({*unreachable.values()}))
        says.append(
            f"{counted(len(unreachable), 'note')} can't be reached, because {folders} is empty, as "
            "if a drive weren't connected; they stay searchable until it is connected or the "
            f"folder is deleted, {confirm}"
        )
    if sudden:
        says.append(
            f"{counted(len(sudden), 'note')} are suddenly missing from"
            f" {snapshot.config.location}; they stay searchable until another reading, some minutes"
            f" later, misses them, too, {confirm}"
        )
    failure = Failure(snapshot.config.name, ". ".join(says), since if sudden else None)
    return unreachable.keys() | sudden, failure


def missing_in_rebuild(
    connection: sqlite3.Connection, last: Snapshot, stored: StoredSource
) -> Failure | None:
    """Return why a rebuild would lose notes, or None. Raise SourceError if some can't be read now.

    :param last: the last part of the source
    """
    if last.unread:
        raise SourceError(
            f"{counted(last.unread, 'note')} can't be read now, for example because they are only "
            "in iCloud, so a rebuild would lose them; make them readable, or rebuild without them: "
            f"{_yes(connection, '--rebuild')}"
        )
    known, seen = stored_notes.known_keys(connection, last.config.name), last.keys
    # Any of the new notes may be a moved one.
    gone = sorted(known - seen)[len(seen - known) :]
    keys, failure = missing(connection, last, gone, len(known), stored)
    return failure if keys else None


def diff(connection: sqlite3.Connection, snapshot: Snapshot) -> Diff:
    stored = stored_notes.stored_notes(connection, snapshot.config.name)
    for key in snapshot.unchanged:
        stored.pop(key, None)  # the default: without writing, notes of earlier parts aren't stored
    known = [(stored.pop(key, None), stamp) for key, stamp in snapshot.restamped.items()]
    restamped = [(old.id, stamp) for old, stamp in known if old and stamp is not None]
    if not stored:  # nothing to compare with, as in a first run
        return Diff(snapshot.notes, restamped=restamped)
    added: list[Note] = []
    changed: list[tuple[int, Note]] = []
    for note in snapshot.notes:
        old = stored.pop(note.key, None)
        if old is None:
            added.append(note)
        elif old.fingerprint != note.fingerprint():
            changed.append((old.id, note))
        elif note.stamp is not None:
            restamped.append((old.id, note.stamp))
    moved = _moved(connection, added, stored)
    ids = {note.key: old_id for old_id, note in moved}
    taken = {*ids.values()}
    gone = {old.id: key for key, old in stored.items() if old.id not in taken}
    gone = gone if snapshot.is_last else {}
    return Diff([note for note in added if note.key not in ids], changed, moved, restamped, gone)


def _moved(
    connection: sqlite3.Connection, added: Sequence[Note], gone: Mapping[str, StoredNote]
) -> list[tuple[int, Note]]:
    """Return the added notes that are moved ones, with their ids in the index file.

    They have the text of one that is gone. If several have, match them by file id, then file name.
    """
    before: dict[str, list[tuple[str, StoredNote]]] = defaultdict(list)
    for key, old in gone.items() if added else ():
        [body] = stored_notes.row_of(connection, "select body from notes where id = ?", old.id)
        before[body].append((key, old))
    after: dict[str, list[Note]] = defaultdict(list)
    for note in added:
        if note.body in before:
            after[note.body].append(note)
    moved = []
    for body, notes in after.items():
        gone_here = dict(before[body])
        new = {note.key: note for note in notes}
        if body.strip() and len(gone_here) == len(new) == 1:
            moved += [(gone_here.popitem()[1].id, new.popitem()[1])]
        for identify in (_file_id, _file_name):
            old_keys = _unique((identify(key, gone_here[key].stamp), key) for key in gone_here)
            new_keys = _unique((identify(key, new[key].stamp), key) for key in new)
            for each in old_keys.keys() & new_keys.keys():
                moved.append((gone_here.pop(old_keys[each]).id, new.pop(new_keys[each])))
    return moved


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found = list(pairs)
    counts = Counter(name for name, _ in found)
    return {name: value for name, value in found if name and counts[name] == 1}


def _file_id(key: str, stamp: str | None) -> str:
    # In a stamp, the file's number (in an archive, its checksum) follows the settings and a space.
    _, _, file = (stamp or "").partition(" ")
    return file.partition("/")[0]


def _file_name(key: str, stamp: str | None) -> str:
    return key.rpartition("/")[2]


def count_changes(connection: sqlite3.Connection, stored: StoredSource) -> int:
    """Return how many notes of a source changed since it was indexed, or raise SourceError."""
    if not schema.is_current(connection):
        return 0  # another version's index, which can't be compared with
    snapshot = read_if_changed(connection, stored.config, stored)
    parts = [] if snapshot is None else chain([snapshot], snapshot.rest)
    return sum(diff(connection, part).count for part in parts)


def reader_version() -> str:
    """Return the version of this package, and whether it reads PDFs: others may read other text."""
    return version("datasette-bear-search") + ("+pdf" if pdf.is_installed() else "")


def _storable(note: Note) -> Note:
    """Return the note with texts that SQLite can store: without NULs and lone surrogates."""
    others = [*(tag.name for tag in note.tags), *(link.title for link in note.links)]
    others += [note.title, note.body, note.attachments, *note.attachment_names, note.url or ""]
    everything = "".join(others)
    if storable(everything) == everything:
        return note
    texts: dict[str, Any] = {
        name: storable(value) for name, value in vars(note).items() if isinstance(value, str)
    }
    return replace(
        note,
        **texts,
        attachment_names=tuple(map(storable, note.attachment_names)),
        tags=tuple(replace(tag, name=storable(tag.name)) for tag in note.tags),
        links=tuple(replace(link, title=storable(link.title)) for link in note.links),
    )
