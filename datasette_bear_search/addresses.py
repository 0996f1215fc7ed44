"""Where the links of the search page lead: the same search with something added, replaced or left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from .dates import period, utc
from .filters import STATES
from .query import Query
from .serving import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH

if TYPE_CHECKING:
    from datasette.app import Datasette

# What narrows a search, in the order in which it is shown.
FILTERS = (
    "tag",
    "source",
    "modified_after",
    "modified_before",
    "created_after",
    "created_before",
    *STATES,
    "has",
)

# What says how one list of results is shown, and means nothing for another.
OF_ONE_LIST = ("_next", "_facets")

# What notes are called that are something, that aren't, and that have something.
IS = {"todo": "with to-dos", "done": "with finished to-dos"}
IS_NOT = {"untagged": "tagged", "todo": "without to-dos", "done": "without finished to-dos"}
HAVE = {
    "todo": "with to-dos",
    "image": "with images",
    "file": "with files",
    "code": "with code",
    "link": "with links",
}

Pair = tuple[str, str]


@dataclass(frozen=True)
class Chip:
    """Something that narrows the search, and the address of the search without it."""

    label: str
    url: str


@dataclass(frozen=True)
class Addresses:
    """Addresses that keep a request's parameters."""

    datasette: Datasette
    arguments: Any  # request.args
    path: str = SEARCH_PATH  # or that of the JSON

    def value(self, name: str) -> str:
        """The value of a parameter that has one; of several, the last counts."""
        return (self.arguments.getlist(name) or [""])[-1].strip()

    def values(self, name: str) -> list[str]:
        """The values of a parameter that can have several."""
        return [value for value in self.arguments.getlist(name) if value.strip()]

    def search(
        self,
        *,
        drop: Iterable[str] = OF_ONE_LIST,
        remove: Iterable[Pair] = (),
        add: Iterable[Pair] = (),
        **replace: str | int,
    ) -> str:
        """This search with other parameters."""
        drop, remove = set(drop), set(remove)
        pairs: list[Pair] = []
        for name in self.arguments:
            if name in replace:
                pairs.append((name, str(replace.pop(name))))
            elif name not in drop:
                pairs.extend(
                    (name, value)
                    for value in self.arguments.getlist(name)
                    if value and (name, value) not in remove
                )
        pairs.extend(pair for pair in add if pair not in pairs)
        pairs.extend((name, str(value)) for name, value in replace.items())
        return self._with(self.path, pairs)

    def unfiltered(self) -> str:
        """This search without the filters beside the text."""
        return self.search(drop=(*OF_ONE_LIST, *FILTERS))

    def modified_in(self, text: str, query: Query) -> str:
        """This search among the notes of a year (``2024``) or month (``2024-05``), within the dates that it has."""
        start, end = (utc(moment) for moment in period(text))
        after, before = query.filters_beside.modified_after, query.filters_beside.modified_before
        return self.search(
            modified_after=self.value("modified_after") if after and after > start else text,
            modified_before=self.value("modified_before") if before and before < end else text,
        )

    def note(self, note_id: int, passage_id: int | None = None) -> str:
        """The page of a note, with what to mark on it."""
        pairs = [("q", self.value("q"))] if self.value("q") else []
        if passage_id is not None:
            pairs.append(("passage", str(passage_id)))
        return self._with(f"{NOTE_PATH}/{note_id}", pairs)

    def similar(self, note_id: int) -> str:
        return self.datasette.urls.path(f"{SIMILAR_PATH}/{note_id}")

    def _with(self, path: str, pairs: list[Pair]) -> str:
        return self.datasette.urls.path(path) + (f"?{urlencode(pairs)}" if pairs else "")


def text_chips(addresses: Addresses, query: Query) -> list[Chip]:
    """What was understood of the text."""
    chips = []
    for token in query.understood:
        rest = query.text_without(token)
        chips.append(
            Chip(
                token.label,
                addresses.search(drop=(*OF_ONE_LIST, "q"), add=[("q", rest)] if rest else []),
            )
        )
    return chips


def filter_chips(addresses: Addresses) -> list[Chip]:
    """What narrows the search beside its text. The two ends of one period are one chip."""
    chips = []
    for name in FILTERS:
        column = name.partition("_")[0]
        if name in (f"{column}_after", f"{column}_before"):
            after, before = (addresses.value(f"{column}_{end}") for end in ("after", "before"))
            if after and after == before:
                if name.endswith("after"):
                    removed = addresses.search(
                        drop=(*OF_ONE_LIST, f"{column}_after", f"{column}_before")
                    )
                    chips.append(Chip(f"{column} in {period_name(after)}", removed))
            elif value := addresses.value(name):
                word = "from" if name.endswith("after") else "to"
                chips.append(
                    Chip(f"{column} {word} {value}", addresses.search(drop=(*OF_ONE_LIST, name)))
                )
            continue
        for value in addresses.values(name):
            chips.append(Chip(_label(name, value), addresses.search(remove=[(name, value)])))
    return chips


def period_name(text: str) -> str:
    """A year or month as people write it: ``2024``, ``May 2024``; anything else as it stands."""
    try:
        return f"{datetime.strptime(text, '%Y-%m'):%B %Y}"
    except ValueError:
        return text


def _label(name: str, value: str) -> str:
    if name == "tag":
        return f"#{value}"
    if name == "source":
        return f"from {value}"
    if name == "has":
        return HAVE.get(value.strip().lower(), f"has {value}")
    if value.strip().lower() in ("0", "false", "no", "off"):
        return IS_NOT.get(name, f"not {name}")
    return IS.get(name, name)
