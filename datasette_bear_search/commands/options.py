"""What several commands have in common: the option that names the index, and errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

sidecar_option = click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="DATASETTE_BEAR_SEARCH_SIDECAR",
    help="File that holds the index  [default: notes.db in the user's data folder]",
)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Foreseeable faults end a command with their message, not with a traceback."""
    from ..configuration import ConfigurationError
    from ..evaluation import EvaluationError
    from ..indexer import IndexBusy
    from ..sidecar import SidecarError, sqlite3
    from ..sources import SourceError

    foreseeable = (
        ConfigurationError,
        EvaluationError,
        FileExistsError,
        IndexBusy,
        SidecarError,
        SourceError,
    )
    try:
        yield
    except foreseeable as error:
        raise click.ClickException(str(error)) from None
    except sqlite3.Error as error:
        raise click.ClickException(
            f"The index can't be used: {error}. If there is space on the disk, delete the index and run datasette "
            "bear-index again: it holds nothing that isn't in your notes, but for your judgments of results."
        ) from None
