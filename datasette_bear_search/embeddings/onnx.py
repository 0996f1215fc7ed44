"""A model without its library: what it takes to make its vectors, kept in a cache folder by :mod:`light_export`.

torch and sentence-transformers take seconds to import and hundreds of megabytes, also for the single vector of a query.
onnxruntime and tokenizers make the same vector of the same weights in a tenth of that.
"""

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
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# numpy and onnxruntime take tenths of a second to import, and every datasette command imports this module.


# Grows when a newer version keeps something else: what an older one kept is made anew then.
FORMAT = 1

# Tokens that the model reads at once, those that fill up short texts included: more need more memory and are no faster.
TOKENS_PER_BATCH = 4096

# The files in a folder. The graph names the file with its weights itself.
ABOUT, TOKENIZER, TABLE, GRAPH, WEIGHTS = (
    "about.json", "tokenizer.json", "pieces.npy", "model.onnx", "weights.bin",
)  # fmt: skip

logger = logging.getLogger(__name__)


def is_installed() -> bool:
    """Whether this Python has what light models are run with: the extra ``onnx``."""
    return all(find_spec(package) for package in ("onnxruntime", "tokenizers", "numpy"))


def cache_folder() -> Path:
    """Where light models are kept."""
    from platformdirs import user_cache_path

    return user_cache_path("datasette-bear-search", appauthor=False) / "models"


def export_folder(name: str, folder: Path) -> Path:
    """The folder for the light model of the model ``name`` whose files are in ``folder``, as these files are now.

    Another size or time of any file gives another place, so that what is found there is never out of date.
    """
    files = {
        path.relative_to(folder).as_posix(): (status.st_size, status.st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if (status := path.stat()) and path.is_file()
    }
    # Two environments that have the model each have a light one, and don't take it from each other.
    return cache_folder() / f"{_digest([name, str(folder)])}-{_digest([FORMAT, files])}"


def needs_export(name: str, folder: Path) -> bool:
    """Whether it is still to be found out if these files can be made a light model."""
    return not (export_folder(name, folder) / ABOUT).exists()


def open_export(name: str, folder: Path) -> OnnxModel | None:
    """The light model that was kept for these files; None if there is none, or it can't be used."""
    kept = None
    try:
        kept = export_folder(name, folder)
        if not is_installed() or not (kept / ABOUT).exists() or is_unsupported(kept):
            return None
        return OnnxModel(kept)
    except Exception as error:  # whatever it is, the model itself is there
        logger.warning("The light model of %s can't be used: %s", name, error)
        if kept:
            shutil.rmtree(kept, ignore_errors=True)  # so that the next index run makes it anew
        return None


def is_unsupported(kept: Path) -> bool:
    """Whether it was found out, and kept, that this model can't be made light."""
    return "unsuitable" in json.loads((kept / ABOUT).read_text())


class OnnxModel:
    """Makes vectors with nothing but onnxruntime and tokenizers. One thread at a time.

    A static model has no graph: the vectors of its tokens are rows of its table, whatever stands beside them.
    """

    def __init__(self, folder: Path) -> None:
        import numpy
        from tokenizers import Tokenizer

        about = json.loads((folder / ABOUT).read_text())
        self.max_tokens: int = about["max_tokens"]
        self.settings: dict[str, Any] = about["settings"]
        self._truncates_at: int | None = about["truncates_at"]
        self.has_graph: bool = about["has_graph"]
        self._pooling = about["pooling"]
        self._prompts: dict[str, str] = about["prompts"]
        self._padding: dict[str, int] = about["padding"]
        self._middle = numpy.array(about["middle"], dtype="float32")
        self._table = numpy.load(folder / TABLE, mmap_mode="r")
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._session = _session(folder / GRAPH) if self.has_graph else None

    def encode(self, texts: Sequence[str], *, is_query: bool) -> Any:
        """One vector a text, of any length."""
        import numpy

        prompt = self._prompts["query" if is_query else "document"]
        rows: list[Any] = [None] * len(texts)
        for numbers, vectors, mask in self._read([prompt + text for text in texts]):
            if self._pooling == "cls":
                pooled = vectors[:, 0]
            else:
                counts = mask.sum(axis=1, keepdims=True)
                pooled = (vectors * mask[:, :, None]).sum(axis=1) / numpy.maximum(counts, 1)
            for number, row in zip(numbers, pooled):
                rows[number] = row
        return numpy.array(rows)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text the model reads."""
        return [len(encoding.ids) for encoding in self._tokenize(texts)]

    def split_into_pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text's word pieces."""
        # Fast is what it is without finding out where each piece stands.
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def rows_of_pieces(self, pieces: Sequence[int]) -> Any:
        """The rows of these word pieces in the model's table, less what all of them have in common."""
        rows = self._table[list(pieces)].astype("float32")
        rows -= self._middle  # in place: memory that is new takes longer to get than this
        return rows

    def _tokenize(self, texts: Sequence[str]) -> list[Any]:
        # Not always: the pieces of a text are asked for to its end.
        if self._truncates_at:
            self._tokenizer.enable_truncation(self._truncates_at)
        try:
            return self._tokenizer.encode_batch(list(texts), add_special_tokens=self.has_graph)
        finally:
            self._tokenizer.no_truncation()

    def _read(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any, Any]]:
        """Batches of texts of like length: their numbers, the vectors of their tokens, and which tokens are theirs."""
        import numpy

        encodings = self._tokenize(texts)
        for numbers in batches_by_length([len(encoding.ids) for encoding in encodings]):
            longest = max(len(encodings[number].ids) for number in numbers)
            inputs = {
                name: numpy.full((len(numbers), longest), filler, dtype="int64")
                for name, filler in self._padding.items()
            }
            for row, number in enumerate(numbers):
                encoding = encodings[number]
                end = len(encoding.ids)
                inputs["input_ids"][row, :end] = encoding.ids
                inputs["attention_mask"][row, :end] = encoding.attention_mask
                inputs["token_type_ids"][row, :end] = encoding.type_ids
            mask = inputs["attention_mask"]
            if self._session is None:
                yield numbers, self._table[inputs["input_ids"]].astype("float32"), mask
            else:
                asked = {node.name: inputs[node.name] for node in self._session.get_inputs()}
                yield numbers, self._session.run(None, asked)[0], mask


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of the texts, the shortest first, in batches that fill no more than so many tokens."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _session(graph: Path) -> Any:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    # Threads that wait for the next query awake would keep a server's cores busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors
    return InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def _digest(facts: Any) -> str:
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=8).hexdigest()


