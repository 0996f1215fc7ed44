"""Commands in a folder from somebody else: none of its files runs as a Python module.

The folder has a module of each name that Python or an installed package knows. What happens
to folders named like the default models is among the tests of loading a model.

Tests ``processes.py``.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from datasette_bear_search import processes
from datasette_bear_search.agents import install
from datasette_bear_search.evaluation import judgments
from datasette_bear_search.sqlite import sqlite3
from tests.support.attached import pdf
from tests.support.machines import DATASETTE, Machine
from tests.support.shared import give_dictionary
from tests.support.threads import wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")

PATIENCE = 120.0  # seconds; on a busy machine everything is slow
COMMANDS = (
    "bear-index --sidecar notes.db --list",
    "bear-search --sidecar notes.db rain",
    "bear-doctor --sidecar notes.db --model-check",
    "bear-eval --sidecar notes.db",
    "bear-mcp --bundle notes.mcpb --yes",
)


@pytest.fixture(scope="module")
def folder(first_run, tmp_path_factory) -> Iterator[Path]:
    """Return the foreign folder, with notes in it and an index of them."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.write_foreign_modules()
    give_dictionary(machine.cache)  # as after the first run
    folder = machine.folder
    (folder / "notes").mkdir()
    (folder / "more").mkdir()
    for name in ("Cabin", "Stove"):
        text = (
            f"{name} in the mountains. " + "In heavy rain, its roof leaks near the chimney.\n" * 2
        )
        (folder / "notes" / f"{name}.md").write_text(text)
    (folder / "more" / "paper.pdf").write_bytes(pdf("The stove smokes."))
    (folder / "more" / "about.md").write_text("![](paper.pdf)")
    subprocess.run(["git", "init", "-q", folder / "more"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        environment = machine.environment()
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        run(folder, "bear-index notes more --sidecar notes.db")
        with closing(sqlite3.connect(folder / "notes.db")) as index, index:
            judgments.store(index, "rain", "notes", "Cabin.md", judgments.THIS_WAS_IT)
        yield folder


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [DATASETTE, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done


def assert_nothing_ran(folder: Path) -> None:
    ran = sorted(folder.rglob("*.ran"))
    for each in ran:
        each.unlink()  # so that the next test doesn't find it
    assert ran == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_a_module_of_the_folder_in_which_it_runs(folder, command):
    assert run(folder, command).returncode == 0
    assert_nothing_ran(folder)


def test_the_server_and_its_updater_import_nothing_of_the_folder(folder):
    with running(folder, "bear-serve --no-open --port 0 --sidecar notes.db") as process:
        address = re.search("http://[0-9.:]+/-/bear-search", process.stdout.readline())[0]
        (folder / "more" / "new.md").write_text("![](paper.pdf) The boat is blue.")
        wait_for(lambda: "is blue" in page(f"{address}?q=boat&mode=keyword"))
        said = end_as_a_terminal_does(process)
    assert said == "Stopped\n"
    assert_nothing_ran(folder)


def test_the_first_run_imports_nothing_of_the_folder(first_run):
    assert first_run.foreign_modules_that_ran() == []


@pytest.mark.parametrize("how", ["console script", "without scripts", "without scripts on 3.10"])
def test_an_installed_entry_imports_nothing_of_the_folder(folder, monkeypatch, how):
    if how != "console script":
        monkeypatch.setattr(processes, "installed_script", lambda name: None)
    if how.endswith("3.10"):
        monkeypatch.setattr(processes.sys, "version_info", (3, 10))
    options = [f"--sidecar={folder / 'notes.db'}"]
    [(_, _, content)] = install.files("claude-code", None, None, options)
    entry = json.loads(content)["mcpServers"]["notes"]

    async def titles() -> list[str]:
        parameters = StdioServerParameters(
            command=entry["command"], args=entry["args"], cwd=folder, env=dict(os.environ)
        )
        async with Client(parameters) as client:
            found = await client.call_tool("search_notes", {"query": "water from above"})
            return [note["title"] for note in found.structured_content["notes"]]

    assert "Cabin" in asyncio.run(titles())
    assert_nothing_ran(folder)


@contextmanager
def running(folder: Path, command: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command as a terminal does, in a process group of its own."""
    with subprocess.Popen(
        [DATASETTE, *command.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def end_as_a_terminal_does(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; return what the command says then."""
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE)
    return said


def page(address: str) -> str:
    with urllib.request.urlopen(address, timeout=PATIENCE) as response:
        return response.read().decode()
