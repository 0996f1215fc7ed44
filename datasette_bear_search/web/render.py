"""A note's Markdown → safe HTML with the passage and words marked, and the note's outline.

Three measures protect the browser from what people paste into notes: HTML is shown as text, an
address becomes a link only if its scheme is allowed, and the result is sanitized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import nh3
from linkify_it import LinkifyIt
from linkify_it.main import Match
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import table
from markdown_it.rules_inline.linkify import linkify
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from ..languages import TOKEN, is_unspaced
from ..markdown import WIKI_LINK, plain_text
from ..notes import OPENED_SCHEMES, fold_tag, scheme_of
from .attachments import FILE_PATH, FileLink
from .links import PASSAGE_ANCHOR

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

# Characters. Only a part of a longer note is shown: markdown-it reads about 300,000 per second.
MAX_CHARACTERS = 200_000

# A note with more markup, such as a pasted log, is shown as plain text. The limits are counts, not
# times, so that a note always looks the same. At each limit, a note takes .8 to 1.8 s of one core,
# measured with tests/support/pathological_markdown.py; prose of MAX_CHARACTERS takes .5 s.
MAX_BLOCKS = 75_000  # block tokens, 20 µs each; a to-do is 5, so 15,000 to-dos
MAX_CELLS = 20_000  # table cells, 70 µs each; short rows are padded to the width of the first
MAX_BRACKETS = 25_000  # "[" outside code, 20 to 70 µs each: the parser reads ahead from each
# The library that finds addresses reads the whole word again for each possible start of one: 33,000
# times "://" took over a minute. Longer words, and words with more possible starts, stay text.
MAX_ADDRESS = 4000  # characters
MAX_ADDRESSES = 20  # in a word


@dataclass(frozen=True)
class Heading:
    level: int  # 1 to 6, as written
    text: str
    line: int  # in the body, counted from 1
    anchor: str  # its id on the page


@dataclass(frozen=True)
class References:
    """The URLs for tags, notes and files in a note's text."""

    tags: Mapping[str, str] = field(default_factory=dict)  # folded name → URL
    note: Callable[[str], str | None] = lambda target: None  # a link's target → URL
    file: Callable[[str], FileLink | None] = lambda target: None  # a link's target → file
    own_url: str | None = None  # the note's own URL, whose scheme links may have, too


@dataclass(frozen=True)
class Rendered:
    html: str  # safe to put into a page as it is
    outline: tuple[Heading, ...]
    has_passage: bool  # whether an element has the id PASSAGE_ANCHOR
    is_cut: bool  # whether this is only a part of the note
    is_plain: bool = False  # whether the note has too much markup and is shown as plain text


class TooMuchMarkup(ValueError):
    """Raised for text whose markup would take seconds to read."""


def render(
    body: str,
    references: References,
    *,
    passage: tuple[int, int] | None = None,
    words: frozenset[str] = frozenset(),
) -> Rendered:
    """Return a note's body as HTML.

    :param passage: offsets in the body; its blocks are marked, the first with id PASSAGE_ANCHOR
    :param words: words to mark everywhere, casefolded
    """
    start, end = _shown(body, passage)
    text = body[start:end]
    is_cut = len(text) < len(body)
    markdown = _parser()
    env = {"tags": references.tags, "page": _Page(references, words)}
    try:
        tokens = markdown.parse(text, env)
    except TooMuchMarkup:
        first, last = (max(0, offset - start) for offset in passage or (0, 0))
        html = _plain_html(text[:first], text[first:last], text[last:], words)
        return Rendered(sanitized(html, None), (), first < last, is_cut, is_plain=True)
    tokens = list(_without_tag_lines(tokens)) or tokens
    lines_above = _line(body, start)
    headings = _with_anchors(tokens, lines_above)
    has_passage = False
    if passage and passage[0] < passage[1]:
        first, last = (_line(body, offset) - lines_above for offset in (passage[0], passage[1] - 1))
        has_passage = _mark_blocks(tokens, first, last)
    html = markdown.renderer.render(tokens, markdown.options, env)
    return Rendered(sanitized(html, references.own_url), headings, has_passage, is_cut)


