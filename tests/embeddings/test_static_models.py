"""Static models, which only look words up, are indexed and searched like any other."""

from __future__ import annotations

import json
from contextlib import closing
from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.index.file import database
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.planning.planner import plan
from tests.support.bear_database import BearNote
from tests.support.small_models import write_static_model

pytestmark = pytest.mark.skipif(
    not find_spec("sentence_transformers"), reason="needs sentence-transformers"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_static_model(tmp_path_factory.mktemp("models") / "static")


def test_notes_are_indexed_and_found_with_a_static_model(bear_index, write, model, sidecar_path):
    write(BearNote("# Fence\nRepair the garden fence"), BearNote("# Bread\nBread in the oven"))
    output = bear_index("--model", str(model)).output
    assert "2 passages embedded" in output
    assert "Exporting" not in output  # none can be made
    result = CliRunner().invoke(
        cli,
        [
            "bear-search", "garden fence", "--sidecar", str(sidecar_path),
            "--mode", "semantic", "--json",
        ],
    )  # fmt: skip
    [first, *_] = json.loads(result.output)["rows"]
    assert (first["title"], first["semantic_rank"]) == ("Fence", 1)


def test_vectors_of_a_static_model_can_be_truncated(bear_index, write, model, sidecar_path):
    write(BearNote("# Fence\nRepair the garden fence"))
    assert "1 passage embedded" in bear_index("--model", f"{model}@24").output


@pytest.mark.parametrize("has_context", [False, True])
def test_meaning_weighs_less_without_context(
    bear_index, write, model, sidecar_path, monkeypatch, has_context
):
    write(BearNote("# Fence\nRepair the garden fence"))
    if has_context:
        monkeypatch.setattr(SentenceTransformerEmbedder, "is_static", False)
    bear_index("--model", str(model))
    with closing(database.connect(sidecar_path)) as connection:
        planned = plan(connection, parse("who repairs the fence of our garden"))
    assert planned.balance == (0.7 if has_context else 0.25)
