"""sentence-transformers → a light model: its graph, its tokenizer and its table of word pieces, in a folder.

Only what is made in one way is exported: a transformer whose tokens are pooled by their mean or their first, or a static
model. And only what gives the same vectors as the library itself is kept.
"""

# torch and transformers are imported by now: this room is entered with a loaded model.
from __future__ import annotations

import copy
import json
import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .light_model import ABOUT, GRAPH, TABLE, TOKENIZER, WEIGHTS, LightModel

# Least cosine similarity between the vectors of the library and ours. Vectors of one can then be searched with the other.
SAME = 0.9999

# Bytes of weights up to which a model is made light: the export needs about three times as much memory.
LARGEST = 1_500_000_000

# What the vectors are compared on: of unlike lengths, so that some are filled up, and one longer than any model reads.
SAMPLES = (
    "warm up", "", "  How do I keep MICE out of the cabin?\n", "x", "東京は日本の首都です。我们去公园散步吧。",
    "👨‍👩‍👧 🟢 naïve café — “quoted”", "def f(x: int) -> str:\n    return f'{x!r}'\n", "[MASK] [SEP] ##ing",
    "Seventeen glaciers were measured again in autumn, and every one of them had become shorter. " * 12,
    "A book without end, of which nobody reads more than the beginning, 1234 pages. " * 1000,
)  # fmt: skip

# Seconds after which a half-made folder is no longer somebody's work.
_ABANDONED = 3600

logger = logging.getLogger(__name__)


class Unsuitable(Exception):
    """This model can't be made light."""


def export(
    kept: Path,
    model: Any,
    max_tokens: int,
    settings: dict[str, Any],
    reference: Callable[[list[str], bool], Any],
) -> LightModel | None:
    """Make a light model of a loaded SentenceTransformer at ``kept``; None if that can't be, which is kept, too.

    :param max_tokens: with ``settings`` what the model's fingerprint depends on
    :param reference: makes vectors of unit length with the library itself, of texts that are queries or aren't
    """
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _tidy(kept)
    # Nobody else may read it, and nobody sees it half-made.
    draft = Path(tempfile.mkdtemp(prefix=".new-", dir=kept.parent))
    try:
        try:
            about = _write(draft, model)
            if json.loads(json.dumps(settings)) != settings:
                raise Unsuitable("its settings can't be kept")
            about |= {"max_tokens": max_tokens, "settings": settings}
            (draft / ABOUT).write_text(json.dumps(about))
            _compare(LightModel(draft), reference)
        except Exception as error:
            logger.info("No light model is made: %s", error)
            shutil.rmtree(draft)
            draft.mkdir(mode=0o700)
            (draft / ABOUT).write_text(json.dumps({"unsuitable": str(error)[:500]}))
        try:
            os.rename(draft, kept)
        except OSError:
            if not (kept / ABOUT).exists():  # or else somebody else was faster
                raise
        return None if "unsuitable" in json.loads((kept / ABOUT).read_text()) else LightModel(kept)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def cosines(one: Any, other: Any) -> Any:
    """The cosine similarity of each row of one array to that of the other, none of which is zero."""
    import numpy

    lengths = numpy.linalg.norm(one, axis=1) * numpy.linalg.norm(other, axis=1)
    return (one * other).sum(axis=1) / lengths


