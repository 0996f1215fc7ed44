"""The table of filters for page, commands and agents, and ``Filters``, a search's conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from ..notes import fold_tag
from ..text.folding import plain
from . import fts5
from .fts5 import unique

# Each condition reads the notes once, and SQLite rejects a statement with a thousand of them.
MAX_CONDITIONS = 100

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}

Kind = Literal["text", "choice", "state", "date"]
Bind = Callable[[str, str], str]  # a parameter's name and its value → ":name"


class Choice(NamedTuple):
    label: str  # on a chip
    condition: str


# Not a dataclass, because each costs a millisecond at the start of every datasette command.
class Filter(NamedTuple):
    """A row of the table. A new filter needs only a new row.

    - "text" takes any values: ``?tag=work``, ``--tag work``, ``tag:work``
    - "choice" takes one or more of ``choices``: ``?has=image``, ``--has image``, ``has:image``
    - "state" is yes or no: ``?pinned=1``, ``--no-pinned``, ``is:pinned``
    - "date" is a range: ``?created_after=2024``, ``--created-before 2024-05``, ``created:2024``
    """

    name: str
    kind: Kind
    condition: str = ""  # SQL on notes: a text's value is {0}; for a date, only the column
    label: str = ""  # on a chip: a text's value is {}
    opposite: str = ""  # the label of a negated state
    help: str = ""  # for commands and agents
    value: str = ""  # describes the values to people: "a tag such as work/projects"
    example: str = ""
    choices: Mapping[str, Choice] = {}
    normalized: Callable[[str], str] = str  # makes texts comparable; invalid ones become ""
    any_of: bool = False  # a note needs to match only one of several texts
    completions: str = ""  # SQL that returns a text's values and how many notes have each

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the filter's parameters. A date has two, one for each end."""
        if self.kind == "date":
            return (f"{self.name}_after", f"{self.name}_before")
        return (self.name,)

    @property
    def operator(self) -> str:
        return "is" if self.kind == "state" else self.name.replace("_", "-")

    @property
    def takes(self) -> str:
        return self.value or f"one of {', '.join(self.choices)}"

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a parameter's values."""
        if self.kind in ("state", "date"):
            return {"type": "boolean" if self.kind == "state" else "string"}
        items = {"type": "string", **({"enum": [*self.choices]} if self.choices else {})}
        return {"type": "array", "items": items}

    def describe(self, value: str) -> str:
        """Return a label for this value, such as ``#work`` or ``not pinned``."""
        value = value.strip()
        if choice := self.choices.get(self.normalized(value)):
            return choice.label
        if self.kind == "state":
            label = self.label or self.name
            opposite = self.opposite or f"not {label}".replace("not with ", "without ")
            return opposite if value.lower() in _FALSE else label
        return (self.label or f"{self.title}: {{}}").format(value.removeprefix("#"))

    def conditions(self, values: Mapping[str, Sequence[str]], bind: Bind) -> list[str]:
        """Return the SQL conditions for the values of this filter's parameters."""
        if self.kind == "date":
            return [
                f"{self.condition or self.name} {comparison} {bind(name, value)}"
                for name, comparison in zip(self.parameters, (">=", "<"))
                for value in values.get(name, ())
            ]
        given = values.get(self.name, ())
        if self.kind == "state":
            return [self.condition or self.name for _ in given]
        if self.kind == "choice":
            return [self.choices[value].condition for value in given]
        found = [self.condition.format(bind(self.name, self.normalized(value))) for value in given]
        return [f"({' or '.join(found)})"] if self.any_of and found else found


_A_DATE = "a date such as 2024, 2024-05, last-week, 7d or 2024..2025-03"
_DATES = "2024, 2024-05, 2024-05-31, today or last-week. Both ends are included."

# '0' is the character after '/', so exactly the nested tags sort between tag || '/' and tag || '0'.
# A value that ends in "*" matches all tags with that prefix.
_TAGGED = (
    "id in (select note_id from note_tags where tag_id in (select id from tags "
    "where folded = {0} or (folded >= {0} || '/' and folded < {0} || '0') "
    "or substr(folded, 1, length({0}) - 1) || '*' = {0}))"
)
_UNTAGGED = "id not in (select note_id from note_tags)"
# Bear pins a note everywhere or only within a tag.
_PINNED = "(pinned or id in (select note_id from note_tags where note_tags.pinned))"


def _state(
    name: str, notes: str, condition: str = "", label: str = "", opposite: str = ""
) -> Filter:
    both = f"Only {notes}, or only the others."
    return Filter(name, "state", condition, label, opposite, help=both)


