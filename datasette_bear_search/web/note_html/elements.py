"""HTML elements in Markdown: a few stay, without their attributes; all others are dropped."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from html import unescape
from typing import NamedTuple

from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

# Elements that stay, and what each becomes.
KEPT = {
    **{name: name for name in "kbd sub sup mark u strong em s code".split()},
    **{"b": "strong", "i": "em", "ins": "u", "del": "s", "strike": "s"},
    **{"tt": "code", "samp": "code"},
    **{f"h{level}": "strong" for level in range(1, 7)},  # not in the outline
}
# What is linked to, and what it is called.
LINKED = {"img": "image", "iframe": "page", "video": "video", "audio": "audio"}
FOLDED = ("details", "summary")
HIDDEN = ("script", "style")  # with their content
TABLES = frozenset("table thead tbody tr th td".split())
# What follows them begins a line.
LINES = frozenset(
    "address article aside blockquote br center dd div dl dt figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hr li main nav ol p section tr ul".split()
)
# Other elements. A name that is none of all these may be text: List<String>, <your name>.
_OTHERS = frozenset(
    "a abbr area base bdi bdo big body button canvas caption cite col colgroup data datalist dfn"
    " dialog embed fieldset font frame frameset head html input label legend link map marquee math"
    " meta meter nobr noscript object optgroup option output param picture pre progress q rp rt"
    " ruby script select slot small source span style svg template textarea tfoot time title track"
    " var wbr".split()
)
_KNOWN = _OTHERS.union(KEPT, LINKED, FOLDED, TABLES, LINES)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w.:-]*)((?:\s[^<>]*|/)?)>")
_ATTRIBUTE = re.compile(r"""\b([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


class Element(NamedTuple):
    name: str
    is_end: bool
    attributes: Mapping[str, str]


def read(tag: str) -> Element | None:
    """Read a tag. Return None for what may be text."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return None
    name, rest = match[2].lower(), match[3]
    if name not in _KNOWN and not match[1] and "=" not in rest and not rest.endswith("/"):
        return None
    found = _ATTRIBUTE.findall(rest) if "=" in rest else ()
    is_end = bool(match[1]) or (rest.endswith("/") and name in LINES)
    return Element(name, is_end, {key.lower(): "".join(value) for key, *value in found})


# Characters above "$$" among which another one is looked for.
LONGEST_FORMULA = 2000

# Blocks that may have empty lines in them.
_CLOSINGS = {"<!--": "-->", "%%": "%%", "$$": "$$", "<pre>": "</pre>", "<pre ": "</pre>"}


def block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a comment, a formula or ``<pre>`` as a block."""
    position = state.bMarks[start] + state.tShift[start]
    opening = next((it for it in _CLOSINGS if state.src.startswith(it, position)), None)
    if opening is None or (opening == "$$" and _is_closing(state.src, position)):
        return False
    close = _close(state, opening, position + len(opening))
    line = bisect_left(state.eMarks, close, start, end)
    if line >= end or state.src[close : state.eMarks[line]].strip():
        return False
    if silent:
        return True
    state.line = line + 1
    text = state.getLines(start, line + 1, state.blkIndent, False).strip()
    if opening == "$$":
        state.push("paragraph_open", "p", 1).map = [start, line + 1]
        state.push("inline", "", 0).children = [Token("formula", "", 0, content=text[2:-2])]
        state.push("paragraph_close", "p", -1)
    elif opening.startswith("<pre"):
        token = state.push("fence", "code", 0)
        token.map = [start, line + 1]
        text = _TAG.sub(lambda tag: "" if read(tag[0]) else tag[0], text)
        token.content = unescape(text).strip("\n") + "\n"
    return True


def _is_closing(text: str, position: int) -> bool:
    """Return whether a formula that ends here has begun in a line of the same paragraph."""
    above = text[max(0, position - LONGEST_FORMULA) : position].rpartition("\n\n")[2]
    return above.count("$$") % 2 == 1


def _close(state: StateBlock, opening: str, position: int) -> int:
    """Return the offset behind the next closing mark."""
    closing = _CLOSINGS[opening]
    first, close = state.env.setdefault("closes", {}).get(closing, (0, -1))
    # Reading the rest of a note for each opening mark would take long.
    if not first <= position <= close - len(closing):
        found = state.src.find(closing, position)
        close = (found if found >= 0 else len(state.src)) + len(closing)
        state.env["closes"][closing] = position, close
    return close


def tidy(state: StateCore) -> None:
    """Make links, and drop the line breaks beside elements that begin a line themselves."""
    unclosed: dict[str, int] = {}
    for inline in state.tokens:
        children = inline.children or []
        _make_links(children)
        tags = [_read(child) for child in children]
        for tag in tags:
            if tag and tag.name in _CLOSED:
                unclosed[tag.name] = unclosed.get(tag.name, 0) + (-1 if tag.is_end else 1)
        begin = [tag is not None and tag.name in _BLOCKS for tag in tags]
        beside = zip(children, [False, *begin], [*begin[1:], False])
        inline.children = [it for it, *near in beside if it.type not in BREAKS or not any(near)]
    # Unclosed, they would hide the rest of the note, or move it.
    state.env["closed"] = {name for name, depth in unclosed.items() if not depth}


_CLOSED = ("details", "table", *HIDDEN)
_BLOCKS = (LINES | TABLES).union(FOLDED) - {"p"}  # an empty line is between paragraphs
BREAKS = ("softbreak", "hardbreak")  # the tokens of line breaks


def _read(token: Token) -> Element | None:
    return read(token.content) if token.type == "html_inline" else None


def _make_links(children: Sequence[Token]) -> None:
    """Make ``<a href="…">`` with its end tag a link as Markdown has it."""
    opened: list[Token] = []
    for child in children:
        tag = _read(child)
        if tag and tag.name == "a" and tag.is_end and opened:
            first = opened.pop()
            address = read(first.content)
            first.type, first.nesting, child.type, child.nesting = "link_open", 1, "link_close", -1
            first.attrs = {"href": unescape(address.attributes["href"]) if address else ""}
        elif tag and tag.attributes.get("href"):
            opened.append(child)
