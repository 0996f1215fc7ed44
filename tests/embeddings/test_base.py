"""What all models share, and what sentence-transformers is asked for; nothing real is loaded.

Tests ``embeddings/registry.py``, ``embeddings/backends/sentence_transformers.py`` and
``hookspecs.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from struct import unpack
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from datasette import hookimpl
from datasette.plugins import pm

from datasette_bear_search.embeddings import base, loading, names, registry
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.base import (
    EMBEDDED_QUERY_CHARACTERS,
    ModelFacts,
    ModelUnavailable,
    first_line,
)
from datasette_bear_search.embeddings.names import BUNDLED, HUB_DEFAULT
from datasette_bear_search.embeddings.registry import (
    default_model,
    get_embedder,
    is_here,
    register,
    trust,
)
from tests.support.small_models import write_transformer
from tests.support.threads import running
from tests.support.tiny_embedder import TinyEmbedder


class CountingEmbedder(TinyEmbedder):
    """Keeps what it was asked to do."""

    def __init__(self, name: str = "test/counting") -> None:
        super().__init__(name)
        self.loads = 0
        self.encoded: list[str] = []

    def open_model(self) -> ModelFacts:
        self.loads += 1
        return super().open_model()

    def encode(self, texts: list[str], *, is_query: bool) -> list[list[float]]:
        self.encoded += texts
        return super().encode(texts, is_query=is_query)


class BrokenEmbedder(CountingEmbedder):
    """Cannot be loaded."""

    def __init__(self, error: Exception) -> None:
        super().__init__("test/broken")
        self.error = error

    def open_model(self) -> ModelFacts:
        self.loads += 1
        raise self.error


class AnsweringEmbedder(TinyEmbedder):
    """Answers with the vectors that it was given."""

    def __init__(self, *vectors: list[float]) -> None:
        super().__init__("test/answering")
        self.vectors = list(vectors)

    def encode(self, texts: list[str], *, is_query: bool) -> list[list[float]]:
        return self.vectors


def numbers(vector: bytes | None) -> list[float]:
    assert vector is not None
    return list(unpack(f"<{len(vector) // 4}f", vector))


def similarity(one: bytes | None, other: bytes | None) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other)))


# Which model


@pytest.mark.parametrize(("installed", "model"), [(True, BUNDLED), (False, HUB_DEFAULT)])
def test_the_default_model_is_decided_by_what_is_installed(monkeypatch, installed, model):
    monkeypatch.setattr(registry, "find_spec", lambda name: object() if installed else None)
    assert default_model() == model


def test_a_name_has_one_embedder_in_the_process():
    register("test/one", lambda: CountingEmbedder("test/one"))
    assert get_embedder("test/one") is get_embedder("test/one")


def test_registering_a_name_again_replaces_its_embedder():
    register("test/again", CountingEmbedder)
    before = get_embedder("test/again")
    register("test/again", CountingEmbedder)
    assert get_embedder("test/again") is not before


def test_a_name_that_nobody_registered_is_one_of_sentence_transformers():
    assert isinstance(trust("someone/some-model"), SentenceTransformerEmbedder)


class Plugin:
    """A plugin of somebody else's, with an embedding model that works and one that doesn't."""

    __name__ = "Plugin"

    names: ClassVar[dict[str, Callable]] = {
        "counting": CountingEmbedder,
        "broken": lambda: {}["no such key"],
    }

    @hookimpl
    def bear_search_register_embedders(self):
        return self.names


@pytest.fixture
def plugin():
    pm.register(Plugin(), name="of-somebody-else")
    yield
    pm.unregister(name="of-somebody-else")


def test_another_plugins_embedder_is_used_by_its_name(plugin):
    embedder = get_embedder("counting")
    assert isinstance(embedder, CountingEmbedder)
    assert get_embedder("counting") is embedder
    assert embedder.name == "counting"
    assert len(get_embedder("counting@16").embed_query("apple")) == 16 * 4
    assert is_here("counting")


def test_another_plugins_embedder_that_cant_be_made_is_unavailable(plugin):
    with pytest.raises(ModelUnavailable, match=r"The model broken can't be loaded .*no such key"):
        get_embedder("broken").load()


def test_a_model_on_this_machine_is_never_a_plugins(plugin, tmp_path, monkeypatch):
    folder = str(tmp_path / "folder")
    monkeypatch.setattr(Plugin, "names", {folder: CountingEmbedder})
    assert isinstance(get_embedder(folder), CountingEmbedder)
    (tmp_path / "folder").mkdir()
    names.trust(folder)
    assert registry.is_here(folder)
    registry._embedders.pop(folder)
    assert isinstance(get_embedder(folder), SentenceTransformerEmbedder)


def test_short_and_full_name_are_the_same_embedder():
    assert get_embedder("all-MiniLM-L6-v2") is get_embedder(BUNDLED)


def test_a_folder_is_known_by_its_full_path(tmp_path, monkeypatch):
    (tmp_path / "my-model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert trust(names.given("./my-model")).name == str((tmp_path / "my-model").resolve())


def test_importing_the_module_imports_nothing_heavy():
    heavy = ["torch", "transformers", "sentence_transformers", "huggingface_hub", "numpy"]
    # Datasette itself imports numpy where there is one: so here there is none of them.
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({heavy})); "
        "from datasette_bear_search.embeddings import names, registry, rerankers; "
        "registry.get_embedder(names.BUNDLED); rerankers.get_reranker('cross-encoder').ready"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


# Loading


def test_two_threads_load_the_model_once():
    class Slow(CountingEmbedder):
        def open_model(self):
            both_there.wait(timeout=5)
            return super().open_model()

    both_there = threading.Barrier(2)
    embedder = Slow()
    with running(*[embedder.load] * 5):
        both_there.wait(timeout=5)
    assert embedder.loads == 1


def test_asking_whether_a_model_is_ready_does_not_load_it():
    embedder = CountingEmbedder()
    assert (embedder.ready, embedder.failure, embedder.loads) == (False, None, 0)
    embedder.load()
    assert (embedder.ready, embedder.failure, embedder.loads) == (True, None, 1)


@pytest.mark.parametrize(
    "first_use",
    [
        lambda embedder: embedder.dimension,
        lambda embedder: embedder.max_tokens,
        lambda embedder: embedder.fingerprint,
        lambda embedder: embedder.embed_query("apple"),
        lambda embedder: embedder.embed_documents(["apple"]),
    ],
    ids=["dimension", "max_tokens", "fingerprint", "embed_query", "embed_documents"],
)
def test_the_first_use_loads_the_model(first_use):
    embedder = CountingEmbedder()
    first_use(embedder)
    assert embedder.ready


def test_a_failure_is_remembered_so_that_the_next_search_does_not_wait_for_it():
    embedder = BrokenEmbedder(ModelUnavailable("The cable is out. Put it in."))
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="The cable is out"):
            embedder.embed_query("apple")
    assert (embedder.loads, embedder.failure) == (1, "The cable is out. Put it in.")


def test_a_failed_model_is_tried_again_after_a_while(monkeypatch):
    monkeypatch.setattr(base, "RETRY_AFTER", 0.0)
    embedder = BrokenEmbedder(ModelUnavailable("The cable is out."))
    with pytest.raises(ModelUnavailable):
        embedder.load()
    monkeypatch.setattr(BrokenEmbedder, "open_model", CountingEmbedder.open_model)
    embedder.load()
    assert (embedder.ready, embedder.failure) == (True, None)


def test_an_error_of_a_library_becomes_one_line_with_advice():
    embedder = BrokenEmbedder(RuntimeError("size mismatch.\n  File x, line 3"))
    with pytest.raises(ModelUnavailable) as caught:
        embedder.load()
    assert str(caught.value) == (
        "The model test/broken can't be loaded (size mismatch). "
        "Try again, or choose another one with --model."
    )


def test_a_long_error_of_a_library_ends_after_a_word():
    words = first_line(RuntimeError("The checkpoint that you are trying to load is new. " * 9))
    assert words.endswith("trying to load is…")
    assert first_line(RuntimeError("x" * 300)) == f"{'x' * 199}…"


def test_without_sentence_transformers_only_other_models_are_missing(monkeypatch, tmp_path):
    other = write_transformer(tmp_path / "other")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    SentenceTransformerEmbedder(BUNDLED).load()
    with pytest.raises(ModelUnavailable, match="pip install sentence-transformers"):
        SentenceTransformerEmbedder(str(other)).load()


def test_without_its_runtime_the_bundled_model_says_what_to_install(monkeypatch):
    monkeypatch.setattr(
        "datasette_bear_search.embeddings.backends.onnx.is_installed", lambda: False
    )
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelUnavailable, match="pip install onnxruntime"):
        SentenceTransformerEmbedder(BUNDLED).load()


# Warm-up


class WaitingEmbedder(CountingEmbedder):
    """Takes until ``go`` to load."""

    def __init__(self) -> None:
        super().__init__("test/waiting")
        self.go = threading.Event()

    def open_model(self) -> ModelFacts:
        assert self.go.wait(timeout=5)
        return super().open_model()

    def warm_up_threads(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name.endswith(self.name)]


def test_warming_up_loads_in_one_daemon_thread_however_often_it_is_asked_for():
    embedder = WaitingEmbedder()
    for _ in range(3):
        embedder.warm_up()
    [thread] = embedder.warm_up_threads()
    assert thread.daemon
    assert not embedder.ready
    embedder.go.set()
    thread.join(timeout=5)
    assert (embedder.ready, embedder.loads) == (True, 1)


def test_a_process_that_ends_waits_for_a_model_that_loads():
    code = """