def _write(folder: Path, model: Any) -> dict[str, Any]:
    import numpy

    pooling = _pooling(model)
    first = model[0]
    is_static = pooling == "static"
    tokenizer = (
        model.tokenizer if is_static else getattr(model.tokenizer, "backend_tokenizer", None)
    )
    if tokenizer is None:
        raise Unsuitable("its tokenizer is not one of the package tokenizers")
    if not is_static and model.tokenizer.padding_side != "right":
        raise Unsuitable("it fills up texts on the left")
    (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
    layer = first.embedding if is_static else first.auto_model.get_input_embeddings()
    table = layer.weight.detach().float().cpu().numpy()
    # Half the precision changes nothing that anybody sees, and is half as much to keep.
    numpy.save(folder / TABLE, table.astype("float16"))
    truncation = tokenizer.truncation if is_static else None
    truncates_at = truncation["max_length"] if truncation else None
    if not is_static:
        _write_graph(folder, first.auto_model, model)
        truncates_at = int(model.max_seq_length) if model.max_seq_length else None
    return {
        "has_graph": not is_static,
        "pooling": "mean" if is_static else pooling,
        "truncates_at": truncates_at,
        "prompts": {kind: _prompt(model, kind) for kind in ("query", "document")},
        "padding": {
            "input_ids": 0 if is_static else int(model.tokenizer.pad_token_id or 0),
            "attention_mask": 0,
            "token_type_ids": 0 if is_static else int(model.tokenizer.pad_token_type_id or 0),
        },
        "special": [] if is_static else list(model.tokenizer.all_special_ids),
        "middle": table.mean(axis=0).tolist(),
    }


def _write_graph(folder: Path, transformer: Any, model: Any) -> None:
    import onnx
    import torch

    if sum(weight.numel() * 4 for weight in transformer.parameters()) > LARGEST:
        raise Unsuitable("it is too large")
    # A copy, because a search may use the model meanwhile; without the fused attention, which makes a longer graph.
    transformer = copy.deepcopy(transformer).cpu().float().eval()
    if hasattr(transformer, "set_attn_implementation"):
        transformer.set_attn_implementation("eager")
    tokens = model.tokenizer(["two texts", "of unlike lengths"], padding=True, return_tensors="pt")
    names = list(tokens)
    if not {"input_ids", "attention_mask"} <= set(names) <= {
        "input_ids", "attention_mask", "token_type_ids",
    }:  # fmt: skip
        raise Unsuitable(f"it reads {', '.join(names)}")

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, *values: Any) -> Any:
            return self.transformer(**dict(zip(names, values)), return_dict=True).last_hidden_state

    any_size = {0: "texts", 1: "tokens"}
    quiet = logging.getLogger("torch.onnx")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # for the model's makers
            torch.onnx.export(
                Tokens(),
                tuple(tokens[name] for name in names),
                str(folder / "whole.onnx"),
                input_names=names,
                output_names=["vectors"],
                dynamic_axes=dict.fromkeys([*names, "vectors"], any_size),
                opset_version=17,
                dynamo=False,  # the other exporter needs a package more, onnxscript
            )
    finally:
        quiet.setLevel(level)
    # The weights in a file of their own are mapped into memory, not read: that halves the memory and the start.
    onnx.save_model(
        onnx.load(str(folder / "whole.onnx")),
        str(folder / GRAPH),
        save_as_external_data=True,
        location=WEIGHTS,
    )
    for path in folder.iterdir():
        if path.name not in (ABOUT, GRAPH, TABLE, TOKENIZER, WEIGHTS):
            path.unlink()


def _pooling(model: Any) -> str:
    """How the vectors of tokens become one: mean, cls, or static for a mean of vectors that are never read."""
    kinds = [type(module).__name__ for module in model]
    if kinds[-1] == "Normalize":
        kinds.pop()
    if model.truncate_dim is not None:
        raise Unsuitable("its vectors are shortened")
    if kinds == ["StaticEmbedding"] and model[0].embedding.mode == "mean":
        return "static"
    if kinds != ["Transformer", "Pooling"]:
        raise Unsuitable(f"it is made of {', '.join(kinds)}")
    pooling = getattr(model[1], "pooling_mode", None) or model[1].get_pooling_mode_str()
    if pooling not in ("mean", "cls") or not getattr(model[1], "include_prompt", True):
        raise Unsuitable(f"its tokens are pooled by {pooling}")
    return pooling


def _prompt(model: Any, kind: str) -> str:
    """What the library puts before a text."""
    names = ["query"] if kind == "query" else ["document", "passage", "corpus"]
    prompts = dict(model.prompts)
    for name in names:
        if prompts.get(name):
            return prompts[name]
    if hasattr(model, "encode_query") and any(name in prompts for name in names):
        return ""  # since sentence-transformers 5 an empty one comes before the model's default
    return prompts.get(model.default_prompt_name) or ""


def _compare(light: LightModel, reference: Callable[[list[str], bool], Any]) -> None:
    import numpy

    for is_query in (True, False):
        ours = light.encode(SAMPLES, is_query=is_query)
        theirs = numpy.asarray(reference(list(SAMPLES), is_query))
        has_direction = ours.any(axis=1)  # a static model makes nothing of nothing
        same = cosines(ours[has_direction], theirs[has_direction]) >= SAME
        if (has_direction != theirs.any(axis=1)).any() or not same.all():
            raise Unsuitable("its vectors differ from the library's")


def _tidy(kept: Path) -> None:
    """Remove what was kept for these files when they were others, and what was never finished."""
    model = kept.name.partition("-")[0]
    for path in kept.parent.iterdir():
        is_old = path.name.startswith(f"{model}-") and path != kept
        is_draft = path.name.startswith(".new-")
        if is_old or (is_draft and time.time() - path.stat().st_mtime > _ABANDONED):
            shutil.rmtree(path, ignore_errors=True)
