"""A time as people say it, in English or German → the span that it means.

"What did I write last week about the cabin" asks for notes from last week, but "What grows in
March" doesn't ask for notes from March. A time becomes a filter only if that is clearly meant: if
it looks back (last week, vor zwei Wochen) from either end of the text, if nothing else is asked
for, or if other words are about writing or one's past (notes, did I, geschrieben).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import NamedTuple, TypeVar

from . import dates
from .dates import period, units_back

T = TypeVar("T")

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
_SEASONS = {
    "spring|frühling|frühjahr": 3, "summer|sommer": 6, "autumn|fall|herbst": 9, "winter": 12,
}  # fmt: skip
_NUMBERS = (
    "a|an|one|ein|eine|einem|einer", "two|zwei|a couple of|ein paar", "three|drei|a few",
    "four|vier", "five|fünf", "six|sechs", "seven|sieben", "eight|acht", "nine|neun", "ten|zehn",
    "eleven|elf", "twelve|zwölf",
)  # fmt: skip
_UNITS = {
    "days?|tage?n?": "days", "weeks?|wochen?": "weeks", "months?|monate?n?": "months",
    "years?|jahre?n?": "years",
}  # fmt: skip
_SPANS = {
    "week|woche": "week", "month|monat": "month", "year|jahr": "year",
    "weekend|wochenende": "weekend", "night|nacht": "night",
}  # fmt: skip

_YEAR = r"20\d\d"
_LAST = r"last|previous|past|letzte[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?"
_THIS = r"this|diese[nmrs]?"
_IN = r"from|in|on|of|during|over|within|since|im|am|aus|von|vom|seit|während"
_WITHIN = r"from|in|during|since|im|aus|von|vom|seit"  # no "on": on August Strindberg
_THE = r"the|der|dem|den"

# Words that show that somebody asks for what they wrote or did.
_CUES = (
    r"\b(?:notes?|wr(?:ote|itten|ite)|jott?ed|noted|entry|entries|journal|diary|"
    r"stuff|everything|anything|ideas|meetings|alles|ideen|notiz(?:en)?|eintr[aä]ge?|tagebuch)\b"
)
_PAST_CUES = (
    r"\b(?:happened|decided|discussed|agreed|(?:did|have|had|were|was) (?:i|we)|"
    r"(?:i|we) (?:\w+ed|wrote|had|did|said|met|made|went|bought|saw|"
    r"read|was|were|took|got|paid|thought)|"
    r"notierte?|aufgeschrieben|geschrieben|schrieb(?:en)?|"
    r"was (?:war|stand|gab|hatte?)|passiert|besprochen|beschlossen|"
    r"(?:habe?n?|hatten?|war(?:en)?) (?:ich|wir)|(?:ich|wir) (?:habe?n?|hatten?|war(?:en)?))\b"
)
# Words of a general question, or of one about the future.
_NOT_PAST = (
    r"\b(?:how to|what to|where to|when to|should|can|could|will|would|must|may i|going to|next|"
    r"tomorrow|how (?:do|does)|plans? for|soll(?:te)?n?|kann|können|könnte|wird|werden?|muss|"
    r"müssen|nächste[nmrs]?|morgen|wie man|was man)\b"
)
# Words that make a time part of something else: the last week of pregnancy, for this week.
_NOT_BEFORE = (
    r"\b(?:for|by|until|till|every|each|my|your|his|her|their|our|its|the|a|für|bis|jede[nmrs]?|"
    r"mein\w*|dein\w*|sein\w*|ihre?\w*|unsere?\w*|die|das|der|den|dem|to|between|zwischen|than|als|"
    r"per|pro|it|does|will|before|not|except|without|nicht|ohne|about|über)$"
)
_NOT_AFTER = (
    r"(?:of|des|der|vor|after|before|to|until|till|bis|through|"
    rf"(?:and|or|und|oder) (?:the |next|this|{_YEAR}|{'|'.join(_MONTHS)}))\b"
)
# Words that may follow a time at the beginning: they introduce the topic or the person.
_AFTER_FIRST = (
    r"(?:$|about|on|with|at|regarding|notes?|i|we|what|which|where|"
    r"über|zu|mit|von|am|bei|was|wo|ich|wir)\b"
)
# The other words of a text that only asks for the notes from a time.
_NOTHING_ELSE = (
    r"(?:what|which|all|any|show|list|find|give|me|my|the|of|from|i|we|did|do|have|had|has|are|were|"
    r"was|is|that|there|notes?|wrote|write|written|writing|jotted|noted|down|entries|entry|made|"
    r"created|changed|edited|new|zeig\w*|alle|meine?|mir|habe?n?|hatte|ich|wir|notiz\w*|notier\w*|"
    r"aufgeschrieben|geschrieben|schrieb|die|der|das|welche|einträge|gemacht|was|und|and|so)"
)
# Words that ask for notes, before a time or "I": what did I write (last week about the roof).
_ASKING = (
    r"(?:what|which|all|any|everything|show|list|find|give|me|my|the|of|from|did|do|have|had|"
    r"notes?|entries|zeig\w*|alle|alles|meine?|mir|habe?n?|hatten?|notiz(?:en)?|einträge|was|die)"
)
_WRITING = (
    r"(?:wr(?:ite|ote|itten)|note|noted|jot|jotted|"
    r"notier\w*|aufgeschrieben|geschrieben|schrieb(?:en)?)"
)
_WHO = r"(?:i|we|ich|wir)"


class Time(NamedTuple):
    """The part of a text from ``start`` to before ``end``, and the span that it means."""

    start: int
    end: int
    since: datetime
    until: datetime
    is_all: bool  # whether the text asks for nothing else
    asking: frozenset[int]  # the offsets of words that only ask for notes


def find(text: str) -> Time | None:
    """Return the time that a text asks for, or None."""
    today = dates.today()
    for pattern, is_past in _patterns():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            try:
                since, until = _span(match, today)
            except (ValueError, OverflowError):
                continue
            is_open = re.match(r"(?i)(since|seit)\b", match[0])
            until = today + timedelta(days=1) if is_open else until
            if since.year < FIRST_YEAR or since > today or not _is_meant(text, match, is_past):
                continue
            start, end = match.span()
            rest = re.findall(r"\w+", text[:start] + text[end:])
            is_all = all(re.fullmatch(_NOTHING_ELSE, word.lower()) for word in rest)
            return Time(start, end, since, until, is_all, _asking(text.lower(), start, end))
    return None


def _asking(text: str, start: int, end: int) -> frozenset[int]:
    words = [word for word in re.finditer(r"\w+", text) if not start <= word.start() < end]
    first = list(takewhile(lambda it: re.fullmatch(f"{_ASKING}|{_WRITING}|{_WHO}", it[0]), words))
    if any(re.fullmatch(_WHO, word[0]) for word in first):
        first += [word for word in words if re.fullmatch(_WRITING, word[0])]
    elif first != [word for word in words if word.start() < start]:
        return frozenset()
    return frozenset(word.start() for word in first)


def _is_meant(text: str, match: re.Match[str], is_past: bool) -> bool:
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip(" ,")
    if not re.search(r"\w", before + after):
        return True
    following = text[match.end() :].lower().lstrip(" ")
    if re.search(_NOT_BEFORE, before.lower()) or re.match(_NOT_AFTER, following):
        return False
    # Capitals mean a name: Last Week Tonight, Psychology Today.
    english = [word for word in match[0].split() if word.lower() in _LOWER_CASE]
    if any(word[0].isupper() for word in (english if before else english[1:])):
        return False
    if re.search(_NOT_PAST, text.lower()):
        return False
    is_relative = is_past or re.search(rf"(?i)\b(?:{_THIS}|today|heute)\b", match[0])
    is_from = is_relative and re.match(r"(?i)(?:from|vom?n?|aus)\b", match[0])
    if is_from or re.search(_PAST_CUES, text.lower()):
        return True
    # "Notes on Monday" and "ideas for dinner on Sunday" may be about that day, or one to come.
    if re.search(_CUES, text.lower()) and not re.match(r"(?i)(?:on|am)\b", match[0]):
        return True
    is_last = not re.search(r"\w", after) or match[0].lower().endswith("ago")
    return is_past and (is_last or (not before and bool(re.match(_AFTER_FIRST, after.lower()))))


_LOWER_CASE = frozenset(
    "last previous past week month year weekend night summer spring autumn fall yesterday today "
    "the day before ago days weeks months years this".split()
)


@cache
def _patterns() -> tuple[tuple[str, bool], ...]:
    """Return patterns, and whether each one's times are past. ``_span`` reads the named groups."""
    numbers, units = "|".join((r"\d{1,3}", *_NUMBERS)), "|".join(_UNITS)
    count, counted = (
        tuple(rf"(?P<{kind}{number}>{numbers}) (?P<{kind}{number}_unit>{units})" for number in "12")
        for kind in ("ago", "past")
    )
    month, weekday, season = (
        rf"(?P<{name}>{'|'.join(names)})"
        for name, names in (("month", _MONTHS), ("weekday", _WEEKDAYS), ("season", _SEASONS))
    )
    named = rf"(?:(?P<span>{'|'.join(_SPANS)})|{month}|{weekday}|{season})"
    year = rf"(?P<year>{_YEAR})"
    of_year = rf"(?:(?: of| im jahr)? {year})?"
    start, within = rf"\b(?:(?:back )?(?:{_IN}) )?", rf"\b(?:{_WITHIN}) "
    in_the = rf"\b(?:{_IN}) (?:{_THE}) "
    past_day = "(?:the )?day before yesterday|vorgestern|yesterday|gestern"
    this_day = "today|heute|this morning|heute morgen"
    patterns = (
        (rf"{start}{count[0]} ago|\b(?:seit |von )?vor {count[1]}", True),
        (rf"(?:{in_the}|\b(?:{_THE}) )(?:{_LAST}) {counted[0]}|\b(?:{_LAST}) {counted[1]}", True),
        (rf"{start}(?P<past_day>{past_day})", True),
        (rf"(?:{in_the}|{start})(?P<last>{_LAST}) {named}", True),
        (rf"{start}(?:(?P<this_day>{this_day})|(?:earlier )?(?P<this>{_THIS}) {named})", False),
        (rf"\b(?:on|am|{_WITHIN}) {weekday}", False),
        (rf"{within}(?:(?:{_THE}) )?{season}{of_year}", False),
        (rf"{within}(?:(?:{_THE}) )?{month}{of_year}", False),
        (rf"\b{month} {year}", False),
        (rf"{within}(?:(?:the year|jahr|dem jahr) )?{year}", False),
    )
    # Match whole words only, and nothing like "last year's".
    return tuple((rf"(?:{pattern})(?![\w'’-])", is_past) for pattern, is_past in patterns)


