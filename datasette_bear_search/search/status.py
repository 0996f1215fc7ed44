"""What is ready, how fresh the index is, and its sources: for JSON and the Python API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..embeddings import registry
from ..embeddings.base import ModelUnavailable
from ..index import freshness
from ..index.file import database, vectors
from ..index.file.database import State
from ..index.file.schema import EMBEDDED
from ..index.file.sources import StoredSource, read_sources
from ..sqlite import sqlite3
from .engine import pending_notice, semantic_obstacle, source_notices


@dataclass(frozen=True)
class ModelStatus:
    name: str | None
    state: str  # loaded, loading, not loaded, failed or absent, in this process
    problem: str | None


@dataclass(frozen=True)
class VectorStatus:
    passages: int
    embedded: int
    pending: int


@dataclass(frozen=True)
class IndexStatus:
    notes: int
    indexed: str | None
    changed: int  # notes that changed since then


@dataclass(frozen=True)
class SourceStatus:
    name: str
    kind: str
    notes: int
    read: str | None  # when
    error: str | None  # of the last reading, or why it can't be read now
    next_try: str | None


@dataclass(frozen=True)
class Status:
    ready: bool  # whether notes are found by meaning at once
    model: ModelStatus
    vectors: VectorStatus
    index: IndexStatus
    sources: tuple[SourceStatus, ...]
    notices: tuple[str, ...]  # for people


# What the index file says: its state, why it can't be searched by meaning, vectors, sources.
Stored = tuple[State, str | None, VectorStatus, dict[str, StoredSource]]


def read_status(connection: sqlite3.Connection) -> Stored:
    """Return what the index file says; :func:`completed` makes a Status of it."""
    state = database.read_state(connection)
    obstacle = semantic_obstacle(state, vectors.has_extension(connection))
    is_embedded = f"vector_state = '{EMBEDDED}'"
    sql = f"select count(*), count(*) filter (where {is_embedded}) from passages"
    passages, embedded = connection.execute(sql).fetchone()
    counts = VectorStatus(passages, embedded, state.pending)
    return state, obstacle, counts, read_sources(connection)


def completed(stored: Stored, path: Path, shown: Callable[[str], str] = str) -> Status:
    """Add what the model and the sources say, which may take long.

    :param path: the index file
    :param shown: masks secrets in a text
    """
    state, obstacle, counts, sources = stored
    model = _model_status(state)
    changes = freshness.changes_since_indexing(path)
    errors = {each.source: each.error for each in changes.unreadable}
    notices = (obstacle, pending_notice(state), *source_notices(changes, path))

    def shown_or_none(text: str | None) -> str | None:
        return shown(text) if text else None

    def source(name: str, it: StoredSource) -> SourceStatus:
        error = shown_or_none(errors.get(name) or it.error)
        return SourceStatus(shown(name), it.config.kind, it.notes, it.read, error, it.next_try)

    return Status(
        obstacle is None and model.state == "loaded",
        ModelStatus(shown_or_none(model.name), model.state, shown_or_none(model.problem)),
        counts,
        IndexStatus(sum(it.notes for it in sources.values()), state.indexed, changes.changed),
        tuple(source(*each) for each in sources.items()),
        tuple(map(shown, filter(None, notices))),
    )


def _model_status(state: State) -> ModelStatus:
    if not state.model:
        return ModelStatus(None, "absent", None)
    embedder = registry.get_embedder(state.model)
    found, problem = embedder.status, embedder.failure
    if found != "loaded":
        try:
            if not registry.is_here(state.model):
                embedder.load()  # fails at once with the reason
        except ModelUnavailable as error:
            found, problem = "absent", str(error)
    return ModelStatus(state.model, found, None if found == "loaded" else problem)
