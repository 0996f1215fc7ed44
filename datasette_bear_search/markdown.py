"""Markdown → plain text: markup becomes ``\\0``, so that every word keeps its offset.

Each expression reads any input once: it has no nested repeats that can match the same characters in
two ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# With all that str.strip() strips: a passage of nothing else would end before it begins.
_SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
EMPTY = "\0" + _SPACES
QUOTED_BLANKS = " \t\r>"
# Also inside of list items and quotes. `Backticks` after backticks are no fence.
FENCE = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<marks>`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE
)

# [[Title]], [[Title/Heading|label]], and Obsidian's ![[picture.png]].
WIKI_LINK = re.compile(r"!?\[\[(?P<target>[^\[\]|\n]+)(?:\|(?P<label>[^\[\]\n]*))?\]\]")
# The same, found five times as fast: an expression that begins with plain characters is.
_WIKI_TARGET = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
# What a line can begin with. In this and the next expression a group holds what stays.
_LINE_STARTS = re.compile(
    r"""(\n)[ \t]*(?:
        \#{1,6}(?=\s|$)                                                        # heading
      | (?:\#(?:[^\s#]+\#?|[^\s#][^#\n]*[^\s#]\#)(?=\s|$)[ \t\r]*)+(?=\n|$)     # only tags
      | [-*_=|:+][-*_=|:+\ \t]{2,}(?=\n|\r|$)                                  # rule
      | (?=[>*+-])(?:>[> \t]*)?(?:\[![\w-]+\][+-]?)?                           # quote, callout,
        (?:[-*+][ \t]+(?:\[[ xX]\](?=\s|$))?)?                                 # list item, todo
    )""",
    re.VERBOSE,
)
_BRACKETS = re.compile(
    r"""(?=[<!\[])(?:
        <!--[^<>]*-->                                          # Bear's <!-- {"width":388} -->
      | !?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]              # [[note]], [[note|alias]]
      | !?\[([^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*)\]        # [text](target), ![alt](target)
        \([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)
      | \[\^[^\[\]\s]+\]:?                                     # footnote
    )""",
    re.VERBOSE,
)
# Anything that the other expressions may find.
_MARKUP = re.compile(r"[\[<*_=~`|\\]")
# Marks that open before a word or close after one: not 2 * 3, 2**3 or snake_case.
_EMPHASIS = re.compile(
    r"""(?=[*_=~`\\])(?:
        \\([^\w\s])                                                # \* is a star
      | (?<![\w*_])[*_]+(?=[^\s*_])
      | (?<=[^\s*_])[*_]+(?![\w*_])
      | (?<!\w)(?:==|~~)(?=\S)
      | (?<=\S)(?:==|~~)(?!\w)
      | (?<![\w~])~([^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])              # Bear's underline
      | `+
    )""",
    re.VERBOSE,
)


def plain_text(markdown: str) -> str:
    """Return Markdown without its markup, for people; lines stay lines."""
    return words_of(blanked(markdown))


def blanked(text: str) -> str:
    """Return prose with its markup and the targets of its links blanked, at the same length."""
    return blanked_inside(_LINE_STARTS.sub(_blank, "\n" + text)[1:])


def blanked_inside(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    text = _BRACKETS.sub(_blank, text)
    if "](" in text:  # an image inside of a link
        text = _BRACKETS.sub(_blank, text)
    text = _EMPHASIS.sub(_blank, text)
    is_table = "\n|" in text or text.lstrip()[:1] == "|"
    return text.replace("|", " ") if is_table else text


def _blank(match: re.Match[str]) -> str:
    stays = match.lastindex
    if stays is None:
        return "\0" * len(match[0])
    before, after = match.start(stays) - match.start(), match.end() - match.end(stays)
    return "\0" * before + match[stays] + "\0" * after


def blanked_fence(text: str) -> str:
    """Return a code fence with its marks blanked; the name of the language stays."""
    opening = FENCE.match(text)
    marks = opening.end() if opening else 0
    code, newline, last = text[marks:].rpartition("\n")
    if not last.strip("`~" + QUOTED_BLANKS):
        last = "\0" * len(last)
    return "\0" * marks + code + newline + last


def words_of(blanked: str) -> str:
    """Return what is left of blanked prose, with single spaces and without empty lines."""
    text = blanked.replace("\0", "")
    if "\n" not in text:
        return " ".join(text.split())
    lines = text.split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def wiki_links(text: str) -> Iterator[str]:
    """Yield the targets of wiki links: ``Title/Heading`` of ``[[Title/Heading|label]]``."""
    for target in _WIKI_TARGET.findall(text):
        yield target.strip()
