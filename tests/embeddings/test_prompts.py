"""Prompts: what models were trained to see before queries and passages, whatever runs them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from datasette_bear_search import Library
from datasette_bear_search.cli.doctor import examine
from datasette_bear_search.cli.serve import _task
from datasette_bear_search.embeddings import names, prompts, registry
from datasette_bear_search.embeddings.base import ModelChoice
from datasette_bear_search.index.config import CONFIG_VARIABLE
from datasette_bear_search.index.restricted import file_for
from datasette_bear_search.index.run.indexer import update_restricted
from datasette_bear_search.sources.base import SourceConfig
from tests.support.bear_database import BearNote
from tests.support.index_files import meta
from tests.support.small_models import write_static_model, write_transformer
from tests.support.tiny_embedder import TINY, TinyEmbedder

INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query"
SENTENCE = "Represent this sentence for searching relevant passages: "
E5 = ("query: ", "passage: ")
NOMIC = ("search_query: ", "search_document: ")
CHINESE = "为这个句子生成表示以用于检索相关文章："
GEMMA = ("task: search result | query: ", "title: none | text: ")
NONE = ("", "")

FAMILIES = {
    E5: """
        intfloat/e5-small intfloat/e5-small-v2 intfloat/e5-base-unsupervised
        intfloat/multilingual-e5-small multilingual_e5_large e5_small E5-Large-V2.Q4_K_M.gguf
        jeffh/intfloat-multilingual-e5-large:f16 text-embedding-multilingual-e5-base
        Xenova/multilingual-e5-small /models/e5 /models/e5-bare/ C:\\models\\e5-base me5-small
        /home/me/.cache/huggingface/hub/models--intfloat--multilingual-e5-small/snapshots/61e4
        mixedbread-ai/deepset-mxbai-embed-de-large-v1 nlpai-lab/KoE5 dwzhu/e5-base-4k
        GreenNode/GreenNode-Embedding-E5-Large-VN-V1""",
    (f"{INSTRUCT}\nQuery: ", ""): """
        intfloat/multilingual-e5-large-instruct multilingual_e5_large_instruct:q8_0
        intfloat/e5-mistral-7b-instruct hellord/e5-mistral-7b-instruct:Q4_0
        Alibaba-NLP/gte-Qwen2-1.5B-instruct
        gte-qwen1.5-7b-instruct Linq-AI-Research/Linq-Embed-Mistral
        rjmalagon/gte-qwen2-1.5b-instruct-embed-f16 Salesforce/SFR-Embedding-Mistral
        Salesforce/SFR-Embedding-2_R McGill-NLP/AfriE5-Large-instruct""",
    (f"{INSTRUCT}\nQuery:", ""): """
        Qwen/Qwen3-Embedding-0.6B qwen3-embedding:0.6b
        qwen3-embedding dengcao/Qwen3-Embedding-8B:Q5_K_M
        Qwen3_Embedding_4B-Q8_0.gguf""",
    (f"{INSTRUCT}.\nQuery: ", ""): "NovaSearch/stella_en_400M_v5 dunzhang/stella_en_1.5B_v5",
    (f"<instruct>{INSTRUCT[10:]}.\n<query>", ""): "BAAI/bge-multilingual-gemma2",
    (SENTENCE, ""): """
        snowflake-arctic-embed snowflake-arctic-embed:335m snowflake-arctic-embed:137m-m-long-fp16
        Snowflake/snowflake-arctic-embed-m-v1.5 Snowflake/snowflake-arctic-embed-xs
        BAAI/bge-small-en-v1.5 BAAI/bge-base-en bge-large bge-large:335m-en-v1.5-fp16 bge_large_en
        hf.co/CompendiumLabs/bge-large-en-v1.5-gguf:Q4_K_M qdrant/bge-small-en-v1.5-onnx-q
        mxbai-embed-large mxbai-embed-large:335m-v1-fp16 mixedbread-ai/mxbai-embed-xsmall-v1
        WhereIsAI/UAE-Large-V1""",
    ("query: ", ""): """
        snowflake-arctic-embed2 snowflake-arctic-embed2:568m-l-fp16
        Snowflake/snowflake-arctic-embed-m-v2.0 Snowflake/snowflake-arctic-embed-l-v2.0
        dragonkue/snowflake-arctic-embed-l-v2.0-ko""",
    (
        CHINESE,
        "",
    ): "BAAI/bge-small-zh-v1.5 quentinz/bge-large-zh-v1.5:f16 BAAI/bge-base-zh bge-large:zh",
    NOMIC: """
        nomic-embed-text nomic-embed-text:137m-v1.5-fp16 nomic-ai/nomic-embed-text-v2-moe
        text-embedding-nomic-embed-text-v1.5 nomic-embed-text-v1.5.Q8_0.gguf
        nomic-ai/modernbert-embed-base lightonai/modernbert-embed-large""",
    ("Represent this query for searching relevant code: ", ""): "nomic-ai/nomic-embed-code",
    GEMMA: "embeddinggemma EmbeddingGemma:300m google/embeddinggemma-300m-qat-q8_0-unquantized",
    (
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ): "jinaai/jina-embeddings-v3 jina_embeddings_v3",
    ("Query: ", "Passage: "): "jinaai/jina-embeddings-v4 jinaai/jina-embeddings-v4-vllm-retrieval",
    ("Query: ", "Document: "): "jinaai/jina-embeddings-v5-text-small",
    ("検索クエリ: ", "検索文書: "): "cl-nagoya/ruri-v3-310m kun432/cl-nagoya-ruri-v3-70m",
    ("クエリ: ", "文章: "): "cl-nagoya/ruri-large cl-nagoya/ruri-small-v2",
    NONE: """
        BAAI/bge-m3 bge-m3:567m text-embedding-bge-m3 deepvk/USER-bge-m3 BAAI/bge-reranker-base
        sentence-transformers/all-MiniLM-L6-v2 all-minilm:33m
        sentence-transformers/all-mpnet-base-v2
        paraphrase-multilingual:278m multi-qa-mpnet-base-dot-v1 sentence-transformers/LaBSE
        granite-embedding:278m ibm-granite/granite-embedding-97m-multilingual-r2
        thenlper/gte-small Alibaba-NLP/gte-modernbert-base Alibaba-NLP/gte-multilingual-base
        jinaai/jina-embeddings-v2-base-de unclemusclez/jina-embeddings-v2-base-code
        minishlab/potion-base-8M sentence-transformers/static-retrieval-mrl-en-v1 m2v_bge_small
        text-embedding-3-small text-embedding-ada-002 voyage-3.5 avsolatorio/GIST-small-Embedding-v0
        royokong/e5-v nomic-ai/nomic-embed-vision-v1.5 Haon-Chen/e5-omni-3B
        intfloat/mmE5-mllama-11b-instruct
        node5 love5-small mixe5d-base e500 gee5small the5th-base subge-large bgeneral-small bgenius
        unmxbai-embedded arctic-embedded gemma embedding instruct user-base 名前
        intfloat/my-notes /models/e5/mine /bge-large/mine""",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, pair) for pair, listed in FAMILIES.items() for name in listed.split()],
)
def test_a_models_family_is_known_by_its_name(name, expected):
    assert prompts.for_names(name) == expected


# What a model's own files say


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    return write_transformer(tmp_path_factory.mktemp("models") / "mine")


def loaded(folder: Path, model: str | None = None):
    embedder = registry.trust(model or str(folder))
    embedder.load()
    return embedder


@pytest.fixture
def named(bare, tmp_path):
    """Copy the model to a folder of this name, with a card and settings."""

    def copy(name: str = "mine", card: str = "", config: str = "") -> Path:
        folder = Path(shutil.copytree(bare, tmp_path / name))
        (folder / "README.md").write_text(card)
        if config:
            settings = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**settings, "_name_or_path": config}))
        return folder

    return copy


def test_a_folder_whose_name_says_it_gets_its_familys_prompts(named):
    assert loaded(named("multilingual_e5_small")).prompts == E5


@pytest.mark.parametrize(
    ("card", "config", "expected"),
    [
        ("", "", NONE),
        ("# Notes\nThis isn't e5.", "", NONE),
        ("---\nmodel-index:\n- name: multilingual-e5-small\n  results: []\n---\n# X", "", E5),
        ("---\nlicense: mit\n---\n\n## Multilingual-E5-small\n", "", E5),
        ('<h1 align="center">Snowflake\'s Arctic-embed-m</h1>', "intfloat/e5-base", (SENTENCE, "")),
        ("# SentenceTransformer based on intfloat/multilingual-e5-base", "", E5),
        ("", "nomic-ai/nomic-embed-text-v1", NOMIC),
        ("", "/home/me/out/", NONE),
        ("---\nbase_model: intfloat/e5-base\n---\n# Mine", "", E5),
        ("---\nbase_model:\n- BAAI/bge-large-en\n---\n# Mine", "", (SENTENCE, "")),
        ("---\r\nbase_model: intfloat/e5-base\r\n---\r\n# Mine", "", E5),
        ("---\nbase_model: {a: [\n---\n# Mine", "", NONE),
        ("---\nbase_model: BAAI/bge-small-en-v1.5\n---\n# GIST small", "", NONE),
    ],
)
def test_a_folder_whose_name_says_nothing_is_known_by_its_files(named, card, config, expected):
    assert loaded(named("mine", card, config)).prompts == expected


def test_a_static_model_made_from_one_with_prompts_gets_none(tmp_path):
    folder = write_static_model(tmp_path / "e5-static")
    assert loaded(folder).prompts == NONE


def test_prompts_of_the_model_itself_win(tmp_path):
    folder = write_transformer(tmp_path / "e5", prompts={"query": "ask: "})
    assert loaded(folder).prompts == ("ask: ", "")


def test_an_export_gets_the_prompts_of_the_library(named):
    folder = named("e5-small")
    library = loaded(folder)
    assert library.export_onnx()
    runtime = type(library)(str(folder))
    runtime.load()
    assert runtime._onnx is not None
    assert (runtime.prompts, runtime.fingerprint) == (E5, library.fingerprint)
    assert runtime.embed_query("roof") != runtime.embed_documents(["roof"])[0]
    assert loaded(folder, f"{folder}@query=@passage=").prompts == NONE


# What a person chooses


class RecordingEmbedder(TinyEmbedder):
    """A model of nobody's family that keeps what it is given."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.seen: list[str] = []

    def encode(self, texts, *, is_query):
        self.seen += texts
        return super().encode(texts, is_query=is_query)


