"""The cost of the plugin before the first search, and of the first search.

    python -m benchmarks.speed.start_up --folder FOLDER [--write]

Prints, as medians of several fresh processes that take turns:

- the time to import the package beyond Datasette's own import, and of ``datasette --help`` with
  and without the plugin;
- for a server with the demo library (the bundled model, real vectors): the time until it responds,
  its memory before any search, after the first search by words and after the first by meaning, and
  whether torch is loaded then;
- for a cold process: the time of a search by words and of one by meaning, from the start of
  ``bear-search`` to its end;
- megabytes per 1,000 notes for the indexes in FOLDER.

The demo library's index stays in FOLDER. Other indexes there, left by query_time and scale, are
measured, too, but none is made.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.lib.measuring import publish, resident_megabytes, table, timed, write_json
from benchmarks.lib.servers import Server, serving
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.file import database
from datasette_bear_search.index.run import indexer
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.web.api.openapi import SEARCH_PATH
from tests.support.bear_database import write_demo_library

ROUNDS = 5
# Two of each: the difference shows the cost that only the first search has.
WORDS = ("composting", "insurance")
QUESTIONS = ("how do we keep mice out of the cabin", "what to do about a burn")

_IMPORTS = {
    "import datasette": "import datasette.app, datasette.plugins",
    "… and the plugin": "import datasette.app, datasette.plugins, datasette_bear_search",
}
_WITHOUT = """\
import importlib.metadata as metadata

found = metadata.distributions


def distributions(**options):
    return (one for one in found(**options) if one.metadata["Name"] != "datasette-bear-search")


metadata.distributions = distributions
from datasette.cli import cli

cli()
"""
# A plugin that lists the modules imported by the server's process.
_MODULES = """\
import sys
from datasette import hookimpl, Response


@hookimpl
def register_routes():
    return [(r"^/-/modules$", lambda: Response.json(sorted(sys.modules)))]
"""
_SCRIPT = "from datasette_bear_search.cli.search import main; main()"
_JSON = f"{SEARCH_PATH}.json"
_SEARCHES = (
    ("started", "/", {}),
    ("first search by words", _JSON, {"q": WORDS[0], "mode": "keyword"}),
    ("second search by words", _JSON, {"q": WORDS[1], "mode": "keyword"}),
    ("first search by meaning", _JSON, {"q": QUESTIONS[0]}),
    ("second search by meaning", _JSON, {"q": QUESTIONS[1]}),
)
_PAGE = (("another server: the search page", SEARCH_PATH, {}),)
_HEAVY = ("torch", "transformers", "sentence_transformers", "onnxruntime", "numpy")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--no-plot", action="store_true", help="where matplotlib isn't installed")
    arguments = parser.parse_args()
    folder, rounds = arguments.folder, arguments.rounds
    folder.mkdir(parents=True, exist_ok=True)
    demo = demo_sidecar(folder)
    measured: dict[str, Any] = {
        "seconds": {**imports(rounds), **helps(rounds)},
        "server": server(demo, rounds),
        "cold": cold(demo, rounds),
        "sizes": sizes(folder),
    }
    print(report(measured))
    path = folder / "start_up.json"
    write_json(path, measured)
    if not arguments.no_plot:
        from benchmarks.lib.plots import plot_start_up

        plot_start_up(path, path.with_suffix(".png"))


def demo_sidecar(folder: Path) -> Path:
    """Return the demo library's index with the bundled model; make it if it is missing."""
    path = folder / "demo.db"
    if not path.exists():
        library = folder / "demo.sqlite"
        write_demo_library(library)
        embedder = registry.get_embedder(BUNDLED)
        indexer.index(path, [indexer.read(BearLibrary(library))], embedder)
    return path


def imports(rounds: int) -> dict[str, float]:
    """Return the seconds that a fresh Python takes for imports."""
    return _in_turns(
        rounds,
        {
            "python": lambda: _run("-c", "pass"),
            **{name: lambda code=code: _run("-c", code) for name, code in _IMPORTS.items()},
        },
    )


def helps(rounds: int) -> dict[str, float]:
    """Return the seconds that ``datasette --help`` takes."""
    return _in_turns(
        rounds,
        {
            "datasette --help without the plugin": lambda: _run("-c", _WITHOUT, "--help"),
            "datasette --help": lambda: _run("-m", "datasette", "--help"),
        },
    )


