"""Markdown as note apps write it: CommonMark with tables, to-dos, footnotes, and more.

Bear's and Obsidian's own rules take linear time, but the parser's don't, so its input is limited.
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, lheading
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from ...notes import fold_tag
from ...text.languages import is_unspaced
from ...text.markdown import WIKI_LINK
from . import callouts, elements
from .formulas import FORMULA
from .renderer import _Renderer

# A note with more markup, such as a pasted log, is shown as plain text. The limits are counts, not
# times, so that a note always looks the same. At each limit, a note takes .8 to 1.8 s of one core,
# measured with tests/support/pathological_markdown.py; prose of MAX_CHARACTERS takes .5 s.
MAX_BLOCKS = 75_000  # block tokens, 20 µs each; a to-do is 5, a table's cell 3
MAX_BRACKETS = 25_000  # "[" outside code, 20 to 70 µs each: the parser reads ahead from each


class TooMuchMarkup(ValueError):
    """Raised for text whose markup would take seconds to read."""


# Bear 1: [image:2F0C…/roof.png]
_ATTACHMENT = re.compile(r"\[(?:image|file):([^\[\]\n]+)\]")
_SPACED = re.compile(r"(!?)\[([^\[\]\n]*)\]\(([^()<>\s]+(?:[ ](?![\"'])[^()<>\s]+)+)\)")
_CLOSED_TAG = re.compile(r"#([^\s#](?:[^#\n]*[^\s#])?)#(?!\w)")
_OPEN_TAG = re.compile(r"#([^\s#]*[^\s#.,;:!?'\")\]}”’…])")
# Parentheses and brackets in an address come in pairs: https://en.wikipedia.org/wiki/Bear_(app)
_SCHEME = re.compile(r"(?<![^\W_])(?:https?|ftp|bear|obsidian)$", re.IGNORECASE)
_ADDRESS = re.compile(
    r"""://(?=\w)(?:[^\s<>｜"`()\[\]{}]|\([^\s<>()]*\)|\[[^\s<>\[\]]*\]|\{[^\s<>{}]*\})*"""
)
_REMARK = re.compile(r"%%[^%]*(?:%[^%]+)*%%")
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")

# ==highlight==, ::highlight:: and ~underline~. Bear 1's /italic/ can't be distinguished from paths.
_PAIRS = {
    mark[0]: (
        tag,
        re.compile(
            rf"(?<![\w{mark[0]}]){mark}(?![\s{mark[0]}])"
            rf"((?:(?!{mark}).)+)(?<!\s){mark}(?![\w{mark[0]}])",
            re.ASCII | re.DOTALL,  # a word of Chinese has no blanks around it
        ),
    )
    for mark, tag in (("==", "mark"), ("::", "mark"), ("~", "u"))
}

# Replaces "|" inside [[Title|label]] while the note is split into blocks.
_PIPE = "\x1f"


def note_parser() -> MarkdownIt:
    # This takes a millisecond.
    options = {"breaks": True, "html": True}
    markdown = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"])
    markdown.disable("html_block")
    markdown.block.ruler.at("lheading", _underlined, {"alt": []})
    # Unsafe links are rejected when they are rendered: the parser would show an image's source.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.use(footnote_plugin).use(front_matter_plugin)
    markdown.use(
        container_plugin, "callout", validate=callouts.is_admonition, render=callouts.admonition
    )
    markdown.block.ruler.before("table", "limit", _limit_blocks, {"alt": ["list"]})
    markdown.block.ruler.before("table", "element", elements.block, {"alt": ["paragraph"]})
    markdown.inline.ruler.after("text", "address", _address)
    markdown.inline.ruler.before("link", "wiki_link", _wiki_link)
    markdown.inline.ruler.before("link", "spaced_link", _spaced_link)
    markdown.inline.ruler.before("link", "attachment", _attachment)
    markdown.inline.ruler.before("link", "tag", _tag)
    markdown.inline.ruler.before("escape", "formula", _formula)
    markdown.inline.ruler.before("escape", "remark", _remark)
    markdown.inline.ruler.after("strikethrough", "pair", _pair)
    markdown.inline.ruler.at("emphasis", _emphasis)
    markdown.core.ruler.before("block", "hide_pipes", _hide_pipes)
    markdown.core.ruler.before("inline", "show_pipes", _show_pipes)
    markdown.core.ruler.before("inline", "limit", _limit_marks)
    markdown.core.ruler.before("inline", "heading_ids", callouts.heading_ids)
    markdown.core.ruler.push("task", _tasks)
    markdown.core.ruler.push("elements", elements.tidy)
    markdown.core.ruler.push("block_ids", callouts.block_ids)
    markdown.core.ruler.push("callouts", callouts.callouts)
    return markdown


