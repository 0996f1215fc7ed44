"""What a run reports while it goes on, and at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...sources.base import SourceConfig
    from .changes import Snapshot


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


SILENT = Hooks()
