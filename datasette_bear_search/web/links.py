"""URLs of searches with something added, replaced or removed; facets; the timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote_plus, urlencode

from datasette.app import Datasette
from datasette.database import Database

from ..query.dates import period, utc
from ..query.filters import FILTERS, Filter
from ..query.query import Query
from ..search.results import Facets, TagCount
from . import site
from .openapi import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH

PASSAGE_ANCHOR = "passage"  # the id of the matching passage on a note's page

# Parameters that are valid for one list of results only.
OF_ONE_LIST = ("_next", "_facets")

Pair = tuple[str, str]


@dataclass(frozen=True)
class Anchor:
    """A link. A chip's link leads to the search without what the chip names."""

    label: str
    url: str


def note_url(datasette: Datasette, note_id: int, sidecar: Database | None = None) -> str:
    return site.url(datasette, f"{NOTE_PATH}/{note_id}", sidecar)


def tag_url(datasette: Datasette, tag: str, sidecar: Database | None = None) -> str:
    return site.url(datasette, f"{SEARCH_PATH}?{urlencode({'tag': tag})}", sidecar)


@dataclass(frozen=True)
class Urls:
    """Urls that keep a request's parameters."""

    datasette: Datasette
    arguments: Any  # request.args
    path: str = SEARCH_PATH  # or the path of the JSON

    def value(self, name: str) -> str:
        """Return the value of a parameter; if there are several, the last."""
        return (self.arguments.getlist(name) or [""])[-1].strip()

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for value in self.arguments.getlist(name) if value.strip()]

    def search(
        self,
        *,
        drop: Iterable[str] = OF_ONE_LIST,
        remove: Iterable[Pair] = (),
        **changes: str | int,
    ) -> str:
        drop, remove = set(drop), set(remove)
        pairs: list[Pair] = []
        for name in self.arguments:
            if name in changes:
                pairs.append((name, str(changes.pop(name))))
            elif name not in drop:
                pairs.extend(
                    (name, value)
                    for value in self.arguments.getlist(name)
                    if value and (name, value) not in remove
                )
        pairs.extend((name, str(value)) for name, value in changes.items())
        # Like urlencode(), but caches quoted values: hundreds of links differ in one parameter.
        query = "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in pairs])
        return f"{self._address}?{query}" if query else self._address

    def adding(self, name: str, value: str) -> str:
        if value in self.arguments.getlist(name):
            return self.search()
        return f"{self._and}{_quoted(name)}={_quoted(value)}"

    def unfiltered(self) -> str:
        filters = (name for row in FILTERS.values() for name in row.parameters)
        return self.search(drop=(*OF_ONE_LIST, *filters))

    def modified_in(self, text: str, query: Query) -> str:
        """Return the URL of this search in a year (``2024``) or month, within its own dates."""
        if not {"modified_after", "modified_before"} & {*self.arguments}:
            return f"{self._and}modified_after={text}&modified_before={text}"
        start, end = (utc(moment) for moment in period(text))
        beside = query.filters_beside.values
        [after], [before] = (beside.get(f"modified_{end}", ("",)) for end in ("after", "before"))
        return self.search(
            modified_after=self.value("modified_after") if after and after > start else text,
            modified_before=self.value("modified_before") if before and before < end else text,
        )

    def note(self, note_id: int, passage_id: int | None = None, **more: Any) -> str:
        """Return the URL of a note's page, at a passage, with the search to go back to."""
        if passage_id is not None:
            more["passage"] = str(passage_id)
        page = replace(self, path=f"{NOTE_PATH}/{note_id}")
        url = page.search(drop=("_facets", "passage", "step"), **more)
        return f"{url}#{PASSAGE_ANCHOR}" if passage_id is not None else url

    def similar(self, note_id: int) -> str:
        return site.url(self.datasette, f"{SIMILAR_PATH}/{note_id}")

    @cached_property
    def _address(self) -> str:
        return site.url(self.datasette, self.path)

    @cached_property
    def _and(self) -> str:
        # The URL of this search, to which hundreds of links on a page add a parameter.
        url = self.search()
        return f"{url}{'&' if '?' in url else '?'}"