import time
from datasette_bear_search.embeddings.base import Model

class Slow(Model):
    def prepare(self):
        time.sleep(0.3)
        print("loaded", flush=True)

Slow("slow").warm_up()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "loaded\n"


def test_a_model_that_is_ready_is_not_warmed_up():
    embedder = WaitingEmbedder()
    embedder.go.set()
    embedder.load()
    embedder.warm_up()
    assert embedder.warm_up_threads() == []


def test_a_warm_up_that_fails_prints_nothing_and_leaves_the_reason(capfd):
    embedder = BrokenEmbedder(ModelUnavailable("The cable is out."))
    embedder.warm_up()
    embedder._warm_up_thread.join(timeout=5)
    assert embedder.failure == "The cable is out."
    assert capfd.readouterr() == ("", "")


# Vectors


def test_vectors_are_little_endian_float32_of_unit_length():
    embedder = AnsweringEmbedder([3.0, 0.0, -4.0])
    unit = pytest.approx([0.6, 0.0, -0.8, 0, 0, 0, 0, 0])  # the signs fill a byte
    assert numbers(embedder.embed_query("apple")) == unit
    assert [numbers(vector) for vector in embedder.embed_documents(["apple"])] == [unit]
    assert embedder.dimension == 8


UNUSABLE = [
    [0.0, 0.0],
    [float("nan"), 1.0],
    [float("inf"), 1.0],
    [float("-inf"), float("inf")],
]


