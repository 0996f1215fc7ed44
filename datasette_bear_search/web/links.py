"""Where the links of the search page lead: the same search with something added, replaced or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ..notes import fold_tag
from ..query.dates import period, utc
from ..query.filters import FILTERS, Filter
from ..query.query import Query
from ..search.facets import Facets, TagCount
from .site import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH

if TYPE_CHECKING:
    from datasette.app import Datasette


# What says how one list of results is shown, and means nothing for another.
OF_ONE_LIST = ("_next", "_facets")

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
        return self.search(
            drop=(*OF_ONE_LIST, *(name for row in FILTERS.values() for name in row.parameters))
        )

    def modified_in(self, text: str, query: Query) -> str:
        """This search among the notes of a year (``2024``) or month (``2024-05``), within the dates that it has."""
        start, end = (utc(moment) for moment in period(text))
        beside = query.filters_beside.values
        [after], [before] = (beside.get(f"modified_{end}", ("",)) for end in ("after", "before"))
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
    for row in FILTERS.values():
        if row.kind == "date":
            chips.extend(_date_chips(addresses, row))
            continue
        for value in addresses.values(row.name):
            removed = addresses.search(remove=[(row.name, value)])
            chips.append(Chip(row.describe(value), removed))
    return chips


def _date_chips(addresses: Addresses, row: Filter) -> Iterator[Chip]:
    after, before = (addresses.value(name) for name in row.parameters)
    if after and after == before:
        removed = addresses.search(drop=(*OF_ONE_LIST, *row.parameters))
        yield Chip(f"{row.name} in {period_name(after)}", removed)
        return
    for name, word in zip(row.parameters, ("from", "to")):
        if value := addresses.value(name):
            removed = addresses.search(drop=(*OF_ONE_LIST, name))
            yield Chip(f"{row.name} {word} {value}", removed)


def period_name(text: str) -> str:
    """A year or month as people write it: ``2024``, ``May 2024``; anything else as it stands."""
    try:
        return f"{datetime.strptime(text, '%Y-%m'):%B %Y}"
    except ValueError:
        return text


# Facets → the links that narrow a search, or take the narrowing back.

_NAMES = {"tag": "Tags", "modified": "Modified", "kind": "Kind", "source": "From"}


@dataclass(frozen=True)
class Choice:
    """A value of a facet: following its link gives so many notes, or, if it is chosen, takes it back."""

    value: str
    label: str
    notes: int
    url: str
    is_chosen: bool = False
    nested: tuple[Choice, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether something nested in it is chosen."""
        return any(choice.is_chosen or choice.is_open for choice in self.nested)


@dataclass(frozen=True)
class Group:
    """One facet."""

    name: str
    title: str
    choices: tuple[Choice, ...]


def groups(addresses: Addresses, query: Query, facets: Facets) -> tuple[Group, ...]:
    """The facets that can narrow this search."""
    sources = facets.sources if len(facets.sources) > 1 or addresses.values("source") else {}
    found = {
        "tag": _tags(addresses, facets.tags),
        "modified": _periods(addresses, query, facets),
        "kind": _kinds(addresses, facets),
        "source": [
            _choice(addresses, "source", source, source, notes) for source, notes in sources.items()
        ],
    }
    return tuple(
        Group(name, _NAMES[name], tuple(choices)) for name, choices in found.items() if choices
    )


def for_programs(groups: Sequence[Group]) -> dict[str, list[dict[str, Any]]]:
    """The same as JSON."""
    return {group.name: [_for_programs(choice) for choice in group.choices] for group in groups}


def _for_programs(choice: Choice) -> dict[str, Any]:
    return {
        "value": choice.value,
        "label": choice.label,
        "count": choice.notes,
        "selected": choice.is_chosen,
        "toggle_url": choice.url,
        "nested": [_for_programs(nested) for nested in choice.nested],
    }


def _choice(addresses: Addresses, name: str, value: str, label: str, notes: int) -> Choice:
    same = [(name, other) for other in addresses.values(name) if other.strip() == value]
    url = addresses.search(remove=same) if same else addresses.search(add=[(name, value)])
    return Choice(value, label, notes, url, bool(same))