def outline(body: str) -> tuple[Heading, ...]:
    """Return the headings of a whole note, however long; none if it has too much markup."""
    markdown = _parser()
    markdown.core.ruler.enableOnly(["normalize", "block"])
    try:
        return _with_anchors(markdown.parse(body), 0)
    except TooMuchMarkup:
        return ()


def marked(text: str, words: frozenset[str]) -> str:
    """Return text as HTML, with these words inside ``<mark>``."""
    if not words:
        return escape(text)
    # In scripts without spaces, words are inside longer runs that look like one word.
    parts = sorted(filter(is_unspaced, words), key=len, reverse=True)
    around = re.compile(f"({'|'.join([*map(re.escape, parts), TOKEN.pattern])})", re.IGNORECASE)
    return "".join(
        f"<mark>{escape(piece)}</mark>" if piece.casefold() in words else escape(piece)
        for piece in around.split(text)
    )


def heading_anchor(heading: str) -> str:
    """Return the id of the first heading with this text."""
    return f"h-{'-'.join(_WORD.findall(heading.casefold())) or 'section'}"


_WORD = re.compile(r"[^\W_]+")
_LINE_BREAK = re.compile(r"\r\n?|\n")


def _line(text: str, offset: int) -> int:
    return sum(1 for _ in _LINE_BREAK.finditer(text, 0, offset))


def _shown(body: str, passage: tuple[int, int] | None) -> tuple[int, int]:
    """Return offsets of the shown part: the whole body, or paragraphs around the passage."""
    if len(body) <= MAX_CHARACTERS:
        return 0, len(body)
    quarter = MAX_CHARACTERS // 4  # how far to look for the end of a paragraph: there may be none
    start = max(0, (passage[0] if passage else 0) - quarter)
    paragraph = body.rfind("\n\n", max(0, start - quarter), start)
    if start and paragraph >= 0:
        start = paragraph + 2
    end = min(start + MAX_CHARACTERS, len(body))
    paragraph = body.rfind("\n\n", end - quarter, end)
    return start, paragraph if paragraph >= 0 and end < len(body) else end


def _plain_html(before: str, passage: str, after: str, words: frozenset[str]) -> str:
    plain = 'class="bear-plain"'
    anchor = f'class="bear-plain bear-match" id="{PASSAGE_ANCHOR}"'
    return "".join(
        f'<pre dir="auto" {attributes}>{marked(text, words)}</pre>\n'
        for text, attributes in ((before, plain), (passage, anchor), (after, plain))
        if text
    )


def _with_anchors(tokens: Sequence[Token], lines_above: int) -> tuple[Heading, ...]:
    """Return the headings among the tokens; give them ids, and levels below the title's."""
    opening = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    shift = any(tokens[index].tag == "h1" for index in opening)
    headings: list[Heading] = []
    taken: dict[str, int] = {}  # anchor → the last number appended to it
    for index in opening:
        token, inline, closing = tokens[index : index + 3]
        level = int(token.tag[1])
        text = " ".join(plain_text(inline.content).split())
        anchor = first = heading_anchor(text)
        while anchor in taken:
            taken[first] += 1
            anchor = f"{first}-{taken[first]}"
        taken[anchor] = 1
        token.attrSet("id", anchor)
        token.tag = closing.tag = f"h{min(6, level + shift)}"
        line = token.map[0] if token.map else 0
        headings.append(Heading(level, text, lines_above + line + 1, anchor))
    return tuple(headings)


