"""Lower bounds for the time of a search: bare FTS5, and scans of all vectors by vec0 or numpy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy

from datasette_bear_search.index.file import database, vectors
from datasette_bear_search.index.file.schema import VECTORS
from datasette_bear_search.sqlite import sqlite3

# Rows that FTS5 returns.
ROWS = 100

_FTS5 = f"""
select rowid
from notes_fts
where notes_fts match ?
order by bm25(notes_fts)
limit {ROWS}
"""

_VEC0 = """
select rowid, distance
from vectors
where embedding match ?
  and k = ?
"""


class Floor:
    """Bare scans of the words and vectors of a sidecar.

    The vectors are copied to a separate vec0 table, no matter how the sidecar stores them.
    """

    def __init__(self, path: Path) -> None:
        self._words = database.connect(path)
        self._vectors = sqlite3.connect(_vec0_database(path))
        vectors.load_extension(self._vectors)
        rows = self._words.execute(
            f"""
            select {VECTORS}.vector, passages.id, passages.note_id
            from {VECTORS}
            join passages on passages.id = {VECTORS}.passage_id
            order by passages.id
            """
        )
        [count] = self._words.execute(f"select count(*) from {VECTORS}").fetchone()
        [size] = self._words.execute(f"select length(vector) from {VECTORS} limit 1").fetchone()
        # Fill the matrix row by row, so that a million vectors aren't in memory twice.
        self.matrix = numpy.empty((count, size // 4), "float32")
        self.passage_ids = numpy.empty(count, "int64")
        self.note_ids = numpy.empty(count, "int64")
        for place, (vector, passage_id, note_id) in enumerate(rows):
            self.matrix[place] = numpy.frombuffer(vector, "<f4")
            self.passage_ids[place] = passage_id
            self.note_ids[place] = note_id

    def close(self) -> None:
        self._words.close()
        self._vectors.close()

    def fts5(self, match: str) -> list[int]:
        """Return the best notes by FTS5."""
        return [rowid for (rowid,) in self._words.execute(_FTS5, [match])]

    def vec0(self, vector: bytes, k: int) -> list[int]:
        """Return the nearest passages by sqlite-vec, which compares all vectors."""
        return [rowid for rowid, _ in self._vectors.execute(_VEC0, [vector, k])]

    def numpy(self, vector: bytes, k: int) -> numpy.ndarray:
        """Return the rows of the nearest passages, unsorted: a scan at memory speed."""
        similarities = self.matrix @ numpy.frombuffer(vector, "<f4")
        return numpy.argpartition(-similarities, min(k, len(similarities) - 1))[:k]

    def nearest_notes(
        self, vector: bytes, count: int, allowed: Sequence[int] | None = None
    ) -> dict[int, float]:
        """Return the nearest of the allowed notes, with the best similarity of their passages."""
        similarities = self.matrix @ numpy.frombuffer(vector, "<f4")
        if allowed is not None:
            similarities[~numpy.isin(self.note_ids, numpy.fromiter(allowed, "int64"))] = -2
        # Enough passages for ``count`` notes, because no note has that many.
        enough = min(count * 60, len(similarities) - 1)
        nearest = numpy.argpartition(-similarities, enough)[: enough + 1]
        nearest = nearest[numpy.argsort(-similarities[nearest])]
        best: dict[int, float] = {}
        for place in nearest:
            if similarities[place] > -2 and len(best) < count:
                best.setdefault(int(self.note_ids[place]), float(similarities[place]))
        return best


def _vec0_database(path: Path) -> Path:
    """Return a database with only the index's vectors, reused until the index changes."""
    made = path.with_name(f"{path.stem}-vec0.db")
    if made.exists() and made.stat().st_mtime > path.stat().st_mtime:
        return made
    made.unlink(missing_ok=True)
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        vectors.load_extension(connection)
        connection.execute("pragma synchronous = off")
        connection.execute("attach ? as sidecar", [str(path)])
        [size] = connection.execute(
            f"select length(vector) from sidecar.{VECTORS} limit 1"
        ).fetchone()
        connection.execute("begin")
        connection.execute(
            f"create virtual table vectors "
            f"using vec0(embedding float[{size // 4}] distance_metric=cosine)"
        )
        connection.execute(
            "insert into vectors (rowid, embedding) "
            f"select passage_id, vector from sidecar.{VECTORS}"
        )
        connection.execute("commit")
    return made
