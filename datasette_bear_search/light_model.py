"""A model without its library: what it takes to make its vectors, kept in a cache folder by :mod:`light_export`.

torch and sentence-transformers take seconds to import and hundreds of megabytes, also for the single vector of a query.
onnxruntime and tokenizers make the same vector of the same weights in a tenth of that.
"""

# numpy and onnxruntime take tenths of a second to import, and every datasette command imports this module.
from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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


def place(name: str, folder: Path) -> Path:
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


def is_missing(name: str, folder: Path) -> bool:
    """Whether it is still to be found out if these files can be made a light model."""
    return not (place(name, folder) / ABOUT).exists()


def open_kept(name: str, folder: Path) -> LightModel | None:
    """The light model that was kept for these files; None if there is none, or it can't be used."""
    kept = None
    try:
        kept = place(name, folder)
        if not is_installed() or not (kept / ABOUT).exists() or is_unsuitable(kept):
            return None
        return LightModel(kept)
    except Exception as error:  # whatever it is, the model itself is there
        logger.warning("The light model of %s can't be used: %s", name, error)
        if kept:
            shutil.rmtree(kept, ignore_errors=True)  # so that the next index run makes it anew
        return None


def is_unsuitable(kept: Path) -> bool:
    """Whether it was found out, and kept, that this model can't be made light."""
    return "unsuitable" in json.loads((kept / ABOUT).read_text())


class LightModel:
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
        self._special = numpy.array(about["special"])
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

    def encode_tokens(self, texts: Sequence[str]) -> list[Any]:
        """For each text one vector a token, without those that the model adds."""
        import numpy

        rows: list[Any] = [None] * len(texts)
        encodings = self._tokenize(texts)
        for numbers, vectors, _ in self._read(texts):
            for number, tokens in zip(numbers, vectors):
                ids = encodings[number].ids
                own = ~numpy.isin(ids, self._special)
                rows[number] = tokens[: len(ids)][own]
        return rows

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
        for numbers in batches_of_like_length([len(encoding.ids) for encoding in encodings]):
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


def batches_of_like_length(lengths: Sequence[int]) -> Iterator[list[int]]:
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
