"""Vectors of passages → the passages nearest to a vector.

A plain table stores the float32 vectors. A vec0 table stores their binary quantization: a bit for
the sign of each number. Its scan finds candidates, which are then ranked by their float32 vectors.
In libraries too large for that scan, the same bits are compared in memory.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..sqlite import read_value, sqlite3, wrong_argument
from .database import STALE, file_of, get_meta, get_number, has_vector_extension, keep, set_meta
from .schema import PASSAGE_INDEX, VECTORS

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Neighbors = list[tuple[int, float]]  # passage id and cosine similarity, nearest first

# sqlite-vec's scan of this many passages takes 6 ms, two thirds of an ordinary search. Larger
# libraries are scanned in memory.
MAX_VEC0_PASSAGES = 20_000
# Vectors in a chunk (a row) of the vec0 table. Larger chunks are slower to choose the nearest from:
# with sqlite-vec's default of 1,024, a scan takes six times as long (benchmarks/speed/nearest.py).
CHUNK_SIZE = 64
# Binary candidates for each wanted passage. In memory, they include .98 of the 50 nearest passages
# of 322,000 (with 2: .96). The passages that are missed are about as near as those that are found.
OVERSAMPLING = 4
# Binary candidates from vec0: an eighth of all passages, within these limits. The last is vec0's
# own. They include .98 of the 50 nearest passages of 9,200; reading 1,200 vectors takes 4 ms. With
# 400 of 1,900, pseudo-relevance feedback sees other notes: Cranfield loses .001 nDCG@10.
CANDIDATES_SHARE, FEWEST_CANDIDATES, MANY_CANDIDATES, MAX_CANDIDATES = 8, 700, 1200, 4096
# In memory, the Hamming distance, cheap but coarse, first selects this many passages, or this share
# if that is more. The asymmetric distance then ranks them.
HAMMING_CANDIDATES = 4000
HAMMING_SHARE = 0.01
# Searches whose nearest passages are cached, 30 KB each.
CACHED_SEARCHES = 50
# Ids of notes count up from 1. No note has a larger id, and a set with one would need much memory.
MAX_NOTE_ID = 50_000_000
# The empty set; b"" isn't one, because SQLite takes it for NULL.
NO_NOTES = b"\0"
# Lists of ids up to this many characters are parsed without importing numpy.
SHORT_LIST = 20_000
# Key in meta: a random token that changes whenever vectors do.
CHANGED = "passage_index_changed"


# --- in the index file


def has_vec0(connection: sqlite3.Connection) -> bool:
    """Return whether the binary vectors are in a vec0 table."""
    return bool(_is_virtual(connection))


def _is_virtual(connection: sqlite3.Connection) -> bool | None:
    # Whether the passage index is a vec0 table or a plain one; None if it doesn't exist.
    sql = "select sql like 'create virtual%' from sqlite_master where name = ?"
    is_virtual = read_value(connection, sql, [PASSAGE_INDEX])
    return None if is_virtual is None else bool(is_virtual)


def prepare(connection: sqlite3.Connection) -> None:
    """Create the table of binary vectors for the index's model.

    Replace an existing one if it is incomplete or of the wrong kind for the library's size.
    """
    is_large = read_value(connection, "select count(*) from passages") > MAX_VEC0_PASSAGES
    if _is_virtual(connection) == (not is_large) and not get_meta(connection, STALE):
        return
    _drop_passage_index(connection)
    connection.execute(
        f"create table {PASSAGE_INDEX} (rowid integer primary key, embedding blob)"
        if is_large
        else f"create virtual table {PASSAGE_INDEX} using vec0("
        f"embedding bit[{_dimension(connection)}], chunk_size={CHUNK_SIZE})"
    )
    connection.execute(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) "
        f"select passage_id, vec_quantize_binary(vector) from {VECTORS}"
    )
    _mark_changed(connection)


def add(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store vectors of passages, given as pairs of passage id and float32 BLOB."""
    connection.executemany(f"insert into {VECTORS} (passage_id, vector) values (?, ?)", rows)
    connection.executemany(
        f"insert into {PASSAGE_INDEX} (rowid, embedding) values (?, vec_quantize_binary(?))", rows
    )
    connection.executemany(
        "update passages set embedded = 1 where id = ?", [row[:1] for row in rows]
    )
    _mark_changed(connection)


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


