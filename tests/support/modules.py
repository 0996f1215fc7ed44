"""Which test files test which module of the package."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.support.docs import ROOT

PACKAGE, TESTS = ROOT / "datasette_bear_search", ROOT / "tests"


def table() -> str:
    """Return the documentation's table of modules and their tests."""
    rows = [
        f"| `{each}` | {' '.join(f'`{name}`' for name in tests_of(each))} |" for each in modules()
    ]
    return "\n".join(["| module | tests |", "|---|---|", *rows]) + "\n"


def modules() -> list[str]:
    """Return the paths of all modules that have code; ``search/`` is that of a package."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if ast.parse(path.read_text()).body]
    names = [path.relative_to(PACKAGE).as_posix() for path in paths]
    return [name.removesuffix("__init__.py") or name for name in names]


def tests_of(module: str) -> list[str]:
    """Return the test files that are named like a module, or name it in their docstring."""
    folder, _, name = module.rstrip("/").removesuffix(".py").rpartition("/")
    # The tests of sources/bear/__init__.py are in sources/bear/test_bear.py.
    parts = [folder, name if module.endswith("/") else "", f"test_{name}.py"]
    namesake = "/".join(filter(None, parts))
    return [name for name, named in modules_named().items() if name == namesake or module in named]


@cache
def modules_named() -> dict[str, set[str]]:
    """Return the modules that the docstring of each test file names: ``search/engine.py`` …"""
    return {
        path.relative_to(TESTS).as_posix(): set(
            re.findall(
                r"``([\w/]+(?:\.py|/))``", ast.get_docstring(ast.parse(path.read_text())) or ""
            )
        )
        for path in sorted(TESTS.rglob("test_*.py"))
    }
