"""Dates as people write them → spans in local time; in the index file they are in UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

# Spans that people mean more often than they know how to write them; years and months they know.
SPANS = (
    "today yesterday this-week last-week this-month last-month this-year last-year 7d 30d 12m"
).split()

_UNITS = {"d": "day", "w": "week", "m": "month", "y": "year"}
# Patterns are compiled when they are first used, since every datasette command imports this module.
_CALENDAR = r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?"
# "3 weeks ago", "7d", "last 7 days"
_COUNTED = r"(last |past )?([0-9]{1,4}) ?(d|w|m|y|days?|weeks?|months?|years?)( ago)?"
_NAMED = r"(this|last) (week|month|year)"


def today() -> datetime:
    """Return when this day began."""
    return datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)


def period(text: str) -> tuple[datetime, datetime]:
    """Return the span that a date means: its first moment and the first moment after it.

    ``2024-05`` is a month, ``today`` a day; ``last week`` and ``3-weeks-ago`` are weeks from Monday
    to Sunday, ``7d`` the last seven days, up to now; a time is itself.

    :raises ValueError: if it isn't a date
    """
    text = text.strip().lower()
    try:
        if match := re.fullmatch(_CALENDAR, text):
            year, month, day = match.groups()
            start = datetime(int(year), int(month or 1), int(day or 1))
            return start, units_back(start, "day" if day else "month" if month else "year", -1)
        words = re.sub(r"[-_ ]+", " ", text)
        if words in ("today", "yesterday"):
            return _unit("day", 0 if words == "today" else 1)
        if match := re.fullmatch(_NAMED, words):
            return _unit(match[2], 0 if match[1] == "this" else 1)
        if match := re.fullmatch(_COUNTED, words):
            since, count, unit, ago = match.groups()
            unit = _UNITS[unit[0]]
            if ago and not since:
                return _unit(unit, int(count))
            if not ago:
                return units_back(today(), unit, int(count)), today() + timedelta(days=1)
        moment = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
    return moment, moment


def span(text: str) -> tuple[datetime | None, datetime | None]:
    """Return the first moment of a date or range, and the first after it; None: it is open.

    A range is ``2024..2025-03`` (both ends are in it), ``2024-05..``, ``..2024``, ``>2024-05``,
    ``>=2024-05``, ``<2024`` or ``<=2024``.

    :raises ValueError: if it is neither, or if the range ends before it begins
    """
    text = text.strip()
    if text.startswith(("<", ">")):
        comparison = text[: 2 if text[1:2] == "=" else 1]
        low, high = period(text[len(comparison) :])
        if comparison.startswith(">"):
            return (low if comparison == ">=" else high), None
        return None, (high if comparison == "<=" else low)
    first, dots, last = text.partition("..")
    if not dots:
        return period(text)
    start = period(first)[0] if first.strip() else None
    end = period(last)[1] if last.strip() else None
    if (start is None and end is None) or (start and end and utc(start) >= utc(end)):
        raise ValueError(f"{text!r} is no range of dates")
    return start, end


def utc(moment: datetime) -> str:
    """Return a moment (without time zone: local) as the index file writes it.

    :raises ValueError: outside the years that a computer's clock can name
    """
    try:
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"The date {moment.isoformat()} is out of range") from None


def units_back(moment: datetime, unit: str, count: int) -> datetime:
    """Return the same time so many units before; in too short a month its last day."""
    # Takes some milliseconds to import, and few queries need it.
    from dateutil.relativedelta import relativedelta

    units: dict[str, Any] = {f"{unit}s": count}
    return moment - relativedelta(**units)


def _unit(unit: str, back: int) -> tuple[datetime, datetime]:
    """Return the whole day, week, month or year that lies so many of them back."""
    day = today()
    start = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }[unit]
    start = units_back(start, unit, back)
    return start, units_back(start, unit, -1)
