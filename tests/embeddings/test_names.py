"""What a model's name means, and which models the person at a machine trusts."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.embeddings import files, names, registry
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.names import BUNDLED, HUB_DEFAULT
from tests.support.bear_database import BearNote
from tests.support.full_disk import full_disk
from tests.support.index_files import name_model
from tests.support.tiny_embedder import TINY


def trust(path: Path, *options: str) -> str:
    arguments = ["bear-index", "--trust", "--sidecar", str(path), *options]
    return CliRunner().invoke(cli, arguments).output


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("./m", "{here}/m"),
        ("../m", "{here}/../m"),
        ("/m", "/m"),
        ("~/m", "{home}/m"),
        ("m", "m"),
        ("someone/m", "someone/m"),
        (BUNDLED, BUNDLED),
        ("ollama:m", "ollama:m"),
    ],
)
def test_only_a_path_is_a_folder(typed, stored, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    for name in ("m", "someone/m", BUNDLED):  # none of them matters
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    expected = stored.format(here=tmp_path, home=tmp_path / "home")
    given = names.given(typed)
    assert given == (os.path.normpath(expected) if os.path.isabs(expected) else expected)
    assert os.path.isabs(given) == os.path.isabs(expected)


def test_our_models_and_those_of_plugins_need_no_trust():
    assert all(map(registry.is_trusted, (BUNDLED, HUB_DEFAULT, TINY, f"{TINY}@16", f"{BUNDLED}@8")))
    assert not any(map(registry.is_trusted, ("m", "a/b", "/", "./m", "ollama:m", "llm:m", "x@8")))
    assert not names.trusted_models().exists()


def test_a_model_that_a_person_names_stays_trusted():
    registry.trust("a/b@16")
    assert registry.is_trusted("a/b")
    assert registry.is_trusted("a/b@256")
    assert not registry.is_trusted("a/bc")
    assert names.trusted_models().read_text() == "a/b\n"
    registry.trust("a/b")
    assert names.trusted_models().read_text() == "a/b\n"


def test_a_full_disk_keeps_the_list_as_it_was():
    registry.trust("a/b")
    with full_disk(6), pytest.raises(ModelUnavailable, match="so c/d isn't used"):
        registry.trust("c/d")
    registry.trust("e/f")
    assert names.trusted_models().read_text() == "a/b\ne/f\n"
    assert [*names.trusted_models().parent.iterdir()] == [names.trusted_models()]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_this_user_may_read_the_list():
    previous = os.umask(0)
    try:
        registry.trust("a/b")
    finally:
        os.umask(previous)
    assert stat.S_IMODE(names.trusted_models().stat().st_mode) == 0o600
    assert stat.S_IMODE(names.trusted_models().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["a/b\nevil/c", "a/b\x1b[2J", "a/b\u202e"])
def test_a_name_is_one_line_of_the_list(name):
    with pytest.raises(ModelUnavailable, match="No model can be named"):
        registry.trust(name)
    assert not names.trusted_models().exists()
    assert str(names.refusal(name)).isprintable()


def test_a_list_that_cannot_be_written_is_a_clear_error(write, bear_index):
    names.trusted_models().parent.mkdir(parents=True)
    names.trusted_models().mkdir()
    write(BearNote("# Roof"))
    said = bear_index("--model", "ollama:m", fails=True).output
    assert "can't be written" in said
    assert str(names.trusted_models()) in said


def test_an_untrusted_model_is_not_looked_up():
    model = "//server/share/m"  # on Windows, to look at it sends the user's name to that server
    looked_at: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", lambda path, *arguments, **options: looked_at.append(path))
        patch.setattr(os.path, "isdir", looked_at.append)
        refused = registry.get_embedder(f"{model}@8")
        answers = refused.loads_fast(), refused.needs_onnx_export(), registry.is_trusted(model)
        with pytest.raises(ModelUnavailable, match="nobody has named"):
            registry.is_here(model)
    assert not any(answers)
    assert not any("server" in str(path) for path in looked_at)


def test_trust_names_the_model_of_an_index(index_notes, tmp_path):
    path = index_notes([BearNote("# Roof")])
    assert f"names {TINY}, which is trusted on this machine already" in trust(path)
    (tmp_path / "m").mkdir()
    name_model(path, f"{tmp_path}/m@16")
    assert f"From now on, this machine uses {tmp_path}/m@16" in trust(path)
    assert "trusted on this machine already" in trust(path)
    name_model(path, "someone/m")
    assert "The next datasette bear-index downloads it." in trust(path)
    name_model(path, "./m")
    assert "There is no folder ./m" in trust(path)
    name_model(path, "openai:m@http://127.0.0.1:1")
    assert "Your queries and the text of your notes are sent to it." in trust(path)
    assert names.trusted_models().read_text().split("\n")[:2] == [f"{tmp_path}/m", "someone/m"]


def test_trust_reads_no_notes(index_notes, tmp_path):
    path = index_notes([BearNote("# Roof")])
    for options in ([str(tmp_path)], ["--model", "a/b"], ["--rebuild"], ["--only", "bear"]):
        assert "Use it without PATH and other options" in trust(path, *options)
    assert "names no model" in trust(tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()


def test_doctor_says_how_to_trust_a_model(index_notes):
    path = index_notes([BearNote("# Roof")])
    name_model(path, "someone/m")
    for option in ([], ["--model-check"]):
        arguments = ["bear-doctor", "--sidecar", str(path), *option]
        said = CliRunner().invoke(cli, arguments).output
        assert "names the model someone/m, which nobody has named on this machine" in said
        assert f"fix: datasette bear-index --sidecar {path} --trust" in said


def test_a_name_that_the_hub_does_not_have_may_be_a_folder_here(monkeypatch):
    import httpx
    from huggingface_hub.errors import RepositoryNotFoundError

    def model_info(self, name, **_):
        response = httpx.Response(404, request=httpx.Request("GET", "https://hub.example"))
        raise RepositoryNotFoundError("404", response=response)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    with pytest.raises(ModelUnavailable, match=r"no model somebody/m.* folder here is \./NAME"):
        files.check_hub("somebody/m")
