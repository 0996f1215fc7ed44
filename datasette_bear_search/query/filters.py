"""What narrows a search: tags, dates, states, what a note has in it, words that it must not have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..notes import fold_tag
from . import fts5
from .dates import period, utc

# What a note can be, and the condition that tells.
STATES = {
    "pinned": "pinned",
    "archived": "archived",
    "trashed": "trashed",
    "todo": "todos_open > 0",
    "done": "todos_done > 0",
    "untagged": "id not in (select note_id from note_tags)",
    "encrypted": "encrypted",
}

# What a note can have in it, and the condition that tells.
HAS = {
    "todo": "todos_open > 0",
    "image": "has_image",
    "file": "has_file",
    "code": "has_code",
    "link": "(id in (select note_id from links) or instr(body, '://') > 0)",
}

# Each condition looks into the notes once. So many are a person's; a thousand would be more than SQLite takes.
MAX_CONDITIONS = 100

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class InvalidParameter(ValueError):
    """A parameter has a value that makes no sense; the message names both."""


@dataclass(frozen=True)
class Filters:
    """What every result must fulfil, however it was found. The dates are bounds in UTC, as the sidecar writes them."""

    tags: tuple[str, ...] = ()  # all of them; each includes what is nested below it
    sources: tuple[str, ...] = ()  # any of them, since a note has but one
    created_after: str | None = None  # inclusive
    created_before: str | None = None  # exclusive
    modified_after: str | None = None
    modified_before: str | None = None
    states: tuple[str, ...] = ()  # all of them; names in STATES
    has: tuple[str, ...] = ()  # all of them; names in HAS
    linked_to: tuple[str, ...] = ()  # titles of notes; a result links to all of them
    excluded: tuple[str, ...] = ()  # words, phrases, and beginnings of words with a "*"
    required: str | None = None  # FTS5 expression that a result must match …
    required_in_title: tuple[str, ...] = ()  # … or its title must have all of these in it
    without: tuple[Filters, ...] = ()  # no result fulfils any of these
    # Of the same note in several sources, only the copy that stands for it. Nobody asks for that: it's no demand, and a
    # question about sources overrides it.
    folded: bool = False

    def __bool__(self) -> bool:
        return any(getattr(self, name) not in (None, ()) for name in _DEMANDS)

    def __and__(self, other: Filters) -> Filters:
        """What both demand."""
        return Filters(
            **{
                name: _both(name, getattr(self, name), getattr(other, name))
                for name in (*_DEMANDS, "folded")
            }
        )

    def values(self) -> dict[str, Any]:
        """What is demanded, by name, for programs."""
        values = {name: getattr(self, name) for name in _DEMANDS}
        values = {name: value for name, value in values.items() if value not in (None, ())}
        if self.without:
            values["without"] = [filters.values() for filters in self.without]
        return values

    def conditions(self) -> tuple[list[str], dict[str, str | int]]:
        """SQL conditions on the table ``notes``, and the values of their parameters."""
        parameters: dict[str, str | int] = {}

        def bind(name: str, value: str) -> str:
            """The parameter for a value; the second ``tag`` is ``tag_2``."""
            numbered, number = name, 1
            while numbered in parameters:
                number += 1
                numbered = f"{name}_{number}"
            parameters[numbered] = value
            return f":{numbered}"

        return self._conditions(bind), parameters

    def _conditions(self, bind: Callable[[str, str], str]) -> list[str]:
        conditions = [_has_tag(bind("tag", fold_tag(tag))) for tag in self.tags]
        if self.sources:
            names = ", ".join(f"lower({bind('source', source)})" for source in self.sources)
            conditions.append(f"lower(source) in ({names})")
        for column in ("created", "modified"):
            for suffix, comparison in (("after", ">="), ("before", "<")):
                name = f"{column}_{suffix}"
                if value := getattr(self, name):
                    conditions.append(f"{column} {comparison} {bind(name, value)}")
        conditions.extend(STATES[state] for state in self.states)
        conditions.extend(HAS[kind] for kind in self.has)
        conditions.extend(_links_to(bind("linked_to", title)) for title in self.linked_to)
        conditions.extend(_without_words(self.excluded, bind))
        conditions.extend(_required(self.required, self.required_in_title, bind))
        for filters in self.without:
            # Not "not": of a note without a date, nothing is known, and so it isn't excluded.
            conditions.append(f"({' and '.join(filters._conditions(bind))}) is not true")
        if self.folded and not self._asks_for_sources():
            conditions.append("id not in (select id from notes where copy_of is not null)")
        return conditions

    def _asks_for_sources(self) -> bool:
        return bool(self.sources) or any(filters._asks_for_sources() for filters in self.without)


_DEMANDS = tuple(field.name for field in fields(Filters) if field.name != "folded")


def read_filters(parameters: Mapping[str, Sequence[str]]) -> Filters:
    """The filters in the parameters of a URL or a command; empty values are as good as none.

    :raises InvalidParameter: for a date that doesn't exist, a flag that is neither yes nor no, an unknown ``has``
    """

    def values(name: str) -> tuple[str, ...]:
        given = [value for value in parameters.get(name, ()) if value]
        # Halves of surrogate pairs come from programs, and can't be asked of SQLite.
        given = [value.encode(errors="replace").decode().strip() for value in given]
        found = [value for value in given if value]
        if len(found) > MAX_CONDITIONS:
            raise InvalidParameter(f"{name} can be given {MAX_CONDITIONS} times, not {len(found)}")
        return tuple(dict.fromkeys(found))

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
            return utc(end if name.endswith("before") else start)
        except ValueError:
            raise InvalidParameter(
                f"{name} must be a date such as 2024, 2024-05, 2024-05-31, today or last-week, not {value!r}"
            ) from None

    has = tuple(dict.fromkeys(value.lower() for value in values("has")))
    if unknown := [kind for kind in has if kind not in HAS]:
        raise InvalidParameter(f"has must be one of {', '.join(HAS)}, not {unknown[0]!r}")
    flags = {name: flag(name) for name in STATES}
    return Filters(
        tags=values("tag"),
        sources=values("source"),
        created_after=bound("created_after"),
        created_before=bound("created_before"),
        modified_after=bound("modified_after"),
        modified_before=bound("modified_before"),
        states=tuple(name for name, wanted in flags.items() if wanted),
        has=has,
        without=tuple(Filters(states=(name,)) for name, wanted in flags.items() if wanted is False),
    )


def _both(name: str, one: Any, other: Any) -> Any:
    if not one or not other:
        return one or other
    if isinstance(one, tuple):
        return tuple(dict.fromkeys([*one, *other]))
    if name == "required":
        return f"({one}) AND ({other})"
    return max(one, other) if name.endswith("after") else min(one, other)


def _has_tag(tag: str) -> str:
    # '0' is the character after '/': between them lies everything nested below the tag, and no tag that merely begins
    # with the same letters.
    return (
        "id in (select note_tags.note_id from note_tags join tags on tags.id = note_tags.tag_id "
        f"where tags.folded = {tag} or (tags.folded >= {tag} || '/' and tags.folded < {tag} || '0'))"
    )


def _links_to(title: str) -> str:
    return (
        "id in (select links.note_id from links left join notes as target on target.id = links.target_id "
        f"where lower({title}) in (lower(links.title), lower(target.title)))"
    )


def _without_words(excluded: Sequence[str], bind: Callable[[str, str], str]) -> list[str]:
    conditions = []
    indexed = [text for text in excluded if fts5.is_told_apart(text.removesuffix("*"))]
    if indexed:
        expression = fts5.any_of(
            fts5.starting_with(text[:-1]) if text.endswith("*") else fts5.quoted(text)
            for text in indexed
        )
        matching = bind("excluded", expression or "")
        conditions.append(
            f"id not in (select rowid from notes_fts where notes_fts match {matching})"
        )
    # What FTS5 would take for something shorter, and so exclude too much: C++ for every c.
    for text in excluded:
        if text not in indexed:
            part = bind("excluded_text", text)
            conditions.append(
                "instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), "
                f"lower({part})) = 0"
            )
    return conditions


def _required(
    expression: str | None, in_title: Sequence[str], bind: Callable[[str, str], str]
) -> list[str]:
    ways = []
    if expression:
        matching = bind("required", expression)
        ways.append(f"id in (select rowid from notes_fts where notes_fts match {matching})")
    if in_title:
        parts = bind("required_in_title", json.dumps(in_title, ensure_ascii=False))
        ways.append(
            f"not exists (select 1 from json_each({parts}) where instr(lower(title), lower(value)) = 0)"
        )
    return [f"({' or '.join(ways)})"] if ways else []
