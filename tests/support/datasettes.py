"""Shared by tests of Datasette's own pages: the same calls for both versions of Datasette."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from tests.support.threads import serving

IS_1_0 = hasattr(Datasette, "add_query")


def configured(files: list[Any], config: dict[str, Any], **options: Any) -> Datasette:
    """Return a Datasette with this in its datasette.yaml or, before 1.0, its metadata.yaml."""
    place = "config" if IS_1_0 else "metadata"
    return Datasette([str(file) for file in files], **{place: config}, **options)


def other_database(path) -> str:
    """Write a database that isn't ours but has tables with the same names; return its path."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table notes (id integer primary key, title, tags, url, body, modified)")
        db.execute("create table tags (id integer primary key, name)")
        db.execute(
            "insert into notes values (1, 'Roof elsewhere', '[\"a\"]', 'bear://x', ?, "
            "'2024-01-01')",
            ["long " * 1000],
        )
        db.execute("insert into tags values (1, 'elsewhere')")
    return str(path)


def cookies(datasette: Datasette, actor: str | dict | None) -> dict[str, str]:
    """Return the cookies of an actor who is signed in."""
    actor = {"id": actor} if isinstance(actor, str) else actor
    return {"ds_actor": datasette.sign({"a": actor}, "actor")} if actor else {}


@contextmanager
def served(*paths: Path, config: dict[str, Any] | None = None, **settings: Any) -> Iterator[str]:
    """Serve a Datasette in this process, so that a test can change its model; yield its URL."""
    app = configured(list(paths), config or {}, settings=settings).app()
    with serving(uvicorn.Server(uvicorn.Config(app, log_level="warning"))) as port:
        yield f"http://127.0.0.1:{port}"


def indexed(library: Path, *options: str) -> Path:
    """Index a library into a file beside it; return the path of the index."""
    sidecar = library.with_name("notes.db")
    arguments = ["bear-index", str(library), "--sidecar", str(sidecar), "--quiet", *options]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return sidecar
