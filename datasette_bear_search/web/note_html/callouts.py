"""Callouts, which are GitHub's alerts, too: ``> [!warning]- Title``. Ids of blocks, headings.

Docusaurus, MyST and Pandoc write callouts as ``:::warning Title``, up to ``:::``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from ...text.markdown import without_attributes
from .elements import BREAKS

_CALLOUT = re.compile(r"\[!([\w -]+)(?:\|[^\]\n]*)?\]([+-]?)[ \t]*")
_BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^([\w-]+)[ \t]*$")
_ID = re.compile(r"\{[^{}]*#([^\s{}]+)")
_ADMONITION = re.compile(r"\s*\{?[.:]?([\w-]+)\}?(?:\[(.+)\]|[ \t]+([^:]*))?$")


def is_admonition(line: str, *_: object) -> bool:
    return _ADMONITION.match(line) is not None


def admonition(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    if not (match := _ADMONITION.match(tokens[index].info)) or tokens[index].nesting < 0:
        return "</blockquote>\n"
    title = (match[2] or match[3] or "").strip() or match[1].capitalize()
    opening = '<blockquote class="bear-callout" dir="auto"><p class="bear-callout-title">'
    return f"{opening}{env['page'].html(title)}</p>\n"


def callouts(state: StateCore) -> None:
    """Give callouts their titles; make those that fold ``<details>``."""
    found: list[Token] = []
    quotes: list[Token] = []
    tokens, index = state.tokens, 0
    while index < len(tokens):
        token = tokens[index]
        found.append(token)
        index += 1
        if token.type == "blockquote_close" and quotes:
            token.tag = quotes.pop().tag
        if token.type != "blockquote_open":
            continue
        quotes.append(token)
        inline = tokens[index + 1] if index + 1 < len(tokens) else token
        children = inline.children or []
        if tokens[index].type != "paragraph_open" or not children or children[0].type != "text":
            continue
        if not (match := _CALLOUT.match(children[0].content)):
            continue
        children[0].content = children[0].content[match.end() :]
        end = next((n for n, it in enumerate(children) if it.type in BREAKS), len(children))
        title = children[:end]
        if not any(it.content.strip() or it.type != "text" for it in title):
            title = [Token("text", "", 0, content=match[1].strip().capitalize())]
        fold = match[2]
        token.tag = "details" if fold else "blockquote"
        token.attrJoin("class", "bear-callout")
        if fold == "+":
            token.attrSet("open", "")
        tag = "summary" if fold else "p"
        found += [
            Token("callout_title_open", tag, 1, attrs={"class": "bear-callout-title"}),
            Token("inline", "", 0, children=title),
            Token("callout_title_close", tag, -1),
        ]
        inline.children = children[end + 1 :]
        if not inline.children:
            index += 3
    state.tokens = found


def heading_ids(state: StateCore) -> None:
    """Take the attributes from headings, and remember their ids: ``# Setup {#install}``."""
    for opening, inline in zip(state.tokens, state.tokens[1:]):
        if opening.type == "heading_open" and "{" in inline.content:
            plain = without_attributes(inline.content)
            match = _ID.search(inline.content, len(plain))
            opening.meta = {"id": match[1]} if match else {}
            inline.content = plain


def block_ids(state: StateCore) -> None:
    """Make an anchor of the id at the end of a block: ``Text. ^a1b2c3``."""
    for inline in state.tokens:
        children = inline.children
        last = children[-1] if inline.type == "inline" and children else None
        if children and last and last.type == "text" and (match := _BLOCK_ID.search(last.content)):
            last.content = last.content[: match.start()]
            children.append(Token("block_id", "", 0, content=match[1]))
