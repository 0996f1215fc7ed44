"""Operators of the search box, such as ``tag:work`` and ``created:2024-05``: name and value → ``Filters``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..notes import fold_tag
from .dates import span, utc
from .filters import HAS, STATES, Filters

DATES = ("created", "modified", "before", "after")
# "in:title" isn't here: it is no filter by itself, but says where the words are looked for.
PLACES = {"archive": "archived", "trash": "trashed"}

# The operators that take one of a few words.
CHOICES = {"is": tuple(STATES), "has": tuple(HAS), "in": ("title", *PLACES)}

_A_DATE = "a date such as 2024, 2024-05, last-week, 7d or 2024..2025-03"

# What each operator takes, for whoever gave it something else.
TAKES = {
    "tag": "a tag such as work/projects",
    "source": "the name of a source such as bear",
    **dict.fromkeys(DATES, _A_DATE),
    **{name: f"one of {', '.join(choices)}" for name, choices in CHOICES.items()},
    "linked-to": "the title of a note",
}


def read_operator(name: str, value: str, now: datetime | None = None) -> Filters:
    """What ``name:value`` demands of a note.

    :param name: a key of TAKES
    :raises ValueError: if the value makes no sense there
    """
    value = value.strip()
    if name in DATES:
        return _dates(name, value, now)
    if not value:
        raise ValueError(f"{name}: has no value")
    return _READERS[name](value)


def _dates(name: str, value: str, now: datetime | None) -> Filters:
    start, end = (moment and utc(moment) for moment in span(value, now))
    if name == "before":
        if start is None:
            raise ValueError("a range without a beginning has nothing before it")
        return Filters(modified_before=start)
    if name == "after":
        # As in mail and as the parameter modified_after has it: from that date on.
        if start is None:
            raise ValueError("a range without a beginning has nothing after it")
        return Filters(modified_after=start)
    return Filters(**{f"{name}_after": start, f"{name}_before": end})


def _tag(value: str) -> Filters:
    if not fold_tag(value):
        raise ValueError(f"{value!r} is no tag")
    return Filters(tags=(value,))


def _state(value: str) -> Filters:
    if value.lower() not in STATES:
        raise ValueError(f"no note is {value!r}")
    return Filters(states=(value.lower(),))


def _has(value: str) -> Filters:
    kind = value.lower()
    if kind not in HAS:
        kind = kind.removesuffix("s")  # has:images
    if kind not in HAS:
        raise ValueError(f"no note has {value!r}")
    return Filters(has=(kind,))


def _place(value: str) -> Filters:
    if value.lower() not in PLACES:
        raise ValueError(f"there is no place {value!r}")
    return Filters(states=(PLACES[value.lower()],))


_READERS: dict[str, Callable[[str], Filters]] = {
    "tag": _tag,
    "source": lambda value: Filters(sources=(value,)),
    "is": _state,
    "has": _has,
    "in": _place,
    "linked-to": lambda value: Filters(linked_to=(value,)),
}