_ROWS = (
    Filter(
        "tag",
        "text",
        _TAGGED,
        label="#{}",
        help="Notes with this tag or a tag nested in it. Several must all match.",
        value="a tag such as work/projects",
        example="work/projects",
        normalized=fold_tag,
    ),
    Filter(
        "source",
        "text",
        "plain(source) = {0}",
        label="from {}",
        help="Notes from this source, such as bear. Any of several may match.",
        value="the name of a source such as bear",
        example="bear",
        normalized=plain,
        any_of=True,
        completions="select source, count(*) from notes group by source order by 2 desc, 1",
    ),
    Filter(
        "title",
        "text",
        "instr(plain(title), {0})",
        label="title: {}",
        help="Notes whose title contains this. Several must all match.",
        value="words of a title",
        example="plan",
        normalized=plain,
        completions="select title, count(*) from notes where title != '' and copy_of is null "
        "group by title order by max(modified) desc",
    ),
    Filter(
        "path",
        "text",
        "instr('/' || plain(key), '/' || {0} || '/')",
        label="in {}",
        help="Notes in this folder or a folder inside it. Any of several may match.",
        value="a folder such as work/plans",
        example="work/plans",
        normalized=lambda folder: plain(folder.strip("/")),
        any_of=True,
        # A folder is a key up to its last slash. The table is slow to read; an index covers this.
        completions="select rtrim(rtrim(key, replace(key, '/', '')), '/'), count(*) from notes "
        "where instr(key, '/') and id not in (select id from notes where copy_of is not null) "
        "group by 1 order by 2 desc, 1",
    ),
    Filter("created", "date", help=_DATES, value=_A_DATE, example="2023"),
    Filter("modified", "date", help=_DATES, value=_A_DATE, example="2024-05"),
    _state("pinned", "pinned notes", _PINNED),
    _state("archived", "archived notes"),
    _state("trashed", "notes in the trash"),
    _state("todo", "notes with open to-dos", "todos_open > 0", "with to-dos"),
    _state("done", "notes with finished to-dos", "todos_done > 0", "with finished to-dos"),
    _state("untagged", "notes without tags", _UNTAGGED, opposite="tagged"),
    _state("encrypted", "encrypted notes"),
    Filter(
        "has",
        "choice",
        label="has {}",
        help="Notes that have this. Several must all match.",
        example="todo",
        choices={
            "todo": Choice("with to-dos", "todos_open > 0"),
            "image": Choice("with images", "has_image"),
            "file": Choice("with files", "has_file"),
            "code": Choice("with code", "has_code"),
            "link": Choice("with links", "has_link"),
        },
        normalized=lambda kind: kind.lower().removesuffix("s"),  # has:images
    ),
    Filter(
        "linked_to",
        "text",
        "id in (select links.note_id from links "
        "left join notes as target on target.id = links.target_id "
        "where {0} in (plain(links.title), plain(target.title)))",
        label="links to {}",
        help="Notes that link to the note with this title. Several must all match.",
        value="the title of a note",
        example="Title of a note",
        normalized=plain,
        completions="select target.title, count(distinct note_id) as linking from links "
        "join notes as target on target.id = target_id "
        "where note_id not in (select id from notes where copy_of is not null) "
        "group by target_id order by linking desc, target.title",
    ),
)
FILTERS = {row.name: row for row in _ROWS}

# Values of "in:" that are filters. "in:title" isn't one: it says where to look for the words.
PLACES = {"archive": "archived", "trash": "trashed"}


@cache
def operators() -> dict[str, Filter]:
    """Return the filter for each name that can be typed before a colon."""
    rows = FILTERS.values()
    states = {
        row.name: Choice(row.label or row.name, row.condition)
        for row in rows
        if row.kind == "state"
    }
    places = {"title": Choice("", ""), **{name: states[of] for name, of in PLACES.items()}}
    is_state = Filter("is", "choice", choices=states, example="pinned", normalized=str.lower)
    return {
        **{row.operator: is_state if row.kind == "state" else row for row in rows},
        "in": Filter("in", "choice", choices=places, example="title"),
        "date": FILTERS["modified"],
        "before": FILTERS["modified"]._replace(example="2024"),
        "after": FILTERS["modified"]._replace(example="last-week"),
    }


# Names from other programs that people type instead of our operators.
ALIASES = {
    "tags": "tag", "folder": "path", "dir": "path", "directory": "path", "name": "title",
    "changed": "modified", "updated": "modified", "edited": "modified",
    "on": "modified", "since": "after", "until": "before", "from": "source", "type": "has",
    "links-to": "linked-to", "intitle": "title",
}  # fmt: skip


