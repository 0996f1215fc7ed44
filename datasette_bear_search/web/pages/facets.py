"""Facets and the timeline: values by which a search can be narrowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from ...query.filters import FILTERS
from ...query.query import Query
from ...search.results.facets import Facets, TagCount, count_facets
from ...search.results.records import Results
from ...sqlite import sqlite3
from .urls import OF_ONE_LIST, Urls


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


Groups = dict[str, tuple[FacetValue, ...]]


def is_empty(results: Results) -> bool:
    """Return whether nothing was found; notes that are merely near don't count."""
    return not results.total or bool(results.hits and not results.found)


def counted(connection: sqlite3.Connection, results: Results) -> Facets | None:
    is_counted = results.statement is not None and not is_empty(results)
    return count_facets(connection, results) if is_counted else None


def facet_groups(urls: Urls, query: Query, facets: Facets) -> Groups:
    sources = facets.sources if len(facets.sources) > 1 or urls.values("source") else {}
    kinds = (
        _choice(urls, name, value, FILTERS[name].describe(value), notes)
        for (name, value), notes in facets.kinds.items()
    )
    origins = (_choice(urls, "source", name, name, notes) for name, notes in sources.items())
    groups = {
        "tag": _tags(urls, facets.tags),
        "modified": _periods(urls, query, facets),
        "kind": tuple(kinds),
        "source": tuple(origins),
    }
    return {name: choices for name, choices in groups.items() if choices}


def narrowing(groups: Groups, total: int) -> Groups:
    """Return the groups without the values that all results have, unless one is selected."""

    def of(choices: Iterable[FacetValue]) -> Iterator[FacetValue]:
        for choice in choices:
            nested = tuple(of(choice.nested))
            if choice.count < total or choice.selected or nested:
                yield choice if nested == choice.nested else replace(choice, nested=nested)

    return {name: tuple(of(choices)) for name, choices in groups.items()}


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


@lru_cache(1000)
def period_name(text: str) -> str:
    """Return a month as people write it, ``Dec 2024``; a year unchanged."""
    return f"{datetime.strptime(text, '%Y-%m'):%b %Y}" if "-" in text else text


def month_headings(facets: Facets) -> dict[str, str]:
    """Return the headings of a list by date: ``Nov 2026`` → ``November 2026 · 21``."""
    more = "+" if facets.at_least else ""
    return {
        period_name(month): f"{datetime.strptime(month, '%Y-%m'):%B %Y} · {notes:,}{more}"
        for month, notes in facets.months.items()
    }


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

    bars: tuple[Bar, ...]
    width: int
    most: int  # notes in the highest bar
    height: int = HEIGHT
    bar_width: int = BAR


def timeline(months: dict[str, int], url: Callable[[str], str]) -> Timeline | None:
    """Return a histogram of counts by month (``2024-05``) or year; None for only a few notes."""
    if sum(months.values()) < MIN_RESULTS:
        return None
    periods, counts = _months(min(months), max(months)), Counter(months)
    if len(periods) > MAX_MONTHS:
        counts = Counter()
        for month, notes in months.items():
            counts[month[:4]] += notes
        periods = [f"{year:04}" for year in range(int(min(counts)), int(max(counts)) + 1)]
    if len(periods) < 2:
        return None
    most = max(counts.values())
    bars = []
    for number, name in enumerate(periods):
        if notes := counts[name]:
            height = round(max(MIN_HEIGHT, HEIGHT * notes / most), 1)
            x, y = number * STEP + (STEP - BAR) // 2, round(HEIGHT - height, 1)
            bars.append(Bar(period_name(name), notes, url(name), x, y, height))
    return Timeline(tuple(bars), STEP * len(periods), most)


def _months(first: str, last: str) -> list[str]:
    (year, month), (last_year, last_month) = (map(int, text.split("-")) for text in (first, last))
    return [
        f"{number // 12:04}-{number % 12 + 1:02}"
        for number in range(year * 12 + month - 1, last_year * 12 + last_month)
    ]
