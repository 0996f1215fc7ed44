"""Search over your own notes, by words and by meaning, as a Datasette plugin.

The hooks, each a few lines that call a room of their own.
"""

# Every datasette command imports this module, and most need nothing of it: each hook imports its rooms when it is called.
from __future__ import annotations

from pluggy import HookimplMarker

# Datasette's own, without the import of Datasette: the `bear-search` command and users of the Python API do without it.
hookimpl = HookimplMarker("datasette")


@hookimpl
def register_commands(cli):
    from . import cli as commands

    commands.register(cli)


@hookimpl
def prepare_connection(conn, datasette):
    from .index import database as sidecar
    from .search import functions
    from .web import site

    functions.register(conn)
    if sidecar.is_sidecar_connection(conn):
        from .search import functions

        sidecar.wait_for_writers(conn)
        if not sidecar.load_vector_extension(conn):
            sidecar.hide_passage_index(conn)
        functions.register_embed(conn)
        functions.register_search(conn, redact=site.redacts(datasette))


@hookimpl
async def startup(datasette):
    from .web import datasette_ui, site

    site.require_redaction_if_configured(datasette)
    site.attach_sidecar(datasette)
    await site.warm_up_if_configured(datasette)
    await datasette_ui.apply(datasette)
    await datasette_ui.store_queries(datasette)


@hookimpl
def register_routes():
    from .agents import http
    from .web import api, note_page, search_page, site

    return [
        (r"^/-/bear-search(\.(?P<format>json))?$", search_page.search),
        (rf"^{api.JUDGE_PATH}$", api.judge),
        (rf"^{api.SUGGEST_PATH}\.json$", api.suggest),
        (
            rf"^{site.SIMILAR_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$",
            note_page.similar_notes,
        ),
        (rf"^{site.NOTE_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$", note_page.note),
        (rf"^{http.MCP_PATH}$", http.mcp),
    ]


@hookimpl
def skip_csrf(datasette, scope):
    from .agents import http

    # Datasette 1.0 has no such hook: there every request is checked by its origin.
    return http.is_mcp_request(datasette, scope)


@hookimpl
def menu_links(datasette, actor):
    from .web import datasette_ui

    return lambda: datasette_ui.menu_links(datasette, actor)


@hookimpl
def homepage_actions(datasette, actor):
    from .web import datasette_ui

    return lambda: datasette_ui.menu_links(datasette, actor)


@hookimpl
def database_actions(datasette, actor, database):
    from .web import datasette_ui

    return lambda: datasette_ui.database_links(datasette, actor, database)


@hookimpl
def table_actions(datasette, actor, database, table):
    from .web import datasette_ui

    return lambda: datasette_ui.table_links(datasette, actor, database, table)


@hookimpl
def row_actions(datasette, actor, database, table, row):
    from .web import datasette_ui

    return lambda: datasette_ui.row_links(datasette, actor, database, table, row)


@hookimpl
def jump_items_sql(datasette, actor, request):
    from .web import datasette_ui

    return lambda: datasette_ui.jump_items(datasette, actor, request)


@hookimpl
def render_cell(datasette, database, table, column, value, row):
    from .web import datasette_ui

    return datasette_ui.render(datasette, database, table, column, value, row)


@hookimpl
def extra_css_urls(datasette, database):
    from .web import datasette_ui

    return datasette_ui.css_urls(datasette, database)


@hookimpl
def canned_queries(datasette, database):
    from .web import datasette_ui

    # Datasette 1.0 has no such hook: there the queries are stored when it starts.
    return lambda: datasette_ui.canned_queries(datasette, database)


@hookimpl
def get_metadata(datasette, key):
    from .web import datasette_ui

    # Nor this one.
    return datasette_ui.metadata(datasette, key)


@hookimpl
def register_rerankers():
    from .embeddings import rerankers

    return rerankers.built_in_rerankers()
