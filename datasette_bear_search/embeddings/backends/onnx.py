"""ONNX export and runtime: the vectors of a SentenceTransformer without importing torch.

torch and sentence-transformers take seconds and hundreds of megabytes even for one query's vector;
onnxruntime and tokenizers need a tenth of that, with the same weights. Transformers pooled by the
mean or the first token are exported. An export has only the graph: the weights are read in place
from the model's own files. The bundled model's is in this package, made by
benchmarks/installs/make_graph.py; others are made by ``onnx_export`` in the user's cache.
"""

# Every datasette command imports this module, so only functions import numpy and onnxruntime.
from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import files
from ..base import ModelFacts, WordPieces
from ..prompts import Prompts
from ..safetensors import tensors

# Increase it when exports change, so that they are made again.
FORMAT = 2
# Tokens in a batch, padding included. Larger batches need more memory and are no faster.
TOKENS_PER_BATCH = 4096

# Runs after which the weights are repacked for the processor. That takes as long as it saves in so
# many: 45 ms, and 2.7 ms for a query (of 8). A command that searches once never does it.
REPACK_AFTER = 16

# The files of an export: what isn't in the graph, and the graph without its weights.
ABOUT_FILE, GRAPH_FILE = "about.json", "model.onnx"
# The tokenizer, which an export has only if the model has no such file.
TOKENIZER_FILE = "tokenizer.json"
# The export of the bundled model.
SHIPPED = Path(__file__).parent.parent / "bundled"
logger = logging.getLogger(__name__)


class Unsupported(Exception):
    """This model can't be exported."""


def is_installed() -> bool:
    """Return whether this Python has the packages that run an export."""
    return all(find_spec(package) for package in ("onnxruntime", "tokenizers", "numpy"))


def export_folder(folder: Path) -> Path:
    """Return the folder of the export of the model in ``folder``, whether there is one or not."""
    # By content, so that an export is never out of date and serves every environment.
    content = files.content_hash(folder, FORMAT)
    return SHIPPED if content == _shipped_content() else files.cache_folder() / "models" / content


def has_export(folder: Path) -> bool:
    """Return whether there is an export of these files that this Python can run."""
    about = export_folder(folder) / ABOUT_FILE
    return is_installed() and about.exists() and "unsuitable" not in json.loads(about.read_text())


def open_onnx_export(folder: Path) -> OnnxModel | None:
    """Return the export of these files; None if there is none or it can't be used."""
    try:
        return OnnxModel(export_folder(folder), folder) if has_export(folder) else None
    except Exception as error:  # the model itself can be used instead
        logger.warning("The ONNX export of %r can't be used: %r", str(folder), error)
        if (exported := export_folder(folder)) != SHIPPED:
            shutil.rmtree(exported, ignore_errors=True)  # the next index run makes a new one
        return None


