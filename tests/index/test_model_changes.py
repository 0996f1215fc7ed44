"""Another model for an index: searches keep the present vectors until all of the next are made.

Tests ``index/run/embedding.py`` and ``index/file/vectors.py``.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import closing
from types import SimpleNamespace

import pytest
from datasette.app import Datasette

from datasette_bear_search import Library
from datasette_bear_search.cli import doctor, serve
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import ModelFacts, ModelUnavailable
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.file import database, metadata, vectors
from datasette_bear_search.index.run import embedding
from datasette_bear_search.index.run.report import Hooks
from datasette_bear_search.index.watch import Activity
from datasette_bear_search.web.requests import freshness
from tests.support.bear_database import BearNote
from tests.support.tiny_embedder import TINY, TinyEmbedder

OTHER, SHORT = "test/other", "test/short"
NOTES = [BearNote(f"# Note {number}\nThe roof leaks, part {number} of it") for number in range(12)]


class Stopped(Exception):
    """As if the run were killed."""


class OtherEmbedder(TinyEmbedder):
    DIMENSION = 32
    embedded: int = 0

    def embed_documents(self, texts):
        OtherEmbedder.embedded += len(texts)
        return super().embed_documents(texts)


class FolderEmbedder(TinyEmbedder):
    embedded: int = 0

    def open_model(self) -> ModelFacts:
        return ModelFacts(max_tokens=256, settings={"weights": {"model.safetensors": "53aa"}})

    def embed_documents(self, texts):
        FolderEmbedder.embedded += sum("roof leaks" in text for text in texts)
        return super().embed_documents(texts)


class ShortEmbedder(TinyEmbedder):
    DIMENSION = 32

    def open_model(self) -> ModelFacts:
        return ModelFacts(max_tokens=64, settings={})


class ConstantEmbedder(TinyEmbedder):
    def _vector(self, text):
        return [1.0] * self.DIMENSION


@pytest.fixture
def indexed(bear_index, write, sidecar_path, monkeypatch) -> Library:
    """Index some notes with the tiny model."""
    for name, kind in ((OTHER, OtherEmbedder), (SHORT, ShortEmbedder)):
        registry.register(name, lambda kind=kind, name=name: kind(name))
    monkeypatch.setattr(embedding, "PASSAGES_PER_COMMIT", 4)
    write(*NOTES)
    bear_index("--model", TINY)
    OtherEmbedder.embedded = 0
    return Library(sidecar_path)


def state(library: Library) -> tuple[str | None, int, int]:
    """Return the index's model, how many passages have no vector, and the bytes of a vector."""
    with closing(database.connect(library.path)) as connection:
        found = database.read_state(connection)
        [size] = connection.execute("select max(length(vector)) from _vectors").fetchone()
        return found.model, found.pending, size


def stop_after(count: int) -> Hooks:
    def on_embedded(done: int, total: int) -> None:
        if done >= count:
            raise Stopped

    return Hooks(on_embedded=on_embedded)


def test_searches_use_the_present_vectors_until_all_new_ones_are_made(indexed):
    seen = []
    hooks = Hooks(on_embedded=lambda done, total: seen.append((done, total, *state(indexed))))
    indexed.index(model=OTHER, yes=True, hooks=hooks)
    assert [each[0] for each in seen] == [0, 4, 8, 12]
    assert {each[1:] for each in seen} == {(12, TINY, 0, 256)}
    assert state(indexed) == (OTHER, 0, 128)


def test_a_run_that_was_stopped_goes_on_where_it_was(indexed):
    with pytest.raises(Stopped):
        indexed.index(model=OTHER, yes=True, hooks=stop_after(8))
    assert state(indexed) == (TINY, 0, 256)
    assert indexed.search("leaky roof").hits
    indexed.index()  # which names no model
    assert state(indexed) == (OTHER, 0, 128)
    assert OtherEmbedder.embedded < 12 + 60  # and the texts for measuring, but none twice
    with closing(database.connect(indexed.path)) as connection:
        assert metadata.get_meta(connection, metadata.NEXT_MODEL) is None
        sql = "select count(*) from sqlite_master where name = ?"
        assert connection.execute(sql, [vectors.NEXT_VECTORS]).fetchone() == (0,)


@pytest.mark.parametrize("is_first", [True, False], ids=["new index", "index with vectors"])
def test_a_run_that_was_stopped_before_it_had_the_model_remembers_it(indexed, is_first):
    def stop(report):
        raise Stopped

    [source] = indexed.known_sources()[0]
    if is_first:
        indexed.path.unlink()
    with pytest.raises(Stopped):
        indexed.index(source, model=OTHER, yes=True, hooks=Hooks(on_text=stop))
    findings = {each.name: each.says for each in doctor.examine(indexed.path)["Index"]}
    assert is_first or f"changes to the model {OTHER}" in findings["change"]
    task = serve._task(indexed.path, None, [])
    assert (task.model, task.fallback) == (OTHER, TINY)
    indexed.index()
    assert state(indexed) == (OTHER, 0, 128)


def test_a_model_that_cannot_be_had_is_forgotten(indexed, monkeypatch):
    def refuse(self):
        raise ModelUnavailable("The hub can't be reached.")

    monkeypatch.setattr(OtherEmbedder, "load", refuse)
    with pytest.raises(ModelUnavailable):
        indexed.index(model=OTHER, yes=True)
    assert indexed.embedder().name == TINY