def reuse(connection: sqlite3.Connection, kept: Mapping[str, bytes] = {}) -> None:
    """Give pending passages the vector of an equal text, from ``kept`` or another passage."""
    if _is_virtual(connection) is None or get_meta(connection, STALE):
        return  # there are no vectors, or none can be written now
    sql = "select id, content_hash from passages where not embedded"
    pending = connection.execute(sql).fetchall()
    if known := [(passage_id, kept[text]) for passage_id, text in pending if text in kept]:
        add(connection, known)
    sql = """
    select pending.id, min(known.id)
    from passages as pending
    join passages as known on known.content_hash = pending.content_hash and known.embedded
    where not pending.embedded
    group by pending.id
    """
    for passage_id, known_id in connection.execute(sql).fetchall():
        sql = f"select vector from {VECTORS} where passage_id = ?"
        if vector := read_value(connection, sql, [known_id]):
            add(connection, [(passage_id, vector)])


def remove(connection: sqlite3.Connection, passage_ids: Sequence[int]) -> None:
    """Remove the vectors of passages; some may have none."""
    rows = [(passage_id,) for passage_id in passage_ids]
    removed = connection.executemany(f"delete from {VECTORS} where passage_id = ?", rows).rowcount
    if removed <= 0:
        return
    if has_vector_extension(connection):
        connection.executemany(f"delete from {PASSAGE_INDEX} where rowid = ?", rows)
    else:
        # The vec0 table can't be written now. The next run with sqlite-vec will rebuild it.
        set_meta(connection, **{STALE: "yes"})
    _mark_changed(connection)


def drop(connection: sqlite3.Connection) -> None:
    """Remove all vectors, so that every passage is pending again."""
    connection.execute(f"delete from {VECTORS}")
    connection.execute("update passages set embedded = 0 where embedded = 1")
    _drop_passage_index(connection)
    _mark_changed(connection)


def _drop_passage_index(connection: sqlite3.Connection) -> None:
    connection.execute(f"drop table if exists {PASSAGE_INDEX}")
    connection.execute("delete from meta where key = ?", [STALE])


def _mark_changed(connection: sqlite3.Connection) -> None:
    # In the same transaction as the change, so that readers see both or neither.
    connection.execute(
        "insert or replace into meta (key, value) values (?, hex(randomblob(8)))", [CHANGED]
    )


def _dimension(connection: sqlite3.Connection) -> int:
    return int(get_number(connection, "dimension") or 0)


# --- search


