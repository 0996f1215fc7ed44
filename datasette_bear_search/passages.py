"""Cuts a note into passages: the stretches of about a hundred words that are embedded, found and shown.

A passage knows where it stands in the note's body, and carries the text that is embedded: the path of
headings above it, then its own words without Markdown. Every word of the body is in exactly one
passage.

No Markdown library: indexing 100,000 notes should wait for the model, never for this module, and the
libraries that keep offsets read some tens of notes in the time in which this one reads a thousand.
Markup is only ever *blanked*, character by character, so that the blanked text has the offsets of the
body. Each regular expression reads its input once, whatever the input: no nested repeats that can
match the same characters in two ways.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

# Passages of about 100 words find more than longer ones: nDCG@10 on long conversations is .374 for whole
# notes, .570 for 200 words, .635 for 100 (50 words: .655, for twice the vectors). Short notes: the same.
TARGET_WORDS = 100
# A paragraph up to this size stays whole; a longer one is cut at its list items, then sentences.
MAX_WORDS = 150
# A rest of a section that is shorter than this belongs to the passage before it.
TAIL_WORDS = 25
# Where text has no spaces (Chinese, code) this many tokens count as a word.
TOKENS_PER_WORD = 2.5
# What all-MiniLM-L6-v2 reads of a text; it ignores the rest without a word.
MAX_TOKENS = 256
# The two tokens that the model adds to each text.
SPECIAL_TOKENS = 2
# The share of the tokens that title and headings may take; longer ones are shortened.
PREFIX_SHARE = 1 / 3
# Paragraphs and sentences shorter than this many characters are not worth a place to cut of their own.
MIN_CHARACTERS = 80


@dataclass(frozen=True)
class Passage:
    """A stretch of a note's body, and the text that is embedded for it."""

    position: int  # 0 for the note's first passage
    headings: tuple[str, ...]  # the headings above it, outermost first, without the note's title
    start: int  # offsets in the note's body, in characters, ``end`` exclusive
    end: int
    text: str

    @property
    def content_hash(self) -> str:
        """A hash of the embedded text: as long as it stays the same, so does the vector."""
        return hashlib.blake2b(self.text.encode(errors="replace"), digest_size=16).hexdigest()


def passages(title: str, body: str, *, max_tokens: int = MAX_TOKENS) -> list[Passage]:
    """The passages of a note, in order; one with the title alone if the body has no words.

    ``max_tokens`` is what the embedding model reads of a text (32 or more).
    """
    title = " ".join(title.split())
    found: list[Passage] = []
    for section in _sections(title, body):
        prefix, tokens = _prefix((title, *section.headings), int(max_tokens * PREFIX_SHARE))
        room = max_tokens - SPECIAL_TOKENS - tokens
        pieces = chain.from_iterable(_pieces(block, room) for block in section.blocks)
        start = section.start
        for group in _grouped(pieces, room):
            text = "\n".join(filter(None, [prefix, *(piece.text for piece in group)]))
            start, end = _trimmed(body, group[0].start if start is None else start, group[-1].end)
            found.append(Passage(len(found), section.headings, start, end, text))
            start = None
    if not found and title:
        found.append(Passage(0, (), 0, 0, _shortened(title, max_tokens - SPECIAL_TOKENS)))
    return found


def estimated_tokens(text: str) -> int:
    """About how many WordPiece tokens a text has, rather too many than too few.

    A run of letters counts one and one more for each four letters; every digit, mark and character
    beyond ASCII counts one; a Korean syllable three, because the model takes it apart into its letters.
    Measured against the tokenizer of all-MiniLM-L6-v2: English prose has two thirds of this.
    """
    plain = text.encode("ascii", "replace")  # anything else becomes "?", which counts one
    letters = plain.translate(_LETTERS_AS_A)
    tokens = len(letters.split()) + letters.count(b"aaaa")
    tokens += len(plain.translate(None, delete=_LETTERS + _BLANKS))
    return tokens if text.isascii() else tokens + 2 * len(_HANGUL.findall(text))


_LETTERS = string.ascii_letters.encode()
_BLANKS = string.whitespace.encode()
_LETTERS_AS_A = bytes(ord("a" if code in _LETTERS else " ") for code in range(256))
_HANGUL = re.compile("[\uac00-\ud7a3]")


# Sections: a path of headings and the blocks of text below it.


class _Block(NamedTuple):
    """Some paragraphs or one code fence."""

    start: int  # in the body
    raw: str
    blanked: str  # as long as ``raw``, with ``\0`` for what is not embedded
    is_code: bool


@dataclass
class _Heading:
    level: int
    text: str
    start: int
    line: str
    has_text: bool = False


class _Section(NamedTuple):
    headings: tuple[str, ...]
    start: int | None  # of the first heading that belongs to it; None: where its first block starts
    blocks: list[_Block]


