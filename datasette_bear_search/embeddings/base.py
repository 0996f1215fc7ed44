"""Base classes of models, which are loaded once, on demand or in advance, and may be missing."""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import math
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple, NoReturn, TypeVar, cast
from urllib.parse import quote

from ..notes import ForeseenError, short_title
from .prompts import Prompts
from .safetensors import as_float32

T = TypeVar("T")
# Seconds before loading is retried after a failure, so that not every search waits for it.
RETRY_AFTER = 60.0
# Seconds that an exiting process waits for a model that is being loaded.
EXIT_SECONDS = 5.0
# Characters of a query that are embedded: a book pasted into the box must not keep the model busy.
EMBEDDED_QUERY_CHARACTERS = 2000
# Query vectors kept in memory: typing, paging and going back need the same ones again and again.
QUERY_CACHE = 1024
# Words whose pieces are kept: some megabytes.
PIECES_CACHE = 30_000


class ModelUnavailable(ForeseenError):
    """The model can't be used now."""


class Model(ABC):
    """A model that is slow to load and may be missing or broken. Any thread may use it."""

    advice = "Try again, or choose another one with --model."  # after an unexpected failure

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
        """Load the model. Any error becomes a ModelUnavailable, whose message people see."""

    def load(self) -> None:
        """Load the model unless it is loaded; the first caller loads it, the others wait."""
        if self.ready:
            return
        with self._load_lock:
            if self.ready:
                return
            # Soon after a failure, don't make callers wait for another attempt.
            if self._has_just_failed():
                raise ModelUnavailable(self.failure)
            try:
                self.prepare()
            except Exception as error:
                self.failure = self.error_message(error, f"The model {self.name} can't be loaded")
                self._retry_at = time.monotonic() + RETRY_AFTER
                raise ModelUnavailable(self.failure) from error
            self.ready, self.failure = True, None

    def warm_up(self) -> None:
        """Start loading the model in the background, unless that is done or under way."""

        def load() -> None:
            with suppress(ModelUnavailable):  # kept in self.failure
                self.load()

        with self._warm_up_lock:
            if self.ready or self._has_just_failed():
                return
            if self._warm_up_thread and self._warm_up_thread.is_alive():
                return
            # A daemon thread doesn't keep a stopped server alive. Exiting still waits briefly: a
            # process that ends while onnxruntime starts its threads is aborted (status 134).
            self._warm_up_thread = threading.Thread(None, load, f"warm-up {self.name}", daemon=True)
            self._warm_up_thread.start()
            atexit.register(self._warm_up_thread.join, EXIT_SECONDS)

    @property
    def status(self) -> str:
        """``loaded``, ``loading``, ``failed`` or ``not loaded``."""
        if self.ready:
            return "loaded"
        if self._load_lock.locked():
            return "loading"
        return "failed" if self.failure else "not loaded"

    def wait_until_loaded(self, seconds: float | None) -> bool:
        """Wait so long (None: forever) and return whether the model is loaded; loading goes on."""
        self.warm_up()
        if not self.ready and (thread := self._warm_up_thread):
            thread.join(seconds)
        return self.ready

    def _has_just_failed(self) -> bool:
        return self.failure is not None and time.monotonic() < self._retry_at

    def error_message(self, error: Exception, what_happened: str) -> str:
        """Return the message for people: a ModelUnavailable's own, or one with advice."""
        if isinstance(error, ModelUnavailable):
            return str(error)
        return f"{what_happened} ({first_line(error)}). {self.advice}"


M = TypeVar("M", bound=Model)


def broken_model(kind: type[M], name: str, error: Exception) -> M:
    """Return a stand-in for a model that couldn't be created, which raises ``error`` when used."""

    def fail(*arguments: Any, **options: Any) -> NoReturn:
        raise error

    methods = dict.fromkeys({"prepare", *kind.__abstractmethods__}, fail)
    model = cast(M, type(kind.__name__, (kind,), methods)(name))
    model.failure = model.error_message(error, f"The model {name} can't be loaded")
    model._retry_at = math.inf
    return model


class ModelFacts(NamedTuple):
    max_tokens: int  # of a text that the model reads
    settings: Mapping[str, Any]  # whatever else the vectors depend on, except prompts


class ModelChoice(NamedTuple):
    """What a person chose about a model, written behind its name: ``@256@query=…@passage=…``."""

    dimensions: int | None = None  # numbers to keep of each vector; None: all
    query: str | None = None  # the prompt of queries; None: what the model was trained with
    passage: str | None = None

    def __str__(self) -> str:
        pairs = zip(("@", "@query=", "@passage="), self)
        texts = ((key, str(value)) for key, value in pairs if value is not None)
        return "".join(key + quote(text, ":", errors="replace") for key, text in texts)


