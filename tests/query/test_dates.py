from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.query import dates
from datasette_bear_search.query.dates import period, span, utc

TODAY = datetime(2024, 3, 1)  # a Friday


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", datetime(2024, 1, 1), datetime(2025, 1, 1)),
        ("2024-05", datetime(2024, 5, 1), datetime(2024, 6, 1)),
        ("2024-12", datetime(2024, 12, 1), datetime(2025, 1, 1)),
        ("2024-02-29", datetime(2024, 2, 29), datetime(2024, 3, 1)),
        ("today", datetime(2024, 3, 1), datetime(2024, 3, 2)),
        ("Yesterday", datetime(2024, 2, 29), datetime(2024, 3, 1)),
        ("this week", datetime(2024, 2, 26), datetime(2024, 3, 4)),
        ("last week", datetime(2024, 2, 19), datetime(2024, 2, 26)),
        ("last-week", datetime(2024, 2, 19), datetime(2024, 2, 26)),
        ("This Month", datetime(2024, 3, 1), datetime(2024, 4, 1)),
        ("last_month", datetime(2024, 2, 1), datetime(2024, 3, 1)),
        ("this-year", datetime(2024, 1, 1), datetime(2025, 1, 1)),
        ("last year", datetime(2023, 1, 1), datetime(2024, 1, 1)),
        ("1 day ago", datetime(2024, 2, 29), datetime(2024, 3, 1)),
        ("3 weeks ago", datetime(2024, 2, 5), datetime(2024, 2, 12)),
        ("3-weeks-ago", datetime(2024, 2, 5), datetime(2024, 2, 12)),
        ("14 months ago", datetime(2023, 1, 1), datetime(2023, 2, 1)),
        ("2 years ago", datetime(2022, 1, 1), datetime(2023, 1, 1)),
        ("7d", datetime(2024, 2, 23), datetime(2024, 3, 2)),
        ("2w", datetime(2024, 2, 16), datetime(2024, 3, 2)),
        ("last 7 days", datetime(2024, 2, 23), datetime(2024, 3, 2)),
        ("3 months", datetime(2023, 12, 1), datetime(2024, 3, 2)),
        ("1y", datetime(2023, 3, 1), datetime(2024, 3, 2)),
        ("2024-05-01T10:30:00", datetime(2024, 5, 1, 10, 30), datetime(2024, 5, 1, 10, 30)),
        *(
            (written, datetime(2024, 5, 16), datetime(2024, 5, 17))
            for written in (
                *"20240516 2024/05/16 2024.5.16 5/16/2024 16/5/2024 16.5.2024".split(),
                *("16 May 2024", "May 16, 2024", "may 16th 2024", "16th of May 2024"),
            )
        ),
        ("6.5.2024", datetime(2024, 5, 6), datetime(2024, 5, 7)),
        ("2024-W18", datetime(2024, 4, 29), datetime(2024, 5, 6)),
    ],
)
def test_a_date_means_the_span_that_it_names(text, start, end):
    assert period(text) == (start, end)


def test_a_month_back_from_its_last_day_is_the_last_day_of_a_shorter_one(monkeypatch):
    monkeypatch.setattr(dates, "today", lambda: datetime(2024, 3, 31))
    assert period("1m")[0] == datetime(2024, 2, 29)


@pytest.mark.parametrize(
    "text",
    [
        *"2024-02-30 2024-13 20240 soon 2024-5-5-5 0 9999 9999y last 7 ago week".split(),
        # A day in one country, and another in others
        *("5/6/2024", "1.2.3", "v1.2.2024", "may 5", "2024-w60", "20241301"),
        *("", "last-decade", "3 weeks hence", "last 3 weeks ago", "0000-01"),
    ],
)
def test_an_invalid_date_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        period(text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024-05", datetime(2024, 5, 1), datetime(2024, 6, 1)),
        ("2024..2025-03", datetime(2024, 1, 1), datetime(2025, 4, 1)),
        ("2024-05..", datetime(2024, 5, 1), None),
        ("..2024", None, datetime(2025, 1, 1)),
        ("last week..today", datetime(2024, 2, 19), datetime(2024, 3, 2)),
        ("2024 .. 2025", datetime(2024, 1, 1), datetime(2026, 1, 1)),
        (">2024-05", datetime(2024, 6, 1), None),
        (">=2024-05", datetime(2024, 5, 1), None),
        ("<2024", None, datetime(2024, 1, 1)),
        ("<= 2024", None, datetime(2025, 1, 1)),
        (">yesterday", datetime(2024, 3, 1), None),
    ],
)
def test_a_range_includes_both_of_its_ends(text, start, end):
    assert span(text) == (start, end)


@pytest.mark.parametrize("text", ["..", "2025..2024", ">", "<=", "=2024", "2024..soon", "1..2..3"])
def test_an_invalid_range_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        span(text)


def test_a_moment_is_written_as_the_sidecar_writes_it():
    assert utc(datetime.fromisoformat("2024-05-01T10:30:00+02:00")) == "2024-05-01T08:30:00Z"


@given(st.text() | st.from_regex(r"[<>]?=?[0-9]{1,5}(-[0-9]{1,3}){0,2}(\.\.)?[0-9a-z -]*"))
def test_any_text_is_a_range_or_refused(text):
    try:
        start, end = span(text)
        bounds = [utc(moment) for moment in (start, end) if moment]
    except ValueError:
        return
    assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("since", "until", "name", "text"),
    [
        ("2026-11-22", "2026-11-23", "22 Nov 2026", "2026-11-22"),
        ("2026-11-16", "2026-11-23", "16–22 Nov 2026", "2026-11-16..2026-11-22"),
        ("2026-11-30", "2026-12-07", "30 Nov – 6 Dec 2026", "2026-11-30..2026-12-06"),
        ("2025-12-29", "2026-01-05", "29 Dec 2025 – 4 Jan 2026", "2025-12-29..2026-01-04"),
        ("2026-03-01", "2026-04-01", "Mar 2026", "2026-03"),
        ("2026-06-01", "2026-09-01", "Jun–Aug 2026", "2026-06..2026-08"),
        ("2025-12-01", "2026-03-01", "Dec 2025 – Feb 2026", "2025-12..2026-02"),
        ("2023-01-01", "2024-01-01", "2023", "2023"),
        ("2022-01-01", "2024-01-01", "2022–2023", "2022..2023"),
    ],
)
def test_a_span_has_a_name_and_is_read_back(since, until, name, text):
    ends = datetime.fromisoformat(since), datetime.fromisoformat(until)
    assert dates.span_name(*ends) == name
    assert dates.span_text(*ends) == text
    assert dates.span(text) == ends
