"""A note's Markdown → safe HTML with the passage and words marked, and the note's outline.

Three measures protect the browser from what people paste into notes: of HTML, a few elements stay
without their attributes; an address becomes a link only if its scheme is allowed; and the result
is sanitized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it.token import Token

from ...search.results.marks import CHARACTERS, SENTENCE
from ...text.markdown import plain_text, without_html
from ..pages.urls import PASSAGE_ANCHOR
from . import elements
from .dialect import TooMuchMarkup, note_parser
from .renderer import Heading, References, _Page, anchor_key, heading_anchor, marked_words_html
from .sanitizing import sanitized

# Characters. Only a part of a longer note is shown: markdown-it reads about 300,000 per second.
MAX_RENDERED_CHARACTERS = 200_000


@dataclass(frozen=True)
class Rendered:
    html: str  # safe to put into a page as it is
    outline: tuple[Heading, ...]
    has_passage: bool  # whether an element has the id PASSAGE_ANCHOR
    is_cut: bool  # whether this is only a part of the note
    is_plain: bool = False  # whether the note has too much markup and is shown as plain text


def render(
    body: str,
    references: References,
    *,
    passage: tuple[int, int] | None = None,
    sentence: tuple[int, int] | None = None,
    words: frozenset[str] = frozenset(),
    soft_breaks: bool = False,
) -> Rendered:
    """Return a note's body as HTML.

    :param passage: offsets in the body; its blocks are marked, the first with id PASSAGE_ANCHOR
    :param sentence: offsets in the body of the sentence that answers
    :param words: words to mark everywhere, casefolded
    :param soft_breaks: whether a line break inside a paragraph is but a space
    """
    start, end = _shown(body, passage)
    text = body[start:end]
    is_cut = len(text) < len(body)
    marked = _with_sentence(text, sentence[0] - start, sentence[1] - start) if sentence else text
    markdown = note_parser()
    markdown.options["breaks"] = not soft_breaks
    env: dict[str, Any] = {"tags": references.tags, "page": _Page(references, words)}
    try:
        tokens = markdown.parse(marked, env)
    except TooMuchMarkup:
        first, last = (max(0, offset - start) for offset in passage or (0, 0))
        html = _plain_html(text[:first], text[first:last], text[last:], words)
        return Rendered(sanitized(html, None), (), first < last, is_cut, is_plain=True)
    tokens = list(_without_tag_lines(tokens)) or tokens
    lines_above = _line(body, start)
    page = env["page"]
    headings = _with_anchors(tokens)
    page.anchors |= _anchors(tokens)
    page.is_search = bool(passage or words)
    has_passage = False
    if passage and passage[0] < passage[1]:
        first, last = (_line(body, offset) - lines_above for offset in (passage[0], passage[1] - 1))
        has_passage = _mark_blocks(tokens, first, last)
    html = markdown.renderer.render(tokens, markdown.options, env)
    return Rendered(sanitized(html, references.own_url), headings, has_passage, is_cut)


def _with_sentence(text: str, start: int, end: int) -> str:
    """Return the text with characters around a sentence, unless it isn't one or is in a block."""
    sentence = text[max(0, start) : end]
    line = text[text.rfind("\n", 0, max(0, start)) + 1 : start].lstrip()
    is_block = line[:1] == "|" or sentence[:1] == "|" or "```" in sentence or "~~~" in sentence
    if start < 0 or is_block or "\n\n" in sentence or not sentence.strip():
        return text
    opening, closing = (*CHARACTERS[SENTENCE],)
    kept = (each.translate(_NO_MARKS) for each in (text[:start], sentence, text[end:]))
    before, sentence, after = kept
    return f"{before}{opening}{sentence}{closing}{after}"


_NO_MARKS = {ord(character): None for character in CHARACTERS[SENTENCE]}


_LINE_BREAK = re.compile(r"\r\n?|\n")


def _line(text: str, offset: int) -> int:
    return sum(1 for _ in _LINE_BREAK.finditer(text, 0, offset))


