"""A server with the sample notes, for all tests in a browser that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bear_database import write_demo_library
from tests.support.datasettes import indexed, served
from tests.support.shared import made_once


@pytest.fixture(scope="session")
def sidecar(tmp_path_factory) -> Path:
    """Index the sample notes without vectors, because most tests in a browser need no model."""

    def make(folder: Path) -> None:
        write_demo_library(folder / "database.sqlite")
        indexed(folder / "database.sqlite", "--no-semantic")

    return made_once(tmp_path_factory, "words_only", make) / "notes.db"


@pytest.fixture(scope="session")
def address(sidecar) -> Iterator[str]:
    with served(sidecar) as address:
        yield address


@pytest.fixture
def open_page(chromium):
    """Return a function that opens a page at a window width, with Playwright's context options."""
    contexts = []

    def open_at(url, *, width=1280, **options):
        # Datasette's policy permits only its own scripts, but axe is injected.
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, bypass_csp=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        return page

    yield open_at
    for context in contexts:
        context.close()
