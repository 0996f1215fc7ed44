"""A note's Markdown → HTML that is safe to show, with its outline, a marked passage and marked words.

Notes hold what people paste into them, and so anything. Three walls stand between that and the browser: HTML in a note is
shown as text, an address becomes a link only if its scheme is allowed, and what comes out is sanitized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import unquote, urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from . import budget, dialect, markup
from .sanitizing import allowed_schemes, sanitized, scheme_of

# Characters. Longer notes are shown in part: markdown-it reads about 300,000 a second.
MAX_CHARACTERS = 200_000

PASSAGE_ANCHOR = "passage"


@dataclass(frozen=True)
class Heading:
    """A heading of a note, as its outline has it."""

    level: int  # 1 to 6, as written
    text: str
    line: int  # of the body, the first is 1
    anchor: str  # the id that it has on the page


@dataclass(frozen=True)
class References:
    """Where the things lead that a note's text names."""

    tags: Mapping[str, str] = field(default_factory=dict)  # folded name → address
    note: Callable[[str], str | None] = lambda target: None  # what a link names → address
    own_url: str | None = None  # the note's own, whose scheme is allowed in links


@dataclass(frozen=True)
class Rendered:
    """A note as HTML."""

    html: str  # safe to put into a page as it is
    outline: tuple[Heading, ...]
    has_passage: bool  # whether an element has the id PASSAGE_ANCHOR
    is_cut: bool  # whether only a part of the note is there
    is_partly_plain: (
        bool  # whether it has more markup than was read, so that some is shown as it is written
    )


def render(
    body: str,
    references: References,
    *,
    passage: tuple[int, int] | None = None,
    words: frozenset[str] = frozenset(),
) -> Rendered:
    """A note's body as HTML.

    :param passage: offsets in the body of what is marked, as a block, and has the id PASSAGE_ANCHOR
    :param words: the words that are marked wherever they stand, without case
    """
    start, end = _shown(body, passage)
    text = body[start:end]
    lines_above = _line(body, start)
    allowance = budget.Budget(budget.UNITS)
    markdown = dialect.parser(_Renderer, allowance)
    env = {"tags": references.tags, "page": _Page(references, words)}
    tokens = markdown.parse(text, env)
    headings = _with_anchors(tokens, lines_above)
    has_passage = False
    if passage and passage[0] < passage[1]:
        first, last = (_line(body, offset) - lines_above for offset in (passage[0], passage[1] - 1))
        has_passage = _mark_blocks(tokens, first, last)
    html = markdown.renderer.render(tokens, markdown.options, env)
    return Rendered(
        html=sanitized(html, references.own_url),
        outline=headings,
        has_passage=has_passage,
        is_cut=end - start < len(body),
        is_partly_plain=allowance.is_spent,
    )


def outline(body: str) -> tuple[Heading, ...]:
    """The headings of a whole note, however long, without a look at what is between them."""
    markdown = dialect.parser(_Renderer, budget.Budget(budget.UNITS))
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return _with_anchors(markdown.parse(body), 0)


def marked(text: str, words: frozenset[str]) -> str:
    """Text as HTML, its marked words inside of ``<mark>``."""
    if not words:
        return escape(text)
    pieces, position = [], 0
    for match in _WORD.finditer(text):
        if match[0].casefold() in words:
            pieces += [escape(text[position : match.start()]), f"<mark>{escape(match[0])}</mark>"]
            position = match.end()
    return "".join([*pieces, escape(text[position:])])


def heading_anchor(heading: str) -> str:
    """The id of the first heading with that text."""
    slug = "-".join(_WORD.findall(heading.casefold()))
    return f"h-{slug or 'section'}"


_WORD = re.compile(r"[^\W_]+")
_LINE_BREAK = re.compile(r"\r\n?|\n")


def _line(text: str, offset: int) -> int:
    return sum(1 for _ in _LINE_BREAK.finditer(text, 0, offset))


