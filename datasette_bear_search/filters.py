"""What narrows a search: tags, dates, flags. Dates are days of the person's own time zone, stored times are UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone

from .sidecar import fold_tag

# What ``has`` may ask for, and the condition that answers it.
HAS = {
    "todo": "todos_open > 0",
    "image": "has_image",
    "file": "has_file",
    "code": "has_code",
}

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class InvalidParameter(ValueError):
    """A parameter has a value that makes no sense; the message names both."""


@dataclass(frozen=True)
class Filters:
    """What every result must fulfil. The four dates are bounds in UTC, as the sidecar writes them."""

    tags: tuple[str, ...] = ()  # all of them; each includes what is nested below it
    created_after: str | None = None  # inclusive
    created_before: str | None = None  # exclusive
    modified_after: str | None = None
    modified_before: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    source: str | None = None
    has: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) not in (None, ()) for field in fields(self))

    def conditions(self) -> tuple[list[str], dict[str, str | int]]:
        """SQL conditions on the table ``notes``, and the values of their parameters."""
        conditions: list[str] = []
        parameters: dict[str, str | int] = {}
        for number, tag in enumerate(self.tags, 1):
            name = f"tag_{number}" if len(self.tags) > 1 else "tag"
            parameters[name] = fold_tag(tag)
            # '0' is the character after '/': between them lies everything nested below the tag, and no tag that
            # merely begins with the same letters.
            conditions.append(
                "id in (select note_tags.note_id from note_tags join tags on tags.id = note_tags.tag_id "
                f"where tags.folded = :{name} or (tags.folded >= :{name} || '/' and tags.folded < :{name} || '0'))"
            )
        for column in ("created", "modified"):
            for suffix, comparison in (("after", ">="), ("before", "<")):
                name = f"{column}_{suffix}"
                if value := getattr(self, name):
                    parameters[name] = value
                    conditions.append(f"{column} {comparison} :{name}")
        for flag in ("pinned", "archived"):
            if (value := getattr(self, flag)) is not None:
                conditions.append(flag if value else f"not {flag}")
        if self.source:
            parameters["source"] = self.source
            conditions.append("source = :source")
        conditions.extend(HAS[kind] for kind in self.has)
        return conditions, parameters


def read_filters(parameters: Mapping[str, Sequence[str]]) -> Filters:
    """The filters in the parameters of a URL or a command; empty values are as good as none.

    :raises InvalidParameter: for a date that doesn't exist, a flag that is neither yes nor no, an unknown ``has``
    """

    def values(name: str) -> list[str]:
        return [value.strip() for value in parameters.get(name, ()) if value and value.strip()]

    def last(name: str) -> str | None:
        found = values(name)
        return found[-1] if found else None

    def flag(name: str) -> bool | None:
        value = last(name)
        if value is None:
            return None
        if value.lower() in _TRUE | _FALSE:
            return value.lower() in _TRUE
        raise InvalidParameter(f"{name} must be 1 or 0, not {value!r}")

    def bound(name: str) -> str | None:
        value = last(name)
        if value is None:
            return None
        try:
            start, end = period(value)
        except ValueError:
            raise InvalidParameter(
                f"{name} must be a date such as 2024, 2024-05, 2024-05-31, today or yesterday, not {value!r}"
            ) from None
        return utc(end if name.endswith("before") else start)

    has = tuple(dict.fromkeys(value.lower() for value in values("has")))
    if unknown := [kind for kind in has if kind not in HAS]:
        raise InvalidParameter(f"has must be one of {', '.join(HAS)}, not {unknown[0]!r}")
    return Filters(
        tags=tuple(dict.fromkeys(values("tag"))),
        created_after=bound("created_after"),
        created_before=bound("created_before"),
        modified_after=bound("modified_after"),
        modified_before=bound("modified_before"),
        pinned=flag("pinned"),
        archived=flag("archived"),
        source=last("source"),
        has=has,
    )


def period(text: str, today: datetime | None = None) -> tuple[datetime, datetime]:
    """The span that a date means, from its first moment to the first moment after it, in local time.

    ``2024`` is a year, ``2024-05`` a month, ``2024-05-31``, ``today`` and ``yesterday`` a day; a time is itself.

    :raises ValueError: if it isn't a date
    """
    text = text.strip().lower()
    day = (today or datetime.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        start = day if text == "today" else day - timedelta(days=1)
        return start, start + timedelta(days=1)
    if match := re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", text):
        year, month, day_of_month = (int(part) if part else None for part in match.groups())
        start = datetime(year, month or 1, day_of_month or 1)
        if day_of_month:
            return start, start + timedelta(days=1)
        if month:
            return start, datetime(year + month // 12, month % 12 + 1, 1)
        return start, datetime(year + 1, 1, 1)
    moment = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    return moment, moment


def utc(moment: datetime) -> str:
    """A moment (without time zone: local) as the sidecar writes it.

    :raises InvalidParameter: outside the years that a computer's clock can name
    """
    try:
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (OverflowError, OSError, ValueError):
        raise InvalidParameter(f"The date {moment.isoformat()} is out of range") from None