def _place(names: Iterable[str], text: str) -> int:
    return next(place for place, each in enumerate(names) if re.fullmatch(each, text.lower()))


def _named(names: Mapping[str, T], text: str) -> T:
    return list(names.values())[_place(names, text)]


def _span(match: re.Match[str], today: datetime) -> tuple[datetime, datetime]:
    """Return the span that a match means: the latest that has begun, unless a year is given."""
    groups = {name: text for name, text in match.groupdict().items() if text}
    is_last, year = "last" in groups, int(groups.get("year", 0))
    for name in ("ago1", "ago2", "past1", "past2"):
        if name in groups:
            number, unit = groups[name], _named(_UNITS, groups[f"{name}_unit"])
            count = int(number) if number.isdecimal() else _place(_NUMBERS, number) + 1
            return period(f"{count} {unit}{' ago' if name.startswith('ago') else ''}")
    if "past_day" in groups:
        back = 2 if re.search("(?i)before|vorgestern", groups["past_day"]) else 1
        return period(f"{back} days ago")
    if "this_day" in groups:
        return period("today")
    if "month" in groups:
        month = _place(_MONTHS, groups["month"]) + 1
        is_earlier = month > today.month or (is_last and month == today.month)
        return period(f"{year or today.year - is_earlier}-{month:02}")
    if "season" in groups:
        first = _named(_SEASONS, groups["season"])
        begin = datetime(year or today.year - (datetime(today.year, first, 1) > today), first, 1)
        if is_last and units_back(begin, "month", -3) > today:  # this season isn't over yet
            begin = begin.replace(year=begin.year - 1)
        return begin, units_back(begin, "month", -3)
    if "weekday" in groups:
        back = (today.weekday() - _place(_WEEKDAYS, groups["weekday"])) % 7 or 7
        return period(f"{back} days ago")
    if "span" not in groups:
        return period(groups["year"])
    name = _named(_SPANS, groups["span"])
    if name == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return saturday, saturday + timedelta(days=2)
    if name == "night":
        return period("yesterday")
    return period(f"{'this' if 'this' in groups else 'last'} {name}")
