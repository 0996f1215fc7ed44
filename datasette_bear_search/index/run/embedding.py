"""Passages without a vector → vectors, batch by batch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...embeddings.base import Embedder, ModelUnavailable
from ...sqlite import sqlite3
from ..file import database, metadata, vectors
from ..file import passages as stored_passages
from ..file.database import transaction
from ..file.metadata import NEXT_FINGERPRINT, NEXT_MODEL, get_meta, mark_changed, set_meta
from ..file.schema import PENDING
from . import calibration
from .chunking import MAX_TOKENS, passages, without_shared
from .report import Hooks, Report

# Passages in a transaction: some seconds of work on a slow machine, the most that a kill can lose.
PASSAGES_PER_COMMIT = 128
# Passages to sort by length before they are split into batches: equal lengths need no padding.
PASSAGES_PER_WINDOW = 4096


@dataclass
class VectorRun:
    """Makes missing vectors, or all of them if the stored ones are from another model."""

    connection: sqlite3.Connection
    embedder: Embedder
    report: Report
    hooks: Hooks

    def write(self, *, verify_model: bool = False) -> None:
        """Make them. If the model can't be used, the report says why."""
        started = time.perf_counter()
        try:
            self._write(verify_model=verify_model)
        except ModelUnavailable as error:
            if get_meta(self.connection, NEXT_FINGERPRINT) == "":  # it was never loaded
                with transaction(self.connection):
                    vectors.drop_next(self.connection)
            state = database.read_state(self.connection)
            consequence = "what is new is found by its words only"
            if not state.has_vectors:
                consequence = "notes are found by their words only"
            elif state.model != self.embedder.name:
                consequence = f"the index keeps the model {state.model}"
            self.report.model_failure = f"{error} Until then, {consequence}."
            self.report.notices.append(self.report.model_failure)
        self.report.embed_seconds = time.perf_counter() - started

    def _write(self, *, verify_model: bool) -> None:
        connection, embedder, report = self.connection, self.embedder, self.report
        has_extension = vectors.has_extension(connection)
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
        is_new = state.fingerprint != embedder.fingerprint
        similarity = calibration.unrelated_similarity(embedder) if is_new else 0.0
        if similarity > calibration.MAX_UNRELATED:
            raise ModelUnavailable(
                f"The model {embedder.name} gives all texts nearly the same vector, so it isn't "
                "used. Its files may be damaged: download it again, or choose another with --model."
            )
        about_model: dict[str, str | int] = {
            "model": embedder.name,
            "fingerprint": embedder.fingerprint,
            "dimension": embedder.dimension,
            metadata.UNRELATED: str(similarity),
            database.PROMPTS: json.dumps(embedder.prompts),
        }
        if is_new and keeps_vectors(connection, embedder):
            self._replace(about_model)
        with transaction(connection):
            if is_new and get_meta(connection, "fingerprint") != embedder.fingerprint:
                vectors.drop(connection)
                vectors.drop_next(connection)
                set_meta(connection, **about_model)
            elif not is_new and state.model != embedder.name:  # its folder was moved
                set_meta(connection, model=embedder.name)
                mark_changed(connection, vectors.CHANGED)
            if not is_new and (verify_model or get_meta(connection, NEXT_MODEL) == embedder.name):
                vectors.drop_next(connection)  # the person stays with the present model
            stored_passages.update_passages(connection, embedder.max_tokens)
            # This depends on the number of passages, so it comes last.
            vectors.prepare(connection)
        pending = _pending_ids(connection)
        self._embed(pending, vectors.add)
        if pending:
            with transaction(connection):
                vectors.reuse(connection)
        calibration.renew(connection, embedder)
        if report.embedded and (offer := metadata.model_offer(connection)):
            report.notices.append(offer)

    def _replace(self, about_model: Mapping[str, str | int]) -> None:
        """Make all vectors of another model beside the present ones; then change over at once.

        A run that is killed leaves what it has made, and the next one goes on.
        """
        connection, embedder = self.connection, self.embedder
        with transaction(connection):
            vectors.begin_next(connection, embedder.name, embedder.fingerprint)
        self._embed(vectors.missing_next(connection), vectors.add_next)
        with transaction(connection):
            vectors.take_next(connection, embedder.dimension)
            set_meta(connection, **about_model)

    def _embed(
        self,
        passage_ids: Sequence[int],
        store: Callable[[sqlite3.Connection, Sequence[tuple[int, bytes | None]]], None],
    ) -> None:
        """Make the vectors of these passages and store them, batch by batch."""
        connection, done, total = self.connection, 0, len(passage_ids)
        if total:
            self.hooks.on_embedded(done, total)
        self.embedder.prepare_for_batch(total)
        started = time.perf_counter()
        for batch in self._batches(passage_ids):
            made = self.embedder.embed_documents([text for _, text in batch])
            count = sum(vector is not None for vector in made)
            with transaction(connection):
                store(connection, [(it, vector) for (it, _), vector in zip(batch, made)])
                calibration.count_new(connection, count)
                done += len(batch)
                if done >= PASSAGES_PER_COMMIT:
                    pace = round(done / (time.perf_counter() - started), 2)
                    set_meta(connection, **{metadata.PACE: str(pace)})
            self.report.embedded += count
            self.report.refused += len(batch) - count
            self.hooks.on_embedded(done, total)

    def _batches(self, pending: Sequence[int]) -> Iterator[Sequence[tuple[int, str]]]:
        """Yield batches of (passage id, text to embed), sorted by length within a window."""
        connection = self.connection
        max_tokens = stored_passages.max_tokens(connection)
        shared = stored_passages.shared_lines(connection)
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
            lengths = self.embedder.lengths([text for _, text in texts])
            texts = [pair for _, pair in sorted(zip(lengths, texts), key=lambda item: item[0])]
            for start in range(0, len(texts), PASSAGES_PER_COMMIT):
                yield texts[start : start + PASSAGES_PER_COMMIT]


def keeps_vectors(connection: sqlite3.Connection, embedder: Embedder) -> bool:
    """Return whether searches use the present vectors until all of another model are made."""
    # A model that reads less gets other passages, and they have no vectors yet.
    tokens = min(MAX_TOKENS, embedder.max_tokens)
    has_vectors = database.read_state(connection).has_vectors
    return has_vectors and tokens == stored_passages.max_tokens(connection)


def _pending_ids(connection: sqlite3.Connection) -> list[int]:
    # One passage of each text. Pinned and recent notes first: most searches are for them.
    sql = f"""
    select passages.content_hash, passages.id
    from passages
    join notes on notes.id = passages.note_id
    where passages.vector_state = '{PENDING}'
    order by notes.pinned desc, notes.modified desc, passages.id
    """
    first: dict[str, int] = {}
    for content_hash, passage_id in connection.execute(sql):
        first.setdefault(content_hash, passage_id)
    return list(first.values())
