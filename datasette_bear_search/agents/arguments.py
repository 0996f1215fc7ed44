"""A model's arguments → what a tool takes, leniently: each refusal costs a call.

Of eleven ways in which models wrote these arguments without having read the schema closely
("limit": 50, "tag" beside the query, filters as a string), all do what was meant.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from ..index.config import did_you_mean
from ..query.filters import ALIASES, FILTERS
from . import ToolError

NOTE = "note://"  # the address of a note as a resource

# What other servers call these, without the words of _FILLERS.
_SYNONYMS = {
    "query": "q search question text input prompt keyword term phrase",
    "limit": "count k max n size num results top per_page page_size max_results num_results top_k",
    "offset": "skip start",
    "sort": "order order_by sort_by sort_order",
    "mode": "search_type search_method",
    "detail": "response_format verbosity detail_level",
    "filters": "where",
    "section": "heading",
    "lines": "range line_range",
    "id": "note identifier uri url path file filename title name",
    "under": "parent tag prefix query root",
    "text": "body content",
}
_FILLERS = re.compile(
    r"^(?:search|note|notes|filter|is|parent|by)_|_(?:filter|text|string|name|any|all|contains)$"
)

# What models write for a choice, by what it means here. The first that has a word of it counts.
_CHOICES = {
    "oldest": set("asc ascending old earliest".split()),
    "newest": set("desc descending new recent latest date modified updated created time".split()),
    "semantic": set("vector vectors embedding embeddings meaning similarity".split()),
    "keyword": set("keywords words lexical fulltext text fts bm25".split()),
    "like": set("exact literal substring".split()),
    "concise": set("brief short compact minimal summary low".split()),
}

# Words in the names of dates, and in the names of their first and last days.
_DATES = set("date day time timeframe period year range".split())
_DATES |= set("created modified updated edited changed".split())
_FIRST = set("after since from start begin gt gte min".split())
_LAST = set("before until to end lt lte max".split())
_MINUS = "For {}, write a minus in the query, such as -tag:work or -word."
_ONE_BY_ONE = "A note must meet all filters: to find those that meet any, search once for each."
_EITHER = set("or any either in should".split())
_NOT = set("exclude excluding excluded without not no ne nin neq".split())


def read_arguments(
    tool: str, schemas: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return all arguments of a tool, and notices about those that were changed.

    :raises ToolError: if it isn't clear what is meant
    """
    known = schemas["filters"]["properties"] if "filters" in schemas else {}
    given: dict[str, Any] = {}
    filters: dict[str, list[Any]] = {}
    unknown: list[str] = []
    for place, value in _meant(values, schemas, known):
        if place == "filters":
            for name, wanted in value.items():
                filters.setdefault(name, []).extend(_texts(name, wanted, known[name]))
        elif place:
            several = place == "query" and isinstance(value, list) and len(value) > 1
            given.setdefault("queries" if several else place, value)
        else:
            unknown.append(value)
    notices: list[str] = []
    if unknown and schemas:
        named, takes = ", ".join(map(repr, unknown)), ", ".join(schemas)
        notices.append(f"{tool} has no {named}; that was ignored. It takes: {takes}.")
    empty = {"string": "", "boolean": False, "integer": None, "array": [], "object": filters}
    read = {
        name: _read(name, schema, given[name], notices)
        if name in given
        else schema.get("default", empty.get(str(schema["type"])))
        for name, schema in schemas.items()
    }
    return read, notices


def _meant(
    values: Mapping[str, Any],
    schemas: Mapping[str, Any],
    known: Mapping[str, Any],
    *,
    are_filters: bool = False,
) -> Iterator[tuple[str, Any]]:
    """Yield arguments by their own names, filters as ``filters``, the names of others as ``""``.

    Those inside an object are meant as if they stood beside it: ``{"params": {"query": "roof"}}``.
    """
    for name, value in _without_empty(values).items():
        place, filters = _argument(name, schemas), known and _filters(name, value, known)
        if filters and (are_filters or not place):
            yield "filters", filters
        elif place == "filters" or (are_filters and _snake_case(name) == "and"):
            for each in _objects(name, value):
                yield from _meant(each, schemas, known, are_filters=True)
        elif place and not (isinstance(value, dict) and schemas[place]["type"] == "string"):
            yield place, value
        elif known and _words(name) & _NOT:
            raise ToolError(_MINUS.format(name))
        elif known and _words(name) & _EITHER and "{" in str(value):
            raise ToolError(_ONE_BY_ONE)
        elif are_filters:
            raise ToolError(f"There is no filter {name!r}. {did_you_mean(name, known)}")
        elif isinstance(inner := _json(value), dict):
            meant = [*_meant(inner, schemas, known)]
            if place and meant == [("", *inner)]:  # {"query": {"value": "roof"}}
                meant = [(place, *inner.values())]
            yield from meant
        else:
            yield "", name


def _argument(name: str, schemas: Mapping[str, Any]) -> str:
    """Return the argument that is meant by this name; ``""`` if none is."""
    for form in _forms(name):
        others = (place for place, names in _SYNONYMS.items() if form in names.split())
        for place in (form, *others):
            if found := next((it for it in (place, f"{place}s") if it in schemas), ""):
                return found
    return ""


def _forms(name: str) -> Iterable[str]:
    """Return a name as it is and in the singular, each also without what is left out here."""
    name = _snake_case(name)
    forms = (name, _FILLERS.sub("", name))
    return dict.fromkeys(each for form in forms for each in (form, form.removesuffix("s")))


