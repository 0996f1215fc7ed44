"""ONNX export and runtime: the vectors of a SentenceTransformer without importing torch.

torch and sentence-transformers take seconds and hundreds of megabytes even for one query's vector;
onnxruntime and tokenizers need a tenth of that, with the same weights. Static models, and
transformers pooled by the mean or the first token, are exported. An export has only the graph: the
weights are read in place from the model's own files. The bundled model's is in this package, made
by benchmarks/installs/make_graph.py; others are made by torch, in the user's cache.
"""

# Every datasette command imports this module, so only functions import numpy and onnxruntime.
from __future__ import annotations

import copy
import hashlib
import io
import json
import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import files
from ..base import ModelFacts, WordPieces, errors_only
from ..prompts import Prompts
from ..safetensors import Tensor, as_float32, tensors

# Increase it when exports change, so that they are made again.
FORMAT = 2
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

# Runs after which the weights are repacked for the processor. That takes as long as it saves in so
# many: 45 ms, and 2.7 ms for a query (of 8). A command that searches once never does it.
REPACK_AFTER = 16

# The files of an export: what isn't in the graph, and the graph without its weights.
ABOUT_FILE, GRAPH_FILE = "about.json", "model.onnx"
# The tokenizer, which an export has only if the model's own file isn't the same.
TOKENIZER_FILE = "tokenizer.json"
# The export of the bundled model.
SHIPPED = Path(__file__).parent.parent / "bundled"
# Smaller constants than this stay in the graph.
MIN_WEIGHT_BYTES = 1024

# Seconds after which an unfinished folder counts as abandoned.
_ABANDONED = 3600

logger = logging.getLogger(__name__)


class Unsupported(Exception):
    """This model can't be exported."""


def is_installed() -> bool:
    """Return whether this Python has the packages that run an export."""
    return all(find_spec(package) for package in ("onnxruntime", "tokenizers", "numpy"))


def can_export() -> bool:
    """Return whether this Python has the packages that make an export (the extra ``onnx``)."""
    return all(find_spec(package) for package in ("onnx", "sentence_transformers"))


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
        self.has_graph: bool = about["has_graph"]  # if not, token vectors are rows of the table
        self._max_length: int | None = about["truncates_at"]
        self._pooling: str = about["pooling"]
        self.prompts = Prompts(*map(about["prompts"].get, ("query", "document")))  # the model's own
        ids = about["padding"]
        self._padding = {"pad_id": ids["input_ids"], "pad_type_id": ids["token_type_ids"]}
        table = tensors(folder)[about["pieces"]].array
        mean = numpy.array(about["middle"], dtype="float32")
        self.word_pieces = WordPieces(self._split, table, mean)
        source = folder if about["has_own_tokenizer"] else exported
        self.tokenizer = Tokenizer.from_file(str(source / TOKENIZER_FILE))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._session: Any = None
        self._runs = 0
        if self.has_graph:
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
            vectors = as_float32(self.word_pieces.table[inputs["input_ids"]])
        else:
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
    options.log_severity_level = 3  # errors
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
            graph = graph.replace(_location(number), name)
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(parent))
    return InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _location(number: int) -> bytes:
    """Return what stands in a graph for a file, as long as the longest path that replaces it."""
    return f"weights {number}".encode().ljust(_LOCATION_LENGTH, b".")


_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_LOCATION_LENGTH = 120
_FLOAT, _FLOAT16, _BFLOAT16 = 1, 10, 16  # types of numbers, as ONNX counts them
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


@contextmanager
def new_export(source: Path) -> Iterator[Path]:
    """Give a folder for an export of the model in ``source``, which is kept after the block.

    If the block raises an exception, that is recorded instead, so that it isn't tried again.

    :raises OSError: if the cache can't be written
    """
    folder = export_folder(source)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_abandoned(folder.parent)
    # Only this user may read the export, and nobody sees it unfinished.
    with tempfile.TemporaryDirectory(
        prefix=".new-", dir=folder.parent, ignore_cleanup_errors=True
    ) as drafts:
        draft = Path(drafts, "export")
        draft.mkdir(mode=0o700)
        try:
            yield draft
        except Exception as error:
            logger.info("No ONNX export is made: %r", error)
            draft = Path(drafts, "failure")
            draft.mkdir(mode=0o700)
            (draft / ABOUT_FILE).write_text(json.dumps({"unsuitable": str(error)[:500]}))
        with suppress(OSError):  # another process was faster
            os.rename(draft, folder)


