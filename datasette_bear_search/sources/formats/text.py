"""Other programs' bytes and JSON → text and values that a note can hold."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..base import Unreadable

# --- Bytes → text

# Windows' encoding in Western Europe and America, a superset of Latin-1's letters.
_WESTERN = "cp1252"

# Encodings of Latin scripts. The letters of their languages are in words.txt.
_LATIN = (_WESTERN, "cp1250", "iso8859_2", "cp1254", "cp1257")
# Characters between words in all of them.
_BETWEEN_WORDS = "\xa0¡¿«»§©®°·€–—‘’‚“”„•…"
# Share of such letters below which a text isn't in one of the other languages: names, for example.
_FEWEST_LETTERS = 0.01

# Encodings of other scripts. Among all encodings, charset-normalizer takes "Café crème" for Urdu;
# among these, it recognized twelve languages from a single sentence each.
_OTHER_SCRIPTS = "cp1251 koi8_r cp1253 cp1255 cp1256 cp932 euc_jp gb18030 big5 cp949".split()

# Bytes needed to recognize a file's encoding, or that it isn't text.
_SAMPLE = 16_384

# Share of control characters above which a file isn't text. In random bytes, it is a tenth.
_MAX_CONTROL_SHARE = 0.02
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")

# The encoding that HTML or XML declares.
_DECLARED = re.compile(
    rb"<(?:meta|\?xml)\b[^<>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})",
    re.IGNORECASE,
)
_HIGH_BYTES = re.compile(rb"[\x80-\xff]{3,}")  # but "öß" in German
# In the encodings of Japanese, the syllables that each sentence has; and all that Hebrew has.
_KANA = re.compile("[\u3041-\u30fe]")
_HEBREW = bytes(range(128)) + bytes(range(0xE0, 0xFB))

# Bytes that aren't UTF-8 as Python's "surrogateescape" decodes them, and all other characters.
_STRAY = re.compile("[\udc80-\udcff]+")
_WHOLE = re.compile("[^\0-\x7f\udc80-\udcff]+")
# Such a byte between other letters, if it is one of the West or what Windows puts between words.
_LONE = re.compile("(?<![^\0-\x7f])[\udc80\udc85\udc91-\udc97\udca0-\udcff](?![^\0-\x7f])")
# The beginning of a character, as at the end of a file of which the rest was never written.
_CUT = re.compile(rb"[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2}")


def decode(data: bytes, encoding: str = "", problems: list[str] | None = None) -> str:
    """Return the text of a file, with Unix newlines and without NULs.

    :param encoding: of files, or bytes in them, that aren't Unicode; "" to guess
    :param problems: where to add what is wrong with the bytes, for people
    :raises Unreadable: if the file isn't text
    """
    text = _decoded(data, encoding, [] if problems is None else problems)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "") if "\0" in text else text


def decode_damaged(data: bytes, encoding: str = "") -> str:
    """Return UTF-8 in which some bytes are wrong: other programs pasted them as Windows' letters.

    Where the end is cut within a character, the rest of that is dropped.
    """
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8")
    text = data.decode("utf-8", "surrogateescape")
    strays = [*_STRAY.finditer(text)]
    if len(strays) == 1 and strays[0].end() == len(text) and _CUT.fullmatch(_bytes(strays[0])):
        return text[: strays[0].start()]
    return _STRAY.sub(lambda run: _bytes(run).decode(encoding or _WESTERN, "replace"), text)


def _bytes(run: re.Match[str]) -> bytes:
    return run[0].encode("utf-8", "surrogateescape")


def is_encoding(name: Any) -> bool:
    """Return whether this is "" or a text encoding that Python knows."""
    with suppress(LookupError, TypeError):
        "".encode(name or "utf-8")
        return True
    return False


def _decoded(data: bytes, encoding: str, problems: list[str]) -> str:
    if (marked := json.detect_encoding(data)) in ("utf-8-sig", "utf-16", "utf-32"):
        return data.decode(marked, "replace")
    has_nul = b"\0" in data
    if has_nul and (unicode := _utf_16(data)):
        return data.decode(unicode, "replace")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    # A crash or a sync leaves a few NULs in a text, or many at its end. Pictures are full of them.
    if (text is None or has_nul) and _controls(data, text is None) > _MAX_CONTROL_SHARE:
        if not data.strip(b"\0"):  # after a crash, or a placeholder of a file in a cloud
            raise Unreadable("nothing but zeros, as if it weren't on this disk", is_gone=False)
        raise Unreadable("not text, whatever its name says")
    if text is not None:
        return text
    if _is_damaged(data):
        problems.append("some of its bytes aren't UTF-8 like the others; they are read as Windows'")
        return decode_damaged(data, encoding)
    try:
        text = data.decode(encoding or _declared(data) or _guess(data), "replace")
    except UnicodeError:  # some of Python's stranger encodings don't support "replace"
        text = data.decode(_WESTERN, "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # without lone surrogates


def _is_damaged(data: bytes) -> bool:
    """Return whether data is UTF-8 with some wrong bytes, and not in another encoding."""
    text = data.decode("utf-8", "surrogateescape")
    runs = [*_STRAY.finditer(text)]
    good, bad = sum(map(len, _WHOLE.findall(text))), sum(len(run[0]) for run in runs)
    if len(runs) == 1 and runs[0].end() == len(text) and _CUT.fullmatch(_bytes(runs[0])):
        return good > 0
    # In fourteen languages' own encodings, at most four characters in ten bad bytes look valid, and
    # among letters of the West, which stand alone, hardly any: there, "É»" would be one.
    return good >= (bad / 10 if len(_LONE.findall(text)) > 0.8 * bad else bad)


def _utf_16(data: bytes) -> str:
    """Return the kind of UTF-16 without a mark, or "". Western letters have a NUL beside them."""
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and odd < 0.05 * half else ""


def _controls(data: bytes, is_damaged: bool) -> float:
    """Return the share of control characters, not counting a single one in valid UTF-8."""
    sample = data.rstrip(b"\0")[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, delete=_CONTROLS))
    return (controls if is_damaged else max(controls - 1, 0)) / len(sample) if sample else 1.0


def _declared(data: bytes) -> str:
    match = _DECLARED.search(data, 0, 2048)
    encoding = match[1].decode() if match else ""
    # Ignore a declaration of Unicode, because decoding as UTF-8 has just failed.
    return encoding if is_encoding(encoding) and encoding[:3].lower() != "utf" else ""


def _guess(data: bytes) -> str:
    # In Latin scripts, bytes above 127 are single accented letters; in other scripts they cluster.
    high = len(data) - len(data.translate(None, delete=bytes(range(128, 256))))
    clustered = sum(map(len, _HIGH_BYTES.findall(data)))
    if clustered == 0 or (high < 0.3 * len(data) and clustered < 0.5 * high):
        return _latin(data[:_SAMPLE])
    # Two languages that charset-normalizer doesn't recognize from a sentence or two.
    if not data.translate(None, delete=_HEBREW):
        return "cp1255"
    for encoding in ("cp932", "euc_jp"):
        with suppress(UnicodeDecodeError):
            if 8 * len(_KANA.findall(data.decode(encoding))) > high:
                return encoding
    # The import takes 30 ms, and few files need it.
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # don't cut within a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    best = from_bytes(sample, cp_isolation=_OTHER_SCRIPTS).best()
    return best.encoding if best else _WESTERN


def _latin(sample: bytes) -> str:
    """Return the encoding in which most letters of a text are those of one language."""
    high = sample.translate(None, delete=bytes(range(128)))

    def letters(encoding: str) -> int:
        counts = Counter(high.decode(encoding, "replace").lower())
        alphabets = (each + _BETWEEN_WORDS for each in word_lists()[encoding])
        return max(sum(map(counts.__getitem__, each)) for each in alphabets)

    return max(_LATIN, key=letters) if len(high) > _FEWEST_LETTERS * len(sample) else _WESTERN


@cache
def word_lists() -> dict[str, list[str]]:
    """Return name → words, from the file words.txt."""
    text = Path(__file__).with_name("words.txt").read_text("utf-8").replace("\n  ", " ")
    lists = (line.partition(":") for line in text.splitlines())
    return {name: words.split() for name, _, words in lists}


# --- JSON in which any value may be missing or have the wrong type

_SURROGATE = re.compile("[\ud800-\udfff]")


def load_json(content: bytes | str) -> Any:
    """Return the value in a file or text. Raise Unreadable."""
    try:
        if isinstance(content, bytes):
            content = decode_damaged(content.removeprefix(codecs.BOM_UTF8))
        return json.loads(content)
    except (ValueError, RecursionError) as error:  # also ValueError for numbers with many digits
        raise Unreadable(f"no valid JSON ({error})") from error


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return the value in storable form if it is text, or ""."""
    return storable(value) if isinstance(value, str) else ""


def storable(text: str) -> str:
    """Return the text without NULs and lone surrogates, which SQLite and UTF-8 can't store."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
