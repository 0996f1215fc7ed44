"""Vectors of passages as rows of the index file, in the caller's transaction.

A plain table stores the float32 vectors. A vec0 table stores their binary quantization: a bit for
the sign of each number.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...sqlite import read_value, sqlite3
from .metadata import (
    MEAN,
    NEXT_FINGERPRINT,
    NEXT_MODEL,
    STALE,
    THRESHOLDS,
    UNRELATED,
    get_meta,
    get_number,
    mark_changed,
    set_meta,
)
from .schema import EMBEDDED, PASSAGE_INDEX, PENDING, REFUSED, VECTORS

# Vectors in a chunk (a row) of the vec0 table. Larger chunks are slower to choose the nearest from:
# with sqlite-vec's default of 1,024, a scan takes six times as long (benchmarks/speed/nearest.py).
CHUNK_SIZE = 64
# Keys in meta: the number of candidates, and their share of the nearest passages in the test.
CANDIDATES_KEY, RECALL_KEY = "candidates", "candidates_recall"
# Key in meta: a random token that changes whenever vectors do.
CHANGED = "vectors_changed"
# Vectors of the model that the index changes to, one for each text, while searches use those of the
# present one. Not in the schema: it exists only until all are made.
NEXT_VECTORS = "_next_vectors"
# Passages of which the mean vector is computed.
MEAN_SAMPLE = 5000


def _exists(connection: sqlite3.Connection) -> bool:
    sql = "select 1 from sqlite_master where name = ? and sql like 'create virtual%'"
    return read_value(connection, sql, [PASSAGE_INDEX]) is not None


def prepare(connection: sqlite3.Connection) -> None:
    """Create the table of binary vectors for the index's model; replace an incomplete one."""
    if _exists(connection) and not get_meta(connection, STALE):
        return
    _drop_passage_index(connection)
    connection.execute(
        f"create virtual table {PASSAGE_INDEX} using vec0("
        f"embedding bit[{dimension(connection)}], chunk_size={CHUNK_SIZE})"
    )
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) select passage_id, {signs('vector')} "
        f"from {VECTORS}"
    )
    mark_changed(connection, CHANGED)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes | None]]) -> None:
    """Store vectors of passages, given as pairs of passage id and float32 BLOB; None: it has none.

    A passage without one isn't pending anymore, until the model changes.
    """
    made = [row for row in rows if row[1]]
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", made)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) values (?, {signs('?')})", made
    )
    connection.executemany(
        "update passages set vector_state = ? where id = ?",
        [(EMBEDDED if vector else REFUSED, passage_id) for passage_id, vector in rows],
    )
    mark_changed(connection, CHANGED)


def of_notes(
    connection: sqlite3.Connection, note_ids: Sequence[int], most: int
) -> dict[str, bytes]:
    """Return at most ``most`` vectors of these notes' passages, by the hash of the text."""
    sql = f"""
    select content_hash, vector
    from passages
    join {VECTORS} on passage_id = passages.id
    where note_id in (select value from json_each(?))
    limit ?
    """
    return dict(connection.execute(sql, [json.dumps(note_ids), most]).fetchall())


