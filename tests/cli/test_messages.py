"""Every ordinary fault ends with a message that says what to do.

Damaged and foreign files, newer indexes, full disks and two runs at once are in test_killed_runs,
Bear's own file in test_readonly, configuration files in test_config.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import ANY

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.index.file import schema
from datasette_bear_search.sqlite import sqlite3
from tests.stress.commands import Commands
from tests.stress.damage import NOBODY
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.index_versions import make_older

NOTES = [BearNote(f"# Note {number}\n\nAn apple tree. {number * 'word '}") for number in range(40)]


@dataclass(frozen=True)
class Fault:
    """A command that somebody types, and the fix that the message must contain."""

    command: str  # uses the index unless it names another one
    fix: str
    status: int = 1


FAULTS = {
    "no library": Fault("bear-index {folder}/no/database.sqlite", "give the PATH"),
    "no folder": Fault("bear-index {folder}/no", "Check the PATH"),
    "no index to search": Fault(
        "bear-search apple --sidecar {new}", "datasette bear-index --sidecar {new}", 2
    ),
    "no index to measure": Fault("bear-eval --sidecar {new}", "datasette bear-index"),
    "nothing to search for": Fault("bear-search", "Enter words, a question or a filter", 2),
    "a date": Fault("bear-search apple --modified-after soon", "such as 2024", 2),
    "a mode": Fault("bear-search apple --mode fast", "'keyword'", 2),
    "an option": Fault("bear-search apple --limt 3", "Did you mean", 2),
    "a number": Fault("bear-search apple --balance 7", "from 0 to 1", 2),
    "a reranker": Fault("bear-search apple --rerank best", "one of cross-encoder", 2),
    "a note": Fault("bear-search --similar 999", "Each search result shows its id", 2),
    "a source": Fault("bear-index --only bare", "Did you mean bear?"),
    "a place for the index": Fault(
        "bear-index {library} --sidecar /proc/no/notes.db", "Choose another place with --sidecar"
    ),
    "a place for sample notes": Fault(
        "bear-demo --no-serve --directory /proc/no", "Choose another folder with --directory"
    ),
    "no configuration": Fault("bear-index --config {folder}/no.yaml", "Check --config"),
    "no YAML": Fault("bear-index --config {folder}/bad.yaml", "Check the indentation"),
    "a folder that is not UTF-8": Fault("bear-index {folder}/caf\udce9", "Rename"),
    "an index that is not UTF-8": Fault(
        "bear-search apple --sidecar {folder}/caf\udce9.db", "Choose another place", 2
    ),
    "a new index that is not UTF-8": Fault(
        "bear-index {library} --sidecar {folder}/caf\udce9.db", "Choose another place"
    ),
    "no UTF-8": Fault("bear-index --config {folder}/latin.yaml", "how your editor saves it"),
    "a port": Fault("bear-serve --no-open --port {port}", "Choose another with --port"),
    "no model": Fault("bear-index --model {folder}/no", "Give --model the path of one"),
    "an older index to search": Fault(
        "bear-search apple --sidecar {older}", "bring it up to date", 2
    ),
    "an older index to measure": Fault("bear-eval --sidecar {older}", "datasette bear-index"),
}
# These import sentence-transformers, which reads the environment on import.
MODEL_FAULTS = {
    "a broken model": Fault(
        "bear-index --model {folder}/broken", "choose another one with --model"
    ),
    "no internet": Fault(
        "bear-index --model a/model",
        "datasette bear-index --model sentence-transformers/all-MiniLM-L6-v2",
    ),
}


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with pytest.MonkeyPatch.context() as patch:
        # Nothing listens at this URL, as if the computer had no internet.
        patch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        with Commands() as commands:
            yield commands


@pytest.fixture(scope="module")
def places(commands) -> Iterator[dict[str, object]]:
    """Create the files for the commands, in a folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "bear").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    (folder / "bad.yaml").write_text("sources:\n- location: [\n")
    (folder / "latin.yaml").write_bytes("sources: [caf\xe9]".encode("latin-1"))
    library = bear_library(folder / "bear" / "database.sqlite", NOTES)
    index = folder / "notes.db"
    assert commands.run("bear-index", library, "--sidecar", index).status == 0
    make_older(Path(shutil.copy(index, folder / "older.db")))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield {
            "folder": folder,
            "library": library,
            "index": index,
            "new": folder / "new.db",
            "older": folder / "older.db",
            "port": taken.getsockname()[1],
        }
    shutil.rmtree(folder)