def candidates(connection: sqlite3.Connection) -> int:
    """Return how many candidates vec0 finds by binary quantization, before they are ranked."""
    count = read_value(connection, "select count(*) from passages")
    return min(max(count // CANDIDATES_SHARE, FEWEST_CANDIDATES), MANY_CANDIDATES)


def nearest(
    connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None = None
) -> Neighbors:
    """Return the ``count`` passages nearest to a vector, at most MAX_CANDIDATES.

    :param vector: float32, of the same dimension as the stored vectors
    :param notes: search only these notes, as :func:`note_set` returns them; None for all
    :raises sqlite3.DatabaseError: if the file is damaged
    """
    search = vector, count, notes
    binary = None if has_vec0(connection) else _binary_vectors(connection)
    if binary:
        if known := binary.nearest.get(search):
            return known
        wanted = OVERSAMPLING * count
        near = "select value as passage_id from json_each(?)"
        among: list[Any] = [json.dumps(binary.candidates(connection, vector, wanted, notes))]
    else:
        wanted = min(max(OVERSAMPLING * count, candidates(connection)), MAX_CANDIDATES)
        near = f"""
          select rowid as passage_id
          from {PASSAGE_INDEX}
          where embedding match vec_quantize_binary(?) and k = {wanted}"""
        among = [vector]
        if notes is not None:
            near += """
            and rowid in (select id from passages where substr(?, note_id, 1) = x'01')"""
            among.append(notes)
    sql = f"""
    select passage_id, 1 - vec_distance_cosine(vector, ?) as similarity
    from ({near})
    join {VECTORS} using (passage_id)
    order by similarity desc, passage_id
    limit ?
    """
    found: Neighbors = connection.execute(sql, [vector, *among, count]).fetchall()
    if binary:
        keep(binary.nearest, search, found, CACHED_SEARCHES)
    return found


class BinaryVectors:
    """The binary vectors of a library in memory, and the note of each passage."""

    def __init__(self, passage_ids: NDArray[numpy.int64], bits: NDArray[numpy.uint8]) -> None:
        """:param bits: packed, passages x dimension / 8"""
        self.passage_ids = passage_ids
        # A cache by vector, count and notes: a page asks twice, for its results and for its facets.
        self.nearest: dict[tuple[bytes, int, bytes | None], Neighbors] = {}
        # Words of 64 bits, the first words of all vectors together, so that a scan is sequential.
        self._words = _words(bits)
        self._note_ids: NDArray[numpy.int64] | None = None

    def candidates(
        self, connection: sqlite3.Connection, vector: bytes, count: int, notes: bytes | None
    ) -> list[int]:
        """Return the ids of the ``count`` nearest passages by binary quantization, ascending."""
        import numpy

        ids, words = self.passage_ids, self._words
        if notes is not None:
            # The set begins with note 1. The byte added before it is for passages whose note is
            # gone, the byte added after it for all notes with larger ids.
            is_allowed = numpy.frombuffer(b"\0" + notes + b"\0", bool)
            note_ids = numpy.minimum(self._notes_of_passages(connection), len(notes) + 1)
            allowed = numpy.flatnonzero(is_allowed[note_ids])
            ids, words = ids[allowed], [word[allowed] for word in words]
        if len(ids) <= count:
            return list(ids.tolist())
        numbers = numpy.frombuffer(vector, "<f4")
        query = _words(numpy.packbits(numbers > 0, bitorder="little")[None, :])
        distances = numpy.zeros(len(ids), "u2")
        for word, query_word in zip(words, query):
            distances += numpy.bitwise_count(word ^ query_word[0])
        least = max(HAMMING_CANDIDATES, count, int(HAMMING_SHARE * len(ids)))
        # There are few different distances, so counting is faster than sorting. Ties pass, too.
        up_to = numpy.bincount(distances).cumsum()
        near = numpy.flatnonzero(distances <= numpy.searchsorted(up_to, min(least, len(ids))))
        if len(near) > count:
            # Asymmetric distance: the query's float32 numbers times the passage's signs. A table
            # has the product of each eight numbers with each of the 256 possible bytes.
            ways = numpy.arange(256, dtype="u1")[:, None]
            signs = numpy.unpackbits(ways, axis=1, bitorder="little").astype("f4").T * 2 - 1
            products = numbers.reshape(-1, 8) @ signs
            bits = numpy.column_stack([word[near] for word in words]).view("u1")
            rows = numpy.arange(len(products))
            similarities = products[rows, bits[:, : len(products)]].sum(axis=1)
            # Sorted, because SQLite then reads the vectors in three quarters of the time.
            near = numpy.sort(near[numpy.argpartition(-similarities, count - 1)[:count]])
        return list(ids[near].tolist())

    def _notes_of_passages(self, connection: sqlite3.Connection) -> NDArray[numpy.int64]:
        """Return the note of each passage, 0 if it is gone. Read them at the first filter."""
        import numpy

        if self._note_ids is None:
            sql = "select id, note_id from passages order by id"
            rows = connection.execute(sql).fetchall()
            ids, note_ids = numpy.array(rows, "i8").reshape(-1, 2).T
            position = numpy.searchsorted(ids, self.passage_ids).clip(max=max(len(ids) - 1, 0))
            is_there = ids[position] == self.passage_ids
            self._note_ids = numpy.where(is_there, note_ids[position], 0)
        return self._note_ids


def _binary_vectors(connection: sqlite3.Connection) -> BinaryVectors:
    """Return the index's current binary vectors. Read them again only after a change."""
    import numpy

    path = file_of(connection)
    token = get_meta(connection, CHANGED)
    with _loaded_lock:
        known_token, binary = _loaded.get(path, (None, None))
        if binary is None or known_token != token:
            size = _dimension(connection) // 8
            sql = f"select rowid, embedding from {PASSAGE_INDEX} where length(embedding) = ?"
            rows = connection.execute(sql, [size]).fetchall()
            ids = numpy.array([passage_id for passage_id, _ in rows], "i8")
            bits = numpy.frombuffer(b"".join(bits for _, bits in rows), "u1")
            binary = BinaryVectors(ids, bits.reshape(len(rows), size))
            _loaded[path] = token, binary
    return binary


_loaded_lock = threading.Lock()
_loaded: dict[str, tuple[str | None, BinaryVectors]] = {}


def _words(bits: NDArray[numpy.uint8]) -> list[NDArray[numpy.uint64]]:
    """Return rows of bytes as columns of 64-bit words, padded with zeros."""
    import numpy

    padded = numpy.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return [numpy.ascontiguousarray(word) for word in padded.view("u8").T]


# --- in SQL


def register(connection: sqlite3.Connection) -> None:
    """Add ``nearest_passages(vector, count[, notes])`` and ``note_set(ids)`` to a connection.

    ``nearest_passages`` returns a JSON object of at most ``count`` passages, nearest first: id →
    cosine similarity. It returns NULL for NULL and for a vector of another length. ``notes`` limits
    the search to these notes (NULL: all): ids separated by commas, as group_concat() returns them,
    or ``note_set`` of these, a BLOB whose byte at the position of each id is 1, all others 0.
    """

    def nearest_passages(vector: Any, count: Any, notes: Any = None) -> str | None:
        if vector is None or count is None:
            return None
        if not isinstance(vector, bytes):
            raise wrong_argument("nearest_passages: the vector must be one, such as embed() gives")
        try:
            number = int(count)  # parameters of a URL are text
        except (ValueError, OverflowError):
            number = 0
        if number < 1:
            raise wrong_argument(f"nearest_passages: the count must be 1 or more, not {count!r}")
        if len(vector) != 4 * _dimension(connection):
            return None  # another model's, for example while all vectors are being replaced
        # Make any BLOB a valid set of zeros and ones.
        allowed = None if notes is None else checked_set(notes).translate(_AS_FLAGS)
        try:
            found = nearest(connection, vector, number, allowed)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                # The time limit applies to the whole statement.
                connection.interrupt()
            raise
        # Nine digits suffice for a float32. json.dumps() takes twice as long to find the fewest.
        pairs = ",".join([f'"{passage_id}":{similarity:.9f}' for passage_id, similarity in found])
        return f"{{{pairs}}}"

    def checked_set(notes: Any) -> bytes:
        if isinstance(notes, bytes):
            return notes
        if notes not in (None, "") and not _IDS.fullmatch(str(notes)):
            raise wrong_argument("notes must be ids with commas between them, or note_set() of it")
        return note_set(notes)

    connection.create_function("nearest_passages", 2, nearest_passages)
    connection.create_function("nearest_passages", 3, nearest_passages)
    connection.create_function("note_set", 1, checked_set, deterministic=True)


def note_set(ids: Any) -> bytes:
    """Return the set of notes with these comma-separated ids; an empty set if invalid."""
    text = str(ids)
    if not isinstance(ids, (str, int)) or not _IDS.fullmatch(text):
        return NO_NOTES
    # numpy takes a tenth of the time, but .1 s to be imported.
    if len(text) > SHORT_LIST:
        import numpy

        array = numpy.fromstring(text, "i8", sep=",")
        if array.min() < 1 or array.max() > MAX_NOTE_ID:
            return NO_NOTES
        flags = numpy.zeros(array.max(), "u1")
        flags[array - 1] = 1
        return flags.tobytes()
    numbers = [int(number) for number in text.split(",")]
    if min(numbers) < 1 or max(numbers) > MAX_NOTE_ID:
        return NO_NOTES
    members = bytearray(max(numbers))
    for number in numbers:
        members[number - 1] = 1
    return bytes(members)


_IDS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*", re.ASCII)
_AS_FLAGS = b"\0" + b"\1" * 255
