"""Fifty clients at once.

Run: python -m tests.stress.load --folder FOLDER [--clients 50] [--seconds 60] [--notes 10000]

A Datasette serves an index of so many notes (made in FOLDER once, by benchmarks.speed.scale). The
clients, threads of one process, send requests over HTTP, each as soon as it has the last response.
No response may be an error, and the server's memory must not grow. Then a few clients send the same
requests while a run of bear-index changes the index, and while the bundled model is loaded, to
measure how long anybody waits.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import quote_plus

from benchmarks.lib.servers import HOST, Server, serving
from benchmarks.lib.synthetic_text import real_words
from benchmarks.speed import scale

# Kinds of requests with their frequencies: mostly pages, some with filters or sorted, and requests
# that a page's scripts send.
KINDS: dict[str, tuple[int, Callable[[str, int], str]]] = {
    "page": (6, lambda words, note: f"/-/bear-search?q={words}"),
    "page, keyword": (2, lambda words, note: f"/-/bear-search?q={words}&mode=keyword"),
    "JSON, hybrid": (4, lambda words, note: f"/-/bear-search.json?q={words}"),
    "JSON, semantic": (2, lambda words, note: f"/-/bear-search.json?q={words}&mode=semantic"),
    "JSON, phrase": (1, lambda words, note: f"/-/bear-search.json?q=%22{words}%22"),
    "JSON, mistyped": (1, lambda words, note: f"/-/bear-search.json?q={words}x"),
    "JSON, filtered": (2, lambda words, note: f"/-/bear-search.json?q={words}+created%3A2023"),
    "newest": (1, lambda words, note: "/-/bear-search?sort=newest"),
    "suggestions": (2, lambda words, note: f"/-/bear-search/suggest.json?q={words[:3]}"),
    "note": (2, lambda words, note: f"/-/bear-search/note/{note}?q={words}"),
    "similar": (1, lambda words, note: f"/-/bear-search/similar/{note}.json"),
}

# Megabytes by which a warm server may grow until the end.
MAY_GROW_MB = 60


@dataclass
class Seen:
    """The observations of the clients."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, milliseconds: float) -> None:
        self.milliseconds.setdefault(kind, []).append(milliseconds)

    @property
    def all(self) -> list[float]:
        return sorted(each for times in self.milliseconds.values() for each in times)