def words_of(fault: Fault, places: dict[str, object]) -> list[str]:
    words = [word.format(**places) for word in fault.command.split()]
    if "--sidecar" not in words and "bear-demo" not in words:
        words += ["--sidecar", str(places["index"])]
    return words


def assert_is_clear(status: int, output: str, fix: str, expected_status: int = 1) -> None:
    output = " ".join(output.split())
    assert status == expected_status, output
    assert "Traceback" not in output
    assert fix.lower() in output.lower(), output


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_error_message_says_what_fixes_it(places, fault):
    result = CliRunner().invoke(cli, words_of(fault, places))
    assert isinstance(result.exception, SystemExit), result.exc_info
    assert_is_clear(result.exit_code, result.output, fault.fix.format(**places), fault.status)
    assert not places["new"].exists()


@pytest.mark.parametrize("fault", MODEL_FAULTS.values(), ids=MODEL_FAULTS)
def test_a_model_that_cannot_be_loaded_says_what_fixes_it(commands, places, fault):
    ended = commands.run(*words_of(fault, places))
    assert_is_clear(ended.status, ended.output, fault.fix, fault.status)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("name", ["library", "index"])
def test_a_file_that_may_not_be_read_is_named(commands, places, name, tmp_path_factory):
    path, mode = places[name], places[name].stat().st_mode
    path.chmod(0)
    command = {
        "library": ("bear-index", path, "--sidecar", "/tmp/nobodys-notes.db"),
        "index": ("bear-search", "apple", "--sidecar", path),
    }[name]
    try:
        ended = commands.run(*command, user=NOBODY)
    finally:
        path.chmod(mode)
        for left in Path("/tmp").glob("nobodys-notes.db*"):
            left.unlink()
    assert_is_clear(ended.status, ended.output, "permissions", 1 if name == "library" else 2)


@pytest.mark.parametrize("bytes_left", [4096, 50_000])
@pytest.mark.parametrize(
    "command",
    ["bear-index {library} --sidecar {new}", "bear-demo --no-serve --directory {folder}/demo"],
)
def test_a_full_disk_is_named_in_the_message(commands, places, command, bytes_left):
    words = [word.format(**places) for word in command.split()]
    ended = commands.run(*words, largest_file=bytes_left)
    places["new"].unlink(missing_ok=True)
    assert_is_clear(ended.status, ended.output, "free some space")


def test_an_unavailable_model_leaves_the_vectors_of_the_old_one(commands, places):
    ended = commands.run(
        "bear-index", "--model", places["folder"] / "no", "--sidecar", places["index"]
    )
    assert "Until then, the index keeps the model test/tiny." in ended.output
    found = commands.run("bear-search", "apple", "--sidecar", places["index"])
    assert "by their words only" not in found.output


def test_an_assistant_is_told_that_the_index_has_an_older_version(places):
    from datasette_bear_search.agents import AgentLibrary, ToolError

    with (
        pytest.raises(ToolError, match=r"Bring it up to date.*datasette bear-index"),
        AgentLibrary(places["older"]).open(),
    ):
        pass


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize(
    "page",
    ["?q=apple", ".json?q=apple", "/similar/1", "/similar/1.json", "/suggest.json?q=apple"],
)
async def test_the_pages_of_an_older_index_say_what_to_run(places, page):
    response = await Datasette([str(places["older"])]).client.get(f"/-/bear-search{page}")
    assert response.status_code == 503
    assert "An earlier version of datasette-bear-search made it" in response.text
    assert "datasette bear-index" in response.text


