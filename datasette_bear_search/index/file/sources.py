"""Sources as rows of the index file, in the caller's transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...notes import local_minute
from ...sources.base import Source, SourceConfig
from ...sources.formats.dates import timestamp_from_seconds
from ...sqlite import sqlite3
from . import database
from .metadata import json_value
from .notes import remove


@dataclass(frozen=True)
class StoredSource:
    config: SourceConfig
    state: str  # the source's state() just before it was read
    read: str | None  # when, ISO 8601 UTC
    notes: int
    version: str | None  # of the package that read it
    skipped: tuple[str, ...]  # what was left out and why, for people
    # If it has an interval or an error: when it was last tried, in seconds since 1970.
    tried: int | None = field(default=None, compare=False)
    error: str = field(default="", compare=False)  # why that failed, for people
    missed: int | None = field(default=None, compare=False)  # when it first lost many notes

    @property
    def next_try(self) -> str | None:
        """When bear-serve will read it again, ISO 8601; None: when its files change."""
        pause = self.config.pause(has_failed=bool(self.error))
        if not self.tried or not pause or self.tried > time.time():  # the clock was set back
            return None
        return timestamp_from_seconds(self.tried + pause)

    @property
    def schedule(self) -> str:
        """Lines for people on its last error and next reading; "" if there is nothing special."""
        says = self.error
        if self.error and self.tried:
            says += f" (Tried on {local_minute(timestamp_from_seconds(self.tried))}.)"
        if self.next_try:
            every = self.config.options["every"]
            says += f" Read every {every}, next on {local_minute(self.next_try)}."
        return says.strip()


def sources_at(path: Path) -> dict[str, StoredSource]:
    """Return the sources in the index at a path by name; none if there is no index yet."""
    if not database.is_made(path):
        return {}
    with closing(database.connect(path)) as connection:
        return read_sources(connection)


def read_sources(connection: sqlite3.Connection) -> dict[str, StoredSource]:
    """Return the sources in the index by name, in the order in which they were added.

    An index of an earlier version may lack some of the columns.
    """
    cursor = connection.execute("select * from sources order by rowid")
    columns = [column for column, *_ in cursor.description]
    sources = {}
    for values in cursor:
        row = dict(zip(columns, values))
        options, never = json_value(row["options"], dict), json_value(row["never"], list)
        name, kind, location = row["name"], row["kind"], row["location"]
        about = (options, tuple(never), bool(row["include_trashed"]), row["config_file"])
        known = ("state", "read", "notes", "version", "tried", "error", "missed")
        facts: dict[str, Any] = {column: row[column] for column in known if column in row}
        facts["skipped"] = tuple(json_value(row["skipped"], list))
        sources[name] = StoredSource(SourceConfig(name, kind, location, *about), **facts)
    return sources


def write_source(connection: sqlite3.Connection, stored: StoredSource, source: Source) -> None:
    """Store a source. A known source keeps its place in the order."""
    # The fields of the config and of the StoredSource are columns.
    values = {**vars(stored.config), **vars(stored)}
    for other in ("config", "tried", "error", "missed"):
        del values[other]
    values |= {"app": source.app, "heading_link": source.heading_link}
    for column in ("options", "never", "skipped"):
        values[column] = json.dumps(values[column], ensure_ascii=False)
    connection.execute(
        f"""
        insert into sources ({", ".join(values)})
        values ({", ".join(f":{column}" for column in values)})
        on conflict (name) do update set
          {", ".join(f"{column} = excluded.{column}" for column in values)}
        """,
        values,
    )


def write_tries(
    connection: sqlite3.Connection,
    configs: Iterable[SourceConfig],
    errors: Mapping[str, tuple[str, int | None]],
) -> None:
    """Store when a run tried sources that have an interval or an error, and the errors.

    :param errors: source → why it failed, and when it first lost many notes
    """
    for config in configs:
        tried = int(time.time()) if config.every or config.name in errors else None
        values = [tried, *errors.get(config.name, ("", None))]
        connection.execute(
            "update sources set (tried, error, missed) = (?, ?, ?)"
            " where name = ? and (tried, error, missed) is not (?, ?, ?)",
            [*values, config.name, *values],
        )


def set_config_file(connection: sqlite3.Connection, config: SourceConfig) -> None:
    connection.execute(
        "update sources set config_file = ? where name = ? and config_file is not ?",
        [config.config_file, config.name, config.config_file],
    )


def remove_sources(connection: sqlite3.Connection, names: Sequence[str]) -> int:
    """Remove sources with their notes; return the number of these notes."""
    listed = ", ".join("?" * len(names))
    rows = connection.execute(f"select id from notes where source in ({listed})", names).fetchall()
    remove(connection, [note_id for (note_id,) in rows])
    connection.execute(f"delete from sources where name in ({listed})", names)
    return len(rows)
