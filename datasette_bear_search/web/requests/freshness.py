"""How fresh the index is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from datasette.app import Datasette

from ...index.file import metadata
from ...index.file.sources import StoredSource, read_sources
from ...notes import counted, local_day, local_time
from ...search.redaction import masking
from ...sqlite import sqlite3
from ..api.openapi import UPDATE_PATH
from .databases import known_sidecar, url
from .errors import PageError, read_index
from .settings import may_write, redacts

if TYPE_CHECKING:
    from ...index.updater import Updater


@dataclass(frozen=True)
class Freshness:
    indexed: str | None  # when the last run ended
    ago: str | None
    notes: int
    update_url: str | None  # the update button's URL; None where nothing is ever written
    doing: str  # what the updater is doing; "" if it waits, or if there is none
    problems: Mapping[str, str]  # by source, "" for the index


# Set by ``bear-serve``. Any other Datasette has no updater and never writes.
updaters: WeakKeyDictionary[Datasette, Updater] = WeakKeyDictionary()


# When the last run ended, and the sources.
Stored = tuple[str | None, dict[str, StoredSource]]


def stored_freshness(connection: sqlite3.Connection) -> Stored:
    return metadata.get_meta(connection, "indexed"), read_sources(connection)


async def freshness(datasette: Datasette, stored: Stored | None = None) -> Freshness | None:
    """Return how fresh the index is; None if there is none or it can't be read.

    :param stored: what the index says, if it has been read
    """
    database = known_sidecar(datasette)
    if database is None:
        return None
    try:
        indexed, sources = stored if stored else await read_index(database, stored_freshness)
    except PageError:
        return None
    problems = {name: each.schedule for name, each in sources.items() if each.error}
    notes = sum(each.notes for each in sources.values())
    updater = updaters.get(datasette)
    update_url, doing = None, ""
    if updater and may_write(database):
        update_url, doing = url(datasette, UPDATE_PATH), updater.activity.doing
        problems = {**updater.activity.problems, **problems}
    shown = masking.masked if redacts(datasette) else str
    problems = {shown(name): shown(said) for name, said in problems.items()}
    return Freshness(indexed, ago(indexed), notes, update_url, doing, problems)


def ago(timestamp: str | None, now: datetime | None = None) -> str | None:
    """Return how long ago a time was, in minutes, hours or days; for older times, the date."""
    then = local_time(timestamp)
    if then is None:
        return None
    minutes = ((now or datetime.now()).astimezone() - then).total_seconds() / 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{int(minutes)} min ago"
    if minutes < 24 * 60:
        return f"{counted(int(minutes / 60), 'hour')} ago"
    return age(timestamp, now) or local_day(timestamp)


def age(timestamp: str | None, now: datetime | None = None) -> str | None:
    """Return how many local calendar days ago a time was; None if it isn't in the last week."""
    then = local_time(timestamp)
    if then is None:
        return None  # such as a note without a time
    days = ((now or datetime.now()).date() - then.date()).days
    if days in (0, 1):
        return ("today", "yesterday")[days]
    return f"{days} days ago" if 1 < days < 7 else None
