"""The list of our commands among Datasette's.

Tests ``__init__.py`` and ``cli/``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli import COMMANDS, LazyCommand, output
from tests.support.bear_database import BearNote

OURS = [command for name, command in cli.commands.items() if name.startswith("bear-")]
# What a Datasette command, such as datasette --version, does with plugins' commands.
REGISTER = """
import sys
import click
import datasette_bear_search
datasette_bear_search.register_commands(click.Group())
print(*(name for name in sys.modules if name.startswith("datasette_bear_search")))
"""


def test_datasettes_other_commands_import_none_of_ours():
    command = [sys.executable, "-c", REGISTER]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["datasette_bear_search", "datasette_bear_search.cli"]


def test_commands_for_browsers_import_nothing_of_agents():
    code = "import sys, datasette_bear_search.cli.serve; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "datasette_bear_search.agents" not in found.stdout.split()


def test_datasette_lists_our_commands():
    assert [command.name for command in OURS] == list(COMMANDS)
    assert all(isinstance(command, LazyCommand) for command in OURS)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_a_command_is_listed_with_the_first_line_of_its_help(command):
    real = command.command
    assert real.name == command.name
    assert command.get_short_help_str(100) == real.get_short_help_str(100)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_errors_of_every_command_are_printable(command):
    assert isinstance(command.command, output.Command)
    with pytest.raises(click.ClickException) as raised:
        command.make_context(command.name, ["--no-\x1b[2Jsuch"])
    assert "\x1b" not in raised.value.message


def test_every_command_is_in_the_group_of_ours_too():
    assert [f"bear-{name}" for name in cli.commands["bear"].commands] == list(COMMANDS)


def test_a_command_of_the_group_answers_like_the_one_with_the_long_name():
    long, short = (
        CliRunner().invoke(cli, [*words, "--sidecar", "none.db", "roof"])
        for words in (["bear-search"], ["bear", "search"])
    )
    assert (long.exit_code, long.output) == (short.exit_code, short.output)
    assert "none.db" in short.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk without space")
@pytest.mark.parametrize(("command", "status"), [("bear-doctor", 1), ("bear-search", 2)])
def test_a_full_disk_ends_a_command_with_one_line(command, status):
    arguments = [sys.executable, "-m", "datasette", command, "--help"]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
    says = "Error: There is no space left on the disk. Free some, then run this again.\n"
    assert (ended.returncode, ended.stderr) == (status, says)


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
@pytest.mark.parametrize("command", [("bear-search", "roof"), ("bear-index",)])
def test_a_command_needs_none_of_the_standard_streams(command, index_notes):
    path = str(index_notes([BearNote("# Roof")]))
    arguments = [sys.executable, "-m", "datasette", *command, "--sidecar", path]
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *arguments]
    assert subprocess.run(closed).returncode == 0
