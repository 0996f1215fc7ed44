"""How fast a folder of Markdown is read.

    python -m benchmarks.speed.walking [--files 40000]

Writes small notes into a temporary folder and prints a table in Markdown: files per second, and the
time as a multiple of ``os.walk`` with reading each file, for the same files in the same run. Times
are CPU seconds of this process: all files are in the system's cache, so nothing waits for a disk.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from datasette_bear_search.sources.base import Unchanged
from datasette_bear_search.sources.folders import NoteFolder
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault

FILES_A_FOLDER = 40
# Rounds, in turns. The fastest counts, because only other programs make a round slower.
ROUNDS = 3

WORDS = (
    "garden tomato water roof cabin letter violin ferry school winter insurance bread window engine"
).split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=40_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder), arguments.files)
        print(
            f"{arguments.files:,} files\n\n"
            "| | files/s | seconds | × os.walk + read |\n|---|---|---|---|"
        )
        measure(folder, arguments.files)


def write_notes(folder: Path, count: int) -> None:
    """Write notes of 900 bytes: half with front matter, a quarter with links."""
    randomness = random.Random(7)
    (folder / ".obsidian").mkdir()
    for number in range(count):
        place = folder / f"topic{number // FILES_A_FOLDER % 25}" / f"part{number // FILES_A_FOLDER}"
        place.mkdir(parents=True, exist_ok=True)
        text = f"# Note {number}\n\n"
        if number % 2:
            head = (
                f"---\ntags: [garden, year/{number % 9}]\ncreated: 2024-05-{number % 28 + 1:02}\n"
            )
            text = f"{head}---\n{text}"
        for _ in range(6):
            text += " ".join(randomness.choices(WORDS, k=20)).capitalize() + ".\n\n"
        if number % 4 == 0:
            text += f"See [[Note {number // 2}]] and [that](../note{number // 3}.md). #later\n"
            text += "\n- [ ] `do` it\n"
        (place / f"Note {number}.md").write_text(text)


def measure(folder: str, count: int) -> None:
    known = {
        kind: {note.key: note.stamp for note in kind(folder, "notes").read()}
        for kind in (MarkdownFolder, ObsidianVault)
    }
    works: dict[str, Callable[[], int]] = {
        "os.walk + read": lambda: walk_and_read(folder),
        "Markdown folder": lambda: read_all(MarkdownFolder, folder),
        "Obsidian vault": lambda: read_all(ObsidianVault, folder),
        "Markdown folder, nothing changed": lambda: read_unchanged(MarkdownFolder, folder, known),
        "Obsidian vault, nothing changed": lambda: read_unchanged(ObsidianVault, folder, known),
        "state()": lambda: bool(MarkdownFolder(folder, "notes").state()) * count,
    }
    seconds = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = time.process_time()
            done = work()
            seconds[name] = min(seconds[name], time.process_time() - started)
            assert done == count, (name, done)
    bare = seconds["os.walk + read"]
    for name, took in seconds.items():
        print(f"| {name} | {count / took:,.0f} | {took:.2f} | {took / bare:.2f} |")


def walk_and_read(folder: str) -> int:
    count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as stream:
                stream.read()
            count += 1
    return count


def read_all(kind: type[NoteFolder], folder: str) -> int:
    return sum(1 for _ in kind(folder, "notes").read())


def read_unchanged(kind: type[NoteFolder], folder: str, known: dict) -> int:
    notes = kind(folder, "notes").read_changed(known[kind])
    return sum(isinstance(note, Unchanged) for note in notes)


if __name__ == "__main__":
    main()