def test_a_model_that_tells_no_texts_apart_is_not_used(indexed):
    registry.register("test/constant", lambda: ConstantEmbedder("test/constant"))
    with pytest.raises(ModelUnavailable, match=f"same vector.* the index keeps the model {TINY}"):
        indexed.index(model="test/constant")
    assert indexed.embedder().name == TINY


def test_naming_the_present_model_ends_the_change(indexed):
    with pytest.raises(Stopped):
        indexed.index(model=OTHER, yes=True, hooks=stop_after(8))
    indexed.index(model=TINY)
    indexed.index()
    assert state(indexed) == (TINY, 0, 256)


def test_vectors_of_deleted_notes_leave_both_models(indexed, write):
    with pytest.raises(Stopped):
        indexed.index(model=OTHER, yes=True, hooks=stop_after(12))
    write(*NOTES[:5])
    indexed.index(semantic=False, yes=True)
    with closing(database.connect(indexed.path)) as connection:
        sql = f"select count(*) from {vectors.NEXT_VECTORS}"
        assert connection.execute(sql).fetchone() == (5,)


def test_a_rebuild_forgets_a_change_that_was_stopped(indexed):
    with pytest.raises(Stopped):
        indexed.index(model=OTHER, yes=True, hooks=stop_after(8))
    indexed.index(model=TINY, rebuild=True)
    assert state(indexed) == (TINY, 0, 256)


def test_a_model_in_a_folder_that_was_moved_keeps_its_vectors(bear_index, write, sidecar_path):
    write(*NOTES)
    for folder in ("/models/before", "/models/after"):
        registry.register(folder, lambda folder=folder: FolderEmbedder(folder))
        bear_index("--model", folder)
    library = Library(sidecar_path)
    assert (FolderEmbedder.embedded, state(library)) == (12, ("/models/after", 0, 256))


def test_a_model_that_reads_less_gets_its_own_passages(indexed):
    indexed.index(model=SHORT, yes=True)
    assert state(indexed) == (SHORT, 0, 128)


def test_the_command_says_what_a_change_costs(bear_index, indexed):
    said = bear_index("--model", OTHER).output
    assert re.search(r"which takes less than a minute; searching works", said)


# Offers


def set_languages(index, **shares: float) -> None:
    with database.open_for_writing(index.path) as connection:
        known = {metadata.LANGUAGES: json.dumps(shares), metadata.FOREIGN: '["ro", "zh"]'}
        metadata.set_meta(connection, **known)


@pytest.mark.parametrize(
    ("shares", "is_offered"), [({"ro": 0.7, "en": 0.3}, True), ({"en": 0.7, "ro": 0.3}, False)]
)
def test_a_library_in_another_language_is_offered_a_multilingual_model(indexed, shares, is_offered):
    set_languages(indexed, **shares)
    page = asyncio.run(Datasette([str(indexed.path)]).client.get("/-/bear-search")).text
    assert ("--model intfloat/multilingual-e5-small" in page) == is_offered
    with closing(database.connect(indexed.path)) as connection:
        assert (metadata.model_offer(connection) is not None) == is_offered


def test_the_offer_is_a_button_where_the_page_may_write(indexed, monkeypatch):
    set_languages(indexed, ro=0.9)
    datasette = Datasette([str(indexed.path)])
    freshness.updaters[datasette] = SimpleNamespace(
        activity=Activity(), has_notes=1, give_way=lambda: None
    )
    button = 'name="model" value="intfloat/multilingual-e5-small"'
    page = asyncio.run(datasette.client.get("/-/bear-search")).text
    assert button in page
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    page = asyncio.run(datasette.client.get("/-/bear-search")).text
    assert button not in page
    assert "pip install sentence-transformers &amp;&amp; datasette bear-index --model" in page


def test_an_index_run_ends_with_the_offer(indexed, bear_index, write, monkeypatch):
    monkeypatch.setattr(metadata, "language_shares", lambda connection: {"ro": 0.9})
    monkeypatch.setattr(metadata, "foreign_languages", lambda connection: {"ro"})
    write(*NOTES, BearNote("# New\nOne more note"))
    assert "--model intfloat/multilingual-e5-small" in bear_index().output


def test_doctor_tells_which_models_there_are_to_choose_from(indexed):
    with database.open_for_writing(indexed.path) as connection:
        metadata.set_meta(connection, model=BUNDLED)
    says = [each.says for each in doctor.examine(indexed.path)["Embedding model"]]
    assert any("BAAI/bge-small-en-v1.5" in line and "133 MB" in line for line in says)
    assert any("intfloat/multilingual-e5-small" in line and "471 MB" in line for line in says)


def test_doctor_tells_of_a_change_that_is_not_finished(indexed):
    with pytest.raises(Stopped):
        indexed.index(model=OTHER, yes=True, hooks=stop_after(8))
    [finding] = (each for each in doctor.examine(indexed.path)["Index"] if each.name == "change")
    assert finding.says == (
        "The index changes to the model test/other, which has 8 of 12 vectors. Until then, "
        "searches use test/tiny."
    )
