"""Bytes → text, whatever program wrote them."""

from __future__ import annotations

import codecs
import json
import re
from datetime import datetime, timezone
from typing import Any

from . import Unreadable

# UTF-32 first: its mark in little-endian order begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# What Windows wrote in Western Europe and America; where Latin-1 has letters, it has the same ones.
_WESTERN = "cp1252"

# Other scripts. Asked about all encodings that there are, charset-normalizer takes "Café crème" for Urdu; among these
# it told twelve languages apart by a single sentence.
_OTHER_SCRIPTS = "cp1251 koi8_r cp1253 cp1255 cp1256 cp932 euc_jp gb18030 big5 cp949".split()

# Bytes. It is enough to see how a file is encoded, or that it is no text.
_SAMPLE = 16_384

# The part of control characters from which on something is no text. A file of random bytes has a tenth.
_MOST_CONTROLS = 0.02
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")

# What a page of HTML or XML says of itself.
_DECLARED = re.compile(
    rb"<(?:meta|\?xml)\b[^<>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})",
    re.IGNORECASE,
)
_HIGH_BYTES = re.compile(rb"[\x80-\xff]{2,}")


class NotText(Exception):
    """These bytes are something else."""


def decoded(data: bytes, encoding: str = "") -> str:
    """The text, with newlines as Unix writes them and without NULs.

    :param encoding: what it is written in if it isn't Unicode; "" guesses
    :raises NotText: if it is none
    """
    text = _text(data, encoding)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "") if "\0" in text else text


def _text(data: bytes, encoding: str) -> str:
    for mark, unicode in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(unicode, "replace")
    has_nul = b"\0" in data
    if has_nul and (unicode := _utf_16(data)):
        return data.decode(unicode, "replace")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    # A NUL or two, or many at the end, are what a crash or a sync has left in a text; a picture is full of them.
    if (text is None or has_nul) and _control_share(data) > _MOST_CONTROLS:
        raise NotText
    if text is not None:
        return text
    try:
        text = data.decode(encoding or _declared(data) or _guess(data), "replace")
    except UnicodeError:  # some of Python's stranger encodings know no "replace"
        text = data.decode(_WESTERN, "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # without halves of characters


def _utf_16(data: bytes) -> str | None:
    """UTF-16 without a mark, by the NULs that stand beside each Western letter."""
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _control_share(data: bytes) -> float:
    sample = data.rstrip(b"\0")[:_SAMPLE]
    return 1 - len(sample.translate(None, delete=_CONTROLS)) / len(sample) if sample else 1.0


def _declared(data: bytes) -> str | None:
    match = _DECLARED.search(data, 0, 2048)
    try:
        encoding = match[1].decode() if match else ""
        "".encode(encoding)
    except LookupError:
        return None
    # What calls itself Unicode has just been found to be something else.
    return None if encoding.lower().startswith("utf") else encoding


def _guess(data: bytes) -> str:
    """The likely encoding of a text that isn't Unicode.

    In Latin scripts single bytes are accents between plain letters; elsewhere such bytes stand together.
    """
    high = len(data) - len(data.translate(None, delete=bytes(range(128, 256))))
    together = sum(map(len, _HIGH_BYTES.findall(data)))
    if together == 0 or (high < 0.3 * len(data) and together < 0.5 * high):
        return _WESTERN
    # Takes 30 ms to import, and few files need it.
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # not within a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    best = from_bytes(sample, cp_isolation=_OTHER_SCRIPTS).best()
    return best.encoding if best else _WESTERN


# Dates as people and programs write them into files → ISO 8601 in UTC, as a note has them.

# What is nearly always written, read without a parser: 2024-05-01, 2024/5/1 9:30, 2024-05-01T09:30:00.123+02:00.
_ISO = re.compile(
    r"""(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})
    (?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}:?(?:\d{2})?)?)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# 20240501, 202405010930, 20240501T093000Z
_COMPACT = re.compile(
    r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{4})?)?", re.IGNORECASE | re.ASCII
)
_SECONDS = re.compile(r"\d{9,10}|\d{13}", re.ASCII)
# A year of its own: without one, a parser would take this year.
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d{2}(?!\d)", re.ASCII)

LONGEST = 60  # characters


def timestamp(written: object) -> str | None:
    """The moment that a text names, or None if it names none, or could be read in two ways.

    A time without a zone is this computer's. A day without a time is noon in UTC, which is the same day nearly everywhere.
    """
    text = str(written).strip() if written is not None else ""
    if not text or len(text) > LONGEST:
        return None
    try:
        if match := _ISO.fullmatch(text) or _COMPACT.fullmatch(text):
            return _of_parts(*match.groups())
        if _SECONDS.fullmatch(text):
            return of_seconds(int(text) / (1000 if len(text) > 10 else 1))
        return _parsed(text)
    except (ValueError, OverflowError, OSError):
        return None


def of_seconds(seconds: float) -> str | None:
    """A moment that is counted from 1970, as files have it."""
    try:
        return _written(datetime.fromtimestamp(seconds, timezone.utc))
    except (ValueError, OverflowError, OSError):
        return None


def _of_parts(
    year: str, month: str, day: str, hour: str | None, minute: str, second: str, zone: str | None
) -> str:
    if hour is None:
        return _written(datetime(int(year), int(month), int(day), 12, tzinfo=timezone.utc))
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))
    if zone:
        moment = datetime.strptime(
            f"{moment:%Y-%m-%d %H:%M:%S}{_offset(zone)}", "%Y-%m-%d %H:%M:%S%z"
        )
    return _written(moment)


def _offset(zone: str) -> str:
    digits = zone.replace(":", "")
    return "+0000" if digits.upper() in ("Z", "UTC") else digits.ljust(5, "0")


def _parsed(text: str) -> str | None:
    """What dateutil makes of "May 1, 2024 9:30 AM", but not of "1/5/2024", which is two days."""
    if not _YEAR.search(text):
        return None
    # Takes 20 ms to import, and few files need it.
    from dateutil import parser

    readings = set()
    # What isn't written is taken from the default: two defaults tell whether day and time are.
    for day_first in (False, True):
        for default in (datetime(2000, 1, 1, 1, 1), datetime(2000, 2, 2, 2, 2)):
            readings.add(parser.parse(text, default=default, dayfirst=day_first))
    days = {moment.date() for moment in readings}
    if len(days) != 1:
        return None
    if len(readings) > 1:  # no time
        [day] = days
        return _written(datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc))
    [moment] = readings
    return _written(moment)


def _written(moment: datetime) -> str:
    # Not strftime("%Y"), which some systems write without zeros before the year 1000.
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")[:19] + "Z"


# JSON that another program has written, in which anything can be missing or other than it should be.

_SURROGATE = re.compile("[\ud800-\udfff]")


def parsed(content: bytes) -> Any:
    """The value in a file. Raises Unreadable."""
    try:
        return json.loads(content.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:  # ValueError also for numbers of too many digits
        raise Unreadable(f"no valid JSON ({error})") from error


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing else that is in it."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, without what no database stores, or an empty text."""
    return storable(value) if isinstance(value, str) else ""


def storable(words: str) -> str:
    """A text without NULs and halves of characters, which SQLite or UTF-8 can't hold."""
    if "\0" in words:
        words = words.replace("\0", "")
    return words if words.isascii() else _SURROGATE.sub("\ufffd", words)
