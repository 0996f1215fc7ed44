"""Dates are read as people and programs write them."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.sources.formats.dates import parse_timestamp, timestamp_from_seconds


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
        ("5/5/2024", "2024-05-05T12:00:00Z"),
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
        "[[2024-01-05]]", '"[[2024-01-05]]"', "[[Journal/2024-01-05|today]]", "[[2024-01-05.md]]",
        "5. Januar 2024", "Freitag, 5. Jänner 2024", "5 janvier 2024", "ven. 5 janv. 2024",
        "5 de enero de 2024", "viernes, 5 de enero de 2024", "5 de janeiro de 2024",
        "5 gennaio 2024", "5 januari 2024", "5 stycznia 2024", "5. ledna 2024", "2024. január 5.",
        "5 ianuarie 2024", "5 января 2024 г.", "5 янв. 2024", "5 січня 2024 р.", "5. januar 2024",
        "5 Ocak 2024", "5. tammikuuta 2024", "5 Ιανουαρίου 2024", "5 de gener de 2024",
        "5 בינואר 2024", "5 يناير 2024", "5 जनवरी 2024", "5 มกราคม 2024", "5 জানুয়ারি 2024",
        "5 ژانویه 2024", "5. siječnja 2024.", "5 студзеня 2024", "2024 წლის 5 იანვარი",
        "2024年1月5日", "2024年01月05日（金）", "2024년 1월 5일", "２０２４年１月５日",
        "05.01.2024", "5. 1. 2024", "ngày 5 tháng 1 năm 2024", "٥ يناير ٢٠٢٤", "٢٠٢٤-٠١-٠٥",
        "@January 5, 2024", "@2024年1月5日", "2024/01/05 (金)", "2024-01-05 ven.",
        "<2024-01-05 Fri>", "2024. 01. 05.",
    ],
)  # fmt: skip
def test_days_are_read_in_many_languages(written: str) -> None:
    assert parse_timestamp(written) == "2024-01-05T12:00:00Z"


@pytest.mark.parametrize(
    ("written", "month"),
    [
        ("mardi 5 mars 2024", 3), ("martes, 5 de marzo de 2024", 3), ("5. März 2024", 3),
        ("martedì 5 novembre 2024", 11), ("mar. 5 nov. 2024", 11), ("5 maart 2024", 3),
        ("5 Haziran 2024", 6), ("5. heinäkuuta 2024", 7), ("5 मई 2024", 5), ("5 серпня 2024", 8),
        ("5. srpnja 2024.", 7), ("5 лист. 2024", 11), ("5 พฤศจิกายน 2024", 11), ("5 мају 2024", 5),
        ("5 mai 2024", 5), ("5 мая 2024", 5), ("5 juin 2024", 6), ("5 июля 2024", 7),
        ("5 août 2024", 8), ("5 sierpnia 2024", 8), ("5. srpna 2024", 8), ("5 Ağustos 2024", 8),
        ("5. marraskuuta 2024", 11), ("5 декабря 2024", 12), ("5 de dezembro de 2024", 12),
        ("5. června 2024", 6), ("5. července 2024", 7), ("5 czerwca 2024", 6),
        ("5 Aralık 2024", 12),
        ("5 Agustus 2024", 8), ("5. října 2024", 10), ("5 października 2024", 10),
    ],
)  # fmt: skip
def test_months_that_sound_alike_are_told_apart(written: str, month: int) -> None:
    assert parse_timestamp(written) == f"2024-{month:02}-05T12:00:00Z"


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("2024-01-05 10:00 AM", 10), ("2024-01-05 10:00PM", 22), ("2024/01/05 12:00 a.m.", 0),
        ("January 5, 2024 10:00 AM", 10), ("5. Januar 2024 um 10:00 Uhr", 10),
        ("5 janvier 2024 à 10h00", 10), ("5 января 2024 г., 10:00", 10),
        ("2024年1月5日 下午3:00", 15),
        ("2024년 1월 5일 오전 10:00", 10), ("2024年1月5日 10時", 10), ("05.01.2024 10:00", 10),
        ("5. tammikuuta 2024 klo 10.00", 10), ("Jan 5th, 2024 at 3 pm", 15),
        ("2024. 1. 5. 오후 3:00", 15), ("2024-01-05, 10:00", 10),
    ],
)  # fmt: skip
def test_times_are_read_beside_days_in_words(written: str, hour: int) -> None:
    local = datetime(2024, 1, 5, hour).astimezone(timezone.utc)
    assert parse_timestamp(written) == f"{local:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    "written",
    [
        "Sat Jan 06 2024 10:00:00 GMT+0100 (Central European Standard Time)",
        "2024-01-06T10:00:00+0100[Europe/Berlin]",
        "2024-01-06 10:00:00 UTC+1",
        "2024/01/06 10:00 (GMT+1)",
    ],
)
def test_names_of_time_zones_are_read_as_programs_write_them(written: str) -> None:
    assert parse_timestamp(written) == "2024-01-06T09:00:00Z"


@pytest.mark.parametrize(
    "written",
    [
        None, "", "soon", "yesterday", "Monday", "9:30", "May", "2024", "May 2024", "1/5/2024",
        "2024-13-01", "2024-02-30", "2024-05-01T25:00:00Z", "{{date}}", "99999999999999999999",
        "0000-00-00", "[x] 2024-01-05",
        "2024-05-01 " + "x" * 1000, "2024-05-01T09:30:00+99:99",
    ],
)  # fmt: skip
def test_a_text_that_names_no_single_day_is_not_a_date(written) -> None:
    assert parse_timestamp(written) is None


@given(st.text(max_size=70) | st.from_regex(r"\d{1,4}[-/. ]\d{1,3}[-/. ]\d{1,4}( \d\d?:\d\d?)?"))
def test_any_text_is_a_date_or_none(written: str) -> None:
    found = parse_timestamp(written)
    assert found is None or (len(found) == 20 and found.endswith("Z"))


@given(st.floats())
def test_any_number_of_seconds_is_a_date_or_none(seconds: float) -> None:
    found = timestamp_from_seconds(seconds)
    assert found is None or len(found) == 20
