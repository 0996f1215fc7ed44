"""Services of three systems, as files and commands. None of the systems is needed.

Tests ``service.py``, ``processes.py`` and ``cli/service.py``.
"""

from __future__ import annotations

import configparser
import json
import plistlib
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search import processes, service
from datasette_bear_search.notes import ForeseenError
from datasette_bear_search.search.planning import dictionary
from datasette_bear_search.service import LABEL, NAME, Service
from tests.support.bear_database import BearNote

OPTIONS = ('--sidecar=/a "b" 50% $HOME/n.db', "--port=8010")


class System:
    """What a system was asked to do, and what it answers."""

    def __init__(self, status=0, stdout="", stderr=""):
        self.asked, self.answer = [], (status, stdout, stderr)

    def __call__(self, arguments):
        self.asked.append(" ".join(arguments))
        return subprocess.CompletedProcess(arguments, *self.answer)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    dictionary.hashes()  # from the real cache: to make it here would take seconds
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    return tmp_path


def made(platform, tmp_path, **answers) -> tuple[Service, System]:
    system = System(**answers)
    return Service(OPTIONS, platform, tmp_path, system), system


def test_launchd_starts_it_at_login_and_again_after_a_failure(tmp_path):
    one, system = made("darwin", tmp_path)
    one.install()
    assert one.file == tmp_path / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    content = plistlib.loads(one.file.read_bytes())
    assert content["ProgramArguments"][-2:] == list(OPTIONS)
    assert content["ProgramArguments"][1:3] == ["bear-serve", "--no-open"]
    assert content["RunAtLoad"] is True
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert content["StandardErrorPath"] == str(one.log)
    domain = system.asked[1].split()[2]
    assert system.asked[1] == f"launchctl bootstrap {domain} {one.file}"
    one.uninstall()
    assert system.asked[-1] == f"launchctl bootout {domain}/{LABEL}"
    assert not one.file.exists()


def test_systemd_starts_it_at_login_and_again_after_a_failure(tmp_path):
    one, system = made("linux", tmp_path)
    one.install()
    assert one.file == tmp_path / "config" / "systemd" / "user" / f"{NAME}.service"
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str
    unit.read_string(one.file.read_text())
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Service"]["StandardOutput"] == f"append:{one.log}"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert unit["Service"]["ExecStart"].endswith(
        '"bear-serve" "--no-open" "--sidecar=/a \\"b\\" 50%% $$HOME/n.db" "--port=8010"'
    )
    assert system.asked[-2:] == [
        f"systemctl --user {action} {NAME}" for action in ("enable", "restart")
    ]
    one.uninstall()
    assert f"systemctl --user disable --now {NAME}" in system.asked


def test_a_windows_task_starts_it_at_login_and_again_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("USERNAME", "zoë & co")
    one, system = made("win32", tmp_path)
    one.install()
    root = xml.fromstring(one.file.read_bytes())
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert root.find("t:Triggers/t:LogonTrigger/t:UserId", space).text.endswith("zoë & co")
    assert root.find("t:Settings/t:ExecutionTimeLimit", space).text == "PT0S"
    arguments = root.find("t:Actions/t:Exec/t:Arguments", space).text
    # A person's folder may be called "A&B", which would end the command.
    assert arguments.startswith(f'/d /c ""{one.command[0]}" "bear-serve" "--no-open" "--')
    assert arguments.endswith(f'>> "{one.log}" 2>&1"')
    assert system.asked[0] == f"schtasks /Create /F /TN {NAME} /XML {one.file}"
    one.uninstall()
    assert system.asked[-1] == f"schtasks /Delete /F /TN {NAME}"


@pytest.mark.parametrize("platform", ["darwin", "linux", "win32"])
def test_what_the_system_says_is_passed_on(tmp_path, platform):
    one, _ = made(platform, tmp_path, status=5, stderr="Bootstrap failed: 5")
    with pytest.raises(ForeseenError, match="failed: Bootstrap failed: 5"):
        one.install()


@pytest.mark.parametrize(
    ("platform", "said"), [("darwin", "state = running"), ("linux", "active"), ("win32", "Running")]
)
def test_the_status_says_whether_it_runs(tmp_path, platform, said):
    one, _ = made(platform, tmp_path, stdout=said)
    assert "isn't installed" in one.status()
    one.install()
    assert one.status().startswith("The service is running")
    stopped, _ = made(platform, tmp_path, status=3)
    assert "isn't running" in stopped.status()


def test_macos_is_told_about_python_and_not_the_terminal(tmp_path):
    text = " ".join(made("darwin", tmp_path)[0].permission())
    assert "Full Disk Access" in text
    assert str(Path(sys.executable).resolve()) in text
    assert made("linux", tmp_path)[0].permission() == []


def test_a_service_keeps_to_its_port(tmp_path):
    assert "--port=8001" in Service((), "linux", tmp_path).command
    assert "--port=8001" not in Service(OPTIONS, "linux", tmp_path).command


@pytest.fixture
def system(monkeypatch):
    system = System(stdout="active")
    monkeypatch.setattr(service, "_run", system)
    return system