def _underlined(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a heading above ``===``. In Bear, and in our passages, a line of dashes is a rule."""
    if lheading(state, start, end, silent) and state.tokens[-1].tag != "h1":
        del state.tokens[-3:]
        state.line = start
    return state.line > start


def _limit_blocks(state: StateBlock | StateCore, *_: object) -> bool:
    if len(state.tokens) > MAX_BLOCKS:
        raise TooMuchMarkup
    return False


def _limit_marks(state: StateCore) -> None:
    _limit_blocks(state)  # a table is one block
    brackets = sum(token.content.count("[") for token in state.tokens if token.type == "inline")
    if brackets > MAX_BRACKETS:
        raise TooMuchMarkup


def _hide_pipes(state: StateCore) -> None:
    """Keep the ``|`` inside ``[[Title|label]]`` from ending the cell of a table."""
    state.src = WIKI_LINK.sub(lambda link: link[0].replace("|", _PIPE), state.src)


def _show_pipes(state: StateCore) -> None:
    for token in state.tokens:
        token.content = token.content.replace(_PIPE, "|")
        token.info = token.info.replace(_PIPE, "|")


def _address(state: StateInline, silent: bool) -> bool:
    """Parse an address in the text: ``https://x.example``. ``notes.md`` is a file, not a site."""
    scheme = _SCHEME.search(state.pending[-10:])
    match = _ADDRESS.match(state.src, state.pos, state.posMax) if scheme else None
    if not scheme or not match or state.linkLevel:
        return False
    url = (scheme[0] + match[0]).rstrip(".,:;!?'*…")
    if not silent:
        state.pending = state.pending[: -len(scheme[0])]
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(url)}
        state.push("text", "", 0).content = state.md.normalizeLinkText(url)
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme[0])
    return True


_PLACE = re.compile(r"(?<=\S)#\^?(?=\S)")


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """Parse ``[[Title]]``, ``[[Title/Heading|label]]``, and Obsidian's ``![[Title]]``."""
    match = WIKI_LINK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    target, label = match["target"].strip(), (match["label"] or "").strip()
    label, is_shown = label or _PLACE.sub(" › ", target.lstrip("/#")), match[0][0] == "!"
    return _push(state, silent, match, "wiki_link", label, target=target, is_shown=is_shown)


def _spaced_link(state: StateInline, silent: bool) -> bool:
    """Parse ``[label](My note.md)``, as Logseq and vimwiki write it, if there is such a note."""
    match = _SPACED.match(state.src, state.pos, state.posMax)
    references = state.env["page"].references
    if not match or not (references.note(match[3]) or references.file(match[3])):
        return False
    return _push(
        state, silent, match, "wiki_link", match[2], target=match[3], is_shown=bool(match[1])
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


def _formula(state: StateInline, silent: bool) -> bool:
    match = FORMULA.match(state.src, state.pos, state.posMax)
    if match is None or state.src[state.pos - 1 : state.pos].isalnum():
        return False
    return _push(state, silent, match, "formula", match[1] or match[2])


def _remark(state: StateInline, silent: bool) -> bool:
    """Skip Obsidian's ``%%remarks%%``."""
    match = _REMARK.match(state.src, state.pos, state.posMax)
    state.pos = match.end() if match else state.pos
    return match is not None


def _push(
    state: StateInline, silent: bool, match: re.Match[str], kind: str, content: str, **meta: Any
) -> bool:
    if not silent:
        token = state.push(kind, "", 0)
        token.content, token.meta = content, meta
    state.pos = match.end()
    return True


def _pair(state: StateInline, silent: bool) -> bool:
    tag, pattern = _PAIRS.get(state.src[state.pos], ("", None))
    match = pattern.match(state.src, state.pos, state.posMax) if pattern else None
    if not match:
        return False
    if not silent:
        end = state.posMax
        state.push(f"{tag}_open", tag, 1)
        state.pos, state.posMax = match.span(1)
        state.md.inline.tokenize(state)
        state.push(f"{tag}_close", tag, -1)
        state.posMax = end
    state.pos = match.end()
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Parse stars as in CommonMark, but beside a script without blanks as if there were one.

    In ``这**“特例”**的``, CommonMark takes the stars between a letter and a sign as text.
    """
    start, others = state.pos, len(state.delimiters)
    if not emphasis.tokenize(state, silent):
        return False
    before = state.src[start - 1 : start].strip()
    after = state.src[state.pos : state.pos + 1].strip()
    if before and after and state.src[start] == "*":
        for mark in state.delimiters[others:]:
            mark.open |= is_unspaced(before)
            mark.close |= is_unspaced(after)
    return True


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
