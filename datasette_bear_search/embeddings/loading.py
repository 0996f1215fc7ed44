"""A folder → the model of sentence-transformers in it, without running anything of its maker's.

A model's settings reach far: they choose classes and arguments of the libraries, among them whether
pickles, which are programs, are read. So settings that a model of texts doesn't need are refused.
"""

# Every datasette command imports this module, so only functions import torch (seconds).
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .base import ModelUnavailable, first_line, silent_libraries
from .files import has_vocabulary
from .safetensors import WEIGHT_FILES

# The parts of a model that modules.json and router_config.json may name.
MODULES = re.compile(
    r"sentence_transformers\.(\w+\.)+(Transformer|Pooling|WeightedLayerPooling|Normalize|Dense|"
    r"LayerNorm|Dropout|StaticEmbedding|Router|Asym|LogitScore)"
)
_INSIDE = re.compile(r"(?!.*\.\.)([\w.-]+(/[\w.-]+)*)?")  # a path inside the folder
_SHARD = re.compile(r"[\w.-]+\.safetensors")
# Settings that are passed on as arguments for loading, and the arguments that they may hold.
ARGUMENTS = re.compile(r"(model|tokenizer|processor|config)_(args|kwargs)")
ALLOWED_ARGUMENTS = {
    "add_pooling_layer", "attn_implementation", "do_lower_case", "dtype", "max_length",
    "model_max_length", "num_labels", "padding", "padding_side", "reference_compile", "torch_dtype",
    "truncation", "truncation_side", "use_cache", "use_fast",
}  # fmt: skip
# Settings that choose code or files → what they may be. None: nothing.
ATTENTION = r"eager|sdpa|flash_attention_\d|flex_attention"  # others are downloaded programs
ACTIVATION = r"torch\.nn\.(modules\.\w+\.)?[A-Z]\w*|\w+"  # any name in torch would be called
VALUES: dict[str, str | None] = {
    "activation_fn": ACTIVATION,
    "activation_function": ACTIVATION,
    "sbert_ce_default_activation_function": ACTIVATION,
    "attn_implementation": ATTENTION,
    "_attn_implementation": ATTENTION,
    "method": r"forward|get_\w+",  # of the model, called for each text
    "transformers_weights": r"[\w.-]+\.safetensors(\.index\.json)?",
    "auto_map": None,  # Python files of the model
    "trust_remote_code": None,
    "base_model_name_or_path": None,  # other models
    "tokenizer_name_or_path": None,
    "audio_tokenizer_name_or_path": None,
}
# The classes of sentence-transformers, for people.
KINDS = {"SentenceTransformer": "an embedding model", "CrossEncoder": "a reranker"}
INSTALL_LIBRARY = "pip install sentence-transformers"
# They hold words, not settings, and may be large.
_WORDS = ("tokenizer.json", "vocab.json")


def load(kind: str, folder: Path) -> Any:
    """Return the model in a folder, as sentence-transformers' class ``kind``.

    :raises ModelUnavailable: if it could run code, is of another kind, or sentence-transformers is
        missing
    """
    check(folder)
    if not _is_made_for(kind, folder):
        # The library would add the layers that it lacks, with random numbers.
        raise ModelUnavailable(f"The model in {folder} isn't {KINDS[kind]}. Choose another one.")
    try:
        import sentence_transformers

        with silent_libraries():
            model = getattr(sentence_transformers, kind)(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                # They win over the model's own settings.
                model_kwargs={"weights_only": True, "use_safetensors": True},
            )
    except ImportError as error:
        raise library_missing(first_line(error)) from error
    if lacking := _made_up(model):
        raise ModelUnavailable(
            f"The model in {folder} isn't used, because its files lack a part of it ({lacking[0]}),"
            " which would be random numbers. Copy the missing files there, or download it again."
        )
    return model


def _made_up(model: Any) -> list[str]:
    """Return the names of the weights that transformers made up, without those of no use."""
    from transformers import PreTrainedModel

    parts = (each for each in model.modules() if isinstance(each, PreTrainedModel))
    weights = dict(weight for part in parts for weight in part.named_parameters())
    # The library marks what it reads.
    read = {name for name in weights if getattr(weights[name], "_is_hf_initialized", False)}
    return [name for name in weights if read and name not in read and "pooler" not in name]


