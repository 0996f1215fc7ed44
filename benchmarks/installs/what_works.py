#!/usr/bin/env python3
"""Resolve what can be installed on each platform and Python, and write it into the documentation.

    what_works.py

Needs uv (``pip install uv packaging``), Python 3.11 and the package registry; only metadata is
downloaded. The megabytes are those of the wheels. ``base`` is the package alone, ``bundled`` has
the extra, ``light`` is requirements-light.txt with its pinned versions.
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

import tomllib
from packaging import tags
from packaging.utils import parse_wheel_filename

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
NAME = "datasette-bear-search"
# Kind → what is required, with the wheel of this checkout in place of {wheel}, and uv's options. A
# wheel, since uv runs no setup.py where only wheels are allowed.
KINDS = {
    "base": (f"{NAME} @ {{wheel}}", []),
    "bundled": (f"{NAME}[bundled] @ {{wheel}}", []),
    "light": ((ROOT / "requirements-light.txt").read_text(), ["--no-deps"]),
}
# What makes vectors; without both, notes are found by their words.
MODELS, RUNTIME = "sentence-transformers", "onnxruntime"


def resolve(wheel: Path, kind: str, platform: str, python: str) -> list[dict[str, Any]] | str:
    """Return the packages that would be installed beside this one, or why there is no solution."""
    name, _ = PLATFORMS[platform]
    required, options = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "required.txt"), Path(folder, "pylock.toml")
        given.write_text(required.format(wheel=wheel.as_uri()))
        command = ["uv", "pip", "compile", "--quiet", str(given), *options]
        command += ["--only-binary", ":all:", "--python-platform", name]
        command += ["--python-version", python, "--format", "pylock.toml", "-o", str(out)]
        environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ended.returncode:
            why = " ".join(ended.stderr.split())
            if "No solution found" not in why:  # it says nothing about the packages
                sys.exit(f"uv failed: {why}")
            return why
        packages: list[dict[str, Any]] = tomllib.loads(out.read_text())["packages"]
        return [each for each in packages if each["name"] != NAME]


def megabytes(packages: Sequence[dict[str, Any]], platform: str, python: str) -> float:
    """Return the size of the wheels that this platform takes."""
    version = tuple(map(int, python.split(".")))
    taken = [*tags.cpython_tags(version, platforms=PLATFORMS[platform][1])]
    taken += tags.compatible_tags(version, f"cp{version[0]}{version[1]}", PLATFORMS[platform][1])
    ranks = {tag: rank for rank, tag in reversed([*enumerate(taken)])}

    def rank(wheel: dict[str, Any]) -> int:
        name = wheel.get("name") or wheel["url"].rpartition("/")[2]
        return min((ranks.get(tag, 9**9) for tag in parse_wheel_filename(name)[3]), default=9**9)

    return sum(min(each["wheels"], key=rank)["size"] for each in packages) / 1e6


def cell(wheel: Path, kind: str, platform: str, python: str) -> str:
    found = resolve(wheel, kind, platform, python)
    if isinstance(found, str):
        print(f"{kind}, {platform}, Python {python}: {found}", file=sys.stderr)
        return "–"
    makes_vectors = {each["name"] for each in found} & {MODELS, RUNTIME}
    return f"{megabytes(found, platform, python):,.0f}{'' if makes_vectors else ' ʷ'}"


def table(wheel: Path) -> Iterator[str]:
    yield f"| | installation | {' | '.join(f'Python {python}' for python in PYTHONS)} |"
    yield f"|---|---|{'---|' * len(PYTHONS)}"
    for platform in PLATFORMS:
        for kind in KINDS:
            row = [platform, f"`{kind}`", *(cell(wheel, kind, platform, each) for each in PYTHONS)]
            print(row, file=sys.stderr)
            yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["uv", "build", "--quiet", "--wheel", "-o", folder, str(ROOT)], check=True)
        [wheel] = Path(folder).glob("*.whl")
        rows = "\n".join(table(wheel))
    made = f"{START}\nMegabytes to download, resolved on {date.today():%d %B %Y}:\n\n{rows}\n{END}"
    pattern = f"{re.escape(START)}.*?{re.escape(END)}"
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(re.sub(pattern, lambda _: made, text, flags=re.DOTALL))
