"""ONNX export and runtime: the vectors of a SentenceTransformer without importing torch.

torch and sentence-transformers take seconds and hundreds of megabytes even for one query's vector;
onnxruntime and tokenizers need a tenth of that, with the same weights. Static models, and
transformers pooled by the mean or the first token, are exported to a folder in the user's cache.
"""

# Every datasette command imports this module, so only functions import numpy and onnxruntime.
from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base import ModelFacts, WordPieces, errors_only
from ..prompts import Prompts

# Increase it when exports change, so that they are made again.
FORMAT = 1
# Tokens in a batch, padding included. Larger batches need more memory and are no faster.
TOKENS_PER_BATCH = 4096
# Minimum cosine similarity to the library's vectors, so that an index can hold both.
MIN_COSINE = 0.9999
# Models with more bytes of weights aren't exported: it takes about three times as much memory.
MAX_WEIGHT_BYTES = 1_500_000_000
# Texts whose vectors are compared. Some need padding, and one is longer than any model reads.
SAMPLES = (
    "warm up", "", "x", "  How do I keep MICE out of the cabin?\n", "[MASK] [SEP] ##ing",
    "東京は日本の首都です。我们去公园散步吧。", "👨‍👩‍👧 🟢 naïve café — “quoted”",
    "def f(x: int) -> str:\n    return f'{x!r}'\n",
    "Seventeen glaciers were measured again in autumn, and each of them had become shorter. " * 12,
    "A book without end, of which nobody reads more than the beginning, 1234 pages. " * 1000,
)  # fmt: skip

# The files of an export. The graph refers to its weights by the name of their file.
ABOUT_FILE, TOKENIZER_FILE, PIECES_FILE = "about.json", "tokenizer.json", "pieces.npy"
GRAPH_FILE, WEIGHTS_FILE = "model.onnx", "weights.bin"

# Seconds after which an unfinished folder counts as abandoned.
_ABANDONED = 3600

logger = logging.getLogger(__name__)


class Unsupported(Exception):
    """This model can't be exported."""


def is_installed() -> bool:
    """Return whether this Python has the packages that run an export (the extra ``onnx``)."""
    return all(find_spec(package) for package in ("onnxruntime", "tokenizers", "numpy"))


def cache_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("datasette-bear-search", appauthor=False) / "models"


def export_folder(name: str, folder: Path) -> Path:
    """Return the folder for the export of model ``name`` with its current files in ``folder``."""
    # If any file's size or time changes, the name does, so an export is never out of date.
    files = {
        path.relative_to(folder).as_posix(): (status.st_size, status.st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (status := path.stat())
    }
    # Two environments with the same model have an export each, and don't delete the other's.
    return cache_folder() / f"{_digest([name, str(folder)])}-{_digest([FORMAT, files])}"


def has_export(name: str, folder: Path) -> bool:
    """Return whether there is an export of these files that this Python can run."""
    exported = export_folder(name, folder)
    return is_installed() and (exported / ABOUT_FILE).exists() and not _is_unsupported(exported)


def open_onnx_export(name: str, folder: Path) -> OnnxModel | None:
    """Return the export of these files; None if there is none or it can't be used."""
    exported = export_folder(name, folder)
    try:
        return OnnxModel(exported) if has_export(name, folder) else None
    except Exception as error:  # the model itself can be used instead
        logger.warning("The ONNX export of %r can't be used: %r", name, error)
        shutil.rmtree(exported, ignore_errors=True)  # so that the next index run makes a new one
        return None


class OnnxModel:
    """An export, run by onnxruntime and tokenizers. Only one thread at a time may use it."""

    def __init__(self, folder: Path) -> None:
        import numpy
        from tokenizers import Tokenizer

        about = json.loads((folder / ABOUT_FILE).read_text())
        self.facts = ModelFacts(about["max_tokens"], about["settings"])
        self.has_graph: bool = about["has_graph"]  # if not, token vectors are rows of the table
        self._max_length: int | None = about["truncates_at"]
        self._pooling: str = about["pooling"]
        self.prompts = Prompts(*map(about["prompts"].get, ("query", "document")))  # the model's own
        ids = about["padding"]
        self._padding = {"pad_id": ids["input_ids"], "pad_type_id": ids["token_type_ids"]}
        mean = numpy.array(about["middle"], dtype="float32")
        self._table = numpy.load(folder / PIECES_FILE, mmap_mode="r")
        self.word_pieces = WordPieces(self._split, self._table, mean)
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._session: Any = None
        if self.has_graph:
            from onnxruntime import InferenceSession, SessionOptions

            options = SessionOptions()
            # Threads that spin while they wait for a query would keep a server's cores busy.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.log_severity_level = 3  # errors
            graph, providers = str(folder / GRAPH_FILE), ["CPUExecutionProvider"]
            self._session = InferenceSession(graph, options, providers=providers)

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
            return list(self.tokenizer.encode_batch(texts, add_special_tokens=self.has_graph))
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
            for name, kind in _INPUTS.items()
        }
        if self._session is None:
            vectors = self._table[inputs["input_ids"]].astype("float32")
        else:
            read = {node.name: inputs[node.name] for node in self._session.get_inputs()}
            [vectors] = self._session.run(None, read)
        return vectors, inputs["attention_mask"]


