"""Nearest passages: from sqlite-vec or, in a large library, from the same bits in memory."""

import json
import threading
from contextlib import closing
from pathlib import Path

import numpy
import pytest
from datasette.app import Datasette

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database, indexer, vectors
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_libraries import bear_library, day
from tests.support.datasettes import IS_1_0
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


@pytest.fixture
def large_from(monkeypatch):
    """Treat libraries with more passages than this as large ones."""

    return lambda passages: monkeypatch.setattr(vectors, "MAX_VEC0_PASSAGES", passages)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> dict[int, Path]:
    """Index the notes as a small library, and as one that is treated as large."""
    folder = tmp_path_factory.mktemp("indexes")
    library = bear_library(folder / "database.sqlite", NOTES)
    paths = {}
    for passages in (20_000, 5):
        paths[passages] = folder / f"{passages}.db"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vectors, "MAX_VEC0_PASSAGES", passages)
            snapshot = indexer.read(BearLibrary(library))
            indexer.index(paths[passages], [snapshot], TinyEmbedder("test/tiny"))
    return paths


@pytest.fixture(params=[20_000, 5])
def connection(request, indexes, large_from):
    large_from(request.param)
    with closing(database.connect(indexes[request.param])) as connection:
        vectors.register(connection)
        yield connection


def is_large(path) -> bool:
    with closing(database.connect(path)) as connection:
        return not vectors.has_vec0(connection)


async def rows(path, **parameters) -> list[dict]:
    # A new Datasette each time, because one mustn't see another one's cache.
    datasette = Datasette([str(path)])
    response = await datasette.client.get("/-/bear-search.json", params=parameters)
    assert response.status_code == 200, response.text
    # In memory, similarities have nine digits.
    return [
        {name: round(it, 6) if isinstance(it, float) else it for name, it in row.items()}
        for row in response.json()["rows"]
    ]


QUESTIONS = [
    {"q": "pixel"},
    {"q": "a waltz with a glyph", "mode": "semantic"},
    {"q": "jazz", "mode": "semantic", "tag": "two"},
    {"q": "lynx crypt", "tag": "one", "_facets": "1"},
    {"q": "fjord", "mode": "semantic", "tag": "no-note-has-this"},
]


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_large_library_finds_what_a_small_one_finds(
    write, bear_index, sidecar_path, large_from
):
    write(*NOTES)
    bear_index()
    exact = [await rows(sidecar_path, **question) for question in QUESTIONS]
    assert not is_large(sidecar_path)
    assert exact[0]
    assert not exact[-1]
    large_from(5)
    bear_index("--rebuild")
    assert is_large(sidecar_path)
    assert [await rows(sidecar_path, **question) for question in QUESTIONS] == exact


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_large_library_has_the_same_similar_notes(
    write, bear_index, sidecar_path, large_from
):
    async def similar() -> list[dict]:
        response = await Datasette([str(sidecar_path)]).client.get("/-/bear-search/similar/3.json")
        return response.json()["rows"]

    write(*NOTES)
    bear_index()
    exact = await similar()
    large_from(5)
    bear_index("--rebuild")
    assert exact
    assert await similar() == exact


@pytest.mark.asyncio
async def test_a_note_that_is_added_or_removed_is_so_for_a_server_that_runs(
    write, bear_index, sidecar_path, large_from
):
    large_from(5)
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
async def test_sql_finds_the_nearest_passages_in_a_library_of_any_size(
    write, bear_index, sidecar_path, large_from
):
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
    for large in (20_000, 5):
        large_from(large)
        bear_index("--rebuild")
        found = await nearest("embed('pixel vortex'), 4")
        assert len(found) == 4
        assert {"Pixel", "Vortex"} >= set(found[:2])
        for only in ("note_set('3,4')", "'3,4'"):
            assert await nearest(f"embed('pixel vortex'), 4, {only}") == ["Zither", "Zither"]
        # Values in URLs are text.
        assert len(await nearest("embed('pixel vortex'), '4', null")) == 4
        assert await nearest("embed('pixel vortex'), 0") == []
        assert await nearest("null, 4") == []
        assert await nearest("x'00', 4") == []


def test_a_library_that_grows_and_shrinks_changes_its_index(
    write, bear_index, sidecar_path, large_from
):
    large_from(20)
    write(*NOTES[:20])
    bear_index()
    assert not is_large(sidecar_path)
    write(*NOTES)
    bear_index()
    assert is_large(sidecar_path)
    write(*NOTES[:4], BearNote("# Other", created=day(30)))
    bear_index("--yes")
    assert not is_large(sidecar_path)
    with closing(database.connect(sidecar_path)) as connection:
        found = connection.execute(
            "select count(*) from _passage_index where rowid in (select passage_id from _vectors)"
        ).fetchone()
    assert found == (5,)


