"""Everything that can happen to the index file.

Run: python -m tests.stress.damage [--seed 1] [--notes 60]

Full disks, read-only folders, files that are truncated, overwritten, foreign or from a newer
version, and two runs at once. Every command must succeed or print a message that says what to do,
and files that aren't ours must stay unchanged.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

from tests.stress.commands import Commands, Ended
from tests.stress.comparing import faults, opened
from tests.stress.cross_site import bear_serve
from tests.stress.kill import SCENARIOS, Place, Scenario
from tests.support.bear_libraries import sqlite3

FRESH, INCREMENTAL = SCENARIOS[:2]

# Commands that only read the index, and commands that write it.
READING = (("bear-search", "garden"), ("bear-index", "--list"), ("bear-doctor",))
WRITING = (("bear-index",), ("bear-index", "--rebuild"))

NOBODY = 65534

DAMAGED = (
    r"delete the index and run datasette bear-index|"
    r"datasette bear-index (--sidecar \S+ )?--rebuild|rm '|not an index made by"
)
LOST_JUDGMENTS = re.compile(r"judgments: .*\[\] too many$")


def check_truncated(place: Place, lengths: int = 40, seed: int = 1) -> list[str]:
    """Check files that end too early, at page boundaries and elsewhere."""
    place.set_up(INCREMENTAL)
    size = place.sidecar.stat().st_size
    rng = random.Random(seed)
    chosen = {  # not 0: an empty file counts as no file
        1,
        16,
        69,
        99,
        100,
        511,
        1024,
        4095,
        4096,
        4097,
        8192,
        size // 2,
        size - 4096,
    }
    chosen.update(rng.randrange(size) for _ in range(lengths - len(chosen)))
    return _check_each(
        place, [(f"cut off at {length}", truncate(length)) for length in sorted(chosen)[-lengths:]]
    )


def check_overwritten(place: Place, files: int = 20, seed: int = 1) -> list[str]:
    """Check files with some pages overwritten."""
    rng = random.Random(seed)
    return _check_each(
        place,
        [(f"overwritten, number {number}", _overwrite(rng.random())) for number in range(files)],
    )


def check_foreign(place: Place) -> list[str]:
    """Check that no command changes a file that isn't ours."""
    problems = []
    for name, write in {
        "random bytes": lambda path: path.write_bytes(random.Random(1).randbytes(20_000)),
        "text": lambda path: path.write_text("Dear diary,\n" * 200),
        "one byte": lambda path: path.write_bytes(b"\n"),
        "another database": _other_database,
        "another database, half written": _half_written,
    }.items():
        for command in (*READING, *WRITING):
            place.clear()
            write(place.sidecar)
            before = _bytes(place)
            ended = place.command(*command, place.library if command == ("bear-index",) else None)
            if not _is_message(ended, "not an index made by datasette bear-index"):
                problems.append(f"{name}, {' '.join(command)}: {ended}")
            if {
                file: data for file, data in _bytes(place).items() if file != "notes.db.lock"
            } != before:
                problems.append(f"{name}, {' '.join(command)}: the file was changed")
    return problems


def check_newer(place: Place) -> list[str]:
    """Check an index made by a future version."""
    problems = []
    for command in (*WRITING, ("bear-index", "--model", "test/other", "--yes")):
        place.set_up(INCREMENTAL)
        with opened(place.sidecar) as db:
            db.execute("pragma user_version = 9999")
        before = place.sidecar.read_bytes()
        ended = place.command(*command)
        if not _is_message(ended, "newer version.*pip install -U"):
            problems.append(f"newer, {' '.join(command)}: {ended}")
        if place.sidecar.read_bytes() != before:
            problems.append(f"newer, {' '.join(command)}: the index was changed")
    for command in READING:
        ended = place.command(*command)
        if not ended.is_clear:
            problems.append(f"newer, {' '.join(command)}: {ended}")
    return problems


def check_full_disk(place: Place, sizes: int = 8) -> list[str]:
    """Check a full disk at many moments: the old content stays, and the next run does the rest."""
    problems, refused = [], 0
    for scenario in (FRESH, INCREMENTAL):
        place.set_up(INCREMENTAL)
        index = place.sidecar.stat().st_size
        for number in range(sizes):
            with _small_disk(place, scenario, round(index * (0.1 + 1.1 * number / sizes))):
                ended = place.run(scenario)
                if ended.status == 0:
                    continue
                refused += 1
                if not _is_message(ended, "no space.*Free some"):
                    problems.append(f"full disk, {scenario.name}: {ended}")
                if scenario is INCREMENTAL:
                    problems += place.problems_after_kill()
        place.set_up(scenario)
        largest = index if scenario is INCREMENTAL else index // 2
        ended = place.command("bear-index", place.library, largest_file=largest)
        if ended.status and not _is_message(ended, "full|I/O error|too large"):
            problems.append(f"largest file, {scenario.name}: {ended}")
        ended = place.run_again(scenario)
        problems += place.problems_at_the_end() if ended.status == 0 else [f"then: {ended}"]
    return problems if refused else ["no run was short of space"]


