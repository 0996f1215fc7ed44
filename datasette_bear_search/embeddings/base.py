"""What all models share: they are loaded once, by whoever needs them first or in the background, or can't be had."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

# Seconds for which a model that could not be loaded isn't tried again, so that not every search waits for it.
RETRY_AFTER = 60.0


class ModelUnavailable(Exception):
    """The model can't answer now. The message says why, and what to do."""


class Model(ABC):
    """Something slow to load that may be missing or broken; any thread may ask for it.

    Another kind of model is a subclass with :meth:`prepare`.
    """

    advice = "Try again, or choose another one with --model."  # after a failure that nobody foresaw

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = False  # loaded
        self.failure: str | None = None  # why the last attempt to load it failed
        self._retry_at = 0.0
        self._load_lock = threading.Lock()
        self._warm_up_lock = threading.Lock()
        self._warm_up_thread: threading.Thread | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Do all that has to be done once. Never called by two threads at once.

        :raises ModelUnavailable: with a message for people; other exceptions are put into such words
        """

    def load(self) -> None:
        """Load the model if it isn't loaded; the first caller does it, the others wait.

        :raises ModelUnavailable: also for a while after a failed attempt, without a new one
        """
        if self.ready:
            return
        with self._load_lock:
            if self.ready:
                return
            if self.failure and time.monotonic() < self._retry_at:
                raise ModelUnavailable(self.failure)
            try:
                self.prepare()
            except Exception as error:
                self.failure = self.error_message(error, f"The model {self.name} can't be loaded")
                self._retry_at = time.monotonic() + RETRY_AFTER
                raise ModelUnavailable(self.failure) from error
            self.ready, self.failure = True, None

    def warm_up(self) -> None:
        """Begin to load the model in the background, unless that is done or under way."""
        with self._warm_up_lock:
            under_way = self._warm_up_thread and self._warm_up_thread.is_alive()
            if self.ready or under_way:
                return
            # A daemon: a server that is stopped must not wait for the model.
            self._warm_up_thread = threading.Thread(
                target=self._load_quietly, name=f"warm-up {self.name}", daemon=True
            )
            self._warm_up_thread.start()

    def wait_until_loaded(self, seconds: float | None) -> bool:
        """Whether the model is loaded after so much time at most, None is any; if not, it goes on in the background."""
        self.warm_up()
        if not self.ready and (thread := self._warm_up_thread):
            thread.join(seconds)
        return self.ready

    def error_message(self, error: Exception, what_happened: str) -> str:
        """The message of a ModelUnavailable; of any other exception, what it means for people."""
        if isinstance(error, ModelUnavailable):
            return str(error)
        return f"{what_happened} ({first_line(error)}). {self.advice}"

    def _load_quietly(self) -> None:
        with suppress(ModelUnavailable):  # ``failure`` has it
            self.load()


def without_surrogates(text: str) -> str:
    """The text without halves of surrogate pairs: broken exports have them, and they would stop the tokenizer."""
    return text.encode(errors="replace").decode()


def first_line(error: Exception) -> str:
    """What an exception says, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


@contextmanager
def silent_libraries() -> Iterator[None]:
    """While a model is loaded from disk, no progress bars and no notes for developers."""
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "transformers")]
    levels = [logger.level for logger in loggers]
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()


# A query is what a person types; a book that is pasted into the box must not keep the model busy.
QUERY_CHARACTERS = 2000
# Query vectors that are kept: typing, paging and going back ask for the same ones again and again.
QUERY_CACHE = 1024


class ModelFacts(NamedTuple):
    """What a model says about itself once it is loaded."""

    max_tokens: int  # what it reads of a text
    settings: Mapping[str, Any]  # whatever else its vectors depend on, such as prompts