def write(folder: Path, source: Path, model: Any, facts: ModelFacts, prompts: Prompts) -> None:
    """Write the export of a loaded SentenceTransformer into an empty folder.

    :param source: the folder with the model's files
    :param prompts: those in its settings
    :raises Unsupported: if it can't be exported
    """
    settings = json.loads(json.dumps(facts.settings))
    if settings != facts.settings:
        raise Unsupported("its settings can't be stored")
    own = {"query": prompts.query, "document": prompts.passage}
    about = {**facts._asdict(), "prompts": own, **_write(folder, source, model)}
    about["content"] = files.content_hash(source, FORMAT)
    (folder / ABOUT_FILE).write_text(json.dumps(about))


def pooling_mode(module: Any) -> str:
    """Return the pooling mode of a module, such as ``mean``; empty if it isn't for pooling."""
    mode = getattr(module, "pooling_mode", None)
    return mode if isinstance(mode, str) else "+".join(mode or ())


def cosines(one: Any, other: Any) -> Any:
    """Return the cosine similarity of each row to the other array's; no row may be zero."""
    squares = (one * one).sum(axis=1) * (other * other).sum(axis=1)
    return (one * other).sum(axis=1) / squares**0.5


@lru_cache(1)
def _shipped_content() -> str:
    try:
        return str(json.loads((SHIPPED / ABOUT_FILE).read_text())["content"])
    except FileNotFoundError:  # in a checkout, while it is made
        return ""


def _remove_abandoned(exports: Path) -> None:
    """Remove drafts of runs that were killed."""
    for path in exports.glob(".new-*"):
        if time.time() - path.stat().st_mtime > _ABANDONED:
            shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, source: Path, model: Any) -> dict[str, Any]:
    pooling = _supported_pooling(model)
    pad_id = pad_type_id = 0
    places = _places(tensors(source))
    weights: list[str] = []
    if is_static := pooling == "static":
        tokenizer, layer = model.tokenizer, model[0].embedding
        max_length = (tokenizer.truncation or {}).get("max_length")
    else:
        tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
        if tokenizer is None or model.tokenizer.padding_side != "right":
            raise Unsupported("its tokenizer isn't of the package tokenizers, or pads on the left")
        layer = model[0].auto_model.get_input_embeddings()
        graph, weights = _graph(model[0].auto_model, model.tokenizer, places)
        (folder / GRAPH_FILE).write_bytes(graph)
        max_length = int(model.max_seq_length) if model.max_seq_length else None
        pad_id = int(model.tokenizer.pad_token_id or 0)
        pad_type_id = int(model.tokenizer.pad_token_type_id or 0)
    if not (has_own_tokenizer := _is_same(tokenizer, source / TOKENIZER_FILE)):
        (folder / TOKENIZER_FILE).write_text(tokenizer.to_str(), encoding="utf-8")
    table = layer.weight.detach().float().cpu().numpy()
    if (pieces := places.get(_key(table))) is None:
        raise Unsupported("its word pieces' vectors aren't stored as they are used")
    return {
        "has_graph": not is_static,
        "pooling": "mean" if is_static else pooling,
        "truncates_at": max_length,
        "padding": {"input_ids": pad_id, "token_type_ids": pad_type_id},
        "has_own_tokenizer": has_own_tokenizer,
        "files": weights,
        "pieces": pieces[0],
        "middle": table.mean(axis=0).tolist(),
    }


def _is_same(tokenizer: Any, path: Path) -> bool:
    from tokenizers import Tokenizer

    if not path.exists():
        return False
    both = [Tokenizer.from_str(tokenizer.to_str()), Tokenizer.from_file(str(path))]
    for each in both:
        each.no_padding()
        each.no_truncation()
    return both[0].to_str() == both[1].to_str()


def _key(array: Any) -> tuple[tuple[int, ...], bytes]:
    import numpy

    return array.shape, hashlib.sha256(numpy.ascontiguousarray(array).data).digest()


