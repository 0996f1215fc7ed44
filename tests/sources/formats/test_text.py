"""Text and dates are read from files, whatever program wrote them.

Tests ``sources/formats/dates.py``, too.
"""

from __future__ import annotations

import codecs
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_bear_search.sources.base import Unreadable
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats.text import (
    decode,
    parse_timestamp,
    timestamp_from_seconds,
)
from tests.support.exports import folder_of

# A sentence or two in each language, about tomatoes and apples in a garden.
GERMAN = "Gestern habe ich die Tomaten gegossen und die großen Äpfel gepflückt. Schöne Grüße!"
FRENCH = "Hier, j’ai arrosé les tomates et cueilli les pommes. Ça ira très bien l'année prochaine."
SWEDISH = "Igår vattnade jag tomaterna i trädgården och plockade äpplena på ön."
POLISH = "Wczoraj podlałem pomidory w ogrodzie i zebrałem jabłka. Żółta łódź."
RUSSIAN = "Вчера я поливал помидоры в саду и собирал яблоки. Потом был пирог для всех."
GREEK = "Χθες πότισα τις ντομάτες στον κήπο και μάζεψα τα μήλα."
JAPANESE = "昨日は庭でトマトに水をやり、りんごを摘みました。それからみんなでケーキを食べました。"
CHINESE = "昨天我在花园里浇了西红柿，摘了苹果。然后大家一起吃蛋糕。"
TAIWANESE = "昨天我在花園裡澆了番茄，摘了蘋果。然後大家一起吃蛋糕。"
KOREAN = "어제 정원에서 토마토에 물을 주고 사과를 땄습니다. 그리고 모두 케이크를 먹었습니다."


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"plain", "plain"),
        ("Crème brûlée 🍵".encode(), "Crème brûlée 🍵"),
        (codecs.BOM_UTF8 + "é".encode(), "é"),
        (codecs.BOM_UTF8, ""),
        ("é\n🍵".encode("utf-16"), "é\n🍵"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é"),
        ("é".encode("utf-32"), "é"),
        (codecs.BOM_UTF32_BE + "é".encode("utf-32-be"), "é"),
        ("Notes from Windows\r\n".encode("utf-16-le"), "Notes from Windows\n"),
        ("Notes from a Mac\n".encode("utf-16-be"), "Notes from a Mac\n"),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        (b"padded after a crash" + b"\0" * 9, "padded after a crash"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ],
)  # fmt: skip
def test_unicode_is_read_in_all_its_forms(data: bytes, text: str) -> None:
    assert decode(data) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (f"{GERMAN}\n".encode() * 9 + b"1 \x96 2 \x80", f"{GERMAN}\n" * 9 + "1 – 2 €"),
        (RUSSIAN.encode() + b" 5 \xa2.", RUSSIAN + " 5 ¢."),
        (JAPANESE.encode()[:-1], JAPANESE[:-1]),
        (CHINESE.encode()[:-2], CHINESE[:-1]),
        ("Grüße 🍵".encode()[:-1], "Grüße "),
        (f"{GERMAN}\n".encode() + GERMAN.encode("cp1252"), f"{GERMAN}\n{GERMAN}"),
        (FRENCH.encode("cp1252") * 3 + FRENCH.encode(), FRENCH * 4),
        (b"\x93" + POLISH.encode() + b"\x94", f"“{POLISH}”"),
        (KOREAN.encode() + b"\x81\x8d" + KOREAN.encode(), f"{KOREAN}\ufffd\ufffd{KOREAN}"),
        (GREEK.encode() + b"\xe9t\xe9\n", GREEK + "été\n"),
    ],
)
def test_what_is_valid_stays_right_beside_stray_bytes(data: bytes, text: str) -> None:
    problems: list[str] = []
    assert decode(data, problems=problems) == text
    assert len(problems) == 1


def test_stray_bytes_are_in_the_encoding_that_was_set() -> None:
    assert decode(POLISH.encode() + "Łódź".encode("cp1250"), "cp1250") == POLISH + "Łódź"


