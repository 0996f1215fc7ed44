"""Filters as parameters of a URL and as operators in a query's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from ..notes import ForeseenError
from . import times
from .dates import SPANS, span, span_name, utc
from .filters import _FALSE, _TRUE, FILTERS, MAX_CONDITIONS, PLACES, Filters, operators
from .fts5 import unique


class InvalidParameter(ForeseenError, ValueError):
    """A parameter has an invalid value; the message names both."""


def read_filters(parameters: Mapping[str, Sequence[str]]) -> Filters:
    """Return the filters in the parameters of a URL or a command, ignoring empty values.

    :raises InvalidParameter: for a date that doesn't exist, a flag that is neither yes nor no, an
        unknown choice, or too many values
    """
    found: dict[str, tuple[str, ...]] = {}
    denied = []
    for row in FILTERS.values():
        for name in row.parameters:
            # Programs may send lone surrogates, which can't be bound to an SQL parameter.
            texts = [
                value.encode(errors="replace").decode().strip()
                for value in parameters.get(name, ())
                if value
            ]
            values = unique(filter(None, texts))
            if len(values) > MAX_CONDITIONS:
                raise InvalidParameter(
                    f"{name} can be given {MAX_CONDITIONS} times, not {len(values)}"
                )
            if not values:
                continue
            if row.kind == "date":
                try:
                    start, end = times.period(values[-1])
                    values = (utc(end if name.endswith("before") else start),)
                except ValueError:
                    raise InvalidParameter(
                        f"{name} must be a date such as 2024, 2024-05, 2024-05-31, today or "
                        f"last-week, not {values[-1]!r}"
                    ) from None
            elif row.kind == "state":
                if values[-1].lower() not in _TRUE | _FALSE:
                    raise InvalidParameter(f"{name} must be 1 or 0, not {values[-1]!r}")
                if values[-1].lower() in _FALSE:
                    denied.append(Filters({name: ("1",)}))
                    continue
                values = ("1",)
            elif row.kind == "choice":
                if unknown := [it for it in values if row.normalized(it) not in row.choices]:
                    raise InvalidParameter(f"{name} must be {row.takes}, not {unknown[0]!r}")
                values = unique(map(row.normalized, values))
            found[name] = values
    return Filters(found, without=tuple(denied))


# Open ends of a range, as text that is before and after all dates.
_EVER = ("0", "9999")


def read_operator(name: str, value: str) -> Filters:
    """Return the filter that ``name:value`` means.

    :param name: one of :func:`operators`
    :raises ValueError: if the operator doesn't take such a value
    """
    value = value.strip()
    if name == "in":
        name, value = "is", PLACES.get(value.lower(), "")
    row = operators()[name]
    if row.kind == "date":
        moments = span(value, times.period)
        if name == "date":  # created or modified then, so not two conditions on one date
            since, until = (utc(at) if at else end for at, end in zip(moments, _EVER))
            return Filters(moments=((since, until),))
        if name in ("before", "after"):
            # As in mail programs, "after" includes the date itself and "before" doesn't.
            moments = (moments[0], None) if name == "after" else (None, moments[0])
        bounds = {end: (utc(at),) for end, at in zip(row.parameters, moments) if at}
        if not bounds:
            raise ValueError(f"a range without a beginning has nothing {name} it")
        return Filters(bounds)
    if row.kind == "choice":
        value = row.normalized(value)
        if value not in row.choices:
            raise ValueError(f"{name}: takes {row.takes}")
    if not row.normalized(value):
        raise ValueError(f"{name}: has no value")
    return Filters({value: ("1",)} if name == "is" else {row.name: (value,)})


def describe_operator(name: str, value: str, *, is_negated: bool) -> str:
    """Return a chip's text for ``name:value``, as for the same filter beside the text."""
    row = operators()[name]
    if name == "is":
        return FILTERS[value.lower()].describe("0" if is_negated else "1")
    label = row.describe(value) if row.kind != "date" else _describe_date(name, value)
    return f"not {label}" if is_negated else label


_COMPARISONS = {">": "after", ">=": "since", "<": "before", "<=": "until"}


def _describe_date(name: str, value: str) -> str:
    since, until = span(value, times.period)
    words = {"date": "", "before": "modified before ", "after": "modified since "}
    word = words.get(name, f"{name} ")
    if since and name in ("before", "after"):
        first = value.partition("..")[0]
        return word + (first if first.isdigit() else span_name(since, since + timedelta(1)))
    if not since or not until:
        date = value.strip("<>=. ")
        sign = value[: value.index(date)].strip(". ")
        said = _COMPARISONS.get(sign, "since" if since else "until")
        return f"{word}{said} {_span_name(date, *times.period(date))}"
    return word + _span_name(value, since, until)


def _span_name(value: str, since: datetime, until: datetime) -> str:
    if until - since < timedelta(days=1):
        return value
    said, meant = value.replace("-", " "), span_name(since, until)
    is_number = re.fullmatch(r"[\d.-]+", value) or said.lower() == meant.lower()
    return meant if is_number else f"{said} ({meant})"


def is_beginning(name: str, value: str) -> bool:
    """Return whether the value of an operator may become valid when more is typed."""
    row = operators()[name]
    if row.kind == "date":
        for more in ("1", "01", "24", "024", "2024"):
            with suppress(ValueError):
                read_operator(name, value + more)
                return True
    choices = SPANS if row.kind == "date" else row.choices
    value = value.lower()
    return any(choice.startswith(value) and choice != value for choice in choices)
