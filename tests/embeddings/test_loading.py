"""Models from strangers: none of them runs a program, whoever names it and wherever it lies."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.cli import serve
from datasette_bear_search.embeddings import loading, registry, rerankers
from datasette_bear_search.embeddings.backends import sentence_transformers as library
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.files import bundled_folder
from datasette_bear_search.embeddings.names import BUNDLED, HUB_DEFAULT
from datasette_bear_search.evaluation import judgments
from datasette_bear_search.search.connection import open_sidecar
from tests.support.bear_database import BearNote
from tests.support.index_files import name_model
from tests.support.small_models import write_static_model, write_transformer
from tests.support.unsafe_models import PICKLES_ON, Program, change, write_unsafe_model

# Each worker collects this file. Importing the library here would cost each of them seconds.
pytestmark = pytest.mark.skipif(
    not (find_spec("torch") and find_spec("sentence_transformers")),
    reason="needs sentence-transformers",
)

NOTES = [BearNote("# Roof\nThe roof leaks"), BearNote("# Soup\nLentil soup")]


@pytest.fixture(scope="module")
def unsafe(tmp_path_factory) -> tuple[Path, Path]:
    """A model whose weights are a program, and the file that it creates."""
    folder = tmp_path_factory.mktemp("unsafe")
    return write_unsafe_model(folder / "m", folder / "mark"), folder / "mark"


@pytest.fixture
def mark(unsafe) -> Path:
    unsafe[1].unlink(missing_ok=True)
    return unsafe[1]


@pytest.fixture(scope="module")
def safe(tmp_path_factory) -> Path:
    return write_transformer(tmp_path_factory.mktemp("safe") / "model")


# A model that the person names


@pytest.mark.parametrize("key", ["model_args", "model_kwargs"])
def test_the_weights_of_a_named_folder_are_never_a_program(key, tmp_path, write, bear_index):
    folder = write_unsafe_model(tmp_path / "model", tmp_path / "mark", key=key)
    write(*NOTES)
    said = bear_index("--model", str(folder), fails=True).output
    assert not (tmp_path / "mark").exists()
    assert "aren't in the format safetensors" in said or f"in {key}" in said


KINDS = {
    "SentenceTransformer": "SentenceTransformer",
    "cross-encoder": "CrossEncoder",
}


@pytest.fixture(params=KINDS)
def unsafe_of_kind(request, unsafe, mark, tmp_path) -> tuple[str, Path]:
    folder = shutil.copytree(unsafe[0], tmp_path / "m")
    model_type = {"model_type": KINDS[request.param]}
    change(folder / "config_sentence_transformers.json", model_type)
    return request.param, folder


def test_the_weights_of_no_kind_of_model_are_a_program(unsafe_of_kind, mark):
    kind, folder = unsafe_of_kind
    model = registry.trust(str(folder))
    if kind == "cross-encoder":
        model = rerankers.get_reranker(f"{kind}:{folder}")
    with pytest.raises(ModelUnavailable, match="isn't loaded, because"):
        model.load()
    assert not mark.exists()


def test_arguments_of_ours_win_over_those_of_a_model(unsafe_of_kind, mark, monkeypatch):
    kind, folder = unsafe_of_kind
    monkeypatch.setattr(loading, "check", lambda folder: None)
    with pytest.raises(Exception, match=r"safetensors|no file named"):
        loading.load(KINDS[kind], folder)
    assert not mark.exists()


ARGUMENTS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_kwargs")
MODULE = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
SETTINGS = [
    *(("sentence_bert_config.json", {key: PICKLES_ON}) for key in ARGUMENTS),
    ("sentence_xlnet_config.json", {"config_args": {"_configuration_file": "x"}}),
    ("0_Transformer/sentence_roberta_config.json", {"model_args": {"weights_only": False}}),
    ("sentence_bert_config.json", {"model_args": {"attn_implementation": "someone/kernel"}}),
    ("sentence_bert_config.json", {"model_args": {"config": {"auto_map": {}}}}),
    ("sentence_bert_config.json", {"model_args": [PICKLES_ON]}),
    ("sentence_bert_config.json", {"tokenizer_name_or_path": "/elsewhere"}),
    ("sentence_bert_config.json", {"modality_config": {"text": {"method": "push_to_hub"}}}),
    ("config.json", {"auto_map": {"AutoModel": "modeling.Evil"}}),
    ("config.json", {"text_config": {"_attn_implementation": "someone/kernel:x"}}),
    ("config.json", {"transformers_weights": "adapter_model.bin"}),
    ("config.json", {"sentence_transformers": {"activation_fn": "torch.hub.load"}}),
    ("config_sentence_transformers.json", {"activation_fn": "torch.utils.collect_env.main"}),
    ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Evil", None]}}),
    ("processor_config.json", {"audio_tokenizer": {"audio_tokenizer_name_or_path": "a/b"}}),
    ("2_Dense/config.json", {"activation_function": "torch.os.getpid"}),
    ("adapter_config.json", {"base_model_name_or_path": "someone/else"}),
    ("router_config.json", {"types": {"query": "os.path"}}),
    ("1_Router/config.json", {"types": {"../x": MODULE["type"]}}),
    ("model.safetensors.index.json", {"weight_map": {"x": "pytorch_model.bin"}}),
    ("model.safetensors.index.json", {"weight_map": {"x": "../x.safetensors"}}),
]


@pytest.mark.parametrize(("file", "settings"), SETTINGS)
def test_settings_that_could_choose_code_are_refused(file, settings, safe, tmp_path):
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    loading.check(folder)
    change(folder / file, settings)
    with pytest.raises(ModelUnavailable, match=f"isn't loaded, because {file}"):
        loading.check(folder)


@pytest.mark.parametrize(
    "module",
    [
        {"type": "evil.Module"},
        {"type": "sentence_transformers.models.WordEmbeddings"},
        {"type": "sentence_transformers.base.modules.module.torch"},
        {"type": "sentence_transformers_evil.Transformer"},
        {"path": "../elsewhere"},
        {"path": "/elsewhere"},
        {"path": "C:\\elsewhere"},
        {"type": None},
    ],
)
def test_modules_of_other_packages_and_places_are_refused(module, safe, tmp_path):
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    (folder / "modules.json").write_text(json.dumps([{**MODULE, **module}]))
    with pytest.raises(ModelUnavailable, match=r"because modules.json"):
        loading.check(folder)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "[" * 100_000])
def test_settings_that_nobody_can_read_are_refused(text, safe, tmp_path):
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelUnavailable, match=r"because config.json"):
        loading.check(folder)


def test_pickled_weights_of_a_part_are_refused(safe, tmp_path):
    import torch

    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    (folder / "2_Dense").mkdir()
    torch.save({"x": Program(tmp_path / "mark")}, folder / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match=r"2_Dense/pytorch_model.bin aren't"):
        loading.check(folder)


def test_a_link_to_another_folder_is_refused(safe, tmp_path):
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    shutil.move(folder / "1_Pooling", tmp_path / "elsewhere")
    (folder / "1_Pooling").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelUnavailable, match="1_Pooling is a link to another folder"):
        loading.check(folder)


def test_a_model_that_lacks_a_layer_is_refused(safe, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    kept = {name: weights[name] for name in weights if "layer.1." not in name}
    assert kept.keys() < weights.keys()
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"layer\.1\..*random numbers"):
        loading.load("SentenceTransformer", folder)
    loading.load("SentenceTransformer", safe)


def test_ordinary_models_pass(safe, tmp_path):
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    (folder / "openvino").mkdir()
    (folder / "openvino" / "openvino_model.bin").write_bytes(b"never read")
    change(folder / "sentence_bert_config.json", {"model_args": {"dtype": "float32"}})
    change(folder / "config.json", {"hidden_act": "gelu", "activation_function": "gelu_new"})
    sigmoid = "torch.nn.modules.activation.Sigmoid"
    change(folder / "config.json", {"sentence_transformers": {"activation_fn": sigmoid}})
    loading.check(folder)
    loading.check(write_static_model(tmp_path / "static"))
    if bundled := bundled_folder():
        loading.check(bundled)


@pytest.mark.parametrize(
    "missing", [["tokenizer.json"], ["tokenizer.json", "tokenizer_config.json"]]
)
def test_a_model_without_its_vocabulary_is_not_loaded(missing, safe, tmp_path):
    # Without both files, the library makes a tokenizer that knows no word, without an error.
    folder = Path(shutil.copytree(safe, tmp_path / "model"))
    for name in missing:
        (folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=r"its vocabulary is missing \(tokenizer\.json"):
        registry.trust(str(folder)).load()


@pytest.mark.parametrize("typed", ["{}", "./model", "../here/model", "~/here/model"])
def test_a_folder_of_data_is_used_and_stored_with_its_whole_path(
    typed, safe, tmp_path, monkeypatch, write, bear_index, sidecar_path
):
    folder = Path(shutil.copytree(safe, tmp_path / "here" / "model"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(folder.parent)
    write(*NOTES)
    bear_index("--model", typed.format(folder))
    with closing(sqlite3.connect(sidecar_path)) as db:
        model = db.execute("select value from meta where key = 'model'").fetchone()
        assert model == (str(folder.resolve()),)
    monkeypatch.chdir(tmp_path)
    assert search(sidecar_path)["query"]["retrievers"] == ["semantic"]


# A model that only an index names


def search(path: Path, *options: str) -> dict:
    arguments = ["bear-search", "roof", "--mode", "semantic", "--json", "--sidecar", str(path)]
    return json.loads(CliRunner().invoke(cli, [*arguments, *options]).stdout)


def by_search(path: Path) -> str:
    return " ".join(search(path)["notices"])


def by_index(path: Path) -> str:
    return CliRunner().invoke(cli, ["bear-index", "--rebuild", "--sidecar", str(path)]).output


def by_doctor(path: Path) -> str:
    options = ["--model-check", "--sidecar", str(path)]
    return CliRunner().invoke(cli, ["bear-doctor", *options]).output


def by_eval(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db, db:
        [source, key] = db.execute("select source, key from notes limit 1").fetchone()
        judgments.store(db, "what drips on me", source, key, 1)
    options = ["--mode", "hybrid", "--sidecar", str(path)]
    return CliRunner().invoke(cli, ["bear-eval", *options]).output


def by_serve(path: Path) -> str:
    serve._load_model(path)  # as when bear-serve starts
    with closing(sqlite3.connect(path)) as db:
        [model] = db.execute("select value from meta where key = 'model'").fetchone()
    embedder = registry.get_embedder(model)
    embedder.wait_until_loaded(None)
    return str(embedder.failure)


def by_embed(path: Path) -> str:
    with open_sidecar(path) as connection:
        assert connection.execute("select embed('roof')").fetchone() == (None,)
    return by_search(path)


FACES = {
    each.__name__: each for each in (by_search, by_index, by_doctor, by_eval, by_serve, by_embed)
}


@pytest.fixture
def shared_index(unsafe, mark, index_notes, tmp_path, monkeypatch) -> Path:
    """An index beside a model, both from a stranger, in the current directory."""
    path = index_notes(NOTES)
    shutil.copytree(unsafe[0], tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize("model", ["m", "./m", "m@16", "{here}/m", "{here}/x/../m", "someone/m"])
@pytest.mark.parametrize("face", FACES)
def test_a_model_that_only_an_index_names_is_not_loaded(face, model, shared_index, mark, tmp_path):
    name_model(shared_index, model.format(here=tmp_path))
    said = FACES[face](shared_index)
    assert not mark.exists()
    assert "which nobody has named on this machine" in said, said
    assert "datasette bear-index --trust" in said


@pytest.mark.asyncio
async def test_a_page_does_not_load_a_model_that_only_an_index_names(shared_index, mark, tmp_path):
    name_model(shared_index, str(tmp_path / "m"))
    datasette = Datasette([str(shared_index)])
    page = (await datasette.client.get("/-/bear-search?q=what+drips+on+me")).text
    answer = (await datasette.client.get("/-/bear-search.json?q=what+drips+on+me")).json()
    status = (await datasette.client.get("/-/bear-search/status.json")).json()
    assert not mark.exists()
    assert "nobody has named on this machine" in page
    assert sum("nobody has named" in notice for notice in answer["notices"]) == 1
    assert "nobody has named" in status["model"]["problem"]


def test_trusting_a_model_does_not_make_its_weights_a_program(shared_index, mark, tmp_path):
    name_model(shared_index, str(tmp_path / "m"))
    trusted = CliRunner().invoke(cli, ["bear-index", "--trust", "--sidecar", str(shared_index)])
    assert trusted.exit_code == 0, trusted.output
    assert "isn't loaded, because" in by_search(shared_index)
    assert not mark.exists()


# Folders in the current directory

DEFAULTS = (BUNDLED, HUB_DEFAULT, rerankers.CROSS_ENCODER)


@pytest.fixture
def foreign_folder(unsafe, mark, tmp_path, monkeypatch) -> Path:
    """A current directory with a folder for each default model, from a stranger."""
    for name in (*DEFAULTS, BUNDLED.partition("/")[2]):
        shutil.copytree(unsafe[0], tmp_path / "vault" / name)
    (tmp_path / "vault" / "Roof.md").write_text("# Roof\nThe roof leaks")
    monkeypatch.chdir(tmp_path / "vault")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "vault"


@pytest.mark.parametrize("model", DEFAULTS[:2])
def test_a_folder_named_like_the_default_model_does_not_matter(
    model, foreign_folder, mark, monkeypatch, sidecar_path
):
    monkeypatch.setattr(registry, "default_model", lambda: model)
    monkeypatch.setattr("socket.create_connection", lambda *arguments: _no_network())
    registry._embedders.clear()
    options = ["--sidecar", str(sidecar_path)]
    for command in (
        ["bear-index", ".", *options],
        ["bear-search", "roof", *options],
        ["bear-doctor", "--model-check", *options],
        ["bear-eval", "--mode", "semantic", *options],
    ):
        CliRunner().invoke(cli, command)
    serve._load_model(sidecar_path)
    assert not mark.exists()
    if model == BUNDLED and bundled_folder():
        assert search(sidecar_path)["query"]["retrievers"] == ["semantic"]


def _no_network() -> None:
    raise OSError("Name or service not known")


def test_a_folder_named_like_a_reranker_does_not_matter(foreign_folder, mark):
    with pytest.raises(ModelUnavailable, match="isn't on this machine"):
        rerankers.CrossEncoder().score("a", ["b"])
    assert not mark.exists()


# The hub


def test_a_model_that_could_not_run_here_is_not_downloaded(monkeypatch):
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    monkeypatch.setattr(library.files, "download", pytest.fail)
    embedder = registry.trust("someone/some-model")
    embedder.may_download = True
    with pytest.raises(ModelUnavailable, match="Install it: pip install sentence-transformers"):
        embedder.load()


def test_a_downloaded_model_is_checked_before_it_is_loaded(unsafe, mark, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *arguments, **options: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *arguments: None)
    asked = {}

    def snapshot(name, **options):
        asked.update(options)
        return str(unsafe[0])

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    embedder = registry.trust("someone/unsafe")
    embedder.may_download = True
    with pytest.raises(ModelUnavailable, match="isn't loaded, because"):
        embedder.load()
    assert not any("bin" in pattern for pattern in asked["allow_patterns"])
    assert not mark.exists()
