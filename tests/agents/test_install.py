"""``bear-mcp --install``, ``--bundle`` and ``--skill``: what they write and what they never do."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search import processes
from datasette_bear_search.agents import install, server
from datasette_bear_search.cli import serve
from datasette_bear_search.index import freshness
from datasette_bear_search.index.file import database
from tests.support.full_disk import full_disk


@pytest.fixture
def home(tmp_path, monkeypatch, template) -> Path:
    """Set up a home with an index in its default place."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    index = database.default_path()
    index.parent.mkdir(parents=True)
    shutil.copy(template, index)
    return tmp_path


def bear_mcp(*arguments: object, says: str | None = None, status: int = 0) -> str:
    done = CliRunner().invoke(cli, ["bear-mcp", *map(str, arguments)], input=says)
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize("app", sorted(set(install.MCP_CLIENTS) - {"codex"}))
def test_each_app_starts_the_server_with_this_python(home, app):
    bear_mcp("--install", app, "--yes", "--hide-tag", "private", "--no-redact")
    path, _, _ = next(install.files(app, None, None, []))
    assert path.is_relative_to(home)
    content = json.loads(path.read_text())
    entry = content["servers" if app == "vscode" else "mcpServers"]["notes"]
    assert entry["command"] == str(Path(sys.executable).with_name("datasette"))
    assert entry["args"] == ["bear-mcp", "--hide-tag=private", "--no-redact"]


def test_nothing_is_written_before_a_person_agrees(home):
    output = bear_mcp("--install", "cursor", says="n\n", status=1)
    assert '"mcpServers"' in output
    assert not (home / ".cursor").exists()
    assert "Written." in bear_mcp("--install", "cursor", says="y\n")


def test_other_entries_stay_and_the_file_before_is_kept(home):
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = '{"theme": "dünkel", "mcpServers": {"other": {"command": "x"}, "notes": {}}}'
    path.write_text(before)
    path.chmod(0o600)
    bear_mcp("--install", "cursor", "--yes")
    content = json.loads(path.read_text())
    assert (content["theme"], content["mcpServers"]["other"]) == ("dünkel", {"command": "x"})
    assert content["mcpServers"]["notes"]["args"] == ["bear-mcp"]
    [backup] = path.parent.glob("*.bak")
    assert backup.read_text() == before
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", '{"mcpServers": 5}', "\x00"])
def test_a_file_that_would_be_harmed_is_left_alone(home, text):
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(text)
    output = bear_mcp("--install", "cursor", "--yes", status=1)
    assert "Add this to it:" in output
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]
    assert path.read_text() == text


def test_codex_gets_a_table_of_its_own(home):
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "x"\n[mcp_servers.other]\ncommand = "y"\n')
    bear_mcp("--install", "codex", "--yes")
    if sys.version_info >= (3, 11):
        import tomllib

        content = tomllib.loads(path.read_text())
        assert content["mcp_servers"]["other"] == {"command": "y"}
        assert content["mcp_servers"]["notes"]["args"] == ["bear-mcp"]
    assert "already" in bear_mcp("--install", "codex", "--yes", status=1)


def test_an_unknown_app_gives_an_error_that_lists_the_known_ones(home):
    assert "claude-desktop, codex" in bear_mcp("--install", "emacs", status=1)


def test_install_writes_a_bundle_and_a_skill(home, tmp_path):
    bear_mcp("--bundle", tmp_path / "notes.mcpb", "--skill", tmp_path / "skills", "--yes")
    with zipfile.ZipFile(tmp_path / "notes.mcpb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert manifest["server"]["entry_point"] in bundle.namelist()
    assert manifest["server"]["mcp_config"]["args"][-1] == "bear-mcp"
    text = (tmp_path / "skills" / "search-notes" / "SKILL.md").read_text()
    assert text.startswith("---\nname: search-notes\ndescription: ")


def test_a_bundle_can_have_any_name_and_is_found_again(home):
    bundle = home / "notes\udcff.mcpb"
    bear_mcp("--bundle", bundle, "--yes")
    assert list(install.remembered()) == [bundle]


def test_the_server_is_started_by_the_script_beside_this_python(home, monkeypatch, tmp_path):
    scripts = tmp_path / "Scripts"
    scripts.mkdir()
    (scripts / "datasette.exe").touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python.exe"))
    monkeypatch.setattr(processes.sysconfig, "get_path", lambda name: str(scripts))
    monkeypatch.setattr(sys, "platform", "win32")
    assert entry_of("cursor") == {"command": str(scripts / "datasette.exe"), "args": ["bear-mcp"]}
    (scripts / "datasette.exe").unlink()
    arguments = entry_of("cursor")["args"]
    assert "sys.path.pop(0)" in arguments[1]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_nobody_else_can_read_a_new_file_with_tokens_at_any_moment(home, monkeypatch, mode):
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"other": {"env": {"TOKEN": "secret"}}}}')
    path.chmod(mode)
    drafts = []
    copymode = shutil.copymode

    def watched(source, draft):
        drafts.append(Path(draft).stat().st_mode & 0o777)
        copymode(source, draft)

    monkeypatch.setattr(shutil, "copymode", watched)
    previous = os.umask(0)
    try:
        bear_mcp("--install", "cursor", "--yes")
        bear_mcp("--install", "gemini-cli", "--yes")
    finally:
        os.umask(previous)
    [backup] = path.parent.glob("*.bak")
    assert drafts == [0o600]
    assert backup.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == mode
    assert (home / ".gemini" / "settings.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("room", [0, 50])  # for no copy, and for the copy only
def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(home, monkeypatch, room):
    monkeypatch.setattr(serve, "_check_server", lambda options: None)
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {}}')
    with full_disk(room):
        assert "can't be written" in bear_mcp("--install", "cursor", "--yes", status=1)
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]
    assert path.read_text() == '{"mcpServers": {}}'


