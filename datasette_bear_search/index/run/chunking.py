"""A note → passages: stretches of about a hundred words that are embedded and shown.

Every word of the body is in exactly one passage.
"""

# No Markdown library is used: markdown-it-py alone takes 2.5 times as long as all of this and has
# no offsets within a line. Markup is *blanked*, character by character, which keeps offsets. The
# regular expressions here are unambiguous, so that none backtracks for long.

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from ...text import markdown
from ..file.schema import OWN_TEXT, SHORT_TEXT, TEMPLATE_TEXT

# Passages of 100 words find more than longer ones: on long conversations nDCG@10 is .374 with whole
# notes, .570 with 200 words, .635 with 100 (.655 with 50, for twice the vectors).
TARGET_WORDS = 100
# Paragraphs up to this many words stay whole. Longer ones are cut at list items, then sentences.
MAX_WORDS = 150
# The remainder at the end of a section joins the previous passage if it has fewer words than this.
TAIL_WORDS = 25
# In text with few spaces (Chinese, code), this many tokens count as a word.
TOKENS_PER_WORD = 3
# The limit of all-MiniLM-L6-v2, which silently ignores the rest of a text.
MAX_TOKENS = 256
# Tokens that the model itself adds to each text.
SPECIAL_TOKENS = 2
# The maximum share of tokens for title and headings; longer ones are shortened.
PREFIX_SHARE = 1 / 3
# Maximum characters of a title or heading, because each passage below it repeats it.
LONGEST_HEADING = 1000
# Minimum characters between two cuts, which are at the ends of paragraphs, sentences or lines.
MIN_CHARACTERS = 80
# Shorter lines, such as "Ingredients", aren't parts of templates. The second limit is in bytes,
# because a Chinese character says much.
SHORTEST_LINE_WORDS, SHORTEST_LINE_BYTES = 3, 20


class Passage(NamedTuple):
    """A stretch of a note's body, and the text that is embedded for it."""

    position: int  # 0 for the note's first passage
    headings: tuple[str, ...]  # above it, outermost first, without the note's title
    start: int  # offsets in the note's body, in characters, ``end`` exclusive
    end: int
    titles: str  # the note's title and the headings, as one line
    lines: tuple[str, ...] = ()  # of the text below them; a code block counts as one line
    hashes: tuple[int | None, ...] = ()  # of these lines; None for those too short for a template
    text_kind: str = OWN_TEXT

    @property
    def text(self) -> str:
        """The text to embed."""
        return "\n".join([self.titles, *self.lines] if self.titles else self.lines)

    @property
    def content_hash(self) -> str:
        """A hash of ``text``. As long as it stays the same, so does the vector."""
        return hashlib.blake2b(self.text.encode(errors="replace"), digest_size=16).hexdigest()


def passages(title: str, body: str, *, max_tokens: int = MAX_TOKENS) -> list[Passage]:
    """Return a note's passages in order. If the body has no words, one has only the title.

    :param max_tokens: the number of tokens that the embedding model reads of a text, at least 32
    """
    title = " ".join(title.split())[:LONGEST_HEADING]
    found: list[Passage] = []
    for headings, start, blocks in _sections(title, body):
        prefix, tokens = _prefix((title, *headings), int(max_tokens * PREFIX_SHARE))
        room = max_tokens - SPECIAL_TOKENS - tokens
        pieces = chain.from_iterable(_cut(block, room, _PLACES[block.kind]) for block in blocks)
        for group in _grouped(pieces, room):
            end = group[-1].end
            # A group may be all blanks, such as the control characters of a broken export.
            stripped = body[start:end].lstrip()
            first = end - len(stripped) if stripped else start
            lines = tuple(chain.from_iterable(piece.lines() for piece in group if piece.text))
            last = first + len(stripped.rstrip())
            hashes = tuple(map(_line_hash, lines))
            found.append(Passage(len(found), headings, first, last, prefix, lines, hashes))
            start = end
    if not found and title:
        found.append(Passage(0, (), 0, 0, _truncated(title, max_tokens - SPECIAL_TOKENS)))
    return found


# --- templates: lines, headings and numbered titles that many notes share


def line_hash(line: str) -> int | None:
    """Return a hash of a line; None if it is too short for a template."""
    words = line.casefold().split()
    if _is_short(words):
        return None
    plain = " ".join(words).encode(errors="replace")
    return int.from_bytes(hashlib.blake2b(plain, digest_size=8).digest(), "big", signed=True)


def _is_short(words: Sequence[str]) -> bool:
    if len(words) >= SHORTEST_LINE_WORDS:
        return False
    return len(" ".join(words).encode(errors="replace")) < SHORTEST_LINE_BYTES


def line_hashes(title: str, cut: Iterable[Passage]) -> set[int]:
    """Return the hashes of a title, and of the lines and headings of some passages."""
    found = {_title_hash(title)}
    for each in cut:
        found.update(each.hashes, map(_line_hash, each.headings))
    return {hashed for hashed in found if hashed is not None}


