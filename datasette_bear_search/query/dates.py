"""Dates as people write them → spans of local time. The index file stores dates in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

# Spans to suggest, because people rarely know how to write them. Years and months they do know.
SPANS = (
    "today yesterday this-week last-week this-month last-month this-year last-year 7d 30d 12m"
).split()

_UNITS = {"d": "day", "w": "week", "m": "month", "y": "year"}
# Every datasette command imports this module, so patterns are compiled only when they are used.
_CALENDAR = r"(\d{4})(?:[-/.](\d{1,2}))?(?:[-/.](\d{1,2}))?"
# "3 weeks ago", "7d", "last 7 days"
_COUNTED = r"(last |past )?([0-9]{1,4}) ?(d|w|m|y|days?|weeks?|months?|years?)( ago)?"
_NAMED = r"(this|last) (week|month|year)"


def today() -> datetime:
    """Return the local time at which today began."""
    return datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)


def period(text: str) -> tuple[datetime, datetime]:
    """Return the first moment of a date and the first moment after it.

    ``2024-05`` is a month and ``today`` a day; ``last week`` and ``3-weeks-ago`` are weeks from
    Monday to Sunday, as is ``2024-W18``; ``7d`` is the last seven days and today. A time of day is
    a single moment.

    :raises ValueError: if the text isn't a date
    """
    text = text.strip().lower()
    try:
        if match := re.fullmatch(r"(\d{4})-?w(\d\d)", text):
            start = datetime.fromisocalendar(int(match[1]), int(match[2]), 1)
            return start, units_back(start, "week", -1)
        text = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", text)
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
        if day := _written_day(text):
            return day, units_back(day, "day", -1)
        moment = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
    return moment, moment


def _written_day(text: str) -> datetime | None:
    """Read a day such as ``May 5th, 2025`` or ``31.5.2025``; ``5/6/2025`` means two days."""
    if ":" in text or not re.search(r"\d\D+\d{4}$", text):
        return None
    from dateutil import parser  # takes some milliseconds

    # Whatever isn't in the text, is taken from the default: then the two readings differ.
    ways = ((datetime(1, 1, 1), "." in text), (datetime(2, 2, 2), True))
    try:
        one, other = (parser.parse(text, default=day, dayfirst=first) for day, first in ways)
    except (ValueError, OverflowError):
        return None
    return one if one == other else None


def span(
    text: str, period: Callable[[str], tuple[datetime, datetime]] = period
) -> tuple[datetime | None, datetime | None]:
    """Return the first moment of a date or range and the first after it; None for an open end.

    A range is ``2024..2025-03`` (which includes both ends), ``2024-05..``, ``..2024``,
    ``>2024-05``, ``>=2024-05``, ``<2024`` or ``<=2024``.

    :param period: reads a date
    :raises ValueError: if the text is neither, or if the range ends before it begins
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


def span_name(since: datetime, until: datetime) -> str:
    """Return the days, months or years of a span: ``16–22 Nov 2026``, ``Jun–Aug 2026``, ``2023``.

    :param until: the first moment after it
    """
    first, last = (
        [str(day.day), f"{day:%b}", f"{day:%Y}"][-_precision(since, until) :]
        for day in (since, until - timedelta(days=1))
    )
    end = " ".join(last)
    if first == last:
        return end
    while first[-1] == last.pop():
        first.pop()
    return f"{' '.join(first)}{' – ' if first[1:] else '–'}{end}"


def span_text(since: datetime, until: datetime) -> str:
    """Return the same span as an operator's value: ``2026-11-16..2026-11-22``, ``2023``."""
    form = "-".join(("%Y", "%m", "%d")[: _precision(since, until)])
    first, last = (f"{day:{form}}" for day in (since, until - timedelta(days=1)))
    return first if first == last else f"{first}..{last}"


def _precision(since: datetime, until: datetime) -> int:
    """Return whether a span is of years (1), months (2) or days (3)."""
    if since.day > 1 or until.day > 1:
        return 3
    return 2 if since.month > 1 or until.month > 1 else 1


def utc(moment: datetime) -> str:
    """Return a moment as the index file stores it. Without a time zone it is local time.

    :raises ValueError: if this computer's clock can't represent the year
    """
    try:
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"The date {moment.isoformat()} is out of range") from None


def units_back(moment: datetime, unit: str, count: int) -> datetime:
    """Return the same time ``count`` units earlier, or a shorter month's last day."""
    # The import takes some milliseconds, and few queries need it.
    from dateutil.relativedelta import relativedelta

    units: dict[str, Any] = {f"{unit}s": count}
    return moment - relativedelta(**units)


def _unit(unit: str, back: int) -> tuple[datetime, datetime]:
    """Return the whole day, week, month or year that was ``back`` of them ago."""
    day = today()
    start = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }[unit]
    start = units_back(start, unit, back)
    return start, units_back(start, unit, -1)
