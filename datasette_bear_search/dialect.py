"""Markdown as note apps write it: CommonMark with tables, to-dos and footnotes, and what Bear and Obsidian add.

What is here says what stands in a text, as tokens of markdown-it. How these are shown is the matter of ``rendering``.
Every rule of ours reads its input once, whatever the input; those of the parser don't, and so have a budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from . import budget
from .sidecar import fold_tag

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

WIKI_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
# Bear 1: [image:2F0C…/roof.png]
_ATTACHMENT = re.compile(r"\[(?:image|file):([^\[\]\n]+)\]")
_CLOSED_TAG = re.compile(r"#([^\s#](?:[^#\n]*[^\s#])?)#(?!\w)")
_OPEN_TAG = re.compile(r"#([^\s#]*[^\s#.,;:!?'\")\]}”’…])")
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")

# ==highlight==, ::highlight:: and ~underline~. Bear 1 had /italic/, too, which nobody can tell from a path.
_PAIRS = {"=": (2, "mark"), ":": (2, "mark"), "~": (1, "u")}

# Stands for "|" inside of [[Title|label]] while a table is cut into cells.
_PIPE = "\x1f"


def parser(renderer: type[RendererHTML], allowance: budget.Budget) -> MarkdownIt:
    """A parser of this dialect, for one text; it takes a millisecond to make.

    ``env["tags"]`` has the note's tags, folded: only they are tags, whatever else begins with ``#``.

    :param allowance: what the text may cost; what is beyond it becomes tokens "plain" and "plain_block"
    """
    # A single line break is one, as in Bear and Obsidian. HTML is read only to be shown as what it is: text.
    options = {"breaks": True, "html": True, "linkify": True}
    markdown = MarkdownIt("commonmark", options, renderer_cls=renderer)
    markdown.enable(["table", "strikethrough", "linkify"])
    # In Bear a line of dashes below a text is a rule, not a heading, and so it is for our passages.
    markdown.disable(["html_block", "lheading"])
    # Which links are safe is decided where they are shown: a rejected image would be left as its source.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    assert markdown.linkify is not None
    markdown.linkify.set({"fuzzy_link": False})  # notes.md is a file, not a site
    for scheme in ("bear:", "obsidian:"):
        markdown.linkify.add(scheme, "http:")
    markdown.use(footnote_plugin).use(front_matter_plugin)
    markdown.block.ruler.at("table", _table(allowance), {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("link", "wiki_link", _wiki_link)
    markdown.inline.ruler.before("link", "attachment", _attachment)
    markdown.inline.ruler.before("link", "tag", _tag)
    markdown.inline.ruler.after("strikethrough", "pair", _pair)
    markdown.inline.ruler2.after("balance_pairs", "pair", _paired)
    markdown.core.ruler.after("inline", "task", _tasks)
    budget.limit(markdown, allowance)
    return markdown


def wiki_links(text: str) -> Iterator[str]:
    """What the wiki links of a text name: ``Title/Heading`` of ``[[Title/Heading|label]]``."""
    for match in WIKI_LINK.finditer(text):
        yield match[1].partition("|")[0].strip()


def _table(allowance: budget.Budget) -> Callable[[StateBlock, int, int, bool], bool]:
    """The rule for a table that can be paid, in which the mark inside of ``[[Title|label]]`` doesn't end a cell."""

    def rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        source = state.src
        if "cells" not in state.env:
            state.env["cells"] = WIKI_LINK.sub(lambda link: link[0].replace("|", _PIPE), source)
        tokens_before = len(state.tokens)
        state.src = state.env["cells"]
        try:
            is_table = table(state, start, end, True)
            if silent or not is_table:
                return is_table
            is_paid = allowance.spend(budget.table_cost(state, start, end))
            return is_paid and table(state, start, end, False)
        finally:
            state.src = source
            for token in state.tokens[tokens_before:]:
                token.content = token.content.replace(_PIPE, "|")

    return rule


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """``[[Title]]``, ``[[Title/Heading|label]]``, and Obsidian's ``![[Title]]``."""
    if not state.src.startswith(("[[", "![["), state.pos):
        return False
    match = WIKI_LINK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("wiki_link", "", 0)
        target, _, label = match[1].partition("|")
        token.content = label.strip() or target.strip().lstrip("/#")
        token.meta = {"target": target.strip()}
    state.pos = match.end()
    return True


def _attachment(state: StateInline, silent: bool) -> bool:
    match = _ATTACHMENT.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("attachment", "", 0).content = match[1]
    state.pos = match.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    """``#tag`` and ``#two words#``, if the note has that tag."""
    source, start = state.src, state.pos
    if source[start] != "#" or (start and not source[start - 1].isspace()):
        return False
    for pattern in (_CLOSED_TAG, _OPEN_TAG):
        match = pattern.match(source, start, state.posMax)
        if match and (folded := fold_tag(match[1])) in state.env.get("tags", ()):
            if not silent:
                token = state.push("tag", "", 0)
                token.content = match[0]
                token.meta = {"tag": folded}
            state.pos = match.end()
            return True
    return False


def _pair(state: StateInline, silent: bool) -> bool:
    """One of two marks that stand around a stretch of text."""
    start, marker = state.pos, state.src[state.pos]
    if silent or marker not in _PAIRS or (start and state.src[start - 1] == marker):
        return False
    width, _ = _PAIRS[marker]
    scanned = state.scanDelims(start, False)
    if scanned.length != width:
        return False
    state.push("text", "", 0).content = marker * width
    # Below zero, so that no ~ is taken for the other half of a ~~.
    state.delimiters.append(
        Delimiter(
            marker=-ord(marker),
            length=0,
            token=len(state.tokens) - 1,
            end=-1,
            open=scanned.can_open,
            close=scanned.can_close,
        )
    )
    state.pos += width
    return True


def _paired(state: StateInline) -> None:
    """Turn the marks that found their other half into tags."""
    nested = (meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)
    for delimiters in (state.delimiters, *nested):
        for opening in delimiters:
            if opening.marker >= 0 or opening.end < 0:
                continue
            _, tag = _PAIRS[chr(-opening.marker)]
            closing = delimiters[opening.end]
            for token, nesting in (
                (state.tokens[opening.token], 1),
                (state.tokens[closing.token], -1),
            ):
                token.type = f"{tag}_{'open' if nesting == 1 else 'close'}"
                token.tag, token.nesting, token.content = tag, nesting, ""  # type: ignore[assignment]


def _tasks(state: StateCore) -> None:
    """Put a token ``task`` in the place of ``[ ]`` and ``[x]`` at the beginning of a list item."""
    for item, inline in _item_texts(state.tokens):
        children = inline.children
        if not children or children[0].type != "text":
            continue
        if match := _TASK.match(children[0].content):
            children[0].content = children[0].content[match.end() :]
            task = Token("task", "", 0)
            task.meta = {"is_done": match[1] != " "}
            children.insert(0, task)
            item.attrJoin("class", "bear-task")


def _item_texts(tokens: list[Token]) -> Iterable[tuple[Token, Token]]:
    """The list items that begin with a paragraph, with its text."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:]):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open":
            yield item, inline