class TrainedEmbedder(RecordingEmbedder):
    def default_prompts(self):
        return prompts.Prompts(*E5)


@pytest.fixture(autouse=True)
def models():
    registry.register("test/own", lambda: RecordingEmbedder("test/own"))
    registry.register("test/trained", lambda: TrainedEmbedder("test/trained"))


@pytest.fixture
def notes(write):
    write(BearNote("# Fence\nRepairing the garden fence"), BearNote("# Soup\nLentil soup recipe"))


@pytest.mark.parametrize(
    "choice",
    [
        ModelChoice(),
        ModelChoice(256),
        ModelChoice(None, "find: ", None),
        ModelChoice(16, "", "a@b/c?&=% +\n'é🦷 "),
        ModelChoice(None, None, ""),
    ],
)
@pytest.mark.parametrize("name", ["test/own", "openai:m@http://127.0.0.1:80/v1", "/a/model@2x"])
def test_a_choice_is_read_as_it_was_written(name, choice):
    assert names.split_name(f"{name}{choice}") == (name, choice)
    assert f"{name}{choice}".isprintable()


def test_chosen_prompts_are_put_before_what_any_model_reads():
    embedder = registry.get_embedder(registry.with_choice("test/own", query="ask: ", passage="p: "))
    embedder.embed_query("roof")
    embedder.embed_documents(["leaks"])
    assert embedder.seen[1:] == ["ask: roof", "p: leaks"]