def check_served(place: Place) -> list[str]:
    """Check a server whose disk gets full and has room again, and whose index is then exchanged."""
    problems = []

    def expect(what: str, status: int, words: str, path: str, form: dict[str, str] | None = None):
        end = time.monotonic() + 120  # what failed is tried again after 30 seconds
        while (found := _requested(address + path, form))[0] != status or words not in found[1]:
            if time.monotonic() > end:
                problems.append(f"served, {what}: {found[0]} {found[1][-2000:]}")
                break
            time.sleep(1)

    save = {"search": "q=roof", "saved": "1"}
    room = 2_000_000
    with _small_disk(place, INCREMENTAL, room), bear_serve(place.sidecar) as address:
        expect("at the start", 200, '"changed": 0', "/-/bear-search/status.json")
        filler = place.sidecar.with_name("filler")
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        expect("full, saving", 503, "There is no space", "/-/bear-search/save", save)
        place.use("old")
        expect("full, indexing", 200, "There is no space", "/-/bear-search/status.json")
        expect("full, searching", 200, '"rows": [{', "/-/bear-search.json?q=roof")
        filler.unlink()
        expect("with room again, saving", 200, "roof", "/-/bear-search/save", save)
        expect("with room again", 200, '"changed": 0', "/-/bear-search/status.json")
        problems += faults(place.sidecar)
        another = shutil.copyfile(place.folder / "kept" / "new.db", f"{place.sidecar}.new")
        os.replace(another, place.sidecar)
        count = place._count("notes")
        expect("exchanged", 200, f'"notes": {count}', "/-/bear-search/status.json")
        place.sidecar.unlink()
        expect("removed", 503, "datasette bear-index", "/-/bear-search.json?q=roof")
    return problems


