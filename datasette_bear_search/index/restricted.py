"""An index file → its restricted index: a second file that lacks the notes with certain tags.

Whoever may not see these notes is served the restricted index. They aren't in it, so nothing that
is found, counted, ranked, completed or corrected there can depend on them. It has the same tables
and its own ids; :func:`~.indexer.update` writes both in the same run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, suppress
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

from ..notes import Link, LinkedFile, Note, fold_tag, is_within
from ..sources.base import Incremental, Unchanged
from ..sqlite import sqlite3
from .config import hidden_by_environment
from .file import notes as stored_notes
from .file import passages, schema, vectors
from .file import sources as stored_sources
from .file.database import PROMPTS, RESTRICTED_MARK, SidecarError, connect, is_made
from .file.metadata import SEMANTIC, UNRELATED, get_meta, get_texts, set_meta
from .file.schema import EMBEDDED, FILES, PENDING, REFUSED, VECTORS
from .file.sources import StoredSource
from .run import changes
from .run.changes import Snapshot

# Key in meta of a restricted index: the folded tags whose notes it lacks, a JSON array.
WITHOUT = "without_tags"
# Key in meta of an index: a random token that changes whenever its text does. And keys in meta of a
# restricted index: the tokens of the text and of the vectors that it was last made from.
TEXT, TEXT_THEN, VECTORS_THEN = "text_changed", "text_made_from", "vectors_made_from"
# Texts whose vectors are looked up in one scan of the passages.
_TEXTS_AT_A_TIME = 10_000
# Notes whose relations are read in one statement.
_NOTES_AT_A_TIME = 250


def file_for(path: Path, tags: Sequence[str]) -> Path:
    """Return the path of the restricted index of the index at ``path`` that lacks these tags."""
    "".join(tags).encode()  # if one isn't UTF-8, raise the error before there is a file
    folded = json.dumps(sorted({*map(fold_tag, tags)})).encode()
    return Path(f"{path}{RESTRICTED_MARK}{hashlib.blake2b(folded, digest_size=6).hexdigest()}")


def wanted(path: Path) -> list[tuple[str, ...]]:
    """Return the tags that each restricted index of the index at ``path`` lacks.

    That is each one that was made, and one for the tags that the environment names.
    """
    pattern = re.compile(re.escape(path.name + RESTRICTED_MARK) + "[0-9a-f]{12}")
    found = {}
    for file in sorted(path.parent.iterdir()):
        with suppress(SidecarError, sqlite3.Error):  # damaged; it is made anew when it is needed
            if pattern.fullmatch(file.name) and is_made(file):
                with closing(connect(file)) as connection:
                    found[file] = tags_of(connection)
    if tags := hidden_by_environment():
        found.setdefault(file_for(path, tags), tags)
    return [*filter(None, found.values())]


def tags_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the tags whose notes an index lacks; () for an index with all notes."""
    return get_texts(connection, WITHOUT)


def is_current(path: Path, file: Path) -> bool:
    """Return whether a restricted index was made from what the index at ``path`` has now."""
    with closing(connect(path)) as whole:
        now = change_tokens(whole)
    with suppress(SidecarError, sqlite3.DatabaseError), closing(connect(file)) as connection:
        then = get_meta(connection, TEXT_THEN), get_meta(connection, VECTORS_THEN)
        return schema.is_current(connection) and now == then
    return False


def change_tokens(whole: sqlite3.Connection) -> tuple[str | None, str | None]:
    """Return tokens of an index's text and of its vectors, which change whenever these do."""
    return get_meta(whole, TEXT), get_meta(whole, vectors.CHANGED)


def take_settings(
    whole: sqlite3.Connection, connection: sqlite3.Connection, tags: Sequence[str]
) -> None:
    """Prepare the restricted index for notes and vectors like those of the index."""
    keys = ("model", "fingerprint", "dimension", UNRELATED, PROMPTS)
    about_model = {key: get_meta(whole, key) for key in keys}
    if get_meta(connection, "fingerprint") != about_model["fingerprint"]:
        vectors.drop(connection)
    without = json.dumps(tags, ensure_ascii=False)
    set_meta(connection, **about_model, **{WITHOUT: without, SEMANTIC: get_meta(whole, SEMANTIC)})
    passages.update_passages(connection, passages.max_tokens(whole))
    if about_model["dimension"] and vectors.has_extension(connection):
        vectors.prepare(connection)


