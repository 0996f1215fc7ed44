"""Shared by the benchmarks: times, tables, published results, and facts about the machine."""

from __future__ import annotations

import io
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy

from datasette_bear_search.sqlite import sqlite3

T = TypeVar("T")

# Published tables, each written by its script.
RESULTS = Path(__file__).resolve().parents[1] / "results"


def timed(
    function: Callable[[], T], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, T]:
    """Call the function; return the milliseconds that it took, and its result."""
    started = clock()
    result = function()
    return (clock() - started) * 1000, result


def summary(milliseconds: Iterable[float]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    p50, p95 = numpy.percentile(list(milliseconds), [50, 95])
    return {"p50": round(float(p50), 2), "p95": round(float(p95), 2)}


def cell(times: dict[str, float]) -> str:
    """Return a summary as text for a table."""
    return f"{short(times['p50'])} / {short(times['p95'])}"


def short(milliseconds: float) -> str:
    """Return a time as text for a table or a plot."""
    return f"{milliseconds:.1f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def machine() -> dict[str, Any]:
    """Return facts about this machine on which the numbers depend."""
    connection = sqlite3.connect(":memory:")
    [sqlite] = connection.execute("select sqlite_version()").fetchone()
    connection.close()
    return {
        "when": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite,
        **{
            name: _version(name)
            for name in ("datasette-bear-search", "datasette", "sqlite-vec", "numpy")
        },
        "commit": _commit(),
        # Times measured on a busy machine mean little.
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def publish(main: Callable[[], None], script: str) -> None:
    """Run a benchmark's main function; ``--write`` saves its output in ``benchmarks/results/``.

    :param script: the benchmark's own ``__file__``
    """
    if "--write" not in sys.argv:
        return main()
    sys.argv.remove("--write")
    place = Path(script).resolve().relative_to(RESULTS.parent).with_suffix("")
    command = f"python -m benchmarks.{'.'.join(place.parts)} {shlex.join(sys.argv[1:])}".rstrip()
    printed = _Copied(sys.stdout)
    with redirect_stdout(printed):
        main()
    facts = "\n".join(f"- {name}: {fact}" for name, fact in machine().items())
    path = RESULTS / f"{place.name}.md"
    path.parent.mkdir(exist_ok=True)
    text = printed.getvalue().strip()
    path.write_text(f"# {place.name}\n\n`{command}`\n\n{text}\n\n{facts}\n", encoding="utf-8")
    print(f"\nThe tables are in {path}.")


class _Copied(io.StringIO):
    """Passes on what is printed, and keeps a copy."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text)
        self._stream.flush()
        return super().write(text)


def write_json(path: Path, measured: Any) -> None:
    """Write measurements and facts about the machine to a file, and print its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "measured": measured}, indent=1) + "\n")
    print(f"\nThe numbers are in {path}.", flush=True)


def resident_megabytes(process: int) -> float:
    """Return the resident memory of a process."""
    kilobytes = subprocess.check_output(["ps", "-o", "rss=", "-p", str(process)])
    return int(kilobytes) / 1024


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        commit = subprocess.check_output(
            ["git", "describe", "--always", "--dirty"],
            cwd=here,
            text=True,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.strip()
