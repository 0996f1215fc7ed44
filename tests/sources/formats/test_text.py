"""Text is read from files, whatever program wrote them."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_bear_search.sources.base import Unreadable
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats.text import decode
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
        (f"« {FRENCH} »", "cp1252"),
        ("Malmö, São Paulo, Zürich, Ångström", "cp1252"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859_2"),
        ("Včera jsem zalil rajčata a natrhal jablka, říkal děda.", "cp1250"),
        ("Tegnap megöntöztem a paradicsomot, és almát szedtem a nővéremmel.", "iso8859_2"),
        ("Ieri am udat roşiile şi am cules mere în grădină.", "cp1250"),
        ("Dün bahçede domatesleri suladım ve İzmir'den gelen ağaçları diktim.", "cp1254"),
        ("Vakar sode laisčiau pomidorus ir rinkau obuolius, sakė močiutė šeštadienį.", "cp1257"),
        (SWEDISH, "latin-1"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (GREEK, "cp1253"),
        ("התה הירוק טוב מאוד לבריאות", "cp1255"),
        ("Müll;Größe, gut", "cp1252"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        ("牛乳とパンを買いに行きます。", "cp932"),
        ("牛乳とパンを買いに行きます。", "euc_jp"),
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
