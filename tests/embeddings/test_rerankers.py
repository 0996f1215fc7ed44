"""The built-in reranker, beside the other tests that import torch, which takes seconds."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.embeddings import loading, rerankers
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.registry import trust
from datasette_bear_search.embeddings.rerankers import get_reranker
from datasette_bear_search.index.config import (
    CONFIG_VARIABLE,
    ConfigurationError,
    read_configuration,
)
from tests.support.bear_database import BearNote
from tests.support.client import answer
from tests.support.small_models import write_transformer


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(rerankers, "_rerankers", {})


@pytest.fixture(scope="module")
def tiny_cross_encoder(tmp_path_factory) -> str:
    """A cross-encoder of two layers and random weights: real files for the real library."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("cross-encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "note", "tap", *map(str, range(30))]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def test_a_cross_encoder_in_a_folder_gives_what_the_library_gives(tiny_cross_encoder):
    import sentence_transformers

    passages = ["Note 1", "Note 2 tap", ""]
    model = sentence_transformers.CrossEncoder(tiny_cross_encoder)
    expected = model.predict([("tap", passage) for passage in passages])
    found = get_reranker(f"cross-encoder:{tiny_cross_encoder}").score("tap", passages)
    assert found == pytest.approx(expected.tolist(), abs=1e-5)
    assert len(set(found)) == 3


def test_a_model_of_another_kind_is_refused(tiny_cross_encoder, tmp_path):
    """The library would add what it lacks, with random numbers: other results in each process."""
    embedder = write_transformer(tmp_path / "embedder")
    with pytest.raises(ModelUnavailable, match="isn't a reranker"):
        get_reranker(f"cross-encoder:{embedder}").load()
    (embedder / "modules.json").unlink()  # as some are published
    with pytest.raises(ModelUnavailable, match="isn't a reranker"):
        loading.load("CrossEncoder", embedder)
    assert loading.load("SentenceTransformer", embedder)
    with pytest.raises(ModelUnavailable, match="isn't an embedding model"):
        trust(tiny_cross_encoder).load()


@pytest.mark.asyncio
async def test_the_setting_says_which_cross_encoder_it_is(index_notes, tiny_cross_encoder):
    path = index_notes([BearNote("# Roof\n\nTiles."), BearNote("# Plan\n\nA roof.")])
    settings = {"plugins": {"datasette-bear-search": {"cross_encoder": tiny_cross_encoder}}}
    served = Datasette([str(path)], metadata=settings)
    rows = (await answer(served, "q=roof&rerank=cross-encoder"))["rows"]
    assert any(row["rerank_score"] is not None for row in rows)


def test_the_configuration_file_says_which_cross_encoder_the_terminal_uses(
    index_notes, tiny_cross_encoder, tmp_path, monkeypatch
):
    path = index_notes([BearNote("# Roof\n\nTiles."), BearNote("# Plan\n\nA roof.")])
    configuration = tmp_path / "bear-search.yaml"
    configuration.write_text(f"cross_encoder: {tiny_cross_encoder}\n")
    monkeypatch.setenv(CONFIG_VARIABLE, str(configuration))
    arguments = ["bear-search", "roof", "--rerank", "cross-encoder", "--sidecar", str(path)]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    rows = json.loads(result.stdout)["rows"]
    assert any(row["rerank_score"] is not None for row in rows)


def test_a_configured_cross_encoder_is_a_name(tmp_path):
    configuration = tmp_path / "bear-search.yaml"
    configuration.write_text("cross_encoder: [a, b]\n")
    with pytest.raises(ConfigurationError, match="cross_encoder has to be the name of a model"):
        read_configuration(configuration)
