"""The parser's tokens → HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from posixpath import basename
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from ...notes import scheme_of
from ...search.results.marks import CHARACTERS, SENTENCE
from ...text.languages import TOKEN, is_unspaced
from ..pages.urls import PASSAGE_ANCHOR
from . import elements
from .attachments import FileLink
from .code import colored
from .formulas import formula_html
from .sanitizing import allowed_schemes


@dataclass(frozen=True)
class Heading:
    level: int  # 1 to 6, as written
    text: str
    anchor: str  # its id on the page


@dataclass(frozen=True)
class References:
    """The URLs for tags, notes and files in a note's text."""

    tags: Mapping[str, str] = field(default_factory=dict)  # folded name → URL
    note: Callable[[str], str | None] = lambda target: None  # a link's target → URL
    file: Callable[[str], FileLink | None] = lambda target: None  # a link's target → file
    own_url: str | None = None  # the note's own URL, whose scheme links may have, too


def marked_words_html(text: str, words: frozenset[str]) -> str:
    """Return text as HTML, with these words inside ``<mark>``."""
    if not words:
        return escape(text)
    # In scripts without spaces, words are inside longer runs that look like one word.
    parts = sorted(filter(is_unspaced, words), key=len, reverse=True)
    around = re.compile(f"({'|'.join([*map(re.escape, parts), TOKEN])})", re.IGNORECASE)
    return "".join(
        f"<mark>{escape(piece)}</mark>" if piece.casefold() in words else escape(piece)
        for piece in around.split(text)
    )


def heading_anchor(heading: str) -> str:
    """Return the id of the first heading with this text."""
    if heading[:1] == "^":  # a block
        return f"b-{heading[1:]}"
    return f"h-{'-'.join(_WORD.findall(heading.casefold())) or 'section'}"


def anchor_key(name: str) -> str:
    """Return the form in which links to places are compared: ``whats-new`` is "What's new?"."""
    return "".join(_WORD.findall(name.casefold()))


_WORD = re.compile(r"[^\W_]+")
_SENTENCE = tuple(CHARACTERS[SENTENCE])
_SENTENCE_MARKS = re.compile(f"([{''.join(_SENTENCE)}])")
_EMAIL = re.compile(
    r"(?<![\w.+/-])((?:mailto:)?[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,9}[^\W\d_]{2,63})(?![\w-])"
)
_SIZE = re.compile(r"\d+(?:x\d+)?")  # Obsidian: ![[roof.png|300]]


@dataclass
class _Page:
    references: References
    words: frozenset[str]
    open_links: list[str] = field(default_factory=list)  # the HTML tag of each: "a" or "span"
    anchors: dict[str, str] = field(default_factory=dict)  # anchor_key() → id in this note
    is_search: bool = False  # whether something is marked, which must not be folded away
    in_sentence: bool = False  # whether the text is in the sentence that answers

    def html(self, text: str) -> str:
        """Return text as HTML, with the words and the sentence marked."""
        parts = []
        for part in _SENTENCE_MARKS.split(text):
            if part in _SENTENCE:
                self.in_sentence = part == _SENTENCE[0]
            elif part:
                html = marked_words_html(part, self.words)
                parts.append(f"<{SENTENCE}>{html}</span>" if self.in_sentence else html)
        return "".join(parts)

    def address(self, target: str) -> str | None:
        """Return the URL for a link's target; None if it leads nowhere or is unsafe."""
        for mark in _SENTENCE:
            target = target.replace(mark, "").replace(quote(mark), "")
        scheme = scheme_of(target)
        if target.startswith("#"):
            return self.place(unquote(target[1:]))
        if scheme is None:
            if target.startswith("//"):
                return None
            file = self.references.file(unquote(target))
            return file.url if file else self.references.note(unquote(target))
        return target if scheme in allowed_schemes(self.references.own_url) else None

    def place(self, name: str) -> str | None:
        """Return the URL of a heading or block of this note; None if it has none of this name."""
        if name.startswith("^"):
            return f"#{heading_anchor(name)}" if name in self.anchors else None
        if name in ("", "top"):
            return "#bear-reading"
        for each in (name, name.rpartition("#")[2]):
            if anchor := self.anchors.get(anchor_key(each)):
                return f"#{anchor}"
        return None