_quoted = lru_cache(1000)(quote_plus)


def text_chips(urls: Urls, query: Query) -> list[Anchor]:
    chips = []
    for token in query.understood:
        rest: dict[str, Any] = {"q": text} if (text := query.text_without(token)) else {}
        without = urls.search(drop=(*OF_ONE_LIST, "q"), **rest)
        chips.append(Anchor(token.label, without))
    return chips


def filter_chips(urls: Urls) -> list[Anchor]:
    """Return the chips of filters that aren't in the text. A period's two ends are one chip."""
    chips: list[Anchor] = []
    for row in FILTERS.values():
        if row.kind == "date":
            chips.extend(_date_chips(urls, row))
            continue
        chips.extend(
            Anchor(row.describe(value), urls.search(remove=[(row.name, value)]))
            for value in urls.values(row.name)
        )
    return chips


def _date_chips(urls: Urls, row: Filter) -> Iterator[Anchor]:
    after, before = (urls.value(name) for name in row.parameters)
    removed = urls.search(drop=(*OF_ONE_LIST, *row.parameters))
    if after and after == before:
        yield Anchor(f"{row.title} {period_name(after)}", removed)
    elif after and before:
        yield Anchor(f"{row.title} {period_name(after)} – {period_name(before)}", removed)
    elif after or before:
        word = "since" if after else "until"
        yield Anchor(f"{row.title} {word} {period_name(after or before)}", removed)


@lru_cache(1000)
def period_name(text: str) -> str:
    """Return a month as people write it, ``Dec 2024``; anything else, such as a year, unchanged."""
    try:
        return f"{datetime.strptime(text, '%Y-%m'):%b %Y}"
    except ValueError:
        return text


# --- facets


@dataclass(frozen=True)
class FacetValue:
    """A facet's value as in Datasette. Its link adds the filter, or removes it if selected."""

    value: str
    label: str
    count: int
    selected: bool
    toggle_url: str
    nested: tuple[FacetValue, ...] = ()

    @property
    def is_open(self) -> bool:
        return any(each.selected or each.is_open for each in self.nested)


@dataclass(frozen=True)
class FacetGroup:
    name: str
    choices: tuple[FacetValue, ...]


def facet_groups(urls: Urls, query: Query, facets: Facets) -> tuple[FacetGroup, ...]:
    sources = facets.sources if len(facets.sources) > 1 or urls.values("source") else {}
    kinds = (
        _choice(urls, name, value, FILTERS[name].describe(value), notes)
        for (name, value), notes in facets.kinds.items()
    )
    origins = (_choice(urls, "source", name, name, notes) for name, notes in sources.items())
    groups = (
        FacetGroup("tag", _tags(urls, facets.tags)),
        FacetGroup("modified", _periods(urls, query, facets)),
        FacetGroup("kind", tuple(kinds)),
        FacetGroup("source", tuple(origins)),
    )
    return tuple(group for group in groups if group.choices)


def narrowing(groups: Iterable[FacetGroup], total: int) -> tuple[FacetGroup, ...]:
    """Return the groups without the values that all results have, unless one is selected."""

    def of(choices: Iterable[FacetValue]) -> Iterator[FacetValue]:
        for choice in choices:
            nested = tuple(of(choice.nested))
            if choice.count < total or choice.selected or nested:
                yield choice if nested == choice.nested else replace(choice, nested=nested)

    return tuple(replace(group, choices=tuple(of(group.choices))) for group in groups)


