"""Run this package's code in another process."""

from __future__ import annotations

import sys


def command(module: str, function: str) -> list[str]:
    """Return the command that calls a function with this Python and its modules."""
    # At first, Python looks for the modules of -c in the current directory, which may be somebody
    # else's. Python 3.10 has no option against that; sys is built in.
    path = [folder for folder in sys.path if folder]
    code = f"import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", code]
