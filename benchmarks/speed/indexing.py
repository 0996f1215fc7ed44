"""How fast notes are indexed.

    python -m benchmarks.speed.indexing --folder FOLDER [LIBRARY…] [--write]

Prints a table in Markdown: notes indexed as text per second, passages embedded per second, the
ratio of the latter to a bare ``model.encode`` of the same passages (or some of them) in the same
run, and the time of a second run without changes. The libraries and their indexes stay in FOLDER
for the other benchmarks and for ``datasette bear-eval --sidecar``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from sentence_transformers import SentenceTransformer

from benchmarks.lib.collections import collections, write_collection
from benchmarks.lib.measuring import publish
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.run import indexer
from datasette_bear_search.index.run.chunking import passages
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import write_demo_library

# Passages for the bare encode, spread over the library; all passages of a small library.
BARE_PASSAGES = 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="LIBRARY")
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print(
        "| library | notes | passages | text notes/s | passages/s | bare encode/s | ratio "
        "| second run s | MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    libraries: dict[str, Callable[[Path], int]] = {"demo": write_demo_library}
    for collection in collections():
        libraries[collection.name] = partial(write_collection, collection)
    for name, write in libraries.items():
        if not arguments.names or name in arguments.names:
            write(arguments.folder / f"{name}.sqlite")
            measure(name, arguments.folder)


def measure(name: str, folder: Path) -> None:
    library, sidecar = folder / f"{name}.sqlite", folder / f"{name}.db"
    sidecar.unlink(missing_ok=True)
    embedder = registry.get_embedder(BUNDLED)
    embedder.load()
    snapshot = indexer.read(BearLibrary(library))
    texts = [passage.text for note in snapshot.notes for passage in passages(note.title, note.body)]
    texts = texts[:: max(1, len(texts) // BARE_PASSAGES)]
    _bare_model()
    # Do half of the bare encode before and half after, so that other load affects both alike.
    middle = len(texts) // 2
    bare = _bare_encode(texts[:middle])
    report = indexer.index(sidecar, [snapshot], embedder)
    bare += _bare_encode(texts[middle:])
    started = time.perf_counter()
    indexer.index(sidecar, [indexer.read(BearLibrary(library))], embedder)
    second = time.perf_counter() - started
    rate, bare_rate = report.embedded / report.embed_seconds, len(texts) / bare
    print(
        f"| {name} | {report.notes:,} | {report.embedded:,} | "
        f"{report.notes / (report.read_seconds + report.text_seconds):,.0f} | {rate:,.1f} | "
        f"{bare_rate:,.1f} | {rate / bare_rate:.2f} | {second:.2f} | {report.size / 1e6:.1f} |",
        flush=True,
    )


def _bare_encode(texts: list[str]) -> float:
    started = time.perf_counter()
    _bare_model().encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    return time.perf_counter() - started


@cache
def _bare_model() -> SentenceTransformer:
    folder = Path(find_spec(BUNDLED_PACKAGE).origin).parent / "model"
    model = SentenceTransformer(str(folder))
    model.encode(["warm up"])
    return model


if __name__ == "__main__":
    publish(main, __file__)