def _requested(url: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """Return the status and the text of a response to a person's own page."""
    data = urlencode(form).encode() if form else None
    request = urllib.request.Request(url, data, {"sec-fetch-site": "same-origin"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check_read_only(place: Place) -> list[str]:
    """Check a folder that this user may not write to."""
    problems = []
    place.set_up(INCREMENTAL)
    with _not_writable(place.sidecar):
        for command in WRITING:
            ended = place.command(*command, user=NOBODY)
            if not _is_message(ended, "can't be written.*--sidecar"):
                problems.append(f"read-only folder, {' '.join(command)}: {ended}")
        ended = place.command("bear-search", "garden", user=NOBODY)
        if ended.status or "garden" not in ended.output:
            problems.append(f"read-only folder, bear-search: {ended}")
    place.clear()
    with _not_writable(None, place.sidecar.parent):
        ended = place.command("bear-index", place.library, user=NOBODY)
        if not _is_message(ended, "can't be written.*--sidecar"):
            problems.append(f"read-only empty folder: {ended}")
    return problems


def check_two_at_once(
    place: Place, other: Commands, scenarios: Sequence[Scenario] = SCENARIOS[:3]
) -> list[str]:
    """Check two runs on one index: one does the work, and the other says so."""
    problems = []
    for scenario in scenarios:
        place.set_up(scenario)
        sources = (place.library, place.vault) if scenario is FRESH else ()
        command = ("bear-index", *scenario.arguments, *sources, "--sidecar", place.sidecar)
        for commands in (place.commands, other):
            commands.start(*command)
        ended = [commands.wait() for commands in (place.commands, other)]
        for one in ended:
            if one.status and not _is_message(
                one, "Another datasette bear-index is already writing"
            ):
                problems.append(f"two at once, {scenario.name}: {one}")
        if all(one.status for one in ended):
            problems.append(f"two at once, {scenario.name}: neither did it")
        else:
            problems += place.problems_at_the_end()
    return problems


def _check_each(place: Place, damages: list[tuple[str, Callable[[Path], None]]]) -> list[str]:
    """Run every command on an index with each kind of damage."""
    problems = []
    for name, damage in damages:
        for command in (*READING, *WRITING):
            place.set_up(INCREMENTAL)
            damage(place.sidecar)
            ended = place.command(*command)
            if not ended.is_clear:
                problems.append(f"{name}, {' '.join(command)}: {ended}")
            elif ended.status == 0 and command in WRITING:
                # The command reported success, so all must be well, or the doctor must see it.
                doctor = place.command("bear-doctor")
                found = faults(place.sidecar) or place.problems_at_the_end()
                # Judgments are stored only here, so those on an overwritten page are lost.
                found = [line for line in found if not LOST_JUDGMENTS.search(line)]
                if found and not re.search(DAMAGED, doctor.output):
                    problems.append(
                        f"{name}, {' '.join(command)}: {found} and nobody says so: {doctor}"
                    )
            elif ended.status == 1 and command in WRITING and not re.search(DAMAGED, ended.output):
                problems.append(f"{name}, {' '.join(command)}: no advice in {ended}")
    return problems


def _is_message(ended: Ended, pattern: str) -> bool:
    return (
        ended.status in (1, 2) and ended.is_clear and bool(re.search(pattern, ended.output, re.S))
    )


def truncate(length: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, length)


def _overwrite(seed: float) -> Callable[[Path], None]:
    """Overwrite up to three pages, but not the first, with random bytes, zeros or other pages."""

    def write(path: Path) -> None:
        rng = random.Random(seed)
        data = bytearray(path.read_bytes())
        pages = len(data) // 4096
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(1, pages) * 4096
            other = rng.randrange(1, pages) * 4096
            new = (rng.randbytes(4096), bytes(4096), data[other : other + 4096], rng.randbytes(64))
            page = rng.choice(new)
            data[start : start + len(page)] = page
        path.write_bytes(data)

    return write


def _other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table notes (id integer primary key, title)")
        db.execute("insert into notes values (1, 'not yours')")


def _half_written(path: Path) -> None:
    """Write a database whose program was killed during a save: only that program may repair it."""
    kill = """
import os, signal, sys
import sqlite3
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("create table notes (id integer primary key, title)")
db.execute("pragma cache_size = 1")
db.execute("begin")
db.executemany("insert into notes (title) values (?)", [("x" * 3000,)] * 300)
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", kill, path], check=False)
    assert path.with_name("notes.db-journal").read_bytes()[:1] != b"\0"


def _bytes(place: Place) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in place.sidecar.parent.iterdir()}


@contextmanager
def _small_disk(place: Place, scenario, size: int) -> Iterator[None]:
    """Put the index's folder on a disk of this size, beyond the index at the start."""
    folder = place.sidecar.parent
    start = place.folder / "kept" / f"{scenario.start}.db"
    size += start.stat().st_size if scenario.start else 0
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        place.set_up(scenario)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def can_mount() -> bool:
    """Return whether this user may mount small disks."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


@contextmanager
def _not_writable(file: Path | None, folder: Path | None = None) -> Iterator[None]:
    """Make a file or folder read-only for everybody, in folders that everybody may enter."""
    folder = folder or (file.parent if file else None)
    assert folder is not None
    above = [parent for parent in folder.parents if parent.stat().st_uid == os.getuid()]
    modes = {path: path.stat().st_mode & 0o777 for path in (folder, *above)}
    for path in above:
        if path not in (Path("/"), Path("/tmp")):
            path.chmod(0o755)
    folder.chmod(0o555)
    if file:
        file.chmod(0o444)
    try:
        yield
    finally:
        for path, mode in modes.items():
            if path not in (Path("/"), Path("/tmp")):
                path.chmod(mode)
        if file:
            file.chmod(0o600)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--notes", type=int, default=60)
    arguments = parser.parse_args()
    seed = arguments.seed
    failures = 0
    print(f"Seed {seed}\n\n| what | failures |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder, Commands() as commands, Commands() as other:
        place = Place(Path(folder), commands, arguments.notes)
        checks: dict[str, Callable[[], list[str]]] = {
            "cut off at 40 lengths": lambda: check_truncated(place, 40, seed),
            "overwritten in 40 ways": lambda: check_overwritten(place, 40, seed),
            "foreign": lambda: check_foreign(place),
            "of a newer version": lambda: check_newer(place),
            "in a folder that can't be written": lambda: check_read_only(place),
            "two runs at once": lambda: check_two_at_once(place, other),
        }
        if can_mount():
            checks["on a full disk, at 16 moments"] = lambda: check_full_disk(place)
            checks["served, on a full disk and exchanged"] = lambda: check_served(place)
        for name, check in checks.items():
            problems = check()
            failures += len(problems)
            print(f"| {name} | {len(problems)} |", flush=True)
            print(*problems, sep="\n", file=sys.stderr, flush=True)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