def without_shared(cut: Sequence[Passage], shared: Set[int]) -> Sequence[Passage]:
    """Return a note's passages without text that many notes share, unless there is nothing else.

    :param shared: hashes of lines that many notes share
    """
    return [_without_shared(each, shared, is_only=len(cut) == 1) for each in cut] if shared else cut


def _without_shared(passage: Passage, shared: Set[int], *, is_only: bool) -> Passage:
    own = passage.lines
    if not shared.isdisjoint(passage.hashes):
        own = tuple(line for line, hashed in zip(own, passage.hashes) if hashed not in shared)
    beginning = " ".join(own).split(None, SHORTEST_LINE_WORDS)[:SHORTEST_LINE_WORDS]
    if _is_short(beginning):  # too short to compare
        if not shared.isdisjoint(line_hashes("", [passage])):
            return passage._replace(text_kind=TEMPLATE_TEXT)
        return passage if is_only else passage._replace(text_kind=SHORT_TEXT)
    title, *headings = passage.titles.split(" › ")
    kept = [heading for heading in headings if _line_hash(heading) not in shared]
    prefix = " › ".join(kept if _title_hash(title) in shared else [title, *kept])
    if (prefix, own) == (passage.titles, passage.lines):
        return passage
    return passage._replace(titles=prefix, lines=own, hashes=())


def _title_hash(title: str) -> int | None:
    # Numbers are ignored only in titles. Ignoring them in lines costs Chroma, whose notes have many
    # figures, .001 nDCG@10.
    return line_hash(f"the title {_NUMBER.sub('0', title)}") if _NUMBER.search(title) else None


_NUMBER = re.compile(r"\d+")
# A cache, because lines of templates recur: 6,500 such notes take .45 s instead of .8. Only for
# lines of passages, which are short.
_line_hash = lru_cache(1000)(line_hash)


def estimated_tokens(text: str) -> int:
    """Estimate how many WordPiece tokens a text has, erring on the high side.

    A run of letters counts as one, plus one for every four and every seven letters. A digit, a
    punctuation mark or a character beyond ASCII counts as one, but a Korean syllable as three, one
    per letter. This fits languages such as Polish. English has little more than half as many; only
    random letters and abbreviations have more.
    """
    plain = text.encode("ascii", "replace")  # characters beyond ASCII become "?"
    letters = plain.translate(_LETTERS_AS_A)
    tokens = len(letters.split()) + letters.count(b"a" * 4) + letters.count(b"a" * 7)
    tokens += len(plain.translate(None, delete=_LETTERS_AND_BLANKS))
    return tokens if text.isascii() else tokens + 2 * len(_HANGUL.findall(text))


_LETTERS = string.ascii_letters.encode()
_LETTERS_AND_BLANKS = _LETTERS + string.whitespace.encode()
_LETTERS_AS_A = bytes(ord("a" if code in _LETTERS else " ") for code in range(256))
_HANGUL = re.compile("[\uac00-\ud7a3]")


# --- sections: the text between two headings

_Kind = Literal["heading", "text", "code"]


class _Block(NamedTuple):
    start: int  # in the body
    raw: str
    blanked: str  # as long as ``raw``, with "\0" for characters that aren't embedded
    kind: _Kind


@dataclass(slots=True)
class _Heading:
    start: int
    line: str
    level: int
    text: str
    has_text: bool = False


class _Section(NamedTuple):
    headings: tuple[str, ...]
    start: int  # of its first heading that belongs to no other section, or of its first block
    blocks: list[_Block]


_NO_TEXT = markdown.EMPTY + "-*+"  # for example, an empty list


def _sections(title: str, body: str) -> list[_Section]:
    """Return the body's sections. A heading with no text below it is text of its parent."""
    sections: list[_Section] = []
    path: list[_Heading] = []

    def add(start: int, text: str, kind: _Kind) -> None:
        blanked = markdown.blanked_fence(text) if kind == "code" else markdown.blanked(text)
        if not blanked.strip(_NO_TEXT):
            return
        headings = tuple(heading.text for heading in path if heading.text)
        new = [heading for heading in path if not heading.has_text]
        if new or not sections or sections[-1].headings != headings:
            sections.append(_Section(headings, new[0].start if new else start, []))
        sections[-1].blocks.append(_Block(start, text, blanked, kind))
        for heading in new:
            heading.has_text = True

    def close(level: int) -> None:
        while path and path[-1].level >= level:
            heading = path.pop()
            if not heading.has_text:
                add(heading.start, heading.line, "text")

    for kind, start, end in _spans(body):
        text = body[start:end]
        if kind == "heading":
            marked = text.strip()
            words = marked.lstrip("#")
            level = len(marked) - len(words)
            if words.rstrip("#")[-1:] in ("", " ", "\t"):  # "C#" keeps its mark
                words = words.rstrip("#")
            words = markdown.blanked_inside(markdown.bare_heading(words))
            words = markdown.words_of(words)[:LONGEST_HEADING]
            close(level)
            if words == title and not sections and not path:
                words = ""  # it repeats the title
            path.append(_Heading(start, text, level, words))
        elif text.strip():
            add(start, text, kind)
    close(level=1)
    return sections


