"""What holds for all tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FOLDERS = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"support", "stress"}
FILES = [path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py")]


@pytest.mark.parametrize("name", FILES)
def test_a_test_imports_no_other_test(name):
    imports = [
        node.module.split(".")
        for node in ast.walk(ast.parse((TESTS / name).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")
    ]
    assert [each for each in imports if each[1] in {*FOLDERS, "conftest"}] == []
