"""What finds the nearest passages: all vectors, or in a large library their signs."""

import json
from contextlib import closing

import numpy
import pytest
from datasette.app import Datasette

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database
from datasette_bear_search.index import vectors as nearest
from datasette_bear_search.index import vectors as passage_index
from datasette_bear_search.index import vectors as signs
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_libraries import day
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
    """Take libraries of more passages than this for large ones."""

    def set_both(passages: int) -> None:
        monkeypatch.setattr(passage_index, "FLOATS_AT_MOST", passages)
        monkeypatch.setattr(nearest, "EXACT_AT_MOST", passages)

    return set_both


@pytest.fixture(params=[20_000, 5])
def connection(request, write, bear_index, sidecar_path, large_from):
    """To an index of the notes: of a small library, and of one that is taken for a large one."""
    large_from(request.param)
    write(*NOTES)
    bear_index()
    with closing(database.connect(sidecar_path)) as connection:
        nearest.register(connection)
        yield connection


def holds_signs(path) -> bool:
    with closing(database.connect(path)) as connection:
        return passage_index.holds_signs(connection)


async def rows(path, **parameters) -> list[dict]:
    # Several of them: what one knows must not be what another one sees.
    datasette = Datasette([str(path)])
    response = await datasette.client.get("/-/bear-search.json", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()["rows"]


QUESTIONS = [
    {"q": "pixel"},
    {"q": "a waltz with a glyph", "mode": "semantic"},
    {"q": "jazz", "mode": "semantic", "tag": "two"},
    {"q": "lynx crypt", "tag": "one", "_facets": "1"},
    {"q": "fjord", "mode": "semantic", "tag": "no-note-has-this"},
]


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_large_library_is_found_by_signs_as_a_small_one_by_vectors(
    write, bear_index, sidecar_path, large_from
):
    write(*NOTES)
    bear_index()
    exact = [await rows(sidecar_path, **question) for question in QUESTIONS]
    assert not holds_signs(sidecar_path)
    assert exact[0]
    assert not exact[-1]
    large_from(5)
    bear_index("--rebuild")
    assert holds_signs(sidecar_path)
    assert [await rows(sidecar_path, **question) for question in QUESTIONS] == exact


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_notes_like_one_are_found_by_signs_too(write, bear_index, sidecar_path, large_from):
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
        assert await nearest("embed('pixel vortex'), 4, note_set('3,4')") == ["Zither", "Zither"]
        assert await nearest("embed('pixel vortex'), 0") == []
        assert await nearest("null, 4") == []
        assert await nearest("x'00', 4") == []


def test_a_library_that_grows_and_shrinks_changes_its_index(
    write, bear_index, sidecar_path, large_from
):
    large_from(20)
    write(*NOTES[:20])
    bear_index()
    assert not holds_signs(sidecar_path)
    write(*NOTES)
    bear_index()
    assert holds_signs(sidecar_path)
    write(*NOTES[:18], BearNote("# Different", created=day(30)))
    bear_index()
    assert holds_signs(sidecar_path), "a little smaller is no reason to make all of it anew"
    write(*NOTES[:4], BearNote("# Other", created=day(30)))
    bear_index()
    assert not holds_signs(sidecar_path)
    with closing(database.connect(sidecar_path)) as connection:
        found = connection.execute(
            "select count(*) from _passage_index where rowid in (select passage_id from _vectors)"
        ).fetchone()
    assert found == (5,)


def test_vectors_that_have_no_whole_bytes_of_signs_stay_vectors(
    write, bear_index, sidecar_path, large_from, monkeypatch
):
    monkeypatch.setattr(TinyEmbedder, "DIMENSION", 60)
    large_from(5)
    write(*NOTES)
    bear_index()
    assert not holds_signs(sidecar_path)


def library_of(vectors: numpy.ndarray) -> signs.Signs:
    packed = numpy.packbits(vectors > 0, axis=1, bitorder="little")
    return signs.Signs(numpy.arange(len(vectors)) + 1000, packed)


@pytest.mark.parametrize("dimension", [72, 384])
def test_signs_find_what_is_near(dimension):
    random = numpy.random.default_rng(1)
    # Passages in groups of ten about the same thing, as in a library.
    subjects = random.standard_normal((600, dimension), "f4").repeat(10, axis=0)
    vectors = subjects + 0.5 * random.standard_normal(subjects.shape, "f4")
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    found = []
    for subject in range(0, 600, 20):
        vector = subjects[subject * 10]
        near = library_of(vectors).nearest(vector, 200, None).tolist()
        assert len(set(near)) == 200
        best = numpy.argsort(-vectors @ vector)[:10] + 1000
        found.append(len(set(best) & set(near)) / 10)
    assert numpy.mean(found) >= 0.97


def test_signs_of_some_passages_find_only_those():
    vectors = numpy.random.default_rng(2).standard_normal((5000, 64)).astype("f4")
    allowed = numpy.arange(0, 5000, 7)
    near = library_of(vectors).nearest(vectors[70], 50, allowed).tolist()
    assert len(near) == 50
    assert 1070 in near
    assert {(number - 1000) % 7 for number in near} == {0}


def test_few_passages_are_all_found():
    vectors = numpy.random.default_rng(3).standard_normal((40, 64)).astype("f4")
    assert sorted(library_of(vectors).nearest(vectors[0], 50, None)) == list(range(1000, 1040))


def test_bits_are_counted_without_the_newest_numpy(monkeypatch):
    words = numpy.random.default_rng(4).integers(0, 2**63, 100, "u8")
    counted = signs._ones(words).tolist()
    monkeypatch.delattr(numpy, "bitwise_count")
    assert signs._ones(words).tolist() == counted == [int(word).bit_count() for word in words]


def test_an_index_that_an_older_version_laid_out_is_laid_out_anew(
    write, bear_index, sidecar_path, large_from
):
    write(*NOTES)
    bear_index()
    assert not holds_signs(sidecar_path)
    large_from(5)
    bear_index()
    assert holds_signs(sidecar_path), "without a note that changed"


@pytest.mark.parametrize(
    ("ids", "notes"),
    [
        ("1", b"\1"),
        ("3,1", b"\1\0\1"),
        (2, b"\0\1"),
        (",".join(map(str, range(2, 9000, 2))), b"\0\1" * 4499),
        (None, b""),
        ("", b""),
        ("0", b""),
        ("-3", b""),
        ("1,,2", b""),
        ("1,two", b""),
        ("9" * 17, b""),
        (b"1", b""),
        ("1," * 20_000 + "9" * 17, b""),
        ("1," * 20_000 + "0", b""),
    ],
)
def test_a_set_of_notes_has_a_byte_for_each(ids, notes):
    assert nearest.note_set(ids) == notes


def test_a_large_set_needs_no_numpy(monkeypatch):
    ids = ",".join(map(str, range(2, 9000, 2)))
    by_numpy = nearest.note_set(ids)
    monkeypatch.setattr(nearest, "find_spec", lambda name: None)
    assert nearest.note_set(ids) == by_numpy == b"\0\1" * 4499


@pytest.mark.parametrize("notes", ["'3'", "x'0000ff'", "x'00000100'", "null", "zeroblob(100)"])
def test_any_value_is_a_set_of_notes(connection, notes):
    vector = connection.execute("select vector from _vectors").fetchone()[0]
    sql = f"select group_concat(distinct note_id) from json_each(nearest_passages(?, 9, {notes})) join passages on passages.id = key"
    found = connection.execute(sql, [vector]).fetchone()
    assert found == (("3",) if notes.startswith("x") else (None,))


def test_a_look_is_taken_once(connection, monkeypatch):
    vectors = [vector for (vector,) in connection.execute("select distinct vector from _vectors")]
    library = nearest.load(connection)
    before = [library.nearest(connection, vector, 4, None) for vector in vectors]
    taken = []
    look = library._look
    monkeypatch.setattr(
        library, "_look", lambda vector, *asked: taken.append(vector) or look(vector, *asked)
    )
    again = [library.nearest(connection, vector, 4, None) for vector in reversed(vectors)]
    assert again[::-1] == before
    # The last ones are kept; of another number is another look.
    assert set(taken) == set(vectors[: -nearest.REMEMBERED])
    taken.clear()
    library.look_ahead(vectors[0], 3).result()
    assert len(library.nearest(connection, vectors[0], 3, None)) == 3
    assert taken == [vectors[0]]


def test_what_fails_while_looking_ahead_is_told_when_it_is_asked_for(connection, monkeypatch):
    def fail(*asked):
        raise RuntimeError("no memory")

    [vector] = connection.execute("select vector from _vectors").fetchone()
    library = nearest.load(connection)
    with monkeypatch.context() as patched:
        patched.setattr(library, "_look", fail)
        library.look_ahead(vector, 4)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("select nearest_passages(?, 4)", [vector]).fetchone()
    [found] = connection.execute("select nearest_passages(?, 4)", [vector]).fetchone()
    assert len(json.loads(found)) == 4
