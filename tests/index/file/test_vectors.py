"""Nearest passages, from sqlite-vec.

Tests ``index/file/vectors.py`` and ``index/file/nearest.py``.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy
import pytest
from datasette.app import Datasette

from datasette_bear_search.index.file import database, metadata, nearest, vectors
from datasette_bear_search.index.run import indexer
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, day
from tests.support.datasettes import IS_1_0
from tests.support.threads import running
from tests.support.tiny_embedder import TinyEmbedder

WORDS = "quince zither mambo fjord pixel jazz vortex nymph waltz glyph crypt lynx".split()
NOTES = [
    BearNote(
        f"# {word.title()}\n#{kind}\n\nAbout the {word} and the {other}.",
        tags=(kind,),
        created=day(number + 1),
    )
    for number, (word, other) in enumerate(zip(WORDS, WORDS[1:] + WORDS[:1]))
    for kind in ("one", "two")
]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Path:
    """Index the notes."""
    folder = tmp_path_factory.mktemp("indexes")
    library = bear_library(folder / "database.sqlite", NOTES)
    snapshot = indexer.read(BearLibrary(library))
    indexer.index(folder / "notes.db", [snapshot], TinyEmbedder("test/tiny"))
    return folder / "notes.db"


@pytest.fixture
def connection(indexed):
    with closing(database.connect(indexed)) as connection:
        nearest.register(connection)
        yield connection


@pytest.mark.asyncio
async def test_a_running_server_sees_added_and_removed_notes(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    datasette = Datasette([str(sidecar_path)])

    async def nearest() -> str:
        response = await datasette.client.get("/-/bear-search.json?q=pixel+vortex&mode=semantic")
        return response.json()["rows"][0]["title"]

    assert await nearest() in ("Pixel", "Vortex")
    write(*NOTES, BearNote("# New\n\nPixel vortex, pixel vortex.", created=day(30)))
    bear_index()
    assert await nearest() == "New"
    write(*NOTES)
    bear_index()
    assert await nearest() in ("Pixel", "Vortex")


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_sql_finds_the_nearest_passages(write, bear_index, sidecar_path):
    async def nearest(arguments: str) -> list[str]:
        sql = f"""
            select notes.title
            from json_each(nearest_passages({arguments})) as near
            join passages on passages.id = near.key
            join notes on notes.id = note_id
            order by near.value desc, notes.id
            """
        datasette = Datasette([str(sidecar_path)])
        page = "/notes/-/query.json" if IS_1_0 else "/notes.json"
        response = await datasette.client.get(page, params={"sql": sql, "_shape": "arrays"})
        return [title for (title,) in response.json()["rows"]]

    write(*NOTES)
    bear_index()
    found = await nearest("embed('pixel vortex'), 4")
    assert len(found) == 4
    assert {"Pixel", "Vortex"} >= set(found[:2])
    # Values in URLs are text.
    assert len(await nearest("embed('pixel vortex'), '4'")) == 4
    assert await nearest("embed('pixel vortex'), 0") == []
    assert await nearest("null, 4") == []
    assert await nearest("x'00', 4") == []


def test_a_run_with_nothing_to_embed_rebuilds_an_incomplete_vec0_table(
    write, bear_index, sidecar_path, monkeypatch
):
    write(*NOTES)
    bear_index()
    with monkeypatch.context() as without_vec0:
        without_vec0.setattr(vectors, "load_extension", lambda connection: False)
        write(*NOTES[:9])
        bear_index("--yes")
    with closing(database.connect(sidecar_path)) as connection:
        assert not database.read_state(connection).has_vectors
    bear_index()
    with closing(database.connect(sidecar_path)) as connection:
        assert database.read_state(connection).has_vectors
        assert connection.execute("select count(*) from _passage_index").fetchone() == (9,)


def test_vectors_whose_signs_fill_no_whole_bytes_are_searched(
    write, bear_index, sidecar_path, monkeypatch
):
    monkeypatch.setattr(TinyEmbedder, "DIMENSION", 60)
    write(*NOTES)
    bear_index()
    with closing(database.connect(sidecar_path)) as connection:
        nearest.register(connection)
        asked = TinyEmbedder("test/tiny").embed_query("About the quince and the zither.")
        [(passage, similarity), *_] = nearest.nearest(connection, asked, 3)
        sql = "select title from passages join notes on notes.id = note_id where passages.id = ?"
        assert connection.execute(sql, [passage]).fetchone() == ("Quince",)
    assert 0.5 < similarity < 1


def cone(passages: int = 10, dimension: int = 64) -> numpy.ndarray:
    """Return 3,000 vectors, so many to a subject, which have much in common."""
    random = numpy.random.default_rng(1)
    subjects = random.standard_normal((3000 // passages, dimension)).repeat(passages, axis=0)
    rows = subjects + 0.5 * random.standard_normal(subjects.shape) + 6 * numpy.ones(dimension)
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")


def flat(count: int = 3000, dimension: int = 64, noise: float = 0.15) -> numpy.ndarray:
    """Return vectors that differ in three of their numbers; the signs of the others say nothing."""
    random = numpy.random.default_rng(2)
    rows = noise * random.standard_normal((count, dimension))
    rows[:, :3] = random.standard_normal((count, 3))
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")


@contextmanager
def index_of(path: Path, rows: numpy.ndarray) -> Iterator[sqlite3.Connection]:
    """Write an index of a note whose passages have these vectors, the first one with the id 1."""
    with database.open_for_writing(path) as connection, database.transaction(connection):
        connection.execute("insert into sources (name, location) values ('s', 's')")
        connection.execute("insert into notes (id, source, key) values (1, 's', 'n')")
        insert_passages(connection, 1, range(1, len(rows) + 1))
        metadata.set_meta(connection, dimension=rows.shape[1])
        vectors.prepare(connection)
        vectors.add(connection, [(number + 1, row.tobytes()) for number, row in enumerate(rows)])
        vectors.center(connection)
        yield connection


def recall(connection: sqlite3.Connection, rows: numpy.ndarray, count: int) -> float:
    """Return the share of the nearest passages of every seventieth one that are found."""
    shares = []
    for number in range(0, len(rows), 70):
        near = dict(nearest.nearest(connection, rows[number].tobytes(), count))
        best = numpy.argsort(-rows @ rows[number])[:count] + 1
        shares.append(len({*near} & {*best.tolist()}) / count)
    return float(numpy.mean(shares))


def test_signs_of_vectors_in_a_cone_are_taken_relative_to_their_mean(sidecar_path):
    rows = cone()
    with index_of(sidecar_path, rows) as connection:
        # Few candidates, as in a large library.
        metadata.set_meta(connection, **{vectors.CANDIDATES_KEY: 40})
        centered = recall(connection, rows, 10)
        metadata.set_meta(connection, **{metadata.MEAN: None, metadata.STALE: "yes"})
        vectors.prepare(connection)
        assert centered > 0.95 > 0.6 > recall(connection, rows, 10)


@pytest.mark.parametrize(
    ("rows", "candidates"),
    [
        (cone(60), (700, 700)),
        (flat(), (1400, 2400)),
        (flat(600), (700, 700)),  # all of them
        (flat(9000), (4096, 4096)),  # as many as sqlite-vec can return
    ],
    ids=["signs say enough", "signs say little", "few passages", "too many passages"],
)
def test_index_has_as_many_candidates_as_find_nine_tenths_of_the_nearest(
    sidecar_path, rows, candidates
):
    with index_of(sidecar_path, rows) as connection:
        nearest.choose_candidates(connection)
        chosen = nearest.candidates(connection)
        assert candidates[0] <= chosen <= candidates[1]
        found = recall(connection, rows, 50)
        assert (found >= 0.88) == (chosen < nearest.MAX_CANDIDATES)
        measured = metadata.get_number(connection, vectors.RECALL_KEY)
        assert measured == pytest.approx(found, abs=0.04)


@pytest.mark.parametrize("allowed", ["", "where id % 3 = 0", "where id < 30", "where id < 0"])
@pytest.mark.parametrize("dimension", [64, 72])
def test_numpy_finds_passages_as_near_by_their_signs_as_vec0(sidecar_path, dimension, allowed):
    rows = cone(dimension=dimension)
    sql = f"""
    select vec_distance_hamming({vectors.signs(":vector")}, {vectors.signs("vector")})
    from ({{candidates}}) join _vectors using (passage_id)
    order by 1
    """
    with index_of(sidecar_path, rows) as connection:
        nearest.register(connection)
        vectors.remove(connection, range(1, len(rows), 5))
        stored = f"select count(*) from passages join _vectors on passage_id = id {allowed}"
        [there] = connection.execute(stored).fetchone()
        for number in range(1, len(rows), 500):
            distances = [
                connection.execute(
                    sql.format(candidates=nearest.candidates_sql(":vector", "40", large, allowed)),
                    {"vector": rows[number].tobytes()},
                ).fetchall()
                for large in (False, True)
            ]
            assert distances[0] == distances[1]
            assert len(distances[0]) == min(there, 40)


def test_signs_are_read_only_if_there_is_a_choice(connection):
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    assert nearest.nearest_signs(connection, bytes(8), 3, "3,1,2") == "[1, 2, 3]"
    assert not statements


@pytest.mark.parametrize("number", ["0", "-1", "9e9", "1e3"])
def test_damaged_number_of_candidates_is_brought_into_its_range(sidecar_path, number):
    with index_of(sidecar_path, cone()) as connection:
        metadata.set_meta(connection, **{vectors.CANDIDATES_KEY: number})
        assert 1 <= nearest.candidates(connection) <= nearest.MAX_CANDIDATES


def test_similarities_are_relative_to_what_unrelated_texts_have_in_common(indexed, tmp_path):
    path = Path(shutil.copy(indexed, tmp_path / "notes.db"))
    with closing(database.connect(path)) as connection:
        vector = connection.execute("select vector from _vectors").fetchone()[0]
        plain = dict(nearest.nearest(connection, vector, 24))
    with database.open_for_writing(path) as connection:
        metadata.set_meta(connection, **{metadata.UNRELATED: "0.75"})
        crowded = dict(nearest.nearest(connection, vector, 24))
    expected = {number: (similarity - 0.75) / 0.25 for number, similarity in plain.items()}
    assert crowded == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ids", "notes"),
    [
        ("1", b"\1"),
        ("3,1", b"\1\0\1"),
        (",".join(map(str, range(2, 9000, 2))), b"\0\1" * 4499),
        (None, nearest.NO_NOTES),
        ("", nearest.NO_NOTES),
        ("0", nearest.NO_NOTES),
        ("-3", nearest.NO_NOTES),
        ("9" * 17, nearest.NO_NOTES),
        ("1," * 20_000 + "9" * 17, nearest.NO_NOTES),
        ("1," * 20_000 + "0", nearest.NO_NOTES),
    ],
)
def test_a_set_of_notes_has_a_byte_for_each(ids, notes):
    assert nearest.note_set(ids) == notes


def nearest_notes(connection, count="9", vector=None) -> str | None:
    """Return the ids of the passages' notes, in a statement like on Datasette's SQL page."""
    if vector is None:
        vector = connection.execute("select vector from _vectors").fetchone()[0]
    sql = f"""
        select group_concat(distinct note_id)
        from json_each(nearest_passages(?, {count}))
        join passages on passages.id = key
        """
    return connection.execute(sql, [vector]).fetchone()[0]


def test_a_count_may_be_text_as_the_parameters_of_a_page_are(connection):
    assert nearest_notes(connection, "'9'") == nearest_notes(connection, "9")


@pytest.mark.parametrize("wrong", [
    {"count": "0"}, {"count": "'many'"}, {"count": "1e999"}, {"vector": "roof"},
    {"count": "note_set('three')"}, {"count": "note_set(1.5)"}, {"count": "note_set('1,,2')"},
    {"count": "nearest_signs('roof', 3)"}, {"count": "nearest_signs(zeroblob(8), 'many')"},
])  # fmt: skip
def test_a_wrong_argument_is_an_error_and_the_log_says_why(connection, wrong, capsys):
    with pytest.raises(sqlite3.OperationalError, match="raised exception"):
        nearest_notes(connection, **wrong)
    assert " must be " in capsys.readouterr().err


@pytest.mark.parametrize("none", [
    {"count": "null"}, {"vector": b"1234"}, {"count": "nearest_signs(zeroblob(1234), 3)"},
    {"count": "nearest_signs(zeroblob(8), null)"}, {"count": "in_languages(null)"},
])  # fmt: skip
def test_null_and_another_models_vector_have_no_neighbors(connection, none):
    assert nearest_notes(connection, **none) is None


# Several searches while the index changes

DIMENSION = 64
KEPT, COMING_AND_GOING = 300, 100


@pytest.fixture
def index(sidecar_path):
    """Make an index with the passages that stay."""
    with database.open_for_writing(sidecar_path) as connection, database.transaction(connection):
        connection.execute("insert into sources (name, location) values ('s', 's')")
        for note in (1, 2):
            connection.execute(
                "insert into notes (id, title, source, key) values (?, 'n', 's', ?)",
                [note, str(note)],
            )
        insert_passages(connection, 1, range(1, KEPT + 1))
        metadata.set_meta(connection, dimension=DIMENSION)
        vectors.prepare(connection)
        vectors.add(connection, rows_of(range(1, KEPT + 1)))
    return sidecar_path


def insert_passages(connection, note_id, ids) -> None:
    connection.executemany(
        "insert into passages (id, note_id, position, vector_state) values (?, ?, ?, 'pending')",
        [(number, note_id, number) for number in ids],
    )


def rows_of(ids) -> list[tuple[int, bytes]]:
    randomness = numpy.random.default_rng(7)
    rows = randomness.standard_normal((KEPT + COMING_AND_GOING + 1, DIMENSION), "float32")
    return [(number, rows[number].tobytes()) for number in ids]


def test_a_search_sees_the_vectors_of_that_moment(index):
    # One transaction adds passages with their vectors, and another removes them. A search must see
    # all of them or none.
    coming = range(KEPT + 1, KEPT + COMING_AND_GOING + 1)
    [(_, asked)] = rows_of([KEPT + 1])
    counts, end = set(), threading.Event()
    # A statement sees a single snapshot: the passages that it finds, and all passages.
    sql = """
        select nearest_passages(:vector, 1000), (select json_group_array(passage_id) from _vectors)
    """

    def search() -> None:
        with closing(database.connect(index)) as connection:
            nearest.register(connection)
            while not end.is_set():
                found = [
                    [int(passage_id) for passage_id in json.loads(ids)]
                    for ids in connection.execute(sql, {"vector": asked}).fetchone()
                ]
                all_found, there = map(sorted, found)
                counts.add(len(all_found))
                assert all_found == there

    with running(*[search] * 4, end=end.set):
        for number in range(200):
            if number >= 15 and len(counts) > 1:
                break  # on a busy machine, reading takes longer than a round
            with database.open_for_writing(index) as connection:
                with database.transaction(connection):
                    insert_passages(connection, 2, coming)
                    vectors.add(connection, rows_of(coming))
                with database.transaction(connection):
                    vectors.remove(connection, list(coming))
                    connection.execute("delete from passages where note_id = 2")
    assert counts == {KEPT, KEPT + COMING_AND_GOING}
