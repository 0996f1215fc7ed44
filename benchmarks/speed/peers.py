"""How fast other programs search the same notes.

    python -m benchmarks.speed.peers --folder FOLDER [--write]

Runs the queries of query_time on the same notes with dogsheep-beta 0.11, QMD 2.8.3 and our search
in turns. Prints a table in Markdown for each size, with the median and the 95th percentile in
milliseconds, and the share of queries without results:

- "warm": in a running process with an open index; ours is the whole search, by words or by words
  and meaning, for 20 notes; dogsheep-beta's is the SQL of its page, for 100 rows; QMD's is
  ``searchLex`` of its library, for 20 documents;
- "page": a response over HTTP from a running server: our JSON and our page, dogsheep-beta's page
  with its counts and facets;
- "command": a new process for each query: ``datasette bear-search --mode keyword`` and ``qmd
  search``.

QMD's models aren't available from a package registry, so only its search by words is measured. Both
programs are installed into FOLDER if they are missing, which needs the network, Python's venv and
npm. Queries with filters are left out, because neither program supports them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.lib.measuring import cell, publish, summary, table, timed, write_json
from benchmarks.lib.servers import serving
from benchmarks.lib.synthetic_vectors import register
from benchmarks.lib.workload import workload
from benchmarks.speed.scale import scaled_sidecar
from datasette_bear_search.index.file import database
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.request import read_request
from datasette_bear_search.web.api.openapi import SEARCH_PATH

SIZES = (1_000, 10_000)
QUERIES = 10
DOGSHEEP = "dogsheep-beta==0.11"
QMD = ("@tobilu/qmd@2.8.3", "node@22")
WARM_UP = 1
# Queries of each kind for the commands, as starting a process for each one takes long.
COMMANDS = 2
FILES_A_FOLDER = 1000

Way = Callable[[str], tuple[float, int | None]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="notes")
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each kind")
    parser.add_argument("--without", nargs="+", choices=["dogsheep-beta", "qmd"], default=[])
    parser.add_argument("--no-plot", action="store_true", help="where matplotlib isn't installed")
    arguments = parser.parse_args()
    measured = []
    for size in arguments.sizes:
        measured.append(measure(arguments.folder, size, arguments.queries, arguments.without))
        print(report(measured[-1]), flush=True)
    path = arguments.folder / "peers.json"
    write_json(path, measured)
    if not arguments.no_plot:
        from benchmarks.lib.plots import plot_peers

        plot_peers(path, path.with_suffix(".png"))


def measure(folder: Path, size: int, count: int, without: list[str]) -> dict[str, Any]:
    """Return the numbers of one library, by the way of searching it."""
    path = scaled_sidecar(folder, size).resolve()
    with ExitStack() as opened:
        connection = opened.enter_context(open_sidecar(path))
        ways: dict[str, Way] = opened.enter_context(ours(folder, path))
        if "dogsheep-beta" not in without:
            ways |= opened.enter_context(dogsheep(folder, path))
        if "qmd" not in without:
            ways |= opened.enter_context(qmd(folder, path))
        asked = [query for query in workload(connection, count + WARM_UP) if ":" not in query.text]
        kinds = list(dict.fromkeys(query.kind for query in asked))
        warm_up, some = WARM_UP * len(kinds), COMMANDS * len(kinds)
        times: dict[str, list[float]] = defaultdict(list)
        found: dict[str, list[int]] = defaultdict(list)
        for number, query in enumerate(asked):
            for name, way in ways.items():
                if "command" in name and number >= warm_up + some:
                    continue
                milliseconds, rows = way(query.text)
                if number >= warm_up:
                    times[name].append(milliseconds)
                    if rows is not None:
                        found[name].append(rows)
    return {
        "notes": size,
        "ways": {
            name: {
                **summary(times[name]),
                "queries": len(times[name]),
                "nothing_found": _share_of_zeros(found[name]),
            }
            for name in ways
        },
    }


def report(measured: dict[str, Any]) -> str:
    """Return the numbers of one library as a table."""
    rows = [
        [
            name,
            cell(numbers),
            numbers["queries"],
            "" if numbers["nothing_found"] is None else f"{numbers['nothing_found']:.0%}",
        ]
        for name, numbers in measured["ways"].items()
    ]
    head = ["", "p50 / p95 ms", "queries", "nothing found"]
    return f"\n{measured['notes']:,} notes\n\n{table(head, rows)}"


@contextmanager
def ours(folder: Path, path: Path) -> Iterator[dict[str, Way]]:
    """Return the ways to run our search."""
    embedder = register(folder)
    with open_sidecar(path) as connection, serving([path], synthetic=folder) as server:

        def searched(mode: str) -> Way:
            def way(text: str) -> tuple[float, int]:
                request = read_request({"q": [text], "mode": [mode]})
                embedder.embed_query(plan(connection, request.query).terms.meaning)
                milliseconds, answer = timed(lambda: search(connection, request))
                return milliseconds, answer.results.total

            return way

        def over_http(suffix: str) -> Way:
            def way(text: str) -> tuple[float, None]:
                return timed(lambda: server.get(f"{SEARCH_PATH}{suffix}", q=text))[0], None

            return way

        def command(text: str) -> tuple[float, None]:
            run = [sys.executable, "-m", "datasette", "bear-search", "--sidecar", str(path)]
            return _run([*run, "--mode", "keyword", text]), None

        yield {
            "ours, words, warm": searched("keyword"),
            "ours, words and meaning, warm": searched("auto"),
            "ours, JSON": over_http(".json"),
            "ours, page": over_http(""),
            "ours, words, command": command,
        }


@contextmanager
def dogsheep(folder: Path, path: Path) -> Iterator[dict[str, Way]]:
    """Return the ways to search with dogsheep-beta."""
    home = (folder / "dogsheep-beta").resolve()
    python = home / "bin" / "python"
    if not (home / "bin" / "dogsheep-beta").exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", DOGSHEEP], check=True)
    index, config = path.with_suffix(".dogsheep.db"), path.with_suffix(".dogsheep.json")
    sql = "select key, title, created as timestamp, body as search_1, 1 as category from notes"
    config.write_text(json.dumps({str(path): {"note": {"sql": sql}}}))
    if not _is_newer(index, path):
        index.unlink(missing_ok=True)
        subprocess.run([home / "bin" / "dogsheep-beta", "index", index, config], check=True)
    metadata = path.with_suffix(".dogsheep-metadata.json")
    settings = {"database": index.stem, "config_file": str(config)}
    metadata.write_text(json.dumps({"plugins": {"dogsheep-beta": settings}}))
    worker = Path(__file__).with_name("peer_dogsheep.py").resolve()
    with (
        _worker([str(python), "-I", str(worker), str(index)]) as way,
        serving([index], "--metadata", str(metadata), python=python) as server,
    ):

        def page(text: str) -> tuple[float, None]:
            return timed(lambda: server.get("/-/beta", q=text))[0], None

        yield {"dogsheep-beta, warm": way, "dogsheep-beta, page": page}


@contextmanager
def qmd(folder: Path, path: Path) -> Iterator[dict[str, Way]]:
    """Return the ways to search with QMD."""
    home = (folder / "qmd").resolve()
    node = home / "node_modules" / ".bin" / "node"
    if not node.exists():
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", home, *QMD], check=True)
    notes = path.with_suffix(".markdown").resolve()
    if not notes.exists():
        write_markdown(path, notes)
    index = path.with_suffix(".qmd.sqlite").resolve()
    script = Path(__file__).with_name("peer_qmd.mjs")
    with _worker([str(node), str(script), str(home), str(index), str(notes)], greets=True) as way:
        launcher = home / "node_modules" / "@tobilu" / "qmd" / "bin" / "qmd"
        places = {"XDG_CACHE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}

        def command(text: str) -> tuple[float, None]:
            environment = {**os.environ, **places, "INDEX_PATH": str(index)}
            environment["PATH"] = f"{node.parent}{os.pathsep}{environment['PATH']}"
            return _run([str(node), str(launcher), "search", text, "-n", "20"], environment), None

        yield {"QMD, words, warm": way, "QMD, words, command": command}


def write_markdown(path: Path, folder: Path) -> None:
    """Write the notes of a sidecar as Markdown files."""
    with closing(database.connect(path)) as connection:
        for note_id, title, body in connection.execute("select id, title, body from notes"):
            place = folder / str(note_id // FILES_A_FOLDER)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"note-{note_id}.md").write_text(f"# {title}\n\n{body}\n", encoding="utf-8")


@contextmanager
def _worker(command: list[str], *, greets: bool = False) -> Iterator[Way]:
    """Run a process that reads a query per line and prints milliseconds and the number of rows.

    :param greets: whether it prints a line when it is ready
    """
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    sent, received = process.stdin, process.stdout

    def way(text: str) -> tuple[float, int]:
        sent.write(f"{text}\n")
        sent.flush()
        milliseconds, rows = json.loads(received.readline())
        return milliseconds, rows

    try:
        if greets and not received.readline():
            raise SystemExit(f"{command[1]} stopped before it was asked anything.")
        yield way
    finally:
        sent.close()
        process.wait()


def _run(command: list[str], environment: dict[str, str] | None = None) -> float:
    def run() -> None:
        subprocess.run(
            command,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    return timed(run)[0]


def _is_newer(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime > source.stat().st_mtime


def _share_of_zeros(counts: list[int]) -> float | None:
    return round(counts.count(0) / len(counts), 3) if counts else None


if __name__ == "__main__":
    publish(main, __file__)