def test_a_file_with_stray_bytes_is_named(tmp_path: Path) -> None:
    source = MarkdownFolder(folder_of(tmp_path, {"a.md": f"# Mühle\n{GERMAN}".encode() + b"\x96"}))
    assert [note.title for note in source.read()] == ["Mühle"]
    assert source.skipped[0].startswith("a.md: some of its bytes aren't UTF-8")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("a é", "latin-1"),
        ("Café crème", "latin-1"),
        ("“Curly” – 5 €", "cp1252"),
        (GERMAN, "latin-1"),
        (FRENCH, "cp1252"),
        (SWEDISH, "latin-1"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (GREEK, "cp1253"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "cp949"),
        (f"The garden diary, page 1\n\n{RUSSIAN}", "cp1251"),
        (GERMAN * 1000, "latin-1"),
        (f"{JAPANESE}\n" * 1000, "cp932"),
    ],
)
def test_encodings_of_older_programs_are_recognized(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_a_page_of_html_says_itself_how_it_is_written() -> None:
    page = f'<html><head><meta charset="iso-8859-2"></head><body>{POLISH}</body></html>'
    assert POLISH in decode(page.encode("iso-8859-2"))


@pytest.mark.parametrize("charset", ["utf-8", "nonsense", "base64", "punycode", "unicode_escape"])
def test_a_page_that_says_something_wrong_of_itself_is_read_all_the_same(charset: str) -> None:
    page = f'<meta charset="{charset}"><p>Café \\ud800</p>'
    assert "Caf" in decode(page.encode("latin-1")).encode().decode()


def test_an_encoding_that_was_named_is_used_where_the_text_is_not_unicode() -> None:
    assert decode(POLISH.encode("cp1250"), "cp1250") == POLISH
    assert decode(POLISH.encode(), "cp1250") == POLISH


def test_a_short_note_may_have_a_control_character() -> None:
    assert decode(b"Buy milk\0") == "Buy milk"


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0",
        b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20\0\0\0\2",
        b"\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0",
        bytes(range(256)) * 40,
        b"\0" * 100,
    ],
)
def test_binary_data_is_not_text(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(data)


@settings(deadline=None)
@given(st.binary(max_size=600) | st.text(max_size=200).map(lambda text: text.encode("utf-16")))
def test_any_bytes_become_text_that_can_be_stored_or_none(data: bytes) -> None:
    try:
        text = decode(data)
    except Unreadable:
        return
    assert text.encode().decode() == text
    assert not {"\0", "\r"} & set(text)


# Dates in files


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
        "[[2024-01-05]]", '"[[2024-01-05]]"', "[[Journal/2024-01-05|today]]", "[[2024-01-05.md]]",
        "5. Januar 2024", "Freitag, 5. Jänner 2024", "5 janvier 2024", "ven. 5 janv. 2024",
        "5 de enero de 2024", "viernes, 5 de enero de 2024", "5 de janeiro de 2024",
        "5 gennaio 2024", "5 januari 2024", "5 stycznia 2024", "5. ledna 2024", "2024. január 5.",
        "5 ianuarie 2024", "5 января 2024 г.", "5 янв. 2024", "5 січня 2024 р.", "5. januar 2024",
        "5 Ocak 2024", "5. tammikuuta 2024", "5 Ιανουαρίου 2024", "5 de gener de 2024",
        "5 בינואר 2024", "5 يناير 2024", "5 जनवरी 2024",
        "2024年1月5日", "2024年01月05日（金）", "2024년 1월 5일", "２０２４年１月５日",
        "05.01.2024", "5. 1. 2024", "ngày 5 tháng 1 năm 2024", "٥ يناير ٢٠٢٤", "٢٠٢٤-٠١-٠٥",
        "@January 5, 2024", "@2024年1月5日", "2024/01/05 (金)", "2024-01-05 ven.",
        "<2024-01-05 Fri>",
    ],
)  # fmt: skip
def test_days_are_read_in_many_languages(written: str) -> None:
    assert parse_timestamp(written) == "2024-01-05T12:00:00Z"


@pytest.mark.parametrize(
    ("written", "month"),
    [
        ("mardi 5 mars 2024", 3), ("martes, 5 de marzo de 2024", 3), ("5. März 2024", 3),
        ("martedì 5 novembre 2024", 11), ("mar. 5 nov. 2024", 11), ("5 maart 2024", 3),
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
        ("5. tammikuuta 2024 klo 10.00", 10),
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