class Embedder(Model):
    """A model that turns texts into vectors; any thread may use it.

    Another kind of model is a subclass with :meth:`open_model` and :meth:`encode`. This class loads it once,
    remembers failures and queries, and checks its answers.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.truncate_dim: int | None = None
        self._dimension = 0
        self._facts = ModelFacts(0, {})
        # Tokenizers are not made for two threads at a time, and one text keeps all cores busy.
        self._encode_lock = threading.Lock()
        self._query_vector = lru_cache(QUERY_CACHE)(self._new_query_vector)

    def truncate(self, dimensions: int) -> None:
        """Keep only the first numbers of each vector, before the model is loaded.

        For models trained for that: Kusupati et al., "Matryoshka Representation Learning", NeurIPS 2022.
        In here and not by the library's truncate_dim, so that every backend has it.
        """
        self.truncate_dim = dimensions
        self.name = f"{self.name}@{dimensions}"

    @abstractmethod
    def open_model(self) -> ModelFacts:
        """Load the model. Called once, by one thread.

        :raises ModelUnavailable: with a message for people; other exceptions are put into such words
        """

    @abstractmethod
    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        """One vector a text, as an array or as lists of numbers of any length. Never called by two threads at once."""

    def prepare_for_batch(self, documents: int) -> None:
        """Be told that vectors of so many documents will be asked for, to make them in the fastest way."""

    def needs_onnx_export(self) -> bool:
        """Whether :meth:`export_onnx` would make the next process's start quicker. Loads nothing."""
        return False

    def export_onnx(self) -> bool:
        """Keep what the next process needs to start within a second; whether that worked. Takes some seconds.

        :raises ModelUnavailable: if the model can't be loaded
        """
        return False

    def measure(self, texts: list[str]) -> list[int]:
        """How much of each text the model reads, in any unit. Never called by two threads at once."""
        return [len(text) for text in texts]

    def split_into_pieces(self, texts: list[str]) -> list[list[int]]:
        """The numbers of each text's word pieces in the model's table of them. Never called by two threads at once.

        :raises ModelUnavailable: if the model has none
        """
        raise ModelUnavailable(f"The model {self.name} has no vectors of word pieces.")

    def rows_of_pieces(self, pieces: Sequence[int]) -> Any:
        """The rows of these pieces in the table: an array of pieces x numbers.

        :raises ModelUnavailable: if the model has none
        """
        raise ModelUnavailable(f"The model {self.name} has no vectors of word pieces.")

    @property
    def dimension(self) -> int:
        """Numbers in a vector. Loads the model."""
        self.load()
        return self._dimension

    @property
    def facts(self) -> ModelFacts:
        """What the model says about itself. Loads the model."""
        self.load()
        return self._facts

    @property
    def max_tokens(self) -> int:
        """What the model reads of a text; it ignores what follows. Loads the model."""
        self.load()
        return self._facts.max_tokens

    @property
    def fingerprint(self) -> str:
        """Two models with the same fingerprint make vectors that can be compared. Loads the model."""
        self.load()
        facts = [self.name, self._dimension, *self._facts]
        return hashlib.blake2b(
            json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=8
        ).hexdigest()

    def prepare(self) -> None:
        self._facts = self.open_model()
        # The first vector takes ten times as long as those that follow: nobody should wait for it.
        whole = len(self.encode(["warm up"], is_query=True)[0])
        if self.truncate_dim is not None and not 1 <= self.truncate_dim <= whole:
            raise ModelUnavailable(
                f"The vectors of the model {self.name.rpartition('@')[0]} have {whole} numbers: "
                f"--dimensions {self.truncate_dim:,} can't be made of them. "
                f"Choose one from 1 to {whole}."
            )
        self._dimension = self.truncate_dim or whole

    def embed_query(self, text: str) -> bytes:
        """The vector of a query: float32, little-endian, of unit length, as sqlite-vec reads it.

        :raises ModelUnavailable: if the model can't be loaded or gives no usable vector
        """
        return self._query_vector(text[:QUERY_CHARACTERS])

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """The vectors of several queries at once; None as in :meth:`embed_documents`.

        :raises ModelUnavailable: if the model can't be loaded or fails
        """
        return self._vectors(texts, is_query=True)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes | None]:
        """The vectors of texts; None where the model answered with something that is no direction.

        A query has to wait until all of them are done.

        :raises ModelUnavailable: if the model can't be loaded or fails
        """
        return self._vectors(texts, is_query=False) if texts else []

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How long the model works on each text, to compare: those of one length are best embedded together.

        :raises ModelUnavailable: if the model can't be loaded or fails
        """
        return self._run(texts, self.measure)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The word pieces of each text, as numbers for :meth:`piece_similarities`. Takes little time.

        :raises ModelUnavailable: if the model can't be loaded, fails or has no vectors of word pieces
        """
        return self._run(texts, self.split_into_pieces)

    def piece_similarities(self, asked: Sequence[int], pieces: Sequence[int]) -> Any:
        """The cosine similarity of each word piece that is asked for with each of the others: asked x pieces.

        Their vectors say what a word is like, as the model knows it before it reads a text, not what it means in its sentence.

        :raises ModelUnavailable: if the model has no vectors of word pieces
        """
        import numpy

        rows = self.rows_of_pieces(pieces)
        lengths = numpy.sqrt(numpy.einsum("pn,pn->p", rows, rows))
        # Not by @, whose threads take longer to wake up than this takes.
        products = numpy.einsum("qn,pn->qp", _unit_rows(self.rows_of_pieces(asked)), rows)
        return products / numpy.maximum(lengths, 1e-12)

    def _new_query_vector(self, text: str) -> bytes:
        [vector] = self._vectors([text], is_query=True)
        if vector is None:
            raise ModelUnavailable(
                f"The model {self.name} could make nothing of this query. Use other words."
            )
        return vector

    def _vectors(self, texts: Sequence[str], *, is_query: bool) -> list[bytes | None]:
        return self._run(
            texts,
            lambda texts: _unit_vectors(self.encode(texts, is_query=is_query), self.truncate_dim),
        )

    def _run(self, texts: Sequence[str], encode: Callable[[list[str]], list[Any]]) -> list[Any]:
        self.load()
        with self._encode_lock:
            try:
                return encode([without_surrogates(text) for text in texts])
            except Exception as error:
                message = self.error_message(error, f"The model {self.name} failed")
                raise ModelUnavailable(message) from error


def _unit_vectors(rows: Any, dimensions: int | None) -> list[bytes | None]:
    """Each row scaled to length 1, as bytes; None for one that is zero or isn't finite."""
    import numpy

    matrix = numpy.asarray(rows, dtype="float64")[:, :dimensions]
    lengths = numpy.linalg.norm(matrix, axis=1)
    usable = numpy.isfinite(lengths) & (lengths > 0)
    lengths[~usable] = 1
    unit = (matrix / lengths[:, None]).astype("<f4")
    return [row.tobytes() if fine else None for row, fine in zip(unit, usable)]


def _unit_rows(rows: Any) -> Any:
    import numpy

    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(lengths > 0, lengths, 1)
