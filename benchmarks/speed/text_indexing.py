"""How fast text is indexed, and how much memory that takes.

    python -m benchmarks.speed.text_indexing --folder FOLDER [SIZE…] [--write]

Makes libraries of SIZE notes, as Bear's database and as a folder of Markdown. A note has about 200
words in shuffled sentences of the collections in ``$BEAR_SEARCH_SHARED/eval``, up to two tags and
sometimes a link. Every run is a process of its own and makes no vectors. The table has, for each,

- notes/s: reading and writing a library that isn't indexed yet,
- the peak memory of that, beyond the process with everything imported,
- the seconds of a run that finds no changes, and of a run where the sources look changed but every
  note is the same,
- the seconds and peak memory of a run after one note in a hundred was edited.

``--against CHECKOUT`` measures another checkout of this project in turns with this one and adds the
ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

SIZES = (1_000, 10_000, 100_000)
WORDS = 200  # a note, on average
KINDS = ("bear", "folder")
# The states of the library in consecutive runs.
SITUATIONS = ("new", "unchanged", "touched", "edited")
EDITED = 0.01  # the share of notes that are edited

START = datetime(2020, 9, 13, tzinfo=timezone.utc)
_TOPICS = (
    "work work/projects work/people garden garden/herbs recipes reading health travel money".split()
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", type=int, metavar="SIZE", default=SIZES)
    parser.add_argument("--folder", type=Path, required=True, help="for libraries and indexes")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this; repeatable")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="to compare with")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the medians count")
    parser.add_argument("--json", type=Path, help="where to write the numbers, too")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).resolve().parents[2]
    checkouts = {"this": here} | ({"other": arguments.against} if arguments.against else {})
    measured = []
    print(_HEAD)
    for size in arguments.sizes:
        for kind in arguments.kind or KINDS:
            runs: dict[str, list[dict]] = {name: [] for name in checkouts}
            for _ in range(arguments.repeat):
                for name, checkout in checkouts.items():
                    runs[name].append(measure(arguments.folder, kind, size, checkout))
            medians = {name: _medians(found) for name, found in runs.items()}
            for name, numbers in medians.items():
                print(_row(kind, size, name, numbers), flush=True)
            if len(medians) > 1:
                print(_ratios(kind, size, medians["this"], medians["other"]), flush=True)
            measured.append({"kind": kind, "notes": size, **medians})
    if arguments.json:
        arguments.json.write_text(json.dumps(measured, indent=2) + "\n")


def measure(folder: Path, kind: str, size: int, checkout: Path) -> dict[str, dict[str, float]]:
    """Return the measurements of a run in each situation, with the package of a checkout."""
    library = write_library(folder, kind, size)
    sidecar = folder / "measured.db"
    for leftover in folder.glob("measured.db*"):
        leftover.unlink()
    numbers = {}
    for situation in SITUATIONS:
        if situation == "touched":
            _touch(library)
        elif situation == "edited":
            _edit(library)
        numbers[situation] = _run(library, sidecar, checkout)
    numbers["new"]["megabytes"] = sidecar.stat().st_size / 1e6
    assert numbers["new"]["notes"] == size, numbers
    assert numbers["touched"]["changed"] == 0, numbers
    assert numbers["edited"]["changed"] == max(1, int(size * EDITED)), numbers
    return numbers


def _run(library: Path, sidecar: Path, checkout: Path) -> dict[str, float]:
    finished = subprocess.run(
        # Not run by its path: some modules beside it have the names of standard modules.
        [sys.executable, "-c", Path(__file__).read_text(), str(library), str(sidecar)],
        env=os.environ | {"PYTHONPATH": str(checkout), _CHILD: "1"},
        cwd=sidecar.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(finished.stdout)


_CHILD = "BEAR_SEARCH_BENCHMARK_CHILD"


def _index_once(library: str, sidecar: str) -> None:
    """Index, and print the measurements. Runs in a process of its own."""
    import datasette_bear_search
    from datasette_bear_search.index.run import indexer
    from datasette_bear_search.sources.base import SourceConfig
    from datasette_bear_search.sources.registry import open_source

    kind = "bear" if library.endswith(".sqlite") else "markdown"
    config = SourceConfig("notes", kind, library)
    open_source(config)  # does the imports before measuring
    before = _peak_megabytes()
    cpu = time.process_time()
    started = time.perf_counter()
    report = indexer.update(Path(sidecar), [config], None)
    seconds = time.perf_counter() - started
    assert not report.failures, report.failures
    numbers = {
        "package": datasette_bear_search.__file__,
        "notes": report.notes,
        "changed": report.changed,
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "read": report.read_seconds,
        "text": report.text_seconds,
        "peak": _peak_megabytes() - before,
    }
    print(json.dumps(numbers))


def _peak_megabytes() -> float:
    """Return the peak memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss includes the parent's memory before this program was started
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


# The table.

