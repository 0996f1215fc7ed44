"""ONNX exports: they make the library's vectors without the library, or stand aside.

Tests ``embeddings/backends/onnx.py`` and ``embeddings/backends/onnx_export.py``.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from struct import unpack

import numpy
import pytest

from benchmarks.installs.make_graph import make
from datasette_bear_search.embeddings import files as model_files
from datasette_bear_search.embeddings.backends import onnx, onnx_export
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.embeddings.registry import trust
from datasette_bear_search.search.results.sentences import sentence_scores
from tests.support.bear_database import BearNote
from tests.support.full_disk import full_disk
from tests.support.kinds_of_text import KINDS_OF_TEXT
from tests.support.small_models import write_transformer

pytestmark = pytest.mark.skipif(
    not (onnx.is_installed() and find_spec("onnx") and find_spec("sentence_transformers")),
    reason="needs pip install 'datasette-bear-search[onnx]'",
)

TEXTS = [
    "how do i keep mice out of the cabin",
    "",
    " \n ",
    "roof",
    "The GARDEN fence,\nthe apple tree and a plan to repair the roof in winter. " * 20,
    "東京は日本の首都です。",
    "👨‍👩‍👧 🟢 ❤️",
    "password [SEP] router [MASK]",
]


def cosines(one, other) -> numpy.ndarray:
    one, other = numpy.asarray(one, dtype="float64"), numpy.asarray(other, dtype="float64")
    lengths = numpy.linalg.norm(one, axis=1) * numpy.linalg.norm(other, axis=1)
    return (one * other).sum(axis=1) / lengths


def exports() -> Path:
    return model_files.cache_folder() / "models"


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    prompts = {"query": "how do i ", "document": ""}
    return {
        "mean": write_transformer(folder / "mean"),
        "cls": write_transformer(folder / "cls", pooling="cls"),
        "prompts": write_transformer(folder / "prompts", prompts=prompts),
        "max": write_transformer(folder / "max", pooling="max"),
    }


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """What was kept of each kind of model: an export takes seconds."""
    return tmp_path_factory.mktemp("exported")


@pytest.fixture
def library_and_onnx(exported) -> Callable[..., tuple[SentenceTransformerEmbedder, ...]]:
    """Load a model twice, by the library and by its export; ``kind`` names what it is a copy of."""

    def load(folder: Path | str, kind: str | None = None):
        library = SentenceTransformerEmbedder(str(folder))
        before = exported / (kind or Path(folder).name)
        kept = onnx.export_folder(model_files.model_folder(library.name))
        if kept.exists():
            pass  # by the first run
        elif before.exists():
            exports().mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copytree(before, kept)
        else:
            assert library.export_onnx()
            shutil.copytree(kept, before)
        runtime = SentenceTransformerEmbedder(str(folder))
        runtime.load()
        assert runtime._onnx is not None
        with pytest.MonkeyPatch.context() as patch:  # as if it had been loaded before
            patch.setattr(onnx, "open_onnx_export", lambda folder: None)
            library.load()
        return library, runtime

    return load


@pytest.mark.parametrize("kind", ["mean", "cls", "prompts"])
@pytest.mark.parametrize("is_query", [True, False], ids=["query", "document"])
def test_an_export_gives_the_same_vectors_as_the_library(library_and_onnx, models, kind, is_query):
    library, runtime = library_and_onnx(models[kind])
    vectors = [embedder.encode(TEXTS, is_query=is_query) for embedder in (library, runtime)]
    assert cosines(*vectors).min() >= 0.9999


@pytest.mark.parametrize("kind", ["mean", "cls", "prompts"])
def test_vectors_of_an_export_and_of_the_library_can_be_compared(library_and_onnx, models, kind):
    library, runtime = library_and_onnx(models[kind])
    assert runtime.fingerprint == library.fingerprint
    assert runtime.max_tokens == library.max_tokens


def test_finding_the_closest_sentence_imports_no_torch(library_and_onnx, models):
    library, runtime = library_and_onnx(models["mean"])
    passage = (
        "A plan to repair the fence in winter. Soup of lentil and water. "
        "Keep mice out of the cabin."
    )
    [theirs] = sentence_scores("how do i keep mice out", [passage], library)
    [ours] = sentence_scores("how do i keep mice out", [passage], runtime)
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert runtime._model is None


def test_no_other_user_can_read_an_export(models):
    assert SentenceTransformerEmbedder(str(models["mean"])).export_onnx()
    for folder in [exports(), *exports().iterdir()]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_query_imports_neither_torch_nor_transformers(library_and_onnx, models):
    library_and_onnx(models["mean"])
    code = (
        "import sys; from pathlib import Path; "
        "from datasette_bear_search.embeddings import files, registry; "
        f"files.cache_folder = lambda: Path({str(model_files.cache_folder())!r}); "
        f"embedder = registry.trust({str(models['mean'])!r}); "
        "embedder.embed_query('roof'); embedder.pieces(['roof']); "
        "print([name for name in sys.modules if name in "
        "('datasette', 'torch', 'transformers', 'sentence_transformers')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


# When it stands aside


@pytest.fixture
def own_model(models, tmp_path) -> Path:
    """A model whose files a test may change."""
    return Path(shutil.copytree(models["mean"], tmp_path / "own"))


def kept() -> list[Path]:
    return sorted(exports().iterdir())


def test_a_model_whose_weights_changed_is_exported_again(library_and_onnx, own_model):
    library_and_onnx(own_model, "mean")
    before = kept()
    path = own_model / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    changed = SentenceTransformerEmbedder(str(own_model))
    changed.load()
    assert changed._onnx is None
    assert changed.needs_onnx_export()
    assert changed.export_onnx()
    assert len(kept()) == len(before) + 1


def test_a_model_is_exported_once(library_and_onnx, own_model):
    library, runtime = library_and_onnx(own_model, "mean")
    assert not library.needs_onnx_export()
    assert not runtime.needs_onnx_export()


@pytest.mark.parametrize("file", ["model.onnx", "about.json"])
def test_a_damaged_export_is_replaced(library_and_onnx, own_model, caplog, file):
    library, _ = library_and_onnx(own_model, "mean")
    [folder] = kept()
    (folder / file).write_bytes(b"damaged")
    embedder = SentenceTransformerEmbedder(str(own_model))
    vector = embedder.embed_query("roof")
    assert vector == library.embed_query("roof")
    assert "can't be used" in caplog.text
    assert embedder.needs_onnx_export()


def test_an_unsupported_model_is_not_exported_and_not_tried_again(models, caplog):
    caplog.set_level(logging.INFO)
    embedder = SentenceTransformerEmbedder(str(models["max"]))
    assert not embedder.export_onnx()
    assert "pooled by max" in caplog.text
    again = SentenceTransformerEmbedder(str(models["max"]))
    assert not again.needs_onnx_export()
    again.load()
    assert again._onnx is None


def test_an_export_for_which_there_was_no_space_is_tried_again(own_model):
    embedder = SentenceTransformerEmbedder(str(own_model))
    embedder.load()
    with full_disk(1000):
        assert not embedder.export_onnx()
    assert embedder.needs_onnx_export()
    assert embedder.export_onnx()


def test_an_export_whose_vectors_differ_is_not_kept(own_model, monkeypatch):
    monkeypatch.setattr(onnx_export, "MIN_COSINE", 1.1)
    assert not SentenceTransformerEmbedder(str(own_model)).export_onnx()


def test_an_export_serves_truncated_vectors_too(library_and_onnx, models):
    library, _ = library_and_onnx(models["mean"])
    truncated = trust(f"{models['mean']}@16")
    assert not truncated.needs_onnx_export()
    ours = unpack("<16f", truncated.embed_query("roof"))
    theirs = numpy.array(unpack("<32f", library.embed_query("roof"))[:16])
    assert ours == pytest.approx(theirs / numpy.linalg.norm(theirs), abs=1e-6)


def test_without_the_extra_nothing_is_kept_or_used(library_and_onnx, own_model, monkeypatch):
    library_and_onnx(own_model, "mean")
    monkeypatch.setattr(onnx, "is_installed", lambda: False)
    embedder = SentenceTransformerEmbedder(str(own_model))
    embedder.load()
    assert embedder._onnx is None
    assert not embedder.needs_onnx_export()


def test_an_export_has_no_copy_of_the_weights(library_and_onnx, own_model):
    library_and_onnx(own_model, "mean")
    [folder] = kept()
    assert {path.name for path in folder.iterdir()} == {"about.json", "model.onnx"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000


def test_another_environment_uses_the_same_export(library_and_onnx, models, own_model):
    library, _ = library_and_onnx(models["mean"])
    before = kept()
    elsewhere = SentenceTransformerEmbedder(str(own_model))
    assert elsewhere.loads_fast()
    assert not elsewhere.needs_onnx_export()
    elsewhere.load()
    vectors = [each.encode(["roof"], is_query=True) for each in (library, elsewhere)]
    assert cosines(*vectors).min() >= 0.9999
    assert elsewhere._model is None
    assert kept() == before


def test_weights_are_repacked_only_for_many_queries(library_and_onnx, own_model, monkeypatch):
    _, runtime = library_and_onnx(own_model, "mean")
    model = runtime._onnx
    reopen, reopened = model._open, []
    monkeypatch.setattr(
        model, "_open", lambda **options: reopened.append(options) or reopen(**options)
    )
    vectors = [runtime.encode(["roof"], is_query=True) for _ in range(onnx.REPACK_AFTER * 2)]
    assert reopened == [{"repack": True}]
    assert cosines(vectors[0], vectors[-1]).min() >= 0.999999


@pytest.mark.parametrize("type", ["float16", "bfloat16"])
def test_weights_of_half_precision_are_read_in_place(models, tmp_path, type):
    import torch
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(models["mean"], tmp_path / "half"))
    [path] = folder.rglob("model.safetensors")
    half = {name: each.to(getattr(torch, type)) for name, each in load_file(path).items()}
    save_file(half, path, metadata={"format": "pt"})
    config = path.with_name("config.json")
    config.write_text(json.dumps({**json.loads(config.read_text()), "dtype": type}))
    library = SentenceTransformerEmbedder(str(folder))
    assert library.export_onnx()
    runtime = SentenceTransformerEmbedder(str(folder))
    runtime.load()
    texts = [text for text in TEXTS if text.strip()]
    vectors = [each.encode(texts, is_query=True) for each in (library, runtime)]
    assert cosines(*vectors).min() >= 0.9999
    assert runtime._model is None
    theirs = library.piece_similarities(*library.pieces(["roof", "the garden fence"]))
    ours = runtime.piece_similarities(*runtime.pieces(["roof", "the garden fence"]))
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_a_model_behind_links_is_exported_too(models, tmp_path):
    links = Path(shutil.copytree(models["mean"], tmp_path / "links", copy_function=os.symlink))
    assert SentenceTransformerEmbedder(str(links)).export_onnx()
    assert SentenceTransformerEmbedder(str(links)).loads_fast()


# Many documents


def test_many_documents_are_left_to_the_library_where_it_is_faster(
    library_and_onnx, models, monkeypatch
):
    library, runtime = library_and_onnx(models["mean"])
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: True)
    runtime.prepare_for_batch(10)
    runtime.embed_documents(TEXTS)
    assert runtime._model is None
    runtime.prepare_for_batch(10_000)
    vectors = runtime.encode(TEXTS, is_query=False)
    assert runtime._model is not None
    assert cosines(vectors, library.encode(TEXTS, is_query=False)).min() > 0.999


# In use


def test_bear_index_exports_the_model_once(bear_index, write, models):
    write(BearNote("# Roof\nA plan to repair the roof"))
    model = ["--model", str(models["mean"])]
    assert "Exporting" in bear_index(*model).output
    assert len(kept()) == 1
    assert "Exporting" not in bear_index(*model).output


def test_a_server_never_imports_torch(bear_index, write, models, sidecar_path):
    write(BearNote("# Roof\nA plan to repair the roof"), BearNote("# Soup\nLentil soup"))
    bear_index("--model", str(models["mean"]))
    code = f"""
