"""FTS5's language: what its tokenizer makes of a text, and how a text is written into an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What unicode61 makes tokens of, near enough: letters and digits of any script.
_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """The words that FTS5 sees in a text."""
    return _TOKEN.findall(text)


def is_told_apart(text: str) -> bool:
    """Whether FTS5 can tell a word or phrase from a shorter one: ``C++`` and ``.net`` are ``c`` and ``net`` to it."""
    return text[:1].isalnum() and text[-1:].isalnum()


def quoted(text: str) -> str:
    """The text as a string of an FTS5 expression, in which nothing is syntax."""
    return '"' + text.replace('"', '""') + '"'


def starting_with(text: str) -> str:
    """The expression for words that begin with the text; of several words, the last one."""
    return quoted(text) + "*"


def any_of(expressions: Iterable[str]) -> str | None:
    """The expression for what one of these matches; None without any."""
    return " OR ".join(dict.fromkeys(expressions)) or None
