"""The histogram's arithmetic."""

from __future__ import annotations

import pytest

from datasette_bear_search.web.pages.facets import HEIGHT, MAX_MONTHS, MIN_HEIGHT, STEP, timeline


def names(months) -> list[str]:
    return [bar.name for bar in timeline(months, str).bars]


def test_months_without_notes_leave_a_gap():
    drawn = timeline({"2023-11": 7, "2024-02": 1}, lambda period: f"/?{period}")
    assert [bar.name for bar in drawn.bars] == ["Nov 2023", "Feb 2024"]
    assert [bar.notes for bar in drawn.bars] == [7, 1]
    assert [bar.url for bar in drawn.bars] == ["/?2023-11", "/?2024-02"]
    assert drawn.bars[1].x - drawn.bars[0].x == 3 * STEP
    assert drawn.width == 4 * STEP


def test_the_highest_bar_fills_the_height_and_the_lowest_can_be_seen():
    bars = timeline({"2024-01": 10_000, "2024-02": 1}, str).bars
    assert [(bar.y, bar.height) for bar in bars] == [(0, HEIGHT), (HEIGHT - MIN_HEIGHT, MIN_HEIGHT)]


@pytest.mark.parametrize("months", [{}, {"2024-05": 70}, {"2024-05": 3, "2024-06": 4}])
def test_one_bar_or_a_few_notes_make_no_histogram(months):
    assert timeline(months, str) is None


def test_a_time_too_long_for_months_is_drawn_by_years():
    last = f"{2020 + MAX_MONTHS // 12}-01"
    drawn = timeline({"2020-01": 1, "2020-07": 2, last: 5}, str)
    assert drawn.bars[0].notes == 3
    assert drawn.bars[0].name == "2020"


def test_a_clock_that_was_wrong_does_not_stretch_it_over_centuries():
    assert names({"0101-01": 3, "2023-01": 3, "2024-01": 3}) == ["0101", "2023", "2024"]
