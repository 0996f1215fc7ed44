"""Parse the properties at the top of a Markdown file.

They are YAML (``---``), TOML (``+++``), JSON (Hugo's, or after ``---json``), lines such as
``Title: Tea`` (MultiMarkdown, Pelican), or a title, authors and a date after ``%`` (Pandoc).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import accumulate
from json import JSONDecoder
from typing import Any

from ..base import Unreadable
from ..formats.dates import parse_timestamp
from ..formats.text import as_dict, load_json, storable, word_lists

TITLES, TAGS = word_lists()["titles"], word_lists()["tags"]
CREATED, MODIFIED = word_lists()["created"], word_lists()["modified"]
TRASHED = word_lists()["trashed"]

# Properties that are shown elsewhere or that nobody searches for.
_NOT_LISTED = {*word_lists()["for_programs"], *TITLES, *CREATED, *MODIFIED}

_BOOLEANS = ("true", "false", "yes", "no")

# Longer blocks aren't front matter. libyaml's parser is recursive, so deep ones crash Python.
LONGEST = 65_536  # characters
DEEPEST = 50
LONGEST_LINE = 1000  # of properties that aren't valid YAML

_BLOCK = re.compile(
    r"\s*(?P<fence>---|\+\+\+)(?P<json>json)?[ \t]*\n"
    r"(?P<block>(?:.*\n)*?)(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z)"
)
_HEADERS = re.compile(r"(title:[ \t]+\S.*\n(?:[ \t]*\S.*\n)*)[ \t]*(?:\n|\Z)", re.IGNORECASE)
_CONTINUED = re.compile(r"\n[ \t]+(?=[^\s-])")
_PANDOC = re.compile(r"%[ \t]+(\S.*)\n(?:%[ \t]*(.*)\n)?(?:%[ \t]*(.*)\n)?")
_DEEP_LINE = re.compile(rf"(?:[-?:][ \t]+){{{DEEPEST}}}")
_SIMPLE_LINE = re.compile(r"(?P<name>[^\W\d_][\w-]{0,60}(?: [\w-]+){0,2}):(?:\s+(?P<value>.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.+)")
# A tag as people write it. For YAML it is a comment, which has a blank after the "#".
_TAG_VALUE = re.compile(r"^([ \t]*(?:[\w-]+:|-)[ \t]+)(#[^\s#'][^'\n]*)$", re.MULTILINE)


# python-frontmatter splits and parses in the same way, but raises on mistakes in properties that
# are written by hand. Most of this module is about tolerating them.
def split(text: str, *, fenced_only: bool = True) -> tuple[dict[str, Any], str, str]:
    """Return the properties by lower-case name, the text below them, and what is wrong with them.

    Invalid front matter stays in the text, so that no words are lost; but lines of it that can be
    read are also returned as properties.
    """
    if text.lstrip()[:3] not in ("---", "+++"):
        return ({}, text, "") if fenced_only else _without_fences(text)
    match = _BLOCK.match(text, 0, LONGEST)
    if match is None:
        return {}, text, ""
    block = match["block"]
    try:
        parse = _toml if match["fence"] == "+++" else load_json if match["json"] else _yaml
        properties = parse(block)
    except Unreadable as error:
        properties, is_whole = _simple_lines(block)
        if not is_whole:
            return properties, text, str(error)
    if not isinstance(properties, dict):  # a text between two rules
        return {}, text, ""
    return _by_name(properties), text[match.end() :].lstrip("\n"), ""


def _without_fences(text: str) -> tuple[dict[str, Any], str, str]:
    start, properties, end = text[:LONGEST], None, 0
    if start[:1] == "{":
        with suppress(ValueError, RecursionError):
            loaded, end = JSONDecoder().raw_decode(start)
            is_alone = not text[end:].partition("\n")[0].strip()
            properties = _by_name(loaded) if is_alone else None
    elif match := _HEADERS.match(start):
        properties, is_whole = _simple_lines(_CONTINUED.sub(" ", match[1]))
        properties, end = properties if is_whole else None, match.end()
    elif match := _PANDOC.match(start):
        properties = dict(zip(("title", "author", "date"), match.groups()))
        end = match.end()
    if not properties or properties.keys().isdisjoint((*TITLES, *TAGS, *CREATED, *MODIFIED)):
        return {}, text, ""  # these are somebody's words
    return properties, text[end:].lstrip("\n"), ""


def first(properties: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of the named properties that has a value, as text on one line."""
    found = (_texts(properties[name]) for name in names if name in properties)
    return next((texts[0] for texts in found if texts), "")