def _without_tag_lines(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens without paragraphs of only tags, because tags are shown below the title."""
    kinds = {"tag", "softbreak", "hardbreak"}
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
_LEAVES = frozenset(["paragraph_open", "heading_open", "fence", "code_block", "tr_open"])


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
        token.attrJoin("class", "bear-match")
        if not found and token.attrGet("id"):  # a heading, which keeps its own id
            inline = tokens[index + 1]
            inline.children = [Token("anchor", "", 0), *(inline.children or ())]
        elif not found:
            token.attrSet("id", PASSAGE_ANCHOR)
        found = True
    return found


# --- elements and attributes allowed in a note's HTML: everything else is removed

SCHEMES = frozenset(["http", "https", "mailto", "tel", "bear", "obsidian"])

_TAGS = frozenset(
    "a blockquote br code div em h2 h3 h4 h5 h6 hr img input li mark ol p pre s section span "
    "strong sup table tbody td th thead tr u ul".split()
)
_ATTRIBUTES = {
    "*": {"dir", "id"},
    "a": {"href"},
    "div": {"tabindex", "role", "aria-label"},
    "img": {"alt", "loading", "src"},
    "input": {"type", "disabled", "checked", "aria-label"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"title"},
}
_CLASSES = {
    "a": {"bear-file", "bear-image", "bear-tag", "footnote-backref"},
    "div": {"bear-table"},
    "hr": {"footnotes-sep"},
    "li": {"bear-task", "footnote-item"},
    "mark": {"bear-highlight"},
    "ol": {"footnotes-list"},
    "pre": {"bear-front-matter", "bear-plain"},
    "section": {"footnotes"},
    "span": {"bear-file", "bear-missing"},
    "sup": {"footnote-ref"},
    "td": {"bear-left", "bear-center", "bear-right"},
    "th": {"bear-left", "bear-center", "bear-right"},
}
for _block in "p pre span tr h2 h3 h4 h5 h6".split():
    _CLASSES.setdefault(_block, set()).add("bear-match")


def sanitized(html: str, own_url: str | None) -> str:
    """Return the HTML without anything that isn't allowed above. ``own_url`` is the note's."""
    return nh3.clean(
        html,
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_our_images_only,
        allowed_classes=_CLASSES,
        url_schemes=set(allowed_schemes(own_url)),
        link_rel="noopener noreferrer nofollow",
    )


_OUR_IMAGE = re.compile(rf"(?:/[^/?#][^?#]*)?{FILE_PATH}/\d+\?v=[0-9a-f]+")


def _our_images_only(tag: str, attribute: str, value: str) -> str | None:
    return None if attribute == "src" and not _OUR_IMAGE.fullmatch(value) else value


def allowed_schemes(own_url: str | None) -> frozenset[str]:
    """Return the schemes that links in a note may have: known ones, and that of the note's URL."""
    scheme = scheme_of(own_url or "")
    # The URL of a note in a folder is a file, but its links may not lead to other files.
    return SCHEMES | ({scheme} & (OPENED_SCHEMES - {"file"})) if scheme else SCHEMES


# --- Markdown as note apps write it: CommonMark with tables, to-dos, footnotes, and the additions
# of Bear and Obsidian. Our own rules take linear time, but the parser's don't.

# Bear 1: [image:2F0C…/roof.png]
_ATTACHMENT = re.compile(r"\[(?:image|file):([^\[\]\n]+)\]")
_CLOSED_TAG = re.compile(r"#([^\s#](?:[^#\n]*[^\s#])?)#(?!\w)")
_OPEN_TAG = re.compile(r"#([^\s#]*[^\s#.,;:!?'\")\]}”’…])")
_LINKED_SCHEME = re.compile(r"(?:https?|ftp|bear|obsidian)$", re.IGNORECASE)
_SIZE = re.compile(r"\d+(?:x\d+)?")  # Obsidian: ![[roof.png|300]]
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")

# ==highlight==, ::highlight:: and ~underline~. Bear 1's /italic/ can't be distinguished from paths.
_PAIRS = {"=": (2, "mark"), ":": (2, "mark"), "~": (1, "u")}

# Replaces "|" inside [[Title|label]] while a table is split into cells.
_PIPE = "\x1f"


def _parser() -> MarkdownIt:
    # This takes a millisecond. Single line breaks are kept, as in Bear and Obsidian. HTML is parsed
    # to be shown as text.
    options = {"breaks": True, "html": True, "linkify": True}
    markdown = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough", "linkify"])
    # In Bear, and in our passages, a line of dashes below a text is a rule, not a heading.
    markdown.disable(["html_block", "lheading"])
    # Unsafe links are rejected when they are rendered: the parser would show an image's source.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.linkify = _Addresses()
    markdown.linkify.set({"fuzzy_link": False})  # notes.md is a file, not a site
    for scheme in ("bear:", "obsidian:"):
        markdown.linkify.add(scheme, "http:")
    markdown.use(footnote_plugin).use(front_matter_plugin)
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    markdown.block.ruler.before("table", "limit", _limit_blocks, {"alt": ["list"]})
    markdown.inline.ruler.at("linkify", _address)
    markdown.inline.ruler.before("link", "wiki_link", _wiki_link)
    markdown.inline.ruler.before("link", "attachment", _attachment)
    markdown.inline.ruler.before("link", "tag", _tag)
    markdown.inline.ruler.after("strikethrough", "pair", _pair)
    markdown.inline.ruler2.after("balance_pairs", "pair", _paired)
    markdown.core.ruler.before("inline", "limit", _limit_marks)
    markdown.core.ruler.after("inline", "task", _tasks)
    return markdown


class _Addresses(LinkifyIt):  # type: ignore[misc]
    """Finds the addresses in a text, one word at a time."""

    def test(self, text: str) -> bool:
        return self.match(text) is not None

    def match(self, text: str) -> list[Match] | None:
        found = []
        for word in _NO_BLANKS.finditer(text):
            for link in (_may_be_read(word[0]) and super().match(word[0])) or ():
                link.index += word.start()
                link.last_index += word.start()
                found.append(link)
        return found or None

    def match_at_start(self, text: str) -> Match | None:
        word = text[: MAX_ADDRESS + 1].partition("\n")[0].partition(" ")[0]
        return super().match_at_start(word) if _may_be_read(word) else None


_NO_BLANKS = re.compile(r"\S+")


def _may_be_read(word: str) -> bool:
    return len(word) <= MAX_ADDRESS and 0 < word.count("//") + word.count("@") <= MAX_ADDRESSES


def _limit_blocks(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if len(state.tokens) > MAX_BLOCKS:
        raise TooMuchMarkup
    return False


def _limit_marks(state: StateCore) -> None:
    brackets = sum(token.content.count("[") for token in state.tokens if token.type == "inline")
    if brackets > MAX_BRACKETS:
        raise TooMuchMarkup


def _limit_cells(state: StateBlock, start: int, end: int) -> None:
    first_line = state.src[state.bMarks[start] : state.eMarks[start]]
    columns = first_line.strip().strip("|").count("|") + 1
    last = start + 2
    while last < end and not state.isEmpty(last):
        last += 1
    state.env["cells"] = state.env.get("cells", 0) + columns * (last - start)
    if state.env["cells"] > MAX_CELLS:
        raise TooMuchMarkup


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table in which the ``|`` inside ``[[Title|label]]`` doesn't end a cell."""
    source = state.src
    if "without_pipes" not in state.env:
        state.env["without_pipes"] = WIKI_LINK.sub(lambda link: link[0].replace("|", _PIPE), source)
    tokens_before = len(state.tokens)
    state.src = state.env["without_pipes"]
    try:
        is_table = table(state, start, end, True)
        if silent or not is_table:
            return is_table
        _limit_cells(state, start, end)
        return table(state, start, end, False)
    finally:
        state.src = source
        for token in state.tokens[tokens_before:]:
            token.content = token.content.replace(_PIPE, "|")


def _address(state: StateInline, silent: bool) -> bool:
    """Find an address by the parser's rule, but keep short the text that it reads each time."""
    if not _LINKED_SCHEME.search(state.pending[-10:]):
        return False
    if len(state.pending) > 1000 and not silent:
        state.pending, last = state.pending[:-10], state.pending[-10:]
        state.pushPending()
        state.pending = last
    return linkify(state, silent)


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """Parse ``[[Title]]``, ``[[Title/Heading|label]]``, and Obsidian's ``![[Title]]``."""
    match = WIKI_LINK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    target, label = match["target"].strip(), (match["label"] or "").strip()
    return _push(
        state,
        silent,
        match,
        "wiki_link",
        label or target.lstrip("/#"),
        target=target,
        is_shown=match[0][0] == "!",
    )


def _attachment(state: StateInline, silent: bool) -> bool:
    match = _ATTACHMENT.match(state.src, state.pos, state.posMax)
    return match is not None and _push(state, silent, match, "attachment", match[1])


def _tag(state: StateInline, silent: bool) -> bool:
    """Parse ``#tag`` and ``#two words#``, if the note has that tag."""
    source, start = state.src, state.pos
    if source[start] != "#" or (start and not source[start - 1].isspace()):
        return False
    for pattern in (_CLOSED_TAG, _OPEN_TAG):
        match = pattern.match(source, start, state.posMax)
        if match and (folded := fold_tag(match[1])) in state.env.get("tags", ()):
            return _push(state, silent, match, "tag", match[0], tag=folded)
    return False


def _push(
    state: StateInline, silent: bool, match: re.Match[str], kind: str, content: str, **meta: Any
) -> bool:
    if not silent:
        token = state.push(kind, "", 0)
        token.content, token.meta = content, meta
    state.pos = match.end()
    return True


def _pair(state: StateInline, silent: bool) -> bool:
    """Find an opening or closing mark of a pair around some text."""
    start, marker = state.pos, state.src[state.pos]
    if silent or marker not in _PAIRS or (start and state.src[start - 1] == marker):
        return False
    width, _ = _PAIRS[marker]
    scanned = state.scanDelims(start, False)
    if scanned.length != width:
        return False
    state.push("text", "", 0).content = marker * width
    # Negative, so that a ~ isn't matched with a ~~.
    delimiter = Delimiter(
        -ord(marker), 0, len(state.tokens) - 1, -1, scanned.can_open, scanned.can_close
    )
    state.delimiters.append(delimiter)
    state.pos += width
    return True


def _paired(state: StateInline) -> None:
    """Turn matched pairs of marks into HTML tags."""
    nested = (meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)
    for delimiters in (state.delimiters, *nested):
        for opening in delimiters:
            if opening.marker >= 0 or opening.end < 0:
                continue
            _, tag = _PAIRS[chr(-opening.marker)]
            first, last = state.tokens[opening.token], state.tokens[delimiters[opening.end].token]
            first.type, first.nesting = f"{tag}_open", 1
            last.type, last.nesting = f"{tag}_close", -1
            first.tag = last.tag = tag
            first.content = last.content = ""


def _tasks(state: StateCore) -> None:
    """Replace ``[ ]`` and ``[x]`` at the start of a list item by a token ``task``."""
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:]):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        children = inline.children
        if not children or children[0].type != "text":
            continue
        if match := _TASK.match(children[0].content):
            children[0].content = children[0].content[match.end() :]
            task = Token("task", "", 0)
            task.meta = {"is_done": match[1] != " "}
            children.insert(0, task)
            item.attrJoin("class", "bear-task")