@pytest.mark.parametrize("unusable", UNUSABLE)
def test_a_document_whose_vector_has_no_direction_gets_none(unusable):
    before, refused, after = AnsweringEmbedder([1.0, 0.0], unusable, [0.0, 2.0]).embed_documents(
        ["one", "two", "three"]
    )
    assert (numbers(before)[:2], refused, numbers(after)[:2]) == ([1.0, 0.0], None, [0.0, 1.0])


@pytest.mark.parametrize("unusable", UNUSABLE)
def test_a_query_whose_vector_has_no_direction_gives_a_clear_error(unusable):
    with pytest.raises(ModelUnavailable, match="can't embed this query"):
        AnsweringEmbedder(unusable).embed_query("apple")


def test_no_documents_need_no_model():
    embedder = CountingEmbedder()
    assert embedder.embed_documents([]) == []
    assert not embedder.ready


def test_a_repeated_query_comes_from_the_cache():
    embedder = CountingEmbedder()
    first = embedder.embed_query("apple tree")
    assert embedder.embed_query("apple tree") == first
    assert embedder.encoded.count("apple tree") == 1


def test_a_failed_query_is_not_kept_in_the_cache():
    embedder = AnsweringEmbedder([0.0])
    with pytest.raises(ModelUnavailable):
        embedder.embed_query("apple")
    embedder.vectors = [[1.0]]
    assert numbers(embedder.embed_query("apple"))[0] == 1.0