def test_a_run_with_nothing_to_embed_makes_a_vec0_table_anew_that_lacks_passages(
    write, bear_index, sidecar_path, monkeypatch
):
    write(*NOTES)
    bear_index()
    with monkeypatch.context() as without_vec0:
        without_vec0.setattr(database, "load_vector_extension", lambda connection: False)
        write(*NOTES[:9])
        bear_index("--yes")
    with closing(database.connect(sidecar_path)) as connection:
        assert not database.read_state(connection).has_vectors
    bear_index()
    with closing(database.connect(sidecar_path)) as connection:
        assert database.read_state(connection).has_vectors
        assert connection.execute("select count(*) from _passage_index").fetchone() == (9,)


def test_vectors_whose_signs_fill_no_whole_bytes_are_refused(write, bear_index, monkeypatch):
    monkeypatch.setattr(TinyEmbedder, "DIMENSION", 60)
    write(*NOTES)
    assert "Vectors of 60 numbers can't be indexed" in bear_index().output


def in_memory(rows: numpy.ndarray) -> vectors.BinaryVectors:
    packed = numpy.packbits(rows > 0, axis=1, bitorder="little")
    return vectors.BinaryVectors(numpy.arange(len(rows)) + 1000, packed)


@pytest.mark.parametrize("dimension", [72, 384])
def test_bits_find_what_is_near(dimension):
    random = numpy.random.default_rng(1)
    # Passages are in groups of ten about the same subject, as in a library.
    subjects = random.standard_normal((600, dimension), "f4").repeat(10, axis=0)
    rows = subjects + 0.5 * random.standard_normal(subjects.shape, "f4")
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    found = []
    for subject in range(0, 600, 20):
        vector = subjects[subject * 10]
        near = in_memory(rows).candidates(None, vector.tobytes(), 200, None)
        assert len(set(near)) == 200
        best = numpy.argsort(-rows @ vector)[:10] + 1000
        found.append(len(set(best) & set(near)) / 10)
    assert numpy.mean(found) >= 0.97


def test_few_passages_are_all_found():
    rows = numpy.random.default_rng(3).standard_normal((40, 64)).astype("f4")
    found = in_memory(rows).candidates(None, rows[0].tobytes(), 50, None)
    assert sorted(found) == list(range(1000, 1040))


def test_the_vec0_table_is_replaced_when_the_limit_is_lower(
    write, bear_index, sidecar_path, large_from
):
    write(*NOTES)
    bear_index()
    assert not is_large(sidecar_path)
    large_from(5)
    bear_index()
    assert is_large(sidecar_path), "without a note that changed"


@pytest.mark.parametrize(
    ("ids", "notes"),
    [
        ("1", b"\1"),
        ("3,1", b"\1\0\1"),
        (2, b"\0\1"),
        (",".join(map(str, range(2, 9000, 2))), b"\0\1" * 4499),
        (None, vectors.NO_NOTES),
        ("", vectors.NO_NOTES),
        ("0", vectors.NO_NOTES),
        ("-3", vectors.NO_NOTES),
        ("1,,2", vectors.NO_NOTES),
        ("1,two", vectors.NO_NOTES),
        ("9" * 17, vectors.NO_NOTES),
        (b"1", vectors.NO_NOTES),
        ("1," * 20_000 + "9" * 17, vectors.NO_NOTES),
        ("1," * 20_000 + "0", vectors.NO_NOTES),
    ],
)
def test_a_set_of_notes_has_a_byte_for_each(ids, notes):
    assert vectors.note_set(ids) == notes


def nearest_notes(connection, count="9", notes="null", vector=None) -> str | None:
    """Return the ids of the passages' notes, in a statement like on Datasette's SQL page."""
    if vector is None:
        vector = connection.execute("select vector from _vectors").fetchone()[0]
    sql = f"""
        select group_concat(distinct note_id)
        from json_each(nearest_passages(?, {count}, {notes}))
        join passages on passages.id = key
        """
    return connection.execute(sql, [vector]).fetchone()[0]


@pytest.mark.parametrize("notes", ["'3'", "3", "x'0000ff'", "x'00000100'", "note_set('3')"])
def test_any_blob_and_ids_are_a_set_of_notes(connection, notes):
    assert nearest_notes(connection, notes=notes) == "3"


@pytest.mark.parametrize("notes", ["''", "note_set(null)", "zeroblob(100)"])
def test_a_set_of_notes_may_be_empty(connection, notes):
    assert nearest_notes(connection, notes=notes) is None


