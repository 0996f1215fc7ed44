"""Change an index while it is searched, for load.py.

Run: python -m tests.stress.load_changes FOLDER INDEX

Removes a tenth of the notes, adds them again, and makes all vectors again. Searchers that cache
parts of the index in memory must notice.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.lib import synthetic_vectors
from benchmarks.speed import scale
from datasette_bear_search.index.file import database, metadata
from datasette_bear_search.index.run import indexer


def main(folder: Path, path: Path) -> None:
    embedder = synthetic_vectors.register(folder)
    with database.open_for_writing(path) as connection:
        [notes] = connection.execute("select count(*) from notes").fetchone()
    for count in (notes - notes // 10, notes):
        indexer.index(path, [scale._snapshot(count)], embedder)
    with database.open_for_writing(path) as connection, database.transaction(connection):
        metadata.set_meta(connection, fingerprint="another")
    indexer.update(path, [], embedder, verify_model=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
