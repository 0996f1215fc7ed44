"""``bear-mcp --install``, ``--bundle`` and ``--skill``: what they write and what they never do."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.agents import install


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def bear_mcp(*arguments: object, says: str | None = None, status: int = 0) -> str:
    done = CliRunner().invoke(cli, ["bear-mcp", *map(str, arguments)], input=says)
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize("app", sorted(set(install.APPS) - {"codex"}))
def test_each_app_starts_the_server_with_this_python(home, app):
    bear_mcp("--install", app, "--yes", "--hide-tag", "private", "--no-redact")
    path, _, _ = next(install.files(app, None, None, []))
    assert path.is_relative_to(home)
    content = json.loads(path.read_text())
    entry = content["servers" if app == "vscode" else "mcpServers"]["notes"]
    assert entry["command"] == sys.executable
    assert entry["args"][-3:] == ["bear-mcp", "--hide-tag=private", "--no-redact"]


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
    assert content["mcpServers"]["notes"]["command"] == sys.executable
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
        assert content["mcp_servers"]["notes"]["args"] == ["-m", "datasette", "bear-mcp"]
    assert "already" in bear_mcp("--install", "codex", "--yes", status=1)


def test_an_app_that_is_not_known_is_told_with_those_that_are(home):
    assert "claude-desktop, codex" in bear_mcp("--install", "emacs", status=1)


def test_a_bundle_and_a_skill_are_written(home, tmp_path):
    bear_mcp("--bundle", tmp_path / "notes.mcpb", "--skill", tmp_path / "skills", "--yes")
    with zipfile.ZipFile(tmp_path / "notes.mcpb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert manifest["server"]["entry_point"] in bundle.namelist()
    assert manifest["server"]["mcp_config"]["command"] == sys.executable
    text = (tmp_path / "skills" / "search-notes" / "SKILL.md").read_text()
    assert text.startswith("---\nname: search-notes\ndescription: ")
