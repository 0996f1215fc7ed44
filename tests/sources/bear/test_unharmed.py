"""Another program that keeps writing, as Bear does, never notices us.

Tests that take minutes are in tests/stress/bear_writes.py.
"""

import pytest

from tests.stress.bear_writes import COMMANDS, SERVE, measure, traces
from tests.stress.commands import Commands

# Seconds that the third slowest of a few hundred writes may take. The limit is far above the usual
# time, because a busy machine can delay anything.
LARGEST_DELAY = 0.5


@pytest.fixture(scope="module")
def run():
    """Run commands, each in its own process, without importing everything each time."""
    with Commands() as commands:
        yield lambda command: commands.run(*command[3:])


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_no_write_of_bears_is_lost_or_fails_while_it_is_indexed(tmp_path, run, journal):
    measured = measure(tmp_path, journal, "bear-index", notes=300, seconds=1.0, rounds=1, run=run)
    assert measured.runs >= 4
    assert len(measured.read) > 50
    assert measured.failures == []
    assert measured.delay < LARGEST_DELAY


def test_no_write_of_bears_is_lost_or_fails_while_it_is_served(tmp_path, run):
    options = {"notes": 100, "seconds": 1.0, "rounds": 1, "run": run}
    measured = measure(tmp_path, "delete", SERVE, **options)
    assert len(measured.read) > 50
    assert measured.failures == []


@pytest.mark.parametrize(
    ("journal", "bear_is_open", "commands"),
    [
        ("delete", True, COMMANDS),
        ("wal", True, ("bear-doctor",)),
        ("wal", False, ("bear-doctor",)),
    ],
)
def test_nothing_in_bears_folder_is_made_or_changed(tmp_path, run, journal, bear_is_open, commands):
    left = traces(tmp_path, journal, bear_is_open=bear_is_open, commands=commands, run=run)
    assert left == []
