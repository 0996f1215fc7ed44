"""The sidecar inside a Datasette: which database it is, who may see it, what is set up when the server starts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from datasette.database import Database
from datasette.utils import StartupError

from . import embedders, redaction, sidecar

if TYPE_CHECKING:
    from datasette.app import Datasette

PLUGIN = "datasette-bear-search"
SEARCH_PATH = "/-/bear-search"
SIMILAR_PATH = f"{SEARCH_PATH}/similar"
NOTE_PATH = f"{SEARCH_PATH}/note"


# Whether a database is a sidecar is asked once: every page asks, and none of the answers changes.
_is_sidecar: WeakKeyDictionary[Database, bool] = WeakKeyDictionary()


async def sidecar_database(datasette: Datasette) -> Database | None:
    """The attached database that is a sidecar."""
    for database in list(datasette.databases.values()):
        if database.path and sidecar.is_half_committed(Path(database.path)):
            await asyncio.to_thread(_undo_half_a_commit, Path(database.path))
        if database not in _is_sidecar and database.path:
            try:
                found = await database.execute_fn(sidecar.is_sidecar_connection)
            except sidecar.sqlite3.Error:
                continue  # a database that can't be read now, perhaps later
            _is_sidecar[database] = found
        if _is_sidecar.get(database):
            return database
    return None


def _undo_half_a_commit(path: Path) -> None:
    with suppress(sidecar.sqlite3.Error):  # whoever reads it finds out
        sidecar.undo_half_a_commit(path)


async def is_served_here(datasette: Datasette, name: str) -> bool:
    """Whether the database of that name is the sidecar."""
    database = await sidecar_database(datasette)
    return database is not None and database.name == name


def known_sidecar(datasette: Datasette) -> Database | None:
    """The attached database that was found to be a sidecar, without asking any: for what is called once a cell."""
    return next((db for db in datasette.databases.values() if _is_sidecar.get(db)), None)


async def allowed(
    datasette: Datasette, actor: dict | None, action: str, database: Database
) -> bool:
    """Whether an actor may do something with a database, asked in the way of either Datasette version."""
    if hasattr(datasette, "allowed"):  # Datasette 1.0
        from datasette.resources import DatabaseResource

        return await datasette.allowed(
            action=action, resource=DatabaseResource(database.name), actor=actor
        )
    default = action != "execute-sql" or datasette.setting("default_allow_sql")
    return await datasette.permission_allowed(
        actor, action, resource=database.name, default=default
    )


def judging_is_on(datasette: Datasette, database: Database) -> bool:
    """Whether results may be judged here, which writes: only where the setting ``judgments`` allows it."""
    return bool(_config(datasette).get("judgments")) and database.is_mutable


def redacts(datasette: Datasette, *, by_default: bool = False) -> bool:
    """Whether secrets are masked here, by the setting ``redact``."""
    return bool(_config(datasette).get("redact", by_default))


def require_redaction_if_configured(datasette: Datasette) -> None:
    """Make sure that secrets can be found where they are to be masked: better nothing is served than what was to be hidden.

    :raises StartupError: if they can't
    """
    if not redacts(datasette):
        return
    try:
        redaction.require()
    except redaction.RedactionMissing as error:
        raise StartupError(f"The setting redact of {PLUGIN} is on. {error}") from None


def attach_sidecar(datasette: Datasette) -> None:
    """Attach the sidecar that the plugin's setting names; it is well if there is none yet.

    :raises StartupError: if the setting names a file that isn't a sidecar
    """
    setting = _config(datasette).get("sidecar")
    if not setting:
        return
    path = Path(setting).expanduser().resolve()
    if not path.exists() or any(
        database.path and Path(database.path).resolve() == path
        for database in datasette.databases.values()
    ):
        return
    if not sidecar.is_sidecar(path):
        raise StartupError(
            f"The setting sidecar of {PLUGIN} names {path}, which is not an index made by datasette bear-index"
        )
    datasette.add_database(Database(datasette, path=str(path), is_mutable=True), name=path.stem)


async def warm_up_if_configured(datasette: Datasette) -> None:
    """Begin to load the sidecar's model if the setting ``warm_up`` asks for it."""
    database = await sidecar_database(datasette)
    if database is not None and _config(datasette).get("warm_up"):
        model = await database.execute_fn(lambda connection: sidecar.get_meta(connection, "model"))
        if model:
            embedders.get_embedder(model).warm_up()


def cross_encoder(datasette: Datasette) -> str | None:
    """The model that rerank=cross-encoder means here; None leaves it to us."""
    return _config(datasette).get("cross_encoder")


def _config(datasette: Datasette) -> dict[str, Any]:
    return datasette.plugin_config(PLUGIN) or {}
