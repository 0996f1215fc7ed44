"""A time as people say it, in English or German → the span that it means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

from . import dates

MONTHS = (
    "january?|jänner", "february?", "march|märz|maerz", "april", "ma[yi]", "jun[ei]", "jul[yi]",
    "august", "september", "o[ck]tober", "november", "de[cz]ember",
)  # fmt: skip
WEEKDAYS = (
    "monday|montag", "tuesday|dienstag", "wednesday|mittwoch", "thursday|donnerstag",
    "friday|freitag", "saturday|samstag|sonnabend", "sunday|sonntag",
)  # fmt: skip
_SEASONS = ("spring|frühling|frühjahr", "summer|sommer", "autumn|fall|herbst", "winter")
_NUMBERS = (
    "a|an|one|eine?[mr]?", "two|zwei|a couple of|ein paar", "three|drei|a few", "four|vier",
    "five|fünf", "six|sechs", "seven|sieben", "eight|acht", "nine|neun", "ten|zehn",
)  # fmt: skip
_UNITS = ("days?|tage?n?", "weeks?|wochen?", "months?|monat(?:e?n?|s)", "years?|jahr(?:e?n?|es)")
_DAYS = (
    "today|heute(?: morgen| früh)?|this morning", "yesterday|gestern|last night|letzte nacht",
    "the day before yesterday|vorgestern",
)  # fmt: skip
# What every time has in it.
ANY = "|".join((*MONTHS, *WEEKDAYS, *_SEASONS, *_UNITS, *_DAYS, r"20\d\d"))

LAST = r"last|previous|past|letzt?e[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?"
THIS = r"this|diese[nmrs]?"
_THE = r"(?:the|de[rmns]|die|das)"
_IN = (
    r"(?:about )?(?:(?P<of>from|form|of|aus|vo[nm])|(?P<since>since|seit)|in|on|during|over|"
    rf"within|im|am|während)(?: {_THE})?(?: (?:year|jahr))?"
)


class Said(NamedTuple):
    """The part of a text from ``start`` to before ``end``, and the span that it means."""

    start: int
    end: int
    name: slice  # without "in" and the like: "last week", but "since March"
    since: datetime
    until: datetime
    kind: str  # FROM, SINCE or IN after a preposition, WHOSE with an 's, or else LAST
    is_sure: bool  # whether it is a time of the past, whatever the text is about


def period(text: str) -> tuple[datetime, datetime]:
    """Return the span of a date or of a time in words, such as ``two weeks ago``.

    :raises ValueError: if the text is neither
    """
    words = " ".join(text.lower().split())
    matches = (re.fullmatch(pattern, words) for pattern, _ in _patterns())
    match = next(filter(None, matches), None)
    return _span(match) if match else dates.period(text)


def said(text: str) -> Iterator[Said]:
    """Yield the times in a text in lower case, the most specific first; some may overlap."""
    for pattern, is_sure in _patterns():
        for match in re.finditer(pattern, text):
            (since, until), (start, end) = _span(match), match.span()
            kind = "IN" if start < match.start("core") else "LAST"
            if end > match.end("core"):
                kind = "WHOSE"
            elif match["of"]:
                kind = "FROM"
            elif match["since"]:
                kind, until = "SINCE", dates.today() + timedelta(days=1)
            name = slice(*match.span(0 if kind == "SINCE" else "core"))
            yield Said(start, end, name, since, until, kind, is_sure)


@cache
def _patterns() -> tuple[tuple[str, bool], ...]:
    """Return patterns, the most specific first, and whether each surely is of the past."""
    months, weekdays, seasons = map("|".join, (MONTHS, WEEKDAYS, _SEASONS))
    counted = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>{'|'.join(_UNITS)})"
    spans = r"week|woche|month|monats?|year|jahr(?:es)?|weekend|wochenende"
    named, year = rf"(?P<name>{spans}|{months}|{weekdays}|{seasons})", r"(?P<year>20\d\d)"
    date, month = r"(?P<date>0?[1-9]|[12]\d|3[01])", r"(?P<month>0?[1-9]|1[0-2])"
    day = rf"{date}(?:st|nd|rd|th|\.)?"
    may_be_in, must_be_in = rf"(?:{_IN} )?", rf"{_IN} "
    patterns = (
        (may_be_in, rf"{counted} (?P<ago>ago)", True),
        (may_be_in, rf"(?:(?P<ago>vor)|(?:{_THE} )?(?:{LAST})) {counted}", True),
        (may_be_in, rf"(?P<day>{'|'.join(reversed(_DAYS[1:]))})", True),
        (may_be_in, rf"(?P<last>{LAST}) {named}", True),
        (may_be_in, rf"(?P<day>{_DAYS[0]})", False),
        (may_be_in, rf"(?:earlier )?(?:{THIS}) {named}", False),
        # Alone, a day is searched for as it is typed.
        (must_be_in, rf"{day} (?:of )?(?P<name>{months}),? {year}", True),
        (must_be_in, rf"(?P<name>{months}) {day},? {year}", True),
        (must_be_in, rf"{year}-{month}-{date}", True),
        (must_be_in, rf"{date}\. ?{month}\. ?{year}", True),
        # 12 May 2023 isn't all of May.
        (may_be_in, rf"(?<![\d.] )(?P<name>{months}|{seasons})(?: of| im jahr)? {year}", True),
        (must_be_in, year, True),
        (may_be_in, rf"(?P<name>{weekdays})(?=['’]s)", True),
        (must_be_in, rf"(?P<name>{months}|{weekdays}|{seasons})(?! \d)", False),
    )
    # Match whole words only. Of "last weekend's fair", match the 's, too.
    return tuple(
        (rf"\b{lead}(?P<core>{core})(?:['’]s)?(?![\w'’-])", is_sure)
        for lead, core, is_sure in patterns
    )


def _span(match: re.Match[str]) -> tuple[datetime, datetime]:
    """Return the latest span of this name that has begun, unless a year is said."""
    groups = {name: each for name, each in match.groupdict().items() if each}
    today, unit_names = dates.today(), ("day", "week", "month", "year")
    name, year, is_last = groups.get("name", ""), int(groups.get("year", 0)), "last" in groups
    if number := groups.get("number"):
        count = int(number) if number.isdecimal() else _place(_NUMBERS, number)
        unit = unit_names[_place(_UNITS, groups["unit"]) - 1]
        return dates.period(f"{count} {unit}s{' ago' if 'ago' in groups else ''}")
    if "day" in groups:
        return dates.period(f"{_place(_DAYS, groups['day']) - 1} days ago")
    season = _place(_SEASONS, name)
    if first := 3 * season or _place(MONTHS, name) or int(groups.get("month", 0)):
        begin = datetime(year or today.year, first, 1)
        if date := groups.get("date"):
            return begin + timedelta(int(date) - 1), begin + timedelta(int(date))
        end = dates.units_back(begin, "month", -3 if season else -1)
        while not year and (end if is_last else begin) > today:
            begin, end = (each.replace(year=each.year - 1) for each in (begin, end))
        return begin, end
    if weekday := _place(WEEKDAYS, name):
        return dates.period(f"{(today.weekday() - weekday + 1) % 7 or 7} days ago")
    if name in ("weekend", "wochenende"):
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return saturday, saturday + timedelta(days=2)
    if not name:
        return dates.period(str(year))
    return dates.period(f"{'last' if is_last else 'this'} {unit_names[_place(_UNITS, name) - 1]}")


def _place(names: Sequence[str], text: str) -> int:
    """Return the place of a text among these patterns, from 1; 0 if it isn't there."""
    return next((place for place, name in enumerate(names, 1) if re.fullmatch(name, text)), 0)
