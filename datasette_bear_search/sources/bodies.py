"""A note's body out of texts that come with a title of their own, or were never meant as Markdown."""

from __future__ import annotations

import re

from ..markup import plain_text
from ..notes import short_title

_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)


def as_markdown(text: str) -> str:
    """Plain text as Markdown that reads the same: "# 3" is just that, and cuts no note in two."""
    return _HEADING.sub(r"\\", text)


def title_of(title: str, body: str) -> str:
    """The title for people: one line, and of a note without one the beginning."""
    line = " ".join(title.split())
    return short_title(line or plain_text(body.lstrip().partition("\n")[0]))


def without_title(body: str, title: str) -> str:
    """The Markdown ``body`` without a first line that says what the title says already."""
    first, _, rest = body.lstrip("\n").partition("\n")
    return rest.lstrip("\n") if title and plain_text(first) == " ".join(title.split()) else body
