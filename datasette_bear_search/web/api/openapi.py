"""The URLs that we serve and what they take: openapi.yaml, completed from the code."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ...index.config import did_you_mean
from ...query.filter_values import InvalidParameter
from ...query.filters import FILTERS, Filter
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
ROW_SCHEMAS = {".json": "Row", "/similar/{id}.json": "SimilarRow"}


@cache
def description() -> dict[str, Any]:
    """Return the API's OpenAPI description, without ``servers``."""
    described = yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text("utf-8"))
    own = described["x-parameters"]
    for name, values in {**CHOICES, "_shape": SHAPES}.items():
        own[name]["schema"] = {"enum": [*values]}
    for name, (lowest, highest) in NUMBERS.items():
        own[name]["schema"] = {"type": "number", "minimum": lowest, "maximum": highest}
    search = described["paths"][f"{SEARCH_PATH}.json"]["get"]["parameters"]
    search += [_filter(name, row) for row in FILTERS.values() for name in row.parameters]
    return {name: each for name, each in described.items() if not name.startswith("x-")}


@cache
def parameters(path: str) -> tuple[str, ...]:
    taken = description()["paths"][SEARCH_PATH + path]["get"]["parameters"]
    return tuple(each["name"] for each in taken)


def check_parameters(path: str, given: Any) -> None:
    """Raise InvalidParameter for an unknown parameter, unless it begins with "_", or value."""
    known = parameters(path)
    for name in given:
        if name not in known and not name.startswith("_"):
            raise InvalidParameter(f"There is no parameter {name!r}. {did_you_mean(name, known)}")
    if path in ROW_SCHEMAS:
        keys = [*description()["components"]["schemas"][ROW_SCHEMAS[path]]["properties"]]
        for name, values in {"_shape": SHAPES, "_col": keys, "_nocol": keys}.items():
            if wrong := [value for value in given.getlist(name) if value and value not in values]:
                message = f"{name} must be one of {', '.join(values)}, not {wrong[0]!r}"
                raise InvalidParameter(message)


def _filter(name: str, row: Filter) -> dict[str, Any]:
    schema: dict[str, Any] = {"enum": ["0", "1"]} if row.kind == "state" else {"type": "string"}
    if row.kind in ("text", "choice"):
        schema = {"type": "array", "items": {"enum": [*row.choices]} if row.choices else schema}
    meaning = row.help or row.title
    return {"name": name, "in": "query", "description": meaning, "schema": schema}
