"""What changes an index while it is searched, for load.py: python -m hardening.load_changes FOLDER INDEX

Takes a tenth of the notes out, puts them back, and makes all vectors anew: whoever keeps something of the index in memory has
to notice.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import scale, synthetic_vectors
from datasette_bear_search import indexer, sidecar


def main(folder: Path, path: Path) -> None:
    embedder = synthetic_vectors.register(folder)
    with sidecar.open_for_writing(path) as connection:
        [notes] = connection.execute("select count(*) from notes").fetchone()
    for count in (notes - notes // 10, notes):
        indexer.index(path, [scale._reading(count)], embedder)
    with sidecar.open_for_writing(path) as connection, sidecar.transaction(connection):
        sidecar.set_meta(connection, fingerprint="another")
    indexer.update(path, [], embedder, verify_model=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
