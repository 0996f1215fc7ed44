"""Dates as people and programs write them into files → ISO 8601 in UTC, as a note has them."""

from __future__ import annotations

import re
from datetime import datetime, timezone

# What is nearly always written, read without a parser: 2024-05-01, 2024/5/1 9:30, 2024-05-01T09:30:00.123+02:00.
_ISO = re.compile(
    r"""(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})
    (?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}:?(?:\d{2})?)?)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# 20240501, 202405010930, 20240501T093000Z
_COMPACT = re.compile(
    r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{4})?)?", re.IGNORECASE | re.ASCII
)
_SECONDS = re.compile(r"\d{9,10}|\d{13}", re.ASCII)
# A year of its own: without one, a parser would take this year.
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d{2}(?!\d)", re.ASCII)

LONGEST = 60  # characters


def timestamp(written: object) -> str | None:
    """The moment that a text names, or None if it names none, or could be read in two ways.

    A time without a zone is this computer's. A day without a time is noon in UTC, which is the same day nearly everywhere.
    """
    text = str(written).strip() if written is not None else ""
    if not text or len(text) > LONGEST:
        return None
    try:
        if match := _ISO.fullmatch(text) or _COMPACT.fullmatch(text):
            return _of_parts(*match.groups())
        if _SECONDS.fullmatch(text):
            return of_seconds(int(text) / (1000 if len(text) > 10 else 1))
        return _parsed(text)
    except (ValueError, OverflowError, OSError):
        return None


def of_seconds(seconds: float) -> str | None:
    """A moment that is counted from 1970, as files have it."""
    try:
        return _written(datetime.fromtimestamp(seconds, timezone.utc))
    except (ValueError, OverflowError, OSError):
        return None


def _of_parts(
    year: str, month: str, day: str, hour: str | None, minute: str, second: str, zone: str | None
) -> str:
    if hour is None:
        return _written(datetime(int(year), int(month), int(day), 12, tzinfo=timezone.utc))
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))
    if zone:
        moment = datetime.strptime(
            f"{moment:%Y-%m-%d %H:%M:%S}{_offset(zone)}", "%Y-%m-%d %H:%M:%S%z"
        )
    return _written(moment)


def _offset(zone: str) -> str:
    digits = zone.replace(":", "")
    return "+0000" if digits.upper() in ("Z", "UTC") else digits.ljust(5, "0")


def _parsed(text: str) -> str | None:
    """What dateutil makes of "May 1, 2024 9:30 AM", but not of "1/5/2024", which is two days."""
    if not _YEAR.search(text):
        return None
    # Takes 20 ms to import, and few files need it.
    from dateutil import parser

    readings = set()
    # What isn't written is taken from the default: two defaults tell whether day and time are.
    for day_first in (False, True):
        for default in (datetime(2000, 1, 1, 1, 1), datetime(2000, 2, 2, 2, 2)):
            readings.add(parser.parse(text, default=default, dayfirst=day_first))
    days = {moment.date() for moment in readings}
    if len(days) != 1:
        return None
    if len(readings) > 1:  # no time
        [day] = days
        return _written(datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc))
    [moment] = readings
    return _written(moment)


def _written(moment: datetime) -> str:
    # Not strftime("%Y"), which some systems write without zeros before the year 1000.
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")[:19] + "Z"
