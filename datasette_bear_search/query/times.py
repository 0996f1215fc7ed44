"""A time as people say it, in English or German → the span that it means.

"What did I write last week about the cabin" asks for notes of that time, and so does "last week"
alone. "What did Ann bake at last weekend's fair" asks for what happened then, which a note of any
time may tell. Only the former are filters; any other time is merely offered as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from . import dates
from .dates import units_back
from .filters import Filters

# Earlier years are taken for history, not for the dates of notes.
FIRST_YEAR = 2000

_MONTHS = (
    "january|januar|jänner", "february|februar", "march|märz|maerz", "april", "may|mai",
    "june|juni", "july|juli", "august", "september", "october|oktober", "november",
    "december|dezember",
)  # fmt: skip
_WEEKDAYS = (
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
_ANY = "|".join((*_MONTHS, *_WEEKDAYS, *_SEASONS, *_UNITS, *_DAYS, r"20\d\d"))

_LAST = r"last|previous|past|letzt?e[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?"
_THIS = r"this|diese[nmrs]?"
_THE = r"(?:the|de[rmns]|die|das)"
_OF = r"(?:from|form|of|aus|vo[nm])\b"  # the time belongs to what is before it
_IN = (
    r"(?:back )?(?:from|form|in|on|of|during|over|within|since|im|am|aus|vo[nm]|seit|während)"
    rf"(?: {_THE})?(?: (?:year|jahr))?"
)

# What somebody who wants notes of a time calls them, and what they did to them then.
_NOTE = (
    r"(?:notes?|entr(?:y|ies)|journal|diary|memos?|thoughts|write-ups?|\w*notit?z(?:en)?|"
    r"\w*eintr[aä]ge?n?|aufzeichnung(?:en)?|tagebuch|zettel|gedanken)"
)
_NOTES = rf"(?:{_NOTE}|everything|anything|stuff|alles)"
_TEXTS = (
    rf"(?:{_NOTES}|lists?|drafts?|recipes?|pages?|texts?|files?|links?|ideas?|things?|something|"
    r"articles?|minutes|listen?|entw[uü]rfe?|rezepte?|texte?|ideen?|protokolle?|etwas)"
)
_WROTE = (
    r"(?:wr(?:ite|ote|itten|iting)|noted?|jot(?:ted)?|scribbled?|typed?|draft(?:ed)?|composed?|"
    r"logg?(?:ed)?|put(?= down\b)|notier\w*|schrieb\w*|\w*geschrieben|vermerkt|verfasst|"
    rf"festgehalten|(?:ma[dk]e|took|take|add(?:ed)?) (?:an? |some )?{_NOTE})"
)
_EDITED = (
    rf"(?:{_WROTE}|chang\w+|edit\w*|modif\w+|updated?|created?|saved?|started?|touched|dated|"
    r"geändert|bearbeitet|erstellt|angelegt|gespeichert)"
)
_CHANGED = rf"(?:{_EDITED}(?:en?)?|add(?:ed)?|ma[dk]e|t(?:ook|aken?)|gemacht)"
_I, _DID = r"(?:i|we|ich|wir)", r"(?:did|have|had|habe?n?|hatten?)"
_THAT = r"(?:that|which|were|was|been|just|also|die|das|den|wurden?|mir|uns)"
_CHANGED_NOTES = (
    rf"\b(?:{_NOTES}(?:,? (?:{_THAT}|{_DID}|{_I}))+|{_NOTES}\b[^,;]* {_DID} {_I}|"
    rf"{_TEXTS},? (?:{_THAT} )?{_I}|{_NOTES}(?= {_CHANGED}$))"
)
# Words of a text that only asks for notes, and before or after what they are about.
_ASKING = (
    rf"(?:{_NOTES}|{_CHANGED}|{_I}|{_DID}|{_THAT}|things?|something|etwas|what|all|any|show|find|"
    r"give|get|pull|bring|up|tell|remind|can|could|would|you|please|pls|me|my|our|the|of|from|for|"
    r"are|is|it|there|where|down|new|and|zeige?|finde|suche?|bitte|mal|so|alle|meinen?|wo|welche|"
    r"der|ist|sind|stammen|und)"
)
# A time belongs to something else right after one of these words, as in "about last week" …
_NOT_AFTER = (
    rf"\b(?:{_THE}|an?|my|our|his|her|their|for|by|before|until|after|than|about|not|except|every|"
    r"without|between|für|bis|vor|nach|als|über|nicht|ohne|zwischen)$"
)
# … and before one of these: the last week of May, from Monday to Friday, 2023 and 2024.
_NOT_BEFORE = (
    r" ?(?:[-–]|(?:of|des|der)\b|(?:to|until|till|bis|through|and|or|und|oder) "
    rf"(?:the )?(?:next |{_THIS}|{_LAST}|\d|{'|'.join((*_MONTHS, *_WEEKDAYS))}))"
)
_CLAUSE = rf"(?:[,;:.?!]|\b(?:{_I}|who|whom|that|which|when|where|he|she|they|er|wer|als|wo)\b)"
# A question about the past. In German, "was" is "what" and begins one.
_PAST = r"\b(?:did|were|had|hat(?:te)?|haben?|hatten|wurden?|waren?)\b|\w was\b"


class Time(NamedTuple):
    """The part of a text from ``start`` to before ``end``, and the span that it means."""

    start: int
    end: int
    name: str  # without "in" and the like: "last week"
    since: datetime
    until: datetime
    is_asked: bool  # whether the text asks for notes of that time
    is_all: bool  # whether it asks for nothing else
    asking: frozenset[int]  # the offsets of words that only ask for notes

    @property
    def filters(self) -> Filters:
        return Filters(moments=((dates.utc(self.since), dates.utc(self.until)),))

    @property
    def label(self) -> str:
        """The name and the dates, such as ``last summer (Jun–Aug 2026)``."""
        meant = dates.span_name(self.since, self.until)
        return meant if meant == self.name else f"{self.name} ({meant})"


def find(text: str) -> Time | None:
    """Return the time in a text that asks for notes of it, or else the first; or None."""
    found: list[Time] = []
    # In lower case, but with the same length, so that offsets stay valid.
    low = text.replace("İ", "I").lower()
    if not re.search(_ANY, low):  # it takes 9 ms to compile the others
        return None
    for pattern in _patterns():  # the most specific first
        for time in _times(text, low, *pattern):
            if all(time.start >= other.end or other.start >= time.end for other in found):
                found.append(time)
    return min(found, key=lambda time: (not time.is_asked, time.start), default=None)


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


def _times(text: str, low: str, pattern: str, is_relative: bool, is_past: bool) -> Iterator[Time]:
    for match in re.finditer(pattern, low):
        try:
            since, until = _span(match)
        except (ValueError, OverflowError):
            continue
        start, end = match.span()
        before, after = low[:start].rstrip(" ,"), low[end:]
        if since.year < FIRST_YEAR or since > dates.today() or re.match(_NOT_BEFORE, after):
            continue
        name = text[slice(*match.span("core"))]
        if is_open := bool(re.match(r"(?:since|seit)\b", match[0])):
            name, until = text[start:end], dates.today() + timedelta(days=1)
        is_of = bool(re.match(_OF, match[0]))
        is_free = is_open or (is_relative and not is_of)
        if re.match(_IN, match[0]):
            # What did I write about, or in my diary, in March?
            before = re.sub(rf" (?:about|in my {_NOTE})$", "", before)
        is_all = _only_asks(others := before + after) and (
            not re.search(r"\w", others) or bool(re.search(rf"\b(?:{_NOTES}|{_EDITED})\b", others))
        )
        is_asked = is_all or _is_asked(before, match[0], after, is_free)
        if is_asked or is_past or is_open or is_of or re.search(_PAST, low):
            asking = _asking(low, start, end) if is_asked else frozenset()
            yield Time(start, end, name, since, until, is_asked, is_all, asking)


def _is_asked(before: str, time: str, after: str, is_free: bool) -> bool:
    """Return whether a text asks for notes of the time between these parts of it.

    :param is_free: whether the time may be anywhere: "last week", but not "of last week"
    """
    if re.search(_NOT_AFTER, before):
        return False
    if re.match(rf" (?:{_CHANGED} )?{_NOTES}\b", after):  # yesterday's notes
        return True
    if time.endswith(("'s", "’s")):
        return False
    is_of = re.match(_OF, time) or (is_free and not re.match(r"(?:on|over|am)\b", time))
    own = rf"\b{_NOTES}(?: (?:are|were|stammen|sind))?$"
    if is_of and re.search(own, before):
        return True  # notes from last week about the roof
    # "Last week I wrote about the roof" means what "I wrote about the roof last week" means.
    before, after = (re.sub(rf"\b(schrieb) ({_I})\b", r"\2 \1", it) for it in (before, after))
    clause = re.match(rf"\W*(?:(?:what|was|{_DID}) )*{_I}\b(?:(?!{_CLAUSE}).)*", after)
    if clause and _only_asks(before):
        before, after, is_free = f"{before} {clause[0].strip()}", "", True
    after = re.split(_CLAUSE, after, maxsplit=1)[0]
    rest = rf"\b(?: (?:{_DID}|{_THAT}))*(?P<said>(?:(?!{_CLAUSE}).)*)$"
    notes = re.search(_CHANGED_NOTES + rest, before)
    begins = rf"(?:^\W*(?:{_ASKING}\W+)*|\b(?:what(?:ever)?|was) ){_I}"
    wrote = notes or re.search(f"{begins}{rest}", before)
    if not wrote:
        return False
    verb = _WROTE
    if notes:
        verb = _CHANGED if re.match(rf"{_NOTE}\b", notes[0]) else _EDITED
    # In German, the verb comes last.
    has_verb = rf"^ {verb}\b|\b{verb}\b(?: {_DID})?\s*$"
    first, own = rf"^ {verb}\b(?: down| up)?", wrote["said"]
    return bool(re.search(has_verb, own + after)) and (
        is_free or not re.sub(first, "", own).strip()
    )


def _only_asks(text: str) -> bool:
    return all(re.fullmatch(_ASKING, word) for word in re.findall(r"\w+", text))


def _asking(text: str, start: int, end: int) -> frozenset[int]:
    """Return the offsets of the first and the last words, as far as these only ask for notes."""
    words = [word for word in re.finditer(r"\w+", text) if not start <= word.start() < end]
    runs = (takewhile(lambda word: _only_asks(word[0]), each) for each in (words, words[::-1]))
    return frozenset(word.start() for run in runs for word in run)


@cache
def _patterns() -> tuple[tuple[str, bool, bool], ...]:
    """Return patterns, whether each is relative to today, and whether its times are surely past."""
    months, weekdays, seasons = map("|".join, (_MONTHS, _WEEKDAYS, _SEASONS))
    counted = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>{'|'.join(_UNITS)})"
    spans = rf"week|woche|month|monats?|year|jahr(?:es)?|{_WEEKEND}"
    named, year = rf"(?P<name>{spans}|{months}|{weekdays}|{seasons})", r"(?P<year>20\d\d)"
    may_be_in, must_be_in = rf"(?:{_IN} )?", rf"{_IN} "
    patterns = (
        (may_be_in, rf"{counted} (?P<ago>ago)", True, True),
        (may_be_in, rf"(?P<ago>vor) {counted}", True, True),
        (may_be_in, rf"(?:{_THE} )?(?:{_LAST}) {counted}", True, True),
        (may_be_in, rf"(?P<day>{'|'.join(reversed(_DAYS[1:]))})", True, True),
        (may_be_in, rf"(?P<last>{_LAST}) {named}", True, True),
        (may_be_in, rf"(?P<day>{_DAYS[0]})", True, False),
        (may_be_in, rf"(?:earlier )?(?:{_THIS}) {named}", True, False),
        (may_be_in, rf"(?P<name>{months}|{seasons})(?: of| im jahr)? {year}", False, True),
        (must_be_in, year, False, True),
        ("", rf"(?P<name>{weekdays})(?=['’]s)", False, True),
        (must_be_in, rf"(?P<name>{months}|{weekdays}|{seasons})(?! \d)", False, False),
    )
    # Match whole words only. Of "last weekend's fair", match the 's, too.
    return tuple(
        (rf"\b{lead}(?P<core>{core})(?:['’]s)?(?![\w'’-])", is_relative, is_past)
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
    if month := _place(_MONTHS, name):
        is_earlier = month > today.month or (is_last and month == today.month)
        return dates.period(f"{year or today.year - is_earlier}-{month:02}")
    if first := 3 * _place(_SEASONS, name):
        begin = datetime(year or today.year - (datetime(today.year, first, 1) > today), first, 1)
        if is_last and units_back(begin, "month", -3) > today:  # this season isn't over yet
            begin = begin.replace(year=begin.year - 1)
        return begin, units_back(begin, "month", -3)
    if weekday := _place(_WEEKDAYS, name):
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
