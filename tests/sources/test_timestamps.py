"""Dates as files have them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.sources.text import parse_timestamp, timestamp_from_seconds


@pytest.fixture(autouse=True)
def in_new_york(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-05-01", "2024-05-01T12:00:00Z"),
        ("2024-5-1", "2024-05-01T12:00:00Z"),
        ("2024/05/01", "2024-05-01T12:00:00Z"),
        ("2024-05-01T09:30:00Z", "2024-05-01T09:30:00Z"),
        ("2024-05-01T09:30:00.123Z", "2024-05-01T09:30:00Z"),
        ("2024-05-01 09:30:00 +02:00", "2024-05-01T07:30:00Z"),
        ("2024-05-01T09:30:00-0700", "2024-05-01T16:30:00Z"),
        ("2024-05-01 09:30:00 UTC", "2024-05-01T09:30:00Z"),
        ("2024-05-01T09:30+05:30", "2024-05-01T04:00:00Z"),
        ("2024-05-01 9:30", "2024-05-01T13:30:00Z"),
        ("2024-01-01 09:30:00", "2024-01-01T14:30:00Z"),
        ("May 1, 2024", "2024-05-01T12:00:00Z"),
        ("1 May 2024 9:30 PM", "2024-05-02T01:30:00Z"),
        ("Wed, 01 May 2024 09:30:00 GMT", "2024-05-01T09:30:00Z"),
        ("20240501", "2024-05-01T12:00:00Z"),
        ("202405010930", "2024-05-01T13:30:00Z"),
        ("20240501T093000Z", "2024-05-01T09:30:00Z"),
        ("25/12/2024", "2024-12-25T12:00:00Z"),
        ("1714555800", "2024-05-01T09:30:00Z"),
        ("1714555800000", "2024-05-01T09:30:00Z"),
        ("  2024-05-01\n", "2024-05-01T12:00:00Z"),
        ("0999-05-01", "0999-05-01T12:00:00Z"),
    ],
)
def test_dates_are_read_in_the_shapes_that_people_and_programs_write(written, moment) -> None:
    assert parse_timestamp(written) == moment


@pytest.mark.parametrize(
    "written",
    [
        None, "", "soon", "yesterday", "Monday", "9:30", "May", "2024", "May 2024", "1/5/2024", "2024-13-01",
        "2024-02-30", "2024-05-01T25:00:00Z", "{{date}}", "99999999999999999999", "0000-00-00", "٢٠٢٤-٠٥-٠١",
        "2024-05-01 " + "x" * 1000, "2024-05-01T09:30:00+99:99",
    ],
)  # fmt: skip
def test_what_names_no_single_day_is_no_date(written) -> None:
    assert parse_timestamp(written) is None


@given(st.text(max_size=70) | st.from_regex(r"\d{1,4}[-/. ]\d{1,3}[-/. ]\d{1,4}( \d\d?:\d\d?)?"))
def test_any_text_is_a_date_or_none(written: str) -> None:
    found = parse_timestamp(written)
    assert found is None or (len(found) == 20 and found.endswith("Z"))


@given(st.floats())
def test_any_number_of_seconds_is_a_date_or_none(seconds: float) -> None:
    found = timestamp_from_seconds(seconds)
    assert found is None or len(found) == 20