# Inputs that a graph may have → their names in the package tokenizers.
_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


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


def export(
    name: str,
    source: Path,
    model: Any,
    facts: ModelFacts,
    prompts: Prompts,
    encode: Callable[[list[str]], Any],
) -> bool:
    """Export a loaded SentenceTransformer to its :func:`export_folder`; return whether that worked.

    A failure is recorded there, too, so that the export isn't tried again.

    :param source: the folder with the model's files
    :param prompts: those in its settings
    :param encode: texts → the library's own vectors, to compare with
    :raises OSError: if the folder can't be written
    """
    folder = export_folder(name, source)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_stale(folder)
    # Only this user may read the export, and nobody sees it unfinished.
    with tempfile.TemporaryDirectory(
        prefix=".new-", dir=folder.parent, ignore_cleanup_errors=True
    ) as drafts:
        draft = Path(drafts, "export")
        draft.mkdir(mode=0o700)
        try:
            settings = json.loads(json.dumps(facts.settings))
            if settings != facts.settings:
                raise Unsupported("its settings can't be stored")
            own = {"query": prompts.query, "document": prompts.passage}
            about = {**facts._asdict(), "source": str(source), "prompts": own}
            (draft / ABOUT_FILE).write_text(json.dumps({**about, **_write(draft, model)}))
            _verify(OnnxModel(draft), encode)
        except Exception as error:
            logger.info("No ONNX export is made: %r", error)
            draft = Path(drafts, "failure")
            draft.mkdir(mode=0o700)
            about = {"unsuitable": str(error)[:500], "source": str(source)}
            (draft / ABOUT_FILE).write_text(json.dumps(about))
        with suppress(OSError):  # another process was faster
            os.rename(draft, folder)
    return not _is_unsupported(folder)


def pooling_mode(module: Any) -> str:
    """Return the pooling mode of a module, such as ``mean``; empty if it isn't for pooling."""
    mode = getattr(module, "pooling_mode", None)
    return mode if isinstance(mode, str) else "+".join(mode or ())


def cosines(one: Any, other: Any) -> Any:
    """Return the cosine similarity of each row to the other array's; no row may be zero."""
    squares = (one * one).sum(axis=1) * (other * other).sum(axis=1)
    return (one * other).sum(axis=1) / squares**0.5


def _digest(facts: Any) -> str:
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=8).hexdigest()


def _is_unsupported(folder: Path) -> bool:
    return "unsuitable" in json.loads((folder / ABOUT_FILE).read_text())


