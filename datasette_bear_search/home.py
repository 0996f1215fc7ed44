"""The page before anything is searched for: what is new, pinned, or was written on this day, and the index itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from . import sidecar

# So many of each.
AT_MOST = 6

# What a person put away isn't brought up again.
_AT_HAND = "not archived and not trashed"

_RECENT = f"""
select id, title, modified
from notes
where {_AT_HAND}
order by modified desc, id
limit {AT_MOST}
"""

# The inner queries read an index from end to end instead of every note.
_PINNED = f"""
select id, title, modified
from notes
where id in (select id from notes where pinned and {_AT_HAND})
order by modified desc, id
limit {AT_MOST}
"""

_ON_THIS_DAY = f"""
select id, title, created
from notes
where id in (
    select id
    from notes
    where {_AT_HAND}
      and substr(created, 6, 5) in (:day_before, :day, :day_after)
  )
  and strftime('%m-%d', created, 'localtime') = :day
  and strftime('%Y', created, 'localtime') < :year
order by created desc, id
limit {AT_MOST}
"""

_SOURCES = """
select name, location, notes, read
from sources
order by notes desc, name
"""


@dataclass(frozen=True)
class Note:
    """A note that the page offers."""

    id: int
    title: str
    at: str | None  # when it was modified or, of those of this day, created


@dataclass(frozen=True)
class Source:
    """Where notes come from."""

    name: str
    location: str
    notes: int
    read: str | None


@dataclass(frozen=True)
class Home:
    """What the page shows before anything is searched for."""

    recent: tuple[Note, ...]
    pinned: tuple[Note, ...]
    on_this_day: tuple[Note, ...]
    sources: tuple[Source, ...]


def home(connection: sidecar.sqlite3.Connection, now: datetime | None = None) -> Home:
    """Read it from the sidecar.

    :param now: what "this day" is
    """
    now = now or datetime.now()

    def notes(sql: str) -> tuple[Note, ...]:
        parameters = {
            "day": f"{now:%m-%d}",
            # In universal time it may be another day.
            "day_before": f"{now - timedelta(days=1):%m-%d}",
            "day_after": f"{now + timedelta(days=1):%m-%d}",
            "year": f"{now.year:04}",
        }
        return tuple(Note(*row) for row in connection.execute(sql, parameters))

    return Home(
        recent=notes(_RECENT),
        pinned=notes(_PINNED),
        on_this_day=notes(_ON_THIS_DAY),
        sources=tuple(Source(*row) for row in connection.execute(_SOURCES)),
    )
