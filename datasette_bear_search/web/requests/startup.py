"""What happens when Datasette starts and opens a connection."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import click
from datasette.app import Datasette
from datasette.database import Database
from datasette.utils import StartupError

from ...embeddings import registry
from ...index.config import CONFIGURATION_KEYS, PLUGIN, did_you_mean
from ...index.file import database as index_file
from ...index.file import metadata, vectors
from ...search import connection as search_connection
from ...search import sql_search
from ...search.redaction import masking
from ...sqlite import sqlite3
from . import other_databases
from .databases import sidecar_database, sidecar_databases
from .settings import config, redacts, setting_list

OURS = "sidecar redact hidden_tags mcp_hosts judgments files warm_up".split()


class Refused(StartupError, click.ClickException):
    """Datasette doesn't start. Its version 0.65 prints only the second kind without a traceback."""


async def start(datasette: Datasette) -> None:
    """Attach the sidecar named in the settings, and start to load its model if they say so.

    :raises Refused: if it isn't a sidecar, if secrets must be masked but can't be detected, or
        for an unknown setting: a mistyped hidden_tags would hide nothing
    """
    if not isinstance(datasette.plugin_config(PLUGIN) or {}, dict):
        raise Refused(f"The settings of {PLUGIN} have to be names with values.")
    known = [*OURS, *CONFIGURATION_KEYS]
    for name in config(datasette).keys() - known:
        raise Refused(f"{PLUGIN} has no setting {name!r}. {did_you_mean(str(name), known)}")
    try:
        if redacts(datasette):
            masking.require()
    except masking.RedactionMissing as error:
        raise Refused(f"The setting redact of {PLUGIN} is on. {error}") from None
    _attach_sidecar(datasette)
    if setting_list(datasette, "hidden_tags"):
        for each in await sidecar_databases(datasette):
            each.cached_size = 0  # Datasette tells everybody, and it grows with hidden notes
    await other_databases.start(datasette)
    database = await sidecar_database(datasette)
    setting = config(datasette).get("warm_up")
    if database is None or (setting is not None and not setting):
        return
    with suppress(sqlite3.Error), index_file.as_damage():  # the first search reports the error
        model = await database.execute_fn(lambda connection: metadata.get_meta(connection, "model"))
        if model:
            embedder = registry.get_embedder(model)

            def load() -> None:
                if setting or embedder.loads_fast():
                    embedder.warm_up()

            # In a thread, because even looking for the model may take tenths of a second.
            threading.Thread(target=load, daemon=True).start()


@index_file.as_damage()
def prepare_connection(datasette: Datasette, connection: sqlite3.Connection) -> None:
    """Register the SQL functions on a connection to an index, or to another file."""
    search_connection.register(connection)
    if not index_file.is_sidecar_connection(connection):
        other_databases.register(datasette, connection)
        return
    # Datasette's connections give up after five seconds. Wait for writers as ours do.
    connection.execute(f"pragma busy_timeout = {round(index_file.READ_BUSY_SECONDS * 1000)}")
    search_connection.register_embed(connection)
    if not vectors.load_extension(connection):
        vectors.hide_passage_index(connection)
    sql_search.register_search(connection, redact=redacts(datasette))


def _attach_sidecar(datasette: Datasette) -> None:
    setting = config(datasette).get("sidecar")
    if not setting:
        return
    path = Path(setting).expanduser().resolve()
    if not path.exists() or any(
        database.path and Path(database.path).resolve() == path
        for database in datasette.databases.values()
    ):
        return
    if not (path.is_file() and index_file.has_our_id(path)):  # another program may have locked it
        raise Refused(
            f"The setting sidecar of {PLUGIN} names {path}, "
            "which is not an index made by datasette bear-index."
        )
    datasette.add_database(Database(datasette, path=str(path), is_mutable=True), name=path.stem)
