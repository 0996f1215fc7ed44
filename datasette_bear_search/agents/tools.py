"""The tools as agents see them: descriptions from tools.yaml, and how arguments are read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from ..index.config import hidden_by_environment
from ..notes import ForeseenError, printable_lines
from ..query.filters import FILTERS, Filter, operators
from ..query.query import MODES
from . import AgentLibrary, ToolError, ToolResult, notes, search

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    run: Callable[..., ToolResult]  # takes the library, and all arguments as keywords


def call(library: AgentLibrary, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    tools = {tool.name: tool for tool in TOOLS}
    if name not in tools:
        raise ToolError(f"There is no tool {name!r}. The tools are: {', '.join(tools)}.")
    try:
        result = tools[name].run(library, **read_arguments(tools[name], arguments))
        return ToolResult(printable_lines(result.text), _printable_data(result.data))
    except ForeseenError as error:
        raise ToolError(*printable_lines(str(error)).split("\n")) from None
    except Exception as error:
        # Log only the type, because the message may quote a note.
        logger.error("%s failed: %s", name, type(error).__name__)
        raise ToolError(f"{name} failed unexpectedly. Try it with other arguments.") from None


def _printable_data(value: Any) -> Any:
    if isinstance(value, str):
        return printable_lines(value)
    if isinstance(value, dict):
        return {_printable_data(name): _printable_data(each) for name, each in value.items()}
    return [*map(_printable_data, value)] if isinstance(value, (list, tuple)) else value


def register_tools(register: Callable[[Any], None]) -> None:
    """Register the tools with the package llm: ``llm -T search_notes "…"``."""
    import llm

    def library() -> AgentLibrary:
        return AgentLibrary(hidden_tags=hidden_by_environment(), redact=True)

    def function(name: str) -> Callable[..., str]:
        def run(**arguments: Any) -> str:
            return read_text(library, name, arguments)

        return run

    for tool in TOOLS:
        register(llm.Tool(tool.name, tool.description, tool.input_schema, function(tool.name)))


def read_text(library: Callable[[], AgentLibrary], name: str, arguments: Mapping[str, Any]) -> str:
    """Return a tool's text for a model, also if it fails."""
    try:
        return call(library(), name, arguments).text
    except ForeseenError as error:
        return f"Error: {error}"