def date(properties: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of the named properties that is a valid date, in ISO 8601, or None."""
    by_name = {_date_name(name): value for name, value in properties.items()}
    texts = (text for name in names if name in by_name for text in _texts(by_name[name]))
    return next(filter(None, map(parse_timestamp, texts)), None)


def tags(properties: Mapping[str, Any], names: Iterable[str] = TAGS) -> list[str]:
    """Return the tags without "#" from lists, or from texts separated by commas or else blanks."""
    items: list[str] = []
    for value in (properties[name] for name in names if name in properties):
        for text in _texts(value):
            is_item = not isinstance(value, str)
            between = r",|\s(?=#)" if "," in text else r"\s"
            items += [text] if is_item else re.split(between, text)
    return [tag for item in items if (tag := item.strip().strip("#*\"'/[] "))]


def as_list(properties: Mapping[str, Any], tag_names: Collection[str] = TAGS) -> str:
    """Return the properties that are somebody's words as a Markdown list, to put above the text.

    This makes an alias, an author or an ISBN searchable and shows it on the note's page.
    """
    lines = []
    for name, value in properties.items():
        if _NOT_LISTED.isdisjoint((name, _date_name(name))) and name not in tag_names:
            words = [text for text in _texts(value) if text.lower() not in _BOOLEANS]
            lines += [f"- {name}: {', '.join(words)}\n"] if words else []
    return "".join(lines) + "\n" if lines else ""


def _date_name(name: str) -> str:
    return name.replace(" ", "_").replace("-", "_")


def _texts(value: Any, depth: int = 2) -> list[str]:
    """Return the texts in a property, however they are nested, each on one line."""
    if value is None or (isinstance(value, (Mapping, list, tuple, set)) and not depth):
        return []
    if isinstance(value, Mapping):
        value = [f"{name}: {text}" for name in value for text in _texts(value[name], depth - 1)]
    if isinstance(value, (list, tuple, set)):
        return [text for inner in value for text in _texts(inner, depth - 1)]
    text = " ".join(storable(str(value)).split())
    return [text] if text not in ("", "null", "~", "None") else []


def _yaml(block: str) -> Any:
    steps = (1 if mark in "[{" else -1 for mark in block if mark in "[]{}")
    if max(accumulate(steps), default=0) > DEEPEST or _DEEP_LINE.search(block):
        raise Unreadable("its front matter is nested too deeply")
    # The import takes 10 ms. Only a server has imported yaml anyway, for Datasette.
    import yaml

    block = _TAG_VALUE.sub(r"\1'\2'", block) if " #" in block else block
    # The base loader keeps values as text: a title "1.10" isn't a number, a tag "no" not a boolean.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(block, Loader=loader) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 2}" if mark else ""
        raise Unreadable(f"its front matter is not valid YAML{line}") from None


def _toml(block: str) -> dict[str, Any]:
    try:
        import tomllib

        loaded = tomllib.loads(block)
        return loaded | as_dict(loaded.pop("taxonomies", None))  # where Zola has tags
    except ImportError:  # Python 3.10
        raise Unreadable("its front matter is TOML, which needs Python 3.11") from None
    except (ValueError, RecursionError):
        raise Unreadable("its front matter is not valid TOML") from None


def _by_name(loaded: dict[Any, Any]) -> dict[str, Any]:
    return {" ".join(storable(str(name)).lower().split()): loaded[name] for name in loaded}


def _simple_lines(block: str) -> tuple[dict[str, Any], bool]:
    """Return properties from single lines such as "title: Tea: a history", which isn't valid YAML.

    Also return whether they are all that the block contains.
    """
    properties: dict[str, Any] = {}
    name, is_whole = "", True
    for line in block.splitlines():
        if match := _SIMPLE_LINE.fullmatch(line.rstrip()):
            name = match["name"].lower()
            value = _unquoted(match["value"] or "")
            is_list = value[:1] == "[" != value[1:2]  # not for [[a link]]
            items = [_unquoted(item) for item in value.strip("[]").split(",")]
            properties[name] = items if is_list else value
        elif name and (match := _ITEM.fullmatch(line.rstrip())):
            if not isinstance(properties[name], list):
                properties[name] = [properties[name]] if properties[name] else []
            properties[name].append(_unquoted(match["value"]))
        elif line.strip():
            is_whole = False
        is_whole &= len(line) < LONGEST_LINE
    return properties, is_whole


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'")