@dataclass(frozen=True)
class Filters:
    """The conditions that every result must meet, whichever retriever found it."""

    # By parameter, as in a URL; but a date is a bound in UTC, as the index file stores it.
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()  # words, phrases and prefixes*
    # Pairs in UTC: created or modified at or after the first, and before the second.
    moments: tuple[tuple[str, str], ...] = ()
    required: str | None = None  # FTS5 expression: a result must match it …
    required_in_title: tuple[str, ...] = ()  # … or have all of these in its title
    without: tuple[Filters, ...] = ()  # a result must meet none of these

    def __bool__(self) -> bool:
        return self != Filters()

    def __and__(self, other: Filters) -> Filters:
        required = [each for each in (self.required, other.required) if each]
        return Filters(
            values={
                name: _both(name, self.values.get(name, ()), other.values.get(name, ()))
                for name in {**self.values, **other.values}
            },
            excluded=unique(self.excluded + other.excluded),
            moments=unique(self.moments + other.moments),
            required=" AND ".join(map("({})".format, required) if required[1:] else required)
            or None,
            required_in_title=unique(self.required_in_title + other.required_in_title),
            without=(*self.without, *(each for each in other.without if each not in self.without)),
        )

    def for_programs(self) -> dict[str, Any]:
        """Return the conditions by their names in the JSON API."""
        demands: dict[str, Any] = {"states": ()}
        for row in FILTERS.values():
            for name in row.parameters:
                values = self.values.get(name, ())
                if row.kind == "state":
                    demands["states"] += (name,) if values else ()
                else:
                    is_date = values and row.kind == "date"
                    demands[_JSON_NAMES.get(name, name)] = values[0] if is_date else values
        demands |= {
            "excluded": self.excluded,
            "moments": self.moments,
            "required": self.required,
            "required_in_title": self.required_in_title,
            "without": [filters.for_programs() for filters in self.without],
        }
        return {name: value for name, value in demands.items() if value}

    def conditions(self) -> tuple[list[str], dict[str, str | int]]:
        """Return SQL conditions on the table ``notes``, and the values of their parameters."""
        parameters: dict[str, str | int] = {}

        def bind(name: str, value: str) -> str:
            # The second "tag" is "tag_2".
            numbered, number = name, 1
            while numbered in parameters:
                number += 1
                numbered = f"{name}_{number}"
            parameters[numbered] = value
            return f":{numbered}"

        return list(self._conditions(bind)), parameters

    def _conditions(self, bind: Bind) -> Iterator[str]:
        for row in FILTERS.values():
            yield from row.conditions(self.values, bind)
        for since, until in self.moments:
            first, last = bind("since", since), bind("until", until)
            yield (
                f"(created >= {first} and created < {last} "
                f"or modified >= {first} and modified < {last})"
            )
        yield from _without_words(self.excluded, bind)
        yield from _required(self.required, self.required_in_title, bind)
        for filters in self.without:
            # For a note without a date, "not" would return null and exclude the note.
            yield f"({' and '.join(filters._conditions(bind))}) is not true"

    def names_source(self) -> bool:
        """Return whether a source is required or excluded, so that its copies of notes count."""
        return "source" in self.values or any(filters.names_source() for filters in self.without)


_JSON_NAMES = {"tag": "tags", "source": "sources"}  # where they differ from the parameters


def _both(name: str, one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    if one and other and name.endswith(("_after", "_before")):
        return max(one, other) if name.endswith("_after") else min(one, other)
    return unique(one + other)


def _without_words(excluded: Sequence[str], bind: Bind) -> Iterator[str]:
    indexed = [text for text in excluded if fts5.survives_tokenizer(text.removesuffix("*"))]
    if expression := fts5.any_of(
        fts5.starting_with(text[:-1]) if text.endswith("*") else fts5.quoted(text)
        for text in indexed
    ):
        yield f"id not in ({_MATCHING.format(bind('excluded', expression))})"
    # FTS5 drops signs at either end of a word and would exclude too much: for C++, every c.
    for text in excluded:
        if text not in indexed:
            part = bind("excluded_text", text)
            yield (
                "instr(lower(title || ' ' || body || ' ' || tags || ' ' || attachments), "
                f"lower({part})) = 0"
            )


_MATCHING = "select rowid from notes_fts where notes_fts match in_languages({})"


def _required(expression: str | None, in_title: Sequence[str], bind: Bind) -> Iterator[str]:
    ways = []
    if expression:
        ways.append(f"id in ({_MATCHING.format(bind('required', expression))})")
    if in_title:
        parts = bind("required_in_title", json.dumps(in_title, ensure_ascii=False))
        ways.append(
            f"not exists (select 1 from json_each({parts}) "
            "where instr(plain(title), plain(value)) = 0)"
        )
    if ways:
        yield f"({' or '.join(ways)})"
