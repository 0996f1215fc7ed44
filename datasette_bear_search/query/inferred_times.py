"""A question → the time of which it asks notes, or that it mentions.

"What did I write last week about the cabin" asks for notes of that time, and so does "last week"
alone. "What did Ann bake at last weekend's fair" asks for what happened then, which a note of any
time may tell. Only the former are filters; any other time is merely offered as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from . import dates
from .filters import Filters
from .times import ANY, LAST, MONTHS, THIS, WEEKDAYS, said

# Earlier years are taken for history, not for the dates of notes.
FIRST_YEAR = 2000

# A time is something else before these: the last week of May, from Monday to Friday.
_NOT_BEFORE = (
    r" ?(?:[-–]|(?:of|des|der)\b|(?:to|until|till|bis|through|and|or|und|oder) "
    rf"(?:the )?(?:next |{THIS}|{LAST}|\d|{'|'.join((*MONTHS, *WEEKDAYS))}))"
)
# A question about the past. In German, "was" is "what" and begins one.
_PAST = r"\b(?:did|were|had|hat(?:te)?|haben?|hatten|wurden?|waren?)\b|\w was\b"

# The words of a text that asks for notes of a time; tags in capitals are of those that only ask.
# "What did I write last week about the cabin" is WHAT DID I WROTE LAST about ASK -.
_TAGS = {
    "NOTES": r"notes|entr(?:y|ies)|journal|diary|memos?|thoughts|everything|anything|stuff|alles|"
    r"\w*notit?z(?:en)?|\w*eintr[aä]ge?|tagebuch|zettel|gedanken",
    "NOTE": "note",  # a noun or a verb
    "WROTE": "wr[io]te|writing|written|noted|jot(?:ted)?|schrieb|(?:auf)?geschrieben|notiert",
    "EDITED": "edit|(?:add|dat|edit|start|touch)ed|(?:change|create|save|update)d?|modified|"
    "(?:angelegt|bearbeitet|erstellt|geändert|gespeichert)(?:en?)?",
    "DID": "did|have|had|been|haben?|hatten?",
    "I": "i|we|ich|wir",
    "WHAT": "what|whatever|was",
    "THAT": r"\W|that|which|where",
    "ASK": "all|any|show|find|give|bring|remind|me|my|the|it|something|are|is|in|up|down|can|you|"
    "please|alle|etwas|der|die|das|den|mir|meinen?|welche|zeige?|finde|suche?|ist|sind|stammen|wo|"
    "so|mal|bitte",
    "text": "drafts?|ideas?|lists?|pages?|recipes?|texts?|things|entw[uü]rfe?|listen?|rezepte?",
    "about": "about",
    "for": "after|before|for|than|until",
    "who": "who|whom|when|how|he|she|they",
}
# The time is WHOSE if it has an 's, FROM, SINCE or IN after a preposition, or else LAST.
_WHEN, _GAP, _END = "(?:SINCE|LAST|IN) ", "(?:(?:-|about|for|ASK|NOTES) )", "(?:THAT |$)"
_VERB = "(?:WROTE|EDITED|NOTE) "
_THEY = f"(?:NOTES?|text) (?:(?:THAT |ASK )*|{_GAP}*(?=DID))"  # notes that …, notes about … did …
_WHAT = "(?:^|WHAT )(?!.*EDITED)"  # what did I write, but what did I change may be of anything
_WHO = f"(?:{_THEY}|{_WHAT})(?:DID )?I "
_ORDERS = (
    "NOTES? (?:FROM|SINCE) ",  # notes from last week about the roof
    f"NOTES {_VERB}{_WHEN}",  # notes created in May about the roof
    f"^{_VERB}{_WHEN}about ",  # edited in May about the roof
    f"^(?:ASK )*(?:WHOSE |{_WHEN})(?:{_VERB})?NOTES? ",  # yesterday's notes about the roof
    f"^{_WHEN}(?:THAT )?(?:I |DID I {_GAP}*)WROTE ",  # last week I wrote about the roof
    f"WHAT WROTE I {_WHEN}",  # was schrieb ich gestern über das Dach
    f"{_WHO}(?:DID )?{_VERB}(?:ASK )?{_WHEN}",  # what did I write in May about the roof
    f"{_WHO}(?:DID )?{_VERB}{_GAP}{{,3}}- (?:SINCE|LAST) {_END}",  # what I wrote on roofs last week
    f"{_WHO}(?:DID |ASK )?{_WHEN}{_GAP}*{_VERB}(?:DID )?{_END}",  # was ich im Mai notiert habe
)


class Time(NamedTuple):
    """The part of a text from ``start`` to before ``end``, and the span that it means."""

    start: int
    end: int
    name: str  # without "in" and the like: "last week"
    since: datetime
    until: datetime
    is_asked: bool  # whether the text asks for notes of that time
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
    # In lower case, but with the same length, so that offsets stay valid.
    low = text.replace("İ", "I").lower()
    if not re.search(ANY, low):  # it takes 9 ms to compile the others
        return None
    tags = {word.start(): _tag(word[0]) for word in re.finditer(r"\w+|[^\w\s]", low)}
    found: list[Time] = []
    for start, end, name, since, until, kind, is_sure in said(low):
        if since.year < FIRST_YEAR or since > dates.today() or re.match(_NOT_BEFORE, low[end:]):
            continue
        is_asked, asking = _asking(tags, start, end, kind)
        if is_asked or is_sure or kind in ("FROM", "SINCE") or re.search(_PAST, low):
            found.append(Time(start, end, text[name], since, until, is_asked, asking))
    return min(found, key=lambda time: (not time.is_asked, time.start), default=None)


def _asking(
    tags: Mapping[int, str], start: int, end: int, kind: str
) -> tuple[bool, frozenset[int]]:
    """Return whether a text asks for notes of a time, and where its first and last words only ask.

    :param tags: by the offsets of their words
    """
    others = {at: tag for at, tag in tags.items() if not start <= at < end}
    order = "".join(f"{tag} " for _, tag in sorted([*others.items(), (start, kind)]))
    runs = (takewhile(lambda at: others[at].isupper(), it) for it in (others, reversed(others)))
    asking = frozenset(at for run in runs for at in run)
    is_all = asking == others.keys() and (not others or bool(re.search("NOTE|WROTE|EDITED", order)))
    return is_all or any(re.search(known, order) for known in _ORDERS), asking


def _tag(word: str) -> str:
    return next((tag for tag, words in _TAGS.items() if re.fullmatch(words, word)), "-")