def _remove_stale(folder: Path) -> None:
    """Remove exports of earlier files of the model, of models that are gone, and drafts."""
    model = folder.name.partition("-")[0]
    outdated = {*folder.parent.glob(f"{model}-*")} - {folder}
    for about in folder.parent.glob(f"*-*/{ABOUT_FILE}"):
        with suppress(OSError, ValueError):
            source = json.loads(about.read_text()).get("source")
            outdated |= {about.parent} if source and not Path(source).exists() else set()
    drafts = folder.parent.glob(".new-*")
    abandoned = {path for path in drafts if time.time() - path.stat().st_mtime > _ABANDONED}
    for path in outdated | abandoned:
        shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, model: Any) -> dict[str, Any]:
    import numpy

    pooling = _supported_pooling(model)
    pad_id = pad_type_id = 0
    if is_static := pooling == "static":
        tokenizer, layer = model.tokenizer, model[0].embedding
        max_length = (tokenizer.truncation or {}).get("max_length")
    else:
        tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
        if tokenizer is None or model.tokenizer.padding_side != "right":
            raise Unsupported("its tokenizer isn't of the package tokenizers, or pads on the left")
        layer = model[0].auto_model.get_input_embeddings()
        _write_graph(folder, model[0].auto_model, model.tokenizer)
        max_length = int(model.max_seq_length) if model.max_seq_length else None
        pad_id = int(model.tokenizer.pad_token_id or 0)
        pad_type_id = int(model.tokenizer.pad_token_type_id or 0)
    (folder / TOKENIZER_FILE).write_text(tokenizer.to_str(), encoding="utf-8")
    table = layer.weight.detach().float().cpu().numpy()
    # Half precision makes no visible difference and takes half the space.
    numpy.save(folder / PIECES_FILE, table.astype("float16"))
    return {
        "has_graph": not is_static,
        "pooling": "mean" if is_static else pooling,
        "truncates_at": max_length,
        "padding": {"input_ids": pad_id, "token_type_ids": pad_type_id},
        "middle": table.mean(axis=0).tolist(),
    }


def _supported_pooling(model: Any) -> str:
    """Return mean, cls or static (a mean without a transformer), or raise Unsupported."""
    kinds = [type(module).__name__ for module in model]
    if kinds[-1] == "Normalize":
        kinds.pop()
    if model.truncate_dim is not None:
        raise Unsupported("its vectors are truncated")
    if kinds == ["StaticEmbedding"] and model[0].embedding.mode == "mean":
        return "static"
    if kinds != ["Transformer", "Pooling"]:
        raise Unsupported(f"it is made of {', '.join(kinds)}")
    pooling = pooling_mode(model[1])
    if pooling not in ("mean", "cls") or not getattr(model[1], "include_prompt", True):
        raise Unsupported(f"its tokens are pooled by {pooling}")
    return pooling


def _write_graph(folder: Path, transformer: Any, tokenizer: Any) -> None:
    import onnx
    import torch

    if sum(weight.numel() * 4 for weight in transformer.parameters()) > MAX_WEIGHT_BYTES:
        raise Unsupported("it is too large")
    # A copy, because a search may use the model meanwhile. Fused attention makes a longer graph.
    transformer = copy.deepcopy(transformer).cpu().float().eval()
    if hasattr(transformer, "set_attn_implementation"):
        transformer.set_attn_implementation("eager")
    tokens = tokenizer(["two texts", "of unlike lengths"], padding=True, return_tensors="pt")
    names = list(tokens)
    if not {"input_ids", "attention_mask"} <= set(names) <= set(_INPUTS):
        raise Unsupported(f"it reads {', '.join(names)}")

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, *values: Any) -> Any:
            return self.transformer(**dict(zip(names, values)), return_dict=True).last_hidden_state

    any_size = {0: "texts", 1: "tokens"}
    with warnings.catch_warnings(), errors_only("torch.onnx"), torch.no_grad():
        warnings.simplefilter("ignore")  # they are meant for the model's makers
        torch.onnx.export(
            Tokens(),
            tuple(tokens[name] for name in names),
            str(folder / "whole.onnx"),
            input_names=names,
            output_names=["vectors"],
            dynamic_axes=dict.fromkeys([*names, "vectors"], any_size),
            opset_version=17,
            dynamo=False,  # the other exporter needs one more package, onnxscript
        )
    # Weights in a separate file are memory-mapped, which halves the memory and the start-up time.
    onnx.save_model(
        onnx.load(str(folder / "whole.onnx")),
        str(folder / GRAPH_FILE),
        save_as_external_data=True,
        location=WEIGHTS_FILE,
    )
    for path in {*folder.iterdir()} - {folder / GRAPH_FILE, folder / WEIGHTS_FILE}:
        path.unlink()


def _verify(exported: OnnxModel, encode: Callable[[list[str]], Any]) -> None:
    import numpy

    ours, theirs = exported.encode(SAMPLES), numpy.asarray(encode(list(SAMPLES)))
    has_direction = ours.any(axis=1)  # a static model returns zeros for an empty text
    same = cosines(ours[has_direction], theirs[has_direction]) >= MIN_COSINE
    if (has_direction != theirs.any(axis=1)).any() or not same.all():
        raise Unsupported("its vectors differ from the library's")
