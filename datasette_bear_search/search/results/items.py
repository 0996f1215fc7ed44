"""What a note has of the kind that a search asks for: open to-dos, images, files, links, code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from ...query.filters import Filters
from ...query.fts5 import unique
from ...sources.formats.markdown_metadata import IMAGES, suffix
from ...text.markdown import FENCE, WIKI_LINK

# Characters of a note that are searched for them.
READ = 100_000

# - [ ] to-do, also in quotes; and, as in Logseq and Org, "- TODO to-do" and "## TODO to-do".
_TODO = re.compile(
    r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ /]\][ \t]+(?P<box>.+)"
    r"|[ \t]*(?:[-*+]|#{1,6})[ \t]+(?:TODO|DOING|NEXT|NOW|LATER|WAIT|WAITING|STARTED)[ \t]+"
    r"(?P<word>.+)"
)
# An image or link, its label and its target.
_LINK = re.compile(
    r"(?P<mark>!?)\[(?P<label>[^\[\]]*)\]\((?:<(?P<wrapped>[^<>\n]+)>|(?P<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*))"
)
_IMAGE = re.compile(r"<img\s[^<>]*>|\[(?P<kind>image|file):(?P<place>[^\[\]\n]+)\]")
_VALUE = {name: re.compile(rf"\b{name}\s*=\s*[\"']([^\"'<>]*)") for name in ("src", "alt")}
_ADDRESS = re.compile(r"https?://[^\s<>\"'`()\[\]]+[^\s<>\"'`()\[\].,;:!?]")


def kinds(filters: Filters) -> tuple[str, ...]:
    """Return what a search asks for: values of the filter ``has``."""
    has = filters.values.get("has", ())
    return unique((*has, "todo")) if filters.values.get("todo") == ("1",) else has


def items(markdown: str, kind: str) -> Iterator[str]:
    """Yield what a text has of this kind, each as a line of Markdown; code with its fences.

    :param kind: a value of the filter ``has``
    """
    code: list[str] | None = None
    for line in (*markdown[:READ].split("\n"), "```"):  # which ends code that goes on
        if FENCE.match(line):
            if code and kind == "code":
                yield "\n".join(["~~~~", *code, "~~~~"])
            code = [] if code is None else None
        elif code is not None:
            code.append(line)
        elif kind == "todo":
            if match := _TODO.match(line):
                yield f"☐ {match['box'] or match['word']}"
        elif kind != "code":
            yield from _in_line(line, kind)


def _in_line(line: str, kind: str) -> Iterator[str]:
    rest = line
    for match in _LINK.finditer(line) if "](" in line else ():
        target = match["wrapped"] or match["target"]
        label = match["label"].strip()
        is_image = bool(match["mark"]) or _is_image(target)
        is_file = not _ADDRESS.match(target) and bool(suffix(target))
        if (kind == "image" and is_image) or (kind == "file" and is_file and not is_image):
            yield label or _name(target)
        elif kind == "link" and not match["mark"]:
            host = urlsplit(target).hostname if _ADDRESS.match(target) else ""
            yield f"{label} ({host})" if host and label and label != target else label or target
        rest = rest.replace(match[0], "")
    for match in WIKI_LINK.finditer(line) if "[[" in line else ():
        target = match["target"].strip(" \\")
        is_image, is_file = _is_image(target), bool(suffix(target))
        if (kind == "image" and is_image) or (kind == "file" and is_file and not is_image):
            yield _name(target)
        elif kind == "link" and not is_image:
            yield match["label"] or target
    for match in _IMAGE.finditer(line) if kind in ("image", "file") else ():
        values = [found[1] for name in ("alt", "src") if (found := _VALUE[name].search(match[0]))]
        if kind == (match["kind"] or "image"):
            yield _name(match["place"] or next(filter(None, values), "image"))
    if kind == "link" and "://" in rest:
        yield from (match[0].split("://")[1] for match in _ADDRESS.finditer(rest))


def _is_image(target: str) -> bool:
    return suffix(target.partition("#")[0]) in IMAGES


def _name(target: str) -> str:
    return unquote(target.rpartition("/")[2]) or target
