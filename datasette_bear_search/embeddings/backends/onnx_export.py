"""A loaded SentenceTransformer → its ONNX export, made by torch."""

# Searches by meaning import this module, too, so only functions import numpy, onnx and torch.
from __future__ import annotations

import copy
import hashlib
import io
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import files
from ..base import ModelFacts, errors_only
from ..prompts import Prompts
from ..safetensors import Tensor, as_float32, tensors
from .onnx import (
    ABOUT_FILE,
    FORMAT,
    GRAPH_FILE,
    INPUTS,
    TOKENIZER_FILE,
    OnnxModel,
    Unsupported,
    export_folder,
    location,
)

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

# Smaller constants than this stay in the graph.
MIN_WEIGHT_BYTES = 1024

_FLOAT, _FLOAT16, _BFLOAT16 = 1, 10, 16  # types of numbers, as ONNX counts them

logger = logging.getLogger(__name__)


def can_export() -> bool:
    """Return whether this Python has the packages that make an export (the extra ``onnx``)."""
    return all(find_spec(package) for package in ("onnx", "sentence_transformers"))


@contextmanager
def new_export(source: Path) -> Iterator[Path]:
    """Give a folder for an export of the model in ``source``, which is kept after the block.

    If the block raises an exception, that is recorded instead, so that it isn't tried again.

    :raises OSError: if the cache can't be written, now
    """
    folder = export_folder(source)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Only this user may read the export, and nobody sees it unfinished.
    with tempfile.TemporaryDirectory(
        prefix=".new-", dir=folder.parent, ignore_cleanup_errors=True
    ) as drafts:
        draft = Path(drafts, "export")
        draft.mkdir(mode=0o700)
        try:
            yield draft
        except OSError:  # the disk is full, which it won't be later
            raise
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
    if json.loads(json.dumps(facts.settings)) != facts.settings:
        raise Unsupported("its settings can't be stored")
    pooling = _supported_pooling(model)
    tokenizer, transformer = model.tokenizer, model[0].auto_model
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or tokenizer.padding_side != "right":
        raise Unsupported("its tokenizer isn't of the package tokenizers, or pads on the left")
    if not (source / TOKENIZER_FILE).exists():
        (folder / TOKENIZER_FILE).write_text(backend.to_str(), encoding="utf-8")
    places = _places(tensors(source))
    graph, weights = _graph(transformer, tokenizer, places)
    (folder / GRAPH_FILE).write_bytes(graph)
    table = transformer.get_input_embeddings().weight.detach().float().cpu().numpy()
    if (pieces := places.get(_key(table))) is None:
        raise Unsupported("its word pieces' vectors aren't stored as they are used")
    about = {
        **facts._asdict(),
        "prompts": {"query": prompts.query, "document": prompts.passage},
        "pooling": pooling,
        "truncates_at": int(model.max_seq_length) if model.max_seq_length else None,
        "padding": {
            "input_ids": int(tokenizer.pad_token_id or 0),
            "token_type_ids": int(tokenizer.pad_token_type_id or 0),
        },
        "files": weights,
        "pieces": pieces[0],
        "middle": table.mean(axis=0).tolist(),
        "content": files.content_hash(source, FORMAT),
    }
    (folder / ABOUT_FILE).write_text(json.dumps(about))


def verify(exported: Path, folder: Path, encode: Callable[[list[str]], Any]) -> None:
    """Raise Unsupported unless an export's vectors are the library's, given by ``encode``."""
    import numpy

    model = OnnxModel(exported, folder)
    ours, theirs = model.encode(SAMPLES), numpy.asarray(encode(list(SAMPLES)))
    if not (cosines(ours, theirs) >= MIN_COSINE).all():
        raise Unsupported("its vectors differ from the library's")


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
    """Return mean or cls, or raise Unsupported."""
    kinds = [type(module).__name__ for module in model]
    if kinds[-1] == "Normalize":
        kinds.pop()
    if model.truncate_dim is not None:
        raise Unsupported("its vectors are truncated")
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
    transformer.set_attn_implementation("eager")
    tokens = tokenizer(["two texts", "of unlike lengths"], padding=True, return_tensors="pt")
    names = list(tokens)
    if not {"input_ids", "attention_mask"} <= set(names) <= set(INPUTS):
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
        place = location(used.index(file)).decode()
        for key, value in (("location", place), ("offset", offset), ("length", stored.nbytes)):
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


def pooling_mode(module: Any) -> str:
    """Return the pooling mode of a module, such as ``mean``; empty if it isn't for pooling."""
    mode = getattr(module, "pooling_mode", None)
    return mode if isinstance(mode, str) else "+".join(mode or ())


def cosines(one: Any, other: Any) -> Any:
    """Return the cosine similarity of each row to the other array's; of two rows of zeros, 1."""
    import numpy

    # A model in float16 returns such vectors, too coarse to be multiplied.
    arrays = (numpy.asarray(rows, "f8") for rows in (one, other))
    lengths = partial(numpy.linalg.norm, axis=1, keepdims=True)
    one, other = (rows / numpy.maximum(lengths(rows), 1e-12) for rows in arrays)
    return 1 - ((one - other) ** 2).sum(axis=1) / 2
