"""A question → the time of which it asks notes, or that it mentions.

"What did I write last week about the cabin" asks for notes of that time, and so does "last week"
alone. "What did Ann bake at last weekend's fair" asks for what happened then, which a note of any
time may tell. Only the former are filters; any other time is merely offered as one.
"""

from __future__ import annotations

import re
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from . import dates
from .filters import Filters
from .times import ANY, IN, LAST, MONTHS, THE, THIS, WEEKDAYS, Said, said

# Earlier years are taken for history, not for the dates of notes.
FIRST_YEAR = 2000

_OF = r"(?:from|form|of|aus|vo[nm])\b"  # the time belongs to what is before it
# A time belongs to something else right after one of these words, as in "about last week" …
_NOT_AFTER = (
    rf"\b(?:{THE}|an?|my|our|his|her|their|for|by|before|until|after|than|about|not|except|every|"
    r"without|between|für|bis|vor|nach|als|über|nicht|ohne|zwischen)$"
)
# … and before one of these: the last week of May, from Monday to Friday, 2023 and 2024.
_NOT_BEFORE = (
    r" ?(?:[-–]|(?:of|des|der)\b|(?:to|until|till|bis|through|and|or|und|oder) "
    rf"(?:the )?(?:next |{THIS}|{LAST}|\d|{'|'.join((*MONTHS, *WEEKDAYS))}))"
)
# A question about the past. In German, "was" is "what" and begins one.
_PAST = r"\b(?:did|were|had|hat(?:te)?|haben?|hatten|wurden?|waren?)\b|\w was\b"

# What somebody who wants notes of a time calls them, and what they did to them then.
_NOTES = (
    r"(?:notes|entr(?:y|ies)|journal|diary|memos?|drafts?|pages?|thoughts|everything|anything|stuff|"
    r"\w*notit?z(?:en)?|\w*einträge?n?|aufzeichnungen|tagebuch|zettel|entw[uü]rfe?|alles)"
)
_WROTE = r"(?:(?:wr(?:ite|ote|itten|iting)|jot(?:ted)?|noted?)(?: down)?)"
_GESCHRIEBEN = r"(?:\w*geschrieben|notiert)"
_BEARBEITET = rf"(?:{_GESCHRIEBEN}|(?:geändert|bearbeitet|erstellt|angelegt)(?:en?)?)"
_EDITED = (
    rf"(?:{_WROTE}|edit\w*|chang\w+|modif\w+|updated?|created?|saved?|added|touched|dated|"
    rf"{_BEARBEITET})"
)
_I = r"(?:i|we|ich|wir)"
# Other words of a text that only asks for notes.
_ASKING = (
    rf"(?:{_NOTES}|{_EDITED}|{_I}|what|whatever|all|any|things?|something|find|show|remind|bring|up|"
    r"in|me|my|our|the|of|from|there|where|did|have|had|that|which|were|was|been|also|just|are|etwas|"
    r"zeige?|finde|bitte|so|alle|meinen?|wo|welche|der|aus|habe?n?|hatten?|die|das|den|mir|uns|ist|"
    r"sind|stammen|wurden)"
)
# Words of the same clause.
_CLAUSE = rf"(?: (?!(?:{_I}|who|whom|that|which|when|where|he|she|they|er|wer|als)\b)[^\s,;:.?!]+)"


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
    if not re.search(ANY, low):  # it takes 9 ms to compile the others
        return None
    for each in said(low):  # the most specific first
        if all(each.start >= other.end or other.start >= each.end for other in found):
            found += filter(None, [_time(text, low, each)])
    return min(found, key=lambda time: (not time.is_asked, time.start), default=None)


def _time(text: str, low: str, it: Said) -> Time | None:
    before, words, after = low[: it.start].rstrip(" ,"), low[it.start : it.end], low[it.end :]
    if it.since.year < FIRST_YEAR or it.since > dates.today() or re.match(_NOT_BEFORE, after):
        return None
    is_of = bool(re.match(_OF, words))
    if re.match(IN, words):  # what did I write about in March?
        before = before.removesuffix(" about")
    is_all = _only_asks(others := before + after) and (
        not re.search(r"\w", others) or bool(re.search(rf"\b(?:{_NOTES}|{_EDITED})\b", others))
    )
    is_free = it.is_open or (it.is_relative and not is_of)
    is_asked = is_all or _is_asked(before, words, after, is_free)
    if not (is_asked or it.is_past or it.is_open or is_of or re.search(_PAST, low)):
        return None
    asking = _asking(low, it.start, it.end) if is_asked else frozenset()
    return Time(it.start, it.end, text[it.name], it.since, it.until, is_asked, is_all, asking)


def _is_asked(before: str, time: str, after: str, is_free: bool) -> bool:
    """Return whether a text asks for notes of the time between these parts of it.

    :param is_free: whether the time may be anywhere: "last week", but not "of last week"
    """
    text = f"{' ' if before else ''}{before} \0{after}"
    asking = rf"(?:^|[,;:.?!]|\b{_ASKING})"
    if re.search(rf"\0 (?:{_EDITED} )?{_NOTES}\b", text):
        return True  # yesterday's notes
    if re.search(_NOT_AFTER, before) or time.endswith(("'s", "’s")):
        return False
    own = rf"\b{_NOTES}(?: (?:are|were|stammen|sind))? \0"
    if re.match(_OF, time) and re.search(own, text):
        return True  # notes from last week about the roof
    has_notes = re.search(rf"\b{_NOTES}\b", text)
    verb, last = (_EDITED, _BEARBEITET) if has_notes else (_WROTE, _GESCHRIEBEN)
    rest, small = f"{_CLAUSE}*" if is_free else "", rf"(?: (?!{_I}\b){_ASKING})*?"
    patterns = (
        rf"(?:{asking} {_I}|\b{_NOTES},?){small} {verb}{rest} \0",  # I wrote about it last week
        rf"^ \0 (?:{_I} {verb}|(?:habe?n?|hatten?) {_I}{_CLAUSE}* {last})\b",  # last week I wrote
        rf"{asking} {_I}{rest or small} \0{_CLAUSE}*? {last}\b",  # was ich am Freitag notiert habe
        rf"\bschrieb(?:en)? {_I}{rest} \0",
    )
    return any(re.search(pattern, text) for pattern in patterns)


def _only_asks(text: str) -> bool:
    return all(re.fullmatch(_ASKING, word) for word in re.findall(r"\w+", text))


def _asking(text: str, start: int, end: int) -> frozenset[int]:
    """Return the offsets of the first and the last words, as far as these only ask for notes."""
    words = [word for word in re.finditer(r"\w+", text) if not start <= word.start() < end]
    runs = (takewhile(lambda word: _only_asks(word[0]), each) for each in (words, words[::-1]))
    return frozenset(word.start() for run in runs for word in run)