def read_arguments(tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
    """Read arguments leniently ("5" for 5, "work" for ["work"]), or raise ToolError."""
    schemas = tool.input_schema["properties"]
    given = _without_empty(values)
    if unknown := [name for name in given if name not in schemas]:
        takes = f"It takes: {', '.join(schemas)}." if schemas else "It takes none."
        raise ToolError(f"{tool.name} has no argument {unknown[0]!r}. {takes}")
    empty = {"string": "", "boolean": False, "integer": None, "array": [], "object": {}}
    return {
        name: _read(name, schema, given[name])
        if name in given
        else schema.get("default", empty.get(str(schema["type"])))
        for name, schema in schemas.items()
    }


def _read(name: str, schema: Mapping[str, Any], value: Any) -> Any:
    kind = schema["type"]
    if isinstance(kind, list):  # a note: its id, SOURCE:KEY, or the path of its file
        is_name = isinstance(value, str) and (":" in value or "/" in value)
        return value.strip() if is_name else _read_number(name, schema, value)
    if kind == "array":
        items = value if isinstance(value, list) else [value]
        if len(items) > schema.get("maxItems", len(items)):
            raise ToolError(f"{name} takes {schema['maxItems']} at most; send the best ones.")
        return [_read(name, schema["items"], item) for item in items]
    if kind == "integer":
        return _read_number(name, schema, value)
    if kind == "boolean":
        if str(value).lower() not in ("true", "false", "1", "0"):
            raise ToolError(f"{name} must be true or false, not {value!r}.")
        return str(value).lower() in ("true", "1")
    if kind == "object":
        return _read_filters(name, schema, value)
    if isinstance(value, (list, dict)):
        raise ToolError(f"{name} must be a text, not {value!r}.")
    text = str(value).strip()
    if text not in (choices := schema.get("enum", [text])):
        raise ToolError(f"{name} must be one of {', '.join(choices)}, not {text!r}.")
    # A trailing space tells the search that the last word is complete.
    return f"{text} " if name == "query" and text and str(value)[-1].isspace() else text


def _read_number(name: str, schema: Mapping[str, Any], value: Any) -> int:
    """Return a whole number that SQLite can store."""
    is_whole = isinstance(value, float) and value.is_integer()
    text = str(int(value) if is_whole else value).strip()
    lowest, highest = schema.get("minimum", 0), schema.get("maximum", 10**18)
    is_number = text.isascii() and text.isdigit() and len(text) <= 18
    if is_number and lowest <= int(text) <= highest:
        return int(text)
    if "minimum" in schema:
        raise ToolError(f"{name} must be a number from {lowest} to {highest}, not {value!r}.")
    raise ToolError(
        f"{name} takes numbers as search_notes gives them, not {value!r}. If it is a title, use "
        "titles of get_notes."
    )


def _read_filters(name: str, schema: Mapping[str, Any], value: Any) -> dict[str, list[Any]]:
    if not isinstance(value, dict):
        raise ToolError(f'{name} must be an object such as {{"tag": "work"}}, not {value!r}.')
    known, filters = schema["properties"], {}
    for key, given in _without_empty(value).items():
        if key not in known:
            raise ToolError(f"There is no filter {key!r}. The filters are: {', '.join(known)}.")
        texts = given if isinstance(given, list) else [given]
        if any(isinstance(text, (list, dict)) for text in texts):
            raise ToolError(f"{key} must be a text or a list of texts, not {given!r}.")
        filters[key] = texts
    return filters


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _filter_schema(row: Filter) -> dict[str, Any]:
    if row.kind in ("state", "date"):
        return {"type": "boolean" if row.kind == "state" else "string"}
    items = {"type": "string", **({"enum": list(row.choices)} if row.choices else {})}
    return {"type": "array", "items": items}


def _example(name: str, example: str) -> str:
    return f'{name}:"{example}"' if " " in example else f"{name}:{example}"


# The first parameter's description also explains the others of its row.
FILTER_SCHEMAS = {
    parameter: _filter_schema(row) | ({} if number else {"description": row.help})
    for row in FILTERS.values()
    for number, parameter in enumerate(row.parameters)
}
_NUMBERS = {
    "MAX_NOTES": notes.MAX_NOTES,
    "NOTE_CHARACTERS": f"{notes.NOTE_CHARACTERS:,}",
    "CALL_CHARACTERS": f"{notes.CALL_CHARACTERS:,}",
    "OPERATORS": ", ".join(_example(name, each.example) for name, each in operators().items()),
}
_FUNCTIONS: dict[str, Callable[..., ToolResult]] = {
    "search_notes": search.search_notes,
    "get_notes": notes.get_notes,
    "similar_notes": search.similar_notes,
    "list_tags": notes.list_tags,
    "library_status": notes.library_status,
}


def _tool(name: str, about: dict[str, Any]) -> Tool:
    takes, gives = (
        {"type": "object", "properties": about[each], "required": about.get(f"required_{each}", [])}
        for each in ("input", "output")
    )
    description = Template(about["description"]).substitute(_NUMBERS)
    return Tool(name, about["title"], description, takes, gives, _FUNCTIONS[name])


_ABOUT = yaml.safe_load(Path(__file__).with_name("tools.yaml").read_text(encoding="utf-8"))
_ABOUT["tools"]["search_notes"]["input"]["mode"]["enum"] = list(MODES)
_ABOUT["tools"]["search_notes"]["input"]["filters"]["properties"] = FILTER_SCHEMAS
INSTRUCTIONS: str = _ABOUT["instructions"]
MCP_PROMPTS: dict[str, dict[str, str]] = _ABOUT["prompts"]
TOOLS = tuple(_tool(name, about) for name, about in _ABOUT["tools"].items())