def library_missing(reason: str) -> ModelUnavailable:
    return ModelUnavailable(
        "Models other than the built-in one, and reranking, need the Python package "
        f"sentence-transformers, which can't be imported here ({reason}). Install "
        f"it: {INSTALL_LIBRARY}."
    )


def _is_made_for(kind: str, folder: Path) -> bool:
    about, config = (
        json.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
        for path in (folder / "config_sentence_transformers.json", folder / "config.json")
    )
    if (folder / "modules.json").is_file():
        return bool(about.get("model_type", "SentenceTransformer") == kind)
    architectures = [str(name) for name in config.get("architectures") or ()]
    if any(name.endswith("ForCausalLM") for name in architectures):
        return True  # such models do either
    rates = any(name.endswith("ForSequenceClassification") for name in architectures)
    return rates == (kind == "CrossEncoder")


def check(folder: Path) -> None:
    """Raise ModelUnavailable unless all that the libraries read of a folder is only data."""
    if not any(folder.glob("*.json")):
        raise ModelUnavailable(f"The folder {folder} has no model in it.")
    if (folder / "modules.json").exists() and not has_vocabulary(folder):
        raise ModelUnavailable(
            f"The model in {folder} isn't loaded, because its vocabulary is missing "
            "(tokenizer.json, vocab.txt or a file .model): it would understand no text. Copy the "
            "missing files there, or download the model again."
        )
    if problem := next(_problems(folder), None):
        raise ModelUnavailable(
            f"The model in {folder} isn't loaded, because {problem}. Loading it could run code of "
            "its makers. Choose another one with --model (or another reranker) that needs no code "
            "of its own and has its weights in the format safetensors, or run it with a server, "
            "such as ollama:NAME."
        )


def _problems(folder: Path) -> Iterator[str]:
    has_weights = False
    for path in folder.rglob("*"):
        place, name = path.relative_to(folder).as_posix(), path.name.lower()
        if path.is_dir():
            if path.is_symlink():  # the libraries would read what is in it
                yield f"{place} is a link to another folder"
        elif path.match(WEIGHT_FILES):
            has_weights = True
        elif name == "adapter_config.json":
            yield f"{place} makes it an adapter of another model"
        elif re.fullmatch(r"pytorch_model.*\.bin", name) and not _has_safe_weights(path.parent):
            yield f"the weights in {place} aren't in the format safetensors"
        elif name.endswith(".json") and path.name not in _WORDS and path.is_file():
            try:
                settings = json.loads(path.read_text(encoding="utf-8-sig"))
                for risk in chain(_elsewhere(name, settings), _risky(settings)):
                    yield f"{place} sets {risk}"
            except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
                yield f"{place} can't be read ({first_line(error)})"
            except RecursionError:
                yield f"{place} is too deep"
    if not has_weights:
        yield "it has no weights in the format safetensors"


def _has_safe_weights(folder: Path) -> bool:
    # If there are several, the libraries read these.
    names = ("model.safetensors", "model.safetensors.index.json")
    return any((folder / name).is_file() for name in names)


def _elsewhere(name: str, settings: Any) -> Iterator[str]:
    """Yield classes that aren't parts of a model, and paths that may lead out of its folder."""
    parts: list[tuple[Any, Any]] = []
    if name == "modules.json":
        parts = [(each["type"], each["path"]) for each in settings]
    elif name in ("router_config.json", "config.json"):
        parts = [(kind, path) for path, kind in settings.get("types", {}).items()]
    for kind, path in parts:
        if not MODULES.fullmatch(kind) or not _INSIDE.fullmatch(path):
            yield f"the module {kind} in {path!r}"
    if name.endswith(".safetensors.index.json"):
        shards = settings["weight_map"].values()
        yield from (f"the weights {shard}" for shard in shards if not _SHARD.fullmatch(shard))


def _risky(settings: Any) -> Iterator[str]:
    """Yield settings, however deep, that choose code or another model."""
    if isinstance(settings, list):
        for each in settings:
            yield from _risky(each)
    if not isinstance(settings, dict):
        return
    for key, value in settings.items():
        if value and ARGUMENTS.fullmatch(key):
            for argument, given in value.items():
                if argument not in ALLOWED_ARGUMENTS or isinstance(given, (dict, list)):
                    yield f"{argument} in {key}"
        if value and key in VALUES:
            allowed = VALUES[key]
            if allowed is None or not re.fullmatch(allowed, value):
                yield f"{key} to {str(value)[:100]!r}"
        yield from _risky(value)