def _filters(name: str, value: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters that are meant; nothing if none is."""
    for form in _forms(name):
        form = form if form in known else ALIASES.get(form.replace("_", "-"), "").replace("-", "_")
        if form in known and not (form == "source" and re.match(r"\d{4}\b", str(value))):
            return {form: {"any": value} if "any" in _words(name) else value}
    name, words = _snake_case(name), _words(name)
    start, _, kind = name.partition("_")
    if start == "has" and kind.removesuffix("s") in known["has"]["items"]["enum"]:
        return {"has": kind} if _flag(name, value) else {}
    if name == "is":
        states = value if isinstance(value, list) else [value]
        return {state: True for state in map(str, states) if state in known}
    date = "created" if "created" in words else "modified"
    first, last = FILTERS[date].parameters
    ends = words & (_FIRST | _LAST)
    if not words & (_FIRST | _LAST | _DATES) or words - ends - _DATES - {"at", "in", "on"}:
        return {}
    value = _lone(value)
    if isinstance(value, dict):  # created: {"gte": "2024"}
        if not all(_words(end) & (_FIRST | _LAST) for end in value):
            return {}
        return {last if _words(end) & _LAST else first: text for end, text in value.items()}
    if ends:
        return {last if ends & _LAST else first: value}
    both = value if isinstance(value, list) else re.split(r"\.\.| to ", str(value))
    return _without_empty({first: both[0], last: both[-1]})


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
        return _flag(name, value)
    if name == "lines" and isinstance(value, list):
        value = ":".join(map(str, value))
    value = _lone(value)
    if isinstance(value, (list, dict)):
        raise ToolError(f"{name} must be a text, not {value!r}.")
    text = str(value).strip()
    if choices := schema.get("enum"):
        if (choice := text.lower()) not in choices:
            asked = _words(choice)
            meant = (each for each in _CHOICES if each in choices and asked & _CHOICES[each])
            choice = next(meant, schema.get("default", choices[0]))
            notices.append(f"{name} is one of {', '.join(choices)}: {choice} was taken.")
        return choice
    # A trailing space tells the search that the last word is complete.
    return f"{text} " if name == "query" and text and str(value)[-1].isspace() else text


def _flag(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise ToolError(f"{name} must be true or false, not {value!r}.")
    return text in ("true", "1", "yes")


def _note(value: Any) -> int | str:
    """Return a note's id, or what else names it: SOURCE:KEY, the path of its file or its title."""
    value = _lone(value)
    if isinstance(value, dict):
        value = next((value[name] for name in ("id", "title") if name in value), value)
    if isinstance(value, (list, dict, bool)):
        raise ToolError(f"A note is named by its id or title, not by {value!r}.")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text.startswith(NOTE):
        text = unquote(text.removeprefix(NOTE)).strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= 18  # that SQLite can store
    return int(text) if is_number else text


def _lone(value: Any) -> Any:
    """Return the only item of a list; anything else as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _items(value: Any, schema: Mapping[str, Any]) -> list[Any]:
    """Return a list that may be written as JSON, as numbers between commas or as a lone item."""
    value = _json(value)
    are_notes = isinstance(schema["type"], list)
    if are_notes and re.fullmatch(r"\s*\d+(?:\s*,\s*\d+)+\s*", str(value)):
        return str(value).split(",")
    return [item for item in value if item is not None] if isinstance(value, list) else [value]


def _number(name: str, schema: Mapping[str, Any], value: Any, notices: list[str]) -> int:
    lowest, highest = schema["minimum"], schema["maximum"]
    text = str(value).replace(",", "").strip("[] ")
    match = re.fullmatch(r"([+-]?\d{1,99})(\.\d+)?(?: (?:days|notes|results))?", text, re.ASCII)
    asked = int(match[1]) if match else schema.get("default")
    if asked is None:
        raise ToolError(f"{name} must be a number from {lowest} to {highest}, not {value!r}.")
    number = min(max(asked, lowest), highest)
    if number != asked or not match:
        notices.append(f"{name} is from {lowest} to {highest}: {number} was taken.")
    return number


def _json(value: Any) -> Any:
    """Return a list or an object that is written as JSON, or as Python writes it."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return read(value.strip())
    return value


def _objects(name: str, value: Any) -> list[dict[str, Any]]:
    value = _json(value)
    if isinstance(value, str):  # tag:work
        value = dict(re.findall(r'(\w+) ?[:=] ?("[^"]*"|[^\s,;]+)', value)) or value
    objects = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in objects):
        raise ToolError(f'{name} must be an object such as {{"tag": "work"}}, not {value!r}.')
    return objects


def _texts(name: str, value: Any, schema: Mapping[str, Any]) -> list[Any]:
    """Return the values of a filter."""
    one, how = _lone(value), ""
    if isinstance(one, dict) and len(one) == 1 and not _words(*one) & _NOT:
        [(how, value)] = one.items()  # {"tag": {"$in": ["work"]}}
    texts = _items(value, schema)
    is_any = name in FILTERS and FILTERS[name].any_of
    if texts[1:] and _words(how) & _EITHER and not is_any:
        raise ToolError(_ONE_BY_ONE)
    if any(isinstance(text, (list, dict)) for text in texts):
        wrong = f"{name} must be a text or a list of texts, not {value!r}."
        raise ToolError(f"{wrong} {_MINUS.format('what is to be left out')}")
    if name in ("tag", "has"):
        texts = [text.strip() for several in texts for text in str(several).split(",")]
        if any(text.startswith(("-", "!")) for text in texts):
            raise ToolError(_MINUS.format(name))
    # A tag or a title may be a number.
    return [text if isinstance(text, bool) else str(text) for text in texts]


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z0-9]+", _snake_case(name).replace("_", " ")))


def _snake_case(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"\W+", "_", words).strip("_").lower()


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}
