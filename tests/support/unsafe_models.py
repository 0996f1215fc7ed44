"""Models in folders whose files try to run a program that leaves a mark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.small_models import write_transformer

PICKLES_ON = {"weights_only": False, "use_safetensors": False}


class Program:
    """Pickled, it creates a file as soon as it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def write_unsafe_model(folder: Path, mark: Path, *, key: str = "model_args") -> Path:
    """Write a model whose weights are a pickled program, and settings that let it be read."""
    import torch

    folder.parent.mkdir(parents=True, exist_ok=True)
    write_transformer(folder)
    (folder / "model.safetensors").unlink()
    torch.save({"x": Program(mark)}, folder / "pytorch_model.bin")
    change(folder / "sentence_bert_config.json", {key: PICKLES_ON})
    change(folder / "config.json", {"dtype": None})  # so that the library looks into the weights
    return folder


def change(path: Path, settings: dict[str, Any]) -> None:
    """Set some settings of a file in JSON."""
    known = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**known, **settings}))