def reuse(connection: sqlite3.Connection, kept: Mapping[str, bytes | None] = {}) -> None:
    """Give pending passages the vector of an equal text, from ``kept`` or another passage."""
    if not _exists(connection) or get_meta(connection, STALE):
        return  # there are no vectors, or none can be written now
    sql = f"select id, content_hash from passages where vector_state = '{PENDING}'"
    pending = connection.execute(sql).fetchall()
    if known := [(passage_id, kept[text]) for passage_id, text in pending if text in kept]:
        add(connection, known)
    sql = f"""
    select pending.id, max(vector)
    from passages as pending
    join passages as known on known.content_hash = pending.content_hash
    left join {VECTORS} on passage_id = known.id
    where pending.vector_state = '{PENDING}' and known.vector_state in ('{EMBEDDED}', '{REFUSED}')
    group by pending.id
    """
    if rows := connection.execute(sql).fetchall():
        add(connection, rows)


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Remove the vectors of passages; some may have none."""
    rows = [(passage_id,) for passage_id in passage_ids]
    if _has_next(connection):
        known = "select content_hash from passages"
        connection.execute(f"delete from {NEXT_VECTORS} where content_hash not in ({known})")
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be written now. The next run with sqlite-vec will rebuild it.
        set_meta(connection, **{STALE: "yes"})
    mark_changed(connection, CHANGED)


def drop(connection: sqlite3.Connection) -> None:
    """Remove all vectors, so that every passage is pending again."""
    connection.execute(f"delete from {VECTORS}")
    connection.execute(
        f"""
        update passages
        set vector_state = '{PENDING}'
        where vector_state in ('{EMBEDDED}', '{REFUSED}')
        """
    )
    _drop_passage_index(connection)
    unknown = dict.fromkeys((MEAN, UNRELATED, THRESHOLDS, CANDIDATES_KEY, RECALL_KEY))
    set_meta(connection, **unknown)
    mark_changed(connection, CHANGED)


def begin_next(connection: sqlite3.Connection, model: str, fingerprint: str) -> None:
    """Prepare to store vectors of another model, unless that has begun already."""
    if get_meta(connection, NEXT_FINGERPRINT) != fingerprint or not _has_next(connection):
        drop_next(connection)
        connection.execute(f"create table {NEXT_VECTORS} (content_hash primary key, vector blob)")
        set_meta(connection, **{NEXT_MODEL: model, NEXT_FINGERPRINT: fingerprint})


def add_next(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes | None]]) -> None:
    """Store vectors of the next model."""
    sql = f"insert into {NEXT_VECTORS} select content_hash, ?2 from passages where id = ?1"
    connection.executemany(sql, rows)


def missing_next(connection: sqlite3.Connection) -> list[int]:
    """Return one passage of each text that has no vector of the next model."""
    sql = f"""
    select min(id)
    from passages
    where vector_state in ('{PENDING}', '{EMBEDDED}', '{REFUSED}')
      and content_hash not in (select content_hash from {NEXT_VECTORS})
    group by content_hash
    order by 1
    """
    return [passage_id for (passage_id,) in connection.execute(sql)]


def take_next(connection: sqlite3.Connection, dimension: int) -> None:
    """Replace all vectors by those of the next model; its name and the like are for the caller."""
    drop(connection)
    set_meta(connection, dimension=dimension)
    connection.execute(
        f"""
        insert into {VECTORS} (passage_id, vector)
        select id, vector
        from passages
        join {NEXT_VECTORS} using (content_hash)
        where vector_state = '{PENDING}' and vector is not null
        """
    )
    connection.execute(
        f"""
        update passages
        set vector_state = iif(id in (select passage_id from {VECTORS}), '{EMBEDDED}', '{REFUSED}')
        where vector_state = '{PENDING}'
          and content_hash in (select content_hash from {NEXT_VECTORS})
        """
    )
    drop_next(connection)
    prepare(connection)


def drop_next(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {NEXT_VECTORS}")
    connection.execute("delete from meta where key in (?, ?)", [NEXT_MODEL, NEXT_FINGERPRINT])


def _has_next(connection: sqlite3.Connection) -> bool:
    sql = "select 1 from sqlite_master where name = ?"
    return read_value(connection, sql, [NEXT_VECTORS]) is not None


def _drop_passage_index(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key = ?", [STALE])


def center(connection: sqlite3.Connection) -> None:
    """Take the signs of all vectors anew, relative to their mean.

    The vectors of many models lie in a narrow cone, where most signs are the same for all texts:
    with multilingual-e5-small, candidates by plain signs have .43 of the 50 nearest of 1,338
    passages, and .75 by centered ones (all-MiniLM-L6-v2: .92 and .92).
    """
    rows = sample(connection, MEAN_SAMPLE)
    if not rows:
        return
    mean = matrix(rows).mean(axis=0).astype("<f4")
    _drop_passage_index(connection)
    set_meta(connection, **{MEAN: mean.tobytes().hex()})
    prepare(connection)


def sample(connection: sqlite3.Connection, count: int) -> list[bytes]:
    """Return about so many vectors, at even distances."""
    every = f"1 + (select count(*) from {VECTORS}) / {count}"
    sql = f"select vector from {VECTORS} where passage_id % ({every}) = 0"
    return [vector for (vector,) in connection.execute(sql)]


def matrix(rows: Sequence[bytes]) -> Any:
    """Return vectors, of which there is at least one, as the rows of an array."""
    import numpy

    return numpy.frombuffer(b"".join(rows), "<f4").reshape(len(rows), -1)


def signs(vector: str) -> str:
    """Return SQL for the binary quantization of a vector."""
    return f"vec_quantize_binary(vec_sub({vector}, mean_vector()))"


def dimension(connection: sqlite3.Connection) -> int:
    return int(get_number(connection, "dimension") or 0)


# --- sqlite-vec


def load_extension(connection: sqlite3.Connection) -> bool:
    """Load sqlite-vec into a connection; return whether this Python and machine can."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None or not hasattr(connection, "enable_load_extension"):
        return False
    with suppress(sqlite3.Error):
        connection.enable_load_extension(True)
        try:
            # sqlite_vec.load() isn't used, because importing sqlite_vec imports numpy.
            connection.load_extension(str(Path(spec.origin).with_name("vec0")))
            for function in (mean_vector, unrelated_distance):
                # Deterministic, or SQLite would call it once per row.
                connection.create_function(
                    function.__name__, 0, partial(function, connection), deterministic=True
                )
            return True
        finally:
            connection.enable_load_extension(False)
    return False


def mean_vector(connection: sqlite3.Connection) -> bytes:
    """Return the vector that is subtracted before signs are taken; zeros if there is none yet."""
    zeros = bytes(4 * dimension(connection))
    with suppress(ValueError):
        mean = bytes.fromhex(get_meta(connection, MEAN) or "")
        if len(mean) in (0, len(zeros)):
            return mean or zeros
    raise sqlite3.DatabaseError("malformed vector in meta")


def unrelated_distance(connection: sqlite3.Connection) -> float:
    """Return the cosine distance of unrelated texts for the index's model; MiniLM's is 1."""
    return max(1 - (get_number(connection, UNRELATED) or 0), 0.01)


def has_extension(connection: sqlite3.Connection) -> bool:
    sql = "select 1 from pragma_module_list where name = 'vec0'"
    return connection.execute(sql).fetchone() is not None


def hide_passage_index(connection: sqlite3.Connection) -> None:
    """Let Datasette open an index file on a connection that couldn't load sqlite-vec."""
    # Datasette reads the columns of every table, which fails for a virtual table whose module is
    # missing. An empty temporary table of the same name takes precedence; nothing else reads it.
    connection.execute(f"create temp table if not exists {PASSAGE_INDEX} (rowid_ integer)")