def test_chosen_prompts_win_and_an_empty_one_means_none():
    assert registry.with_choice("test/trained", query="") == "test/trained@query="
    embedder = loaded(Path(), registry.with_choice("test/trained", query=""))
    assert embedder.prompts == ("", "passage: ")


def test_other_prompts_have_another_fingerprint():
    chosen = [{}, {"query": ""}, {"query": "ask: "}, {"passage": "ask: "}]
    models = [loaded(Path(), registry.with_choice("test/trained", **each)) for each in chosen]
    assert len({each.fingerprint for each in models}) == 4
    assert [each.dimension for each in models] == [64] * 4


def test_dimensions_and_prompts_are_chosen_one_after_the_other():
    name = registry.with_choice(registry.with_choice("test/own@32", query="ask: "), dimensions=16)
    assert name == "test/own@16@query=ask:%20"
    assert registry.with_choice(name, passage="p") == f"{name}@passage=p"


def test_trust_is_asked_for_the_model_whatever_its_prompts():
    assert not registry.is_trusted("ollama:other@query=x")
    registry.trust("ollama:other")
    assert registry.is_trusted("ollama:other@8@query=x")


# The command


def test_bear_index_keeps_the_prompts_and_searches_with_them(bear_index, notes, sidecar_path):
    model = "test/own@query=ask:%20@passage=note:%20"
    bear_index("--model", model)
    stored = meta(sidecar_path)
    assert stored["model"] == model
    embedder = registry.get_embedder(stored["model"])
    assert "note: Fence\nRepairing the garden fence" in embedder.seen
    assert [text for text in embedder.seen if text.startswith("ask: ")]  # to measure the model
    embedder.seen.clear()
    assert Library(sidecar_path).search("mending fences", mode="semantic").results.hits
    assert [text for text in embedder.seen if "mending" in text] == ["ask: mending fences"]


