"""The hooks of a Datasette plugin that searches your own notes by words and by meaning."""

# Every datasette command imports this module and few of them need it, so hooks import lazily.
from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pluggy import HookimplMarker

if TYPE_CHECKING:
    from click import Group
    from datasette.app import Datasette

    from .embeddings.base import ModelUnavailable as ModelUnavailable
    from .embeddings.rerankers import RerankerFactory
    from .index.file.database import SidecarError as SidecarError
    from .index.run.lock import IndexBusy as IndexBusy
    from .library import Library as Library
    from .library import NoteNotFound as NoteNotFound
    from .notes import ForeseenError as ForeseenError
    from .notes import Note as Note
    from .notes import Tag as Tag
    from .query.filter_values import InvalidParameter as InvalidParameter
    from .search.engine import SearchResponse as SearchResponse
    from .search.engine import TimeLimitExceeded as TimeLimitExceeded
    from .search.results.records import Hit as Hit
    from .sources.base import SourceError as SourceError
    from .sqlite import sqlite3

# Set before these libraries are imported: onnxruntime reports the machine to Microsoft on import,
# and the client of the Hugging Face hub sends more than a download needs.
os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1")

Actor = dict[str, Any] | None

# Equal to datasette.hookimpl, but `bear-search` and the Python API needn't import Datasette.
hookimpl = HookimplMarker("datasette")


# The Python API: what can be imported from here, and the modules that have it.
_MODULES = {
    "Hit": "search.results.records",
    "Library": "library",
    "Note": "notes",
    "SearchResponse": "search.engine",
    "Tag": "notes",
    "ForeseenError": "notes",
    "IndexBusy": "index.run.lock",
    "InvalidParameter": "query.filter_values",
    "ModelUnavailable": "embeddings.base",
    "NoteNotFound": "library",
    "SidecarError": "index.file.database",
    "SourceError": "sources.base",
    "TimeLimitExceeded": "search.engine",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


@hookimpl
def register_commands(cli: Group) -> None:
    from . import cli as commands

    commands.register(cli)


@hookimpl
def prepare_connection(conn: sqlite3.Connection, datasette: Datasette) -> None:
    _web("requests.startup").prepare_connection(datasette, conn)


@hookimpl
async def startup(datasette: Datasette) -> None:
    await _web("datasette.pages").start(datasette)


@hookimpl
def register_routes() -> list[tuple[str, Any]]:
    from .agents import http

    return [(rf"^{http.MCP_ROUTE}$", http.mcp), *_web("datasette.pages").routes()]


@HookimplMarker("llm")
def register_tools(register: Any) -> None:
    from .agents import tools

    tools.register_tools(register)


@hookimpl
def register_agent_tools(datasette: Datasette) -> list[Any]:
    from .agents import http

    return http.agent_tools(datasette)


@hookimpl
def skip_csrf(datasette: Datasette, scope: dict[str, Any]) -> bool:
    from .agents import http

    # Datasette 1.0 has no such hook: it checks the origin of every request instead.
    return http.is_mcp_request(datasette, scope)


@hookimpl
def menu_links(datasette: Datasette, actor: Actor) -> Any:
    return lambda: _web("datasette.menus").menu_links(datasette, actor)


homepage_actions = menu_links


@hookimpl
def database_actions(datasette: Datasette, actor: Actor, database: str) -> Any:
    return lambda: _web("datasette.menus").menu_links(datasette, actor, database)


@hookimpl
def table_actions(datasette: Datasette, actor: Actor, database: str, table: str) -> Any:
    return lambda: _web("datasette.menus").table_links(datasette, actor, database, table)


@hookimpl
def extra_template_vars(
    datasette: Datasette, request: Any, database: str | None, view_name: str | None
) -> Any:
    if view_name not in ("index", "database", "table"):
        return {}

    async def variables() -> dict[str, Any]:
        menus = _web("datasette.menus")
        return {"bear_searches": await menus.menu_links(datasette, request.actor, database)}

    return variables


@hookimpl
def jump_items_sql(datasette: Datasette, actor: Actor, request: Any) -> Any:
    return lambda: _web("datasette.menus").jump_items(datasette, actor, request)


@hookimpl
def render_cell(
    datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any
) -> Any:
    return _web("datasette.cells").rendered_cell(datasette, database, table, column, value, row)


@hookimpl
def extra_css_urls(
    datasette: Datasette, request: Any, database: str | None, view_name: str | None
) -> Any:
    actor = request.actor if request else None
    return lambda: _web("datasette.cells").css_urls(datasette, actor, database, view_name)


@hookimpl(trylast=True)  # the last plugin's answer wins
def permission_allowed(datasette: Datasette, actor: Actor, action: str, resource: Any) -> Any:
    # Datasette 1.0 calls permission_resources_sql instead.
    if action == "view-query":
        return lambda: _web("datasette.metadata").query_permission(datasette, actor, resource)
    if action == "view-table":
        return lambda: _web("requests.permissions").table_permission(datasette, actor, resource)
    return None


@hookimpl
def permission_resources_sql(datasette: Datasette, actor: Actor, action: str) -> Any:
    if action == "view-query":
        return lambda: _web("datasette.metadata").query_rules(datasette, actor)
    if action == "view-table":
        return lambda: _web("requests.permissions").table_rules(datasette, actor)
    if action == "bear-search":
        return lambda: _web("requests.permissions").search_rules(datasette, actor)
    return []  # with None, Datasette would mistake the next plugin's rules for ours


@hookimpl
def register_actions() -> list[Any]:
    from datasette.permissions import Action
    from datasette.resources import DatabaseResource

    about = "Search notes and read them, without SQL and tables"
    return [Action(name="bear-search", description=about, resource_class=DatabaseResource)]


@hookimpl
def bear_search_register_rerankers() -> Mapping[str, RerankerFactory]:
    from .embeddings import rerankers

    return {"cross-encoder": rerankers.CrossEncoder}


def _web(module: str) -> Any:
    """Import a module of the pages, which Datasette needs only once somebody looks at one."""
    return import_module(f".web.{module}", __package__)
