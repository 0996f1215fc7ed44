"""Vectors of one byte a number: ``bear-index --precision int8``."""

from contextlib import closing

import numpy
import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.demo import BearNote
from datasette_bear_search.index import database, precision
from tests.support.bear_libraries import day
from tests.support.datasettes import IS_1_0
from tests.support.tiny_embedder import TinyEmbedder

NOTES = [
    BearNote("# Fence\n\nRepairing the garden fence before winter.", created=day(1)),
    BearNote("# Soup\n\nLentil soup, a recipe for cold evenings.", created=day(2)),
    BearNote("# Gate\n\nThe garden gate beside the fence.", created=day(3)),
    BearNote("# Knee\n\nWhat the doctor said about the knee.", created=day(4)),
]


def stored(path) -> tuple[str, list[int]]:
    """The precision of a sidecar's vectors, and the length of each as it is stored."""
    with closing(database.connect(path)) as connection:
        kept = precision.of(connection)
        sql = f"select length(vector) from {precision.table(kept)}"
        return kept, [length for (length,) in connection.execute(sql)]


async def rows(path, address: str) -> list[dict]:
    response = await Datasette([str(path)]).client.get(address)
    assert response.status_code == 200, response.text
    return response.json()["rows"]


SEARCHES = [
    "/-/bear-search.json?q=garden+fence",
    "/-/bear-search.json?q=a+soup+for+the+evening&mode=semantic",
    "/-/bear-search/similar/1.json",
]


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize("made", ["at once", "of float32"])
async def test_small_vectors_find_what_large_ones_do(write, bear_index, sidecar_path, made):
    write(*NOTES)
    bear_index()
    assert stored(sidecar_path) == ("float32", [4 * TinyEmbedder.DIMENSION] * 4)
    exact = [await rows(sidecar_path, address) for address in SEARCHES]
    assert all(exact)
    if made == "at once":
        sidecar_path.unlink()
    report = bear_index("--precision", "int8").output
    assert ("4 passages embedded" in report) == (made == "at once")
    assert stored(sidecar_path) == ("int8", [TinyEmbedder.DIMENSION] * 4)
    for address, before in zip(SEARCHES, exact):
        found = await rows(sidecar_path, address)
        assert [row["title"] for row in found] == [row["title"] for row in before]
        assert [row["similarity"] for row in found] == pytest.approx(
            [row["similarity"] for row in before], abs=0.01
        )


def test_an_index_keeps_its_precision(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--precision", "int8")
    write(*NOTES[1:], BearNote("# New\n\nSomething new.", created=day(5)))
    bear_index()
    assert stored(sidecar_path) == ("int8", [TinyEmbedder.DIMENSION] * 4)
    bear_index("--rebuild")
    assert stored(sidecar_path) == ("int8", [TinyEmbedder.DIMENSION] * 4)
    assert "Nothing" in bear_index("--precision", "int8").output


def test_more_precision_needs_new_vectors(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--precision", "int8")
    assert "4 passages embedded" in bear_index("--precision", "float32").output
    assert stored(sidecar_path) == ("float32", [4 * TinyEmbedder.DIMENSION] * 4)


def test_another_model_makes_small_vectors_too(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--precision", "int8")
    bear_index("--dimensions", "16")
    assert stored(sidecar_path) == ("int8", [16] * 4)


def test_without_vectors_there_is_no_precision(write, bear_index, sidecar_path):
    write(*NOTES)
    result = CliRunner().invoke(cli, ["bear-index", "--no-semantic", "--precision", "int8"])
    assert result.exit_code == 2
    assert "without --no-semantic" in result.output


def test_rounding_hardly_turns_a_vector():
    vectors = numpy.random.default_rng(1).standard_normal((200, 384)).astype("<f4")
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    packed = [precision.stored(vector.tobytes(), "int8") for vector in vectors]
    assert {len(one) for one in packed} == {384}
    unpacked = [numpy.frombuffer(precision._float_vector(one), "<f4") for one in packed]
    assert numpy.linalg.norm(unpacked, axis=1) == pytest.approx(numpy.ones(200), abs=1e-6)
    assert numpy.einsum("ij,ij->i", vectors, numpy.array(unpacked)).min() > 0.9998


@pytest.mark.parametrize("vector", [b"\0" * 32, b"\x80" * 32, b""])
def test_any_bytes_are_a_vector(vector):
    assert len(precision._float_vector(vector)) == 4 * len(vector)


def test_nothing_but_bytes_is():
    assert precision._float_vector("text") is None


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_machinery_stays_hidden(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--precision", "int8")
    response = await Datasette([str(sidecar_path)]).client.get("/notes.json")
    answer = response.json()
    shown = {table["name"] for table in answer["tables"] if not table["hidden"]}
    assert "notes" in shown
    assert not {name for name in shown if name.startswith("_")}
    views = [view["name"] if IS_1_0 else view for view in answer.get("views", [])]
    assert "_vectors_int8" not in views
