"""The tools as programs other than Datasette, such as llm, import them."""

from __future__ import annotations

import subprocess
import sys


def test_the_tools_need_no_datasette():
    code = "import sys; from datasette_bear_search.agents import tools; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert set(found).isdisjoint({"datasette", "datasette_bear_search.web", "mcp", "numpy"})
