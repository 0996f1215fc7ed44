#!/usr/bin/env python3
"""Resolve what can be installed on each platform and Python, and write it into the documentation.

    what_works.py

Needs uv and the package registry; nothing is downloaded but metadata. The megabytes are those of
the wheels. ``base`` is the package alone, ``bundled`` has the extra, ``light`` is
requirements-light.txt with its pinned versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from packaging import tags
from packaging.utils import parse_wheel_filename

if sys.version_info >= (3, 11):
    import tomllib

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "installation.md"
START, END = "<!-- what works: made by benchmarks/installs/what_works.py -->", "<!-- end -->"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
# Platform → its name in uv, and the platforms of wheels that it takes.
LINUX = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)] + ["manylinux2014_x86_64"]
PLATFORMS = {
    "Linux, x86_64": (
        "x86_64-manylinux_2_28",
        [*LINUX, "manylinux2010_x86_64", "manylinux1_x86_64"],
    ),
    "macOS 14, Apple silicon": ("aarch64-apple-darwin", [*tags.mac_platforms((14, 0), "arm64")]),
    "macOS 14, Intel": ("x86_64-apple-darwin", [*tags.mac_platforms((14, 0), "x86_64")]),
    "Windows, x86_64": ("x86_64-pc-windows-msvc", ["win_amd64"]),
}
KINDS = {
    "base": ["setup.py"],
    "bundled": ["setup.py", "--extra", "bundled"],
    "light": ["requirements-light.txt", "--no-deps"],
}
# What makes vectors; without both, notes are found by their words.
MODELS, RUNTIME = "sentence-transformers", "onnxruntime"


def resolve(kind: str, platform: str, python: str) -> list[dict[str, Any]] | str:
    """Return the packages that would be installed, or why that can't be resolved."""
    name, _ = PLATFORMS[platform]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "pylock.toml")
        command = ["uv", "pip", "compile", "--quiet", *KINDS[kind], "--only-binary", ":all:"]
        command += ["--python-platform", name, "--python-version", python]
        environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
        ended = subprocess.run(
            [*command, "--format", "pylock.toml", "-o", str(out)],
            cwd=ROOT, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if ended.returncode:
            return " ".join(ended.stderr.split())
        return list(tomllib.loads(out.read_text())["packages"])


def megabytes(packages: Sequence[dict[str, Any]], platform: str, python: str) -> float:
    """Return the size of the wheels that this platform takes."""
    version = tuple(map(int, python.split(".")))
    taken = [*tags.cpython_tags(version, platforms=PLATFORMS[platform][1])]
    taken += tags.compatible_tags(version, f"cp{version[0]}{version[1]}", PLATFORMS[platform][1])
    ranks = {tag: rank for rank, tag in reversed([*enumerate(taken)])}

    def rank(wheel: dict[str, Any]) -> int:
        name = wheel.get("name") or wheel["url"].rpartition("/")[2]
        return min((ranks.get(tag, 9**9) for tag in parse_wheel_filename(name)[3]), default=9**9)

    return sum(min(each["wheels"], key=rank).get("size", 0) for each in packages) / 1e6


def cell(kind: str, platform: str, python: str) -> str:
    found = resolve(kind, platform, python)
    if isinstance(found, str):
        print(f"{kind}, {platform}, Python {python}: {found}", file=sys.stderr)
        return "–"
    makes_vectors = {each["name"] for each in found} & {MODELS, RUNTIME}
    return f"{megabytes(found, platform, python):,.0f}{'' if makes_vectors else ' ʷ'}"


def table() -> Iterator[str]:
    yield f"| | installation | {' | '.join(f'Python {python}' for python in PYTHONS)} |"
    yield f"|---|---|{'---|' * len(PYTHONS)}"
    for platform in PLATFORMS:
        for kind in KINDS:
            row = [platform, f"`{kind}`", *(cell(kind, platform, each) for each in PYTHONS)]
            print(row, file=sys.stderr)
            yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    rows = "\n".join(table())
    made = f"{START}\nMegabytes to download, resolved on {date.today():%d %B %Y}:\n\n{rows}\n{END}"
    pattern = f"{re.escape(START)}.*?{re.escape(END)}"
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(re.sub(pattern, lambda _: made, text, flags=re.DOTALL))
