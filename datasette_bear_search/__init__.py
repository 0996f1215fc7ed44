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
    from . import serving, sidecar, sql_functions

    sql_functions.register(conn)
    if sidecar.is_sidecar_connection(conn):
        from . import sql_search

        sidecar.wait_for_writers(conn)
        if not sidecar.load_vector_extension(conn):
            sidecar.hide_passage_index(conn)
        sql_functions.register_embed(conn)
        sql_search.register(conn, redact=serving.redacts(datasette))


@hookimpl
async def startup(datasette):
    from . import serving, stored_queries, table_metadata

    serving.require_redaction_if_configured(datasette)
    serving.attach_sidecar(datasette)
    await serving.warm_up_if_configured(datasette)
    await table_metadata.apply(datasette)
    await stored_queries.store_queries(datasette)


@hookimpl
def register_routes():
    from . import judging, note_view, serving, similar_view, suggestions_view, views
    from .agents import view as agents_view

    return [
        (r"^/-/bear-search(\.(?P<format>json))?$", views.search),
        (rf"^{judging.JUDGE_PATH}$", judging.judge),
        (rf"^{suggestions_view.SUGGEST_PATH}\.json$", suggestions_view.suggest),
        (
            rf"^{serving.SIMILAR_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$",
            similar_view.similar_notes,
        ),
        (rf"^{serving.NOTE_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$", note_view.note),
        (rf"^{agents_view.MCP_PATH}$", agents_view.mcp),
    ]


@hookimpl
def skip_csrf(datasette, scope):
    from .agents import view

    # Datasette 1.0 has no such hook: there every request is checked by its origin.
    return view.is_mcp_request(datasette, scope)


@hookimpl
def menu_links(datasette, actor):
    from . import menus

    return lambda: menus.menu_links(datasette, actor)


@hookimpl
def homepage_actions(datasette, actor):
    from . import menus

    return lambda: menus.menu_links(datasette, actor)


@hookimpl
def database_actions(datasette, actor, database):
    from . import menus

    return lambda: menus.database_links(datasette, actor, database)


@hookimpl
def table_actions(datasette, actor, database, table):
    from . import menus

    return lambda: menus.table_links(datasette, actor, database, table)


@hookimpl
def row_actions(datasette, actor, database, table, row):
    from . import menus

    return lambda: menus.row_links(datasette, actor, database, table, row)


@hookimpl
def jump_items_sql(datasette, actor, request):
    from . import jump

    return lambda: jump.jump_items(datasette, actor, request)


@hookimpl
def render_cell(datasette, database, table, column, value, row):
    from . import cells

    return cells.render(datasette, database, table, column, value, row)


@hookimpl
def extra_css_urls(datasette, database):
    from . import cells

    return cells.css_urls(datasette, database)


@hookimpl
def canned_queries(datasette, database):
    from . import stored_queries

    # Datasette 1.0 has no such hook: there the queries are stored when it starts.
    return lambda: stored_queries.canned_queries(datasette, database)


@hookimpl
def get_metadata(datasette, key):
    from . import table_metadata

    # Nor this one.
    return table_metadata.metadata(datasette, key)


@hookimpl
def register_rerankers():
    from . import rerankers

    return rerankers.our_rerankers()
