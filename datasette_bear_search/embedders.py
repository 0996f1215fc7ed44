"""Text → vectors: which model, when it is loaded, and what to say when it can't be.

A model may be slow to load, missing or broken. Whoever holds an :class:`Embedder` can ask which (``ready``,
``failure``) without waiting for it, and pays for loading only with the first vector.
"""

# torch and sentence_transformers take seconds to import, numpy a tenth of one, and every datasette command
# imports this module: so only the functions that need them do.
from __future__ import annotations

import hashlib
import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from . import model_files
from .model_files import BUNDLED, BUNDLED_PACKAGE
from .models import Model, ModelUnavailable, readable

if TYPE_CHECKING:
    from .shortened import ShortenedEmbedder

HUB_DEFAULT = "BAAI/bge-small-en-v1.5"

# A query is what a person types; a book that is pasted into the box must not keep the model busy.
QUERY_CHARACTERS = 2000
# Query vectors that are kept: typing, paging and going back ask for the same ones again and again.
QUERY_CACHE = 1024


def default_model() -> str:
    """The model for a new index, by what is installed: never by the state of the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def is_here(model: str) -> bool:
    """Whether a model can be loaded without the network. Neither loads it nor asks anybody.

    :raises ModelUnavailable: if the name can't be one
    """
    name = model if model in _factories else _split(model)[0]
    bundled = name == BUNDLED and find_spec(BUNDLED_PACKAGE)
    return bool(
        name in _factories
        or bundled
        or model_files.own_folder(name)
        or model_files.cached_folder(name)
    )


def get_embedder(model: str) -> Embedder:
    """The embedder of this name, one in the whole process. Nothing is loaded yet.

    :param model: the name of a model; with ``@256`` behind it, the first 256 numbers of its vectors
    """
    # Not above: these rooms need what is below.
    from .sentence_transformer import SentenceTransformerEmbedder
    from .shortened import ShortenedEmbedder

    name, dimensions = (model, None) if model in _factories else _split(model)
    with _registry_lock:
        if name not in _embedders:
            factory = _factories.get(name)
            _embedders[name] = factory() if factory else SentenceTransformerEmbedder(name)
        whole = _embedders[name]
        if dimensions is None:
            return whole
        shortened = _shortened.get((name, dimensions))
        # A model that was replaced must not live on in here.
        if shortened is None or shortened.whole is not whole:
            shortened = _shortened[name, dimensions] = ShortenedEmbedder(whole, dimensions)
        return shortened


def with_dimensions(model: str, dimensions: int) -> str:
    """The name for the first ``dimensions`` numbers of a model's vectors."""
    name = model if model in _factories else _split(model)[0]
    return f"{name}@{dimensions}"


def register(name: str, factory: Callable[[], Embedder]) -> None:
    """Make ``get_embedder(name)`` give what ``factory`` makes, whatever else has that name."""
    with _registry_lock:
        _factories[name] = factory
        _embedders.pop(name, None)


_registry_lock = threading.Lock()
_factories: dict[str, Callable[[], Embedder]] = {}
_embedders: dict[str, Embedder] = {}
_shortened: dict[tuple[str, int], ShortenedEmbedder] = {}


def _split(model: str) -> tuple[str, int | None]:
    """A model's full name, and the numbers that are wanted of its vectors, None for all."""
    name, dimensions = model_files.split_dimensions(model)
    return (name if name in _factories else model_files.full_name(name)), dimensions


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
        self._dimension = 0
        self._facts = ModelFacts(0, {})
        # Tokenizers are not made for two threads at a time, and one text keeps all cores busy.
        self._encode_lock = threading.Lock()
        self._query_vector = lru_cache(QUERY_CACHE)(self._new_query_vector)

    @abstractmethod
    def open_model(self) -> ModelFacts:
        """Load the model. Called once, by one thread.

        :raises ModelUnavailable: with a message for people; other exceptions are put into such words
        """

    @abstractmethod
    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        """One vector a text, as an array or as lists of numbers of any length. Never called by two threads at once."""

    def expect(self, documents: int) -> None:
        """Be told that vectors of so many documents will be asked for, to make them in the fastest way."""

    def can_become_light(self) -> bool:
        """Whether :meth:`become_light` would make the next process's start quicker. Loads nothing."""
        return False

    def become_light(self) -> bool:
        """Keep what the next process needs to start within a second; whether that worked. Takes some seconds.

        :raises ModelUnavailable: if the model can't be loaded
        """
        return False

    def measure(self, texts: list[str]) -> list[int]:
        """How much of each text the model reads, in any unit. Never called by two threads at once."""
        return [len(text) for text in texts]

    def encode_tokens(self, texts: list[str]) -> list[Any]:
        """For each text one vector a token, without those that the model adds. Never called by two threads at once.

        :raises ModelUnavailable: if the model has none
        """
        raise ModelUnavailable(
            f"The model {self.name} makes one vector of a text and none of its words."
        )

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
        self._dimension = len(self.encode(["warm up"], is_query=True)[0])

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

    def token_vectors(self, texts: Sequence[str]) -> list[Any]:
        """The vectors of each text's tokens: an array of tokens x numbers, each token's of unit length.

        A query has to wait until all of them are done.

        :raises ModelUnavailable: if the model can't be loaded, fails or has no vectors of tokens
        """
        return self._run(
            texts, lambda texts: [_unit_rows(rows) for rows in self.encode_tokens(texts)]
        )

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
        return self._run(texts, lambda texts: _unit_vectors(self.encode(texts, is_query=is_query)))

    def _run(self, texts: Sequence[str], encode: Callable[[list[str]], list[Any]]) -> list[Any]:
        self.load()
        with self._encode_lock:
            try:
                return encode([readable(text) for text in texts])
            except Exception as error:
                message = self.in_plain_words(error, f"The model {self.name} failed")
                raise ModelUnavailable(message) from error


def _unit_vectors(rows: Any) -> list[bytes | None]:
    """Each row scaled to length 1, as bytes; None for one that is zero or isn't finite."""
    import numpy

    matrix = numpy.asarray(rows, dtype="float64")
    lengths = numpy.linalg.norm(matrix, axis=1)
    usable = numpy.isfinite(lengths) & (lengths > 0)
    lengths[~usable] = 1
    unit = (matrix / lengths[:, None]).astype("<f4")
    return [row.tobytes() if fine else None for row, fine in zip(unit, usable)]


def _unit_rows(rows: Any) -> Any:
    import numpy

    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(lengths > 0, lengths, 1)
