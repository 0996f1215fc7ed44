"""Sources as rows of the sidecar: where each is, how it is read, and how it was when it was read last."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from . import schema
from .sidecar import sqlite3
from .sources import Source
from .sources.kinds import SourceConfig


@dataclass(frozen=True)
class StoredSource:
    """A source as the sidecar knows it."""

    config: SourceConfig
    state: str  # what the source's state() was just before it was read
    read: str | None  # when, ISO 8601 UTC
    notes: int
    skipped: tuple[str, ...]  # what that reading left out and why, for people
    version: str | None  # of the package that read it


def all_sources(connection: sqlite3.Connection) -> list[StoredSource]:
    """The sources that the sidecar was made from, the oldest first."""
    if not schema.is_current(connection):
        # An index of an older version, which the next run migrates: all that counts is what to read.
        rows = connection.execute(
            "select name, location, include_trashed, state, read, notes from sources order by rowid"
        )
        return [
            StoredSource(
                SourceConfig(name, "bear", location, include_trashed=bool(trashed)),
                state, read, notes, (), None,
            )
            for name, location, trashed, state, read, notes in rows
        ]  # fmt: skip
    rows = connection.execute(
        """
        select
          name, kind, location, options, never, include_trashed, config_file,
          state, read, notes, skipped, version
        from sources
        order by rowid
        """
    )
    return [
        StoredSource(
            SourceConfig(
                name,
                kind,
                location,
                options=json.loads(options),
                never=tuple(json.loads(never)),
                include_trashed=bool(include_trashed),
                config_file=config_file,
            ),
            state, read, notes, tuple(json.loads(skipped)), version,
        )
        for (
            name, kind, location, options, never, include_trashed, config_file,
            state, read, notes, skipped, version,
        ) in rows
    ]  # fmt: skip


def write(
    connection: sqlite3.Connection,
    stored: StoredSource,
    source: Source,
) -> None:
    """Note how a source was read. One that is known keeps its place in the order."""
    config = stored.config
    values = {
        "name": config.name,
        "kind": config.kind,
        "location": config.location,
        "options": json.dumps(config.options, ensure_ascii=False),
        "never": json.dumps(config.never, ensure_ascii=False),
        "include_trashed": config.include_trashed,
        "config_file": config.config_file,
        "app": source.app,
        "heading_link": source.heading_link,
        "state": stored.state,
        "read": stored.read,
        "notes": stored.notes,
        "skipped": json.dumps(stored.skipped, ensure_ascii=False),
        "version": stored.version,
    }
    connection.execute(
        f"""
        insert into sources ({", ".join(values)})
        values ({", ".join(f":{column}" for column in values)})
        on conflict (name) do update set
          {", ".join(f"{column} = excluded.{column}" for column in values)}
        """,
        values,
    )


def set_config_file(connection: sqlite3.Connection, config: SourceConfig) -> None:
    """Note which file names a source that isn't read again."""
    connection.execute(
        "update sources set config_file = ? where name = ? and config_file is not ?",
        [config.config_file, config.name, config.config_file],
    )


def forget(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Forget sources; their notes have to be gone already."""
    connection.executemany("delete from sources where name = ?", [(name,) for name in names])
