"""How fast passages are embedded in different ways.

    python -m benchmarks.speed.embedding [--passages N] [--rounds N] [--write]

Prints a table in Markdown: passages per second in each way, the ratio to a bare
``model.encode(batch_size=32)`` of the same passages in file order, the same ratio in CPU seconds
(which other programs disturb less), and the minimum cosine similarity to the bare model's vectors.
The ways take turns, so that other load on the machine affects all of them alike. The passages come
from the collections below ``$BEAR_SEARCH_SHARED/eval`` if that is set, otherwise from the sample
notes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy

from benchmarks.lib.collections import collections
from benchmarks.lib.measuring import publish, table
from datasette_bear_search.embeddings import files as model_files
from datasette_bear_search.embeddings.backends import onnx
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    MIN_BATCH,
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.run.chunking import passages
from datasette_bear_search.index.run.embedding import PASSAGES_PER_COMMIT
from datasette_bear_search.index.run.indexer import read
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import write_demo_library

Encode = Callable[[list[str]], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--model", default=BUNDLED)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    texts = real_passages(arguments.passages)
    with tempfile.TemporaryDirectory() as cache:
        model_files.cache_folder = lambda: Path(cache)
        ways = dict(_ways(arguments.model))
        for encode in ways.values():
            encode(texts[:8])  # the first call takes longest
        rows = measure(ways, texts, arguments.rounds)
    head = ("way", "passages/s", "ratio", "ratio of processor seconds", "least cosine")
    formats = {"rate": ".1f", "ratio": ".2f", "cpu_ratio": ".2f", "cosine": ".6f"}
    cells = {
        name: [format(row[key], formats[key]) for key in formats] for name, row in rows.items()
    }
    print(table(head, [[name, *row] for name, row in cells.items()]))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))


def real_passages(count: int) -> list[str]:
    """Return ``count`` passages of real notes in file order."""
    if os.environ.get("BEAR_SEARCH_SHARED"):
        # The default model knows too few characters of Chinese to make a vector.
        folders = [folder for folder in collections() if not folder.name.endswith("-zh")]
        found = [
            text
            for folder in folders
            for text in _first(_collection(folder), count // len(folders))
        ]
    else:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "library.sqlite"
            write_demo_library(library)
            notes = list(read(BearLibrary(library)).notes)
        found = [passage.text for note in notes for passage in passages(note.title, note.body)]
    return found[:count]


def measure(ways: dict[str, Encode], texts: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Return each way's rate, and its ratio and minimum cosine similarity to the first way."""
    seconds = dict.fromkeys(ways, 0.0)
    cpu_seconds = dict.fromkeys(ways, 0.0)
    vectors: dict[str, Any] = {}
    for turn in range(rounds):
        # Rotate the order: after a demanding way, the processor is hot and so slower.
        names = list(ways)[turn % len(ways) :] + list(ways)[: turn % len(ways)]
        for name in names:
            started, cpu_started = time.perf_counter(), time.process_time()
            vectors[name] = numpy.asarray(ways[name](texts))
            seconds[name] += time.perf_counter() - started
            cpu_seconds[name] += time.process_time() - cpu_started
    first = next(iter(ways))
    return {
        name: {
            "rate": rounds * len(texts) / seconds[name],
            "ratio": seconds[first] / seconds[name],
            "cpu_ratio": cpu_seconds[first] / cpu_seconds[name],
            "cosine": float((vectors[name] * vectors[first]).sum(axis=1).min()),
        }
        for name in ways
    }


def _ways(name: str) -> Iterator[tuple[str, Encode]]:
    embedder = SentenceTransformerEmbedder(name)
    embedder.load()
    bare = embedder._library_model()
    yield (
        "bare encode, file order",
        lambda texts: bare.encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
        ),
    )

    def indexing(embedder: SentenceTransformerEmbedder, fast_model: Any = None) -> Encode:
        """Return a function that embeds as the indexer does: by length, one commit at a time."""

        def encode(texts: list[str]) -> Any:
            embedder._fast_model = fast_model
            lengths = embedder.lengths(texts)
            order = sorted(range(len(texts)), key=lengths.__getitem__)
            rows: list[Any] = [None] * len(texts)
            for start in range(0, len(order), PASSAGES_PER_COMMIT):
                batch = order[start : start + PASSAGES_PER_COMMIT]
                for number, vector in zip(
                    batch, embedder.embed_documents([texts[number] for number in batch])
                ):
                    rows[number] = numpy.frombuffer(vector, dtype="<f4")
            return numpy.array(rows)

        return encode

    yield "by length, float32", indexing(embedder)
    embedder.prepare_for_batch(MIN_BATCH)
    if embedder._fast_model is not None:
        yield "by length, bfloat16", indexing(embedder, embedder._fast_model)
    if onnx.is_installed() and model_files.model_folder(embedder.name):
        embedder.export_onnx()
        exported = SentenceTransformerEmbedder(name)
        exported.load()
        if exported._onnx is not None:
            yield "by length, onnxruntime", indexing(exported)


def _collection(folder: Path) -> Iterator[str]:
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            for passage in passages(document.get("title") or "", document["text"]):
                yield passage.text


def _first(texts: Iterator[str], count: int) -> list[str]:
    return [text for text, _ in zip(texts, range(count))]


if __name__ == "__main__":
    publish(main, __file__)
