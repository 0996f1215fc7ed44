"""Sources as rows of the index file, in the caller's transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ...notes import local_minute
from ...sources.base import Source, SourceConfig
from ...sources.formats.dates import timestamp_from_seconds
from ...sqlite import sqlite3
from . import database
from .metadata import get_meta, json_value, set_meta
from .notes import remove

# Key in meta: when sources with an interval or an error were last tried, and the error.
TRIES = "tries"


@dataclass(frozen=True)
class StoredSource:
    config: SourceConfig
    state: str  # the source's state() just before it was read
    read: str | None  # when, ISO 8601 UTC
    notes: int
    version: str | None  # of the package that read it
    skipped: tuple[str, ...]  # what was left out and why, for people
    tried: int | None = field(default=None, compare=False)  # last try, in seconds since 1970
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
    """Return the sources in the index by name, in the order in which they were added."""
    sql = """
    select
      state, read, notes, version, skipped,
      name, kind, location, options, never, include_trashed, config_file
    from sources
    order by rowid
    """
    sources = {}
    tries = json_value(get_meta(connection, TRIES) or "{}", dict)
    for state, read, notes, version, skipped, *config in connection.execute(sql):
        name, kind, location, options, never, trashed, file = config
        options, never = json_value(options, dict), json_value(never, list)
        source = SourceConfig(name, kind, location, options, tuple(never), bool(trashed), file)
        own = (source, state, read, notes, version, tuple(json_value(skipped, list)))
        sources[name] = StoredSource(*own, *tries.get(name, ()))
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
    stored = get_meta(connection, TRIES) or "{}"
    tries = json_value(stored, dict)
    for config in configs:
        tries.pop(config.name, None)
        if config.every or config.name in errors:
            tries[config.name] = [int(time.time()), *errors.get(config.name, ("", None))]
    known = {name for (name,) in connection.execute("select name from sources")}
    text = json.dumps({name: each for name, each in tries.items() if name in known})
    if text != stored:
        set_meta(connection, **{TRIES: text})


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