def _sections(title: str, body: str) -> list[_Section]:
    """The body by headings. A heading with nothing below it is text of the heading above it."""
    sections: list[_Section] = []
    path: list[_Heading] = []

    def add(block: _Block) -> None:
        if not block.blanked.strip(_EMPTY):
            return
        headings = tuple(heading.text for heading in path if heading.text)
        waiting = [heading for heading in path if not heading.has_text]
        if waiting or not sections or sections[-1].headings != headings:
            sections.append(_Section(headings, waiting[0].start if waiting else None, []))
        sections[-1].blocks.append(block)
        for heading in waiting:
            heading.has_text = True

    def close(level: int) -> None:
        while path and path[-1].level >= level:
            heading = path.pop()
            if not heading.has_text:
                add(_Block(heading.start, heading.line, _blanked(heading.line), False))

    for part in _parts(body):
        if isinstance(part, _Heading):
            close(part.level)
            if not sections and not path and part.text == title:
                part.text = ""  # the title again: the prefix has it already
            path.append(part)
        else:
            add(part)
    close(1)
    return sections


def _parts(body: str) -> Iterator[_Heading | _Block]:
    """The headings, code fences and runs of paragraphs of the body, in order."""
    front_matter = _FRONT_MATTER.match(body)
    position = front_matter.end() if front_matter else 0
    start: int | None = None  # of the open block
    fence = ""  # what closes the open block, if that is a code fence

    def block(end: int) -> Iterator[_Block]:
        if start is not None:
            raw = body[start:end]
            yield _Block(start, raw, _blanked_fence(raw) if fence else _blanked(raw), bool(fence))

    for line in body[position:].split("\n"):
        end = position + len(line)
        marks = line.lstrip(" \t>")[:3]
        if fence:
            closing = line.strip(" \t\r>")
            if closing.startswith(fence) and not closing.strip(fence[0]):
                yield from block(end)
                start, fence = None, ""
        elif not marks.strip():
            if start is not None and position - start >= MIN_CHARACTERS:
                yield from block(position)
                start = None
        elif ("```" in line or "~~~" in line) and (opening := _FENCE.match(line)):
            yield from block(position)
            start, fence = position, opening[1]
        elif marks[0] == "#" and (mark := _HEADING.match(line)):
            yield from block(position)
            start = None
            yield _Heading(len(mark[1]), _heading_text(line[mark.end() :]), position, line)
        elif start is None:
            start = position
        position = end + 1
    yield from block(len(body))


# A YAML block at the top. Its first line must be a key, or else it is a text between two rules.
_FRONT_MATTER = re.compile(
    r"\s*---[ \t\r]*\n[\w-]+[ \t]*:\s.*?\n(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.DOTALL
)
# The start of a code fence, also inside list items and quotes. No backtick may follow backticks.
_FENCE = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t\r]|$)")


def _heading_text(text: str) -> str:
    text = text.strip()
    before_marks = text.rstrip("#")
    if before_marks[-1:] in ("", " ", "\t"):  # "C#" keeps its mark
        text = before_marks
    return _words(_blanked(text)).replace("\n", " ")


