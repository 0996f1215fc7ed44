"""The URLs that we serve and what they take: openapi.yaml, completed from the code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ...index.config import did_you_mean
from ...query.filter_values import InvalidParameter
from ...query.filters import FILTERS
from ...search.request import CHOICES, NUMBERS

SEARCH_PATH = "/-/bear-search"
# Takes all paths that end like ours, such as "//host/-/bear-search": Datasette 0.65 crashes on each
# path without a route if the package rich is installed, which comes with transformers.
ROUTE = rf"(/(?P<database>.*?))?{SEARCH_PATH}"
SIMILAR_PATH = f"{SEARCH_PATH}/similar"
NOTE_PATH = f"{SEARCH_PATH}/note"
UPDATE_PATH = f"{SEARCH_PATH}/update"
STATIC_PATH = f"{SEARCH_PATH}/static"

SHAPES = ("objects", "array", "arrayfirst", "arrays", "object")
CSV_COLUMNS = (
    "id", "title", "text", "heading", "file", "tags", "source", "key", "created", "modified",
    "pinned", "archived", "encrypted", "is_found", "keyword_rank", "semantic_rank", "similarity",
    "score", "why", "url", "page_url",
)  # fmt: skip
_FLAG = {"type": "string", "enum": ["0", "1"]}
ROW_SCHEMAS = {".json": "Row", "/similar/{id}.json": "SimilarRow"}


@cache
def description() -> dict[str, Any]:
    """Return the API's OpenAPI description, without ``servers``."""
    described = yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text("utf-8"))
    own = described["x-parameters"]
    for name, values in {**CHOICES, "_shape": SHAPES}.items():
        own[name]["schema"] = {"type": "string", "enum": [*values]}
    for name, (lowest, highest) in NUMBERS.items():
        own[name]["schema"] = {"type": "number", "minimum": lowest, "maximum": highest}
    filters = [
        {
            "name": name,
            "in": "query",
            "description": row.help or row.title,
            "schema": _FLAG if row.kind == "state" else row.schema,
        }
        for row in FILTERS.values()
        for name in row.parameters
    ]
    for form in ("json", "csv"):
        described["paths"][f"{SEARCH_PATH}.{form}"]["get"]["parameters"] += filters
    _require_all(described["components"])
    return {name: each for name, each in described.items() if not name.startswith("x-")}


def _require_all(schema: Any) -> None:
    """Say of each object that all of its keys are always there, but for facets."""
    if isinstance(schema, list):
        for each in schema:
            _require_all(each)
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema["required"] = [name for name in schema["properties"] if name != "facets"]
        for each in schema.values():
            _require_all(each)


@cache
def parameters(path: str) -> tuple[str, ...]:
    taken = description()["paths"][SEARCH_PATH + path]["get"]["parameters"]
    return tuple(each["name"] for each in taken if each["in"] == "query")


# Parameters of Datasette's own JSON that would change what it returns, and what to use here.
_DATASETTES = {
    "_extra": "All keys are returned; _col and _nocol choose among them.",
    "_facet": "Use _facets=1.",
    "_search": "Use q.",
    "_sort": "Use sort.",
    "_where": "Use the filters.",
}


def check_parameters(path: str, given: Any) -> None:
    """Raise InvalidParameter for an unknown parameter or value.

    Datasette's own parameters are accepted if they change nothing here, such as ``_ttl``.
    """
    known = parameters(path)
    for name in given:
        kind = re.match("_[a-z]*", name)
        if name in known or (kind and kind[0] not in _DATASETTES):
            continue
        problem = did_you_mean(name, known) if known else "This address takes none."
        if kind:
            problem = _DATASETTES[kind[0]]
        raise InvalidParameter(f"There is no parameter {name!r}. {problem}")
    if path in ROW_SCHEMAS or path == ".csv":
        schemas = description()["components"]["schemas"]
        keys = CSV_COLUMNS if path == ".csv" else [*schemas[ROW_SCHEMAS[path]]["properties"]]
        for name, values in {"_shape": SHAPES, "_col": keys, "_nocol": keys}.items():
            if wrong := [value for value in given.getlist(name) if value and value not in values]:
                message = f"{name} must be one of {', '.join(values)}, not {wrong[0]!r}"
                raise InvalidParameter(message)
