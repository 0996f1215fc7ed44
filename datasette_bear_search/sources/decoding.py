"""Bytes → text, whatever program wrote them."""

from __future__ import annotations

import codecs
import re

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