def server(path: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """Return a server's milliseconds, resident megabytes and heavy modules at each step."""
    steps: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as plugins:
        (Path(plugins) / "modules.py").write_text(_MODULES)
        for _ in range(rounds):
            # The page starts to load the model, so it has a server of its own.
            for requests in (_SEARCHES, _PAGE):
                with serving([path], "--plugins-dir", plugins) as one:
                    for name, address, parameters in requests:
                        steps.setdefault(name, []).append(_step(one, address, parameters))
    return {
        name: {
            "ms": round(statistics.median(step["ms"] for step in taken), 1),
            "megabytes": round(statistics.median(step["megabytes"] for step in taken)),
            "modules": taken[-1]["modules"],
        }
        for name, taken in steps.items()
    }


def _step(server: Server, address: str, parameters: dict[str, str]) -> dict[str, Any]:
    milliseconds, (status, body) = timed(lambda: server.get(address, **parameters))
    if status != 200:
        raise SystemExit(f"{address} answered {status}: {body[:300]!r}")
    _, modules = server.get("/-/modules")
    return {
        "ms": milliseconds,
        "megabytes": resident_megabytes(server.process.pid),
        "modules": [module for module in _HEAVY if f'"{module}"' in modules.decode()],
    }


def cold(path: Path, rounds: int) -> dict[str, float]:
    """Return the seconds that a search in the terminal takes, and Datasette's start alone."""
    asked = {"by words": (WORDS[0], "--mode", "keyword"), "by meaning": (QUESTIONS[0],)}
    whole = ("-m", "datasette", "bear-search")
    return _in_turns(
        rounds,
        {
            "datasette --version": lambda: _run("-m", "datasette", "--version"),
            **{
                f"{name} {kind}": lambda start=start, words=words: _run(
                    *start, *words, "--sidecar", str(path)
                )
                for name, start in {
                    "bear-search": ("-c", _SCRIPT),
                    "datasette bear-search": whole,
                }.items()
                for kind, words in asked.items()
            },
        },
    )


def sizes(folder: Path) -> list[dict[str, Any]]:
    """Return the size of each index in the folder, in all and per 1,000 notes."""
    found = []
    for path in sorted(folder.glob("*.db"), key=lambda path: path.stat().st_size):
        if not re.fullmatch(r"notes-\d+|demo", path.stem) or not database.is_sidecar(path):
            continue
        with closing(database.connect(path)) as connection:
            [notes] = connection.execute("select count(*) from notes").fetchone()
            [passages] = connection.execute("select count(*) from passages").fetchone()
            [characters] = connection.execute(
                "select sum(length(title) + length(body)) from notes"
            ).fetchone()
        megabytes = path.stat().st_size / 1e6
        found.append(
            {
                "name": path.name,
                "notes": notes,
                "passages": passages,
                "megabytes": round(megabytes, 1),
                "per_1000_notes": round(megabytes / max(notes, 1) * 1000, 2),
                "times_the_text": round(megabytes * 1e6 / max(characters or 0, 1), 1),
            }
        )
    return found


def report(measured: dict[str, Any]) -> str:
    """Return the tables as text."""
    seconds = measured["seconds"]
    starts = table(["", "seconds"], [[name, f"{value:.2f}"] for name, value in seconds.items()])
    served = table(
        ["a server", "ms", "MB", "has loaded"],
        [
            [
                name,
                f"{step['ms']:,.0f}",
                step["megabytes"],
                ", ".join(step["modules"]) or "none of it",
            ]
            for name, step in measured["server"].items()
        ],
    )
    kept = table(
        ["index", "notes", "passages", "MB", "MB per 1,000 notes", "times the text"],
        [
            [one["name"], f"{one['notes']:,}", f"{one['passages']:,}", one["megabytes"],
             one["per_1000_notes"], one["times_the_text"]]
            for one in measured["sizes"]
        ],
    )  # fmt: skip
    cold = table(
        ["a cold process", "seconds"],
        [[name, f"{value:.2f}"] for name, value in measured["cold"].items()],
    )
    return "\n\n".join([starts, served, cold, kept])


def _in_turns(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(timed(work)[0] / 1000)
    return {name: round(statistics.median(taken), 3) for name, taken in times.items()}


def _run(*arguments: Sequence[str] | str) -> str:
    # Not in the current folder, whose modules would be found first.
    root = str(Path(__file__).resolve().parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout


if __name__ == "__main__":
    publish(main, __file__)
