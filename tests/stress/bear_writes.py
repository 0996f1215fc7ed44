"""A Bear that writes constantly while all commands read.

Run: python -m tests.stress.bear_writes [--notes 2000] [--seconds 4]

No write may be lost or fail, or (at the 99th percentile) take more than 50 ms longer because of us,
and nothing in Bear's folder may be created or changed. Two Bears write to two libraries, and a
command reads neither, one or the other in turn, so that each library is the control for the other
under the same load.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.stress.commands import Ended
from tests.stress.simulated_bear import REPOSITORY, SimulatedBear
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, folder_state

# A memory file system: on a disk, other programs' use would drown out the measurements.
MEMORY = Path("/dev/shm")

JOURNALS = ("delete", "wal")
LARGEST_DELAY = 0.050
SERVE = "bear-serve --no-open --port 0"
COMMANDS = ("bear-index", SERVE, "bear-doctor", "bear-index --list")


@dataclass
class Measured:
    """How a command that read one library, then the other, affected the two Bears."""

    journal: str
    command: str
    # Seconds per write: without a command, while the command read the other Bear's library, and
    # while it read this Bear's.
    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    runs: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def delay(self) -> float:
        """Seconds by which the 99th percentile of writes rose while their library was read.

        The baseline isn't the time without any command: when two processors run eight tasks, a
        ninth delays all of them.
        """
        return percentile(self.read) - percentile(self.beside)

    def problems(self) -> list[str]:
        found = list(self.failures)
        if self.delay > LARGEST_DELAY:
            found.append(f"Bear waits {self.delay * 1000:.0f} ms longer")
        return [f"{self.command}, journal {self.journal}: {problem}" for problem in found]


def percentile(times: list[float], share: float = 0.99) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


class Library:
    """A library and its index."""

    def __init__(self, folder: Path, notes: int) -> None:
        self.path = folder / "bear" / "database.sqlite"
        self.sidecar = folder / "index" / "notes.db"
        self.path.parent.mkdir(parents=True)
        bear_library(self.path, big_library(notes))

    def command(self, words: str) -> list[str]:
        command = [
            sys.executable,
            "-m",
            "datasette",
            *words.split(),
            "--sidecar",
            str(self.sidecar),
        ]
        return command + ["--no-semantic"] * (words == "bear-index")


def run_alone(command: list[str]) -> Ended:
    """Run a command in a fresh process."""
    ended = subprocess.run(command, **_quietly())
    return Ended(ended.returncode, 0.0, ended.stdout)


Run = Callable[[list[str]], Ended]


def measure(
    folder: Path,
    journal: str,
    command: str,
    *,
    notes: int,
    seconds: float,
    rounds: int,
    pause: float = 0.005,
    run: Run = run_alone,
) -> Measured:
    """Let two Bears write while the command reads neither library, one or the other in turn."""
    measured = Measured(journal, command)
    libraries = [Library(folder / name, notes) for name in ("one", "other")]
    spans: list[tuple[float, float, Library | None]] = []
    with ExitStack() as bears:
        writing_bears = [
            bears.enter_context(SimulatedBear(library.path, journal, pause))
            for library in libraries
        ]
        for number in range(rounds):
            for library in (None, *libraries):
                started = time.monotonic()
                if library is None:
                    time.sleep(seconds)
                else:
                    if number == 0:
                        first = [*library.command("bear-index"), str(library.path)]
                        _check(measured, run(first), first)
                    _work(measured, library.command(command), started + seconds, run)
                spans.append((started, time.monotonic(), library))
        writings = [bear.stop() for bear in writing_bears]
    for library, writing in zip(libraries, writings):
        for began, took in writing.writes:
            read = next(
                (read for start, end, read in spans if start <= began and began + took <= end), 0
            )
            if read is None:
                measured.alone.append(took)
            elif read is library:
                measured.read.append(took)
            elif read:
                measured.beside.append(took)
        measured.failures += writing.failures
        if lost := writing.lost(library.path):
            measured.failures.append(f"{lost} writes were lost")
    return measured


def _work(measured: Measured, command: list[str], until: float, run: Run) -> None:
    if "bear-serve" in command:
        _serve(measured, command, max(1.0, until - time.monotonic()))
        return
    while True:  # at least once
        _check(measured, run(command), command)
        if time.monotonic() > until:
            return


def big_library(notes: int) -> list[BearNote]:
    text = " ".join(f"word{number * 31 % 997}" for number in range(300))
    return [
        BearNote(f"# Note {number}\n\n{text}", tags=(f"tag{number % 9}",))
        for number in range(notes)
    ]


def traces(
    folder: Path,
    journal: str,
    *,
    bear_is_open: bool,
    commands: Sequence[str] = COMMANDS,
    run: Run = run_alone,
) -> list[str]:
    """Return messages about traces that commands leave in the folder of a Bear that is idle."""
    library = Library(folder, 50)
    with _idle_bear(library.path, journal, bear_is_open):
        before = inodes(library.path.parent), folder_state(library.path.parent)
        measured = Measured(journal, "")
        first = [*library.command("bear-index"), str(library.path)]
        _check(measured, run(first), first)
        for command in commands:
            _work(measured, library.command(command), time.monotonic() + 0.1, run)
        after = inodes(library.path.parent), folder_state(library.path.parent)
    if before == after:
        return measured.failures
    return [*measured.failures, f"journal {journal}: the folder was {before} and is {after}"]


def inodes(folder: Path) -> dict[str, int]:
    return {entry.name: entry.inode() for entry in os.scandir(folder)}


@contextmanager
def _idle_bear(library: Path, journal: str, is_open: bool) -> Iterator[None]:
    with SimulatedBear(library, journal, 0.002) as bear:
        time.sleep(0.3)
        bear.stop()
    if not is_open:
        yield
        return
    # This one opens the library and waits a day before it writes.
    with SimulatedBear(library, journal, 86400):
        yield


def _serve(measured: Measured, command: list, seconds: float) -> None:
    # As a shell does, because a process in the background ignores Ctrl-C, and so do its children.
    restore = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, **_quietly(), cwd=REPOSITORY, preexec_fn=restore) as server:
        assert server.stdout is not None
        # Wait for this line, because Ctrl-C during startup is handled differently.
        for line in server.stdout:
            if line.startswith("Search your notes"):
                break
        time.sleep(seconds)
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=60)
        if server.returncode or "Traceback" in output:
            measured.failures.append(f"serving ended with {server.returncode}: {output[-300:]}")
        measured.runs += 1


def _check(measured: Measured, ended: Ended, command: list) -> None:
    measured.runs += 1
    # The doctor reports missing vectors as a problem, which has nothing to do with Bear.
    is_well = ended.status == 0 or (
        "bear-doctor" in command and ended.is_clear and "busy" not in ended.output
    )
    if not is_well:
        measured.failures.append(f"{command[3]} ended with {ended.status}: {ended.output[-300:]}")


def _quietly() -> dict:
    return {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=MEMORY if MEMORY.exists() else None)
    arguments = parser.parse_args()
    problems: list[str] = []
    columns = (
        "command,journal,runs,writes,p50 alone,beside,read,p99 alone,beside,read,delay,"
        "longest beside,read"
    )
    print(f"Milliseconds that a write takes, {arguments.notes} notes\n")
    print(f"| {columns.replace(',', ' | ')} | failures |")
    print("|---" * (columns.count(",") + 2) + "|")
    for journal in JOURNALS:
        for command in COMMANDS:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                measured = measure(
                    Path(folder),
                    journal,
                    command,
                    notes=arguments.notes,
                    seconds=arguments.seconds,
                    rounds=arguments.rounds,
                )
            problems += measured.problems()
            print(_row(measured), flush=True)
        for bear_is_open in (True, False):
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                problems += traces(Path(folder), journal, bear_is_open=bear_is_open)
    print(
        "", *problems or ["Nothing was lost, and nothing in Bear's folder was touched."], sep="\n"
    )
    sys.exit(bool(problems))


def _row(measured: Measured) -> str:
    three = (measured.alone, measured.beside, measured.read)
    times = [percentile(times, share) for share in (0.5, 0.99) for times in three]
    times += [measured.delay, max(measured.beside), max(measured.read)]
    columns = [measured.command, measured.journal, measured.runs, sum(map(len, three))]
    columns += [f"{seconds * 1000:.1f}" for seconds in times]
    return f"| {' | '.join(map(str, columns))} | {len(measured.failures)} |"


if __name__ == "__main__":
    main()
