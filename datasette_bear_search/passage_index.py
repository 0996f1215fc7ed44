"""The vectors of passages, and a vec0 table of them: the vectors once more, for SQL of anybody's own, or their signs.

Searches look for what is near in memory (:mod:`nearest`): in a small library among the vectors, in a large one by the
signs. Then the table keeps of each number only whether it is above zero, which is a thirty-second of the size.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import precision
from .schema import PASSAGE_INDEX, VECTORS, sqlite3
from .sidecar import STALE, get_meta, has_vector_extension, set_meta

# With more passages than this, the table holds their signs: a second copy of the vectors would be 1.5 KB a passage.
EXACT_AT_MOST = 20_000
# An index goes back to vectors when it has shrunk below this share of that, so that it doesn't go back and forth.
SHRUNK = 0.8

# Keys in meta: whether the index holds signs, and a mark that is new whenever it changed.
SIGNS = "passage_index_signs"
CHANGED = "passage_index_changed"


def holds_signs(connection: sqlite3.Connection) -> bool:
    """Whether the index holds signs instead of vectors."""
    return get_meta(connection, SIGNS) is not None


def prepare(connection: sqlite3.Connection) -> None:
    """Make the index for vectors of the sidecar's model; anew if it lacks something or the library has outgrown it."""
    dimension = int(get_meta(connection, "dimension") or 0)
    [count] = connection.execute("select count(*) from passages").fetchone()
    had_signs = holds_signs(connection)
    is_large = count > EXACT_AT_MOST * (SHRUNK if had_signs else 1)
    # Who wants small vectors wants no second copy of them. sqlite-vec keeps eight signs in a byte.
    by_signs = (is_large or precision.of(connection) == precision.INT8) and dimension % 8 == 0
    if by_signs != had_signs or get_meta(connection, STALE):
        connection.execute(f"drop table if exists {PASSAGE_INDEX}")
        connection.execute("delete from meta where key in (?, ?)", [SIGNS, STALE])
        if by_signs:
            set_meta(connection, **{SIGNS: "yes"})
    exists = connection.execute(
        "select 1 from sqlite_master where name = ?", [PASSAGE_INDEX]
    ).fetchone()
    if exists:
        return
    kind = f"bit[{dimension}]" if by_signs else f"float[{dimension}] distance_metric=cosine"
    connection.execute(f"create virtual table {PASSAGE_INDEX} using vec0(embedding {kind})")
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"select passage_id, {_stored('vector', by_signs)} from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store the vectors of passages: pairs of passage id and float32 BLOB."""
    kept = precision.of(connection)
    connection.executemany(
        f"insert into {precision.table(kept)} (passage_id, vector) values (?, ?)",
        [(passage_id, precision.stored(vector, kept)) for passage_id, vector in rows],
    )
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"values (?, {_stored('?', holds_signs(connection))})",
        rows,
    )
    connection.executemany(
        "update passages set embedded = 1 where id = ?", [row[:1] for row in rows]
    )
    _mark_changed(connection)


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Forget the vectors of passages, of those that have one."""
    rows = [(passage_id,) for passage_id in passage_ids]
    table = precision.table(precision.of(connection))
    removed = connection.executemany(f"delete from {table} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_vector_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be touched now. The next run that can makes it anew from the vectors.
        set_meta(connection, **{STALE: "yes"})
    _mark_changed(connection)


def drop(connection: sqlite3.Connection) -> None:
    """Forget all vectors; every passage waits for a new one."""
    connection.execute(f"delete from {precision.table(precision.of(connection))}")
    connection.execute("update passages set embedded = 0 where embedded")
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key in (?, ?)", [SIGNS, STALE])
    _mark_changed(connection)


def set_precision(connection: sqlite3.Connection, wanted: str) -> None:
    """Store the vectors in this precision, one of ``precision.PRECISIONS``. More of it needs new vectors."""
    if precision.of(connection) == wanted:
        return
    if precision.change(connection, wanted):
        _mark_changed(connection)
    else:
        drop(connection)
    # Made anew by :func:`prepare`, as it should be now.
    set_meta(connection, **{STALE: "yes"})


def _stored(vector: str, by_signs: bool) -> str:
    return f"vec_quantize_binary({vector})" if by_signs else vector


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction: whoever sees the mark sees the change.
    connection.execute(
        "insert or replace into meta (key, value) values (?, hex(randomblob(8)))", [CHANGED]
    )
