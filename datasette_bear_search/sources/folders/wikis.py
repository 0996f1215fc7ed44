"""The syntax of wikis, Logseq and MDX → Markdown with the same words (``wikis.tsv``)."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from ...text.markdown import FENCE

# The ends of files' names, and other kinds in the table.
TIDDLER, VIMWIKI, MDX = ".tid", ".wiki", ".mdx"
ZIM, LOGSEQ, DENDRON = "zim", "logseq", "dendron"

_TAG = re.compile(r"\[\[([^\[\]]+)\]\]|(\S+)")
_CODE = rf"|(?P<code>^{FENCE.pattern}[\s\S]*?(?:^[ \t>]*(?P=marks)|\Z)|`[^`\n]+`)"


def split_tiddler(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a file of TiddlyWiki's, and its text as Markdown."""
    head, _, body = text.partition("\n\n")
    pairs = (line.partition(":") for line in head.split("\n"))
    fields: dict[str, Any] = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = body if "markdown" in fields.pop("type", "") else as_markdown(body, TIDDLER)
    dates = {name: f"{fields[name][:14]}Z" for name in ("created", "modified") if name in fields}
    tags = [quoted or word for quoted, word in _TAG.findall(fields.get("tags", ""))]
    return fields | dates | {"tags": tags}, body


def as_markdown(text: str, kind: str) -> str:
    """Return a text of one of these kinds as Markdown, and any other text as it is."""
    for alone, or_code, markdown in _rules().get(kind, ()):
        if "`" not in text and "~~~" not in text:
            text = alone.sub(markdown, text)
        elif alone.search(text):  # which is much faster
            text = or_code.sub(partial(_replaced, markdown), text)
    return text


def _replaced(markdown: str, match: re.Match[str]) -> str:
    return match[0] if match["code"] else match.expand(markdown)


@cache
def _rules() -> dict[str, list[tuple[re.Pattern[str], re.Pattern[str], str]]]:
    """Return kind → expressions, the same or code, and what replaces a match that isn't code."""
    rules = defaultdict(list)
    for line in Path(__file__).with_name("wikis.tsv").read_text("utf-8").splitlines():
        kind, pattern, markdown = line.split("\t")
        alone, or_code = (re.compile(pattern + end, re.MULTILINE) for end in ("", _CODE))
        rules[kind].append((alone, or_code, markdown))
    return rules
