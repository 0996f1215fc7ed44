"""The properties at the top of a Markdown file, in YAML between ``---`` or in TOML between ``+++``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

from ..text import storable, timestamp

# All by their lower-case names. The first that has a value counts.
TITLES = ("title",)
TAGS = ("tags", "tag", "keywords", "categories", "category")
CREATED = "created date date_created created_at createdat creation_date published pubdate".split()
MODIFIED = "modified updated lastmod last_modified date_modified updated_at modified_at".split()

# Those that a note has elsewhere.
SHOWN = (*TITLES, *TAGS, *CREATED, *MODIFIED)

# What only programs read. All else is somebody's words, and is searched.
MACHINERY = frozenset(
    """
    banner collapsed cover cssclass cssclasses draft excalidraw-plugin guid icon id image kanban-plugin lang language
    layout math nav_order order permalink position publish sidebar_position slug template toc uid url uuid weight
    """.split()
)

# Longer ones are something else, and libyaml's parser, which calls itself for each level, ends Python at some depth.
LONGEST = 65_536  # characters
DEEPEST = 50

_BLOCK = re.compile(
    r"\s*(?P<fence>---|\+\+\+)[ \t]*\n(?P<block>(?:.*\n)*?)(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z)"
)
_DEEP_LINE = re.compile(rf"(?:[-?:][ \t]+){{{DEEPEST}}}")
_SIMPLE_LINE = re.compile(r"(?P<name>[^\W\d_][\w-]{0,60}):(?:[ \t]+(?P<value>.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.+)")


class Invalid(Exception):
    """It looks like front matter, but can't be read. The message says why."""


def split(text: str) -> tuple[dict[str, Any], str, str]:
    """Properties by lower-case name, the text below them, and what is wrong with them.

    Front matter in which something is wrong stays in the text, whose words nobody must lose; what can be read line by line
    is a property all the same.
    """
    if text.lstrip()[:3] not in ("---", "+++"):
        return {}, text, ""
    match = _BLOCK.match(text, 0, LONGEST)
    if match is None:
        return {}, text, ""
    block = match["block"]
    try:
        properties = _toml(block) if match["fence"] == "+++" else _yaml(block)
    except Invalid as error:
        return _simple_lines(block), text, str(error)
    if properties is None:  # a text between two rules
        return {}, text, ""
    return properties, text[match.end() :].lstrip("\n"), ""


def first(properties: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of these properties that has a value, as text on one line."""
    for name in names:
        if name in properties and (found := values(properties[name])):
            return found[0]
    return ""


def date(properties: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first of these properties that is a date, in ISO 8601."""
    for name in names:
        if name in properties:
            for value in values(properties[name]):
                if moment := timestamp(value):
                    return moment
    return None


def tags(properties: Mapping[str, Any], names: Iterable[str] = TAGS) -> list[str]:
    """The tags in these properties, without "#": a list, or a text with commas or else blanks between them."""
    found: list[str] = []
    for name in names:
        value = properties.get(name)
        if value is None:
            continue
        for text in values(value):
            if not isinstance(value, str):
                found.append(text)
            else:
                found += text.split(",") if "," in text else text.split()
    return [tag for tag in (item.strip().strip("#\"'/ ") for item in found) if tag]


def as_list(properties: Mapping[str, Any], shown: Iterable[str] = SHOWN) -> str:
    """The properties that are somebody's words as a Markdown list, which is to stand above the text; "" without any.

    So an alias, an author or an ISBN is found by its words, stands in the passage that is compared by meaning, and is seen on
    the note's page.

    :param shown: names of those that the note has elsewhere
    """
    if not properties:
        return ""
    left_out = MACHINERY.union(shown)
    lines = [
        f"- {name}: {', '.join(said)}\n"
        for name, value in properties.items()
        if name not in left_out
        and (said := [text for text in values(value) if _says_something(text)])
    ]
    return "".join(lines) + "\n" if lines else ""


def values(value: Any, depth: int = 2) -> list[str]:
    """The texts in a property, however they are nested, each on one line."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        value = [
            f"{name}: {text}" for name, inner in value.items() for text in values(inner, depth - 1)
        ] if depth else []  # fmt: skip
    if isinstance(value, (list, tuple, set)):
        return [text for inner in value for text in values(inner, depth - 1)] if depth else []
    text = " ".join(storable(str(value)).split())
    return [text] if text not in ("", "null", "~", "None") else []


def _says_something(text: str) -> bool:
    return text.lower() not in ("true", "false", "yes", "no")


def _yaml(block: str) -> dict[str, Any] | None:
    if _depth(block) > DEEPEST or _DEEP_LINE.search(block):
        raise Invalid("its front matter is nested too deeply")
    # Takes 10 ms to import, and Datasette has imported it in a server only.
    import yaml

    # Values stay as they are written: a title "1.10" is no number, and a tag "no" no boolean.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        loaded = yaml.load(block, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise Invalid(f"its front matter is not valid YAML{line}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Invalid("its front matter is not valid YAML") from None
    if not loaded:
        return {}
    if not isinstance(loaded, dict):
        return None
    return {_name(name): value for name, value in loaded.items()}


def _toml(block: str) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        raise Invalid("its front matter is TOML, which needs Python 3.11") from None
    try:
        loaded = tomllib.loads(block)
    except (ValueError, RecursionError):
        raise Invalid("its front matter is not valid TOML") from None
    return {_name(name): value for name, value in loaded.items()}


def _name(name: object) -> str:
    return " ".join(storable(str(name)).lower().split())


def _depth(block: str) -> int:
    steps = (1 if mark in "[{" else -1 for mark in block if mark in "[]{}")
    return max(accumulate(steps), default=0)


def _simple_lines(block: str) -> dict[str, Any]:
    """What stands in lines of their own, as in "title: Tea: a history", which isn't YAML but often written."""
    found: dict[str, Any] = {}
    name = ""
    for line in block.splitlines():
        if match := _SIMPLE_LINE.fullmatch(line.rstrip()):
            name = match["name"].lower()
            found[name] = (match["value"] or "").strip().strip("\"'")
            if found[name][:1] == "[":
                found[name] = [
                    item.strip().strip("\"'") for item in found[name].strip("[]").split(",")
                ]
        elif name and (match := _ITEM.fullmatch(line.rstrip())):
            if not isinstance(found[name], list):
                found[name] = [found[name]] if found[name] else []
            found[name].append(match["value"].strip().strip("\"'"))
    return found