@pytest.mark.parametrize(
    ("command", "seconds"),
    [("bear-index", 0.5), *(("bear-serve", seconds) for seconds in (0, 0.5, 2))],
)
def test_ctrl_c_ends_a_command_without_a_traceback(places, command, tmp_path, seconds):
    with closing(sqlite3.connect(places["index"])) as connection:
        assert schema.is_current(connection)
    index = shutil.copy(places["index"], tmp_path / "notes.db")
    # Restore the signal as a shell does, because a parent process may ignore it.
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tests.support import slow_model; from datasette.cli import cli; cli(sys.argv[1:])"
    )
    arguments = {
        "bear-index": ["bear-index", str(places["library"]), "--rebuild", "--model", "slow"],
        "bear-serve": ["bear-serve", "--no-open", "--port", "0"],
    }[command]
    begun = {"bear-index": "Embedding", "bear-serve": "Search your notes"}[command]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", script, *arguments, "--sidecar", index],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    ) as running:
        said = ""
        while begun not in said:
            line = running.stdout.readline()
            assert line, said
            said += line
        time.sleep(seconds)
        for _ in range(2):  # a terminal sends it to all processes, and people press it again
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGINT)
        said += running.stdout.read()
    assert "Traceback" not in said
    if command == "bear-index":
        says_how_to_go_on = "run datasette bear-index again to finish" in said
        # The second press may end it at once, even before it says so.
        assert (running.returncode, says_how_to_go_on) in [(1, True), (-signal.SIGINT, ANY)]
    else:
        assert running.returncode == 0
        assert said.endswith("Stopped\n")


def test_ctrl_c_ends_the_tools_server_although_stdin_is_open(places):
    # Restore the signal as a shell does, because a parent process may ignore it.
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from datasette.cli import cli; cli(sys.argv[1:])"
    )
    about = {"name": "test", "version": "1"}
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", script, "bear-mcp", "--sidecar", str(places["index"])]
    cwd = Path(__file__).parents[2]
    with subprocess.Popen(command, text=True, bufsize=1, cwd=cwd, **pipes) as running:
        try:
            running.stdin.write(json.dumps(request) + "\n")
            assert json.loads(running.stdout.readline())["id"] == 1
            running.send_signal(signal.SIGINT)
            assert running.wait(20) == 0
        finally:
            running.kill()
        assert (running.stdout.read(), running.stderr.read()) == ("", "Stopped\n")


def test_ctrl_c_that_python_ignores_while_the_server_starts_ends_it(places):
    script = """
import signal, sys
from contextlib import suppress
import uvicorn
from datasette.cli import cli

def load(config):
    with suppress(KeyboardInterrupt):  # as while it cleans up after an import
        signal.raise_signal(signal.SIGINT)
    sys.exit("went on")

uvicorn.Config.load = load
signal.signal(signal.SIGINT, signal.default_int_handler)
cli(["bear-serve", "--no-open", "--port", "0", "--sidecar", sys.argv[1]])
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(places["index"])],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ended.stdout.splitlines()[1:] == ["Stopped"]
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("call", ["bear_search('velvet tugboat')", "bear_similar(1)"])
def test_a_log_says_what_failed_and_nothing_of_notes_or_queries(call, monkeypatch, capfd):
    from datasette_bear_search.search import sql_search

    def fail(*_: object, **__: object) -> None:
        raise sqlite3.DatabaseError('fts5: syntax error near "velvet tugboat"')

    monkeypatch.setattr(sql_search, "found_notes", fail)
    monkeypatch.setattr(sql_search, "similar_notes", fail)
    with closing(sqlite3.connect(":memory:")) as connection:
        sql_search.register_search(connection)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(f"select {call}")
    said = capfd.readouterr().err
    assert f"{call.split('(')[0]}() failed: DatabaseError" in said
    assert "velvet" not in said