def entry_of(app: str) -> dict[str, Any]:
    [(_, _, content)] = install.files(app, None, None, [])
    return json.loads(content)["mcpServers"]["notes"]


# What is checked before an app's file is changed


def test_nothing_is_written_if_the_server_could_not_start(home, monkeypatch):
    def missing(library):
        raise server.SdkMissing

    monkeypatch.setattr(server, "build_server", missing)
    output = bear_mcp("--install", "cursor", "--yes", status=1)
    assert "Nothing was written, because the app couldn't start the server." in output
    assert server.INSTALL_MCP in output
    assert not (home / ".cursor").exists()


def test_nothing_is_written_without_an_index(home):
    database.default_path().unlink()
    output = bear_mcp("--install", "cursor", "--yes", status=1)
    assert "Make it with: datasette bear-index" in output
    assert not (home / ".cursor").exists()


def test_nothing_is_written_with_an_index_of_another_version(home):
    with closing(sqlite3.connect(database.default_path())) as db:
        db.execute("pragma user_version = 1")
    assert "earlier version" in bear_mcp("--install", "cursor", "--yes", status=1)
    assert not (home / ".cursor").exists()


def test_a_source_that_cannot_be_read_gives_a_warning(home, monkeypatch):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    with closing(sqlite3.connect(database.default_path())) as db, db:
        db.execute("update sources set location = '/nowhere/database.sqlite'")
    output = bear_mcp("--install", "cursor", "--yes")
    assert "Bear can't be checked from here" in output
    assert "Written." in output


def test_a_bundle_serves_everybody(home, tmp_path):
    bear_mcp("--bundle", tmp_path / "notes.mcpb", "--yes")
    with zipfile.ZipFile(tmp_path / "notes.mcpb") as bundle:
        text = bundle.read("manifest.json").decode()
    entry = json.loads(text)["server"]["mcp_config"]
    assert entry["command"] == "uvx"
    assert entry["args"][-2:] == ["datasette", "bear-mcp"]
    assert entry["args"][:2] == ["--with", "datasette-bear-search[bundled,mcp]"]
    assert str(home) not in text
    assert sys.prefix not in text


def test_under_uvx_the_entry_runs_uvx(home, tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "uv"
    (cache / "archive-v0" / "Mor").mkdir(parents=True)
    (cache / "CACHEDIR.TAG").touch()
    monkeypatch.setattr(sys, "prefix", str(cache / "archive-v0" / "Mor"))
    bear_mcp("--install", "cursor", "--yes")
    text = (home / ".cursor" / "mcp.json").read_text()
    assert str(cache) not in text
    assert json.loads(text)["mcpServers"]["notes"]["args"][-2:] == ["datasette", "bear-mcp"]


@pytest.mark.parametrize("app", sorted(install.MCP_CLIENTS))
def test_our_entry_can_be_taken_out_again(home, app):
    path = install._settings_file(app)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_toml = path.suffix == ".toml"
    path.write_text('model = "x"\n\n[mcp_servers.other]\na = 1\n' if is_toml else '{"a": 1}')
    bear_mcp("--install", app, "--yes")
    assert [(app, path)] == list(install.entries())
    install.remove_entry(app)
    text = path.read_text()
    assert "bear-mcp" not in text
    assert "[mcp_servers.other]" in text if is_toml else json.loads(text) == {"a": 1}
    assert list(install.entries()) == []


@pytest.mark.parametrize("app", sorted(install.MCP_CLIENTS))
def test_a_file_that_only_had_our_entry_is_removed(home, app):
    bear_mcp("--install", app, "--yes")
    install.remove_entry(app)
    assert not install._settings_file(app).exists()
