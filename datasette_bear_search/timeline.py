"""When the notes that were found were modified: a histogram by month, or by year where it spans many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .addresses import period_name

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
    for number, period in enumerate(periods):
        notes = counts.get(period, 0)
        height = max(LEAST, HEIGHT * notes / most) if notes else 0
        bars.append(
            Bar(
                name=period_name(period),
                notes=notes,
                url=address(period) if notes else "",
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
