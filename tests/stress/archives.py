"""Archives that unpack to far more than their size: python -m tests.stress.archives

Each is indexed by a process of its own, which may take at most MEGABYTES of memory and SECONDS of
CPU time, and must report what it left out.
"""

from __future__ import annotations

import io
import os
import random
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.support.parsers import docx

# On a busy machine, the same work takes up to 1.6 times the CPU time.
MEGABYTES, SECONDS = 500, 120
ARCHIVES = {
    "120 texts of 19 MB of one letter": "a.bear2bk",
    "30 texts of 8 MB that repeat a page, all of which are read": "b.bear2bk",
    "a document of 700,000 paragraphs": "takeout-c.zip",
    "60 documents of 90,000 paragraphs": "takeout-d.zip",
    "40 archives in one, each of 8 MB of text that unpacks to 300 times its size": "e.zip",
    "an archive in an archive in an archive": "f.zip",
    "100,000 notes of a few letters, all of which are read": "g.zip",
}


def write(folder: Path) -> None:
    """Write the archives into a folder."""
    page = "".join(random.Random(1).choices("abcdefghij ", k=4000))
    for name, count, text in (("a", 120, "A" * 19_000_000), ("b", 30, page * 2000)):
        with zipfile.ZipFile(folder / f"{name}.bear2bk", "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(count):
                archive.writestr(f"{number}.textbundle/text.md", f"# Note {number}\n\n{text}")
                archive.writestr(f"{number}.textbundle/info.json", "{}")
    for name, count, paragraphs in (("c", 1, 700_000), ("d", 60, 90_000)):
        document = docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * paragraphs)
        with zipfile.ZipFile(folder / f"takeout-{name}.zip", "w") as archive:
            for number in range(count):
                archive.writestr(f"Takeout/Drive/{number}.docx", document)

    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("note.md", page * 2000)
    deep = inner.getvalue()
    for _ in range(2):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("inner.zip", deep)
        deep = inner.getvalue()
    (folder / "f.zip").write_bytes(deep)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("note.md", "A" * 8_000_000)
    with zipfile.ZipFile(folder / "e.zip", "w") as archive:
        archive.writestr("readme.md", "# Read me")
        for number in range(40):
            archive.writestr(f"{number}.zip", inner.getvalue())
    with zipfile.ZipFile(folder / "g.zip", "w") as archive:
        for number in range(100_000):
            archive.writestr(f"{number % 100}/{number}.md", f"# Note {number}")


def main() -> int:
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for what, name in ARCHIVES.items():
            path = Path(folder) / name
            command = [sys.executable, "-m", "datasette", "bear-index", str(path), "--no-semantic"]
            run = subprocess.Popen(
                [*command, "--sidecar", f"{path}.db"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10 * SECONDS,) * 2),
            )  # fmt: skip
            assert run.stdout
            said = run.stdout.read()
            _, _, used = os.wait4(run.pid, 0)
            megabytes, seconds = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
            is_fault = (
                megabytes > MEGABYTES
                or seconds > SECONDS
                or ("skipped" in said or "Don't know how" in said) == ("are read" in what)
            )
            faults += is_fault
            print(
                f"| {what} | {path.stat().st_size / 1e6:.1f} MB | {megabytes:.0f} MB |"
                f" {seconds:.0f} s | {'FAULT ' if is_fault else ''}"
                f"{' '.join(said.split())[:300]} |",
                flush=True,
            )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
