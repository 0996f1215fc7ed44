"""A model's arguments → what a tool takes, leniently: each refusal costs a call.

Of eleven ways in which models wrote these arguments without having read the schema closely
("limit": 50, "tag" beside the query, filters as a string), all do what was meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from ..index.config import did_you_mean
from ..query.filters import ALIASES, FILTERS
from . import ToolError

NOTE = "note://"  # the address of a note as a resource

# What other servers call these.
_NAMES = {
    "q": "query", "question": "query", "text": "query", "order": "sort", "sort_by": "sort",
    "count": "limit", "k": "limit", "max_results": "limit", "n": "limit", "top_k": "limit",
    "heading": "section", "note": "id", "note_id": "id", "parent": "under", "tag": "under",
    "uri": "id", "body": "text", "content": "text",
}  # fmt: skip


def read_arguments(
    tool: str, schemas: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return all arguments of a tool, and notices about those that were changed.

    :raises ToolError: if it isn't clear what is meant
    """
    given: dict[str, Any] = {}
    filters: dict[str, Any] = {}
    known = schemas["filters"]["properties"] if "filters" in schemas else {}
    for name, value in _without_empty(values).items():
        if place := _argument(name, schemas):
            if place == "query" and isinstance(value, list) and len(value) > 1:
                place = "queries"
            given.setdefault(place, value)
        elif names := _filters(name, value, known):
            filters |= names
        elif schemas:
            takes = ", ".join(schemas)
            raise ToolError(f"{tool} has no argument {name!r}. It takes: {takes}.")
    if filters:
        given["filters"] = {**filters, **_object("filters", given.get("filters") or {})}
    empty = {"string": "", "boolean": False, "integer": None, "array": [], "object": {}}
    notices: list[str] = []
    read = {
        name: _read(name, schema, given[name], notices)
        if name in given
        else schema.get("default", empty.get(str(schema["type"])))
        for name, schema in schemas.items()
    }
    return read, notices


def _argument(name: str, schemas: Mapping[str, Any]) -> str:
    """Return the argument that is meant by this name; ``""`` if none is."""
    name = _snake_case(name)
    for each in (name, _NAMES.get(name, "")):
        for form in (each, f"{each}s", each.removesuffix("s")):
            if form in schemas:
                return form
    # A title names a note where a tool takes one.
    return "id" if name in ("title", "titles") and "id" in schemas else ""


def _filters(name: str, value: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters that are meant; nothing if none is."""
    name = _snake_case(name)
    for form in (name, name.removesuffix("s"), ALIASES.get(name.replace("_", "-"), "")):
        if form in known:
            return {form: value}
        if form in ("after", "before") and "modified_after" in known:
            return {f"modified_{form}": value}
        if form in FILTERS and f"{form}_after" in known:  # created: 2024, or 2023..2024
            first, dots, last = str(value).partition("..")
            ends = (first, last) if dots else (first, first)
            return _without_empty(dict(zip(FILTERS[form].parameters, ends)))
    if name == "is":
        states = value if isinstance(value, list) else [value]
        return {state: True for state in map(str, states) if state in known}
    return {}


def _read(name: str, schema: Mapping[str, Any], value: Any, notices: list[str]) -> Any:
    kind = schema["type"]
    if isinstance(kind, list):
        return _note(value)
    if kind == "array":
        items = _items(value, schema["items"])
        if len(items) > (most := schema.get("maxItems", len(items))):
            notices.append(f"{name} takes {most} at most: the first {most} were taken.")
        return [_read(name, schema["items"], item, notices) for item in items[:most]]
    if kind == "integer":
        return _number(name, schema, value, notices)
    if kind == "boolean":
        text = str(value).strip().lower()
        if text not in ("true", "false", "1", "0", "yes", "no"):
            raise ToolError(f"{name} must be true or false, not {value!r}.")
        return text in ("true", "1", "yes")
    if kind == "object":
        return dict(_read_filters(schema["properties"], _object(name, value)))
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, (list, dict)):
        raise ToolError(f"{name} must be a text, not {value!r}.")
    text = str(value).strip()
    if choices := schema.get("enum"):
        if (choice := text.lower()) not in choices:
            choice = schema.get("default", choices[0])
            notices.append(f"{name} is one of {', '.join(choices)}: {choice} was taken.")
        return choice
    # A trailing space tells the search that the last word is complete.
    return f"{text} " if name == "query" and text and str(value)[-1].isspace() else text


def _note(value: Any) -> int | str:
    """Return a note's id, or what else names it: SOURCE:KEY, the path of its file or its title."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, (list, dict, bool)):
        raise ToolError(f"A note is named by its id or title, not by {value!r}.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text.startswith(NOTE):
        text = unquote(text.removeprefix(NOTE)).strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= 18  # that SQLite can store
    return int(text) if is_number else text


def _items(value: Any, schema: Mapping[str, Any]) -> list[Any]:
    """Return a list that may be written as JSON, as numbers between commas or as a lone item."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    are_notes = isinstance(schema["type"], list)
    if are_notes and re.fullmatch(r"\s*\d+(?:\s*,\s*\d+)+\s*", str(value)):
        return str(value).split(",")
    return value if isinstance(value, list) else [value]


def _number(name: str, schema: Mapping[str, Any], value: Any, notices: list[str]) -> int:
    lowest, highest = schema["minimum"], schema["maximum"]
    is_whole = isinstance(value, float) and value.is_integer()
    text = str(int(value) if is_whole else value).strip()
    if not (re.fullmatch(r"[+-]?\d+", text, re.ASCII) and len(text) < 100):
        raise ToolError(f"{name} must be a number from {lowest} to {highest}, not {value!r}.")
    number = min(max(int(text), lowest), highest)
    if number != int(text):
        notices.append(f"{name} is from {lowest} to {highest}: {number} was taken.")
    return number


def _object(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    if not isinstance(value, dict):
        raise ToolError(f'{name} must be an object such as {{"tag": "work"}}, not {value!r}.')
    return value


def _read_filters(
    known: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any]]]:
    for name, given in _without_empty(values).items():
        filters = _filters(name, given, known)
        if not filters:
            raise ToolError(f"There is no filter {name!r}. {did_you_mean(name, known)}")
        for each, value in filters.items():
            texts = _items(value, known[each])
            if any(isinstance(text, (list, dict)) for text in texts):
                raise ToolError(f"{name} must be a text or a list of texts, not {value!r}.")
            # A tag or a title may be a number.
            yield each, [text if isinstance(text, bool) else str(text) for text in texts]


def _snake_case(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[-\s.]+", "_", words).lower()


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}
