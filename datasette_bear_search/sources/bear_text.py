"""What Bear reads out of a note's text: its title, tags and links. Bear's database has all this in columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

from ..notes import Link
from .markdown_text import without_code

_HEADING_MARKS = re.compile(r"#{1,6}(?:[ \t]+|$)")

# #tag, #work/projects, #two words#: after a blank. What closes a tag of several words stands after a word.
_TAG = re.compile(r"(?<!\S)#(?:(?P<words>[^\s#](?:[^#\n]*[^\s#])?)#(?![\w#])|(?P<word>[^\s#]+))")
_PUNCTUATION = ".,;:!?…)]}>'\"’”»*_~`|。，、；：！？）】」』"

# A color, as in CSS. Words such as #facade are tags.
_COLOR = re.compile(r"(?=[a-f]*\d)(?:[\da-f]{3}|[\da-f]{6}|[\da-f]{8})", re.IGNORECASE)

_WIKI_LINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")
_BEAR_LINK = re.compile(r"\[([^\[\]\n]*)\]\((bear://x-callback-url/open-note\?[^()\s]+)\)")


def first_line(text: str) -> str:
    """The title that Bear gives a text: its first line, without the marks of a heading."""
    line = text.lstrip("\n").partition("\n")[0]
    return _HEADING_MARKS.sub("", line, count=1).strip()


def tags(text: str) -> list[str]:
    """The tags in a text, and those above them, as Bear has it: with #a/b, a note has the tags a and a/b."""
    found: dict[str, str] = {}
    prose, _ = without_code(text)
    for match in _TAG.finditer(prose):
        for tag in _with_parents(_name(match)):
            found.setdefault(tag.lower(), tag)
    return sorted(found.values())


def links(text: str, keys: Mapping[str, str]) -> list[Link]:
    """The links to other notes, one for each of these, in the order of the text.

    :param keys: the notes that there are: their keys by their titles, and by themselves
    """
    found: dict[str, Link] = {}
    prose, _ = without_code(text)
    for _, key, label in sorted([*_wiki_links(prose, keys), *_bear_links(prose, keys)]):
        found.setdefault(key, Link(key, label))
    return list(found.values())


def _name(match: re.Match[str]) -> str:
    if words := match["words"]:
        # "#one and #two" has no tag of three words, and "#one #" none of one.
        return words.strip("/")
    word = match["word"].rstrip(_PUNCTUATION)
    return "" if _COLOR.fullmatch(word) else word.strip("/")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split("/")
    if all(part.strip() for part in parts):
        for length in range(1, len(parts) + 1):
            yield "/".join(parts[:length])


def _wiki_links(text: str, keys: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """[[Title]], [[Title/Heading]], [[Title|label]]; a title may have a "/", too."""
    for match in _WIKI_LINK.finditer(text):
        title = match[1].strip()
        while title and title not in keys:
            title = title.rpartition("/")[0].strip()
        if title:
            yield match.start(), keys[title], title


def _bear_links(text: str, keys: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    for match in _BEAR_LINK.finditer(text):
        for key in parse_qs(urlsplit(match[2]).query).get("id", ()):
            if key in keys:
                yield match.start(), key, match[1]
