"""Dates as people and programs write them → ISO 8601 in UTC."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import cache

from .text import word_lists

# Seconds from 1970 to 2001, the epoch of Core Data and thus of every Mac app.
APPLE_EPOCH = 978_307_200

_LONGEST = 100  # characters

_ZONE = r"(?P<zone>Z|(?:UTC|GMT)?\s?(?P<sign>[+-])(?P<ahead>\d{1,2}):?(?P<by>\d{2})?|UTC|GMT)?"
# Nearly all dates match this: 2024-05-01, 2024/5/1 9:30, 2024-05-01T09:30:00.123+02:00.
_ISO = re.compile(
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"(?:[T\s]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?\s*"
    rf"{_ZONE})?",
    re.IGNORECASE | re.ASCII,
)
# 20240501, 202405010930, 20240501T093000Z
_COMPACT = re.compile(
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
    rf"(?:T?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE})?",
    re.IGNORECASE | re.ASCII,
)
# Since 1970, and from 2001 on also in thousandths and millionths of seconds.
_SECONDS = re.compile(r"\d{9,10}|\d{13}|\d{16}", re.ASCII)

# A link to a daily note, quoted or with a label.
_LINKED = re.compile(r"[\"']*\[\[(?:[^\[\]|]*/)?([^\[\]|/]+)(?:\|[^\[\]]*)?\]\][\"']*")
# What programs and people add: Notion's "@", brackets, and the names of time zones and weekdays.
_NOISE = re.compile(r"^[@<\[]+|[>\]]+$|\s*(?:\((?!GMT|UTC)[^()]*\)|\[[\w/]+\]$)")
# 2024年1月5日, 2024. 1. 5.; 5.1.2024; "ngày 5 tháng 1 năm 2024" in Vietnamese, where months have
# numbers; 25/12/2024, 12/25/2024 and 5/5/2024, but not 1/5/2024, which may be either of two days.
_DAYS = [
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})\s?[-/.年년]\s?(?P<month>\d{1,2})\s?[-/.月월]\s?(?P<day>\d{1,2})"
        r"(?!\d)\s?(?:T(?=\d)|[日일号號.,])?",
        r"(?<!\d)(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)",
        r"(?:ngày\s)?(?P<day>\d{1,2})\stháng\s(?P<month>\d{1,2}),?\s(?:năm\s)?(?P<year>\d{4})",
        r"(?<!\d)(?P<day>1[3-9]|2\d|3[01])[-/](?P<month>\d{1,2})[-/](?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<month>\d{1,2})[-/](?P<day>(?P=month)|1[3-9]|2\d|3[01])[-/](?P<year>\d{4})(?!\d)",
    )
]
_TIME = re.compile(
    r"(?P<eastern>上午|下午|晚上|午前|午後|오전|오후)?\s?(?<!\d)(?P<hour>\d{1,2})\s?"
    r"(?:(?::|\.(?=\d\d(?:\D|\Z)))(?P<minute>\d{2})"
    r"|(?:h(?![^\W\d_])|[時时點点시])\s?(?P<minutes>\d{1,2})?\s?[分분]?"
    r"|(?=\s?[ap]\.?m\b))"
    r"(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?!\d)\s?(?P<half>[ap]\.?m\b\.?)?\s*\(?"
    rf"{_ZONE}\)?",
    re.IGNORECASE | re.ASCII,
)
_AFTERNOON = ("下午", "晚上", "午後", "오후")
_NUMBER = re.compile(r"\d+", re.ASCII)
_YEAR = re.compile(r"(?:1[89]|20)\d\d", re.ASCII)
_WORD = re.compile(r"[^\s\d.,;:()'’/_-]+")
# Words beside a day in numbers: the weekday, and what goes before a time.
MOST_WORDS = 3


def parse_timestamp(value: object) -> str | None:
    """Return the moment that a text means, or None if it isn't a date or is ambiguous.

    A time without a zone is local time. A day without a time is noon in UTC, which is the same day
    nearly everywhere.
    """
    text = str(value).strip() if value is not None else ""
    if not text or len(text) > _LONGEST:
        return None
    with suppress(ValueError, OverflowError, OSError):
        if match := _ISO.fullmatch(text) or _COMPACT.fullmatch(text):
            return _iso(_moment(match.groupdict()))
        if _SECONDS.fullmatch(text):
            return timestamp_from_seconds(int(text) / 10 ** max(len(text) - 10, 0))
        if match := _LINKED.fullmatch(text):
            return parse_timestamp(match[1].removesuffix(".md"))
        text = unicodedata.normalize("NFKC", text)
        text = "".join(str(int(each)) if each.isdecimal() else each for each in text)
        plain = _NOISE.sub("", text).strip()
        compact = _COMPACT.fullmatch(plain)
        parts = compact.groupdict() if compact else _parts(plain)
        return _iso(_moment(parts)) if parts else None
    return None


def first_timestamp(values: Mapping[str, object], names: Iterable[str]) -> str | None:
    """Return the first valid date among the named values, or None."""
    return next(filter(None, (parse_timestamp(values.get(name)) for name in names)), None)


def timestamp_from_seconds(seconds: float) -> str | None:
    """Return the moment that is ``seconds`` after 1970; None if it is out of range."""
    with suppress(ValueError, OverflowError, OSError):
        return _iso(datetime.fromtimestamp(seconds, timezone.utc))
    return None


def later(created: str | None, modified: str | None) -> str | None:
    """Return when a note was modified, which is never before it was created."""
    return max(created, modified) if created and modified else modified


def _parts(text: str) -> dict[str, str | None] | None:
    """Return the parts of a date and time in any order, as the groups of the expressions above."""
    day = next(filter(None, (pattern.search(text) for pattern in _DAYS)), None)
    rest = text.replace(day[0], " ", 1) if day else text
    time = _TIME.search(rest)
    rest = rest.replace(time[0], " ", 1) if time else rest
    words, numbers = _WORD.findall(_plain(rest)), sorted(_NUMBER.findall(rest), key=len)
    parts: dict[str, str | None] = time.groupdict() if time else {}
    if day:
        is_date = not numbers and len(words) <= MOST_WORDS and all(map(str.isalpha, words))
        return parts | day.groupdict() if is_date else None
    months = [month for month in map(_month, words) if month]
    if len(months) == 2 and months[0] == 3:  # Tuesday: mardi, martes, martedì, marți
        del months[0]
    if len(months) != 1 or len(numbers) != 2 or not _YEAR.fullmatch(numbers[1]):
        return None
    return parts | {"year": numbers[1], "month": str(months[0]), "day": numbers[0]}


def _moment(parts: Mapping[str, str | None]) -> datetime:
    """Return a moment in local time if there is no zone, or noon in UTC if there is no time."""
    year, month, day = (int(parts[name] or 0) for name in ("year", "month", "day"))
    if not parts.get("hour"):
        return datetime(year, month, day, 12, tzinfo=timezone.utc)
    names = ("minutes", "minute", "second", "ahead", "by")
    minutes, minute, second, ahead, by = (int(parts.get(name) or 0) for name in names)
    hour, half = int(parts["hour"] or 0), parts.get("half") or parts.get("eastern")
    if half:
        hour = hour % 12 + 12 * (half in _AFTERNOON or half[0] in "pP")
    moment = datetime(year, month, day, hour, minute or minutes, second)
    if parts.get("zone"):
        offset = timedelta(hours=ahead, minutes=by) * (-1 if parts["sign"] == "-" else 1)
        moment = moment.replace(tzinfo=timezone(offset))
    return moment


def _iso(moment: datetime) -> str:
    # Not strftime("%Y"), which on some systems doesn't pad years before 1000 with zeros.
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")[:19] + "Z"


def _plain(text: str) -> str:
    # Without accents, but with the vowels of Hindi.
    letters = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", letters)


def _month(word: str) -> int | None:
    # The longest beginning counts: "marras" is November in Finnish.
    word = word.removeprefix("ב")  # "in", which Hebrew writes in one word
    beginnings = (word[:length] for length in range(len(word), 1, -1))
    return next((_months()[it] for it in beginnings if it in _months()), None)


@cache
def _months() -> dict[str, int]:
    return {_plain(name): month for month in range(1, 13) for name in word_lists()[str(month)]}