def test_only_the_beginning_of_a_pasted_book_is_embedded():
    embedder = CountingEmbedder()
    embedder.embed_query("word " * 100_000)
    assert len(embedder.encoded[-1]) == EMBEDDED_QUERY_CHARACTERS


def test_half_a_surrogate_pair_is_embedded_as_a_question_mark():
    embedder = CountingEmbedder()
    embedder.embed_documents(["apple \ud83c"])
    embedder.embed_query("\udf4e apple")
    assert embedder.encoded[-2:] == ["apple ?", "? apple"]


def test_a_model_that_fails_while_embedding_gives_a_clear_error():
    class OutOfMemory(TinyEmbedder):
        def encode(self, texts, *, is_query):
            if self.ready:
                raise RuntimeError("out of memory")
            return super().encode(texts, is_query=is_query)

    with pytest.raises(ModelUnavailable, match=r"The model test/tiny failed \(out of memory\)\."):
        OutOfMemory("test/tiny").embed_documents(["apple"])


def test_threads_that_embed_at_once_take_turns():
    class Single(TinyEmbedder):
        def encode(self, texts, *, is_query):
            assert free.acquire(blocking=False), "two threads in the model"
            try:
                return super().encode(texts, is_query=is_query)
            finally:
                free.release()

    free = threading.Lock()
    embedder = Single("test/single")
    embedder.load()
    results: list[bytes | None] = []

    def work(number: int) -> None:
        for text in (f"{number} {turn}" for turn in range(50)):
            results.append(embedder.embed_query(text))
            results.extend(embedder.embed_documents([text]))

    with running(*(partial(work, number) for number in range(4))):
        pass
    assert len(results) == 400


# Fingerprints


def fingerprint(
    name: str = "test/model", max_tokens: int = 256, dimension: int = 2, **settings: Any
) -> str:
    class Configured(AnsweringEmbedder):
        def open_model(self):
            return ModelFacts(max_tokens, settings)

    embedder = Configured([1.0] * dimension)
    embedder.name = name
    return embedder.fingerprint