@dataclass(frozen=True)
class WordPieces:
    """A model's input embeddings: the vectors of word pieces, regardless of their context."""

    split: Callable[[Sequence[str]], list[list[int]]]  # texts → the ids of each text's pieces
    table: Any  # pieces x dimensions
    mean: Any  # of all rows: what they have in common, which distinguishes none of them

    def vectors(self, pieces: Sequence[int]) -> Any:
        """Return the rows of these pieces minus the mean: pieces x dimensions."""
        rows = as_float32(self.table.take(pieces, axis=0))
        rows -= self.mean  # in place: to allocate memory takes longer than to subtract
        return rows


class Embedder(Model):
    """A model that turns texts into vectors.

    A subclass implements :meth:`open_model` and :meth:`encode`. Vectors are bytes: float32,
    little-endian, of unit length, as sqlite-vec reads them. Methods that need the model load it and
    raise :class:`ModelUnavailable` if it can't be loaded or fails.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.plain_name = name  # without what a person chose
        self.choice = ModelChoice()
        self.prompts = Prompts()  # known when the model is loaded
        # Only for a model that a person or this program names: an index can come from anybody.
        self.may_download = False
        self._dimension = 0
        self._facts = ModelFacts(0, {})
        # Tokenizers aren't thread-safe, and a single text keeps all cores busy.
        self._encode_lock = threading.Lock()
        self._query_vector = lru_cache(QUERY_CACHE)(self._new_query_vector)
        self._known_pieces: dict[str, list[int]] = {}

    # --- Implemented by subclasses; never called by two threads at once

    @abstractmethod
    def open_model(self) -> ModelFacts:
        """Load the model and describe it; for errors see :meth:`prepare`."""

    @abstractmethod
    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        """Return a vector for each text, as an array or lists; they needn't have unit length.

        The texts begin with their prompt.
        """

    def default_prompts(self) -> Prompts:
        """Return the prompts that the loaded model was trained with."""
        return Prompts()

    def measure(self, texts: list[str]) -> list[int]:
        """Return how much of each text the model reads, in any unit."""
        return [len(text) for text in texts]

    def knows(self, texts: list[str]) -> list[bool]:
        """Return whether the model knows the characters of each text, as far as it can tell."""
        return [True] * len(texts)

    @property
    def is_static(self) -> bool:
        """Whether each word piece has one vector, whatever its context."""
        return False

    def prepare_for_batch(self, documents: int) -> None:
        """Get ready to embed this many documents as fast as possible."""

    def loads_fast(self) -> bool:
        """Return, without loading, whether loading takes about a second and little memory."""
        return False

    def needs_onnx_export(self) -> bool:
        """Return, without loading, whether :meth:`export_onnx` would make the next start faster."""
        return False

    def export_onnx(self) -> bool:
        """Save an ONNX export so that the next process starts fast; return whether there is one."""
        return False

    def open_word_pieces(self) -> WordPieces:
        """Return the model's word pieces, or raise ModelUnavailable if it has none."""
        raise ModelUnavailable(f"The model {self.name} has no vectors of word pieces.")

    # --- Called by others

    def choose(self, choice: ModelChoice) -> None:
        """Apply what a person chose. Call this once, before the model is loaded."""
        # Dimensions are for models trained for it: Kusupati et al., "Matryoshka Representation
        # Learning", NeurIPS 2022. The library's truncate_dim isn't used, so that this works with
        # every backend.
        self.choice, self.name = choice, f"{self.name}{choice}"

    @property
    def dimension(self) -> int:
        """Numbers in a vector, a multiple of 8: the signs of eight fill a byte of vec0's."""
        self.load()
        return math.ceil(self._dimension / 8) * 8

    @property
    def max_tokens(self) -> int:
        """The number of tokens of a text that the model reads; it ignores the rest."""
        self.load()
        return self._facts.max_tokens

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for two models whose vectors can be compared."""
        self.load()
        # A folder may be moved or copied; its weights say which model it has.
        is_folder = os.path.isabs(self.name) and "weights" in self._facts.settings
        all_facts = ["" if is_folder else self.name, self._dimension, *self._facts]
        all_facts += [self.prompts] if any(self.prompts) else []
        facts = json.dumps(all_facts, sort_keys=True, default=str)
        return hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()

    def embed_query(self, text: str) -> bytes:
        """Return the vector of the beginning of a query, or raise ModelUnavailable."""
        return self._query_vector(text[:EMBEDDED_QUERY_CHARACTERS])

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return the vectors of several queries; None as in :meth:`embed_documents`."""
        return self._vectors(texts, is_query=True)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return the vectors of texts; None where it returned none, or doesn't know the text."""
        return self._vectors(texts, is_query=False) if texts else []

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how much of each text the model reads; embed similar lengths together."""
        return self._run(texts, self.measure)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's word pieces, for :meth:`piece_similarities`."""
        # Each word by itself and only once, which takes a quarter of the time.
        words, known = [text.split() for text in texts], self._known_pieces
        new = [word for word in dict.fromkeys(chain.from_iterable(words)) if word not in known]
        if new:  # or it would wait for whoever is embedding
            known.update(zip(new, self._run(new, lambda new: self._word_pieces.split(new))))
        if len(known) > PIECES_CACHE:
            self._known_pieces = {}
        return [[*chain.from_iterable(map(known.__getitem__, each))] for each in words]

    def piece_similarities(self, asked: Sequence[int], pieces: Sequence[int]) -> Any:
        """Return the cosine similarities of the query's word pieces to others: asked x pieces."""
        import numpy

        rows, query = map(self._word_pieces.vectors, (pieces, asked))
        lengths = numpy.sqrt(numpy.einsum("pn,pn->p", rows, rows))
        query /= numpy.maximum(numpy.linalg.norm(query, axis=1, keepdims=True), 1e-12)
        # The operator @ would start threads, which takes longer than this does.
        return numpy.einsum("qn,pn->qp", query, rows) / numpy.maximum(lengths, 1e-12)

    @cached_property
    def _word_pieces(self) -> WordPieces:
        return self.open_word_pieces()

    def prepare(self) -> None:
        self._facts = self.open_model()
        # The first vector takes ten times as long as the next, so make it before anybody waits.
        whole = len(self.encode(["warm up"], is_query=True)[0])
        wanted, *chosen = self.choice
        if wanted is not None and not 1 <= wanted <= whole:
            raise ModelUnavailable(
                f"The vectors of the model {self.plain_name} have {whole} numbers: @{wanted} can't "
                f"be made of them. Choose one from 1 to {whole}."
            )
        self._dimension = wanted or whole
        pairs = zip(self.default_prompts(), chosen)
        self.prompts = Prompts(*(own if other is None else other for own, other in pairs))

    def _new_query_vector(self, text: str) -> bytes:
        [vector] = self._vectors([text], is_query=True)
        if vector is None:
            [is_known] = self._run([text], self.knows)
            why = "can't embed this query" if is_known else "doesn't know most of these words"
            raise ModelUnavailable(f"The model {self.name} {why}.")
        return vector

    def _vectors(self, texts: Sequence[str], *, is_query: bool) -> list[bytes | None]:
        def encode(texts: list[str]) -> list[bytes | None]:
            prompt = self.prompts.query if is_query else self.prompts.passage
            rows = self.encode([prompt + text for text in texts], is_query=is_query)
            made = _unit_vectors(rows, self._dimension)
            return [vector if known else None for vector, known in zip(made, self.knows(texts))]

        return self._run(texts, encode)

    def _run(self, texts: Sequence[str], encode: Callable[[list[str]], list[T]]) -> list[T]:
        self.load()
        with self._encode_lock:
            try:
                return encode([without_surrogates(text) for text in texts])
            except Exception as error:
                message = self.error_message(error, f"The model {self.name} failed")
                raise ModelUnavailable(message) from error


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which occur in broken exports and which tokenizers reject."""
    return text.encode(errors="replace").decode()


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, short enough for a sentence."""
    line, *_ = str(error).strip().splitlines() or [type(error).__name__]
    return short_title(line, 200).rstrip(".")


