"""Search over your own notes, by words and by meaning, as a Datasette plugin.

The hooks, each a few lines that call a room of their own.
"""

# Every datasette command imports this module, and most need nothing of it: each hook imports its rooms when it is called.
from __future__ import annotations

from datasette import hookimpl


@hookimpl
def register_commands(cli):
    from . import cli as commands

    commands.register(cli)


@hookimpl
def prepare_connection(conn):
    from . import sidecar, sql_functions

    sql_functions.register(conn)
    if sidecar.is_sidecar_connection(conn):
        if not sidecar.load_vector_extension(conn):
            sidecar.hide_passage_index(conn)
        sql_functions.register_embed(conn)


@hookimpl
async def startup(datasette):
    from . import serving

    serving.attach_sidecar(datasette)
    await serving.warm_up_if_configured(datasette)


@hookimpl
def register_routes():
    from . import judging, serving, similar_view, views

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
    from . import serving

    return lambda: serving.menu_links(datasette, actor)


@hookimpl
def get_metadata():
    from . import serving

    # Datasette 1.0 has no such hook, and hides tables whose names begin with "_" by itself.
    return serving.hidden_tables()


@hookimpl
def register_rerankers():
    from . import rerankers

    return rerankers.our_rerankers()


# At the end, because where Datasette isn't imported yet, this makes it load its plugins, and so this module as it is.
from datasette.plugins import pm  # noqa: E402

from . import hookspecs  # noqa: E402

pm.add_hookspecs(hookspecs)
