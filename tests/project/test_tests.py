"""What holds for all tests."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_a_test_imports_no_other_test():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"support", "stress"}
    imports = [
        (path.name, node.module)
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")
    ]
    assert len(imports) > 100
    assert [each for each in imports if each[1].split(".")[1] in {*folders, "conftest"}] == []
