"""Eight clients search over HTTP while the index is written.

Run: python -m tests.stress.searchers [--seconds 60] [--notes 120]

The index is updated, rebuilt and given another model, and runs are killed in the middle of commits,
again and again. No client may get an error or a message about a lock, or see an incomplete note.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.stress.commands import REPOSITORY, Commands
from tests.stress.kill import SCENARIOS, Moment, Place
from tests.stress.models import OTHER

CLIENTS = 8

ASKED = (
    "/-/bear-search.json?q=garden",
    "/-/bear-search.json?q=apple+saw&mode=semantic",
    "/-/bear-search.json?q=note7&mode=keyword",
    "/-/bear-search.json?q=candle+mortgage&_size=50",
    "/-/bear-search?q=roof+garden",
    "/-/bear-search",
)

# Parts of messages about problems in responses with status 200.
_BAD = ("database is locked", "can't be read", "no such table", "malformed", "readonly")


@dataclass
class Seen:
    """The observations of the clients."""

    milliseconds: list[float] = field(default_factory=list)
    reloaded: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # from the database, in the server
    found: Counter[str] = field(default_factory=Counter)  # notes found, by path
    failures: list[str] = field(default_factory=list)


@contextmanager
def served(sidecar: Path, seen: Seen) -> Iterator[str]:
    """Serve the index on this machine and yield the URL; record errors from the database."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.stress.searchers", "--serve", str(sidecar), str(port)]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log) as server,
    ):
        try:
            _wait_for(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            log.seek(0)
            said = log.read().decode().splitlines()
            seen.errors.update(line for line in said if line.startswith("refused: "))
            # No search may meet a lock, not even if it was retried successfully.
            seen.failures += [line for line in said if "locked" in line]


def search_all_the_time(address: str, place: Place, seen: Seen, end: threading.Event) -> None:
    """Act as one client."""
    rng = random.Random(threading.get_ident())
    while not end.is_set():
        path = rng.choice(ASKED)
        started = time.perf_counter()
        try:
            text = _text(address + path)
            if text is None:  # a run was just killed: a person would reload the page
                seen.reloaded += 1
                text = _text(address + path)
            assert text is not None, "can't be read twice in a row"
        except urllib.error.HTTPError as error:
            seen.failures.append(f"{path}: {error.code}: {error.read().decode()[:300]}")
            continue
        except (AssertionError, OSError) as error:
            seen.failures.append(f"{path}: {error}")
            continue
        seen.milliseconds.append((time.perf_counter() - started) * 1000)
        seen.failures += [f"{path}: says {words!r}" for words in _BAD if words in text]
        if ".json" in path:
            answer = json.loads(text)
            seen.found[path] += len(answer["rows"])
            seen.failures += [
                f"{path}: half a note: {row}"
                for row in answer["rows"]
                if (row["title"], frozenset(row["tags"])) not in place.titles_and_tags
            ]


def _text(address: str) -> str | None:
    """Return the text of a response; None if the index can't be read right now."""
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return None
        raise


def check(
    place: Place, *, seconds: float, kills: bool = True, clients: int = CLIENTS
) -> tuple[Seen, int]:
    """Search and index at once; return the observations and the number of runs."""
    seen, end, runs = Seen(), threading.Event(), 0
    place.set_up(SCENARIOS[1])
    with served(place.sidecar, seen) as address:
        threads = [
            threading.Thread(target=search_all_the_time, args=(address, place, seen, end))
            for _ in range(clients)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + seconds
        kinds = (
            (),
            ("--rebuild",),
            ("--model", OTHER, "--yes"),
            (),
            ("--model", "test/tiny", "--yes"),
        )
        for number, arguments in enumerate(itertools.cycle(kinds)):
            if time.monotonic() > deadline:
                break
            place.use(("old", "new")[number % 2])
            if kills and number % 3 == 2:
                killed = Moment(random.Random(number).uniform(0.1, 1.5), in_commit=True)
                place.index(arguments, killed)
            ended = place.index(arguments)
            if ended.status:
                seen.failures.append(f"bear-index {' '.join(arguments)}: {ended}")
            runs += 1
        end.set()
        for thread in threads:
            thread.join()
    return seen, runs


def _wait_for(port: int, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/-/bear-search.json?{urlencode({'q': 'a'})}"
            ):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server didn't start")


def _serve(sidecar: str, port: int) -> None:
    import uvicorn
    from datasette.app import Datasette
    from datasette.database import Database

    from tests.stress import models

    models.register()
    execute_fn = Database.execute_fn

    async def telling(self: Database, function: Any) -> Any:
        try:
            return await execute_fn(self, function)
        except Exception as error:
            print("refused:", error, flush=True)
            raise

    Database.execute_fn = telling
    # A high limit, because the machine is busy on purpose and times aren't tested here.
    datasette = Datasette([sidecar], settings={"sql_time_limit_ms": 20_000})
    uvicorn.run(datasette.app(), host="127.0.0.1", port=port, log_level="warning")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--notes", type=int, default=120)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return _serve(arguments.serve[0], int(arguments.serve[1]))
    with tempfile.TemporaryDirectory() as folder, Commands() as commands:
        seen, runs = check(
            Place(Path(folder), commands, arguments.notes), seconds=arguments.seconds
        )
    times = sorted(seen.milliseconds)
    print(
        "| searches | runs of bear-index meanwhile | p50 ms | p99 ms | longest ms | reloaded "
        "| failures |"
    )
    print("|---|---|---|---|---|---|---|")
    shares = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99, 1)]
    numbers = " | ".join(f"{milliseconds:.0f}" for milliseconds in shares)
    print(f"| {len(times)} | {runs} | {numbers} | {seen.reloaded} | {len(seen.failures)} |\n")
    for line, count in Counter(seen.failures).most_common(20):
        print(f"{count} times: {line}")
    print("Notes found:", dict(seen.found))
    print("Refused by the database:", dict(seen.errors))
    sys.exit(bool(seen.failures) or not all(seen.found[path] for path in ASKED if ".json" in path))


if __name__ == "__main__":
    main()
