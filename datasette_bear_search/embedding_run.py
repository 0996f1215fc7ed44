"""The vectors that are missing: made in batches, each committed, so that a run that dies loses little."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from . import calibration, passage_index, sidecar, stored_notes
from .embedders import Embedder
from .passages import passages

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
    connection: sidecar.sqlite3.Connection,
    embedder: Embedder,
    *,
    verify_model: bool = False,
    precision: str | None = None,
    on_embedded: Callable[[int, int], None] = lambda done, total: None,
) -> Embedded:
    """Make the vectors of all passages that have none, or of all of them if the stored ones are another model's.

    :param verify_model: load the model even if no passage waits, to see whether the stored vectors are its own
    :param precision: how exactly they are stored, one of ``precision.PRECISIONS``; None: as they are
    :raises ModelUnavailable: if the model can't be loaded
    """
    run = Embedded()
    can_index = sidecar.has_vector_extension(connection)
    if precision is not None and can_index:
        with sidecar.transaction(connection):
            passage_index.set_precision(connection, precision)
            if sidecar.get_meta(connection, "dimension"):
                passage_index.prepare(connection)
    state = sidecar.read_state(connection)
    if not state.pending and state.model == embedder.name and not verify_model:
        # Nothing to do, and no need to load a model to know it. But another version may have laid out the index.
        if can_index and state.has_vectors:
            with sidecar.transaction(connection):
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
    total = sidecar.read_state(connection).pending
    done = 0
    if total:
        on_embedded(done, total)
    embedder.expect(total)
    for batch in _pending_passages(connection, embedder):
        vectors = embedder.embed_documents([text for _, text in batch])
        rows = [
            (passage_id, vector)
            for (passage_id, _), vector in zip(batch, vectors)
            if vector is not None
        ]
        with sidecar.transaction(connection):
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


def _prepare(
    connection: sidecar.sqlite3.Connection, embedder: Embedder, *, is_other_model: bool
) -> None:
    with sidecar.transaction(connection):
        if is_other_model:
            passage_index.drop(connection)
            sidecar.set_meta(
                connection,
                model=embedder.name,
                dimension=embedder.dimension,
                fingerprint=embedder.fingerprint,
            )
        stored_notes.cut_again(connection, embedder.max_tokens)
        # After it, when it is known how many passages there are.
        passage_index.prepare(connection)


def _calibrate(connection: sidecar.sqlite3.Connection, embedder: Embedder, new: int) -> None:
    """Measure anew how close close is, when so many passages are new that it may be different now."""
    new += int(sidecar.get_meta(connection, "uncalibrated") or 0)
    [count] = connection.execute("select count(*) from passages").fetchone()
    if new > RECALIBRATE_SHARE * count or sidecar.get_meta(connection, "floor") is None:
        calibration.calibrate(connection, embedder)
        new = 0
    with sidecar.transaction(connection):
        sidecar.set_meta(connection, uncalibrated=new)


def _pending_passages(
    connection: sidecar.sqlite3.Connection, embedder: Embedder
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
