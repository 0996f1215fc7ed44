"""Large indexes for the benchmarks.

    python -m benchmarks.speed.scale --folder FOLDER [SIZE…]

Makes an index of SIZE notes (about three passages each) in FOLDER, where it stays for the next run.
The notes are made from real words (see synthetic_text) and their vectors are synthetic (see
synthetic_vectors). The package's own indexer writes them, so the index is like that of a person
with so many notes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.lib import synthetic_vectors
from benchmarks.lib.synthetic_text import SEED, synthetic_notes
from datasette_bear_search.index.file import database, metadata
from datasette_bear_search.index.run import embedding, indexer
from datasette_bear_search.index.run.changes import Snapshot, read
from datasette_bear_search.index.run.report import Report
from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.sqlite import sqlite3

SIZES = (1_000, 10_000, 100_000)
# Notes that have a million passages.
LARGEST = 310_000

SIZE_HELP = f"notes; {LARGEST} have a million passages"

# Increase it when the same command makes different notes or vectors.
RECIPE = "3"

# Nobody searches while this is written, so fewer commits are enough.
PASSAGES_PER_COMMIT = 4096


class SyntheticNotes:
    """A source whose notes are made while they are read. Its location is their number."""

    app = ""
    heading_link = ""
    default_name = "synthetic"

    def __init__(self, location: str, *, name: str = default_name) -> None:
        self.name, self.location = name, location
        self.skipped: list[str] = []

    @classmethod
    def reads(cls, location: str) -> bool:
        return False

    def state(self) -> str:
        return self.location

    def read(self, *, include_trashed: bool = False) -> Iterable[Note]:
        return synthetic_notes(int(self.location))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sizes", nargs="*", type=int, default=list(SIZES), metavar="SIZE", help=SIZE_HELP
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--fresh", action="store_true", help="make those anew that are there")
    arguments = parser.parse_args()
    print("| notes | passages | MB | read s | text s | vectors s |\n|---|---|---|---|---|---|")
    for size in arguments.sizes:
        path = sidecar_path(arguments.folder, size)
        if arguments.fresh:
            path.unlink(missing_ok=True)
        report = make(arguments.folder, size)
        with closing(database.connect(path)) as connection:
            [passages] = connection.execute("select count(*) from passages").fetchone()
        print(
            f"| {report.notes:,} | {passages:,} | {report.size / 1e6:,.0f} "
            f"| {report.read_seconds:.1f} | "
            f"{report.text_seconds:.1f} | {report.embed_seconds:.1f} |",
            flush=True,
        )


def scaled_sidecar(folder: Path, notes: int) -> Path:
    """Return the index of so many notes in ``folder``; make it if necessary, register its model."""
    make(folder, notes)
    return sidecar_path(folder, notes)


def sidecar_path(folder: Path, notes: int) -> Path:
    """Return the path of the index of so many notes."""
    return folder / f"notes-{notes}.db"


def make(folder: Path, notes: int) -> Report:
    """Make the index, or update an existing one for this version of the package."""
    folder.mkdir(parents=True, exist_ok=True)
    path = sidecar_path(folder, notes)
    embedder = synthetic_vectors.register(folder)
    recipe = f"{RECIPE} {SEED}"
    if path.exists() and not _has_recipe(path, recipe):
        path.unlink()
    with _few_commits():
        if path.exists():
            # With the model, so that an index with an older version's schema can be rebuilt.
            report = indexer.update(path, [], embedder, verify_model=True)
        else:
            report = indexer.index(path, [_snapshot(notes)], embedder)
    with database.open_for_writing(path) as connection:
        metadata.set_meta(connection, synthetic=recipe)
    return report


@contextmanager
def _few_commits() -> Iterator[None]:
    usual = embedding.PASSAGES_PER_COMMIT
    embedding.PASSAGES_PER_COMMIT = PASSAGES_PER_COMMIT
    try:
        yield
    finally:
        embedding.PASSAGES_PER_COMMIT = usual


def _snapshot(notes: int) -> Snapshot:
    source = SyntheticNotes(str(notes))
    return read(source, SourceConfig(source.name, "synthetic", source.location))


def _has_recipe(path: Path, recipe: str) -> bool:
    with closing(database.connect(path)) as connection:
        try:
            others = connection.execute(
                "select 1 from sources where name != ?", [SyntheticNotes.default_name]
            ).fetchone()
            known = metadata.get_meta(connection, "synthetic")
        except sqlite3.OperationalError:  # an earlier run was stopped before it wrote anything
            return False
    if others:
        raise SystemExit(f"{path} holds somebody's notes. Give another --folder.")
    return known == recipe


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - started:.0f} s")