import asyncio, json, sys
from pathlib import Path
from datasette.app import Datasette
from datasette_bear_search.embeddings import files
files.cache_folder = lambda: Path({str(model_files.cache_folder())!r})

async def main():
    server = Datasette([{str(sidecar_path)!r}])
    await server.invoke_startup()
    heavy = []
    search = "/-/bear-search.json?q=roof&mode="
    for path in ("/", search + "keyword", search + "semantic"):
        answer = await server.client.get(path)
        heavy.append([answer.status_code, *({{"torch", "transformers"}} & set(sys.modules))])
    print(json.dumps([heavy, answer.json()["query"]["retrievers"]]))

asyncio.run(main())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(result.stdout) == [[[200], [200], [200]], ["semantic"]], result.stderr


# The real model


needs_the_bundled_model = pytest.mark.skipif(
    not find_spec(BUNDLED_PACKAGE), reason="the bundled model is not installed"
)


@needs_the_bundled_model
def test_the_bundled_model_agrees_on_texts_of_all_kinds(library_and_onnx):
    library, runtime = library_and_onnx(BUNDLED)
    assert runtime.fingerprint == "427339dd71cd033b"
    kinds = [*KINDS_OF_TEXT.values()]
    texts = [*TEXTS, *kinds, *(text * 60 for text in kinds[::4])]
    vectors = [embedder.encode(texts, is_query=False) for embedder in (library, runtime)]
    assert cosines(*vectors).min() >= 0.9999
    assert model_files.model_folder(BUNDLED) == model_files.bundled_folder()


@needs_the_bundled_model
def test_the_shipped_graph_is_made_of_the_pinned_model(tmp_path):
    make(tmp_path)
    import onnx as onnx_library

    folders = (onnx.SHIPPED, tmp_path)
    shipped, made = (json.loads((folder / "about.json").read_text()) for folder in folders)
    assert made.pop("middle") == pytest.approx(shipped.pop("middle"), abs=1e-6)
    assert made["content"] == shipped["content"]
    graphs = [
        onnx_library.load(folder / "model.onnx", load_external_data=False) for folder in folders
    ]
    # Another torch may write another graph, whose vectors were compared while it was made.
    if graphs[0].producer_version == graphs[1].producer_version:
        assert graphs[0] == graphs[1]
    assert sum(path.stat().st_size for path in onnx.SHIPPED.iterdir()) < 300_000


@needs_the_bundled_model
def test_the_bundled_model_needs_no_export(tmp_path):
    embedder = SentenceTransformerEmbedder(BUNDLED)
    assert embedder.loads_fast()
    assert not embedder.needs_onnx_export()
    embedder.embed_query("roof")
    assert not exports().exists()
