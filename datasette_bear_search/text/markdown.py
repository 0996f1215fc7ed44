"""Markdown → plain text: markup becomes ``\\0``, so that every word keeps its offset.

No regular expression here has nested repeats that can match the same characters in two ways, so no
input makes one backtrack for long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# Everything that str.strip() strips: a passage of nothing else would end before it begins.
_SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
EMPTY = "\0" + _SPACES
QUOTED_BLANKS = " \t\r>"
# A code fence, also inside list items and quotes. A line with more `backticks` isn't one.
FENCE = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<marks>`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE
)

# [[Title]], [[Title/Heading|label]], and Obsidian's ![[picture.png]].
# In a table, the line is escaped: [[Title\|label]].
WIKI_LINK = re.compile(r"!?\[\[(?P<target>[^\[\]|\n]+?)(?:\\?\|(?P<label>[^\[\]\n]*))?\]\]")
# The same without "!": an expression that begins with literal characters is five times as fast.
_WIKI_TARGET = re.compile(r"\[\[([^\[\]|\n]+?)(?:\\?\|[^\[\]\n]*)?\]\]")
# Markup at the start of a line. In this and the next expressions, a group holds text that stays.
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
# This and the next two match one character first and then look back: an expression that begins with
# characters is searched for faster than one that begins with a condition or a choice.
_BRACKETS = re.compile(
    r"""[<!\[](?:
        (?<=<)!--[^<>]*-->                                     # Bear's <!-- {"width":388} -->
      | (?:(?<=\[)|(?<=!)\[)(?:                                # a link, or an image
            \[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]              # [[note]], [[note|alias]]
          | ([^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*)\]        # [text](target), ![alt](target)
            \([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)
        )
      | (?<=\[)\^[^\[\]\s]+\]:?                                # footnote
    )""",
    re.VERBOSE,
)
# HTML elements that occur in Markdown, within a line or as a block. Anything else in angle brackets
# may be text, as in List<String>.
_INLINE = (
    "abbr|a|big|b|cite|code|dfn|del|em|font|ins|i|kbd|mark|q|samp|small|span|strike|strong|sub|sup"
    "|s|tt|u|wbr"
)
_BLOCKS = (
    "address|article|aside|audio|blockquote|br|button|caption|center|colgroup|col|dd|details|div|dl"
    "|dt|embed|figcaption|figure|footer|h[1-6]|header|hr|iframe|li|main|nav|object|ol|picture|pre|p"
    "|section|source|summary|svg|table|tbody|td|tfoot|thead|th|tr|ul|video"
)
# Tags and comments. Code is matched first, so that what it contains stays.
_HTML = re.compile(
    rf"""[`~<](?:
        (?<=`)``[^`\n]{{0,99}}\n[\s\S]*?(?:(?<=\n)[ \t>]*```|\Z)    # fences
      | (?<=~)~~[^`\n]{{0,99}}\n[\s\S]*?(?:(?<=\n)[ \t>]*~~~|\Z)
      | (?<=`)[^`\n]+`
      | (?<=<)(?=[!/a-z])(?:
            !--[^<>]*-->
          | /?(?:{_INLINE})(?:[\s/][^<>]*)?>
          | (?P<break>/?(?:{_BLOCKS})(?:[\s/][^<>]*)?>)
          | img\s(?:[^<>]*?\balt="(?P<alt>[^"<>]*)")?[^<>]*>
          | (?P<url>[a-z][a-z\d+.-]*://[^\s<>]+)>
        )
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# Pandoc's and kramdown's attributes at the end of a heading: {#id .class key=value}
_ATTRIBUTES = re.compile(
    r"[ \t]+\{:?[ \t]*(?:[#.][^\s{}]+|[\w-]+=(?:\"[^\"\n{}]*\"|[^\s\"{}]+)|-)"
    r"(?:[ \t]+[^\n{}]*)?\}(?=[ \t]*(?:#+[ \t]*)?$)"
)
# Any character that may be markup inside a line: a quick test for text without any.
_MARKUP = re.compile(r"[\[<*_=~`|\\]")
# Marks that open before a word or close after one, unlike those in 2 * 3, 2**3 and snake_case.
_EMPHASIS = re.compile(
    r"""[*_=~`\\](?:
        (?<=\\)([^\w\s])                                                # \* is a star
      | (?:(?<=_)(?<![\w*_].)|(?<=\*)(?<![a-zA-Z\d*_].))[*_]*(?=[^\s*_])
      | (?:(?<=[^\s*_]_)[*_]*(?![\w*_])|(?<=[^\s*_]\*)[*_]*(?![a-zA-Z\d*_]))
      | (?:(?<==)=|(?<=~)~)(?:(?<![a-zA-Z\d_]..)(?=\S)|(?<=\S..)(?![a-zA-Z\d_]))
      | (?<=~)(?<![\w~].)([^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])           # Bear's underline
      | (?<=`)`*
    )""",
    re.VERBOSE | re.DOTALL,
)


def plain_text(markdown: str) -> str:
    """Return Markdown without its markup, keeping line breaks and marks alone: ``A* search``."""
    return words_of(blanked(markdown))


def blanked(text: str) -> str:
    """Return prose of the same length, with its markup and link targets blanked."""
    if "\n" not in text and text[:1].isalnum():  # most lines
        return blanked_inside(text)
    return blanked_inside(_LINE_STARTS.sub(_blank, "\n" + text)[1:])


def blanked_inside(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    text = _BRACKETS.sub(_blank, text)
    if "](" in text:  # an image inside of a link
        text = _BRACKETS.sub(_blank, text)
    text = _without_emphasis(text)
    is_table = "\n|" in text or text.lstrip()[:1] == "|"
    return text.replace("|", " ") if is_table else text


def without_attributes(heading: str) -> str:
    """Return a heading without the attributes at its end: ``Setup {#setup .unnumbered}``."""
    return _ATTRIBUTES.sub("", heading) if "{" in heading else heading


def bare_heading(heading: str) -> str:
    """Return a heading without its attributes and HTML: ``<u>Setup</u> {#setup}``."""
    return without_html(without_attributes(heading))


def breaks_are_soft(text: str, *, by_default: bool) -> bool:
    """Return whether a line break inside a paragraph is but a space, judging by a text's lines.

    :param by_default: what it is in the note's app: a space in CommonMark, a new line in Bear
    """
    text = text[:BREAKS_READ]
    text = "\n".join(re.split("\n(?:```|~~~)", f"\n{text}")[::2])  # without code
    # Lines that the next one continues. A break before a shorter line than MIN_WRAPPED was meant.
    lines = text.split("\n")
    lengths = [
        len(line)
        for line, following in pairwise(lines)
        if line and line[0] not in "#|`~<=" and line[-1] not in " \\" and _GOES_ON.match(following)
    ]
    short = sum(length < MIN_WRAPPED for length in lengths)
    wrapped = sum(MIN_WRAPPED <= length <= MAX_WRAPPED for length in lengths)
    if by_default:
        return short <= MOSTLY * len(lengths) or len(lengths) == 1
    if wrapped < 2 or wrapped <= short:
        return False
    long = [len(line) for line in lines if len(line) >= MIN_WRAPPED and line[0] != "|"]
    return sum(length > MAX_WRAPPED for length in long) <= (1 - NEARLY_ALL) * len(long)


# Columns at which programs and people wrap lines, and shares of a text's lines.
MIN_WRAPPED, MAX_WRAPPED, MOSTLY, NEARLY_ALL = 60, 100, 0.7, 0.9
BREAKS_READ = 20_000  # characters
_GOES_ON = re.compile(r"[ \t]*[^\s#|`~<=>*+\-\d\[]")
# Lines that no line continues, and those that continue none.
_ALONE = re.compile(
    r"[ \t]*(?:[#|\0]|$|```|~~~|<[!/a-zA-Z]|([-*_=])(?:[ \t]*\1){2,}[ \t]*$)|.*(?:[ \t]{2}|\\)$"
)
_BEGINS = re.compile(
    r"[ \t]*(?:[#|]|\s*$|```|~~~|[-*+][ \t]|\d{1,9}[.)][ \t]|<[!/a-zA-Z]|\[\^?[^\[\]\n]+\]:"
    r"|([-*_=])(?:[ \t]*\1){2,}[ \t]*$)"
)
_QUOTE = re.compile(r"(?:[ \t]{0,3}>)+[ \t]?")


def joined(text: str) -> str:
    """Return Markdown of the same length, with blanks for the line breaks inside paragraphs."""
    lines = text.split("\n")
    parts, fence, above, depth = [lines[0]], "", "", 0
    for number, line in enumerate(lines):
        quote = _QUOTE.match(line) if ">" in line[:9] else None
        own = line[quote.end() :] if quote else line
        level = quote[0].count(">") if quote else 0
        is_code = bool(fence)
        if fence:
            marks = line.strip(QUOTED_BLANKS)
            fence = "" if marks.startswith(fence) and not marks.strip(fence[0]) else fence
        elif ("```" in line or "~~~" in line) and (opening := FENCE.match(line)):
            fence, is_code = opening["marks"], True
        goes_on = not (is_code or not above or _BEGINS.match(own)) and (level in (0, depth))
        if number:
            quoted = " " * (len(line) - len(own)) + own
            parts += [" ", quoted] if goes_on else ["\n", line]
        above = "" if is_code or _ALONE.match(own) else own
        depth = depth if goes_on else level
    return "".join(parts)


def without_html(text: str) -> str:
    """Return Markdown without HTML tags and comments, except in code. Alternative texts stay.

    An address in angle brackets loses these.
    """
    return _HTML.sub(_text_of_html, text) if "<" in text else text


def _text_of_html(match: re.Match[str]) -> str:
    if match[0][0] != "<":
        return match[0]  # code
    return match["alt"] or match["url"] or (" " if match["break"] else "")


def _without_emphasis(text: str) -> str:
    """Blank emphasis, but keep a star or underscore alone: ``A* search``, ``*args``."""
    opened: list[list[int]] = []  # place and length of each mark
    lone: list[list[int]] = []

    def blank(match: re.Match[str]) -> str:
        mark = match[0]
        if mark[0] not in "*_":
            return _blank(match)
        start, length = match.start(), len(mark)
        if start and not text[start - 1].isspace():
            while opened and length:
                used = min(length, opened[-1][1])
                length -= used
                opened[-1][1] -= used
                if not opened[-1][1]:
                    opened.pop()
        if length and not text[match.end() : match.end() + 1].isspace():
            opened.append([match.end() - length, length])
        elif length:
            lone.append([match.end() - length, length])
        return "\0" * len(mark)

    blanked, end, parts = _EMPHASIS.sub(blank, text), 0, []
    for place, length in sorted([*lone, *opened]):
        parts += [blanked[end:place], text[place : place + length]]
        end = place + length
    return "".join([*parts, blanked[end:]])


def _blank(match: re.Match[str]) -> str:
    stays = match.lastindex
    if stays is None:
        return "\0" * len(match[0])
    before, after = match.start(stays) - match.start(), match.end() - match.end(stays)
    return "\0" * before + match[stays] + "\0" * after


def blanked_fence(text: str) -> str:
    """Return a fenced code block with its fences blanked; the language's name stays."""
    opening = FENCE.match(text)
    marks = opening.end() if opening else 0
    code, newline, last = text[marks:].rpartition("\n")
    if not last.strip("`~" + QUOTED_BLANKS):
        last = "\0" * len(last)
    return "\0" * marks + code + newline + last


def words_of(blanked: str) -> str:
    """Return the text that blanking left, with single spaces and without empty lines."""
    text = blanked.replace("\0", "")
    if "\n" not in text:
        return " ".join(text.split())
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(filter(None, lines))


def wiki_links(text: str) -> Iterator[str]:
    """Yield the targets of wiki links: ``Title/Heading`` of ``[[Title/Heading|label]]``."""
    for target in _WIKI_TARGET.findall(text):
        yield target.strip()