def _choice(
    urls: Urls, name: str, value: str, label: str, notes: int, nested: tuple[FacetValue, ...] = ()
) -> FacetValue:
    folded = FILTERS[name].normalized
    same = [(name, given) for given in urls.values(name) if folded(given.strip()) == folded(value)]
    url = urls.search(remove=same) if same else urls.adding(name, value)
    return FacetValue(value, label, notes, bool(same), url, nested)


def _tags(urls: Urls, tags: Iterable[TagCount], above: str = "") -> tuple[FacetValue, ...]:
    choices = []
    for tag in tags:
        label, nested = tag.path[len(above) :].lstrip("/"), _tags(urls, tag.nested, tag.path)
        choices.append(_choice(urls, "tag", tag.path, label, tag.notes, nested))
    return tuple(choices)


def _periods(urls: Urls, query: Query, facets: Facets) -> tuple[FacetValue, ...]:
    """Return years, newest first, with their months in calendar order."""
    after, before = (urls.value(f"modified_{end}") for end in ("after", "before"))
    chosen = after if after == before else ""
    widened = urls.search(drop=(*OF_ONE_LIST, "modified_after", "modified_before"))

    def choice(period: str, notes: int, nested: tuple[FacetValue, ...] = ()) -> FacetValue:
        selected = chosen == period or (bool(nested) and chosen.startswith(f"{period}-"))
        url = widened if selected else urls.modified_in(period, query)
        label = period if nested else period_name(period).partition(" ")[0]
        return FacetValue(period, label, notes, selected, url, nested)

    years = []
    for year, notes in sorted(facets.years.items(), reverse=True):
        months = ((name, count) for name, count in facets.months.items() if name[:-3] == year)
        years.append(choice(year, notes, tuple(choice(*month) for month in months)))
    return tuple(years)


# --- the timeline

# Bars that can still be distinguished, and tapped with a finger, on a narrow screen.
MAX_MONTHS = 72

# With fewer results, there is no histogram: people read them one by one.
MIN_RESULTS = 8

# In the drawing's own units: the page stretches it to the available width.
HEIGHT = 40
STEP = 10
BAR = 8
# A bar of one note must be visible beside one of a thousand.
MIN_HEIGHT = 2


@dataclass(frozen=True)
class Bar:
    name: str  # May 2024
    notes: int
    url: str
    x: int
    y: float
    height: float


@dataclass(frozen=True)
class Timeline:
    """A histogram from the oldest to the newest note. Periods without notes have no bar."""

    unit: str  # "month" or "year"
    bars: tuple[Bar, ...]
    width: int
    most: int  # notes in the highest bar
    height: int = HEIGHT


def timeline(months: dict[str, int], url: Callable[[str], str]) -> Timeline | None:
    """Return a histogram of counts by month (``2024-05``) or year; None for only a few notes."""
    if sum(months.values()) < MIN_RESULTS:
        return None
    unit, periods = "month", _months(min(months), max(months))
    counts: Mapping[str, int] = months
    if len(periods) > MAX_MONTHS:
        unit, counts = "year", Counter()
        for month, notes in months.items():
            counts[month[:4]] += notes
        periods = [f"{year:04}" for year in range(int(min(counts)), int(max(counts)) + 1)]
    if len(periods) < 2:
        return None
    most = max(counts.values())
    bars = []
    for number, name in enumerate(periods):
        if notes := counts.get(name, 0):
            height = round(max(MIN_HEIGHT, HEIGHT * notes / most), 1)
            x, y = number * STEP + (STEP - BAR) // 2, round(HEIGHT - height, 1)
            bars.append(Bar(period_name(name), notes, url(name), x, y, height))
    return Timeline(unit, tuple(bars), STEP * len(periods), most)


def _months(first: str, last: str) -> list[str]:
    (year, month), (last_year, last_month) = (map(int, text.split("-")) for text in (first, last))
    return [
        f"{number // 12:04}-{number % 12 + 1:02}"
        for number in range(year * 12 + month - 1, last_year * 12 + last_month)
    ]
