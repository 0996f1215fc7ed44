"""The tools as agents see them, with their descriptions from tools.yaml."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import yaml

from ..index.config import hidden_by_environment
from ..notes import ForeseenError, printable, printable_lines
from ..query.filters import FILTERS, operators
from ..query.query import MODES
from ..search.ranking.statement import SORTS
from . import AgentLibrary, ToolError, ToolResult, links, notes, search
from .arguments import read_arguments

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
        read, notices = read_arguments(name, tools[name].input_schema["properties"], arguments)
        result = tools[name].run(library, **read)
        lines = [*(f"Notice: {printable(notice)}" for notice in notices), result.text]
        data = result.data
        if notices:
            data = data | {"notices": [*notices, *data.get("notices", ())]}
        return ToolResult(printable_lines("\n".join(lines)), _printable_data(data))
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
    """Register a toolbox with the package llm: ``llm -T Notes``, ``llm -T 'Notes("notes.db")'``."""
    import llm

    class Notes(llm.Toolbox):
        """The person's own notes: search them by words and meaning, and read them."""

        def __init__(self, index: str = "", hidden_tags: str = "") -> None:
            hidden = [tag.strip() for tag in hidden_tags.split(",") if tag.strip()]
            self.index, self.hidden = index or None, hidden or hidden_by_environment()

        def tools(self) -> list[Any]:
            return _llm_tools(lambda: AgentLibrary(self.index, self.hidden, redact=True))

        @classmethod
        def method_tools(cls) -> list[Any]:  # for `llm tools list`
            return _llm_tools(AgentLibrary)

    register(Notes)


def _llm_tools(library: Callable[[], AgentLibrary]) -> list[Any]:
    import llm

    about = ((tool.name, tool.description, tool.input_schema) for tool in TOOLS)
    return [
        llm.Tool(f"Notes_{name}", *rest, partial(read_text, library, name)) for name, *rest in about
    ]


def read_text(library: Callable[[], AgentLibrary], name: str, /, **arguments: Any) -> str:
    """Return a tool's text for a model, also if it fails."""
    try:
        return call(library(), name, arguments).text
    except ForeseenError as error:
        return f"Error: {error}"


def _example(name: str, example: str) -> str:
    return f'{name}:"{example}"' if " " in example else f"{name}:{example}"


# The first parameter's description also explains the others of its row.
FILTER_SCHEMAS = {
    parameter: row.schema | ({} if number else {"description": row.help})
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
    "new_note": links.new_note,
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
_ABOUT["tools"]["search_notes"]["input"]["sort"]["enum"] = list(SORTS[:3])
_ABOUT["tools"]["search_notes"]["input"]["filters"]["properties"] = FILTER_SCHEMAS
INSTRUCTIONS: str = _ABOUT["instructions"]
MCP_PROMPTS: dict[str, dict[str, Any]] = _ABOUT["prompts"]
RESOURCE: dict[str, Any] = _ABOUT["resource"]
TOOLS = tuple(_tool(name, about) for name, about in _ABOUT["tools"].items())