def _prefix(titles: tuple[str, ...], max_tokens: int) -> tuple[str, int]:
    """The line above a passage's own text, and its tokens."""
    parts = [part for part in titles if part]
    prefix = " › ".join(parts)
    tokens = estimated_tokens(prefix)
    if tokens > max_tokens:
        prefix = " › ".join(_shortened(part, max_tokens // len(parts)) for part in parts)
        tokens = estimated_tokens(prefix)
    return prefix, tokens


def _shortened(text: str, max_tokens: int) -> str:
    tokens = estimated_tokens(text)
    if tokens <= max_tokens:
        return text
    while tokens >= max_tokens and text:  # one token is left for the ellipsis
        text = text[: len(text) * max(0, max_tokens - 1) // tokens]
        tokens = estimated_tokens(text)
    return text.rstrip() + "…"


# Blanking: markup becomes "\0", a character that no note needs, and keeps its place.

_EMPTY = "\0" + string.whitespace

# What a line starts with, each alternative up to its last mark.
_LINE_STARTS = re.compile(
    r"""(\n)[ \t]*(?:
        \#{1,6}(?=\s|$)                                                     # heading
      | (?:\#(?:[^\s#]+\#?|[^\s#][^#\n]*[^\s#]\#)(?=\s|$)[ \t\r]*)+(?=\n|$)  # nothing but tags
      | [-*_=|:+][-*_=|:+\ \t]{2,}(?=\n|\r|$)                                         # rule, table's second line
      | (?=[>*+-])(?:>[> \t]*)?(?:\[![\w-]+\][+-]?)?(?:[-*+][ \t]+(?:\[[ xX]\](?=\s|$))?)?
    )""",  # the last: quote, callout, list item, todo box
    re.VERBOSE,
)
# Group 1, 2, … is what stays.
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
# Emphasis opens before a word or closes after one; a lone "*" or snake_case is no emphasis.
_EMPHASIS = re.compile(
    r"(?=[*_=~`])(?:(?<!\w)(?:[*_]{1,3}|==|~~)(?=\S)|(?<=\S)(?:[*_]{1,3}|==|~~)(?!\w)|`+)"
)


def _blanked(text: str) -> str:
    """Prose with ``\\0`` for each character that is markup or the target of a link."""
    text = _LINE_STARTS.sub(_blank, "\n" + text)[1:]
    if "[" in text or "<!--" in text:
        text = _BRACKETS.sub(_blank, text)
        if "](" in text:  # an image inside a link
            text = _BRACKETS.sub(_blank, text)
    if "*" in text or "_" in text or "`" in text or "==" in text or "~~" in text:
        text = _EMPHASIS.sub(_blank, text)
    if "\n|" in text or text.lstrip()[:1] == "|":
        text = text.replace("|", " ")
    return text


def _blank(match: re.Match[str]) -> str:
    kept = match.lastindex
    if kept is None:
        return "\0" * len(match[0])
    before, after = match.start(kept) - match.start(), match.end() - match.end(kept)
    return "\0" * before + match[kept] + "\0" * after


def _blanked_fence(text: str) -> str:
    """A code fence with ``\\0`` for its marks; the name of the language stays."""
    opening = _FENCE.match(text)
    body, newline, last = text[opening.end() :].rpartition("\n")
    if not last.strip("`~> \t\r"):  # a fence may also end with the note
        last = "\0" * len(last)
    return "\0" * opening.end() + body + newline + last


def _words(blanked: str) -> str:
    """What is left of blanked prose, with single spaces and no empty lines."""
    text = blanked.replace("\0", "")
    if "\n" not in text:
        return " ".join(text.split())
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


# Pieces: what passages are put together from, none of them longer than a passage may be.


class _Piece(NamedTuple):
    start: int
    end: int
    text: str
    words: float
    tokens: int


_ITEMS = re.compile(r"\n(?=[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
_SENTENCES = re.compile("[.!?…。！？](?:[\"'”’)\\]*_]*\\s+|(?<=[。！？])[”’」』）]*)")
_LINES = re.compile("\n")
_SPACES = re.compile(r"\s+")


def _pieces(block: _Block, room: int) -> Iterator[_Piece]:
    """A block in pieces of at most ``room`` tokens, cut where it hurts least."""
    if block.is_code:
        return _cut(block, room, float("inf"), (_LINES, _SPACES))
    return _cut(block, room, MAX_WORDS, (_ITEMS, _SENTENCES, _LINES, _SPACES))


def _cut(
    block: _Block, room: int, max_words: float, places: tuple[re.Pattern[str], ...]
) -> Iterator[_Piece]:
    start, raw, blanked, is_code = block
    text = blanked.replace("\0", "").strip("\n").rstrip() if is_code else _words(blanked)
    tokens = estimated_tokens(text)
    words = max(len(text.split()), tokens / TOKENS_PER_WORD)
    if tokens <= room and words <= max_words:
        yield _Piece(start, start + len(raw), text, words, tokens)
        return
    cuts, places = _first_cuts(raw, places)
    if not cuts:  # no character has more than three tokens
        cuts = range(0, len(raw), max(1, room // 3))[1:]
    for a, b in zip([0, *cuts], [*cuts, len(raw)]):
        yield from _cut(_Block(start + a, raw[a:b], blanked[a:b], is_code), room, max_words, places)


def _first_cuts(
    raw: str, places: tuple[re.Pattern[str], ...]
) -> tuple[list[int], tuple[re.Pattern[str], ...]]:
    """Offsets of the first kind of place that is there at all, and the kinds that are left after it."""
    for tried, place in enumerate(places, start=1):
        cuts, last = [], 0
        for match in place.finditer(raw):
            if match.end() - last >= MIN_CHARACTERS and match.end() < len(raw):
                last = match.end()
                cuts.append(last)
        if cuts:
            return cuts, places[tried:]
    return [], ()


def _grouped(pieces: Iterable[_Piece], room: int) -> list[list[_Piece]]:
    """Neighboring pieces together, as near to the target as they come."""
    groups: list[list[_Piece]] = []
    words = tokens = 0.0
    for piece in pieces:
        full = tokens + piece.tokens > room or words + piece.words / 2 > TARGET_WORDS
        if not groups or (tokens and full):
            groups.append([])
            words = tokens = 0
        groups[-1].append(piece)
        words += piece.words
        tokens += piece.tokens
    if len(groups) > 1 and words < TAIL_WORDS:
        before = sum(piece.tokens for piece in groups[-2])
        if before + tokens <= room:
            tail = groups.pop()
            groups[-1] += tail
    return groups


def _trimmed(body: str, start: int, end: int) -> tuple[int, int]:
    text = body[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
