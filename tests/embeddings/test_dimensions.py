"""``bear-index --model NAME@N``: truncated vectors, for models that are made for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from struct import unpack

import numpy
import pytest

from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.registry import (
    get_embedder,
    is_here,
    register,
    trust,
    with_choice,
)
from tests.support.bear_database import BearNote
from tests.support.client import get
from tests.support.datasettes import configured
from tests.support.index_files import meta
from tests.support.tiny_embedder import TINY, TinyEmbedder


def numbers(vector: bytes | None) -> numpy.ndarray:
    assert vector is not None
    return numpy.array(unpack(f"<{len(vector) // 4}f", vector))


def stored_lengths(path) -> set[int]:
    with closing(sqlite3.connect(path)) as connection:
        return {length for (length,) in connection.execute("select length(vector) from _vectors")}


@pytest.fixture
def notes(write):
    write(BearNote("# Fence\nRepairing the garden fence"), BearNote("# Soup\nLentil soup recipe"))


def test_truncated_vectors_are_scaled_to_unit_length():
    whole = numbers(get_embedder(TINY).embed_query("garden fence"))
    short = numbers(get_embedder(f"{TINY}@16").embed_query("garden fence"))
    assert short == pytest.approx(whole[:16] / numpy.linalg.norm(whole[:16]), abs=1e-6)


def test_a_name_with_dimensions_has_one_embedder_in_the_process():
    assert get_embedder(f"{TINY}@16") is get_embedder(f"{TINY}@16")


def test_a_model_registered_again_is_truncated_again():
    register("test/again", lambda: TinyEmbedder("test/again"))
    before = get_embedder("test/again@8")
    register("test/again", lambda: TinyEmbedder("test/again"))
    assert get_embedder("test/again@8") is not before


def test_other_dimensions_have_another_fingerprint():
    names = [TINY, f"{TINY}@16", f"{TINY}@32"]
    assert len({get_embedder(name).fingerprint for name in names}) == 3


@pytest.mark.parametrize(("model", "name"), [(TINY, f"{TINY}@16"), (f"{TINY}@32", f"{TINY}@16")])
def test_dimensions_in_a_name_replace_earlier_ones(model, name):
    assert with_choice(model, dimensions=16) == name


def test_a_folder_with_an_at_sign_in_its_name_is_a_folder(tmp_path):
    folder = tmp_path / "model@2"
    folder.mkdir()
    assert trust(str(folder)).name == str(folder)
    assert get_embedder(f"{folder}@16").name == f"{folder}@16"
    assert is_here(f"{folder}@16")


def test_more_dimensions_than_the_model_has_give_a_clear_error():
    with pytest.raises(ModelUnavailable, match="have 64 numbers: @65 can't be made"):
        get_embedder(f"{TINY}@65").load()


# The command


def test_bear_index_keeps_short_vectors_and_says_so_in_the_index(bear_index, notes, sidecar_path):
    bear_index("--model", f"{TINY}@16")
    assert stored_lengths(sidecar_path) == {16 * 4}
    assert (meta(sidecar_path)["model"], meta(sidecar_path)["dimension"]) == (f"{TINY}@16", "16")


def test_later_runs_keep_the_dimensions(bear_index, notes, sidecar_path, write):
    bear_index("--model", f"{TINY}@16")
    write(BearNote("# Roof\nThe roof leaks"))
    bear_index()
    assert stored_lengths(sidecar_path) == {16 * 4}


def test_changing_the_dimensions_embeds_all_notes_again(bear_index, notes, sidecar_path):
    bear_index()
    assert "2 passages embedded" in bear_index("--model", f"{TINY}@16").output
    assert "2 passages embedded" in bear_index("--model", f"{TINY}@32").output
    assert "embedded" not in bear_index("--model", f"{TINY}@32").output
    assert stored_lengths(sidecar_path) == {32 * 4}
    assert "2 passages embedded" in bear_index("--model", TINY, "--yes").output
    assert stored_lengths(sidecar_path) == {64 * 4}


def test_too_many_dimensions_are_refused_before_anything_is_written(
    bear_index, notes, sidecar_path
):
    bear_index()
    result = bear_index("--model", f"{TINY}@65", fails=True)
    assert "have 64 numbers" in result.output
    assert stored_lengths(sidecar_path) == {64 * 4}


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_queries_are_truncated_like_the_notes(bear_index, notes, sidecar_path):
    bear_index("--model", f"{TINY}@16")
    path = "/-/bear-search.json?q=repair+of+the+fence&mode=semantic"
    answer = (await get(configured([sidecar_path], {}), path)).json()
    assert answer["query"]["retrievers"] == ["semantic"]
    assert answer["rows"][0]["title"] == "Fence"