class Clients:
    """Clients that send a request as soon as they have the response to the last one."""

    def __init__(self, port: int, words: list[str], notes: int, seed: int = 1) -> None:
        self._port, self._words, self._notes, self._seed = port, words, notes, seed

    def ask_for(self, count: int, until: Callable[[], bool]) -> Seen:
        """Let ``count`` clients send requests until ``until()`` is true."""
        seen = Seen()
        threads = [
            threading.Thread(target=self._be_one, args=(number, seen, until))
            for number in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return seen

    def _be_one(self, number: int, seen: Seen, until: Callable[[], bool]) -> None:
        rng = random.Random(self._seed * 1000 + number)
        kinds, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
        connection = HTTPConnection(HOST, self._port, timeout=120)
        while not until():
            [kind] = rng.choices(kinds, weights)
            words = quote_plus(" ".join(rng.choices(self._words, k=rng.randint(1, 3))))
            path = KINDS[kind][1](words, rng.randint(1, self._notes))
            started = time.perf_counter()
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, HTTPException) as error:
                seen.failures[f"{kind}: {type(error).__name__}: {error}"] += 1
                connection.close()
                continue
            seen.add(kind, (time.perf_counter() - started) * 1000)
            if answer.status != 200:
                seen.failures[
                    f"{kind}: {answer.status}: "
                    f"{' '.join(body.decode(errors='replace').split())[:200]}"
                ] += 1
            elif b"can&#39;t be read" in body or b"only these notes contain the text" in body:
                seen.failures[f"{kind}: says that something is wrong"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--only", choices=("load", "index", "model"), action="append")
    arguments = parser.parse_args()
    parts = arguments.only or ["load", "index", "model"]
    failed: Counter[str] = Counter()
    if {"load", "index"} & set(parts):
        path = scale.scaled_sidecar(arguments.folder, arguments.notes)
        words = common_words()
    if "load" in parts:
        failed += under_load(path, words, arguments)
    if "index" in parts:
        failed += while_indexing(path, words, arguments)
    if "model" in parts:
        failed += while_loading(arguments.folder)
    for line, count in failed.most_common(20):
        print(f"{count} times: {line}")
    sys.exit(bool(failed))


def common_words() -> list[str]:
    """Return common and rare words from notes."""
    counts: Counter[str] = Counter()
    for own in real_words().counts:
        counts.update(own)
    words = [word for word, _ in counts.most_common(4000) if word.isalpha() and len(word) > 2]
    return words[20:]


def under_load(path: Path, words: list[str], arguments: argparse.Namespace) -> Counter[str]:
    with serving([path], synthetic=arguments.folder) as server:
        clients = Clients(server.port, words, arguments.notes)
        warm = time.monotonic() + min(20.0, arguments.seconds)
        failures = clients.ask_for(arguments.clients, lambda: time.monotonic() > warm).failures
        before = memory(server)
        end = time.monotonic() + arguments.seconds
        middle: list[float] = []
        watch = threading.Thread(
            target=lambda: (time.sleep(arguments.seconds / 2), middle.append(memory(server)))
        )
        watch.start()
        clients = Clients(server.port, words, arguments.notes, seed=2)
        seen = clients.ask_for(arguments.clients, lambda: time.monotonic() > end)
        watch.join()
        after = memory(server)
    report(f"{arguments.clients} clients, {arguments.notes:,} notes", seen, arguments.seconds)
    print(
        f"Memory: {before:.0f} MB when warm, {middle[0]:.0f} MB in the middle, "
        f"{after:.0f} MB at the end\n",
        flush=True,
    )
    failures += seen.failures
    if after > before + MAY_GROW_MB:
        failures[f"the server grew from {before:.0f} to {after:.0f} MB"] += 1
    return failures


def while_indexing(path: Path, words: list[str], arguments: argparse.Namespace) -> Counter[str]:
    """Run four clients while notes are removed and added and all vectors are made again."""
    copy = path.with_name("changing.db")
    shutil.copy(path, copy)
    with serving([copy], synthetic=arguments.folder) as server:
        # Request only notes that stay: for a removed note, an error is right.
        clients = Clients(server.port, words, arguments.notes * 8 // 10)
        for kind in ("quiet", "while it is indexed"):
            ended = threading.Event()
            if kind == "quiet":
                timer = threading.Timer(10, ended.set)
                timer.start()
            else:
                command = [
                    sys.executable,
                    "-m",
                    "tests.stress.load_changes",
                    arguments.folder,
                    copy,
                ]
                process = subprocess.Popen([*map(str, command)])

                def wait(
                    process: subprocess.Popen = process, ended: threading.Event = ended
                ) -> None:
                    process.wait()
                    ended.set()

                threading.Thread(target=wait).start()
            started = time.monotonic()
            seen = clients.ask_for(4, ended.is_set)
            report(f"4 clients, {kind}", seen, time.monotonic() - started)
            if kind != "quiet" and process.returncode:
                seen.failures["the changing of the index"] += 1
    copy.unlink()
    return seen.failures


def while_loading(folder: Path) -> Counter[str]:
    """Search the sample notes from the first second on, while the bundled model is loaded."""
    demo = folder / "demo"
    if not (demo / "notes.db").exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "datasette",
                "bear-demo",
                "--no-serve",
                "--directory",
                str(demo),
            ],
            check=True,
        )
    failures: Counter[str] = Counter()
    # Without an ONNX export ("light model"), loading is as slow as it gets.
    empty = folder / "empty-cache"
    for name, cache in (("light model", None), ("whole model", str(empty))):
        shutil.rmtree(empty, ignore_errors=True)
        environment = {"XDG_CACHE_HOME": cache} if cache else {}
        previous = {key: os.environ.get(key) for key in environment}
        os.environ.update(environment)
        try:
            failures += _while_loading(demo / "notes.db", name)
        finally:
            for key, value in previous.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value
    return failures


def _while_loading(path: Path, name: str) -> Counter[str]:
    failures: Counter[str] = Counter()
    with serving([path]) as server:
        waits, loaded = [], threading.Event()

        def wait_for_meaning() -> None:
            # JSON waits for the model, so the response means that it is loaded.
            started = time.perf_counter()
            connection = HTTPConnection(HOST, server.port, timeout=300)
            connection.request("GET", "/-/bear-search.json?q=apple+tree")
            retrievers = json.loads(connection.getresponse().read())["query"]["retrievers"]
            if "semantic" not in retrievers:
                failures[f"JSON didn't wait for the {name}: {retrievers}"] += 1
            waits.append(time.perf_counter() - started)
            loaded.set()

        thread = threading.Thread(target=wait_for_meaning)
        thread.start()
        times = []
        with suppress(HTTPException):
            while not loaded.is_set():
                for address in ("/-/bear-search?q=apple+tree", "/-/bear-search/suggest.json?q=app"):
                    started = time.perf_counter()
                    status, _ = server.get(address)
                    times.append((time.perf_counter() - started) * 1000)
                    if status != 200:
                        failures[f"{address}: {status}"] += 1
        thread.join()
    times.sort()
    print(
        f"While the {name} is loaded ({waits[0]:.1f} s): {len(times)} answers, "
        f"median {times[len(times) // 2]:.0f} ms, "
        f"longest {times[-1]:.0f} ms",
        flush=True,
    )
    return failures


def memory(server: Server) -> float:
    """Return the server's resident memory in megabytes."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("How much memory a process has is read from /proc, so on Linux only.")


def report(title: str, seen: Seen, seconds: float) -> None:
    print(
        f"\n{title}: {len(seen.all)} answers, {len(seen.all) / seconds:.1f} a second, "
        f"{sum(seen.failures.values())} failures\n"
    )
    print("| | answers | p50 ms | p99 ms | longest ms |\n|---|---|---|---|---|")
    for kind, times in [("all", seen.all), *seen.milliseconds.items()]:
        times = sorted(times)
        shares = (times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99, 1))
        print(f"| {kind} | {len(times)} | {' | '.join(f'{each:.0f}' for each in shares)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
