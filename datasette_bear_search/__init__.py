"""Search over your own notes, by words and by meaning, as a Datasette plugin.

The hooks, each a few lines that call a room of their own.
"""

# Every datasette command imports this module: nothing here may import torch, numpy or sqlite_utils.
from __future__ import annotations

from datasette import hookimpl

from . import cli as commands
from . import hookspecs, judging, rerankers, serving, sidecar, similar_view, sql_functions, views


@hookimpl
def register_commands(cli):
    commands.register(cli)


@hookimpl
def prepare_connection(conn):
    sql_functions.register(conn)
    if sidecar.is_sidecar_connection(conn):
        if not sidecar.load_vector_extension(conn):
            sidecar.hide_passage_index(conn)
        sql_functions.register_embed(conn)


@hookimpl
async def startup(datasette):
    serving.attach_sidecar(datasette)
    await serving.warm_up_if_configured(datasette)


@hookimpl
def register_routes():
    return [
        (r"^/-/bear-search(\.(?P<format>json))?$", views.search),
        (rf"^{judging.JUDGE_PATH}$", judging.judge),
        (
            rf"^{serving.SIMILAR_PATH}/(?P<id>[^/]+?)(\.(?P<format>json))?$",
            similar_view.similar_notes,
        ),
    ]


@hookimpl
def menu_links(datasette, actor):
    return lambda: serving.menu_links(datasette, actor)


@hookimpl
def get_metadata():
    # Datasette 1.0 has no such hook, and hides tables whose names begin with "_" by itself.
    return serving.hidden_tables()


@hookimpl
def register_rerankers():
    return rerankers.our_rerankers()


# At the end, because where Datasette isn't imported yet, this makes it load its plugins, and so this module as it is.
from datasette.plugins import pm  # noqa: E402

pm.add_hookspecs(hookspecs)
