"""The plugin's settings."""

from __future__ import annotations

from typing import Any

from datasette.app import Datasette
from datasette.database import Database

from ...index.config import PLUGIN
from .. import turns


def may_write(database: Database) -> bool:
    """Return whether the current request may write the index: only if it may see all notes."""
    return database.is_mutable and not turns.restricted.get()


def judging_is_on(database: Database) -> bool:
    return bool(config(database.ds).get("judgments")) and may_write(database)


def redacts(datasette: Datasette, *, by_default: bool = False) -> bool:
    return bool(config(datasette).get("redact", by_default))


def config(datasette: Datasette) -> dict[str, Any]:
    given = datasette.plugin_config(PLUGIN)
    return given if isinstance(given, dict) else {}  # start() refuses anything else


def setting_list(datasette: Datasette, name: str) -> tuple[str, ...]:
    value = config(datasette).get(name) or ()
    return (value,) if isinstance(value, str) else tuple(value)
