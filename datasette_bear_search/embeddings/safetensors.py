"""Weights in the format safetensors, read in place: arrays whose memory is the file itself."""

# https://huggingface.co/docs/safetensors: a length of eight bytes, a header in JSON, the numbers.
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

# The only kind of weights that is read: in others, pickles could run their maker's code.
WEIGHT_FILES = "*.safetensors"
# Names of types → numpy's, which has no bfloat16.
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class Tensor(NamedTuple):
    file: str  # relative to the model's folder
    offset: int  # in the file
    array: Any  # memory-mapped; bfloat16 as uint16


def tensors(folder: Path) -> dict[str, Tensor]:
    """Return the weights of a model, by ``FILE:NAME``.

    :raises OSError, ValueError: if a file can't be read or is damaged
    """
    import numpy

    found = {}
    for path in sorted(folder.rglob(WEIGHT_FILES)):
        file = path.relative_to(folder).as_posix()
        data = numpy.memmap(path, mode="r", dtype="u1")
        start = 8 + int.from_bytes(data[:8].tobytes(), "little")
        header = json.loads(data[8:start].tobytes())
        for name, about in header.items():
            if name != "__metadata__" and about["dtype"] in _TYPES:
                first, end = (start + offset for offset in about["data_offsets"])
                array = data[first:end].view(_TYPES[about["dtype"]]).reshape(about["shape"])
                found[f"{file}:{name}"] = Tensor(file, first, array)
    return found


def as_float32(array: Any) -> Any:
    """Return an array of :func:`tensors` as float32; the same one if it is."""
    if array.dtype == "u2":  # bfloat16 is the upper half of float32
        return (array.astype("u4") << 16).view("f4")
    return array.astype("f4", copy=False)