# sentence-transformers → a light model: its graph, its tokenizer and its table of word pieces, in a folder.
#
# Only what is made in one way is exported: a transformer whose tokens are pooled by their mean or their first, or a static
# model. And only what gives the same vectors as the library itself is kept.

# torch and transformers are imported by now: this room is entered with a loaded model.


# Least cosine similarity between the vectors of the library and ours. Vectors of one can then be searched with the other.
MIN_COSINE = 0.9999

# Bytes of weights up to which a model is made light: the export needs about three times as much memory.
MAX_WEIGHT_BYTES = 1_500_000_000

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


class Unsupported(Exception):
    """This model can't be made light."""


def export(
    kept: Path,
    model: Any,
    max_tokens: int,
    settings: dict[str, Any],
    reference: Callable[[list[str], bool], Any],
) -> OnnxModel | None:
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
                raise Unsupported("its settings can't be kept")
            about |= {"max_tokens": max_tokens, "settings": settings}
            (draft / ABOUT).write_text(json.dumps(about))
            _compare(OnnxModel(draft), reference)
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
        return None if "unsuitable" in json.loads((kept / ABOUT).read_text()) else OnnxModel(kept)
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
        raise Unsupported("its tokenizer is not one of the package tokenizers")
    if not is_static and model.tokenizer.padding_side != "right":
        raise Unsupported("it fills up texts on the left")
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
        "middle": table.mean(axis=0).tolist(),
    }


def _write_graph(folder: Path, transformer: Any, model: Any) -> None:
    import onnx
    import torch

    if sum(weight.numel() * 4 for weight in transformer.parameters()) > MAX_WEIGHT_BYTES:
        raise Unsupported("it is too large")
    # A copy, because a search may use the model meanwhile; without the fused attention, which makes a longer graph.
    transformer = copy.deepcopy(transformer).cpu().float().eval()
    if hasattr(transformer, "set_attn_implementation"):
        transformer.set_attn_implementation("eager")
    tokens = model.tokenizer(["two texts", "of unlike lengths"], padding=True, return_tensors="pt")
    names = list(tokens)
    if not {"input_ids", "attention_mask"} <= set(names) <= {
        "input_ids", "attention_mask", "token_type_ids",
    }:  # fmt: skip
        raise Unsupported(f"it reads {', '.join(names)}")

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
        raise Unsupported("its vectors are shortened")
    if kinds == ["StaticEmbedding"] and model[0].embedding.mode == "mean":
        return "static"
    if kinds != ["Transformer", "Pooling"]:
        raise Unsupported(f"it is made of {', '.join(kinds)}")
    pooling = getattr(model[1], "pooling_mode", None) or model[1].get_pooling_mode_str()
    if pooling not in ("mean", "cls") or not getattr(model[1], "include_prompt", True):
        raise Unsupported(f"its tokens are pooled by {pooling}")
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


def _compare(light: OnnxModel, reference: Callable[[list[str], bool], Any]) -> None:
    import numpy

    for is_query in (True, False):
        ours = light.encode(SAMPLES, is_query=is_query)
        theirs = numpy.asarray(reference(list(SAMPLES), is_query))
        has_direction = ours.any(axis=1)  # a static model makes nothing of nothing
        same = cosines(ours[has_direction], theirs[has_direction]) >= MIN_COSINE
        if (has_direction != theirs.any(axis=1)).any() or not same.all():
            raise Unsupported("its vectors differ from the library's")


def _tidy(kept: Path) -> None:
    """Remove what was kept for these files when they were others, and what was never finished."""
    model = kept.name.partition("-")[0]
    for path in kept.parent.iterdir():
        is_old = path.name.startswith(f"{model}-") and path != kept
        is_draft = path.name.startswith(".new-")
        if is_old or (is_draft and time.time() - path.stat().st_mtime > _ABANDONED):
            shutil.rmtree(path, ignore_errors=True)