_Place = tuple[str, Tensor, bool]  # the name of a stored tensor, and whether it is transposed


def _places(stored: Mapping[str, Tensor]) -> dict[Any, _Place]:
    """Return where each stored matrix or vector is, also transposed, by its content as float32."""
    found: dict[Any, _Place] = {}
    for name, tensor in stored.items():
        numbers = as_float32(tensor.array)
        found.setdefault(_key(numbers), (name, tensor, False))
        if numbers.ndim == 2:
            found.setdefault(_key(numbers.T), (name, tensor, True))
    return found


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


def _graph(
    transformer: Any, tokenizer: Any, places: Mapping[Any, _Place]
) -> tuple[bytes, list[str]]:
    """Return the graph of a transformer, and the files with its weights."""
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

    exported = io.BytesIO()
    any_size = {0: "texts", 1: "tokens"}
    with warnings.catch_warnings(), errors_only("torch.onnx"), torch.no_grad():
        warnings.simplefilter("ignore")  # they are meant for the model's makers
        torch.onnx.export(
            Tokens(),
            tuple(tokens[name] for name in names),
            exported,
            input_names=names,
            output_names=["vectors"],
            dynamic_axes=dict.fromkeys([*names, "vectors"], any_size),
            opset_version=17,
            dynamo=False,  # the other exporter needs one more package, onnxscript
        )
    graph = onnx.load_model_from_string(exported.getvalue())
    weights = _leave_out_weights(graph.graph, places)
    graph.opset_import.add(domain="com.microsoft", version=1)  # onnxruntime's own nodes
    return graph.SerializeToString(), weights


def _leave_out_weights(graph: Any, places: Mapping[Any, _Place]) -> list[str]:
    """Make a graph read its weights as the model's files store them; return the files."""
    from onnx import TensorProto, helper, numpy_helper

    types = {"f4": _FLOAT, "f2": _FLOAT16, "u2": _BFLOAT16}
    initializers, nodes = [], []
    used: list[str] = []
    transposed = set()
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        found = places.get(_key(array)) if array.nbytes >= MIN_WEIGHT_BYTES else None
        if found is None:
            initializers.append(tensor)
            continue
        _, (file, offset, stored), is_transposed = found
        name, type = tensor.name, types[stored.dtype.str[1:]]
        if file not in used:
            used.append(file)
        if type != _FLOAT:
            name = f"{tensor.name}:stored"
            nodes.append(helper.make_node("Cast", [name], [tensor.name], to=_FLOAT))
        if is_transposed:
            transposed.add(tensor.name)
        kept = TensorProto(
            name=name, data_type=type, dims=stored.shape, data_location=TensorProto.EXTERNAL
        )
        location = _location(used.index(file)).decode()
        for key, value in (("location", location), ("offset", offset), ("length", stored.nbytes)):
            kept.external_data.add(key=key, value=str(value))
        initializers.append(kept)
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name not in transposed:
                continue
            if node.op_type == "MatMul" and position == 1:
                # It reads the matrix as it is stored. A node Transpose would make a copy.
                node.op_type, node.domain = "FusedMatMul", "com.microsoft"
                node.attribute.append(helper.make_attribute("transB", 1))
            else:
                node.input[position] = f"{name}:transposed:{len(nodes)}"
                nodes.append(
                    helper.make_node("Transpose", [name], node.input[position:][:1], perm=[1, 0])
                )
        nodes.append(node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(initializers)
    graph.node.extend(nodes)
    return used


def verify(exported: Path, folder: Path, encode: Callable[[list[str]], Any]) -> None:
    """Raise Unsupported unless an export's vectors are the library's, given by ``encode``."""
    import numpy

    model = OnnxModel(exported, folder)
    ours, theirs = model.encode(SAMPLES), numpy.asarray(encode(list(SAMPLES)))
    has_direction = ours.any(axis=1)  # a static model returns zeros for an empty text
    same = cosines(ours[has_direction], theirs[has_direction]) >= MIN_COSINE
    if (has_direction != theirs.any(axis=1)).any() or not same.all():
        raise Unsupported("its vectors differ from the library's")