# --- tokens → HTML


@dataclass
class _Page:
    references: References
    words: frozenset[str]
    open_links: list[str] = field(default_factory=list)  # the HTML tag of each: "a" or "span"

    def address(self, target: str) -> str | None:
        """Return the URL for a link's target; None if it leads nowhere or is unsafe."""
        scheme = scheme_of(target)
        if scheme is None:
            if target.startswith("//"):
                return None
            file = self.references.file(unquote(target))
            return file.url if file else self.references.note(unquote(target))
        return target if scheme in allowed_schemes(self.references.own_url) else None


class _Renderer(RendererHTML):
    """Renders tokens, with one method per kind; other kinds are rendered as in CommonMark."""

    def text(self, tokens, index, options, env) -> str:
        return marked(tokens[index].content, env["page"].words)

    def code_inline(self, tokens, index, options, env) -> str:
        return f"<code>{marked(tokens[index].content, env['page'].words)}</code>"

    def fence(self, tokens, index, options, env) -> str:
        # With a tabindex, the block can be scrolled from the keyboard.
        attributes = self.renderAttrs(tokens[index])
        code = marked(tokens[index].content, env["page"].words)
        return f'<pre tabindex="0"{attributes}><code>{code}</code></pre>\n'

    code_block = fence  # type: ignore[assignment]

    def front_matter(self, tokens, index, options, env) -> str:
        text = escape(tokens[index].content)
        return f'<pre tabindex="0" class="bear-front-matter">{text}</pre>\n'

    def html_inline(self, tokens, index, options, env) -> str:
        content = tokens[index].content
        if content.startswith("<!--"):  # Bear stores the sizes of images in comments
            return ""
        return "<br>" if _BREAK.fullmatch(content) else escape(content)

    html_block = html_inline  # type: ignore[assignment]

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
        name = unquote(source).rsplit("/", 1)[-1] or "image"
        if scheme_of(source):
            name = "image inside of the note"
        return _file(unquote(source), f"{alt} ({name})" if alt and alt != name else name, page)

    def attachment(self, tokens, index, options, env) -> str:
        name = tokens[index].content
        return _file(name, name.rsplit("/", 1)[-1], env["page"])

    def wiki_link(self, tokens, index, options, env) -> str:
        page, token = env["page"], tokens[index]
        target = token.meta["target"]
        if target.startswith(("/", "#")):  # a heading of this note
            address: str | None = "#" + heading_anchor(target[1:])
        else:
            if page.references.file(target):
                label = target if _SIZE.fullmatch(token.content) else token.content
                return _file(target, label, page, is_shown=token.meta["is_shown"])
            address = page.references.note(target)
        if address:
            return _link(address, token.content, page)
        label, title = marked(token.content, page.words), "No note in the index has this title"
        return f'<span class="bear-missing" title="{title}">{label}</span>'

    def tag(self, tokens, index, options, env) -> str:
        page, token = env["page"], tokens[index]
        return _link(page.references.tags[token.meta["tag"]], token.content, page, "bear-tag")

    def task(self, tokens, index, options, env) -> str:
        is_done = tokens[index].meta["is_done"]
        state = 'checked aria-label="done"' if is_done else 'aria-label="to do"'
        return f'<input type="checkbox" disabled {state}> '

    def td_open(self, tokens, index, options, env) -> str:
        token = tokens[index]
        side = str(token.attrGet("style") or "").removeprefix("text-align:")
        return f'<{token.tag} dir="auto"' + (f' class="bear-{side}">' if side else ">")

    th_open = td_open

    def renderToken(self, tokens, index, options, env) -> str:
        token = tokens[index]
        if token.type in _ALWAYS:
            return _ALWAYS[token.type]
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
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Blocks that each have their own text direction.
_DIRECTED = frozenset(
    ["paragraph_open", "heading_open", "blockquote_open", "bullet_list_open", "ordered_list_open"]
)


def _link(address: str, label: str, page: _Page, css_class: str = "") -> str:
    html = marked(label, page.words)
    if "a" in page.open_links:  # links can't be nested
        return html
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<a{attribute} href="{escape(address)}">{html}</a>'


def _file(target: str, label: str, page: _Page, *, is_shown: bool = True) -> str:
    file = page.references.file(target)
    if file is None:  # only the note's own app can show it
        return f'<span class="bear-file">{escape(label)}</span>'
    if file.is_picture and is_shown:
        return f'<img src="{escape(file.url)}" alt="{escape(label)}" loading="lazy">'
    return _link(file.url, label, page, "bear-file")
