"""Bear, as another program that writes all the time, never notices us.

What takes minutes is in tests/stress/bear_writes.py.
"""

import pytest

from tests.stress.bear_writes import COMMANDS, measure, traces
from tests.stress.commands import Commands

# Of a few hundred writes, the third slowest: on a busy machine that says little, and so this is far
# above what holds.
LARGEST_DELAY = 0.5


@pytest.fixture(scope="module")
def run():
    """Runs commands, each in its own process, but without the imports of each."""
    with Commands() as commands:
        yield lambda command: commands.run(*command[3:])


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_no_write_of_bears_is_lost_or_fails_while_it_is_indexed(tmp_path, run, journal):
    measured = measure(tmp_path, journal, "bear-index", notes=300, seconds=1.0, rounds=1, run=run)
    assert measured.runs >= 4
    assert len(measured.read) > 50
    assert measured.failures == []
    assert measured.delay < LARGEST_DELAY


def test_no_write_of_bears_is_lost_or_fails_while_it_is_watched(tmp_path, run):
    options = {"notes": 100, "seconds": 1.0, "rounds": 1, "run": run}
    measured = measure(tmp_path, "delete", "bear-index --watch", **options)
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