def _tags(addresses: Addresses, tags: Iterable[TagCount], above: str = "") -> list[Choice]:
    chosen: dict[str, list[str]] = {}
    for value in addresses.values("tag"):
        chosen.setdefault(fold_tag(value), []).append(value)
    choices = []
    for tag in tags:
        same = [("tag", value) for value in chosen.get(tag.folded, [])]
        url = addresses.search(remove=same) if same else addresses.search(add=[("tag", tag.path)])
        choices.append(
            Choice(
                value=tag.path,
                label=tag.path[len(above) :].lstrip("/"),
                notes=tag.notes,
                url=url,
                is_chosen=bool(same),
                nested=tuple(_tags(addresses, tag.nested, tag.path)),
            )
        )
    return choices


def _periods(addresses: Addresses, query: Query, facets: Facets) -> list[Choice]:
    """Years, the last first, with their months in the order of the calendar."""
    after, before = (addresses.value(f"modified_{end}") for end in ("after", "before"))
    chosen = after if after == before else ""
    widened = addresses.search(drop=(*OF_ONE_LIST, "modified_after", "modified_before"))

    def choice(period: str, notes: int, nested: tuple[Choice, ...] = ()) -> Choice:
        is_chosen = chosen == period or (bool(nested) and chosen.startswith(f"{period}-"))
        url = widened if is_chosen else addresses.modified_in(period, query)
        label = period if nested else period_name(period).partition(" ")[0]
        return Choice(period, label, notes, url, is_chosen, nested)

    return [
        choice(
            year,
            notes,
            tuple(
                choice(month, in_month)
                for month, in_month in facets.months.items()
                if month.startswith(f"{year}-")
            ),
        )
        for year, notes in sorted(facets.years.items(), reverse=True)
    ]


def _kinds(addresses: Addresses, facets: Facets) -> list[Choice]:
    return [
        _choice(
            addresses,
            name,
            value,
            FILTERS[name].describe(value),
            notes,
        )
        for (name, value), notes in facets.kinds.items()
    ]


# When the notes that were found were modified: a histogram by month, or by year where it spans many.

# Bars that can still be told apart, and hit with a finger, on a narrow screen.
MONTHS_AT_MOST = 72
# Beyond that, years without notes are left out: somebody's clock was wrong.
YEARS_AT_MOST = 60

# The drawing's own units; the page stretches it to the width that there is.
HEIGHT = 40
STEP = 10
BAR = 8
# A note must be visible beside a thousand.
LEAST = 2


@dataclass(frozen=True)
class Bar:
    """The notes of one month or year."""

    name: str  # May 2024
    notes: int
    url: str
    x: int
    y: float
    height: float


@dataclass(frozen=True)
class Timeline:
    """A histogram, from the first to the last of its notes."""

    unit: str  # "month" or "year"
    bars: tuple[Bar, ...]

    @property
    def width(self) -> int:
        return STEP * len(self.bars)

    @property
    def height(self) -> int:
        return HEIGHT


def timeline(months: dict[str, int], address: Callable[[str], str]) -> Timeline | None:
    """The histogram of these counts by month (``2024-05``); None where there is but one bar.

    :param address: where the bar of a month or year leads
    """
    if not months:
        return None
    unit, periods = "month", _months(min(months), max(months))
    counts = months
    if len(periods) > MONTHS_AT_MOST:
        unit = "year"
        counts = {}
        for month, notes in months.items():
            counts[month[:4]] = counts.get(month[:4], 0) + notes
        periods = [f"{year:04}" for year in range(int(min(counts)), int(max(counts)) + 1)]
        if len(periods) > YEARS_AT_MOST:
            periods = sorted(counts)
    if len(periods) < 2:
        return None
    most = max(counts.values())
    bars = []
    for number, name in enumerate(periods):
        notes = counts.get(name, 0)
        height = max(LEAST, HEIGHT * notes / most) if notes else 0
        bars.append(
            Bar(
                name=period_name(name),
                notes=notes,
                url=address(name) if notes else "",
                x=number * STEP + (STEP - BAR) // 2,
                y=round(HEIGHT - height, 1),
                height=round(height, 1),
            )
        )
    return Timeline(unit, tuple(bars))


def _months(first: str, last: str) -> list[str]:
    """Every month from the first to the last."""
    (year, month), (last_year, last_month) = (map(int, text.split("-")) for text in (first, last))
    return [
        f"{number // 12:04}-{number % 12 + 1:02}"
        for number in range(year * 12 + month - 1, last_year * 12 + last_month)
    ]