def _spans(body: str) -> Iterator[tuple[_Kind, int, int]]:
    """Yield headings, code fences and runs of paragraphs, with their offsets in the body."""
    front_matter = _FRONT_MATTER.match(body)
    start = position = front_matter.end() if front_matter else 0
    fence = ""  # inside a code block, the marks that end it
    for line in body[position:].split("\n"):
        end = position + len(line)
        if fence:
            marks = line.strip(markdown.QUOTED_BLANKS)
            if marks.startswith(fence) and not marks.strip(fence[0]):
                yield "code", start, end
                start, fence = end + 1, ""
        elif not line.strip(markdown.QUOTED_BLANKS):
            if position - start >= MIN_CHARACTERS:
                yield "text", start, position
                start = position
        elif ("```" in line or "~~~" in line) and (opening := markdown.FENCE.match(line)):
            yield "text", start, position
            start, fence = position, opening[1]
        elif "#" in line[:4] and _HEADING.match(line):
            yield "text", start, position
            yield "heading", position, end
            start = end + 1
        position = end + 1
    yield "code" if fence else "text", start, len(body)


# YAML at the top. It must begin with a key, because a text between two rules isn't front matter.
_FRONT_MATTER = re.compile(
    r"\s*---[ \t\r]*\n[\w-]+[ \t]*:\s.*?\n(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.DOTALL
)
_HEADING = re.compile(r" {0,3}#{1,6}(?=[ \t\r]|$)")


def _prefix(titles: tuple[str, ...], max_tokens: int) -> tuple[str, int]:
    titles = tuple(filter(None, titles))
    prefix = " › ".join(titles)
    tokens = estimated_tokens(prefix)
    if tokens > max_tokens:
        prefix = " › ".join(_truncated(text, max_tokens // len(titles)) for text in titles)
        tokens = estimated_tokens(prefix)
    return prefix, tokens


def _truncated(text: str, max_tokens: int) -> str:
    tokens = estimated_tokens(text)
    if tokens <= max_tokens:
        return text
    while text and tokens >= max_tokens:  # leave one for the ellipsis
        text = text[: len(text) * max(0, max_tokens - 1) // tokens]
        tokens = estimated_tokens(text)
    return text.rstrip() + "…"


# --- pieces: blocks, cut at the best places until each fits into a passage


class _Piece(NamedTuple):
    end: int  # in the body
    text: str
    words: float
    tokens: int
    kind: _Kind

    def lines(self) -> list[str]:
        # A code block is one line, so that lines such as "runs-on: ubuntu-latest", which many notes
        # share but which say what they are about, are embedded. Without them, TIL lost .001
        # nDCG@10.
        return [self.text] if self.kind == "code" else self.text.split("\n")


_ITEMS = re.compile(r"\n(?=[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
_SENTENCES = re.compile("[.!?…。！？](?:[\"'”’)\\]*_]*\\s+|(?<=[。！？])[”’」』）]*)")
_LINES = re.compile("\n")
_SPACES = re.compile(r"\s+")
_PLACES = {"text": (_ITEMS, _SENTENCES, _LINES, _SPACES), "code": (_LINES, _SPACES)}


def _cut(block: _Block, room: int, places: Sequence[re.Pattern[str]]) -> list[_Piece]:
    start, raw, blanked, kind = block
    text = blanked.replace("\0", "").strip("\n") if kind == "code" else markdown.words_of(blanked)
    tokens = estimated_tokens(text)
    words = max(len(text.split()), tokens / TOKENS_PER_WORD)
    if tokens <= room and (words <= MAX_WORDS or kind == "code"):
        return [_Piece(start + len(raw), text, words, tokens, kind)]
    cuts = [0]
    while places and len(cuts) == 1:
        place, *places = places
        at = 0
        while match := place.search(raw, at):
            at = match.end()
            if at - cuts[-1] >= MIN_CHARACTERS and at < len(raw):
                cuts.append(at)
                # Other places are found from their middle, too.
                at += 0 if place is _SENTENCES else MIN_CHARACTERS - 1
    if len(cuts) == 1:  # cut anywhere; a character has at most three tokens
        cuts = list(range(0, len(raw), max(1, room // 3)))
    pieces: list[_Piece] = []
    for a, b in zip(cuts, [*cuts[1:], len(raw)]):
        pieces += _cut(_Block(start + a, raw[a:b], blanked[a:b], kind), room, places)
    return pieces


def _grouped(pieces: Iterable[_Piece], room: int) -> list[list[_Piece]]:
    """Join neighboring pieces into groups, as close to TARGET_WORDS as possible."""
    groups: list[list[_Piece]] = []
    words = tokens = 0.0
    for piece in pieces:
        full = tokens + piece.tokens > room or words + piece.words / 2 > TARGET_WORDS
        if not groups or (tokens and piece.tokens and full):
            groups.append([])
            words = tokens = 0.0
        groups[-1].append(piece)
        words += piece.words
        tokens += piece.tokens
    if words < TAIL_WORDS and len(groups) > 1:
        last_two = groups[-2] + groups[-1]
        if sum(piece.tokens for piece in last_two) <= room:
            groups[-2:] = [last_two]
    return groups
