"""A time as people say it, in English or German → the span that it means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

from . import dates
from .dates import units_back

MONTHS = (
    "january|januar|jänner", "february|februar", "march|märz|maerz", "april", "may|mai",
    "june|juni", "july|juli", "august", "september", "october|oktober", "november",
    "december|dezember",
)  # fmt: skip
WEEKDAYS = (
    "monday|montag", "tuesday|dienstag", "wednesday|mittwoch", "thursday|donnerstag",
    "friday|freitag", "saturday|samstag|sonnabend", "sunday|sonntag",
)  # fmt: skip
_SEASONS = ("spring|frühling|frühjahr", "summer|sommer", "autumn|fall|herbst", "winter")
_NUMBERS = (
    "a|an|one|eine?[mr]?", "two|zwei|a couple of|ein paar", "three|drei|a few", "four|vier",
    "five|fünf", "six|sechs", "seven|sieben", "eight|acht", "nine|neun", "ten|zehn",
    "eleven|elf", "twelve|zwölf",
)  # fmt: skip
_UNITS = ("days?|tage?n?", "weeks?|wochen?", "months?|monat(?:e?n?|s)", "years?|jahr(?:e?n?|es)")
_DAYS = (
    "today|heute(?: morgen| früh)?|this morning", "yesterday|gestern|last night|letzte nacht",
    "the day before yesterday|vorgestern",
)  # fmt: skip
_WEEKEND = "weekend|wochenende"
# What every time has in it.
ANY = "|".join((*MONTHS, *WEEKDAYS, *_SEASONS, *_UNITS, *_DAYS, r"20\d\d"))

LAST = r"last|previous|past|letzt?e[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?"
THIS = r"this|diese[nmrs]?"
THE = r"(?:the|de[rmns]|die|das)"
IN = (
    r"(?:back )?(?:from|form|in|on|of|during|over|within|since|im|am|aus|vo[nm]|seit|während)"
    rf"(?: {THE})?(?: (?:year|jahr))?"
)


class Said(NamedTuple):
    """A time in a text."""

    start: int
    end: int
    name: slice  # "last week", without "in" and the like, but "since March"
    since: datetime
    until: datetime
    is_open: bool  # until now
    is_relative: bool  # to today
    is_past: bool  # surely, even if the text isn't about the past


def period(text: str) -> tuple[datetime, datetime]:
    """Return the span of a date or of a time in words, such as ``two weeks ago``.

    :raises ValueError: if the text is neither
    """
    with suppress(ValueError):
        return dates.period(text)
    text = " ".join(text.lower().split())
    for pattern, *_ in _patterns():
        if match := re.fullmatch(pattern, text):
            return _span(match)
    raise ValueError(f"{text!r} is no time")


def said(text: str) -> Iterator[Said]:
    """Yield the times in a text in lower case, the most specific kinds first."""
    for pattern, is_relative, is_past in _patterns():
        for match in re.finditer(pattern, text):
            with suppress(ValueError, OverflowError):
                since, until = _span(match)
                is_open = bool(re.match(r"(?:since|seit)\b", match[0]))
                until = dates.today() + timedelta(days=1) if is_open else until
                name = slice(*match.span(0 if is_open else "core"))
                yield Said(*match.span(), name, since, until, is_open, is_relative, is_past)


@cache
def _patterns() -> tuple[tuple[str, bool, bool], ...]:
    """Return patterns, whether each is relative to today, and whether its times are surely past."""
    months, weekdays, seasons = map("|".join, (MONTHS, WEEKDAYS, _SEASONS))
    counted = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>{'|'.join(_UNITS)})"
    spans = rf"week|woche|month|monats?|year|jahr(?:es)?|{_WEEKEND}"
    named, year = rf"(?P<name>{spans}|{months}|{weekdays}|{seasons})", r"(?P<year>20\d\d)"
    may_be_in, must_be_in = rf"(?:{IN} )?", rf"{IN} "
    patterns = (
        (may_be_in, rf"{counted} (?P<ago>ago)", True, True),
        (may_be_in, rf"(?P<ago>vor) {counted}", True, True),
        (may_be_in, rf"(?:{THE} )?(?:{LAST}) {counted}", True, True),
        (may_be_in, rf"(?P<day>{'|'.join(reversed(_DAYS[1:]))})", True, True),
        (may_be_in, rf"(?P<last>{LAST}) {named}", True, True),
        (may_be_in, rf"(?P<day>{_DAYS[0]})", True, False),
        (may_be_in, rf"(?:earlier )?(?:{THIS}) {named}", True, False),
        (may_be_in, rf"(?P<name>{months}|{seasons})(?: of| im jahr)? {year}", False, True),
        (must_be_in, year, False, True),
        ("", rf"(?P<name>{weekdays})(?=['’]s)", False, True),
        (must_be_in, rf"(?P<name>{months}|{weekdays}|{seasons})(?! \d)", False, False),
    )
    # Match whole words only. Of "last weekend's fair", match the 's, too.
    return tuple(
        (rf"\b(?<!\d )(?<!\d\. ){lead}(?P<core>{core})(?:['’]s)?(?![\w'’-])", is_relative, is_past)
        for lead, core, is_relative, is_past in patterns
    )


def _span(match: re.Match[str]) -> tuple[datetime, datetime]:
    """Return the latest span of this name that has begun, unless a year is said."""
    said = {name: each for name, each in match.groupdict().items() if each}
    today, unit_names = dates.today(), ("day", "week", "month", "year")
    name, year, is_last = said.get("name", ""), int(said.get("year", 0)), "last" in said
    if number := said.get("number"):
        count = int(number) if number.isdecimal() else _place(_NUMBERS, number)
        unit = unit_names[_place(_UNITS, said["unit"]) - 1]
        return dates.period(f"{count} {unit}s{' ago' if 'ago' in said else ''}")
    if "day" in said:
        return dates.period(f"{_place(_DAYS, said['day']) - 1} days ago")
    if month := _place(MONTHS, name):
        is_earlier = month > today.month or (is_last and month == today.month)
        return dates.period(f"{year or today.year - is_earlier}-{month:02}")
    if first := 3 * _place(_SEASONS, name):
        begin = datetime(year or today.year - (datetime(today.year, first, 1) > today), first, 1)
        if is_last and units_back(begin, "month", -3) > today:  # this season isn't over yet
            begin = begin.replace(year=begin.year - 1)
        return begin, units_back(begin, "month", -3)
    if weekday := _place(WEEKDAYS, name):
        return dates.period(f"{(today.weekday() - weekday + 1) % 7 or 7} days ago")
    if re.fullmatch(_WEEKEND, name):
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return saturday, saturday + timedelta(days=2)
    if not name:
        return dates.period(str(year))
    return dates.period(f"{'last' if is_last else 'this'} {unit_names[_place(_UNITS, name) - 1]}")


def _place(names: Sequence[str], text: str) -> int:
    """Return the place of a text among these patterns, from 1; 0 if it isn't there."""
    return next((place for place, name in enumerate(names, 1) if re.fullmatch(name, text)), 0)