class _Renderer(RendererHTML):
    """Renders tokens, with one method per kind; other kinds are rendered as in CommonMark."""

    def text(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        page, text = env["page"], tokens[index].content
        if "@" not in text or page.open_links:
            return page.html(text)
        parts = [page.html(part) for part in _EMAIL.split(text)]
        for number, name in enumerate(_EMAIL.findall(text)):
            parts[2 * number + 1] = _link(f"mailto:{name.removeprefix('mailto:')}", name, page)
        return "".join(parts)

    def code_inline(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return f"<code>{env['page'].html(tokens[index].content)}</code>"

    def fence(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # With a tabindex, the block can be scrolled from the keyboard.
        language = re.split(r"[\s:,{}]", tokens[index].info.strip().lstrip("{."), maxsplit=1)[0]
        code = colored(tokens[index].content, language, env["page"].html)
        return f'<pre tabindex="0"{self.renderAttrs(tokens[index])}><code>{code}</code></pre>\n'

    code_block = fence  # type: ignore[assignment]

    def front_matter(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        text = escape(tokens[index].content)
        return f'<pre tabindex="0" class="bear-front-matter">{text}</pre>\n'

    def html_inline(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        content, page = tokens[index].content, env["page"]
        element = elements.read(content)
        if element is None:  # Bear stores the sizes of images in comments
            return "" if content[:2] in ("<!", "<?") else page.html(content)
        name, is_end = element.name, element.is_end
        line_break = "<br>" * (name == "br" or (is_end and name in elements.LINES))
        if tag := elements.KEPT.get(name):
            opening = '<mark class="bear-highlight">' if name == "mark" else f"<{tag}>"
            return f"</{tag}>{line_break}" if is_end else opening
        if name in elements.TABLES and "table" in env.get("closed", ()):
            part = "close" if is_end else "open"
            return _ALWAYS[f"table_{part}"] if name == "table" else f"<{'/' * is_end}{name}>"
        if name in elements.FOLDED and "details" in env.get("closed", ()):
            is_open = name == "details" and (page.is_search or "open" in content)
            return f"<{'/' * is_end}{name}{' open' * (is_open and not is_end)}>"
        if name in elements.HIDDEN and name in env.get("closed", ()):
            return f"<{'/' * is_end}{name}>"  # for sanitized() to drop
        if name == "hr":
            return "<hr>"
        anchor = ""
        if place := element.attributes.get("id") or element.attributes.get("name"):
            anchor = f'<span id="{escape(page.anchors.get(anchor_key(place), ""))}"></span>'
        if name in elements.LINKED and (source := element.attributes.get("src")):
            alt, kind = element.attributes.get("alt", ""), elements.LINKED[name]
            return anchor + _image(unescape(source), unescape(alt), page, kind)
        return anchor + (line_break or " " * (is_end and name in ("td", "th")))

    def link_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        page = env["page"]
        target = str(tokens[index].attrGet("href") or "")
        address = page.address(target)
        if address and "a" not in page.open_links:
            page.open_links.append("a")
            return f'<a href="{escape(address)}">'
        page.open_links.append("span")
        is_file = not (address or scheme_of(target) or target.startswith("#"))
        return '<span class="bear-file">' if is_file else "<span>"

    def link_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return f"</{env['page'].open_links.pop()}>"

    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        alt = _SENTENCE_MARKS.sub("", self.renderInlineAsText(token.children or (), options, env))
        return _image(str(token.attrGet("src") or ""), alt, env["page"])

    def attachment(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        name = tokens[index].content
        return _file(name, basename(name), env["page"])

    def wiki_link(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        page, token = env["page"], tokens[index]
        target = token.meta["target"]
        if target.startswith(("/", "#")):  # a heading of this note
            address = page.place(target[1:])
            if not address:
                return page.html(token.content)
        else:
            if page.references.file(target):
                label = target if _SIZE.fullmatch(token.content) else token.content
                return _file(target, label, page, is_shown=token.meta["is_shown"])
            address = page.references.note(target)
        if address:
            return _link(address, token.content, page)
        title = "No note in the index has this title"
        return f'<span class="bear-missing" title="{title}">{page.html(token.content)}</span>'

    def tag(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        page, token = env["page"], tokens[index]
        return _link(page.references.tags[token.meta["tag"]], token.content, page, "bear-tag")

    def task(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        is_done = tokens[index].meta["is_done"]
        state = 'checked aria-label="done"' if is_done else 'aria-label="to do"'
        return f'<input type="checkbox" disabled {state}> '

    def formula(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return formula_html(tokens[index].content)

    def block_id(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return f'<span id="{heading_anchor("^" + tokens[index].content)}"></span>'

    def td_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        side = str(token.attrGet("style") or "").removeprefix("text-align:")
        return f'<{token.tag} dir="auto"' + (f' class="bear-{side}">' if side else ">")

    th_open = td_open

    def renderToken(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        if token.type in _ALWAYS:
            css_class = f" {token.attrGet('class')}" if token.attrs else ""
            return _ALWAYS[token.type].replace('bear-table"', f'bear-table{css_class}"')
        if token.tag == "details" and token.nesting == 1 and env["page"].is_search:
            token.attrSet("open", "")  # what is found must be seen
        if token.type in _DIRECTED:
            token.attrSet("dir", "auto")
        return super().renderToken(tokens, index, options, env)


# Tokens whose HTML is always the same.
_ALWAYS = {
    "anchor": f'<span id="{PASSAGE_ANCHOR}"></span>',
    "mark_open": '<mark class="bear-highlight">',
    "table_open": '<div class="bear-table" tabindex="0" role="group" aria-label="Table"><table>\n',
    "table_close": "</table></div>\n",
}
# Blocks that each have their own text direction.
_DIRECTED = frozenset(
    ["paragraph_open", "heading_open", "blockquote_open", "bullet_list_open", "ordered_list_open"]
)


def _link(address: str, label: str, page: _Page, css_class: str = "") -> str:
    html = page.html(label)
    if "a" in page.open_links:  # links can't be nested
        return html
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<a{attribute} href="{escape(address)}">{html}</a>'


def _image(source: str, alt: str, page: _Page, kind: str = "image") -> str:
    if scheme_of(source) in ("http", "https"):
        name = f"{kind} from {urlsplit(source).hostname or 'another site'}"
        return _link(source, f"{alt} ({name})" if alt else name, page, "bear-image")
    name = basename(unquote(source)) or kind
    if scheme_of(source):
        name = f"{kind} inside of the note"
    return _file(unquote(source), f"{alt} ({name})" if alt and alt != name else name, page)


def _file(target: str, label: str, page: _Page, *, is_shown: bool = True) -> str:
    file = page.references.file(target)
    if file is None:  # only the note's own app can show it
        return f'<span class="bear-file">{escape(label)}</span>'
    if file.is_picture and is_shown:
        return f'<img src="{escape(file.url)}" alt="{escape(label)}" loading="lazy">'
    return _link(file.url, label, page, "bear-file")
