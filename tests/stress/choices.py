"""Bytes from a fuzzer or a seed → texts, numbers and files that are nearly valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

# Pieces of the syntax of queries, Markdown, front matter and texts that people paste.
PIECES = """
" ' * - # [ ] ( ) { } < > ! | ` ~ = : ; , . / \\ & % ? + ^ _ @ $ \t \n \r \0 \x1f \x7f \x02 \x03
\u2028 \u202e \ufeff \ufffe \ud800 \udfff
🐻 é ß İ ſ 屋根 שלום ก \U0010ffff
AND OR NOT NEAR( NEAR(a 99999999999) tag: -tag: source: created: modified: before: after:
is: has: in: linked-to: in:title
2024 2024-02-30 2024..2023 >=9999 <0001 0001-01-01 9999-12-31 10000 today 7d 99999999999d
last-week nan inf -1 1e999 ٣
#work #two\xa0words# roof roof* "roof garden" C++ (a OR b) a' or 1=1-- ');
drop table notes;-- %27 :q {{7*7}} ${x}
``` ~~~ --- +++ === **a** __ ![a](b) [a](b "c") [[a|b]] [^1] [^1]:\x20a
^[ <!-- --> <br> <script> javascript:x data: http://a.b
- [ ] a 1. > |a|b| |-|-| --- title: tags: &a *a !!python/object:os.system {a: [b tags:: id::
""".replace("\\n", "\n").split(" ")  # fmt: skip
PIECES = [piece.strip("\n") or " " for line in PIECES for piece in line.split("\n")]

WORDS = "roof garden leaks cabin soup note bear winter the of 1 x".split()


class Choices:
    """Choices determined by bytes. When these are used up, each choice is the first option."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1] if self._place <= len(self._data) else 0

    @property
    def is_used_up(self) -> bool:
        return self._place >= len(self._data)

    def number(self, most: int) -> int:
        """Return a number from 0 to ``most``."""
        value = self.byte() if most < 256 else int.from_bytes(self.raw(4), "little")
        return value % (most + 1)

    def one_of(self, values: Sequence[T]) -> T:
        return values[self.number(len(values) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.number(one_in - 1) == one_in - 1

    def raw(self, length: int) -> bytes:
        found = self._data[self._place : self._place + length]
        self._place += length
        return found.ljust(length, b"\0")

    def text(self, most: int = 12) -> str:
        """Return pieces of syntax, words and any characters, sometimes many of them."""
        parts = []
        for _ in range(self.number(most)):
            if self.is_used_up:
                break
            kind = self.number(7)
            if kind < 3:
                parts.append(self.one_of(PIECES))
            elif kind < 5:
                parts.append(self.one_of(WORDS))
            elif kind == 5:
                parts.append(chr(int.from_bytes(self.raw(3), "little") % 0x110000))
            elif kind == 6:
                parts.append(self.one_of(PIECES) * self.number(40))
            else:
                parts.append(" ")
            if self.chance(2):
                parts.append(self.one_of([" ", "\n", "\n\n", "\n  "]))
        return "".join(parts)

    def storable(self, most: int = 12) -> str:
        """Return a text that can be written to a file or a database: without lone surrogates."""
        return self.text(most).encode(errors="replace").decode()

    def bytes(self, most: int = 12) -> bytes:
        """Return a text in some encoding, or random bytes."""
        encoding = self.one_of(["utf-8", "utf-16", "latin-1", "cp1250", "raw"])
        if encoding == "raw":
            return self.raw(self.number(200))
        return self.text(most).encode(encoding, errors="replace")

    def value(self) -> Any:
        """Return any value that a cell of a SQLite table may have."""
        return self.one_of(
            [
                None, 0, 1, -1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.5, 1e308, -1e308,
                float("inf"), float("-inf"),
                # Seconds from 2001 to the years 1 and 9999, and one second more.
                -63_113_904_000, 252_423_993_599, 252_423_993_600, 700_000_000.123456,
                "", "0", "x", "nan", "2024-01-01", self.storable(), self.bytes(), b"",
                b"\xff\xfe\x00", b"\x00" * 9,
            ]
        )  # fmt: skip