def test_later_runs_keep_the_prompts(bear_index, notes, sidecar_path, write):
    bear_index("--model", f"{TINY}@query=ask:%20")
    write(BearNote("# Roof\nThe roof leaks"))
    bear_index()
    assert meta(sidecar_path)["model"] == f"{TINY}@query=ask:%20"


def test_other_prompts_make_all_vectors_again(bear_index, notes, sidecar_path):
    bear_index()
    assert "2 passages embedded" in bear_index("--model", f"{TINY}@passage=p:%20").output
    assert "embedded" not in bear_index("--model", f"{TINY}@passage=p:%20").output
    assert "2 passages embedded" in bear_index("--model", TINY).output
    assert meta(sidecar_path)["model"] == TINY


def test_new_default_prompts_of_a_model_make_all_vectors_again(bear_index, notes, sidecar_path):
    bear_index("--model", "test/own")
    registry.register("test/own", lambda: TrainedEmbedder("test/own"))  # as if its files changed
    assert "2 passages embedded" in bear_index("--model", "test/own").output


def test_prompts_of_a_model_that_nobody_trusts_do_not_trust_it(
    bear_index, notes, sidecar_path, configure
):
    bear_index()
    with closing(sqlite3.connect(sidecar_path)) as connection:
        connection.execute("update meta set value = 'ollama:theirs' where key = 'model'")
        connection.commit()
    bear_index(*configure("prompts:\n  query: 'ask: '\n"))
    assert not registry.is_trusted("ollama:theirs")


def test_listing_and_doctor_show_the_prompts(bear_index, notes, sidecar_path):
    def doctor() -> list[str]:
        return [each.says for each in examine(sidecar_path)["Index"] if each.name == "prompts"]

    bear_index()
    assert f"model: {TINY}, no prompts" in bear_index("--list").output
    assert doctor() == [f"{TINY} gets no prompts"]
    bear_index("--model", "test/trained@query=Ask:%0A")
    shown = r'"Ask:\n" before each query and "passage: " before each passage'
    assert shown in bear_index("--list").output
    assert shown in doctor()[0]


# The configuration file


@pytest.fixture
def configure(tmp_path):
    def write(text: str) -> list[str]:
        path = tmp_path / "bear-search.yaml"
        path.write_text(text)
        return ["--config", str(path)]

    return write


def test_the_configuration_file_sets_prompts(bear_index, notes, sidecar_path, configure):
    bear_index()
    file = configure("prompts:\n  query: 'ask: '\n")
    bear_index(*file)
    assert meta(sidecar_path)["prompts"] == '["ask: ", ""]'
    assert "embedded" not in bear_index(*file).output


def test_an_index_gets_the_prompts_of_the_configuration_file_whatever_makes_it(
    notes, library, sidecar_path, configure, monkeypatch
):
    _, file = configure("prompts:\n  query: 'ask: '\n")
    monkeypatch.setenv(CONFIG_VARIABLE, file)
    Library(sidecar_path).index(SourceConfig("bear", "bear", str(library)))
    assert meta(sidecar_path)["prompts"] == '["ask: ", ""]'
    task = _task(sidecar_path, None, ())
    assert task.model == f"{TINY}@query=ask:%20"
    assert _task(sidecar_path, None, (), "test/trained").model == "test/trained@query=ask:%20"
    configure("prompts:\n  query: 'find: '\n")
    assert _task(sidecar_path, None, ()).model == f"{TINY}@query=find:%20"


def test_prompts_that_a_model_has_anyway_need_no_loading(bear_index, notes, configure):
    file = configure("prompts: {query: 'query: '}\n")
    bear_index(*file, "--model", "test/trained")
    embedder = registry.get_embedder("test/trained@query=query:%20")
    registry.register("test/trained", lambda: TrainedEmbedder("test/trained"))
    bear_index(*file)
    assert embedder.ready
    assert not registry.get_embedder("test/trained").ready


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompts: 'query: '", "prompts needs lines below it"),
        ("prompts: {question: x}", "no setting 'question'"),
        ("prompts: {query: }", "the prompt query has to be text in quotation marks, not None"),
        ("prompts: {passage: 3}", "the prompt passage has to be text in quotation marks, not 3"),
    ],
)
def test_prompts_must_be_texts(bear_index, notes, configure, text, said):
    assert said in bear_index(*configure(text), fails=True).output


def test_a_restricted_index_knows_the_prompts(bear_index, notes, sidecar_path):
    bear_index("--model", f"{TINY}@query=ask:%20")
    update_restricted(sidecar_path, ["#x"], None)
    assert meta(file_for(sidecar_path, ["#x"]))["prompts"] == '["ask: ", ""]'