def test_a_count_may_be_text_as_the_parameters_of_a_page_are(connection):
    assert nearest_notes(connection, "'9'") == nearest_notes(connection, "9")


@pytest.mark.parametrize("wrong", [
    {"count": "0"}, {"count": "'many'"}, {"count": "1e999"}, {"notes": "'three'"},
    {"notes": "1.5"}, {"notes": "note_set('1,,2')"}, {"vector": "roof"},
])  # fmt: skip
def test_a_wrong_argument_is_an_error_and_the_log_says_why(connection, wrong, capsys):
    with pytest.raises(sqlite3.OperationalError, match="raised exception"):
        nearest_notes(connection, **wrong)
    assert " must be " in capsys.readouterr().err


@pytest.mark.parametrize("none", [{"count": "null"}, {"vector": b"1234"}])
def test_another_models_vector_has_no_neighbors(connection, none):
    assert nearest_notes(connection, **none) is None


# Several searches while the index changes

DIMENSION = 64
KEPT, COMING_AND_GOING = 300, 100


@pytest.fixture
def index(sidecar_path, monkeypatch):
    """Make an index with the bits of the passages that stay."""
    monkeypatch.setattr(vectors, "MAX_VEC0_PASSAGES", 10)
    with database.open_for_writing(sidecar_path) as connection, database.transaction(connection):
        connection.execute("insert into sources (name, location) values ('s', 's')")
        for note in (1, 2):
            connection.execute(
                "insert into notes (id, title, source, key) values (?, 'n', 's', ?)",
                [note, str(note)],
            )
        insert_passages(connection, 1, range(1, KEPT + 1))
        database.set_meta(connection, dimension=DIMENSION)
        vectors.prepare(connection)
        vectors.add(connection, rows_of(range(1, KEPT + 1)))
        assert not vectors.has_vec0(connection)
    return sidecar_path


def insert_passages(connection, note_id, ids) -> None:
    connection.executemany(
        "insert into passages (id, note_id, position, embedded) values (?, ?, ?, 0)",
        [(number, note_id, number) for number in ids],
    )


def rows_of(ids) -> list[tuple[int, bytes]]:
    randomness = numpy.random.default_rng(7)
    rows = randomness.standard_normal((KEPT + COMING_AND_GOING + 1, DIMENSION), "float32")
    return [(number, rows[number].tobytes()) for number in ids]


def test_what_is_asked_again_is_not_looked_for_again_until_the_vectors_change(index, monkeypatch):
    looked = []
    candidates = vectors.BinaryVectors.candidates
    monkeypatch.setattr(
        vectors.BinaryVectors,
        "candidates",
        lambda *arguments: looked.append(1) or candidates(*arguments),
    )
    [(_, vector)] = rows_of([7])
    with closing(database.connect(index)) as connection:
        found = vectors.nearest(connection, vector, 5)
        assert vectors.nearest(connection, vector, 5) == found
        assert len(looked) == 1
        with database.open_for_writing(index) as writing, database.transaction(writing):
            vectors.remove(writing, [7])
        assert 7 not in dict(vectors.nearest(connection, vector, 5))
    assert found[0][0] == 7
    assert len(looked) == 2


def test_whoever_searches_sees_the_vectors_as_they_are_at_that_moment(index):
    # One transaction adds passages with their vectors, and another removes them. A search must see
    # all of them or none.
    coming = range(KEPT + 1, KEPT + COMING_AND_GOING + 1)
    [(_, asked)] = rows_of([KEPT + 1])
    counts, failures, end = set(), [], threading.Event()
    # A statement sees a single snapshot: the passages that it finds, all passages, and those of the
    # second note.
    sql = """
        select nearest_passages(:vector, 1000), nearest_passages(:vector, 1000, note_set('2')),
          (select json_group_array(passage_id) from _vectors),
          (select json_group_array(id) from passages where note_id = 2)
    """

    def search() -> None:
        with closing(database.connect(index)) as connection:
            vectors.register(connection)
            while not end.is_set():
                try:
                    found = [
                        [int(passage_id) for passage_id in json.loads(ids)]
                        for ids in connection.execute(sql, {"vector": asked}).fetchone()
                    ]
                except Exception as error:
                    failures.append(repr(error))
                    return
                all_found, of_second, there, second = map(sorted, found)
                counts.add(len(all_found))
                if (all_found, of_second) != (there, second):
                    failures.append((len(all_found), len(there), of_second, second))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
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
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert counts == {KEPT, KEPT + COMING_AND_GOING}