def _shown(body: str, passage: tuple[int, int] | None) -> tuple[int, int]:
    """Return offsets of the shown part: the whole body, or paragraphs around the passage."""
    if len(body) <= MAX_RENDERED_CHARACTERS:
        return 0, len(body)
    # How far to look for the end of a paragraph: there may be none.
    quarter = MAX_RENDERED_CHARACTERS // 4
    start = max(0, (passage[0] if passage else 0) - quarter)
    paragraph = body.rfind("\n\n", max(0, start - quarter), start)
    if start and paragraph >= 0:
        start = paragraph + 2
    end = min(start + MAX_RENDERED_CHARACTERS, len(body))
    paragraph = body.rfind("\n\n", end - quarter, end)
    return start, paragraph if paragraph >= 0 and end < len(body) else end


def _plain_html(before: str, passage: str, after: str, words: frozenset[str]) -> str:
    plain = 'class="bear-plain"'
    anchor = f'class="bear-plain bear-match" id="{PASSAGE_ANCHOR}"'
    return "".join(
        f'<pre dir="auto" {attributes}>{marked_words_html(text, words)}</pre>\n'
        for text, attributes in ((before, plain), (passage, anchor), (after, plain))
        if text
    )


def _with_anchors(tokens: Sequence[Token]) -> tuple[Heading, ...]:
    """Return the headings among the tokens; give them ids, and levels below the title's."""
    opening = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    shift = any(tokens[index].tag == "h1" for index in opening)
    headings: list[Heading] = []
    taken: dict[str, int] = {}  # anchor → the next number to append to it
    for index in opening:
        token, inline, closing = tokens[index : index + 3]
        level = int(token.tag[1])
        text = " ".join(plain_text(without_html(inline.content)).split())
        anchor = first = heading_anchor(text)
        while anchor in taken:  # as GitHub does
            anchor = f"{first}-{taken[first]}"
            taken[first] += 1
        taken[anchor] = 1
        token.attrSet("id", anchor)
        token.tag = closing.tag = f"h{min(6, level + shift)}"
        headings.append(Heading(level, text, anchor))
    return tuple(headings)


def _anchors(tokens: Sequence[Token]) -> dict[str, str]:
    """Return the places of a note that links may name: its headings, blocks and HTML anchors."""
    found: dict[str, str] = {}
    for token in tokens:
        if token.type == "heading_open":
            anchor = str(token.attrGet("id"))
            for name in (anchor.removeprefix("h-"), *token.meta.values()):
                found.setdefault(anchor_key(name), anchor)
    for token in tokens:
        for child in token.children or ():
            if child.type == "block_id":
                found["^" + child.content] = ""
            elif child.type == "html_inline" and (element := elements.read(child.content)):
                name = element.attributes.get("id") or element.attributes.get("name") or ""
                if key := anchor_key(name):
                    found.setdefault(key, f"n-{key}")
    return found


def _without_tag_lines(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens without paragraphs of only tags, because tags are shown below the title."""
    kinds = ("tag", *elements.BREAKS)
    number = 0
    while number < len(tokens):
        token = tokens[number]
        if token.type == "paragraph_open" and not token.level:
            children = tokens[number + 1].children or ()
            if any(child.type == "tag" for child in children) and all(
                child.type in kinds or not child.content.strip() for child in children
            ):
                number += 3
                continue
        yield token
        number += 1


# Blocks that contain no other blocks.
_LEAVES = frozenset(
    ["paragraph_open", "heading_open", "fence", "code_block", "table_open", "tr_open"]
)


def _mark_blocks(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Mark the blocks on the lines ``first`` to ``last``; return whether there are any."""
    found = False
    for index, token in enumerate(tokens):
        if token.type not in _LEAVES or not token.map:
            continue
        if token.map[0] > last or token.map[1] <= first:
            continue
        if token.hidden:  # an item's text in a tight list, which has no <p>
            closing = tokens[index + 2]
            token.hidden = closing.hidden = False
            token.tag = closing.tag = "span"
        if token.type != "tr_open":  # its table, which scrolls, would hide an edge beside it
            token.attrJoin("class", "bear-match")
        if token.type == "table_open":
            continue
        if not found and token.attrGet("id"):  # a heading, which keeps its own id
            inline = tokens[index + 1]
            inline.children = [Token("anchor", "", 0), *(inline.children or ())]
        elif not found:
            token.attrSet("id", PASSAGE_ANCHOR)
        found = True
    return found
