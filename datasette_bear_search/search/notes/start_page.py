"""What the page shows before anything is searched for, and saved searches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...index.file import sources as stored_sources
from ...index.file.metadata import SAVED_SEARCHES, get_meta, json_value, model_offer, set_meta
from ...sqlite import sqlite3

# Notes in each list of the start page, and the number of saved searches.
START_PAGE_NOTES = 6
MAX_SAVED = 20


@dataclass(frozen=True)
class StartPageNote:
    id: int
    title: str
    at: str | None  # when it was modified or, in on_this_day, created


@dataclass(frozen=True)
class StartPage:
    pinned: tuple[StartPageNote, ...]
    on_this_day: tuple[StartPageNote, ...]
    sources: tuple[stored_sources.StoredSource, ...]
    saved: tuple[str, ...]  # query strings, newest first
    model_offer: str | None  # of a model that knows the main language


def saved_searches(connection: sqlite3.Connection) -> tuple[str, ...]:
    return tuple(json_value(get_meta(connection, SAVED_SEARCHES) or "[]", list))


def save_search(connection: sqlite3.Connection, search: str, *, keep: bool) -> None:
    others = [other for other in saved_searches(connection) if other != search]
    saved = [search, *others][:MAX_SAVED] if keep else others
    set_meta(connection, **{SAVED_SEARCHES: json.dumps(saved)})


def read_start_page(connection: sqlite3.Connection, now: datetime | None = None) -> StartPage:
    """Read the start page from the index. ``now`` defines "this day", in local time."""
    now = now or datetime.now()
    parameters = {
        "day": f"{now:%m-%d}",
        # The stored UTC date may be the day before or after.
        "day_before": f"{now - timedelta(days=1):%m-%d}",
        "day_after": f"{now + timedelta(days=1):%m-%d}",
        "year": f"{now.year:04}",
    }

    def notes(date: str, condition: str) -> tuple[StartPageNote, ...]:
        # Don't bring up notes that a person has put away.
        sql = f"""
        select id, title, {date}
        from notes
        where not archived and not trashed and copy_of is null and {condition}
        order by {date} desc, id
        limit {START_PAGE_NOTES}
        """
        return tuple(StartPageNote(*row) for row in connection.execute(sql, parameters))

    sources = stored_sources.read_sources(connection).values()
    return StartPage(
        pinned=notes("modified", _IS_PINNED),
        on_this_day=notes("created", _IS_OF_THIS_DAY),
        sources=tuple(
            sorted(sources, key=lambda source: (-(source.notes or 0), source.config.name))
        ),
        saved=saved_searches(connection),
        model_offer=model_offer(connection),
    )


# The inner queries scan a covering index instead of every note.
_IS_PINNED = """
  id in (
    select id from notes where pinned and not archived and not trashed
    union select note_id from note_tags where pinned
  )
"""
_IS_OF_THIS_DAY = """
  id in (
    select id
    from notes
    where not archived and not trashed
      and substr(created, 6, 5) in (:day_before, :day, :day_after)
  )
  and strftime('%m-%d', created, 'localtime') = :day
  and strftime('%Y', created, 'localtime') < :year
"""