def _shown(body: str, passage: tuple[int, int] | None) -> tuple[int, int]:
    """What is shown of a body: all of it, or a stretch of whole paragraphs with the passage in it."""
    if len(body) <= MAX_CHARACTERS:
        return 0, len(body)
    quarter = MAX_CHARACTERS // 4  # how far to look for the end of a paragraph: some have none
    start = max(0, (passage[0] if passage else 0) - quarter)
    paragraph = body.rfind("\n\n", max(0, start - quarter), start)
    if start and paragraph >= 0:
        start = paragraph + 2
    end = start + MAX_CHARACTERS
    if end >= len(body):
        return start, len(body)
    paragraph = body.rfind("\n\n", end - quarter, end)
    return start, paragraph if paragraph >= 0 else end


def _with_anchors(tokens: Sequence[Token], lines_above: int) -> tuple[Heading, ...]:
    """The headings among the tokens, which get ids, and levels below that of the title."""
    opening = [
        (token, tokens[index + 1], tokens[index + 2])
        for index, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    shift = 1 if any(token.tag == "h1" for token, _, _ in opening) else 0
    headings: list[Heading] = []
    taken: dict[str, int] = {}  # anchor → the last number behind it
    for token, inline, closing in opening:
        level = int(token.tag[1])
        text = " ".join(markup.plain_text(inline.content).split())
        anchor = first = heading_anchor(text)
        while anchor in taken:
            taken[first] += 1
            anchor = f"{first}-{taken[first]}"
        taken[anchor] = 1
        token.attrSet("id", anchor)
        token.tag = closing.tag = f"h{min(6, level + shift)}"
        headings.append(Heading(level, text, lines_above + token.map[0] + 1, anchor))
    return tuple(headings)


# What stands on lines of its own, and holds nothing that does.
_LEAVES = frozenset(
    ["paragraph_open", "heading_open", "fence", "code_block", "tr_open", "plain_block"]
)


def _mark_blocks(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Mark what stands on the lines from ``first`` to ``last``; whether there is anything."""
    found = False
    for index, token in enumerate(tokens):
        if (
            token.type not in _LEAVES
            or not token.map
            or token.map[0] > last
            or token.map[1] <= first
        ):
            continue
        if token.hidden:  # the text of an item in a tight list, which is no paragraph
            closing = tokens[index + 2]
            token.hidden = closing.hidden = False
            token.tag = closing.tag = "span"
        token.attrJoin("class", "bear-match")
        if not found and token.attrGet("id"):  # a heading, which keeps its own
            tokens[index + 1].children.insert(0, Token("anchor", "", 0))
        elif not found:
            token.attrSet("id", PASSAGE_ANCHOR)
        found = True
    return found


# HTML


@dataclass
class _Page:
    """What the rules below need to know, and what they keep in mind."""

    references: References
    words: frozenset[str]
    open_links: list[str] = field(default_factory=list)  # the tags that stand for them

    def address(self, target: str) -> str | None:
        """Where a link leads that a note's author wrote; None if that is nowhere, or unsafe."""
        scheme = scheme_of(target)
        if scheme is None:
            return None if target.startswith("//") else self.references.note(unquote(target))
        return target if scheme in allowed_schemes(self.references.own_url) else None


class _Renderer(RendererHTML):
    """One method a kind of token; those that are not here are as in CommonMark."""

    def text(self, tokens, index, options, env) -> str:
        return marked(tokens[index].content, env["page"].words)

    def plain(self, tokens, index, options, env) -> str:
        return marked(tokens[index].content, env["page"].words).replace("\n", "<br>\n")

    def plain_block(self, tokens, index, options, env) -> str:
        return (
            f"<p{self.renderAttrs(tokens[index])}>{self.plain(tokens, index, options, env)}</p>\n"
        )

    def code_inline(self, tokens, index, options, env) -> str:
        return f"<code>{marked(tokens[index].content, env['page'].words)}</code>"

    def fence(self, tokens, index, options, env) -> str:
        # Keyboards can scroll what they can reach.
        attributes = self.renderAttrs(tokens[index])
        code = marked(tokens[index].content, env["page"].words)
        return f'<pre tabindex="0"{attributes}><code>{code}</code></pre>\n'

    code_block = fence

    def front_matter(self, tokens, index, options, env) -> str:
        return (
            f'<pre tabindex="0" class="bear-front-matter">{escape(tokens[index].content)}</pre>\n'
        )

    def html_inline(self, tokens, index, options, env) -> str:
        content = tokens[index].content
        if content.startswith("<!--"):  # Bear keeps the sizes of images in comments
            return ""
        return "<br>" if _BREAK.fullmatch(content) else escape(content)

    html_block = html_inline

    def link_open(self, tokens, index, options, env) -> str:
        page = env["page"]
        target = str(tokens[index].attrGet("href") or "")
        address = page.address(target)
        if address and "a" not in page.open_links:
            page.open_links.append("a")
            return f'<a href="{escape(address)}">'
        page.open_links.append("span")
        return "<span>" if address or scheme_of(target) else '<span class="bear-file">'

    def link_close(self, tokens, index, options, env) -> str:
        return f"</{env['page'].open_links.pop()}>"

    def image(self, tokens, index, options, env) -> str:
        page, token = env["page"], tokens[index]
        source = token.attrGet("src") or ""
        alt = self.renderInlineAsText(token.children, options, env)
        if scheme_of(source) in ("http", "https"):
            name = f"image from {urlsplit(source).hostname or 'another site'}"
            return _link(source, f"{alt} ({name})" if alt else name, page, "bear-image")
        if scheme_of(source):
            name = "image inside of the note"
        else:
            name = unquote(source).rsplit("/", 1)[-1] or "image"
        return _file(f"{alt} ({name})" if alt and alt != name else name)

    def attachment(self, tokens, index, options, env) -> str:
        return _file(tokens[index].content.rsplit("/", 1)[-1])

    def wiki_link(self, tokens, index, options, env) -> str:
        page, token = env["page"], tokens[index]
        target = token.meta["target"]
        if target.startswith(("/", "#")):  # a heading of this note
            address: str | None = "#" + heading_anchor(target[1:])
        else:
            address = page.references.note(target)
        if address:
            return _link(address, token.content, page)
        label = marked(token.content, page.words)
        return (
            f'<span class="bear-missing" title="No note in the index has this title">{label}</span>'
        )

    def tag(self, tokens, index, options, env) -> str:
        page, token = env["page"], tokens[index]
        return _link(page.references.tags[token.meta["tag"]], token.content, page, "bear-tag")

    def task(self, tokens, index, options, env) -> str:
        is_done = tokens[index].meta["is_done"]
        state = 'checked aria-label="done"' if is_done else 'aria-label="to do"'
        return f'<input type="checkbox" disabled {state}> '

    def anchor(self, tokens, index, options, env) -> str:
        return f'<span id="{PASSAGE_ANCHOR}"></span>'

    def mark_open(self, tokens, index, options, env) -> str:
        return '<mark class="bear-highlight">'

    def table_open(self, tokens, index, options, env) -> str:
        return '<div class="bear-table" tabindex="0" role="group" aria-label="Table"><table>\n'

    def table_close(self, tokens, index, options, env) -> str:
        return "</table></div>\n"

    def th_open(self, tokens, index, options, env) -> str:
        return self._cell(tokens[index])

    def td_open(self, tokens, index, options, env) -> str:
        return self._cell(tokens[index])

    def _cell(self, token: Token) -> str:
        side = str(token.attrGet("style") or "").removeprefix("text-align:")
        return f'<{token.tag} dir="auto"' + (f' class="bear-{side}">' if side else ">")

    def renderToken(self, tokens, index, options, env) -> str:
        token = tokens[index]
        if token.type in _DIRECTED:
            token.attrSet("dir", "auto")
        return super().renderToken(tokens, index, options, env)


_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Blocks that are written from left to right or from right to left, each by itself.
_DIRECTED = frozenset(
    ["paragraph_open", "heading_open", "blockquote_open", "bullet_list_open", "ordered_list_open"]
)


def _link(address: str, label: str, page: _Page, css_class: str = "") -> str:
    """A link; inside of another one, which can't hold it, its label."""
    if "a" in page.open_links:
        return marked(label, page.words)
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<a{attribute} href="{escape(address)}">{marked(label, page.words)}</a>'


def _file(name: str) -> str:
    """What stands for an image or file that only the note's own app can show."""
    return f'<span class="bear-file">{escape(name)}</span>'