def ask(*arguments, says=None, status=0):
    done = CliRunner().invoke(cli, [*arguments], input=says)
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.skipif(sys.platform != "linux", reason="asks this system's")
def test_the_command_installs_shows_and_removes_it(home, system):
    assert "The service is running" in ask("bear-service", "install", "--port", "8010")
    unit = home / "config" / "systemd" / "user" / f"{NAME}.service"
    assert '"--port=8010"' in unit.read_text()
    Service().log.write_text("Started\nPort 8010 can't be used\n")
    assert ask("bear-service", "logs") == "Started\nPort 8010 can't be used\n"
    assert "running" in ask("bear-service", "status")
    assert "removed" in ask("bear-service", "uninstall")
    assert not unit.exists()
    assert "no service" in ask("bear-service", "uninstall")


# bear-uninstall


@pytest.mark.skipif(sys.platform != "linux", reason="asks this system's")
def test_all_that_was_written_is_removed_after_asking(
    home, system, write, bear_index, library, sidecar_path
):
    write(BearNote("# Roof"))
    bear_index()
    ask("bear-service", "install")
    (home / ".cursor").mkdir()
    before = '{"mcpServers": {"other": {"command": "x"}}}'
    (home / ".cursor" / "mcp.json").write_text(before)
    ask("bear-mcp", "--install", "cursor", "--yes", "--sidecar", str(sidecar_path))
    bundle, skill, other = (home / each for each in ("notes.mcpb", "skills", "other.mcpb"))
    for path in (bundle, other):
        ask("bear-mcp", "--bundle", str(path), "--yes")
    ask("bear-mcp", "--skill", str(skill), "--yes")
    other.write_text("another program's by now")
    for folder in ("data", "cache"):
        (home / folder / NAME / "models").mkdir(parents=True)
    listed = ask("bear-uninstall", "--sidecar", str(sidecar_path), says="n\n", status=1)
    written = (sidecar_path, bundle, skill / "search-notes" / "SKILL.md")
    for path in (*written, home / "data" / NAME, home / "cache" / NAME, ".cursor/mcp.json"):
        assert str(path) in listed
    assert sidecar_path.exists()
    assert str(library) not in listed
    ask("bear-uninstall", "--sidecar", str(sidecar_path), "--yes")
    assert other.read_text() == "another program's by now"
    other.unlink()
    left = [path for path in home.rglob("*") if path.is_file() and path != library]
    assert left == [home / ".cursor" / "mcp.json"]
    assert json.loads(left[0].read_text()) == json.loads(before)
    assert library.exists()
    assert "nothing to remove" in ask("bear-uninstall", "--sidecar", str(sidecar_path))


def test_another_program_s_file_is_not_removed(home, system, tmp_path):
    other = tmp_path / "other.db"
    other.write_text("mine")
    assert "is not an index" in ask("bear-uninstall", "--sidecar", str(other), "--yes", status=1)
    assert other.read_text() == "mine"


# Commands that outlast uv's cache


@pytest.fixture
def uvx(tmp_path, monkeypatch):
    """Let this Python lie in uv's cache, as under uvx."""
    cache = tmp_path / "uv"
    (cache / "archive-v0" / "Mor" / "bin").mkdir(parents=True)
    (cache / "CACHEDIR.TAG").touch()
    monkeypatch.setattr(sys, "prefix", str(cache / "archive-v0" / "Mor"))
    monkeypatch.setenv("UV", str(tmp_path / "bin" / "uv"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uvx").touch()
    return cache


def test_under_uvx_no_command_points_into_the_cache(uvx, tmp_path):
    command = processes.lasting_command(["bear-mcp"], ["bundled", "mcp"])
    assert command == [
        str(tmp_path / "bin" / "uvx"), "--with", "datasette-bear-search[bundled,mcp]",
        "datasette", "bear-mcp",
    ]  # fmt: skip
    assert not any(str(uvx) in part for part in Service((), "linux", tmp_path).command)


def test_a_virtual_environment_is_no_cache(tmp_path):
    assert not processes.is_in_uv_cache(sys.prefix)
    assert not processes.is_in_uv_cache(tmp_path / "archive-v0" / "x")


def test_linking_puts_bear_search_on_the_path(home, monkeypatch):
    said = ask("bear-search", "--link")
    link = home / ".local" / "bin" / "bear-search"
    assert link.resolve() == Path(sys.executable).with_name("bear-search").resolve()
    assert f"add {link.parent} to PATH" in said
    monkeypatch.setenv("PATH", str(link.parent))
    assert "add" not in ask("bear-search", "--link")
    link.unlink()
    link.write_text("another program")
    assert "stays as it is" in ask("bear-search", "--link", status=1)


def test_the_doctor_says_where_bear_search_is(home, monkeypatch):
    monkeypatch.setenv("PATH", str(home))
    said = CliRunner().invoke(cli, ["bear-doctor"]).output
    assert "where your shell doesn't look for it" in said
    assert "datasette bear-search --link" in said
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert "--link" not in CliRunner().invoke(cli, ["bear-doctor"]).output
