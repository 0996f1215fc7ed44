"""docs/architecture.md is right: where to read, where records are made, how far a text travels."""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from datasette.app import Datasette

import datasette_bear_search
from datasette_bear_search import Library
from tests.support.bear_database import BearNote
from tests.support.docs import ROOT

PACKAGE = Path(datasette_bear_search.__file__).parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
# "To change this, read that": what → modules → names in them.
TABLE = re.search(r"\| to change \| read \|\n\|---\|---\|\n((?:\|.*\n)+)", TEXT)[1]
READING = {
    what: {
        module: re.findall("`(.*?)`", names)
        for module, names in re.findall(r"`([\w/]+\.\w+)` \((.*?)\)", modules)
    }
    for what, modules in re.findall(r"\| (.*?) \| (.*) \|", TABLE)
}
# Modules that what is typed may pass. A module that only gets other things doesn't count.
MAX_PASSED = 30


@cache
def modules() -> dict[str, ast.Module]:
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text())
        for path in PACKAGE.rglob("*.py")
    }


def defined_in(module: str) -> set[str]:
    """Return the names that a module defines itself; of a YAML file, its keys."""
    if module.endswith(".yaml"):
        return set(keys_of(yaml.safe_load((PACKAGE / module).read_text())))
    names = set()
    for node in modules()[module].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        names |= {each.id for it in targets for each in ast.walk(it) if isinstance(each, ast.Name)}
    return names


def keys_of(value: Any) -> Iterator[str]:
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from keys_of(each)
    if isinstance(value, dict):
        yield from value


@cache
def used_names() -> set[str]:
    nodes = (node for tree in modules().values() for node in ast.walk(tree))
    loads = (node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Load))
    return {getattr(node, "id", "") or getattr(node, "attr", "") for node in loads}


def test_the_table_has_the_changes_that_a_newcomer_makes_first():
    assert {"the fusion", "the text shown", "what JSON says"} < READING.keys()


@pytest.mark.parametrize("what", READING)
def test_at_most_three_modules_are_to_be_read(what):
    assert 1 <= len(READING[what]) <= 3


@pytest.mark.parametrize("what", READING)
def test_modules_have_what_the_table_says(what):
    for module, names in READING[what].items():
        assert names, module
        assert {*names} <= defined_in(module), module
        assert module.endswith(".yaml") or {*names} <= used_names(), module


@pytest.mark.parametrize(
    ("record", "module"),
    [
        ("Query", "query/query.py"),
        ("Terms", "query/query.py"),
        ("Plan", "search/planning/planner.py"),
        ("FoundNote", "search/results/retrieve.py"),
        ("Hit", "search/results/snippets.py"),
    ],
)
def test_a_record_of_a_search_is_made_in_one_module(record, module):
    calls = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == record
    }
    assert calls == {module}


# --- how far a typed text travels


class Passed:
    """Note the modules with a function that gets a text, alone, in a longer one or in a record."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.modules: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        path = code.co_filename
        if event != "call" or path in self.modules or not path.startswith(f"{PACKAGE}{os.sep}"):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if path.endswith(".py") and any(self._has_text(frame.f_locals.get(n)) for n in names):
            self.modules[path] = code.co_name

    def _has_text(self, value: Any, depth: int = 0) -> bool:
        if isinstance(value, str):
            return self.text in value
        if depth > 3:
            return False
        if isinstance(value, dict):
            value = list(value.values())
        elif type(value).__module__.startswith("datasette_bear_search.") and not callable(value):
            value = list(getattr(value, "__dict__", {}).values())
        return isinstance(value, list | tuple) and any(
            self._has_text(each, depth + 1) for each in value[:40]
        )

    def __enter__(self) -> Passed:
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        self.modules = {
            Path(path).relative_to(PACKAGE).as_posix(): name for path, name in self.modules.items()
        }


@pytest.fixture
def roof(index_notes):
    return index_notes([BearNote("# Roof\n\nThe roof leaks near the chimney, says Ada.")])


def test_a_text_given_to_the_library_passes_few_modules(roof):
    with Library(roof) as library, Passed("who repairs a leaking roof") as passed:
        assert [hit.title for hit in library.search(passed.text)] == ["Roof"]
    assert {"query/query.py", "search/ranking/statement.py"} < passed.modules.keys()
    assert len(passed.modules) <= MAX_PASSED


@pytest.mark.asyncio
async def test_a_text_typed_on_the_page_passes_few_modules(roof):
    datasette = Datasette([str(roof)], settings={"num_sql_threads": 0})
    await datasette.invoke_startup()
    with Passed("who repairs a leaking roof") as passed:
        path = f"/-/bear-search?{urlencode({'q': passed.text})}"
        assert "near the chimney" in (await datasette.client.get(path)).text
    assert {"search/engine.py", "web/pages/cards.py"} < passed.modules.keys()
    assert len(passed.modules) <= MAX_PASSED