@contextmanager
def errors_only(*loggers: str) -> Iterator[None]:
    """Suppress everything but errors from these loggers."""
    levels = {logger: logger.level for logger in map(logging.getLogger, loggers)}
    for logger in levels:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def silent_libraries() -> Iterator[None]:
    """Suppress progress bars and warnings while a model is loaded from disk."""
    from transformers.utils import logging as transformers_logging

    library: Any = transformers_logging  # only partly typed
    had_bars = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        with errors_only("sentence_transformers", "transformers"):
            yield
    finally:
        if had_bars:
            library.enable_progress_bar()


def _unit_vectors(rows: Any, dimensions: int) -> list[bytes | None]:
    """Return each row as bytes, cut and scaled to unit length; None for zeros and infinities.

    They end with zeros, which change no similarity, so that the signs fill whole bytes.
    """
    import numpy

    matrix = numpy.asarray(rows, dtype="float64")[:, :dimensions]
    lengths = numpy.linalg.norm(matrix, axis=1)
    usable = numpy.isfinite(lengths) & (lengths > 0)
    lengths[~usable] = 1
    unit = (matrix / lengths[:, None]).astype("<f4")
    zeros = bytes(4 * (-dimensions % 8))
    return [row.tobytes() + zeros if fine else None for row, fine in zip(unit, usable)]