class OnnxModel:
    """An export, run by onnxruntime and tokenizers. Only one thread at a time may use it."""

    def __init__(self, exported: Path, folder: Path) -> None:
        """Open an export.

        :param folder: the model's files
        """
        import numpy
        from tokenizers import Tokenizer

        about = json.loads((exported / ABOUT_FILE).read_text())
        self.facts = ModelFacts(about["max_tokens"], about["settings"])
        self._max_length: int | None = about["truncates_at"]
        self._pooling: str = about["pooling"]
        self.prompts = Prompts(*map(about["prompts"].get, ("query", "document")))  # the model's own
        ids = about["padding"]
        self._padding = {"pad_id": ids["input_ids"], "pad_type_id": ids["token_type_ids"]}
        table = tensors(folder)[about["pieces"]].array
        mean = numpy.array(about["middle"], dtype="float32")
        self.word_pieces = WordPieces(self._split, table, mean)
        tokenizers = [path / TOKENIZER_FILE for path in (folder, exported)]
        self.tokenizer = Tokenizer.from_file(str(next(filter(Path.exists, tokenizers))))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._runs = 0
        graph = (exported / GRAPH_FILE).read_bytes()
        self._open = partial(_session, graph, [folder / file for file in about["files"]])
        self._session = self._open(repack=False)

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy

        encodings = self._tokenize(texts)

        def pooled(numbers: Sequence[int]) -> Any:
            vectors, mask = self._token_vectors([encodings[number] for number in numbers])
            if self._pooling == "cls":
                return vectors[:, 0]
            counts = mask.sum(axis=1, keepdims=True)
            return (vectors * mask[:, :, None]).sum(axis=1) / numpy.maximum(counts, 1)

        return numpy.array(in_batches([len(encoding.ids) for encoding in encodings], pooled))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens of each text the model reads."""
        return [len(encoding.ids) for encoding in self._tokenize(texts)]

    def _split(self, texts: Sequence[str]) -> list[list[int]]:
        # The fast method doesn't compute the offsets of the pieces.
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _tokenize(self, texts: Sequence[str]) -> list[Any]:
        # Truncate only here, because _split() needs all pieces of a text.
        if self._max_length:
            self.tokenizer.enable_truncation(self._max_length)
        try:
            return list(self.tokenizer.encode_batch(texts))
        finally:
            self.tokenizer.no_truncation()

    def _token_vectors(self, encodings: Sequence[Any]) -> tuple[Any, Any]:
        """Return vectors (texts x tokens x dimensions) and the attention mask."""
        import numpy

        longest = max(len(encoding.ids) for encoding in encodings)
        for encoding in encodings:
            encoding.pad(longest, **self._padding)
        inputs = {
            name: numpy.array([getattr(encoding, kind) for encoding in encodings], dtype="int64")
            for name, kind in INPUTS.items()
        }
        self._runs += 1
        if self._runs == REPACK_AFTER:
            with suppress(Exception):  # the model's files may be gone by now
                self._session = self._open(repack=True)
        read = {node.name: inputs[node.name] for node in self._session.get_inputs()}
        [vectors] = self._session.run(None, read)
        return vectors, inputs["attention_mask"]


def _session(graph: bytes, weights: Sequence[Path], *, repack: bool) -> Any:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    # Threads that spin while they wait for a query would keep a server's cores busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.disable_prepacking", "0" if repack else "1")
    options.log_severity_level = 4  # errors are exceptions, too
    if weights:
        # onnxruntime refuses files that are links, as those in the hub's cache are.
        files = [path.resolve() for path in weights]
        parent = Path(os.path.commonpath([path.parent for path in files]))
        for number, path in enumerate(files):
            name = path.relative_to(parent).as_posix().encode()
            # ".///model.safetensors", since lengths stand in the graph, too.
            name = b"." + name.rjust(_LOCATION_LENGTH - 1, b"/")
            if len(name) > _LOCATION_LENGTH:
                raise Unsupported("the names of its weights are too long")
            graph = graph.replace(location(number), name)
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(parent))
    return InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def location(number: int) -> bytes:
    """Return what stands in a graph for a file, as long as the longest path that replaces it."""
    return f"weights {number}".encode().ljust(_LOCATION_LENGTH, b".")


_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_LOCATION_LENGTH = 120
# Inputs that a graph may have → their names in the package tokenizers.
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def in_batches(lengths: Sequence[int], encode: Callable[[Sequence[int]], Any]) -> list[Any]:
    """Return a row for each text, made in batches of similar lengths and limited size.

    :param encode: indexes of texts → their rows
    """
    rows: dict[int, Any] = {}
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > TOKENS_PER_BATCH:
            rows.update(zip(batch, encode(batch)))
            batch = []
        batch.append(number)
    rows.update(zip(batch, encode(batch)) if batch else ())
    return [rows[number] for number in range(len(lengths))]


@lru_cache(1)
def _shipped_content() -> str:
    try:
        return str(json.loads((SHIPPED / ABOUT_FILE).read_text())["content"])
    except FileNotFoundError:  # in a checkout, while it is made
        return ""