_HEAD = (
    "| source | notes | checkout | notes/s | CPU s | read s | text s | peak MB "
    "| unchanged s | touched s | edited s"
    " | edited peak MB | index MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def _columns(size: int, numbers: dict[str, dict[str, float]]) -> list[float]:
    new = numbers["new"]
    return [
        size / new["seconds"],
        new["cpu"],
        new["read"],
        new["text"],
        new["peak"],
        numbers["unchanged"]["seconds"],
        numbers["touched"]["seconds"],
        numbers["edited"]["seconds"],
        numbers["edited"]["peak"],
        new["megabytes"],
    ]


def _row(kind: str, size: int, name: str, numbers: dict[str, dict[str, float]]) -> str:
    rate, *others = _columns(size, numbers)
    cells = [kind, f"{size:,}", name, f"{rate:,.0f}"]
    return f"| {' | '.join([*cells, *(f'{number:.2f}' for number in others)])} |"


def _ratios(kind: str, size: int, this: dict, other: dict) -> str:
    pairs = zip(_columns(size, this), _columns(size, other))
    cells = [kind, f"{size:,}", "this / other", *(f"{a / b:.2f}" if b else "" for a, b in pairs)]
    return f"| {' | '.join(cells)} |"


def _medians(runs: list[dict]) -> dict[str, dict[str, float]]:
    return {
        situation: {
            name: median(run[situation][name] for run in runs)
            for name, value in numbers.items()
            if not isinstance(value, str)
        }
        for situation, numbers in runs[0].items()
    }


# The libraries.


def write_library(folder: Path, kind: str, size: int) -> Path:
    """Return a fresh library of so many notes, copied from one that is kept for the next time."""
    pristine = folder / (f"{kind}-{size}.pristine" + (".sqlite" if kind == "bear" else ""))
    library = folder / f"library{pristine.suffix if kind == 'bear' else ''}"
    if not pristine.exists():
        making = pristine.with_name("making-" + pristine.name)
        _remove(making)
        (_write_bear if kind == "bear" else _write_folder)(making, size)
        making.rename(pristine)
    _remove(library)
    shutil.copytree(pristine, library) if kind == "folder" else shutil.copy(pristine, library)
    return library


def _texts(size: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield titles, texts and tags of notes."""
    rng = random.Random(size)
    sentences = _sentences()
    titles: list[str] = []
    for number in range(size):
        first = rng.choice(sentences).split()
        title = " ".join(first[: rng.randint(3, 8)]).rstrip(".,;:") + f" {number}"
        target = rng.randint(WORDS // 4, WORDS * 7 // 4)
        paragraphs, paragraph, words = [], [], 0
        while words < target:
            sentence = rng.choice(sentences)
            words += sentence.count(" ") + 1
            paragraph.append(sentence)
            if len(paragraph) >= 4:
                paragraphs.append(" ".join(paragraph))
                paragraph = []
        paragraphs.append(" ".join(paragraph))
        if titles and rng.random() < 0.3:
            paragraphs.append(f"See [[{rng.choice(titles)}]].")
        if len(paragraphs) > 2 and rng.random() < 0.3:
            paragraphs.insert(2, f"## {' '.join(rng.choice(sentences).split()[:4])}")
        titles.append(title)
        tags = rng.sample(_TOPICS, rng.randint(0, 2))
        yield title, "\n\n".join(filter(None, paragraphs)), tags


def _sentences() -> list[str]:
    from benchmarks.lib.collections import collections

    found: list[str] = []
    for collection in collections():
        with open(collection / "corpus.jsonl", encoding="utf-8") as lines:
            for line in lines:
                text = " ".join(json.loads(line)["text"].split())
                found += [part for part in _SENTENCE_ENDS.split(text) if 20 < len(part) < 400]
    return found


def _write_bear(path: Path, size: int) -> None:
    from tests.support.bear_database import BearNote, write_library

    write_library(
        path,
        [
            BearNote(
                text=f"# {title}\n{text}",
                tags=tuple(tags),
                created=START + timedelta(minutes=10 * number),
            )
            for number, (title, text, tags) in enumerate(_texts(size))
        ],
    )


def _write_folder(path: Path, size: int) -> None:
    for number, (title, text, tags) in enumerate(_texts(size)):
        folder = path / f"{number // 1000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        line = "".join(f"#{tag} " for tag in tags)
        name = re.sub(r"[^\w -]", "", title)[-60:]  # systems allow 255 bytes
        (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n\n{line}\n", encoding="utf-8")


def _touch(library: Path) -> None:
    """Make everything look as if it might have changed."""
    for path in [library] if library.is_file() else library.rglob("*.md"):
        status = path.stat()
        # Only by a nanosecond: another second would change the note's date.
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns ^ 1))


def _edit(library: Path) -> None:
    """Edit one note in a hundred."""
    if library.is_file():
        import sqlite3

        with closing(sqlite3.connect(library)) as db, db:
            [count] = db.execute("select count(*) from ZSFNOTE").fetchone()
            db.execute(
                "update ZSFNOTE set ZTEXT = ZTEXT || ' Edited.' "
                "where Z_PK % ? = 0 and Z_PK / ? <= ?",
                [round(1 / EDITED), round(1 / EDITED), max(1, int(count * EDITED))],
            )
        return
    paths = sorted(library.rglob("*.md"))
    for path in paths[:: round(1 / EDITED)]:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write("Edited.\n")


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


if __name__ == "__main__":
    if _CHILD in os.environ:
        _index_once(*sys.argv[1:])
    else:
        # Imported here, so that a measured process imports nothing unnecessary.
        from benchmarks.lib.measuring import publish

        publish(main, __file__)