def read(
    whole: sqlite3.Connection, connection: sqlite3.Connection, tags: Sequence[str]
) -> tuple[list[Snapshot], list[str]]:
    """Return what the restricted index must hold of each source, and the sources it must remove.

    :param whole: the index; ``connection`` is to the restricted one
    """
    hidden = _hidden_notes(whole, tags)
    sources = stored_sources.read_sources(whole)
    snapshots = []
    for name, stored in sources.items():
        config = replace(stored.config, never=(*stored.config.never, *tags))
        known = stored_notes.stored_notes(connection, name)
        fingerprints = {key: note.fingerprint for key, note in known.items()}
        source = _IndexedSource(whole, stored, hidden)
        snapshots.append(changes.read(source, config, fingerprints, fingerprints=fingerprints))
    gone = stored_sources.read_sources(connection).keys() - sources.keys()
    return snapshots, sorted(gone)


def copy_vectors(whole: sqlite3.Connection, connection: sqlite3.Connection) -> int:
    """Give passages of the restricted index the vectors of the same texts; return how many.

    For a text that the model couldn't embed, that is known, too.
    """
    sql = f"select distinct content_hash from passages where vector_state = '{PENDING}'"
    pending = [content_hash for (content_hash,) in connection.execute(sql)]
    sql = f"""
    select content_hash, vector
    from passages
    left join {VECTORS} on passage_id = passages.id
    where content_hash in (select value from json_each(?))
      and vector_state in ('{EMBEDDED}', '{REFUSED}')
    group by content_hash
    """
    for start in range(0, len(pending), _TEXTS_AT_A_TIME):
        some = json.dumps(pending[start : start + _TEXTS_AT_A_TIME])
        vectors.reuse(connection, dict(whole.execute(sql, [some]).fetchall()))
    return len(pending)


def _hidden_notes(whole: sqlite3.Connection, tags: Sequence[str]) -> Set[int]:
    """Return the notes with these tags or nested ones, and all copies of them in other sources."""
    known = whole.execute("select id, folded from tags").fetchall()
    tag_ids = [tag_id for tag_id, folded in known if any(is_within(folded, tag) for tag in tags)]
    sql = """
    select id
    from notes
    where coalesce(copy_of, id) in (
      select coalesce(copy_of, id)
      from notes
      join note_tags on note_id = notes.id
      where tag_id in (select value from json_each(?))
    )
    """
    return {note_id for (note_id,) in whole.execute(sql, [json.dumps(tag_ids)])}


class _IndexedSource(Incremental):
    """The notes of a source as an index has them, without hidden ones."""

    def __init__(self, whole: sqlite3.Connection, stored: StoredSource, hidden: Set[int]) -> None:
        self.name, self.location = stored.config.name, stored.config.location
        sql = "select app, heading_link from sources where name = ?"
        self.app, self.heading_link = whole.execute(sql, [self.name]).fetchone()
        # Without the names of skipped files, which may belong to hidden notes.
        self.skipped: list[str] = []
        self._whole, self._state, self._hidden = whole, stored.state, hidden

    @classmethod
    def reads(cls, location: str) -> bool:
        return False

    def state(self) -> str:
        return self._state

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        sql = "select id, key, fingerprint from notes where source = ? order by id"
        stored = self._whole.execute(sql, [self.name]).fetchall()
        hidden = json.dumps([*self._hidden])
        sql = "select note_id from links where target_id in (select value from json_each(?))"
        # A link to a hidden note isn't there, which the note's fingerprint doesn't say.
        links_to_hidden = {note_id for (note_id,) in self._whole.execute(sql, [hidden])}
        changed = []
        for note_id, key, fingerprint in stored:
            if note_id in self._hidden:
                continue
            if fingerprint and known.get(key) == fingerprint and note_id not in links_to_hidden:
                yield Unchanged(key)
            else:
                changed.append(note_id)
        for start in range(0, len(changed), _NOTES_AT_A_TIME):
            yield from self._notes(changed[start : start + _NOTES_AT_A_TIME])

    def _notes(self, note_ids: Sequence[int]) -> Iterator[Note]:
        def by_note(columns: str, table: str) -> dict[int, list[tuple[Any, ...]]]:
            sql = f"""
            select note_id, {columns}
            from {table}
            where note_id in (select value from json_each(?))
            order by {table.split()[0]}.rowid
            """
            found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
            for note_id, *values in self._whole.execute(sql, [json.dumps(note_ids)]):
                found[note_id].append(tuple(values))
            return found

        links = by_note("target_id, target_key, title", "links")
        files = by_note("target, place, stamp", FILES)
        pinned = by_note("name, pinned", "note_tags join tags on tags.id = tag_id")
        for note_id in note_ids:
            yield stored_notes.stored_note(
                self._whole,
                note_id,
                pinned_in={name for name, is_pinned in pinned[note_id] if is_pinned},
                links=tuple(
                    Link(key, title)
                    for target, key, title in links[note_id]
                    if target not in self._hidden
                ),
                linked_files=tuple(starmap(LinkedFile, files[note_id])),
            )