def test_a_fingerprint_is_the_same_in_every_process():
    assert fingerprint(prompts={"query": "q: "}, weights="53aa") == "2cd1692b4c943c0b"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "test/other"},
        {"max_tokens": 512},
        {"dimension": 3},
        {"prompts": {"query": "search: "}},
        {"weights": "0000"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_vectors_changes_the_fingerprint(change):
    assert fingerprint(**change) != fingerprint()


# What sentence-transformers is asked for


class FakeSentenceTransformer:
    """As much of the library as the embedder uses."""

    max_seq_length: float | None = 512
    default_prompt_name = None
    prompts: dict[str, str] = {"query": "", "document": ""}  # noqa: RUF012

    def modules(self):
        return ()

    def __init__(self, path: str, **options: Any) -> None:
        self.path, self.options = path, options
        self.calls: list[tuple[str, str]] = []

    def __iter__(self):
        return iter([SimpleNamespace(pooling_mode="mean"), SimpleNamespace()])

    def _encode(self, method: str, texts: list[str], prompt: str) -> list[list[float]]:
        self.calls.append((method, prompt))
        return [[1.0, 0.0] for _ in texts]

    def encode_query(self, texts, *, prompt, **options):
        return self._encode("encode_query", texts, prompt)

    def encode_document(self, texts, *, prompt, **options):
        return self._encode("encode_document", texts, prompt)


@pytest.fixture
def load_fake(monkeypatch, tmp_path):
    """Load a folder's model with another library: ``load_fake(max_seq_length=512)``."""
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(loading, "silent_libraries", nullcontext)

    def load(**attributes: Any):
        library = type("Fake", (FakeSentenceTransformer,), attributes)
        module = SimpleNamespace(SentenceTransformer=library)
        monkeypatch.setitem(sys.modules, "sentence_transformers", module)
        embedder = SentenceTransformerEmbedder(str(tmp_path))
        embedder.load()
        return embedder

    return load


@pytest.mark.parametrize(
    ("prompts", "query_call", "document_call"),
    [
        ({}, ("encode_query", ""), ("encode_document", "")),
        (
            {"query": "query: ", "document": "", "passage": "passage: "},
            ("encode_query", "query: "),
            ("encode_document", "passage: "),
        ),
        (
            {"query": "query: ", "document": "text: "},
            ("encode_query", "query: "),
            ("encode_document", "text: "),
        ),
    ],
)
def test_queries_and_documents_get_the_prompts_of_the_model(
    load_fake, prompts, query_call, document_call
):
    embedder = load_fake(prompts=prompts)
    embedder.embed_query("apple")
    embedder.embed_documents(["apple"])
    assert embedder._model.calls[-2:] == [query_call, document_call]


@pytest.mark.parametrize(
    ("limit", "max_tokens"), [(512, 512), (None, 8192), (float("inf"), 8192), (10**30, 8192)]
)
def test_a_model_without_a_limit_reads_a_great_deal(load_fake, limit, max_tokens):
    assert load_fake(max_seq_length=limit).max_tokens == max_tokens


def test_a_folder_is_loaded_without_the_network_and_without_foreign_code(load_fake, tmp_path):
    model = load_fake()._model
    assert (model.path, model.options) == (
        str(tmp_path.resolve()),
        {
            "local_files_only": True,
            "trust_remote_code": False,
            "model_kwargs": {"weights_only": True, "use_safetensors": True},
        },
    )


def test_other_weights_in_the_same_folder_have_another_fingerprint(load_fake, tmp_path):
    before = load_fake().fingerprint
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert load_fake().fingerprint != before


def test_a_copied_folder_has_the_same_fingerprint(load_fake, tmp_path):
    embedder = load_fake()
    copy = SentenceTransformerEmbedder(str(shutil.copytree(tmp_path, tmp_path / "moved")))
    assert copy.fingerprint == embedder.fingerprint


def test_the_same_weights_in_a_second_format_do_not_change_the_fingerprint(load_fake, tmp_path):
    before = load_fake().fingerprint
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    assert load_fake().fingerprint == before


def test_a_version_of_the_library_does_not_change_the_fingerprint(load_fake):
    old = load_fake(prompts={})
    new = load_fake(prompts={"query": "", "document": ""})
    assert old.fingerprint == new.fingerprint


# The tests' own model


def test_the_tests_model_puts_related_texts_near_each_other():
    embedder = TinyEmbedder("test/tiny")
    query = embedder.embed_query("repairing the garden fence")
    near, far = embedder.embed_documents(
        ["Repair of the fence in the garden", "Lentil soup recipe"]
    )
    assert similarity(query, near) > 0.5 > similarity(query, far)
